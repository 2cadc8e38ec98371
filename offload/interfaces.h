/* The network interfaces of a process that the user names: one endpoint, or rail, for each. */
#ifndef PCOLL_INTERFACES_H
#define PCOLL_INTERFACES_H

#include "offload/medium.h"

#define PCOLL_MAX_RAILS 8

struct pcoll_interfaces {
    int n;                              /* at least 1 */
    const char *names[PCOLL_MAX_RAILS]; /* [n]; a single NULL: the library's choice */
    char *text;                         /* the text that the names point into */
};

/* Split the list `a,b,c` in bootstrap->interface. Names that are empty or repeated, and names
 * beyond the maximum, are left out with a message. */
enum pcoll_result pcoll_interfaces(const struct pcoll_bootstrap *bootstrap,
                                   struct pcoll_interfaces *list) PCOLL_MUST_CHECK;

/* Release what pcoll_interfaces has made. */
void pcoll_interfaces_free(struct pcoll_interfaces *list);

#endif /* PCOLL_INTERFACES_H */
