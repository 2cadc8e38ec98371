/*
 * Stock and offload in one job. MPICH reads these control variables when a request is created, so
 * writing them through MPI_T just before steers that request alone. Other libraries lack these
 * variables; there the calls have no effect.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

struct cvar {
    MPI_T_cvar_handle handle;
    bool known;
    int initial;
};

/* A variable that steers the stock request to a schedule that is right for any number of starts. */
struct steering {
    struct cvar cvar;
    int values[2]; /* below and from SHORT_ALLGATHER bytes on; -1: unknown */
};

static struct {
    bool offload;
    struct cvar device[NUM_COLLECTIVES]; /* booleans: may the device create this request? */
    struct steering steering[NUM_COLLECTIVES];
} library;

#define DEVICE_NAME(NAME, name, Name) [NAME] = "MPIR_CVAR_" #NAME "_INIT_DEVICE_COLLECTIVE",
static const char *const device_names[] = {BENCH_COLLECTIVES(DEVICE_NAME)};
#undef DEVICE_NAME

/* In MPICH 4.0 the schedules that it chooses itself are right for the first start only. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
enum { STOCK_IS_WRONG = 1 };
#else
enum { STOCK_IS_WRONG = 0 };
#endif

static const struct {
    const char *cvar, *names[2];
} schedules[NUM_COLLECTIVES] = {
    [ALLGATHER] = {"MPIR_CVAR_IALLGATHER_INTRA_ALGORITHM", {"sched_brucks", "sched_ring"}},
    [GATHER] = {"MPIR_CVAR_IGATHER_INTRA_ALGORITHM", {"tsp_tree", "tsp_tree"}},
    [SCATTER] = {"MPIR_CVAR_ISCATTER_INTRA_ALGORITHM", {"tsp_tree", "tsp_tree"}},
};

/* Below this many gathered bytes MPICH itself prefers brucks to ring. */
enum { SHORT_ALLGATHER = 81920 };

static struct cvar open_int(const char *name)
{
    struct cvar cvar = {0};
    int index, count;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS)
        return cvar;
    if (MPI_T_cvar_handle_alloc(index, NULL, &cvar.handle, &count) != MPI_SUCCESS)
        return cvar;
    cvar.known = MPI_T_cvar_read(cvar.handle, &cvar.initial) == MPI_SUCCESS;
    return cvar;
}

static void write_int(struct cvar *cvar, int value)
{
    if (cvar->known)
        MPI_T_cvar_write(cvar->handle, &value);
}

/* MPICH exposes an enumeration as an int without an MPI_T_enum, but its description lists the
 * values in order as "name - what it does". Returns -1 if the name is missing. */
static int enum_value(const char *description, const char *name)
{
    int value = 0;
    const char *end = strstr(description, name);
    if (!end)
        return -1;
    for (const char *at = strstr(description, " - "); at && at < end; at = strstr(at + 3, " - "))
        value++;
    return value;
}

static struct steering open_steering(enum collective coll)
{
    const char *const *names = schedules[coll].names;
    struct steering steering = {.values = {-1, -1}};
    char name[128], description[4096] = "";
    int index, verbosity, binding, scope;
    int name_length = sizeof name, length = sizeof description;
    MPI_Datatype type;
    MPI_T_enum values;
    if (!schedules[coll].cvar || MPI_T_cvar_get_index(schedules[coll].cvar, &index) != MPI_SUCCESS)
        return steering;
    steering.cvar = open_int(schedules[coll].cvar);
    MPI_T_cvar_get_info(index, name, &name_length, &verbosity, &type, &values, description, &length,
                        &binding, &scope);
    for (int i = 0; i < 2; i++)
        steering.values[i] = enum_value(description, names[i]);
    return steering;
}

void cvars_init(void)
{
    int provided, index;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    library.offload =
        MPI_T_cvar_get_index("MPIR_CVAR_BARRIER_INIT_ALGORITHM", &index) == MPI_SUCCESS;
    for (int coll = 0; coll < NUM_COLLECTIVES; coll++) {
        library.device[coll] = open_int(device_names[coll]);
        library.steering[coll] = open_steering((enum collective)coll);
    }
}

void cvars_fini(void)
{
    for (int coll = 0; coll < NUM_COLLECTIVES; coll++) {
        if (library.device[coll].known)
            MPI_T_cvar_handle_free(&library.device[coll].handle);
        if (library.steering[coll].cvar.known)
            MPI_T_cvar_handle_free(&library.steering[coll].cvar.handle);
    }
    MPI_T_finalize();
}

bool cvars_have_offload(void)
{
    return library.offload;
}

/* A value that the user set in the environment is kept. */
bool cvars_steer(enum collective coll)
{
    const struct steering *steering = &library.steering[coll];
    return STOCK_IS_WRONG && steering->cvar.known && steering->cvar.initial == 0 &&
           steering->values[0] > 0 && steering->values[1] > 0;
}

void cvars_enter(enum collective coll, enum way way, size_t total)
{
    struct steering *steering = &library.steering[coll];
    if (way != STOCK)
        return;
    write_int(&library.device[coll], 0);
    if (cvars_steer(coll))
        write_int(&steering->cvar, steering->values[total >= SHORT_ALLGATHER]);
}

void cvars_leave(void)
{
    for (int coll = 0; coll < NUM_COLLECTIVES; coll++) {
        write_int(&library.device[coll], library.device[coll].initial);
        write_int(&library.steering[coll].cvar, library.steering[coll].cvar.initial);
    }
}
