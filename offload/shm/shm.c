/* Plans within a node: binding and running them. Every MPI_Start and MPI_Wait goes through here. */
#include "offload/shm/shm.h"

#include <stdlib.h>

#include "offload/agree.h"
#include "offload/node/board.h"
#include "offload/node/fire.h"

/* ---- binding ---- */

static const struct pcoll_medium shm_with_board;

static enum pcoll_result shm_group_create(const struct pcoll_bootstrap *bootstrap,
                                          struct pcoll_group **group_p)
{
    enum pcoll_result result = pcoll_node_group_create(bootstrap, group_p);

    if (result == PCOLL_OK)
        (*group_p)->medium = &pcoll_medium_shm;
    return result;
}

static enum pcoll_result connect_ranks(struct pcoll_node_binding *b, struct pcoll_node_group *group,
                                       enum pcoll_result mine)
{
    enum pcoll_result result = pcoll_node_carve_extent(b, group, mine);

    if (result != PCOLL_OK)
        return result;
    if (group->bootstrap.crowded)
        b->bound->run.sleepers = &group->meeting->sleepers;
    if (pcoll_node_maps_operands(b))
        pcoll_node_resolve(b);
    else
        result = PCOLL_UNSUPPORTED;
    pcoll_node_signalers_publish(b);
    result = pcoll_agree(&group->bootstrap, PCOLL_ROUND_BOUND, result, NULL, 0);
    pcoll_node_find_alone(b);
    if (result == PCOLL_OK)
        pcoll_node_board_open(b);
    return result;
}

static void destroy(struct pcoll_node_bound *bound)
{
    if (bound == NULL)
        return;
    pcoll_node_bound_fini(bound);
    free(bound);
}

static enum pcoll_result allocate(struct pcoll_node_binding *b,
                                  const struct pcoll_node_group *group)
{
    enum pcoll_result result;

    if (b->plan == NULL)
        return PCOLL_ERR_NOMEM;
    b->bound = calloc(1, sizeof(*b->bound));
    if (b->bound == NULL)
        return PCOLL_ERR_NOMEM;
    b->bound->send_layout = b->memory->send_layout;
    b->bound->recv_layout = b->memory->recv_layout;
    result = pcoll_node_layout_init(b->bound, b->plan);
    if (result == PCOLL_OK)
        result = pcoll_node_board_init(b, group);
    if (result == PCOLL_OK)
        result = pcoll_run_init(&b->bound->run, b->plan, b->memory->op);
    return result == PCOLL_OK ? pcoll_node_binding_init(b) : result;
}

static enum pcoll_result shm_bind(struct pcoll_group *base, const struct pcoll_plan *plan,
                                  const struct pcoll_memory *memory, struct pcoll_bound **bound_p)
{
    struct pcoll_node_group *group = pcoll_node_group_of(base);
    struct pcoll_node_binding b = {
        .plan = plan, .memory = memory, .nlocal = group->bootstrap.nranks, .halves_lines = true};
    enum pcoll_result result = connect_ranks(&b, group, allocate(&b, group));

    pcoll_node_binding_fini(&b);
    if (result != PCOLL_OK) {
        destroy(b.bound);
        return result;
    }
    b.bound->base.medium = b.bound->board ? &shm_with_board : base->medium;
    b.bound->base.can_move = pcoll_node_can_move(b.bound, plan);
    b.bound->group = group;
    *bound_p = &b.bound->base;
    return PCOLL_OK;
}

static void shm_unbind(struct pcoll_bound *bound)
{
    if (bound != NULL)
        destroy(pcoll_node_bound_of(bound));
}

/* ---- running ---- */

/* Not complete: pending, or failed. */
static enum pcoll_result go_on(struct pcoll_node_bound *bound, enum pcoll_result result)
{
    return result == PCOLL_PENDING ? pcoll_node_attend(bound) : pcoll_node_stop(bound);
}

static enum pcoll_result shm_start(struct pcoll_bound *base)
{
    struct pcoll_node_bound *bound = pcoll_node_bound_of(base);
    enum pcoll_result result = pcoll_run_start(&bound->run, pcoll_node_fire);

    return __builtin_expect(result > PCOLL_PENDING, 0) ? pcoll_node_stop(bound) : result;
}

static enum pcoll_result shm_progress(struct pcoll_bound *base)
{
    struct pcoll_node_bound *bound = pcoll_node_bound_of(base);
    enum pcoll_result result = pcoll_run_progress(&bound->run, pcoll_node_fire);

    return result == PCOLL_OK ? result : go_on(bound, result);
}

static enum pcoll_result shm_spin(struct pcoll_bound *base, unsigned spins)
{
    struct pcoll_node_bound *bound = pcoll_node_bound_of(base);
    enum pcoll_result result = pcoll_run_progress(&bound->run, pcoll_node_fire);

    while (result == PCOLL_PENDING && spins-- > 0) {
        pcoll_relax();
        result = pcoll_run_progress(&bound->run, pcoll_node_fire);
    }
    return result == PCOLL_OK ? result : go_on(bound, result);
}

/* ---- running with a board ---- */

static enum pcoll_result judge(struct pcoll_node_bound *bound, enum pcoll_result result)
{
    if (result != PCOLL_PENDING)
        pcoll_node_board_end(bound);
    return result;
}

static enum pcoll_result board_start(struct pcoll_bound *base)
{
    struct pcoll_node_bound *bound = pcoll_node_bound_of(base);
    enum pcoll_result result = pcoll_node_board_begin(bound);

    return judge(bound, result == PCOLL_OK ? shm_start(base) : pcoll_node_stop(bound));
}

static enum pcoll_result board_progress(struct pcoll_bound *base)
{
    struct pcoll_node_bound *bound = pcoll_node_bound_of(base);

    pcoll_node_board_go_on(bound, false);
    return judge(bound, shm_progress(base));
}

/* A rank that waits has nothing better to do than to perform all that is left. */
static enum pcoll_result board_spin(struct pcoll_bound *base, unsigned spins)
{
    struct pcoll_node_bound *bound = pcoll_node_bound_of(base);

    pcoll_node_board_go_on(bound, true);
    return judge(bound, shm_spin(base, spins));
}

/* ---- the medium ---- */

static bool shm_suits(bool one_node, const char *provider)
{
    (void)provider;
    return one_node;
}

/* The functions that are the same with a board. */
#define COMMON                                                                                     \
    .name = "shm", .traits = PCOLL_PACKS | PCOLL_LENDS | PCOLL_LOADS, .suits = shm_suits,          \
    .poll = pcoll_nothing, .lingering = pcoll_none_lingers, .finalize = pcoll_nothing,             \
    .group_create = shm_group_create, .group_destroy = pcoll_node_group_destroy,                   \
    .group_provides = pcoll_node_group_provides, .group_rails = pcoll_one_rail,                    \
    .group_level = pcoll_node_group_level, .group_sharing = pcoll_node_group_sharing,              \
    .group_levels = pcoll_node_group_levels, .group_reach = pcoll_node_group_reach,                \
    .group_measure = pcoll_node_group_measure, .group_machine = pcoll_node_group_machine,          \
    .bind = shm_bind, .unbind = shm_unbind, .tell = pcoll_node_tell, .move = pcoll_node_move,      \
    .rest = pcoll_node_rest, .position = pcoll_node_position

const struct pcoll_medium pcoll_medium_shm = {
    COMMON,
    .start = shm_start,
    .progress = shm_progress,
    .spin = shm_spin,
};

static const struct pcoll_medium shm_with_board = {
    COMMON,
    .start = board_start,
    .progress = board_progress,
    .spin = board_spin,
};
