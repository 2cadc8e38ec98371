#include "collectives.h"

#include <pthread.h>

/* ---- arguments ---- */

/* The blocks of one side in the forms that the calls take. */
struct arrays {
    int *counts, *displacements, *bytes; /* displacements in elements, bytes as int */
    MPI_Aint *places;
    MPI_Datatype *types;
};

static struct arrays *arrays_of(const struct side *side)
{
    const size_t n = side->blocks != NULL ? (size_t)side->n : 0;
    struct arrays *a = malloc(sizeof(*a));
    MPI_Aint low, extent = 1;

    *a = (struct arrays){calloc(n + 1, sizeof(int)), calloc(n + 1, sizeof(int)),
                         calloc(n + 1, sizeof(int)), calloc(n + 1, sizeof(MPI_Aint)),
                         calloc(n + 1, sizeof(MPI_Datatype))};
    if (n > 0)
        MPI(MPI_Type_get_extent(side->blocks[0].type, &low, &extent));
    for (size_t i = 0; i < n; i++) {
        a->counts[i] = side->blocks[i].count;
        a->places[i] = side->blocks[i].place;
        a->bytes[i] = (int)side->blocks[i].place;
        a->displacements[i] = extent ? (int)(side->blocks[i].place / extent) : 0;
        a->types[i] = side->blocks[i].type;
    }
    return a;
}

static void arrays_free(struct arrays *a)
{
    if (a == NULL)
        return;
    free(a->counts);
    free(a->displacements);
    free(a->bytes);
    free(a->places);
    free(a->types);
    free(a);
}

static int count_of(const struct side *side)
{
    return side->blocks != NULL ? side->blocks[0].count : -1;
}

static MPI_Datatype type_of(const struct side *side)
{
    return side->blocks != NULL ? side->blocks[0].type : MPI_DATATYPE_NULL;
}

static const void *send_buffer(const struct call *c)
{
    return c->in_place && c->send.blocks == NULL ? MPI_IN_PLACE : c->send.buffer;
}

static void *receive_buffer(const struct call *c)
{
    return c->in_place && c->receive.blocks == NULL ? MPI_IN_PLACE : c->receive.buffer;
}

/* ---- calls ---- */

#define CALL(name) static int name(const struct call *c, MPI_Request *request_p)
#define SENT ((const struct arrays *)c->arrays[0])
#define RECEIVED ((const struct arrays *)c->arrays[1])
#define SEND_ONE send_buffer(c), count_of(&c->send), type_of(&c->send)
#define RECEIVE_ONE receive_buffer(c), count_of(&c->receive), type_of(&c->receive)
#define SEND_V send_buffer(c), SENT->counts, SENT->displacements, type_of(&c->send)
#define RECEIVE_V receive_buffer(c), RECEIVED->counts, RECEIVED->displacements, type_of(&c->receive)
#define ROOT c->root, c->comm, c->info, request_p
#define END c->comm, c->info, request_p
#define BOTH_VECTORS send_buffer(c), receive_buffer(c)

CALL(barrier)
{
    return MPI_Barrier_init(END);
}

CALL(bcast)
{
    const struct side *side = c->send.blocks != NULL ? &c->send : &c->receive;

    return MPI_Bcast_init(side->buffer, count_of(side), type_of(side), ROOT);
}

CALL(gather)
{
    return MPI_Gather_init(SEND_ONE, RECEIVE_ONE, ROOT);
}

CALL(gatherv)
{
    return MPI_Gatherv_init(SEND_ONE, RECEIVE_V, ROOT);
}

CALL(scatter)
{
    return MPI_Scatter_init(SEND_ONE, RECEIVE_ONE, ROOT);
}

CALL(scatterv)
{
    return MPI_Scatterv_init(SEND_V, RECEIVE_ONE, ROOT);
}

CALL(allgather)
{
    return MPI_Allgather_init(SEND_ONE, RECEIVE_ONE, END);
}

CALL(allgatherv)
{
    return MPI_Allgatherv_init(SEND_ONE, RECEIVE_V, END);
}

CALL(alltoall)
{
    return MPI_Alltoall_init(SEND_ONE, RECEIVE_ONE, END);
}

CALL(alltoallv)
{
    return MPI_Alltoallv_init(SEND_V, RECEIVE_V, END);
}

CALL(alltoallw)
{
    return MPI_Alltoallw_init(send_buffer(c), SENT->counts, SENT->bytes, SENT->types,
                              receive_buffer(c), RECEIVED->counts, RECEIVED->bytes, RECEIVED->types,
                              END);
}

/* The blocks of a reduction share a type. Where the receive side has a meaning on the root only, or
 * the send side is in place, the other side says what is reduced. */
static const struct side *vector_of(const struct call *c)
{
    return c->send.blocks != NULL ? &c->send : &c->receive;
}

CALL(reduce)
{
    return MPI_Reduce_init(BOTH_VECTORS, count_of(vector_of(c)), type_of(vector_of(c)), c->op,
                           ROOT);
}

CALL(allreduce)
{
    return MPI_Allreduce_init(BOTH_VECTORS, count_of(&c->receive), type_of(&c->receive), c->op,
                              END);
}

CALL(reduce_scatter_block)
{
    return MPI_Reduce_scatter_block_init(BOTH_VECTORS, count_of(&c->receive), type_of(&c->receive),
                                         c->op, END);
}

/* In place, the receive side lists the blocks of all ranks; otherwise the send side does. */
CALL(reduce_scatter)
{
    return MPI_Reduce_scatter_init(BOTH_VECTORS, c->in_place ? RECEIVED->counts : SENT->counts,
                                   type_of(&c->receive), c->op, END);
}

CALL(scan)
{
    return MPI_Scan_init(BOTH_VECTORS, count_of(&c->receive), type_of(&c->receive), c->op, END);
}

CALL(exscan)
{
    return MPI_Exscan_init(BOTH_VECTORS, count_of(&c->receive), type_of(&c->receive), c->op, END);
}

CALL(neighbor_allgather)
{
    return MPI_Neighbor_allgather_init(SEND_ONE, RECEIVE_ONE, END);
}

CALL(neighbor_allgatherv)
{
    return MPI_Neighbor_allgatherv_init(SEND_ONE, RECEIVE_V, END);
}

CALL(neighbor_alltoall)
{
    return MPI_Neighbor_alltoall_init(SEND_ONE, RECEIVE_ONE, END);
}

CALL(neighbor_alltoallv)
{
    return MPI_Neighbor_alltoallv_init(SEND_V, RECEIVE_V, END);
}

CALL(neighbor_alltoallw)
{
    return MPI_Neighbor_alltoallw_init(send_buffer(c), SENT->counts, SENT->places, SENT->types,
                                       receive_buffer(c), RECEIVED->counts, RECEIVED->places,
                                       RECEIVED->types, END);
}

/* ---- the table ---- */

enum { UNEQUAL = VECTOR | PLACED };

#define ROW(NAME, name, traits, sends, receives)                                                   \
    [COLL_##NAME] = {#name, traits, sends, receives, name}

const struct collective collectives[COLLS] = {
    ROW(BARRIER, barrier, 0, NO_BLOCKS, NO_BLOCKS),
    ROW(BCAST, bcast, ROOTED, ONE_OF_ROOT, ONE_OF_OTHERS),
    ROW(GATHER, gather, ROOTED | IN_PLACE, ONE_BLOCK, ALL_OF_ROOT),
    ROW(GATHERV, gatherv, ROOTED | IN_PLACE | UNEQUAL, ONE_BLOCK, ALL_OF_ROOT),
    ROW(SCATTER, scatter, ROOTED | IN_PLACE, ALL_OF_ROOT, ONE_BLOCK),
    ROW(SCATTERV, scatterv, ROOTED | IN_PLACE | UNEQUAL, ALL_OF_ROOT, ONE_BLOCK),
    ROW(ALLGATHER, allgather, IN_PLACE, ONE_BLOCK, ONE_PER_RANK),
    ROW(ALLGATHERV, allgatherv, IN_PLACE | UNEQUAL, ONE_BLOCK, ONE_PER_RANK),
    ROW(ALLTOALL, alltoall, IN_PLACE, ONE_PER_RANK, ONE_PER_RANK),
    ROW(ALLTOALLV, alltoallv, IN_PLACE | UNEQUAL, ONE_PER_RANK, ONE_PER_RANK),
    ROW(ALLTOALLW, alltoallw, IN_PLACE | UNEQUAL | TYPED, ONE_PER_RANK, ONE_PER_RANK),
    ROW(REDUCE, reduce, ROOTED | IN_PLACE | REDUCES, ONE_BLOCK, ONE_OF_ROOT),
    ROW(ALLREDUCE, allreduce, IN_PLACE | REDUCES, ONE_BLOCK, ONE_BLOCK),
    ROW(REDUCE_SCATTER_BLOCK, reduce_scatter_block, IN_PLACE | REDUCES, ONE_PER_RANK, ONE_BLOCK),
    ROW(REDUCE_SCATTER, reduce_scatter, IN_PLACE | REDUCES | VECTOR, ONE_PER_RANK, ONE_BLOCK),
    ROW(SCAN, scan, IN_PLACE | REDUCES, ONE_BLOCK, ONE_BLOCK),
    ROW(EXSCAN, exscan, IN_PLACE | REDUCES, ONE_BLOCK, ONE_BLOCK),
    ROW(NEIGHBOR_ALLGATHER, neighbor_allgather, NEIGHBOR, ONE_BLOCK, ONE_PER_EDGE),
    ROW(NEIGHBOR_ALLGATHERV, neighbor_allgatherv, NEIGHBOR | UNEQUAL, ONE_BLOCK, ONE_PER_EDGE),
    ROW(NEIGHBOR_ALLTOALL, neighbor_alltoall, NEIGHBOR, ONE_PER_EDGE, ONE_PER_EDGE),
    ROW(NEIGHBOR_ALLTOALLV, neighbor_alltoallv, NEIGHBOR | UNEQUAL, ONE_PER_EDGE, ONE_PER_EDGE),
    ROW(NEIGHBOR_ALLTOALLW, neighbor_alltoallw, NEIGHBOR | UNEQUAL | TYPED, ONE_PER_EDGE,
        ONE_PER_EDGE),
};

enum coll coll_find(const char *name)
{
    int coll = 0;

    while (coll < COLLS && strcmp(name, collectives[coll].name) != 0)
        coll++;
    return (enum coll)coll;
}

int coll_wanted(enum coll coll)
{
    const char *list = check_option("only");
    const size_t length = strlen(collectives[coll].name);

    while (list != NULL && *list != '\0') {
        const size_t this = strcspn(list, ",");

        if (this == length && strncmp(list, collectives[coll].name, length) == 0)
            return 1;
        list += this + (list[this] == ',');
    }
    return list == NULL;
}

static int has_plans[COLLS];

/* Several threads may ask at once. */
static void find_plans(void)
{
#define FIND(NAME, name)                                                                           \
    has_plans[COLL_##NAME] = check_has_cvar("MPIR_CVAR_" #NAME "_INIT_ALGORITHM");
    COLLECTIVES(FIND, FIND)
#undef FIND
}

int coll_has_plans(enum coll coll)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, find_plans);
    return has_plans[coll];
}

int coll_blocks(enum blocks blocks, int is_root, int n, int degree)
{
    switch (blocks) {
        case ONE_BLOCK:
            return 1;
        case ONE_PER_RANK:
            return n;
        case ONE_OF_ROOT:
            return is_root;
        case ONE_OF_OTHERS:
            return !is_root;
        case ALL_OF_ROOT:
            return is_root ? n : 0;
        case ONE_PER_EDGE:
            return degree;
        default:
            return 0;
    }
}

MPI_Info call_algorithm(const char *name)
{
    MPI_Info info;

    MPI(MPI_Info_create(&info));
    MPI(MPI_Info_set(info, "coll_offload_algorithm", name));
    return info;
}

void (*call_watch)(int begins) = NULL;

int call_init(struct call *call, MPI_Request *request_p)
{
    struct check_init_counts before;
    int rc;

    call->arrays[0] = arrays_of(&call->send);
    call->arrays[1] = arrays_of(&call->receive);
    check_want_begin(&before);
    if (call_watch != NULL)
        call_watch(1);
    rc = collectives[call->coll].init(call, request_p);
    if (call_watch != NULL)
        call_watch(0);
    if (rc == MPI_SUCCESS)
        check_want_end(&before, collectives[call->coll].name, coll_has_plans(call->coll));
    return rc;
}

void call_free(struct call *call)
{
    arrays_free(call->arrays[0]);
    arrays_free(call->arrays[1]);
    call->arrays[0] = call->arrays[1] = NULL;
}
