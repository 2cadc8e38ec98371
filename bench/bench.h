/*
 * Types shared by the files of pcoll-bench.  See README.md for the concepts.
 */
#ifndef PCOLL_BENCH_H
#define PCOLL_BENCH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* processor sets */
#endif
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct job;

enum collective { BARRIER, BCAST, ALLGATHER, NUM_COLLECTIVES };
enum way { OFFLOAD, STOCK, BLOCKING, NONBLOCKING, NUM_WAYS };

enum {
    MAX_SIZES = 64,
    MAX_OPERATIONS = 2 * MAX_SIZES + 1,
    MAX_ALGORITHMS = 8,
    MAX_SUBJECTS = 40,
    NAME_LENGTH = 48,
    CACHE_LINE = 64
};

/* ---- options.c ------------------------------------------------------------------------------ */

struct options {
    bool coll[NUM_COLLECTIVES];
    bool way[NUM_WAYS];
    size_t sizes[MAX_SIZES];
    int num_sizes;
    const char *algorithms[MAX_ALGORITHMS];
    int num_algorithms;
    const char *info_key;
    int root; /* negative: counted from the last rank */
    int batches;
    int iterations; /* 0: as many as fill batch_seconds */
    double batch_seconds;
    double row_seconds; /* a row ends after this time even with fewer batches */
    bool quick, json, progress, pin, instructions, overlap;
    bool apart;         /* a barrier, not timed, before each operation */
    const char *output; /* file for the JSON, or NULL */
    int loop, late;     /* operations to run for callgrind, or 0; the rank that comes last */
    char complaint[256];
};

enum options_result { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_BAD };

/* Read the command line.  The options point into argv; OPTIONS_BAD leaves a complaint. */
enum options_result options_parse(struct options *opts_p, int argc, char **argv);
void options_help(void);
const char *collective_name(enum collective coll);
const char *way_name(enum way way);

/* ---- job.c ---------------------------------------------------------------------------------- */

/* Shared by the ranks of the node; the lines follow one another, one writer each. */
struct line {
    _Alignas(CACHE_LINE) _Atomic uint64_t value;
};

struct job {
    int rank, nranks, cores;
    bool one_node;       /* else no shared lines and no limits */
    bool counts_packets; /* this rank, for all of its node */
    bool crowded;        /* more ranks than cores */
    bool pinned;
    struct line *gate;    /* two lines: ranks arrived, generation */
    struct line *flag;    /* two lines of the bare flag exchange */
    struct line *arrived; /* one line a rank, for the verification of barriers */
    struct line *word;    /* one line a rank, for job_max */
    cpu_set_t cpus;       /* of all ranks */
    pid_t *pids;
    char *send, *recv; /* one block; nranks blocks */
    uint64_t flag_round, verify_round;
};

void job_init(struct job *job_p, const struct options *opts);
void job_fini(struct job *job);
double job_now(void);
/* Leave as closely together as the machine allows.  MPI goes on meanwhile, but is not the means,
 * since some libraries take milliseconds when there are more ranks than cores. */
void job_barrier(struct job *job);
/* The largest of all ranks' values, which are not negative. */
double job_max(struct job *job, double value);
/* Network packets that this job's nodes have sent, if this rank counts them; with all
 * acknowledgments, and with whatever else the nodes send. */
double job_packets(const struct job *job);
double job_sum(const struct job *job, double value); /* of all ranks */
/* Give ranks 0 and 1 different cores for a while. */
void job_pin_apart(struct job *job);
void job_unpin(struct job *job);
int job_last_or(const struct job *job, int root);

/* ---- cvars.c -------------------------------------------------------------------------------- */

/* What the library lets us steer. */
void cvars_init(void);
void cvars_fini(void);
bool cvars_have_offload(void);
/* True if stock Allgather_init is steered away from its default, which is wrong. */
bool cvars_force_allgather(void);
/* Between enter and leave requests of `way` are made; total is the gathered bytes. */
void cvars_enter(enum collective coll, enum way way, size_t total);
void cvars_leave(void);

/* ---- operation.c ---------------------------------------------------------------------------- */

/* One collective on given buffers. */
struct operation {
    struct job *job;
    enum collective coll;
    size_t size;
    int root;
};

/* The operations that the options ask for, at most MAX_OPERATIONS; the number of them. */
int list_operations(struct job *job, const struct options *opts, struct operation *ops);

/* One way of running it. */
struct variant {
    char name[NAME_LENGTH];
    enum way way;
    const char *algorithm; /* through the info key, or NULL */
    const char *info_key;
};

struct summary {
    double median, low, high; /* seconds per operation; low and high are the 10th and 90th
                               * percentile */
    int batches, iterations;
};

/* Anything that is timed: a batch runs `count` operations and says how long it took here. */
struct subject {
    char name[NAME_LENGTH];
    double (*batch)(struct subject *self, int count);
    struct operation op;
    const struct variant *variant;
    const struct subject *timed; /* whose request a "start" subject uses */
    bool apart;                  /* a barrier, not timed, before each operation */
    MPI_Request request;
    uint64_t *remote;   /* readv: where the other ranks' buffers lie */
    int max_iterations; /* 0: no limit */
    double packets;     /* of an operation, on all nodes; negative: not counted */
    bool wrong;
    double *samples;
    struct summary summary;
};

bool way_is_persistent(enum way way);
void subject_open(struct subject *self);
void subject_close(struct subject *self);
void subject_perform(struct subject *self, int count);
double subject_run(struct subject *self, int count);
double subject_start(struct subject *self, int count);
double subject_init(struct subject *self, int count);
/* What is left of an operation for a rank that is away from MPI, for as long as the operation
 * takes, between beginning and waiting. */
double subject_overlap(struct subject *self, int count);
/* Count the packets of an operation. */
void subject_count_packets(struct subject *self);
/* Run `rounds` checked operations; true on all ranks if the data was right on all. */
bool subject_verify(struct subject *self, int rounds);

/* ---- limits.c ------------------------------------------------------------------------------- */

double limit_flag(struct subject *self, int count);
double limit_readv(struct subject *self, int count);
/* Exchange addresses; false on all ranks if one may not read another's memory. */
bool limit_readv_open(struct subject *self);
void limit_readv_close(struct subject *self);

/* ---- measure.c ------------------------------------------------------------------------------ */

/* Time the subjects batch by batch in turn, and leave their summaries. */
void measure(struct job *job, struct subject *subjects, int n, const struct options *opts);

/* ---- instructions.c ------------------------------------------------------------------------- */

/* User-mode instructions of one operation on a rank that need not wait; false if the kernel does
 * not count them here. */
bool instructions_table(struct job *job, const struct options *opts, const struct variant *variants,
                        int num_variants);
/* --loop: nothing but the operations, for callgrind. */
void instructions_loop(struct job *job, const struct options *opts, const struct variant *variants,
                       int num_variants);

/* ---- report.c ------------------------------------------------------------------------------- */

struct row {
    struct operation op;
    const struct subject *subjects;
    int num_subjects;
    bool verified;
};

/* Rank 0 alone calls these. */
void report_begin(const struct job *job, const struct options *opts, const struct variant *variants,
                  int num_variants);
void report_row(const struct row *row);
void report_end(bool all_right);
void size_text(char *text, size_t length, size_t size);
void library_text(char *text, size_t length);

#endif
