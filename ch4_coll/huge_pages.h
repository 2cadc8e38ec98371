/* Huge pages for long user buffers that plans of one node read and write by the kernel.
 *
 * The kernel holds each page of the other process for such a copy, which takes as long as the copy
 * itself. To move a buffer to huge pages takes as long as what some tens of starts lose without
 * them, so it happens after these, like the purchase of what has been rented for long enough; and
 * in a start, as only then no peer accesses the buffer. All ranks have then made the same starts.
 */

#ifndef HUGE_PAGES_H_INCLUDED
#define HUGE_PAGES_H_INCLUDED

#include "plan.h"

/* Before the start of that number, 1 being the first. */
enum { MPIDI_PCOLL_HUGE_PAGES_FROM = 32 };

/* Returns whether the plan might gain. */
bool MPIDI_PCOLL_may_use_huge_pages(const struct MPIDI_PCOLL_plan *plan);

/* Move the plan's user data to huge pages, as far as it fills any and the kernel can. */
void MPIDI_PCOLL_use_huge_pages(const struct MPIDI_PCOLL_plan *plan);

#endif /* HUGE_PAGES_H_INCLUDED */
