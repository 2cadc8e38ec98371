/* What the program is doing, for messages, and the alarm that reports a hang (check_phase and
 * check_progress, check.h). */

#ifndef PHASE_H_INCLUDED
#define PHASE_H_INCLUDED

const char *phase_text(void);

/* After that many seconds without progress, say so and exit. The first check_progress or
 * check_phase begins. */
void phase_watch(unsigned seconds);

/* To this file instead of stderr. */
void phase_report_to(int file);

#endif /* PHASE_H_INCLUDED */
