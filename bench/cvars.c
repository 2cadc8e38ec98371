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

static struct {
    bool offload;
    struct cvar device[NUM_COLLECTIVES]; /* booleans: may the device create this request? */
    struct cvar iallgather;
    int ring, brucks; /* values of iallgather, or -1 */
} library;

static const char *const device_names[NUM_COLLECTIVES] = {
    "MPIR_CVAR_BARRIER_INIT_DEVICE_COLLECTIVE",
    "MPIR_CVAR_BCAST_INIT_DEVICE_COLLECTIVE",
    "MPIR_CVAR_ALLGATHER_INIT_DEVICE_COLLECTIVE",
    "MPIR_CVAR_ALLREDUCE_INIT_DEVICE_COLLECTIVE",
};

/* In MPICH 4.0 the recursive-doubling schedule is right for the first start only. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
enum { ALLGATHER_IS_WRONG = 1 };
#else
enum { ALLGATHER_IS_WRONG = 0 };
#endif

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

static void read_allgather_names(const char *cvar_name)
{
    char name[128], description[4096] = "";
    int index, verbosity, binding, scope;
    int name_length = sizeof name, length = sizeof description;
    MPI_Datatype type;
    MPI_T_enum values;
    library.ring = library.brucks = -1;
    if (MPI_T_cvar_get_index(cvar_name, &index) != MPI_SUCCESS)
        return;
    MPI_T_cvar_get_info(index, name, &name_length, &verbosity, &type, &values, description, &length,
                        &binding, &scope);
    library.ring = enum_value(description, "sched_ring");
    library.brucks = enum_value(description, "sched_brucks");
}

void cvars_init(void)
{
    int provided, index;
    const char *iallgather = "MPIR_CVAR_IALLGATHER_INTRA_ALGORITHM";
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    library.offload =
        MPI_T_cvar_get_index("MPIR_CVAR_BARRIER_INIT_ALGORITHM", &index) == MPI_SUCCESS;
    for (int coll = 0; coll < NUM_COLLECTIVES; coll++)
        library.device[coll] = open_int(device_names[coll]);
    library.iallgather = open_int(iallgather);
    read_allgather_names(iallgather);
}

void cvars_fini(void)
{
    for (int coll = 0; coll < NUM_COLLECTIVES; coll++)
        if (library.device[coll].known)
            MPI_T_cvar_handle_free(&library.device[coll].handle);
    if (library.iallgather.known)
        MPI_T_cvar_handle_free(&library.iallgather.handle);
    MPI_T_finalize();
}

bool cvars_have_offload(void)
{
    return library.offload;
}

/* A value that the user set in the environment is kept. */
bool cvars_force_allgather(void)
{
    return ALLGATHER_IS_WRONG && library.iallgather.known && library.iallgather.initial == 0 &&
           library.ring > 0 && library.brucks > 0;
}

void cvars_enter(enum collective coll, enum way way, size_t total)
{
    if (way != STOCK)
        return;
    write_int(&library.device[coll], 0);
    if (coll == ALLGATHER && cvars_force_allgather())
        write_int(&library.iallgather, total < SHORT_ALLGATHER ? library.brucks : library.ring);
}

void cvars_leave(void)
{
    for (int coll = 0; coll < NUM_COLLECTIVES; coll++)
        write_int(&library.device[coll], library.device[coll].initial);
    write_int(&library.iallgather, library.iallgather.initial);
}
