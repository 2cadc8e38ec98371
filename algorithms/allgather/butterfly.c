/*
 * Allgather by recursive doubling on a weighted butterfly.
 *
 * Idea: in each round two ranks exchange everything they have. Path user: a rank says "ready to
 * receive" (RTR), and the peer answers with the data (DAT) and "ready to exit" (RTE), which is the
 * signal of the put. Each RTR and RTE of each round has a power of two as its weight, decreasing in
 * the order in which they are needed, so one counter distinguishes them in any order of arrival. As
 * every round writes other blocks of the receive buffer, all RTR may be sent at the start; the
 * paper's table sends each at the beginning of its round. Path temp: the data goes into
 * communication buffers, which need no RTR, and is copied once at the end.
 *
 * Source: document 001 (Morie et al.), section 4.2.4, tables 5 and 6. A number of ranks that is not
 * a power of two is folded: with m = 2^n <= N, rank e >= m gives its block to e - m in an
 * additional first round and gets all others in an additional last one. Rank p < m then stands for
 * p and p + m.
 *
 *      N = 5, m = 4:   4 -> 0 | 0<->1 2<->3 | 0<->2 1<->3 | 0 -> 4
 *
 * Cost: n (n + 2) times (2 L + o) + (N - 1) M G, one counter, two banks. Condition: completing k
 * needs every rank's start of k, so two banks of counters and buffers keep instances apart. If a
 * message is cut in two (N not a power of two), its two puts arrive in order.
 */
#include "algorithms/algorithm.h"
#include "algorithms/cost.h"
#include "algorithms/number.h"

struct state {
    struct pcoll_plan *plan;
    enum pcoll_path path;
    int paper;
    int bank, m, n;
    uint64_t level;  /* the value of my tank when everything so far has arrived */
    uint64_t weight; /* of the next signal */
};

struct range {
    int first, end; /* blocks */
};

static uint64_t block(const struct state *s, int i)
{
    return (uint64_t)i * s->plan->signature.bytes;
}

/* Where block i is gathered. */
static struct pcoll_place gathered(const struct state *s, int i)
{
    uint64_t bank = s->path == PCOLL_PATH_TEMP ? block(s, s->bank * s->plan->signature.nranks) : 0;

    return pcoll_at(s->path == PCOLL_PATH_TEMP ? PCOLL_TEMP : PCOLL_RECV, bank + block(s, i));
}

static int trigger(const struct state *s, uint64_t threshold)
{
    return threshold ? s->bank : PCOLL_NONE;
}

/* Tell `peer` that it may send its data of this round. */
static void add_rtr(struct state *s, int peer, bool early)
{
    uint64_t threshold = early ? 0 : s->level;
    struct pcoll_entry rtr = pcoll_entry_add(trigger(s, threshold), threshold);

    if (s->path == PCOLL_PATH_USER)
        pcoll_plan_add(s->plan, pcoll_entry_signal(rtr, peer, s->bank, s->weight));
}

/* Put a range of gathered blocks to the same place of `peer`; signals `add` if that is not 0. */
static void add_range(struct state *s, int peer, struct range range, uint64_t add)
{
    struct pcoll_entry put =
        pcoll_entry_put(trigger(s, s->level), s->level, gathered(s, range.first), peer,
                        gathered(s, range.first), block(s, range.end - range.first));

    if (add)
        put = pcoll_entry_signal(put, peer, s->bank, add);
    pcoll_plan_add(s->plan, put);
}

static void add_data(struct state *s, int peer, struct range a, struct range b, uint64_t add)
{
    if (a.first < a.end && b.first < b.end)
        add_range(s, peer, a, 0);
    add_range(s, peer, b.first < b.end ? b : a, add);
}

/* Move on to the next weight; path temp has no RTR and so no weight for it. */
static uint64_t next_weight(struct state *s)
{
    uint64_t weight = s->weight;

    s->weight /= 2;
    return weight;
}

static uint64_t rtr_weight(struct state *s)
{
    return s->path == PCOLL_PATH_USER ? next_weight(s) : 0;
}

/* Exchange all blocks that the group of 2^i has with the peer of round i. */
static void add_exchange(struct state *s, int i)
{
    int rank = s->plan->rank, nranks = s->plan->signature.nranks, peer = rank ^ (1 << i);
    int group = rank >> i << i, end = group + (1 << i);
    struct range own = {group, end};
    struct range extra = {group + s->m, end + s->m < nranks ? end + s->m : nranks};

    add_rtr(s, peer, !s->paper);
    s->level += rtr_weight(s);
    add_data(s, peer, own, extra, s->weight);
    s->level += next_weight(s);
}

static void build_core(struct state *s)
{
    int rank = s->plan->rank, nranks = s->plan->signature.nranks, partner = rank + s->m;

    if (partner < nranks)
        add_rtr(s, partner, true);
    if (s->m < nranks) {
        rtr_weight(s);
        s->level += partner < nranks ? s->weight : 0;
        next_weight(s);
    }
    for (int i = 0; i < s->n; i++)
        add_exchange(s, i);
    if (partner < nranks) {
        s->level += rtr_weight(s);
        add_data(s, partner, (struct range){0, partner}, (struct range){partner + 1, nranks},
                 s->weight);
    }
}

/* Rank e >= m: the first round outwards, the last round inwards. */
static void build_extra(struct state *s)
{
    int rank = s->plan->rank, partner = rank - s->m;
    struct pcoll_entry put;

    s->level = rtr_weight(s);
    put = pcoll_entry_put(trigger(s, s->level), s->level, pcoll_at(PCOLL_SEND, 0), partner,
                          gathered(s, rank), block(s, 1));
    pcoll_plan_add(s->plan, pcoll_entry_signal(put, partner, s->bank, s->weight));
    s->weight = s->path == PCOLL_PATH_USER ? 2 : 1;
    add_rtr(s, partner, true);
    rtr_weight(s);
    s->level += s->weight;
}

/* Copy the own block to the receive buffer, and to where the butterfly sends it from. */
static void add_own_copies(struct state *s, uint64_t weight)
{
    int rank = s->plan->rank;
    struct pcoll_place own = pcoll_at(PCOLL_SEND, 0);
    struct pcoll_entry to_recv =
        pcoll_entry_copy(PCOLL_NONE, 0, own, pcoll_at(PCOLL_RECV, block(s, rank)), block(s, 1));
    struct pcoll_entry to_temp =
        pcoll_entry_copy(PCOLL_NONE, 0, own, gathered(s, rank), block(s, 1));

    if (s->path == PCOLL_PATH_TEMP && rank < s->m)
        pcoll_plan_add(s->plan, pcoll_entry_done(to_temp, s->bank, weight));
    else if (s->path == PCOLL_PATH_USER && rank < s->m && !s->plan->signature.in_place)
        pcoll_plan_add(s->plan, pcoll_entry_done(to_recv, s->bank, weight));
    else
        weight = 0;
    s->level += weight;
    if ((s->path == PCOLL_PATH_TEMP || rank >= s->m) && !s->plan->signature.in_place)
        pcoll_plan_add(s->plan, to_recv);
}

static void add_copy_out(struct state *s, int first, int end)
{
    if (first < end)
        pcoll_plan_add(s->plan, pcoll_entry_copy(s->bank, s->level, gathered(s, first),
                                                 pcoll_at(PCOLL_RECV, block(s, first)),
                                                 block(s, end - first)));
}

static void build_phase(struct state *s)
{
    int nranks = s->plan->signature.nranks, rank = s->plan->rank;
    int rounds = s->m == nranks ? s->n : s->n + 2;
    int signals = s->path == PCOLL_PATH_USER ? 2 * rounds : rounds;
    uint64_t top = (uint64_t)1 << signals, copied;

    pcoll_plan_open(s->plan, s->bank);
    s->level = 0;
    s->weight = top / 2;
    add_own_copies(s, top);
    copied = s->level;
    if (rank >= s->m) {
        build_extra(s);
        s->level += copied;
    } else {
        build_core(s);
    }
    if (s->path == PCOLL_PATH_TEMP) {
        add_copy_out(s, 0, rank);
        add_copy_out(s, rank + 1, nranks);
    } else {
        pcoll_plan_add(s->plan, pcoll_entry_wait(s->bank, s->level));
    }
    s->plan->gain[s->bank] = s->level;
}

static enum pcoll_path path_of(const struct pcoll_params *params)
{
    return params->path == PCOLL_PATH_TEMP ? PCOLL_PATH_TEMP : PCOLL_PATH_USER;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    if (path_of(params) == PCOLL_PATH_USER)
        return 0;
    return (uint64_t)pcoll_banks(params) * (uint64_t)signature->nranks * signature->bytes;
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const int banks = pcoll_banks(params), n = pcoll_log2_floor(plan->signature.nranks);
    struct state s = {
        .plan = plan, .path = path_of(params), .paper = params->paper, .m = 1 << n, .n = n};

    if (!pcoll_plan_begin(plan, banks, banks))
        return PCOLL_ERR_NOMEM;
    plan->ordered = s.m != plan->signature.nranks;
    plan->temp_bytes = temp_bytes(&plan->signature, params);
    for (s.bank = 0; s.bank < banks; s.bank++)
        build_phase(&s);
    return PCOLL_OK;
}

/* ---- cost ---- */

/* One exchange of a rank: `blocks` blocks in `puts` puts. */
struct parcel {
    double blocks;
    int puts;
};

struct rates {
    double put, block; /* work for each put and for each block, of all ranks that share a core */
    double wave;       /* from firing until the signal is seen, in addition to that work */
    bool is_wire;
};

/* A group of ranks that exchange in the same rounds: when the last of them has all blocks of the
 * group, for all ranks and for those with an extra rank (0: none has one), and when the latter have
 * sent theirs. */
struct front {
    double all, paired, sent;
    struct parcel parcel; /* what each of them sends next */
};

/* How long the parcel occupies the sender's port. */
static double sending(const struct rates *rates, struct parcel parcel)
{
    return parcel.puts * rates->put + parcel.blocks * rates->block;
}

static double arrival(const struct rates *rates, struct parcel parcel)
{
    return rates->wave + sending(rates, parcel);
}

/* The parcel `theirs` occupies the port from `since` on: data that arrives until `time` is
 * delayed. */
static double hindered(const struct rates *rates, double time, double since, struct parcel theirs)
{
    double early = time - since - rates->wave, length = theirs.blocks * rates->block;

    if (early <= 0 || !rates->is_wire)
        return time;
    return time + (early < length ? early : length);
}

static struct front receive(const struct rates *rates, struct front ours, struct front theirs)
{
    double in = theirs.all + arrival(rates, theirs.parcel);
    struct front next = ours;

    next.all = pcoll_larger(ours.all, in);
    next.sent = 0;
    if (ours.paired > 0) {
        next.sent = pcoll_larger(ours.paired, ours.sent) + sending(rates, ours.parcel);
        next.paired = pcoll_larger(ours.paired, in);
    }
    return next;
}

/* Two groups exchange; more ranks of `lower` have extra ranks. */
static struct front exchange(const struct rates *rates, struct front lower, struct front upper)
{
    struct front down = receive(rates, lower, upper), up = receive(rates, upper, lower);

    return (struct front){
        .all = pcoll_larger(down.all, up.all),
        .paired = pcoll_larger(down.paired, up.paired),
        .sent = pcoll_larger(down.sent, up.sent),
        .parcel = {lower.parcel.blocks + upper.parcel.blocks, lower.parcel.puts},
    };
}

/* The same if the upper group is earlier. */
static struct front exchange_with_early(const struct rates *rates, struct front lower,
                                        struct front upper)
{
    struct front late = lower;

    late.all = hindered(rates, lower.all, upper.all, upper.parcel);
    if (late.paired > 0)
        late.paired = hindered(rates, lower.paired, upper.all, upper.parcel);
    return exchange(rates, late, upper);
}

/* The core of m = 2^n ranks, the first `extra` of which have an extra rank: these have two blocks
 * from time `paired` on, the others have theirs from `start` on. In each round all groups are equal
 * whose ranks all have an extra rank, and so are those in which none has; at most one group is
 * `mixed`. */
static struct front cost_of_core(const struct rates *rates, double start, double paired, int n,
                                 int extra)
{
    struct front none = {start, 0, 0, {1, 1}}, full = {paired, paired, 0, {2, 2}}, mixed = none;
    bool has_mixed = false;

    for (int i = 0; i < n; i++) {
        const bool is_odd = extra >> i & 1;

        if (is_odd && i == 0)
            mixed = exchange(rates, full, none);
        else if (is_odd || has_mixed)
            mixed = exchange_with_early(rates, is_odd ? full : mixed,
                                        is_odd && has_mixed ? mixed : none);
        has_mixed = has_mixed || is_odd;
        none = exchange(rates, none, none);
        full = exchange(rates, full, full);
    }
    return has_mixed ? mixed : none;
}

/* A rank with an extra rank sends it all blocks once more. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const bool user = path_of(params) == PCOLL_PATH_USER;
    int n = pcoll_log2_floor(signature->nranks);
    int extra = signature->nranks - (1 << n);
    double own = (double)signature->bytes * (user ? machine->kept : machine->copy);
    double crowd = pcoll_cost_crowd(signature, machine);
    double gap = pcoll_larger(machine->g, machine->o);
    double rate = user ? pcoll_cost_forward(signature, machine)
                       : pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP);
    struct rates rates = {
        .put = crowd * ((user ? machine->rma : 0) + gap),
        .block = crowd * pcoll_cost_saturated(machine, signature->nranks, (double)signature->bytes,
                                              (double)signature->bytes * rate),
        .wave = pcoll_cost_wave(signature, machine, 1, true) - crowd * gap,
        .is_wire = pcoll_is_over_wire(signature),
    };
    double blocks = signature->nranks - 1;
    double start = machine->call, paired, end;
    struct front core;

    if (user)
        start += pcoll_cost_wave(signature, machine, 1, true) +
                 crowd * (pcoll_cost_node(machine).o + own);
    else
        start += crowd * (2 * own + (signature->nranks > 3 ? 4 : 3) * pcoll_cost_node(machine).o);
    paired = start - (user ? 0 : crowd * own) + arrival(&rates, (struct parcel){1, 1});
    core = cost_of_core(&rates, start, pcoll_larger(start, paired), n, extra);
    end = core.all;
    if (extra > 0)
        end = pcoll_larger(end, pcoll_larger(core.paired, core.sent) +
                                    arrival(&rates, (struct parcel){blocks, extra > 1 ? 2 : 1}));
    return end + (user ? 0 : crowd * blocks * (double)signature->bytes * machine->copy);
}

const struct pcoll_algorithm pcoll_allgather_butterfly = {
    .name = "butterfly",
    .alias = "recursive_doubling",
    .coll = PCOLL_ALLGATHER,
    .description = "recursive doubling on a weighted butterfly",
    .when = "many ranks, best a power of two",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_USER | PCOLL_PATH_BIT_TEMP,
};
