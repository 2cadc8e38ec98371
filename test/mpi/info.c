/* Info keys on the init calls: with right or wrong values, known or unknown keys, the same on all
 * ranks or not, the data is right. Messages about wrong values go to stderr (-expect).
 *
 * A setting meets every other kind of trial, and the next setting the others: how the keys are read
 * depends on no collective.
 *
 *   -wrong   wrong values (default: right ones)
 *   -mixed   ranks disagree
 *   -all     every kind meets every setting */

#include "trial.h"

struct setting {
    const char *key, *value;
};

static const struct setting right[] = {{"coll_offload_algorithm", "auto"},
                                       {"coll_offload_algorithm", "mpich"},
                                       {"coll_offload_algorithm", "butterfly"},
                                       {"coll_offload_algorithm", "dissemination"},
                                       {"coll_offload_algorithm", "binomial_put"},
                                       {"coll_offload_algorithm", "binomial_get"},
                                       {"coll_offload_algorithm", "knomial_put"},
                                       {"coll_offload_algorithm", "knomial_get"},
                                       {"coll_offload_algorithm", "eager"},
                                       {"coll_offload_algorithm", "chain"},
                                       {"coll_offload_algorithm", "ring"},
                                       {"coll_offload_algorithm", "direct"},
                                       {"coll_offload_radix", "2"},
                                       {"coll_offload_radix", "3"},
                                       {"coll_offload_radix", "8"},
                                       {"coll_offload_segment_size", "1024"},
                                       {"coll_offload_segment_size", "8192"},
                                       {"coll_offload_segment_size", "65536"},
                                       {"some_other_key", "some value"},
                                       {NULL, NULL}};

static const struct setting wrong[] = {{"coll_offload_algorithm", "nonsense"},
                                       {"coll_offload_algorithm", ""},
                                       {"coll_offload_algorithm", "%s%n%s"},
                                       {"coll_offload_radix", "0"},
                                       {"coll_offload_radix", "1"},
                                       {"coll_offload_radix", "-4"},
                                       {"coll_offload_radix", "two"},
                                       {"coll_offload_radix", "99999999999999999999"},
                                       {"coll_offload_segment_size", "0"},
                                       {"coll_offload_segment_size", "-1"},
                                       {"coll_offload_segment_size", "7"},
                                       {"coll_offload_segment_size", "64k?"},
                                       {"coll_offload_segment_size", "99999999999999999999"},
                                       {NULL, NULL}};

static int turn; /* the number of the setting */

static MPI_Info make(const struct setting *s, const char *algorithm)
{
    MPI_Info info;

    MPI(MPI_Info_create(&info));
    if (algorithm != NULL)
        MPI(MPI_Info_set(info, "coll_offload_algorithm", algorithm));
    /* the standard leaves open whether a value may be empty */
    if (s->value[0] != '\0')
        MPI(MPI_Info_set(info, s->key, s->value));
    return info;
}

static int is_wanted(int kind)
{
    return check_option("all") != NULL || (kind / 4 + turn) % 2 == 0;
}

/* Each size is used by every fourth kind. The info object may be changed or freed as soon as the
 * init calls have returned. */
static void try(const struct setting *s, const char *algorithm)
{
    static const size_t sizes[] = {1, 600, 20001, 100000};
    struct trial trials[TRIAL_KINDS];

    for (int i = 0; i < 4; i++) {
        MPI_Info info = make(s, algorithm);

        check_phase("%s=%s, %s, %zu bytes", s->key, s->value, algorithm ? algorithm : "-",
                    sizes[i]);
        for (int k = i; k < TRIAL_KINDS; k += 4)
            if (is_wanted(k))
                trial_init(&trials[k], (enum trial_kind)k, sizes[i], i % check.size, (uint64_t)k,
                           MPI_COMM_WORLD, info);
        MPI(MPI_Info_free(&info));
        for (int k = i; k < TRIAL_KINDS; k += 4)
            if (is_wanted(k))
                trial_run(&trials[k], 3);
        for (int k = i; k < TRIAL_KINDS; k += 4)
            if (is_wanted(k))
                trial_free(&trials[k]);
    }
    turn++;
}

/* Only some algorithms use the radix and the segment size. */
static void try_each(const struct setting *settings)
{
    for (const struct setting *s = settings; s->key != NULL; s++) {
        try(s, NULL);
        if (strcmp(s->key, "coll_offload_radix") == 0) {
            try(s, "knomial_put");
            try(s, "knomial_get");
        } else if (strcmp(s->key, "coll_offload_segment_size") == 0) {
            try(s, "chain");
        }
    }
}

/* Each rank asks for another setting, some for none: all ranks must agree on one choice. */
static void try_mixed(void)
{
    enum { RIGHT = sizeof(right) / sizeof(right[0]) - 1 };
    static const struct setting nothing = {"some_other_key", "x"};

    for (int i = 0; i < RIGHT; i++) {
        int mine = (i + 5 * check.rank) % RIGHT;

        try(check.rank == i % check.size ? &nothing : &right[mine], NULL);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    if (check_option("mixed") != NULL)
        try_mixed();
    else
        try_each(check_option("wrong") != NULL ? wrong : right);
    return check_done();
}
