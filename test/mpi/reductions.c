/* The six reductions: predefined and users' operators, types without and with gaps and backwards,
 * in place, and the same bits at every start, and of an allreduce on all ranks.
 *
 *   -count=N (20000)   most elements of a vector
 *   -starts=N (60)     starts of one request that must give the same bits, and as many with new
 *                      integers
 *   -few               no predefined operators
 *   -rows=COLLECTIVE/ALGORITHM,...   each of these by its name; otherwise all collectives, first as
 *                      the library chooses, then on MPICH's own path */

#include "elements.h"
#include "messages.h"

enum { REDUCED_STARTS = 3, MARGIN = 64 };

/* One request: the blocks of the vector are its slots (messages.h). */
struct reduction {
    const struct elements *e;
    struct roles roles;
    struct block *blocks; /* [n] */
    long total;           /* elements */
    char *send, *receive; /* memory; the receive memory holds a whole vector */
    struct call call;
    MPI_Request request;
};

/* ---- memory ---- */

static size_t memory_bytes(const struct elements *e, long n)
{
    return (size_t)(n * labs(e->form.extent)) + 2 * (size_t)MARGIN;
}

/* Where the first element lies. */
static char *origin(const struct elements *e, char *memory, long n)
{
    return memory + MARGIN + (e->form.extent < 0 ? (n - 1) * -e->form.extent * (n > 0) : 0);
}

/* ---- one request ---- */

/* Blocks of a reduce_scatter differ, and some are empty. */
static void make_blocks(struct reduction *r, int count)
{
    const int n = collectives[r->roles.coll].sends == ONE_PER_RANK ? r->roles.n : 1;

    r->blocks = calloc((size_t)n, sizeof(*r->blocks));
    for (int k = 0; k < n; k++) {
        const int mine = coll_has(r->roles.coll, VECTOR) ? count * (k % 3) / 2 + k % 2 : count;

        r->blocks[k] = (struct block){r->total * r->e->form.extent, mine, r->e->type};
        r->total += mine;
    }
}

static void reduction_init(struct reduction *r, const struct elements *e, enum coll coll, int form,
                           int count, MPI_Info info)
{
    *r = (struct reduction){.e = e,
                            .roles = {coll, form, check.rank, check.size, count % check.size, {0}}};
    const int in_place = is_in_place(&r->roles, check.rank);
    const int receives = messages_received(&r->roles);

    make_blocks(r, count);
    r->send = in_place ? NULL : check_alloc(memory_bytes(e, r->total));
    r->receive = receives ? check_alloc(memory_bytes(e, r->total)) : NULL;
    r->call = (struct call){.coll = coll,
                            .in_place = in_place,
                            .root = r->roles.root,
                            .op = e->op,
                            .comm = MPI_COMM_WORLD,
                            .info = info};
    const int n = messages_sent(&r->roles);

    if (r->send != NULL)
        r->call.send = (struct side){origin(e, r->send, r->total), n, r->blocks};
    if (r->receive != NULL)
        r->call.receive = (struct side){origin(e, r->receive, r->total), n, r->blocks};
    MPI(call_init(&r->call, &r->request));
}

static void reduction_free(struct reduction *r)
{
    MPI(MPI_Request_free(&r->request));
    call_free(&r->call);
    check_free(r->send);
    check_free(r->receive);
    free(r->blocks);
}

/* All memory is poisoned first, so gaps are known. */
static void reduction_start(struct reduction *r, int step)
{
    const struct elements *e = r->e;
    char *memory = r->send != NULL ? r->send : r->receive;
    char *dense = malloc((size_t)r->total * e->size + 1);

    if (r->receive != NULL)
        check_poison(r->receive, memory_bytes(e, r->total));
    check_poison(memory, memory_bytes(e, r->total));
    e->set(e, dense, check.rank, step, 0, r->total);
    elements_spread(e, origin(e, memory, r->total), dense, r->total);
    free(dense);
    check_delay();
    MPI(MPI_Start(&r->request));
    check_delay();
    MPI(MPI_Wait(&r->request, MPI_STATUS_IGNORE));
}

/* Folds from the right, as MPI's functions want it. In place, the elements behind the result may
 * have any values, but gaps keep theirs. */
static void compare(const struct reduction *r, int step)
{
    const struct elements *e = r->e;
    const struct message from = message_received(&r->roles, 0);
    const struct block *block = &r->blocks[from.slot];
    const long first = block->place / e->form.extent, n = block->count;
    const size_t bytes = memory_bytes(e, r->total);
    char *ought = malloc((size_t)r->total * e->size + 1), *left = malloc((size_t)n * e->size + 1);
    char *memory = malloc(bytes);

    check_poison(memory, bytes);
    if (r->call.in_place) {
        elements_gather(e, ought, origin(e, r->receive, r->total), r->total);
        elements_spread(e, origin(e, memory, r->total), ought, r->total);
    }

    e->set(e, ought, from.terms - 1, step, first, n);
    for (int rank = from.terms - 2; rank >= 0; rank--) {
        e->set(e, left, rank, step, first, n);
        e->fold(e, left, ought, n);
    }
    elements_spread(e, origin(e, memory, r->total), ought, n);
    if (memcmp(memory, r->receive, bytes) != 0)
        check_fail(__FILE__, __LINE__, "%s, %s, %ld elements, start %d: wrong data",
                   collectives[r->roles.coll].name, e->name, n, step);
    free(ought);
    free(left);
    free(memory);
}

#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
#define MAY_LEAVE_HALVES 1
#else
#define MAY_LEAVE_HALVES 0
#endif

/* MPICH 4.0.2's schedules reserve too little memory for elements that run backwards, and so do
 * those of both reduce_scatters, if the operator does not commute, for elements with gaps: they
 * write outside of it. With Fortran, it compares unsigned integers as signed ones; with yaksa, it
 * leaves halves as they are. */
static int mpich_is_wrong(const struct elements *e, enum coll coll)
{
    const int has_gaps =
        e->form.extent > (long)e->size && e->op != MPI_MINLOC && e->op != MPI_MAXLOC;

    return e->form.extent < 0 || strcmp(e->name, "unsigned integers") == 0 ||
           (MAY_LEAVE_HALVES && strcmp(e->name, "halves") == 0) ||
           (has_gaps && (coll == COLL_REDUCE_SCATTER || coll == COLL_REDUCE_SCATTER_BLOCK));
}

static void reduce(const struct elements *e, enum coll coll, int form, int count, MPI_Info info)
{
    const long long fallbacks = check_pvar("coll_offload_fallbacks");
    const long misplaced = elements_misplaced;
    struct reduction r;
    int is_mpich;

    reduction_init(&r, e, coll, form, count, info);
    is_mpich = check_pvar("coll_offload_fallbacks") != fallbacks;
    for (int step = 0; step < REDUCED_STARTS && !(is_mpich && mpich_is_wrong(e, coll)); step++) {
        reduction_start(&r, step);
        if (r.receive != NULL && message_received(&r.roles, 0).terms > 0)
            compare(&r, step);
    }
    if (elements_misplaced != misplaced && !is_mpich)
        check_fail(__FILE__, __LINE__, "an operator was called with elements that are not aligned");
    reduction_free(&r);
}

/* ---- predefined operators ---- */

static void predefined(enum coll coll, MPI_Op op, MPI_Datatype type, int count, MPI_Info info)
{
    const struct elements e = elements_integers(op, type);

    reduce(&e, coll, 0, count, info);
}

static void complex_numbers(enum coll coll, int count, MPI_Info info)
{
    const struct elements all[] = {
        elements_complex(MPI_SUM, MPI_C_FLOAT_COMPLEX),
        elements_complex(MPI_PROD, MPI_C_FLOAT_COMPLEX),
        elements_complex(MPI_SUM, MPI_C_DOUBLE_COMPLEX),
        elements_complex(MPI_PROD, MPI_C_DOUBLE_COMPLEX),
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        reduce(&all[i], coll, 0, count, info);
}

static void half_precision(enum coll coll, int count, MPI_Info info)
{
    const struct elements all[] = {
        elements_halves(MPI_SUM),
        elements_halves(MPI_MAX),
        elements_halves(MPI_MIN),
        elements_bfloat16(),
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i].size > 0)
            reduce(&all[i], coll, 0, count, info);
}

static void pairs(enum coll coll, MPI_Op op, MPI_Datatype type, int count, MPI_Info info)
{
    const struct elements e = elements_pairs(op, type);

    for (int form = 0; form <= 1; form++)
        reduce(&e, coll, form, count, info);
}

static void all_predefined(enum coll coll, int count, MPI_Info info)
{
    const MPI_Datatype types[] = {MPI_INT,      MPI_LONG,     MPI_SIGNED_CHAR, MPI_UNSIGNED_SHORT,
                                  MPI_UINT64_T, MPI_UINT32_T, MPI_INT16_T,     MPI_UNSIGNED_CHAR};
    const MPI_Datatype with_int[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_SHORT_INT,
                                     MPI_LONG_DOUBLE_INT};
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX,  MPI_MIN, MPI_LAND,
                          MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};

    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
        for (size_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++)
            predefined(coll, ops[o], types[t], count, info);
    for (size_t t = 0; t < sizeof(with_int) / sizeof(with_int[0]); t++) {
        pairs(coll, MPI_MINLOC, with_int[t], count, info);
        pairs(coll, MPI_MAXLOC, with_int[t], count, info);
    }
    complex_numbers(coll, count, info);
    half_precision(coll, count, info);
    predefined(coll, MPI_MINLOC, MPI_2INT, count, info);
    predefined(coll, MPI_MAXLOC, MPI_2INT, count, info);
    predefined(coll, MPI_BXOR, MPI_BYTE, count, info);
}

/* ---- equal bits ---- */

static uint64_t hash(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t h = 1469598103934665603u;

    for (size_t i = 0; i < bytes; i++)
        h = (h ^ at[i]) * 1099511628211u;
    return h;
}

static void equal_on_all_ranks(uint64_t bits, int start)
{
    uint64_t both[2] = {bits, ~bits};

    MPI(MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD));
    if (both[0] != ~both[1])
        check_fail(__FILE__, __LINE__, "start %d: bits differ between ranks", start);
}

/* Only plans promise it. */
static void equal_bits(enum coll coll, int form, int count, int starts, MPI_Info info)
{
    const struct elements doubles = elements_doubles();
    struct reduction r;
    uint64_t first = 0;

    reduction_init(&r, &doubles, coll, form, count, info);
    for (int start = 0; start < starts; start++) {
        uint64_t bits = 0;

        reduction_start(&r, start);
        if (r.receive != NULL && message_received(&r.roles, 0).terms > 0)
            bits = hash(r.receive, memory_bytes(&doubles, r.blocks[0].count));
        first = start == 0 ? bits : first;
        if (bits != first)
            check_fail(__FILE__, __LINE__, "start %d: bits differ from those of the first", start);
        if (coll == COLL_ALLREDUCE)
            equal_on_all_ranks(bits, start);
    }
    reduction_free(&r);
}

/* ---- integers, in many starts ---- */

static void many_starts(enum coll coll, int form, int starts, MPI_Info info)
{
    const struct elements integers = elements_integers(MPI_SUM, MPI_LONG);
    struct reduction r;

    reduction_init(&r, &integers, coll, form, 1, info);
    for (int start = 0; start < starts; start++) {
        reduction_start(&r, start);
        if (r.receive != NULL && message_received(&r.roles, 0).terms > 0)
            compare(&r, start);
    }
    reduction_free(&r);
}

/* ---- all ---- */

enum { KINDS = 7, ALWAYS = 4 };

/* Those after the first meet fewer counts. */
static struct elements kinds[KINDS];

static void make_kinds(void)
{
    kinds[0] = elements_matrices("matrices", (struct form){16, 0, 16, 0});
    kinds[1] = elements_matrices("matrices with gaps", (struct form){24, 0, 16, 0});
    kinds[2] = elements_matrices("matrices, backwards", (struct form){-16, 0, 16, 0});
    kinds[3] = elements_pairs(MPI_MAXLOC, MPI_DOUBLE_INT);
    kinds[4] = elements_matrices("matrices with gaps inside", (struct form){24, 4, 8, 4});
    kinds[5] = elements_matrices("matrices below their addresses", (struct form){32, -12, 8, 8});
    kinds[6] = elements_matrices("matrices far apart", (struct form){88, 8, 4, 4});
}

static void free_kinds(void)
{
    for (int k = 0; k < KINDS; k++)
        if (kinds[k].op != MPI_MAXLOC)
            elements_free(&kinds[k]);
}

static void all_of(enum coll coll, const char *algorithm)
{
    const int most = (int)check_number("count", 20000), starts = (int)check_number("starts", 60);
    const int counts[] = {0, 1, 3, 6, 7, 100, 1000, most};
    const int is_mpich = algorithm != NULL && strcmp(algorithm, "mpich") == 0;
    MPI_Info info = algorithm != NULL ? call_algorithm(algorithm) : MPI_INFO_NULL;

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]) && counts[i] <= most; i++)
        for (int form = 0; form <= 1; form++) {
            check_phase("%s%s, %d elements, %s", collectives[coll].name, form ? " in place" : "",
                        counts[i], algorithm ? algorithm : "auto");
            for (int k = 0; k < (i % 3 == 1 ? KINDS : ALWAYS); k++)
                reduce(&kinds[k], coll, form, counts[i], info);
            if (!is_mpich && coll_has_plans(coll))
                equal_bits(coll, form, counts[i], counts[i] > 1000 ? starts / 4 : starts, info);
        }
    for (int form = 0; form <= 1; form++)
        many_starts(coll, form, starts, info);
    if (check_option("few") == NULL)
        all_predefined(coll, 130, info);
    if (check_option("few") == NULL && coll == COLL_ALLREDUCE)
        all_predefined(coll, 1, info);
    if (info != MPI_INFO_NULL)
        MPI(MPI_Info_free(&info));
}

static void all_rows(const char *list)
{
    char *rows = strdup(list), *next = NULL;

    for (char *row = strtok_r(rows, ",", &next); row != NULL; row = strtok_r(NULL, ",", &next)) {
        char *algorithm = strchr(row, '/');

        *algorithm++ = '\0';
        all_of(coll_find(row), algorithm);
    }
    free(rows);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    make_kinds();
    if (check_option("rows") != NULL)
        all_rows(check_option("rows"));
    for (int coll = 0; coll < COLLS && check_option("rows") == NULL; coll++)
        if (coll_has((enum coll)coll, REDUCES) && coll_wanted((enum coll)coll)) {
            all_of((enum coll)coll, NULL);
            all_of((enum coll)coll, "mpich");
        }
    free_kinds();
    return check_done();
}
