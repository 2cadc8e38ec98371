/*
 * Which machine and libraries a tuning table was made for, compared with this machine and these
 * libraries.
 */
#ifndef PCOLL_IDENTITY_H
#define PCOLL_IDENTITY_H

#include <stdio.h>

#include "algorithms/plan/plan.h"

struct pcoll_reader;
struct json_object;

#define PCOLL_VERSION "0.2" /* of this library; configure.ac reads it from here */

#define PCOLL_IDENTITY_BYTES 64

/* A field that is empty or 0 is unknown. */
struct pcoll_identity {
    char processor[PCOLL_IDENTITY_BYTES]; /* as the operating system names it */
    int cores, sockets;                   /* of a host */
    int hosts;                            /* number of hosts that took part */
    char provider[PCOLL_IDENTITY_BYTES];  /* a libfabric provider, as in FI_PROVIDER */
    char pcoll[PCOLL_IDENTITY_BYTES];     /* version of this library */
    char mpi[PCOLL_IDENTITY_BYTES], libfabric[PCOLL_IDENTITY_BYTES];
};

/* This host and this library: processor, cores, pcoll. */
struct pcoll_identity pcoll_identity_here(void);

/* Copy `from`, truncated to the size of `to`. */
void pcoll_identity_text(char to[PCOLL_IDENTITY_BYTES], const char *from);

/* Compare processor, cores, provider and pcoll, and write one line to `report` for each that both
 * know and that differs. `name` is that of the table, `so` what follows: "used all the same".
 * Returns the number of differences. */
int pcoll_identity_compare(const struct pcoll_identity *table, const struct pcoll_identity *here,
                           const char *name, const char *so, FILE *report);

/* Each is a pcoll_read (reader.h): from the members `machine` and `library` of a table to struct
 * pcoll_identity. */
enum pcoll_result pcoll_identity_read_machine(struct pcoll_reader *reader,
                                              struct json_object *value, void *to) PCOLL_MUST_CHECK;
enum pcoll_result pcoll_identity_read_library(struct pcoll_reader *reader,
                                              struct json_object *value, void *to) PCOLL_MUST_CHECK;

#endif /* PCOLL_IDENTITY_H */
