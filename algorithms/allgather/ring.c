/*
 * Allgather around a ring, directly between user buffers or through communication buffers.
 *
 * Idea: in step t rank p forwards block p - t to p + 1; it received the block from p - 1 in the
 * previous step. All links carry one block in every step, and no byte is moved twice.
 *
 * In a flat ring a block travels whole: there is nothing to overlap it with. Only the first move of
 * the own block, to the successor, goes segment by segment together with its copy to the own
 * receive buffer, so that the second move finds it in the cache (path user).
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
 * Cost: (N - 1) (L + rma + M G), one counter (for each rail), two banks. When: long blocks, links
 * between neighbors. Condition: segments from the predecessor, and the leader's announcements,
 * arrive in order (PCOLL_NEED_ORDER); completing k needs every rank's start of k, so two banks of
 * counters and buffers keep instances apart. A leader's user buffer is its own again when all are
 * "done".
 */
#include "algorithms/allgather/ring.h"

#include "algorithms/cost.h"
#include "algorithms/teams.h"

#define DEFAULT_SEGMENT (UINT64_C(128) << 10)

struct state {
    struct pcoll_plan *plan;
    struct pcoll_teams teams;
    int team, member, leader; /* mine; N and p above are the number of teams and my team */
    int is_user;              /* the path is user */
    int bank, nlanes;
    struct pcoll_segment lane; /* of every block; everything below is about this lane */
    int tank;                  /* the counter of the lane */
    uint64_t nsegments;        /* in the block of one team */
    uint64_t nown;             /* segments of the own block in step 0 of a flat ring; 0: it moves at
                                * once */
    uint64_t incoming;         /* S: all segments that arrive at a leader */
    uint64_t unit;             /* of a member's tank */
    uint64_t nreads;           /* of a member */
};

/* Bytes [first, end) of the lanes of all blocks, in the order of their places. */
struct stretch {
    uint64_t first, end;
};

/* A part of a stretch that is contiguous in receive buffers, too. */
struct piece {
    int rank; /* of the first block */
    uint64_t at, recv, bytes;
};

uint64_t pcoll_allgather_ring_nsegments(const struct pcoll_signature *signature,
                                        const struct pcoll_params *params, uint64_t block)
{
    const struct pcoll_teams teams = pcoll_teams_of(signature);
    uint64_t bytes = (uint64_t)pcoll_ranks_per_node(signature) * block, n, most;

    if (teams.topology == NULL)
        return 1;
    n = pcoll_segment_count(bytes, params->segment, DEFAULT_SEGMENT);
    most = PCOLL_MAX_SEGMENTS / (uint64_t)teams.count + 1;
    if (most > block)
        most = block; /* no segment of the smallest team is empty */
    return n < most ? n : most;
}

uint64_t pcoll_allgather_ring_nown(const struct pcoll_signature *signature,
                                   const struct pcoll_params *params, uint64_t block)
{
    if (pcoll_teams_of(signature).topology || params->path == PCOLL_PATH_TEMP ||
        signature->in_place)
        return 0;
    return pcoll_segment_count(block, params->segment, PCOLL_ALLGATHER_RING_OWN);
}

static uint64_t block(const struct state *s)
{
    return s->lane.count;
}

static struct pcoll_place send_at(const struct state *s, uint64_t at)
{
    return pcoll_at(PCOLL_SEND, s->lane.first + at);
}

/* The offset of byte `at` of the lane of a rank's block. */
static uint64_t recv_offset(const struct state *s, int rank, uint64_t at)
{
    return (uint64_t)rank * s->plan->signature.bytes + s->lane.first + at;
}

static struct stretch segment(const struct state *s, int team, uint64_t nsegments, uint64_t i)
{
    uint64_t first = (uint64_t)pcoll_team_place(&s->teams, team) * block(s);
    uint64_t bytes = (uint64_t)pcoll_team_size(&s->teams, team) * block(s);
    struct pcoll_segment part = pcoll_segment_of(bytes, nsegments, i);

    return (struct stretch){first + part.first, first + part.first + part.count};
}

/* My own block and the leader's are separate pieces. */
static struct piece piece_at(const struct state *s, struct stretch stretch)
{
    uint64_t inside = stretch.first % block(s), length = stretch.end - stretch.first;
    int end = (int)((stretch.end - 1) / block(s)) + 1;
    struct pcoll_sequence run =
        pcoll_teams_sequence(&s->teams, (int)(stretch.first / block(s)), end);
    uint64_t bytes;

    run = pcoll_sequence_apart(pcoll_sequence_apart(run, s->plan->rank), s->leader);
    if (s->nlanes > 1)
        run.count = 1;
    bytes = (uint64_t)run.count * block(s) - inside;
    return (struct piece){
        .rank = run.rank,
        .at = stretch.first,
        .recv = recv_offset(s, run.rank, inside),
        .bytes = bytes < length ? bytes : length,
    };
}

/* The place in a leader's communication buffer. */
static struct pcoll_place temp_at(const struct state *s, uint64_t at)
{
    uint64_t nranks = (uint64_t)s->teams.nranks, bank = (uint64_t)s->bank * nranks;

    return pcoll_at(PCOLL_TEMP, bank * s->plan->signature.bytes + nranks * s->lane.first + at);
}

static struct pcoll_place held(const struct state *s, const struct piece *piece)
{
    if (!s->is_user)
        return temp_at(s, piece->at);
    if (piece->rank == s->leader)
        return send_at(s, piece->at % block(s));
    return pcoll_at(PCOLL_RECV, piece->recv);
}

static void add_own_copy(const struct state *s)
{
    struct pcoll_place to = pcoll_at(PCOLL_RECV, recv_offset(s, s->plan->rank, 0));

    if (!s->plan->signature.in_place)
        pcoll_plan_add(s->plan, pcoll_entry_copy(PCOLL_NONE, 0, send_at(s, 0), to, block(s)));
}

/* ---- leaders ---- */

/* Forward a stretch to the next leader; its last piece signals. */
static void add_send(const struct state *s, uint64_t level, struct stretch stretch)
{
    int next = pcoll_team_rank(&s->teams, (s->team + 1) % s->teams.count, 0);
    struct pcoll_entry put =
        pcoll_entry_put(s->tank, level, temp_at(s, stretch.first), next, temp_at(s, stretch.first),
                        stretch.end - stretch.first);

    while (s->is_user) {
        struct piece piece = piece_at(s, stretch);

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
static void add_copies(const struct state *s, uint64_t level, struct stretch stretch)
{
    while (!s->is_user && stretch.first < stretch.end) {
        struct piece piece = piece_at(s, stretch);

        if (piece.rank != s->plan->rank)
            pcoll_plan_add(s->plan,
                           pcoll_entry_copy(s->tank, level, held(s, &piece),
                                            pcoll_at(PCOLL_RECV, piece.recv), piece.bytes));
        stretch.first += piece.bytes;
    }
}

/* Step 0 of a flat ring, and the copy of the own block. */
static void add_own_block(const struct state *s, uint64_t base)
{
    int next = pcoll_team_rank(&s->teams, (s->team + 1) % s->teams.count, 0);
    uint64_t first = recv_offset(s, s->plan->rank, 0);

    for (uint64_t i = 0; i < s->nown; i++) {
        struct pcoll_segment part = pcoll_segment_of(block(s), s->nown, i);
        struct pcoll_place from = send_at(s, part.first);
        struct pcoll_place to = pcoll_at(PCOLL_RECV, first + part.first);
        struct pcoll_entry put = pcoll_entry_put(s->tank, base, from, next, to, part.count);

        pcoll_plan_add(s->plan, pcoll_entry_copy(s->tank, base, from, to, part.count));
        pcoll_plan_add(s->plan, i == s->nown - 1 ? pcoll_entry_signal(put, next, s->tank, 1) : put);
    }
}

static void add_step(const struct state *s, uint64_t base, int step)
{
    int team = (s->team - step + s->teams.count) % s->teams.count;

    if (step == 0 && s->nown > 0) {
        add_own_block(s, base);
        return;
    }
    for (uint64_t i = 0; i < s->nsegments; i++) {
        struct stretch part = segment(s, team, s->nsegments, i);
        uint64_t level = step ? base + (uint64_t)(step - 1) * s->nsegments + i + 1 : base;

        if (step < s->teams.count - 1)
            add_send(s, level, part);
        if (step > 0 || i == 0)
            add_tell(s, s->tank, level);
        add_copies(s, level, part);
    }
}

static uint64_t ready_weight(const struct state *s)
{
    return s->is_user ? s->incoming + 1 : 0;
}

static uint64_t member_weight(const struct state *s)
{
    return s->incoming + 1 + ready_weight(s);
}

/* My part of what the leaders' tanks receive at the start. Returns how much my own tank
 * receives. */
static uint64_t add_leader_start(const struct state *s)
{
    int size = pcoll_team_size(&s->teams, s->team);
    int previous = pcoll_team_rank(&s->teams, (s->team + s->teams.count - 1) % s->teams.count, 0);
    struct pcoll_place temp = temp_at(s, (uint64_t)pcoll_team_place(&s->teams, s->team) * block(s));
    struct pcoll_entry own = pcoll_entry_copy(PCOLL_NONE, 0, send_at(s, 0), temp, block(s));

    pcoll_plan_neighbor(s->plan, previous);
    if (!s->is_user) {
        pcoll_plan_add(s->plan, pcoll_entry_done(own, s->tank, member_weight(s)));
        return (uint64_t)size * member_weight(s);
    }
    pcoll_plan_add(s->plan, pcoll_entry_signal(pcoll_entry_add(PCOLL_NONE, 0), previous, s->tank,
                                               ready_weight(s)));
    add_tell(s, PCOLL_NONE, 0);
    return (uint64_t)(size - 1) * member_weight(s) + ready_weight(s);
}

static void build_leader(struct state *s)
{
    uint64_t base = add_leader_start(s), all = base + s->incoming;

    for (int step = 0; step < s->teams.count; step++)
        add_step(s, base, step);
    if (s->is_user) {
        all += (uint64_t)pcoll_team_size(&s->teams, s->team) - 1;
        pcoll_plan_add(s->plan, pcoll_entry_wait(s->tank, all));
    }
    s->plan->gain[s->tank] = all;
}

/* ---- other members ---- */

/* Read a stretch, except my own block, from the leader. */
static void add_reads(struct state *s, uint64_t level, struct stretch stretch)
{
    while (stretch.first < stretch.end) {
        struct piece piece = piece_at(s, stretch);
        struct pcoll_entry get = pcoll_entry_get(s->tank, level, s->leader, held(s, &piece),
                                                 pcoll_at(PCOLL_RECV, piece.recv), piece.bytes);

        stretch.first += piece.bytes;
        if (piece.rank == s->plan->rank)
            continue;
        pcoll_plan_add(s->plan, s->is_user ? pcoll_entry_done(get, s->tank, 1) : get);
        s->nreads++;
    }
}

/* Returns the value of my tank when the leader has announced everything. */
static uint64_t add_all_reads(struct state *s)
{
    uint64_t level = s->is_user ? 2 * s->unit : s->unit;

    s->nreads = 0;
    add_reads(s, level, segment(s, s->team, 1, 0));
    for (int step = 1; step < s->teams.count; step++)
        for (uint64_t i = 0; i < s->nsegments; i++) {
            int team = (s->team - step + s->teams.count) % s->teams.count;

            level += s->unit;
            add_reads(s, level, segment(s, team, s->nsegments, i));
        }
    return level;
}

static void build_member(struct state *s)
{
    uint64_t place = (uint64_t)pcoll_teams_place(&s->teams, s->plan->rank), level;
    struct pcoll_place to = pcoll_at(PCOLL_RECV, recv_offset(s, s->plan->rank, 0));
    struct pcoll_entry put =
        pcoll_entry_put(s->is_user ? s->tank : PCOLL_NONE, s->is_user ? s->unit : 0, send_at(s, 0),
                        s->leader, s->is_user ? to : temp_at(s, place * block(s)), block(s));

    pcoll_plan_add(s->plan, pcoll_entry_signal(put, s->leader, s->tank, member_weight(s)));
    level = add_all_reads(s);
    if (s->is_user) {
        level += s->nreads;
        pcoll_plan_add(s->plan,
                       pcoll_entry_signal(pcoll_entry_add(s->tank, level), s->leader, s->tank, 1));
    }
    s->plan->gain[s->tank] = level;
}

/* ---- the plan ---- */

static void build_lane(struct state *s, const struct pcoll_params *params, int lane)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    int first = s->plan->nentries;

    s->lane = pcoll_segment_of(signature->bytes, (uint64_t)s->nlanes, (uint64_t)lane);
    s->tank = s->bank * s->nlanes + lane;
    s->nsegments = pcoll_allgather_ring_nsegments(signature, params, block(s));
    s->nown = pcoll_allgather_ring_nown(signature, params, block(s));
    s->incoming = (uint64_t)(s->teams.count - 1) * s->nsegments;
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
    if (pcoll_allgather_ring_is_user(params))
        return 0;
    return (uint64_t)pcoll_banks(params) * (uint64_t)signature->nranks * signature->bytes;
}

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    int banks = pcoll_banks(params);
    struct state s = {.teams = pcoll_teams_of(signature),
                      .is_user = pcoll_allgather_ring_is_user(params),
                      .nlanes = pcoll_lanes(params, signature->bytes)};
    enum pcoll_result result =
        pcoll_plan_create(signature, rank, "ring", banks * s.nlanes, banks, &s.plan);

    (void)local;
    if (result != PCOLL_OK)
        return result;
    s.plan->ordered = 1;
    s.team = pcoll_team_of(&s.teams, rank);
    s.member = pcoll_team_member(&s.teams, rank);
    s.leader = pcoll_team_rank(&s.teams, s.team, 0);
    if (s.member == 0)
        s.plan->temp_bytes = temp_bytes(signature, params);
    for (s.bank = 0; s.bank < banks; s.bank++) {
        pcoll_plan_open(s.plan, s.bank);
        for (int lane = 0; lane < s.nlanes; lane++)
            build_lane(&s, params, lane);
    }
    *plan_p = s.plan;
    return pcoll_plan_seal(plan_p);
}

const struct pcoll_algorithm pcoll_allgather_ring = {
    .name = "ring",
    .coll = PCOLL_ALLGATHER,
    .description = "blocks passed round a ring of node leaders",
    .generate = generate,
    .cost = pcoll_allgather_ring_cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_USER | PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
};
