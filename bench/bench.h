/*
 * Types shared by the files of pcoll-bench.  See README.md for the concepts.
 */
#ifndef PCOLL_BENCH_H
#define PCOLL_BENCH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for cpu_set_t */
#endif
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectives.h"

struct job;

/* The last three are written by hand: see halo.c. */
enum way { OFFLOAD, STOCK, BLOCKING, NONBLOCKING, HALO, IHALO, PACKED_HALO, NUM_WAYS };

enum {
    MAX_SIZES = 64,
    NUM_NEIGHBORHOODS = 2,
    NUM_FACES = 6,
    MAX_NEIGHBORS = 26,
    MAX_OPERATIONS = (NUM_COLLECTIVES - 1) * MAX_SIZES * NUM_NEIGHBORHOODS + 1,
    MAX_ALGORITHMS = 8,
    NUM_GRAINS = 4, /* of computations in a series */
    MAX_SUBJECTS = 192,
    NAME_LENGTH = 48,
    START_UP_BYTES = 1024, /* of an allreduce before the rows: long enough for what a library does
                            * once for long messages */
    CACHE_LINE = 64
};

/* ---- options.c ------------------------------------------------------------------------------ */

struct options {
    bool coll[NUM_COLLECTIVES];
    bool hood[NUM_NEIGHBORHOODS];
    bool way[NUM_WAYS];
    size_t sizes[MAX_SIZES];
    int num_sizes;
    size_t row; /* bytes of the rows of strided faces; 0: each face has a shape of its own */
    const char *algorithms[MAX_ALGORITHMS];
    int num_algorithms;
    const char *info_key;
    int root; /* negative: counted from the last rank */
    int batches;
    int iterations; /* 0: as many as fill batch_seconds */
    double batch_seconds;
    double row_seconds; /* a row ends after this time even with fewer batches */
    bool quick, json, progress, pin, instructions;
    bool alloc_mem;     /* user buffers come from MPI_Alloc_mem */
    int skew;           /* bytes from a page to the user buffers */
    double overlap;     /* work in multiples of an operation's time; 0: not measured */
    int away;           /* the only rank that works, or -1: all do */
    int tests;          /* microseconds of that work between two MPI_Tests; 0: none */
    bool series;        /* computations of several grains beside each operation */
    bool apart;         /* an untimed barrier precedes each operation */
    bool once;          /* each operation is init, start, wait and free, with other buffers */
    bool use_data;      /* and ranks write what they send, and read what they have received */
    const char *output; /* file for the JSON, or NULL */
    int loop, late;     /* number of operations to run for callgrind, or 0; the rank that arrives
                         * last */
    char complaint[256];
};

enum options_result { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_BAD };

/* Read the command line. The options point into argv. On OPTIONS_BAD, `complaint` says what is
 * wrong. */
enum options_result options_parse(struct options *opts_p, int argc, char **argv);
void options_help(void);
const char *way_name(enum way way);

/* ---- job.c ---------------------------------------------------------------------------------- */

/* Memory shared by the ranks of the node, in cache lines; each line has one writer. */
struct line {
    _Alignas(CACHE_LINE) _Atomic uint64_t value;
};

/* Those whom a rank sends to and receives from, by slot. */
struct neighborhood {
    MPI_Comm comm;
    int n, to[MAX_NEIGHBORS], from[MAX_NEIGHBORS];
};

struct job {
    int rank, nranks, cores;
    bool one_node;       /* otherwise there are no shared lines and no limits */
    bool counts_packets; /* this rank counts packets for its whole node */
    bool crowded;        /* more ranks than cores */
    bool pinned;
    bool alloc_mem;       /* opts->alloc_mem */
    int skew;             /* opts->skew */
    double away;          /* opts->overlap */
    double tests;         /* opts->tests, in seconds */
    bool works;           /* for so long; otherwise it waits for those that do */
    bool computes;        /* its work is computation, for which there is a core */
    struct line *gate;    /* two lines: how many ranks have arrived, generation */
    struct line *flag;    /* two lines, for the bare flag exchange */
    struct line *arrived; /* one line per rank, for verifying barriers */
    struct line *word;    /* one line per rank, for job_max */
    cpu_set_t cpus;       /* those that any rank of the node may use */
    pid_t *pids;
    char *send, *recv; /* as much each as any operation needs, in each place */
    int places;        /* for buffers, the distance between which is: */
    size_t step;
    struct neighborhood hoods[NUM_NEIGHBORHOODS];
    uint64_t flag_round, verify_round;
};

void job_init(struct job *job_p, const struct options *opts);
void job_fini(struct job *job);
double job_now(void);
double job_faults(void); /* pages that this rank has touched for the first time */
/* A barrier that all ranks leave as closely together as the machine allows. It keeps MPI
 * progressing but is not built on MPI, since some libraries take milliseconds when ranks outnumber
 * cores. */
void job_barrier(struct job *job);
/* The largest value over all ranks; values must not be negative. */
double job_max(struct job *job, double value);
/* Network packets that the nodes of this job have sent so far, if this rank counts them; 0
 * otherwise. Acknowledgments and unrelated traffic of the nodes are included. */
double job_packets(const struct job *job);
double job_sum(const struct job *job, double value); /* sum over all ranks */
/* Put ranks 0 and 1 on different cores until job_unpin. */
void job_pin_apart(struct job *job);
void job_unpin(struct job *job);
int job_last_or(const struct job *job, int root);

/* ---- neighborhood.c ------------------------------------------------------------------------- */

extern const int neighborhood_sizes[NUM_NEIGHBORHOODS];
void neighborhoods_init(struct job *job);
void neighborhoods_fini(struct job *job);
/* Where the neighbor of a slot is, in each of three dimensions: -1, 0 or 1. */
void neighborhood_step(const struct neighborhood *hood, int slot, int *step);
/* The neighbor's slot in which that arrives which this rank sends in `slot`, and the reverse. */
int neighborhood_arrives(const struct neighborhood *hood, int slot);

/* ---- cvars.c -------------------------------------------------------------------------------- */

/* Find the control variables that this library offers. */
void cvars_init(void);
void cvars_fini(void);
bool cvars_have_offload(void);
/* Returns whether the stock request is steered away from its default algorithm, which is wrong. */
bool cvars_steer(enum collective coll);
/* Requests of `way` are made between enter and leave; `total` is the number of bytes of all blocks.
 */
void cvars_enter(enum collective coll, enum way way, size_t total);
void cvars_leave(void);

/* ---- calls.c --------------------------------------------------------------------------------- */

const char *collective_name(enum collective coll);
bool is_rooted(enum collective coll);
/* The bytes of the largest of its buffers. */
size_t collective_room(enum collective coll, int nranks, int neighbors, size_t size);

/* ---- operation.c ---------------------------------------------------------------------------- */

/* One collective on given buffers. */
struct operation {
    struct job *job;
    enum collective coll;
    size_t size;
    int root;
    const struct neighborhood *hood; /* of a neighborhood collective; otherwise NULL */
    size_t row;                      /* as in the options */
};

/* List the operations that the options ask for, at most MAX_OPERATIONS; returns their number. */
int list_operations(struct job *job, const struct options *opts, struct operation *ops);

/* One way of running an operation. */
struct variant {
    char name[NAME_LENGTH];
    enum way way;
    const char *algorithm; /* requested through the info key, or NULL */
    const char *info_key;
    double start_up; /* seconds of the first barrier and allreduce of the job, or 0 */
};

struct summary {
    double median, low, high; /* seconds per operation; low and high are the 10th and 90th
                               * percentile */
    int batches, iterations;
};

/* Anything that is timed: a batch runs `count` operations and returns how long they took on this
 * rank. */
struct subject {
    char name[NAME_LENGTH];
    double (*batch)(struct subject *self, int count);
    struct operation op;
    const struct variant *variant;
    const struct subject *timed; /* the subject whose request a "start" subject uses */
    int grain;                   /* of a series */
    bool apart, use_data, once;  /* as in the options */
    int place;                   /* of the buffers */
    MPI_Request request;
    struct arguments *arguments; /* of a variant, or for readv */
    struct halo *halo;           /* of a variant written by hand */
    uint64_t *remote;            /* for readv: addresses of the other ranks' buffers */
    int max_iterations;          /* 0: no limit */
    double first_use;            /* seconds; of a variant */
    double packets;              /* per operation, summed over all nodes; negative: not counted */
    bool wrong;
    double *samples;
    struct summary summary;
};

/* Returns whether that way is a persistent collective. */
bool way_is_persistent(enum way way);

/* Returns false if the operation cannot be performed in that way, or would be another variant. */
bool variant_suits(const struct variant *variant, const struct operation *op);

void subject_open(struct subject *self);
void subject_close(struct subject *self);
void subject_perform(struct subject *self, int count);
/* Take the next buffers, if operations are performed once. */
void subject_move_on(struct subject *self);
double subject_run(struct subject *self, int count);
double subject_start(struct subject *self, int count);
double subject_init(struct subject *self, int count);
/* One operation as a program that performs no other: init, start, wait and free of a persistent
 * variant, otherwise the call. Returns its seconds on the slowest rank. */
double subject_first_use(struct subject *self);
/* Count the packets of an operation. */
void subject_count_packets(struct subject *self);

/* ---- overlap.c ------------------------------------------------------------------------------- */

/* The rank starts the operation, works without MPI for job->away times as long as the whole
 * operation takes, and waits: time and CPU time beyond those of the work alone. A rank that does
 * not work has no part in either. */
double subject_overlap(struct subject *self, int count);
double subject_cpu(struct subject *self, int count);
/* The time of the ranks that do not work. */
double subject_others(struct subject *self, int count);
double cpu_of_rank(void); /* of all of its threads so far, in seconds */
/* The share of the operation that work can hide and has hidden, 0 .. 1, of such a subject. */
double overlap_share(const struct subject *exposed);

/* ---- verify.c -------------------------------------------------------------------------------- */

/* Run `rounds` checked operations. Returns, on all ranks, whether the data was right on all. */
bool subject_verify(struct subject *self, int rounds);

/* ---- limits.c ------------------------------------------------------------------------------- */

double limit_flag(struct subject *self, int count);
double limit_readv(struct subject *self, int count);
bool limit_readv_exists(const struct operation *op); /* the same blocks, wherever they go */
/* Exchange addresses. False on all ranks if any rank may not read another's memory. */
bool limit_readv_open(struct subject *self);
void limit_readv_close(struct subject *self);

/* ---- measure.c ------------------------------------------------------------------------------ */

/* Time the subjects in turn, batch by batch, and store their summaries. */
void measure(struct job *job, struct subject *subjects, int n, const struct options *opts);

/* ---- instructions.c ------------------------------------------------------------------------- */

/* Count the user-mode instructions of one operation on a rank that need not wait. Returns false if
 * the kernel does not count them here. */
bool instructions_table(struct job *job, const struct options *opts, const struct variant *variants,
                        int num_variants);
/* --loop: run nothing but the operations, for callgrind. */
void instructions_loop(struct job *job, const struct options *opts, const struct variant *variants,
                       int num_variants);

/* ---- report.c ------------------------------------------------------------------------------- */

/* Whose data was wrong; the worst of several is the largest. */
enum verdict { ALL_RIGHT, OTHERS_WRONG, BACKEND_WRONG };

struct row {
    struct operation op;
    const struct subject *subjects;
    int num_subjects;
    enum verdict verdict;
};

/* Called by rank 0 only. The first and the last return false, and say why, if the JSON cannot be
 * written to --output. */
bool report_begin(const struct job *job, const struct options *opts, const struct variant *variants,
                  int num_variants);
void report_row(const struct row *row);
bool report_end(enum verdict verdict);
/* The collective, and the number of neighbors if it is not 6. */
void operation_text(char *text, size_t length, const struct operation *op);
void size_text(char *text, size_t length, size_t size);
void library_text(char *text, size_t length);

/* ---- series.c -------------------------------------------------------------------------------- */

/* The rank starts the operation and computes in pieces of that grain, with a test after each, until
 * it is complete: time, and CPU time beyond that of the computation alone. */
double subject_series_time(struct subject *self, int count);
double subject_series_cpu(struct subject *self, int count);
const char *grain_name(int grain);

#endif
