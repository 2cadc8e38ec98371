/* The tool interface: our control variables are listed, and our performance variables count. */

#include "trial.h"

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
        COLLECTIVES(VARIABLE, VARIABLE) "MPIR_CVAR_COLL_OFFLOAD_CMA",
        "MPIR_CVAR_COLL_OFFLOAD_TUNING_FILE"};
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

int main(int argc, char **argv)
{
    int provided;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    MPI(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    control_variables();
    counts_plans();
    counts_fallbacks();
    MPI(MPI_T_finalize());
    return check_done();
}
