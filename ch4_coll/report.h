/* Messages to the user. */

#ifndef REPORT_H_INCLUDED
#define REPORT_H_INCLUDED

/* Prints one line on stderr, unless the same message was printed recently. */
void MPIDI_PCOLL_report(const char *message);

/* The same for each line of `text`, which is modified. */
void MPIDI_PCOLL_report_lines(char *text);
void MPIDI_PCOLL_report_free(void);

#endif /* REPORT_H_INCLUDED */
