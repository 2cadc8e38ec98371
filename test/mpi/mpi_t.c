/* The tool interface: our control variables are listed, and our performance variables count. */

#include "trial.h"
#include <unistd.h>

static int listed(const char *wanted)
{
    int count = 0;

    MPI_T_cvar_get_num(&count);
    for (int i = 0; i < count; i++) {
        char name[128];
        int length = sizeof(name), none = 0, verbosity, binding, scope;
        MPI_Datatype type;
        MPI_T_enum values;

        if (MPI_T_cvar_get_info(i, name, &length, &verbosity, &type, &values, NULL, &none, &binding,
                                &scope) == MPI_SUCCESS &&
            strcmp(name, wanted) == 0)
            return 1;
    }
    return 0;
}

static void control_variables(void)
{
#define VARIABLE(NAME, name) "MPIR_CVAR_" #NAME "_INIT_ALGORITHM",
    static const char *const names[] = {
        COLLECTIVES(VARIABLE, VARIABLE) "MPIR_CVAR_COLL_OFFLOAD_MAX_TEMP",
        "MPIR_CVAR_COLL_OFFLOAD_MEASURE", "MPIR_CVAR_COLL_OFFLOAD_TUNING_FILE"};
#undef VARIABLE

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!listed(names[i]))
            check_fail(__FILE__, __LINE__, "no control variable %s", names[i]);
}

static long long plans(void)
{
    return check_pvar("coll_offload_plans");
}

static long long fallbacks(void)
{
    return check_pvar("coll_offload_fallbacks");
}

static void counts_plans(void)
{
    long long plans_before = plans(), fallbacks_before = fallbacks();
    struct trial trials[TRIAL_KINDS];
    int with_plans = 0;

    check_phase("plans");
    CHECK(plans_before >= 0 && fallbacks_before >= 0);
    for (int k = 0; k < TRIAL_KINDS; k++) {
        trial_init(&trials[k], (enum trial_kind)k, 100, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL);
        with_plans += trial_has_plans((enum trial_kind)k);
        CHECK(plans() == plans_before + with_plans);
    }
    CHECK(with_plans > 0);
    for (int k = 0; k < TRIAL_KINDS; k++)
        trial_run(&trials[k], 3);
    CHECK(plans() == plans_before + with_plans);
    CHECK(fallbacks() == fallbacks_before + TRIAL_KINDS - with_plans);
    for (int k = 0; k < TRIAL_KINDS; k++)
        trial_free(&trials[k]);
}

static void counts_fallbacks(void)
{
    long long plans_before = plans(), fallbacks_before = fallbacks();
    MPI_Info info = call_algorithm("mpich");

    check_phase("fallbacks");
    trial_all_kinds(100, 0, 1, 3, MPI_COMM_WORLD, info);
    MPI(MPI_Info_free(&info));
    CHECK(fallbacks() == fallbacks_before + TRIAL_KINDS);
    CHECK(plans() <= plans_before);
}

/* ---- agents ---- */

enum { MEBIBYTE = 1 << 20, STARTS = 5, PATIENCE_USEC = 2000000, STEP_USEC = 1000 };

static long long chunks_of_all(void)
{
    static const char *const names[] = {"coll_offload_chunks_opener", "coll_offload_chunks_helper",
                                        "coll_offload_chunks_agent"};
    long long sum = 0;

    for (int i = 0; i < 3; i++) {
        CHECK(check_pvar(names[i]) >= 0);
        sum += check_pvar(names[i]);
    }
    MPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    return sum;
}

/* Whoever copies them, each copy has four chunks of a quarter: a chunk is half of the 512 KiB from
 * which on two ranks copy together. */
static void counts_chunks(void)
{
    MPI_Info info = call_algorithm("knomial_get");
    const long long before = chunks_of_all(), ended = check_pvar("coll_offload_agent_ended");
    struct trial trial;

    check_phase("chunks");
    trial_init(&trial, TRIAL_BCAST, MEBIBYTE, 0, 1, MPI_COMM_WORLD, info);
    trial_run(&trial, STARTS);
    CHECK(chunks_of_all() == before + 4LL * STARTS * (check.size - 1));
    CHECK(ended >= 0 && check_pvar("coll_offload_agent_ended") <= ended + STARTS);
    trial_free(&trial);
    MPI(MPI_Info_free(&info));
}

/* An idle agent sleeps, so a start that leaves something to do wakes it, on one rank at least; one
 * that others preempt is not there for a time. */
static void counts_wakes(void)
{
    const long long wakes = check_pvar("coll_offload_agent_wakes");
    struct trial trial;
    int woken = 0;

    check_phase("wakes");
    CHECK(wakes >= 0 && check_pvar("coll_offload_agent_retirements") >= 0);
    CHECK(check_pvar("coll_offload_agent_begun") >= 0);
    trial_init(&trial, TRIAL_BCAST, MEBIBYTE, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL);
    for (long usec = 0; !woken && usec < PATIENCE_USEC; usec += STEP_USEC) {
        usleep(STEP_USEC);
        trial_run(&trial, 1);
        woken = check_pvar("coll_offload_agent_wakes") > wakes;
        MPI(MPI_Allreduce(MPI_IN_PLACE, &woken, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD));
    }
    CHECK(woken);
    trial_free(&trial);
}

int main(int argc, char **argv)
{
    const char *agent = getenv("MPIR_CVAR_COLL_OFFLOAD_AGENT");
    int provided;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    MPI(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    control_variables();
    counts_plans();
    counts_fallbacks();
    counts_chunks();
    if (agent != NULL && strcmp(agent, "thread") == 0)
        counts_wakes();
    MPI(MPI_T_finalize());
    return check_done();
}
