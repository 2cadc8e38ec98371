/* Plans as the source papers print them, and the counts that the papers state. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/algorithm.h"
#include "algorithms/lower/lower.h"
#include "test/unit/tap.h"

static struct pcoll_plan *make(enum pcoll_coll coll, const char *name, int nranks, int rank,
                               struct pcoll_params params)
{
    struct pcoll_signature signature = {coll, nranks, 0, !pcoll_coll_has(coll, PCOLL_SYNCHRONIZES),
                                        1};
    struct pcoll_plan *plan = NULL;

    signature.in_place = pcoll_coll_has(coll, PCOLL_IN_PLACE);
    signature.commutes = pcoll_coll_has(coll, PCOLL_REDUCES);
    if (pcoll_generate(pcoll_algorithm_find(coll, name), &signature, NULL, rank, &params, &plan) !=
        PCOLL_OK)
        abort();
    return plan;
}

static void check_table(struct pcoll_plan *plan, const char *expected, const char *what)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    pcoll_plan_print_paper(plan, out);
    fclose(out);
    if (!tap_ok(strcmp(text, expected) == 0, "%s is printed literally", what))
        printf("# got:\n%s", text);
    free(text);
    pcoll_plan_destroy(plan);
}

static const struct pcoll_params paper = {.paper = 1};

static const char table2[] = "Rq\tTh\tOt\tCl\tCr\n"
                             "0\t0\tFI_OP_WRITE\t-\t1\n"
                             "1\t1\tFI_OP_CNTR_ADD\t2\t-\n"
                             "2\t3\tFI_OP_WRITE\t-\t1\n"
                             "3\t3\tFI_OP_WRITE\t-\t1\n";

static const char table4[] = "r\tTh\tOt\tIv\tPq\tCi\n"
                             "1\t0\tFI_OP_REMOTE_CNTR_ADD\t4\t1\tC_bb\n"
                             "2\t4\tFI_OP_REMOTE_CNTR_ADD\t2\t2\tC_bb\n"
                             "3\t6\tFI_OP_REMOTE_CNTR_ADD\t1\t4\tC_bb\n"
                             "C\t7\tFI_OP_REMOTE_CNTR_ADD\t-7\t0\tC_bb\n";

static const char table5[] = "Mn\tr\tR\tTh\tOt\tIv\tPq\n"
                             "RTR_1\t1\t1\t0\tot1\t32\t1\n"
                             "DAT_1\t1\t2\t32\tot2\t0\t1\n"
                             "RTE_1\t1\t2\t32\tot1\t16\t1\n"
                             "RTR_2\t2\t3\t48\tot1\t8\t2\n"
                             "DAT_2\t2\t4\t56\tot2\t0\t2\n"
                             "RTE_2\t2\t4\t56\tot1\t4\t2\n"
                             "RTR_3\t3\t5\t60\tot1\t2\t4\n"
                             "DAT_3\t3\t6\t62\tot2\t0\t4\n"
                             "RTE_3\t3\t6\t62\tot1\t1\t4\n"
                             "FIN_C\tC\t7\t63\tot1\t-63\t0\n";

static void check_papers_tables(void)
{
    /* In the binomial tree of 8, rank 4 is an inner rank with two children. */
    check_table(make(PCOLL_BCAST, "knomial_put", 8, 4, paper), table2, "document 001 table 2");
    check_table(make(PCOLL_BARRIER, "butterfly", 8, 0, paper), table4, "document 001 table 4");
    check_table(make(PCOLL_ALLGATHER, "butterfly", 8, 0, paper), table5, "document 001 table 5");
}

/* Each real round signals a power of two; the first round's is the largest. */
static int real_rounds(const struct pcoll_plan *plan)
{
    uint64_t largest = 0;
    int rounds = 0;

    for (int i = 0; i < plan->nentries; i++)
        if (plan->entries[i].peer_add > largest)
            largest = plan->entries[i].peer_add;
    for (; largest > 0; largest /= 2)
        rounds++;
    return rounds;
}

static void check_table6(int nranks, int logical, int real)
{
    /* Rank 0 stands for an extra rank, which has all rounds. */
    struct pcoll_plan *one = make(PCOLL_ALLGATHER, "butterfly", nranks, 0, paper);
    struct pcoll_plan *two =
        make(PCOLL_ALLGATHER, "butterfly", nranks, 0, (struct pcoll_params){0});

    tap_ok(one->ncounters == 1, "document 001 table 6: 1 counter at %d ranks", nranks);
    tap_ok(two->ncounters == 2, "2 counters in the form safe against run-ahead at %d ranks",
           nranks);
    tap_ok(real_rounds(two) == real && real == 2 * logical,
           "document 001 table 6: %d = 2 x %d real rounds at %d ranks", real, logical, nranks);
    tap_ok(two->nentries <= 2 * 6 * logical, "%d entries at %d ranks: O(log N)", two->nentries,
           nranks);
    pcoll_plan_destroy(one);
    pcoll_plan_destroy(two);
}

static void check_counters_do_not_grow(void)
{
    for (uint64_t segment = 4096; segment <= 1048576; segment *= 16) {
        struct pcoll_signature signature = {PCOLL_BCAST, 5, 0, 128 << 20, 0};
        struct pcoll_params params = {.segment = segment};
        struct pcoll_plan *chain = NULL, *eager = NULL;

        if (pcoll_generate(pcoll_algorithm_find(PCOLL_BCAST, "chain"), &signature, NULL, 2, &params,
                           &chain) != PCOLL_OK ||
            pcoll_generate(pcoll_algorithm_find(PCOLL_BCAST, "eager"), &signature, NULL, 2, &params,
                           &eager) != PCOLL_OK)
            abort();
        tap_ok(chain->ncounters == 1 && eager->ncounters == 12,
               "128 MiB in %d entries: 1 counter for the chain, 12 for eager", chain->nentries);
        pcoll_plan_destroy(chain);
        pcoll_plan_destroy(eager);
    }
}

/* Works that one start queues: all entries except WAIT. */
static int works_of(const struct pcoll_plan *plan)
{
    int works = 0;

    for (int i = 0; i < plan->phases[0].count; i++)
        works += plan->entries[plan->phases[0].first + i].op != PCOLL_OP_WAIT;
    return works;
}

/* n rounds need n counters in each bank and n - 1 gates between n signals. */
static void check_lowered_barrier(int nranks, int n)
{
    struct pcoll_params none = {0};
    struct pcoll_plan *plan = make(PCOLL_BARRIER, "butterfly", nranks, 0, none);
    int before = plan->ncounters, works = works_of(plan);

    tap_ok(before == 2 && works == n && plan->needs & PCOLL_NEED_WEIGHTS,
           "barrier of %d ranks: 2 counters and %d works per start", nranks, works);
    if (pcoll_lower(pcoll_algorithm_find(PCOLL_BARRIER, "butterfly"), &none, &plan) != PCOLL_OK)
        abort();
    tap_ok(plan->ncounters == 2 * n && works_of(plan) == 2 * n - 1 && plan->needs == 0,
           "lowered: %d counters and %d works per start", plan->ncounters, works_of(plan));
    for (int c = 0; c < plan->ncounters; c++)
        if (plan->gain[c] > 2)
            tap_ok(0, "lowered: counter %d gains more than 2 per cycle", c);
    pcoll_plan_destroy(plan);
}

/* A lowered plan has the properties that lower.h states, whatever it was made from. */
static int is_lowered(const struct pcoll_plan *plan)
{
    int right = plan->lowered && !(plan->needs & PCOLL_NEED_WEIGHTS);

    for (int i = 0; i < plan->nentries; i++) {
        const struct pcoll_entry *entry = &plan->entries[i];
        int signals = entry->peer_counter != PCOLL_NONE, has_done = entry->done != PCOLL_NONE;
        int is_move = entry->op == PCOLL_OP_PUT || entry->op == PCOLL_OP_GET;

        right = right && (!signals || entry->peer_add == 1) &&
                (!is_move || !has_done || entry->done_add == 1);
        right = right && !(signals && entry->op == PCOLL_OP_GET) &&
                !(signals && has_done && entry->op == PCOLL_OP_ADD);
        right = right && !(has_done && entry->op == PCOLL_OP_ADD && entry->done == entry->trigger);
        for (int j = 0; is_move && has_done && j < plan->nentries; j++)
            right = right &&
                    (plan->entries[j].done != entry->done || plan->entries[j].op == PCOLL_OP_PUT ||
                     plan->entries[j].op == PCOLL_OP_GET);
    }
    return right;
}

static int all_are_lowered(const struct pcoll_algorithm *row,
                           const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    int right = 1;

    for (int rank = 0; rank < signature->nranks; rank++) {
        struct pcoll_plan *plan = NULL;

        right = pcoll_generate(row, signature, NULL, rank, params, &plan) == PCOLL_OK &&
                pcoll_lower(row, params, &plan) == PCOLL_OK && is_lowered(plan) && right;
        pcoll_plan_destroy(plan);
    }
    return right;
}

static void check_lowered_form(void)
{
    PCOLL_EACH_ALGORITHM (row)
        for (int path = PCOLL_PATH_USER; path <= PCOLL_PATH_TEMP; path++) {
            const int can_be_in_place = pcoll_coll_has(row->coll, PCOLL_IN_PLACE) ? 1 : 0;
            const int moves = !pcoll_coll_has(row->coll, PCOLL_SYNCHRONIZES);
            struct pcoll_params params = {.path = (enum pcoll_path)path, .segment = 1};
            int right = 1;

            if (!(row->paths & 1u << path))
                continue;
            for (int in_place = 0; in_place <= can_be_in_place; in_place++)
                for (uint64_t bytes = 1; bytes <= (moves ? 4 : 1); bytes += 3) {
                    struct pcoll_signature signature = {row->coll, 13, 0, moves ? bytes : 0};

                    signature.in_place = in_place;
                    signature.commutes = row->must_commute;
                    right = all_are_lowered(row, &signature, &params) && right;
                }
            tap_ok(right, "%s %s, path %s: one entry is one deferred work",
                   pcoll_coll_name(row->coll), row->name,
                   path == PCOLL_PATH_USER ? "user" : "temp");
        }
}

/* An ADD to its own trigger becomes a stage. */
static void check_lowered_circle(void)
{
    struct pcoll_params once = paper;
    struct pcoll_plan *plan = make(PCOLL_BCAST, "knomial_put", 8, 4, paper);
    int circle = plan->entries[1].done == plan->entries[1].trigger;

    tap_ok(circle &&
               pcoll_lower(pcoll_algorithm_find(PCOLL_BCAST, "knomial_put"), &once, &plan) ==
                   PCOLL_OK &&
               is_lowered(plan),
           "a counter that signals itself is lowered to two");
    pcoll_plan_destroy(plan);
}

static void check_refusals(void)
{
    const struct pcoll_algorithm *ring = pcoll_algorithm_find(PCOLL_ALLGATHER, "ring");
    const struct pcoll_algorithm *bruck = pcoll_algorithm_find(PCOLL_ALLGATHER, "bruck");
    struct pcoll_signature signature = {PCOLL_ALLGATHER, 4, 0, 8, 0};
    struct pcoll_params user = {.path = PCOLL_PATH_USER}, none = {0}, radix = {.radix = 1};
    struct pcoll_plan *plan = NULL;

    tap_ok(pcoll_generate(bruck, &signature, NULL, 0, &user, &plan) == PCOLL_UNSUPPORTED,
           "a path that the algorithm lacks is unsupported");
    tap_ok(pcoll_generate(ring, &signature, NULL, 4, &none, &plan) == PCOLL_ERR_INVALID,
           "a rank out of range is invalid");
    tap_ok(pcoll_generate(ring, &signature, NULL, 0, &radix, &plan) == PCOLL_ERR_INVALID,
           "radix 1 is invalid");
    signature.coll = PCOLL_BCAST;
    tap_ok(pcoll_generate(ring, &signature, NULL, 0, &none, &plan) == PCOLL_ERR_INVALID &&
               plan == NULL,
           "a signature of another collective is invalid");
    tap_ok(pcoll_algorithm_find(PCOLL_BCAST, "ring") == NULL, "names belong to a collective");
    tap_ok(pcoll_algorithm_find(PCOLL_ALLGATHER, "brucks") == bruck &&
               pcoll_algorithm_find(PCOLL_BCAST, "brucks") == NULL,
           "an algorithm is found by MPICH's name");
}

/* Every line of a printed plan names what it does; this test checks that all rows can be
 * printed. */
static void check_printing(void)
{
    PCOLL_EACH_ALGORITHM (row) {
        struct pcoll_plan *plan = make(row->coll, row->name, 5, 1, (struct pcoll_params){0});
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        int lines = 0;

        pcoll_plan_print(plan, out);
        fclose(out);
        for (const char *c = text; *c; c++)
            lines += *c == '\n';
        tap_ok(lines == 3 + plan->nphases + plan->nentries && strstr(text, row->name),
               "%s %s prints one line per entry", pcoll_coll_name(row->coll), row->name);
        free(text);
        pcoll_plan_destroy(plan);
    }
}

/* What a start costs: a message for each digit of each round, and about two copies for each block,
 * whatever the radix. */
static void check_alltoall_bruck(int nranks, int radix, int messages)
{
    const struct pcoll_params params = {.radix = radix};
    struct pcoll_plan *plan = make(PCOLL_ALLTOALL, "bruck", nranks, nranks / 3, params);
    int puts = 0, copies = 0;

    for (int i = 0; i < plan->phases[0].count; i++) {
        puts += plan->entries[i].op == PCOLL_OP_PUT;
        copies += plan->entries[i].op == PCOLL_OP_COPY;
    }
    tap_ok(puts == messages && copies < 2 * nranks + 2 * messages,
           "alltoall of Bruck, %d ranks, radix %d: %d messages, %d copies", nranks, radix, puts,
           copies);
    pcoll_plan_destroy(plan);
}

/* Says that an array is full of as many as an int can count, or nearly; the sanitizer of undefined
 * behavior tells whether that overflows. */
static void check_limit(void)
{
    const struct pcoll_signature signature = {.coll = PCOLL_BARRIER, .nranks = 2};
    struct pcoll_plan *plan;
    int fails;

    if (pcoll_plan_create(&signature, NULL, 0, &plan) != PCOLL_OK || !pcoll_plan_begin(plan, 1, 1))
        abort();
    pcoll_plan_open(plan, 0);
    plan->capacity = INT_MAX / 2 + 1;
    fails = !pcoll_plan_grow(plan) && pcoll_plan_seal(plan) == PCOLL_ERR_NOMEM;
    plan->failed = false;
    plan->operand_room = INT_MAX;
    fails = fails && !pcoll_plan_grow_operands(plan) && pcoll_plan_seal(plan) == PCOLL_ERR_NOMEM;
    tap_ok(fails, "more entries or operands than an int can count are too many for memory");
    pcoll_plan_destroy(plan);
}

int main(void)
{
    check_papers_tables();
    check_table6(82944, 18, 36);
    check_table6(1000000, 21, 42);
    check_counters_do_not_grow();
    check_lowered_barrier(8, 3);
    check_lowered_barrier(64, 6);
    check_lowered_barrier(1024, 10);
    check_lowered_form();
    check_lowered_circle();
    check_refusals();
    check_printing();
    check_limit();
    check_alltoall_bruck(64, 8, 14);
    check_alltoall_bruck(100, 2, 7);
    check_alltoall_bruck(4096, 2, 12);
    check_alltoall_bruck(4096, 8, 28);
    check_alltoall_bruck(4096, 64, 126);
    return tap_done();
}
