/*
 * Corrections of the tuning table: how far off the cost model is, measured on communicators of one
 * shape (pcoll-tune --correct).
 *
 * A closed form knows nothing of what ranks do to each other that share caches, sockets and cores.
 * Where that was measured, the predicted time of a candidate is multiplied by measured / predicted,
 * interpolated between the sizes that were run.  So the choice, its predicted time and the measured
 * one agree there; elsewhere the model stands alone.
 */
#ifndef PCOLL_CORRECTION_H
#define PCOLL_CORRECTION_H

#include "algorithms/algorithm.h"
#include "tuning/table/media.h"
#include "tuning/table/reader.h"

#define PCOLL_CORRECTION_POINTS 16

struct pcoll_correction {
    char medium[PCOLL_MEDIUM_NAME_BYTES];
    const struct pcoll_algorithm *algorithm;
    enum pcoll_path path;
    int slots, rails;   /* of the candidate; 0: whatever it has */
    int nranks, nnodes; /* of the communicator; any mapping of ranks to nodes */
    int npoints;
    uint64_t bytes[PCOLL_CORRECTION_POINTS]; /* rising; as in struct pcoll_signature */
    double factor[PCOLL_CORRECTION_POINTS];  /* measured / predicted, positive */
};

struct pcoll_corrections {
    struct pcoll_correction *list; /* the caller ends it with free(), after a failure too */
    size_t count;
};

/* A pcoll_read: array of corrections to struct pcoll_corrections. */
enum pcoll_result pcoll_corrections_read(struct pcoll_reader *reader, struct json_object *value,
                                         void *to) PCOLL_MUST_CHECK;

/* Are they for the same candidate on the same shape? */
int pcoll_correction_same(const struct pcoll_correction *a, const struct pcoll_correction *b);

/* The same, whatever their slots and rails. */
int pcoll_correction_is_near(const struct pcoll_correction *a, const struct pcoll_correction *b);

/* Is `correction`, which is near, for the slots and rails of `about`? */
int pcoll_correction_fits(const struct pcoll_correction *correction,
                          const struct pcoll_correction *about);

/* At a size: linear in logarithms between two points, constant beyond the outer ones. */
double pcoll_correction_at(const struct pcoll_correction *correction, uint64_t bytes);

#endif /* PCOLL_CORRECTION_H */
