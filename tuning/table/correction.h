/*
 * Corrections of the tuning table: how far off the cost model is, measured on communicators of one
 * shape (pcoll-tune --correct).
 *
 * A closed form cannot account for the interference of ranks that share caches, sockets and cores.
 * Where this was measured, the predicted time of a candidate is multiplied by measured / predicted,
 * interpolated between the measured sizes. There the choice and its predicted time agree with the
 * measurement; elsewhere the model applies unchanged.
 */
#ifndef PCOLL_CORRECTION_H
#define PCOLL_CORRECTION_H

#include <stdbool.h>

#include "algorithms/algorithm.h"
#include "tuning/table/media.h"
#include "tuning/table/reader.h"

#define PCOLL_CORRECTION_POINTS 16

struct pcoll_correction {
    char medium[PCOLL_MEDIUM_NAME_BYTES];
    const struct pcoll_algorithm *algorithm;
    enum pcoll_path path;
    int slots, rails;   /* of the candidate; 0: any */
    int nranks, nnodes; /* of the communicator, with any mapping of ranks to nodes */
    int npoints;
    uint64_t bytes[PCOLL_CORRECTION_POINTS]; /* ascending; as in struct pcoll_signature */
    double factor[PCOLL_CORRECTION_POINTS];  /* measured / predicted, positive */
};

struct pcoll_corrections {
    struct pcoll_correction *list; /* the caller frees it with free(), also after a failure */
    size_t count;
};

/* A pcoll_read: from an array of corrections to struct pcoll_corrections. */
enum pcoll_result pcoll_corrections_read(struct pcoll_reader *reader, struct json_object *value,
                                         void *to) PCOLL_MUST_CHECK;

/* Returns whether both are for the same candidate on the same shape. */
bool pcoll_correction_same(const struct pcoll_correction *a, const struct pcoll_correction *b);

/* The same, ignoring slots and rails. */
bool pcoll_correction_is_near(const struct pcoll_correction *a, const struct pcoll_correction *b);

/* Returns whether `correction`, which must be near `about`, applies to its slots and rails. */
bool pcoll_correction_fits(const struct pcoll_correction *correction,
                           const struct pcoll_correction *about);

/* The factor at a size: linear in logarithms between two points, constant beyond the outer ones. */
double pcoll_correction_at(const struct pcoll_correction *correction, uint64_t bytes);

#endif /* PCOLL_CORRECTION_H */
