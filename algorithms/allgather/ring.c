/*
 * Allgather around a ring, directly between user buffers or through communication buffers; also
 * allgatherv, if the blocks lie side by side on all ranks.
 *
 * Idea: in step t rank p forwards block p - t to p + 1; it received the block from p - 1 in the
 * previous step. All links carry one block in every step, and no byte is moved twice.
 *
 * In a flat ring equal blocks travel whole: there is nothing to overlap them with. Only the first
 * move of the own block, to the successor, goes segment by segment together with its copy to the
 * own receive buffer, so that the second move finds it in the cache (path user). Of unequal blocks
 * the long ones travel in segments, so that no link waits for the whole of the largest. An empty
 * block is a signal, so that completing k needs every rank's start.
 *
 * On several nodes the ring connects their leaders, and a block is that of a node: the leader's and
 * those that the other members have put beside it (path user: into its receive buffer, when it has
 * told them that it is ready). A block travels in segments. As each arrives, the leader forwards it
 * and tells its members, which read it from the leader's buffer while the next one is in flight; so
 * the stages inside nodes cost only the time of the first and the last segment. The blocks of a
 * node that are not adjacent are moved one by one (path temp: only from the communication buffer to
 * the user's).
 *
 * Rails: every block is cut into that many lanes, each of which travels around the ring with a tank
 * of its own.
 *
 * Source: Chan et al., "Collective communication: theory, practice, and experience" (2007), bucket
 * algorithm; the tank of document 001 section 4.1.2.
 *
 *      N = 5:   0 -> 1 -> 2 -> 3 -> 4 -> 0
 *
 * What the tank of a leader receives, if S segments in total arrive around the ring: from each
 * member 2 (S + 1) with its block; from the successor S + 1 for "ready" (path user); from the
 * predecessor 1 with each segment, in order; from each member 1 for "done" (path user), not before
 * it has been told of the last segment. Path temp has neither "ready" nor "done"; its own copy
 * counts like a member's. What the tank of a member receives: from the leader one unit for "ready"
 * and one for the own node and for each segment; 1 from each completed read. A unit is more than
 * all the reads.
 *
 * Cost: (N - 1) (L + rma + M G), one counter (for each rail), two banks; with segments of s bytes
 * of unequal blocks, max(V, M + (N - 2) s) G in place of (N - 1) M G, where V passes each link and
 * M is the largest block. Condition: segments from the predecessor, and the leader's announcements,
 * arrive in order (PCOLL_NEED_ORDER); completing k needs every rank's start of k, so two banks of
 * counters and buffers keep instances apart. A leader's user buffer is its own again when all are
 * "done".
 */
#include <math.h>
#include <stdbool.h>

#include "algorithms/cost.h"
#include "algorithms/shape/blocks.h"

#define DEFAULT_SEGMENT (UINT64_C(128) << 10)

/* Of a segment of the own block, which is copied and sent: it fits a level-2 cache. */
#define OWN_SEGMENT (UINT64_C(512) << 10)

struct state {
    struct pcoll_plan *plan;
    const struct pcoll_params *params;
    struct pcoll_blocks blocks; /* of the lane, as everything below is about it */
    struct pcoll_teams teams;
    int team, member, leader; /* mine; N and p above are the number of teams and my team */
    bool is_user;             /* the path is user */
    int bank;
    struct pcoll_segment own; /* the lane in my block */
    int tank;                 /* the counter of the lane */
    uint64_t nsegments;       /* of all teams */
    uint64_t nown;     /* segments of the own block in step 0 of a flat ring; 0: it moves at once */
    uint64_t incoming; /* S: all segments that arrive at the leader of my team */
    uint64_t unit;     /* of a member's tank */
    uint64_t nreads;   /* of a member */
};

/* ---- how blocks are cut ---- */

static bool is_on_user_path(const struct pcoll_params *params)
{
    return params->path != PCOLL_PATH_TEMP;
}

/* The shortest segment in a flat ring of unequal blocks, where each link would wait for the whole
 * of the largest: no less than a quarter of the average block in the lane, so that there are O(N)
 * segments. */
static uint64_t min_segment(const struct pcoll_signature *signature,
                            const struct pcoll_params *params)
{
    const uint64_t lanes =
        (uint64_t)signature->nranks * (uint64_t)pcoll_lanes(params, signature->bytes);

    return pcoll_block_first(signature, signature->nranks) / (4 * lanes) + 1;
}

/* The number of segments in the lane of a team's block, which has so many bytes, perhaps none: at
 * least 1. */
static uint64_t segments_of(const struct pcoll_signature *signature,
                            const struct pcoll_params *params, uint64_t bytes)
{
    const struct pcoll_teams teams = pcoll_teams_of(signature);
    const uint64_t all = pcoll_block_first(signature, signature->nranks);
    const bool is_flat = teams.topology == NULL;
    const bool is_equal = all == (uint64_t)signature->nranks * signature->bytes;
    uint64_t segment = params->segment ? params->segment : DEFAULT_SEGMENT, n, max;

    if (bytes == 0 || (is_flat && is_equal))
        return 1;
    if (is_flat && segment < min_segment(signature, params))
        segment = min_segment(signature, params);
    n = pcoll_segment_count(bytes, segment, DEFAULT_SEGMENT);
    max = PCOLL_MAX_SEGMENTS / (uint64_t)teams.count + 1;
    return n < max ? n : max;
}

static uint64_t segments_of_team(const struct pcoll_blocks *blocks,
                                 const struct pcoll_params *params, int team)
{
    return segments_of(blocks->signature, params, pcoll_blocks_bytes(blocks, team));
}

static uint64_t segments_of_all(const struct pcoll_blocks *blocks,
                                const struct pcoll_params *params)
{
    uint64_t n = 0;

    for (int team = 0; team < blocks->teams.count; team++)
        n += segments_of_team(blocks, params, team);
    return n;
}

/* The number of segments of the own block of `block` bytes in step 0 of a flat ring, where it later
 * travels whole; 0: it moves at once. */
static uint64_t segments_of_own(const struct pcoll_signature *signature,
                                const struct pcoll_params *params, uint64_t block)
{
    if (pcoll_teams_of(signature).topology || params->path == PCOLL_PATH_TEMP ||
        signature->in_place || block == 0)
        return 0;
    return pcoll_segment_count(block, params->segment, OWN_SEGMENT);
}

/* ---- where things are ---- */

/* My own block and the leader's are separate pieces. */
static struct pcoll_gathered piece_at(const struct state *s, struct pcoll_stretch stretch)
{
    return pcoll_blocks_gathered(&s->blocks, stretch, s->plan->rank, s->leader);
}

/* The place in a leader's communication buffer. */
static struct pcoll_place temp_at(const struct state *s, uint64_t at)
{
    const uint64_t all = pcoll_block_first(s->blocks.signature, s->teams.nranks);

    return pcoll_at(PCOLL_TEMP, (uint64_t)s->bank * all + s->blocks.base + at);
}

static struct pcoll_place held(const struct state *s, const struct pcoll_gathered *piece)
{
    if (!s->is_user)
        return temp_at(s, piece->at);
    if (piece->rank == s->leader)
        return pcoll_at(PCOLL_SEND,
                        piece->recv - pcoll_block_first(s->blocks.signature, s->leader));
    return pcoll_at(PCOLL_RECV, piece->recv);
}

static void add_own_copy(const struct state *s)
{
    struct pcoll_place to = pcoll_at(PCOLL_RECV, pcoll_blocks_recv(&s->blocks, s->plan->rank));

    if (!s->plan->signature.in_place && s->own.count > 0)
        pcoll_plan_add(s->plan, pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, s->own.first),
                                                 to, s->own.count));
}

/* ---- leaders ---- */

/* Forward a stretch to the next leader; its last piece signals. An empty one is a signal. */
static void add_send(const struct state *s, uint64_t level, struct pcoll_stretch stretch)
{
    int next = pcoll_team_rank(&s->teams, (s->team + 1) % s->teams.count, 0);
    struct pcoll_entry put = pcoll_entry_add(s->tank, level);

    if (!s->is_user && stretch.first < stretch.end)
        put = pcoll_entry_put(s->tank, level, temp_at(s, stretch.first), next,
                              temp_at(s, stretch.first), stretch.end - stretch.first);
    while (s->is_user && stretch.first < stretch.end) {
        struct pcoll_gathered piece = piece_at(s, stretch);

        put = pcoll_entry_put(s->tank, level, held(s, &piece), next,
                              pcoll_at(PCOLL_RECV, piece.recv), piece.bytes);
        stretch.first += piece.bytes;
        if (stretch.first == stretch.end)
            break;
        pcoll_plan_add(s->plan, put);
    }
    pcoll_plan_add(s->plan, pcoll_entry_signal(put, next, s->tank, 1));
}

static void add_tell(const struct state *s, int trigger, uint64_t level)
{
    for (int i = 1; i < pcoll_team_size(&s->teams, s->team); i++)
        pcoll_plan_add(s->plan, pcoll_entry_signal(pcoll_entry_add(trigger, level),
                                                   pcoll_team_rank(&s->teams, s->team, i), s->tank,
                                                   s->unit));
}

/* Copy from the leader's communication buffer to its receive buffer. */
static void add_copies(const struct state *s, uint64_t level, struct pcoll_stretch stretch)
{
    while (!s->is_user && stretch.first < stretch.end) {
        struct pcoll_gathered piece = piece_at(s, stretch);

        if (piece.rank != s->plan->rank)
            pcoll_plan_add(s->plan,
                           pcoll_entry_copy(s->tank, level, held(s, &piece),
                                            pcoll_at(PCOLL_RECV, piece.recv), piece.bytes));
        stretch.first += piece.bytes;
    }
}

/* Step 0 of a flat ring, and the copy of the own block, in the same segments. */
static void add_own_block(const struct state *s, uint64_t base)
{
    int next = pcoll_team_rank(&s->teams, (s->team + 1) % s->teams.count, 0);
    uint64_t first = pcoll_blocks_recv(&s->blocks, s->plan->rank);
    bool is_cut = segments_of_team(&s->blocks, s->params, s->team) > 1;

    for (uint64_t i = 0; i < s->nown; i++) {
        struct pcoll_segment segment = pcoll_segment_of(s->own.count, s->nown, i);
        struct pcoll_place from = pcoll_at(PCOLL_SEND, s->own.first + segment.first);
        struct pcoll_place to = pcoll_at(PCOLL_RECV, first + segment.first);
        struct pcoll_entry put = pcoll_entry_put(s->tank, base, from, next, to, segment.count);

        pcoll_plan_add(s->plan, pcoll_entry_copy(s->tank, base, from, to, segment.count));
        if (is_cut || i == s->nown - 1)
            put = pcoll_entry_signal(put, next, s->tank, 1);
        pcoll_plan_add(s->plan, put);
    }
}

/* `level` is the value of my tank when all segments of the steps before have arrived; returns that
 * with those of this step. */
static uint64_t add_step(const struct state *s, uint64_t level, int step)
{
    int team = (s->team - step + s->teams.count) % s->teams.count;
    uint64_t nsegments = segments_of_team(&s->blocks, s->params, team);

    if (step == 0 && s->nown > 0) {
        add_own_block(s, level);
        return level;
    }
    for (uint64_t i = 0; i < nsegments; i++) {
        struct pcoll_stretch segment = pcoll_blocks_segment(&s->blocks, team, nsegments, i);

        level += step > 0;
        if (step < s->teams.count - 1)
            add_send(s, level, segment);
        if (step > 0 || i == 0)
            add_tell(s, s->tank, level);
        add_copies(s, level, segment);
    }
    return level;
}

static uint64_t incoming_of(const struct state *s, int team)
{
    return s->nsegments - segments_of_team(&s->blocks, s->params, team);
}

static uint64_t member_weight(const struct state *s)
{
    return (s->is_user ? 2 : 1) * (s->incoming + 1);
}

/* What the leaders' tanks receive from me at the start. Returns how much my own tank receives. */
static uint64_t add_leader_start(const struct state *s)
{
    int size = pcoll_team_size(&s->teams, s->team);
    int before = (s->team + s->teams.count - 1) % s->teams.count;
    int previous = pcoll_team_rank(&s->teams, before, 0);
    struct pcoll_place temp =
        temp_at(s, pcoll_blocks_first(&s->blocks, pcoll_team_place(&s->teams, s->team)));
    struct pcoll_entry own =
        pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, s->own.first), temp, s->own.count);

    if (s->own.count == 0)
        own = pcoll_entry_add(PCOLL_NONE, 0);
    pcoll_plan_neighbor(s->plan, previous);
    if (!s->is_user) {
        pcoll_plan_add(s->plan, pcoll_entry_done(own, s->tank, member_weight(s)));
        return (uint64_t)size * member_weight(s);
    }
    pcoll_plan_add(s->plan, pcoll_entry_signal(pcoll_entry_add(PCOLL_NONE, 0), previous, s->tank,
                                               incoming_of(s, before) + 1));
    add_tell(s, PCOLL_NONE, 0);
    return (uint64_t)(size - 1) * member_weight(s) + s->incoming + 1;
}

/* The last segment has no data, so no copy waits for it. */
static bool ends_empty(const struct state *s)
{
    return pcoll_blocks_bytes(&s->blocks, (s->team + 1) % s->teams.count) == 0;
}

static void build_leader(struct state *s)
{
    uint64_t all = add_leader_start(s);

    for (int step = 0; step < s->teams.count; step++)
        all = add_step(s, all, step);
    if (s->is_user)
        all += (uint64_t)pcoll_team_size(&s->teams, s->team) - 1;
    if (s->is_user || ends_empty(s))
        pcoll_plan_add(s->plan, pcoll_entry_wait(s->tank, all));
    s->plan->gain[s->tank] = all;
}

/* ---- other members ---- */

/* Read a stretch, except my own block, from the leader. */
static void add_reads(struct state *s, uint64_t level, struct pcoll_stretch stretch)
{
    while (stretch.first < stretch.end) {
        struct pcoll_gathered piece = piece_at(s, stretch);
        struct pcoll_entry get = pcoll_entry_get(s->tank, level, s->leader, held(s, &piece),
                                                 pcoll_at(PCOLL_RECV, piece.recv), piece.bytes);

        stretch.first += piece.bytes;
        if (piece.rank == s->plan->rank)
            continue;
        pcoll_plan_add(s->plan, s->is_user ? pcoll_entry_done(get, s->tank, 1) : get);
        s->nreads++;
    }
}

/* `*level` is the value of my tank when the leader has announced everything before. */
static void add_reads_of_team(struct state *s, uint64_t *level, int team)
{
    uint64_t nsegments = segments_of_team(&s->blocks, s->params, team);

    for (uint64_t i = 0; i < nsegments; i++) {
        *level += s->unit;
        add_reads(s, *level, pcoll_blocks_segment(&s->blocks, team, nsegments, i));
    }
}

/* Returns the value of my tank when the leader has announced everything. */
static uint64_t add_all_reads(struct state *s)
{
    uint64_t level = s->is_user ? 2 * s->unit : s->unit;

    s->nreads = 0;
    add_reads(s, level, pcoll_blocks_segment(&s->blocks, s->team, 1, 0));
    for (int step = 1; step < s->teams.count; step++)
        add_reads_of_team(s, &level, (s->team - step + s->teams.count) % s->teams.count);
    return level;
}

static void build_member(struct state *s)
{
    int rank = s->plan->rank, trigger = s->is_user ? s->tank : PCOLL_NONE;
    uint64_t first = pcoll_blocks_first(&s->blocks, pcoll_teams_place(&s->teams, rank));
    struct pcoll_place to = pcoll_at(PCOLL_RECV, pcoll_blocks_recv(&s->blocks, rank));
    uint64_t threshold = s->is_user ? s->unit : 0, level;
    struct pcoll_entry put = pcoll_entry_add(trigger, threshold);

    if (s->own.count > 0)
        put = pcoll_entry_put(trigger, threshold, pcoll_at(PCOLL_SEND, s->own.first), s->leader,
                              s->is_user ? to : temp_at(s, first), s->own.count);
    pcoll_plan_add(s->plan, pcoll_entry_signal(put, s->leader, s->tank, member_weight(s)));
    level = add_all_reads(s);
    if (s->is_user) {
        level += s->nreads;
        pcoll_plan_add(s->plan,
                       pcoll_entry_signal(pcoll_entry_add(s->tank, level), s->leader, s->tank, 1));
    } else if (ends_empty(s)) {
        pcoll_plan_add(s->plan, pcoll_entry_wait(s->tank, level));
    }
    s->plan->gain[s->tank] = level;
}

/* ---- the plan ---- */

static void build_lane(struct state *s, int lane)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    int first = s->plan->nentries;

    pcoll_blocks_take_lane(&s->blocks, lane);
    s->own = pcoll_blocks_of(&s->blocks, s->plan->rank);
    s->tank = s->bank * s->blocks.nlanes + lane;
    s->nsegments = segments_of_all(&s->blocks, s->params);
    s->nown = segments_of_own(signature, s->params, s->own.count);
    if (s->nown > 0 && segments_of_team(&s->blocks, s->params, s->team) > 1)
        s->nown = segments_of_team(&s->blocks, s->params, s->team);
    s->incoming = incoming_of(s, s->team);
    s->unit = s->is_user ? (uint64_t)signature->nranks + s->incoming + 4 : 1;
    if (s->member == 0)
        build_leader(s);
    else
        build_member(s);
    if (s->nown == 0)
        add_own_copy(s);
    pcoll_lane_rail(s->plan, first, lane);
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const uint64_t all = pcoll_block_first(signature, signature->nranks);

    return is_on_user_path(params) ? 0 : (uint64_t)pcoll_banks(params) * all;
}

static void build(struct state *s)
{
    struct pcoll_plan *plan = s->plan;

    plan->ordered = true;
    s->team = pcoll_team_of(&s->teams, plan->rank);
    s->member = pcoll_team_member(&s->teams, plan->rank);
    s->leader = pcoll_team_rank(&s->teams, s->team, 0);
    if (s->member == 0)
        plan->temp_bytes = temp_bytes(&plan->signature, s->params);
    for (s->bank = 0; s->bank < plan->nphases; s->bank++) {
        pcoll_plan_open(plan, s->bank);
        for (int lane = 0; lane < s->blocks.nlanes; lane++)
            build_lane(s, lane);
    }
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_signature *signature = &plan->signature;
    const int banks = pcoll_banks(params), nlanes = pcoll_lanes(params, signature->bytes);
    struct state s = {.plan = plan,
                      .params = params,
                      .teams = pcoll_teams_of(signature),
                      .is_user = is_on_user_path(params)};
    enum pcoll_result result;

    if (!pcoll_blocks_are_known(signature))
        return PCOLL_UNSUPPORTED;
    if (!pcoll_plan_begin(plan, banks * nlanes, banks))
        return PCOLL_ERR_NOMEM;
    result = pcoll_blocks_init(&s.blocks, signature, nlanes);
    if (result == PCOLL_OK)
        build(&s);
    pcoll_blocks_fini(&s.blocks);
    return result;
}

/* ---- cost ---- */

/* What passes along a link of the ring. */
struct load {
    double largest; /* bytes of the largest block */
    double segment; /* bytes of its segments; equal blocks are one */
    double items;   /* so many of these take each link as long as all that passes, or the largest
                     * block as long as its way to the last rank, whichever is longer */
};

static struct load load_of(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const int nranks = signature->nranks, nlanes = pcoll_lanes(params, signature->bytes);
    const double segments =
        (double)segments_of(signature, params, signature->bytes / (uint64_t)nlanes);
    const double all = (double)pcoll_block_first(signature, nranks);
    struct load load = {.largest = (double)signature->bytes};

    load.segment = load.largest / segments;
    load.items = pcoll_larger((all - all / nranks) / load.segment, segments + nranks - 2);
    return load;
}

/* Between user buffers: for its own block a rank waits only for the copy of the first segment. */
static double cost_user(const struct pcoll_signature *signature, const struct pcoll_params *params,
                        const struct pcoll_machine *machine)
{
    const struct load load = load_of(signature, params);
    int steps = signature->nranks - 1, nlanes = pcoll_lanes(params, signature->bytes);
    uint64_t nown = segments_of_own(signature, params, signature->bytes / (uint64_t)nlanes);
    double own = load.largest, segments = nown > 1 ? (double)nown : 1;
    double cached = own <= nlanes * (double)nown * OWN_SEGMENT ? 0.5 : 1;
    double first = pcoll_larger(segments, own / load.segment);
    double copying = pcoll_is_over_wire(signature)
                         ? pcoll_cost_node(machine).o + own * machine->kept / first
                         : cached * own * machine->kept;
    double work = nlanes * (load.items - 1 + segments) * machine->rma + copying +
                  load.items * load.segment * pcoll_cost_forward(signature, machine) / nlanes;

    return pcoll_cost_fans(signature, machine, steps + 1, 1) +
           pcoll_cost_crowd(signature, machine) * work;
}

/* Through communication buffers: while a segment is in flight, the previous one is copied out.
 * Those of a block follow each other without waiting. */
static double cost_temp(const struct pcoll_signature *signature, const struct pcoll_params *params,
                        const struct pcoll_machine *machine)
{
    const struct load load = load_of(signature, params);
    int steps = signature->nranks - 1, nlanes = pcoll_lanes(params, signature->bytes);
    double crowd = pcoll_cost_crowd(signature, machine), o = crowd * nlanes * machine->o;
    double local = crowd * nlanes * pcoll_cost_node(machine).o; /* to fire a copy */
    double copy = crowd * load.segment * machine->copy;
    double own = 2 * crowd * load.largest * machine->copy;
    double sent = load.segment * pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP) / nlanes;
    double latency =
        pcoll_cost_wave(signature, machine, 0, true); /* of a rank that fires nothing */
    double flight = pcoll_is_over_wire(signature) ? latency + sent : latency;
    double work = o + (pcoll_is_over_wire(signature) ? 0 : crowd * sent);
    double step = work + pcoll_larger(flight, copy + local);
    double next = work + pcoll_larger(pcoll_is_over_wire(signature) ? sent : 0, copy + local);

    return machine->call + latency + o + 3 * local + crowd * sent + own + copy +
           (steps - 1) * step + (load.items - steps) * next;
}

static double cost_flat(const struct pcoll_signature *signature, const struct pcoll_params *params,
                        const struct pcoll_machine *machine)
{
    return is_on_user_path(params) ? cost_user(signature, params, machine)
                                   : cost_temp(signature, params, machine);
}

/* The largest block of a node is taken to be the average one, or to hold the largest block only. */
static double cost_of_levels(const struct pcoll_signature *signature,
                             const struct pcoll_params *params, const struct pcoll_machine *machine)
{
    const struct pcoll_teams teams = pcoll_teams_of(signature);
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const bool is_user = is_on_user_path(params);
    int members = pcoll_ranks_per_node(signature);
    int nlanes = pcoll_lanes(params, signature->bytes);
    double all = (double)pcoll_block_first(signature, signature->nranks), steps = teams.count - 1;
    double own = (double)signature->bytes;
    double block = signature->blocks ? all / teams.count : own * members;
    double largest = pcoll_larger(block, own);
    double segments = (double)segments_of(signature, params, (uint64_t)(block / nlanes));
    double moves = nlanes * steps * segments;
    double sent = pcoll_larger(steps * block, largest + (steps - 1) * block / segments);
    double crowd = pcoll_cost_crowd(signature, machine);
    double firing = is_user ? moves * machine->rma : (moves - steps) * machine->o;
    double between = firing + sent * machine->G / nlanes;
    double inside = moves * (is_user ? node.rma : node.o) + all * (is_user ? node.G : node.copy);
    double last = crowd * inside / moves;

    between += pcoll_cost_waves(signature, machine, teams.count - !is_user, 1);
    inside = crowd * inside + pcoll_cost_waves(signature, machine, 1, 1);
    return pcoll_cost_waves(signature, &node, 1 + is_user, 1) + crowd * own * node.copy +
           pcoll_cost_waves(signature, &node, 1, members - 1) + last +
           pcoll_larger(between, inside);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    if (!pcoll_blocks_are_known(signature))
        return INFINITY;
    return pcoll_teams_of(signature).topology ? cost_of_levels(signature, params, machine)
                                              : cost_flat(signature, params, machine);
}

#define ROW(NAME, name_of_collective)                                                              \
    const struct pcoll_algorithm pcoll_##name_of_collective##_ring = {                             \
        .name = "ring",                                                                            \
        .coll = PCOLL_##NAME,                                                                      \
        .description = "blocks passed round a ring of node leaders",                               \
        .when = "long blocks, over links between neighbors",                                       \
        .generate = generate,                                                                      \
        .cost = cost,                                                                              \
        .temp_bytes = temp_bytes,                                                                  \
        .paths = PCOLL_PATH_BIT_USER | PCOLL_PATH_BIT_TEMP,                                        \
        .uses_segment = 1,                                                                         \
    };

ROW(ALLGATHER, allgather)
ROW(ALLGATHERV, allgatherv)
