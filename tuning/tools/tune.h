/*
 * pcoll-tune: what its files share.
 */
#ifndef PCOLL_TUNE_H
#define PCOLL_TUNE_H

#include <mpi.h>

#include "offload/medium.h"
#include "tuning/locality.h"
#include "tuning/table/table.h"
#include "tuning/tools/robust.h"

enum { TUNE_SIZES = 16 };

struct tune_options {
    const char *output;     /* file; NULL: stdout */
    const char *base;       /* table that holds what is not measured; NULL: built-in */
    const char *media;      /* names separated by commas; NULL: all */
    const char *provider;   /* of libfabric; NULL: its choice */
    const char *interface;  /* NULL: the provider's choice */
    const char *plot;       /* folder for pictures; NULL: none */
    double seconds;         /* for all measurements together */
    int correct;            /* the table gets corrections for this communicator */
    const char *judge;      /* file for how well the base table does; NULL: no judgement */
    const char *algorithms; /* only these run, as a list; NULL: all */
    int nsizes;             /* that they run at; 0: the usual ones */
    uint64_t sizes[TUNE_SIZES];
};

/* ---- tune_options.c ---- */

/* Collective.  Answers an exit status, or -1 to go on; the first rank says what is wrong. */
int tune_take_options(struct tune_options *options, int count, char **values);

/* What was measured: `given` says which. */
struct tune_result {
    unsigned given;
    struct estimate estimates[PCOLL_NUM_PARAMETERS];
};

/* ---- tune_wait.c: waiting through MPI ---- */

double tune_now(void); /* seconds */

/* The media need their progress while a rank waits for others; who waits for long sleeps, as others
 * measure meanwhile. */
void tune_wait(MPI_Request *request, int sleeps);
void tune_bcast(void *data, int bytes, int root, MPI_Comm comm);
void tune_meet(MPI_Comm comm); /* barrier, asleep */

/* `comm` must stay where it is as long as what is made with the bootstrap. */
struct pcoll_bootstrap tune_bootstrap(MPI_Comm *comm, const struct tune_options *options);

/* ---- tune_pair.c: two ranks measure a medium ---- */

/* Collective over `comm` of two ranks; rank 0 gets the result, and prints a bar as it goes on.
 * PCOLL_UNSUPPORTED: the medium is unavailable, on both. */
enum pcoll_result tune_pair(MPI_Comm *comm, const struct pcoll_medium *medium,
                            const struct tune_options *options, double seconds,
                            struct tune_result *result) PCOLL_MUST_CHECK;

/* ---- tune_local.c: what a rank can measure alone ---- */

void tune_host(struct tune_result *result); /* turn, copy, pack, reduce */

/* Memory registration; fills the provider's name too.  Nothing if there is no network. */
void tune_network(MPI_Comm *comm, const struct tune_options *options, struct tune_result *result,
                  char provider[PCOLL_IDENTITY_BYTES]);

/* ---- tune_levels.c: who measures whom, and where ---- */

struct tune_cell {
    int number; /* of the medium in pcoll_media */
    const struct pcoll_medium *medium;
    enum pcoll_level level; /* PCOLL_LEVEL_ANY: two ranks on one core */
    int ranks[2];           /* of MPI_COMM_WORLD */
    int units[2];           /* processing units to sit on, or -1: anywhere */
};

/* Collective.  The cells that this job can measure, the same on all ranks; at most `most`. */
int tune_cells(const struct tune_options *options, struct tune_cell *cells, int most);

/* Collective: the node of each rank, as its lowest rank; the caller frees it.  How many. */
int *tune_find_nodes(void);
int tune_nodes(void);

int tune_sit(int unit);       /* on one processing unit; 0: could not */
void tune_sit_anywhere(void); /* as before */
int tune_sockets(void);
struct pcoll_locality tune_locality(void); /* where this process is bound */

/* ---- tune_race.c: all ranks run all candidates ---- */

enum { TUNE_RUNNERS = 32 };

struct tune_stage; /* a medium between all ranks */

struct tune_runner {
    int row; /* of pcoll_algorithms */
    struct pcoll_params params;
    double predicted;         /* us */
    struct estimate measured; /* us; none used: the medium cannot hold it */
};

/* Collective over all ranks; rank 0 has the table.  NULL, on all: no medium. */
struct tune_stage *tune_stage_open(const struct tune_options *options,
                                   const struct pcoll_table *table);
void tune_stage_close(struct tune_stage *stage);
const char *tune_stage_medium(const struct tune_stage *stage);
int tune_stage_nnodes(const struct tune_stage *stage);

/* Collective.  Run the candidates for one call, or of them those with these names (NULL: all), also
 * where `auto` would not have them.  Fills runners[0 .. return) alike on all ranks; what would be
 * chosen comes first. */
int tune_race(const struct tune_stage *stage, enum pcoll_coll coll, uint64_t bytes,
              const char *names, struct tune_runner runners[TUNE_RUNNERS]);

const char *tune_runner_label(const struct tune_runner *runner); /* "chain, user"; static */

/* The sizes to run at, rising.  How many. */
int tune_sizes(const struct tune_options *options, enum pcoll_coll coll, int nranks,
               uint64_t sizes[TUNE_SIZES]);

/* ---- tune_plot.c, tune_correct.c: what comes of races ---- */

/* Collective over all ranks; rank 0 has the table.  0: it failed. */
int tune_plot(const struct tune_options *options, const struct pcoll_table *table);
int tune_correct(const struct tune_options *options, struct pcoll_table *table);
int tune_judge(const struct tune_options *options, const struct pcoll_table *table);

#endif /* PCOLL_TUNE_H */
