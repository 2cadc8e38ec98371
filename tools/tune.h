/*
 * Declarations that the files of pcoll-tune share.
 */
#ifndef PCOLL_TUNE_H
#define PCOLL_TUNE_H

#include <mpi.h>
#include <stdbool.h>

#include "offload/medium.h"
#include "tuning/choose.h"
#include "tuning/table/table.h"
#include "tools/robust.h"

enum { TUNE_SIZES = 16 };

struct tune_options {
    const char *output;     /* a file; NULL: stdout */
    const char *base;       /* a table with what is not measured; NULL: the built-in one */
    const char *media;      /* names separated by commas; NULL: all */
    const char *provider;   /* a libfabric provider; NULL: libfabric's choice */
    const char *interface;  /* NULL: the provider's choice */
    const char *plot;       /* a folder for pictures; NULL: none */
    double seconds;         /* for all measurements together */
    int correct;            /* add corrections for this communicator to the table */
    const char *judge;      /* a file for how well the base table does; NULL: no judgement */
    const char *algorithms; /* a list; only these run; NULL: all */
    int nsizes;             /* number of sizes to run at; 0: the default sizes */
    uint64_t sizes[TUNE_SIZES];
};

/* ---- tune_options.c ---- */

/* Collective. Returns an exit status, or -1 to continue; the first rank prints messages. */
int tune_take_options(struct tune_options *options, int count, char **values);

/* What was measured; `given` says which parameters. */
struct tune_result {
    unsigned given;
    struct estimate estimates[PCOLL_NUM_PARAMETERS];
};

/* ---- tune_wait.c: waiting through MPI ---- */

double tune_now(void); /* seconds */

/* Waits while the media progress. A rank that waits for long sleeps, since other ranks measure in
 * the meantime. */
void tune_wait(MPI_Request *request, bool sleeps);
void tune_bcast(void *data, int bytes, int root, MPI_Comm comm);
void tune_meet(MPI_Comm comm); /* a barrier in which ranks sleep */

/* `comm` must keep its address as long as anything made with the bootstrap exists. */
struct pcoll_bootstrap tune_bootstrap(MPI_Comm *comm, const struct tune_options *options);

/* ---- tune_pair.c: two ranks measure a medium ---- */

/* Collective over `comm`, which has two ranks. Rank 0 receives the result and prints a progress
 * bar. PCOLL_UNSUPPORTED, on both ranks: the medium is unavailable. */
enum pcoll_result tune_pair(MPI_Comm *comm, const struct pcoll_medium *medium,
                            const struct tune_options *options, double seconds,
                            struct tune_result *result) PCOLL_MUST_CHECK;

/* ---- tune_local.c: what a rank measures alone ---- */

void tune_host(struct tune_result *result); /* turn, copy, pack, reduce, cache */

/* Adds a value without an interval; none if it is 0. */
void tune_take(struct tune_result *result, enum pcoll_parameter parameter, double value);

/* Measures memory registration by the medium's library, and sets the name of libfabric's provider.
 * Does nothing if there is no network. */
void tune_network(MPI_Comm *comm, const struct pcoll_medium *medium,
                  const struct tune_options *options, struct tune_result *result,
                  char provider[PCOLL_IDENTITY_BYTES]);

/* ---- tune_levels.c: which ranks measure, and where they are bound ---- */

struct tune_site {
    int number; /* of the medium in pcoll_media */
    const struct pcoll_medium *medium;
    enum pcoll_level level; /* PCOLL_LEVEL_ANY: the two ranks share a core */
    int ranks[2];           /* of MPI_COMM_WORLD */
    int units[2];           /* processing units to bind them to, or -1: any */
};

/* Collective. The sites that this job can measure, the same on all ranks; at most `max`. Returns
 * their number. */
int tune_sites(const struct tune_options *options, struct tune_site *sites, int max);

/* Collective. The node of each rank, named by its lowest rank; the caller frees the array. */
int *tune_find_nodes(void);
int tune_nodes(void);

bool tune_sit(int unit);      /* bind to one processing unit; false: failed */
void tune_sit_anywhere(void); /* undo tune_sit */
int tune_sockets(void);

/* ---- tune_stage.c: the medium that all ranks use ---- */

struct tune_stage {
    MPI_Comm comm;
    const struct pcoll_medium *medium;
    struct pcoll_bootstrap bootstrap;
    struct pcoll_topology *topology; /* NULL: all ranks are on one node */
    struct pcoll_group *group;
    struct pcoll_caps caps;
    const struct pcoll_table *table; /* on rank 0 */
};

/* Collective over all ranks; rank 0 has the table. Returns NULL, on all ranks, if there is no
 * medium. */
struct tune_stage *tune_stage_open(const struct tune_options *options,
                                   const struct pcoll_table *table);
void tune_stage_close(struct tune_stage *stage);
int tune_stage_nnodes(const struct tune_stage *stage);

/* Collective over all ranks. Four or more of one node, with a core each, measure how far readers of
 * one process wait for each other. */
void tune_readers(const struct tune_options *options, struct tune_result *result);

/* ---- tune_race.c: all ranks run all candidates ---- */

enum { TUNE_RUNNERS = 32 };

struct tune_runner {
    int row; /* of pcoll_algorithms */
    struct pcoll_params params;
    bool by_table;            /* chosen by the table alone, without what ranks measure at init */
    bool races, by_race;      /* would run before an init chooses by a race; has won that race */
    double predicted;         /* us */
    struct estimate measured; /* us; no samples used: the medium cannot hold the plan */
};

/* Collective. Run the candidates for one call, or only those with these names (NULL: all), even
 * where `auto` would not use them. Fills runners[0 .. return) identically on all ranks; the one
 * that would be chosen comes first. */
int tune_race(const struct tune_stage *stage, enum pcoll_coll coll, uint64_t bytes,
              const char *names, struct tune_runner runners[TUNE_RUNNERS]);

/* Collective. Let those runners race that would at an init, and mark the winner. */
void tune_mark_winner(const struct tune_stage *stage, enum pcoll_coll coll, uint64_t bytes,
                      struct tune_runner *runners, int count);

const char *tune_runner_label(const struct tune_runner *runner); /* "chain, user"; static */

/* The sizes to run at, ascending; those of a reduction are rounded up to whole elements. Returns
 * their number. */
int tune_sizes(const struct tune_options *options, enum pcoll_coll coll, int nranks,
               uint64_t sizes[TUNE_SIZES]);

/* ---- tune_plot.c, tune_correct.c: results of races ---- */

/* Collective over all ranks; rank 0 has the table. Returns false on failure. */
bool tune_plot(const struct tune_options *options, const struct pcoll_table *table);
bool tune_correct(const struct tune_options *options, struct pcoll_table *table);
bool tune_judge(const struct tune_options *options, const struct pcoll_table *table);

#endif /* PCOLL_TUNE_H */
