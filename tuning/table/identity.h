/*
 * Which machine and libraries a tuning table was made for, and whether these are they.
 */
#ifndef PCOLL_IDENTITY_H
#define PCOLL_IDENTITY_H

#include <stdio.h>

#define PCOLL_VERSION "0.2" /* of this library; configure.ac reads it from here */

#define PCOLL_IDENTITY_BYTES 64

/* What is empty, or 0, is not known. */
struct pcoll_identity {
    char processor[PCOLL_IDENTITY_BYTES]; /* as the operating system names it */
    int cores, sockets;                   /* of a host */
    int hosts;                            /* that took part */
    char provider[PCOLL_IDENTITY_BYTES];  /* of libfabric, as in FI_PROVIDER */
    char pcoll[PCOLL_IDENTITY_BYTES];     /* version of this library */
    char mpi[PCOLL_IDENTITY_BYTES], libfabric[PCOLL_IDENTITY_BYTES];
};

/* This host and this library: processor, cores, pcoll. */
struct pcoll_identity pcoll_identity_here(void);

/* Copy as much of `from` as there is room for. */
void pcoll_identity_text(char to[PCOLL_IDENTITY_BYTES], const char *from);

/* Write one line to `report` for each of processor, cores, provider and pcoll that both know and
 * that differs; how many.  `name` is that of the table. */
int pcoll_identity_compare(const struct pcoll_identity *table, const struct pcoll_identity *here,
                           const char *name, FILE *report);

#endif /* PCOLL_IDENTITY_H */
