/*
 * The plan: a collective operation as a constant array of deferred work.
 *
 * One plan belongs to one rank. It describes a cycle of `nphases` consecutive instances (MPI_Start
 * calls) of a persistent collective: instance k runs the entries of phase k mod nphases, in cycle k
 * div nphases. Most plans have two phases, that is, two sets of counters and communication buffers
 * used alternately, which make them safe when a peer runs ahead (see proof/check.h).
 *
 * An entry reads: when my counter `trigger` has reached `threshold`, do `op`; then add `done_add`
 * to my counter `done` and `peer_add` to counter `peer_counter` of rank `peer`, where it becomes
 * visible after the data that the entry moves. This is libfabric's struct fi_deferred_work
 * (fi_trigger(3)) plus the remote add of any value that is proposed as FI_OP_REMOTE_CNTR_ADD in
 * Morie et al., "Design and evaluation of MPI persistent collectives with the OFI offload API"
 * (document 001), section 4.2.2.
 *
 * Counters start at 0 and are never reset. `gain` is what all ranks together add to a counter in
 * one cycle; in cycle j every threshold is higher by j * gain. Values wrap around at 2^64, so they
 * are compared by their signed difference.
 *
 * A plan holds no pointer, no network address and no MPI handle: it can be printed, compared,
 * checked together with the plans of the other ranks, simulated, and run on any medium.
 */
#ifndef PCOLL_PLAN_H
#define PCOLL_PLAN_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "algorithms/plan/collective.h"

enum pcoll_result {
    PCOLL_OK = 0,
    PCOLL_PENDING,     /* in progress, not complete yet */
    PCOLL_UNSUPPORTED, /* an answer, not an error: use another algorithm or medium */
    PCOLL_ERR_NOMEM,
    PCOLL_ERR_INVALID, /* the input is wrong; a message has been given */
    PCOLL_ERR_SYSTEM   /* the operating system or a peer refused; a message has been given */
};

#define PCOLL_MUST_CHECK __attribute__((warn_unused_result))

/* The memory of a rank that an entry can name.
 *
 *   SEND  what the rank contributes, RECV  what it receives: the collective's row gives their sizes
 *         (collective.h); in place, SEND is a part of RECV
 *   TEMP  communication buffer of the plan, temp_bytes
 *   CELL  PCOLL_CELL_BYTES beside each counter, offset = counter * PCOLL_CELL_BYTES + byte;
 *         a medium may keep a counter and its cell in one cache line */
enum pcoll_buffer { PCOLL_SEND, PCOLL_RECV, PCOLL_TEMP, PCOLL_CELL, PCOLL_NUM_BUFFERS };

#define PCOLL_CELL_BYTES 48

/* The bytes of whole cache lines that hold so many: slots of different senders should not share
 * lines. */
#define PCOLL_CACHE_LINE UINT64_C(64)
static inline uint64_t pcoll_whole_lines(uint64_t bytes)
{
    return (bytes + PCOLL_CACHE_LINE - 1) / PCOLL_CACHE_LINE * PCOLL_CACHE_LINE;
}

enum pcoll_op {
    PCOLL_OP_ADD,    /* moves nothing, only adds to counters */
    PCOLL_OP_PUT,    /* local -> remote at `peer` */
    PCOLL_OP_GET,    /* remote at `peer` -> local */
    PCOLL_OP_COPY,   /* local -> remote, where remote names memory of this rank */
    PCOLL_OP_WAIT,   /* does nothing, but the phase is not complete before this trigger fires it */
    PCOLL_OP_REDUCE, /* operands -> local: see struct pcoll_entry */
    PCOLL_NUM_OPS
};

struct pcoll_place {
    enum pcoll_buffer buffer;
    uint64_t offset; /* in bytes */
};

/* Of a REDUCE: a place in memory of `rank`, this one or another, which is then read where it
 * lies. */
struct pcoll_operand {
    enum pcoll_buffer buffer;
    int rank;
    uint64_t offset; /* in bytes */
};

/* A REDUCE sets `local` to o_0 * o_1 * ... * o_(n-1), where * is the operator of the collective and
 * o_i are its n >= 2 operands, each of `bytes` bytes, a multiple of the signature's unit. It
 * evaluates them from the right, o_0 * (o_1 * (... * o_(n-1))), so equal operands give equal bits.
 * An operand is distinct from `local` or is `local`. A REDUCE signals no peer. */
struct pcoll_entry {
    enum pcoll_op op;
    int trigger;        /* my counter, or PCOLL_NONE: fires at start */
    uint64_t threshold; /* in cycle 0 */
    int done;           /* my counter, or PCOLL_NONE */
    int first_operand;  /* of a REDUCE: plan->operands[first_operand .. + noperands) */
    uint64_t done_add;
    int peer;         /* rank, or PCOLL_NONE */
    int rail;         /* one of several connections to the peer, from 0: see PCOLL_NEED_ORDER */
    int peer_counter; /* counter of `peer`, or PCOLL_NONE */
    int noperands;
    uint64_t peer_add;
    uint64_t bytes;
    struct pcoll_place local, remote;
};

/* What a plan requires of a medium. */
enum pcoll_need {
    PCOLL_NEED_WEIGHTS = 1 << 0, /* adds values other than 1 to a peer's counter */
    PCOLL_NEED_GET = 1 << 1,
    PCOLL_NEED_USER_RMA = 1 << 2, /* accesses SEND or RECV of a peer */
    PCOLL_NEED_ORDER = 1 << 3,    /* the effects of a rank on one peer, on one rail, occur in the
                                   * order fired */
    PCOLL_NEED_MAPPED = 1 << 4    /* reduces operands of a peer, whose memory must be mapped */
};

/* Rails. A medium with n endpoints sends the entries of rail r through endpoint r mod n, so a plan
 * for several rails also runs on one endpoint. */

/* A phase is entries[first .. first + count). It is complete when all of them have fired and what
 * they move is done. */
struct pcoll_phase {
    int first, count;
};

struct pcoll_plan {
    struct pcoll_signature signature;
    const struct pcoll_local *local; /* NULL: the signature says everything */
    int rank;
    const char *algorithm; /* its name in the algorithm table, which pcoll_generate fills in */
    int nphases;
    struct pcoll_phase *phases;
    int ncounters;  /* of this rank; counters are numbered from 0 */
    uint64_t *gain; /* [ncounters] */
    int nentries;
    struct pcoll_entry *entries;
    int noperands;
    struct pcoll_operand *operands; /* [noperands]: those of one REDUCE are adjacent, in order */
    int nneighbors;
    int *neighbors; /* ascending: ranks that touch my memory or counters, or whose I touch */
    uint64_t temp_bytes;
    unsigned needs; /* enum pcoll_need; filled by pcoll_plan_seal */
    bool ordered;   /* set by the generator: implies PCOLL_NEED_ORDER */
    bool user_rma;  /* some rank may have PCOLL_NEED_USER_RMA (user.h); filled by pcoll_generate */
    bool lowered;   /* each entry is one deferred work: lower/lower.h */
    int open_phase, capacity, operand_room;
    bool failed; /* private to plan.c, while generating */
};

/* The resources that a plan takes to store and to run, over one cycle. */
struct pcoll_account {
    int counters;
    int entries;
    int phases;
    int messages;         /* entries that touch a peer */
    int rails;            /* number of rails that entries name */
    uint64_t bytes_moved; /* by puts and gets, in all phases */
    uint64_t bytes_copied;
    uint64_t bytes_reduced; /* of all operands but one of each REDUCE */
    uint64_t temp_bytes;
    uint64_t state_bytes; /* of the plan and its counters */
};

/* Create a plan without counters and phases. The caller owns *plan_p and destroys it with
 * pcoll_plan_destroy; `local`, which may be NULL, must outlive it. */
enum pcoll_result pcoll_plan_create(const struct pcoll_signature *signature,
                                    const struct pcoll_local *local, int rank,
                                    struct pcoll_plan **plan_p) PCOLL_MUST_CHECK;
void pcoll_plan_destroy(struct pcoll_plan *plan);

/* Begin generation: give the plan `ncounters` counters of gain 0 and `nphases` empty phases. Comes
 * once, before all below. False: out of memory. */
bool pcoll_plan_begin(struct pcoll_plan *plan, int ncounters, int nphases) PCOLL_MUST_CHECK;

/* Open phase `phase`: the entries added from now on belong to it. Each phase is opened once, in
 * order. */
void pcoll_plan_open(struct pcoll_plan *plan, int phase);

/* Append an entry to the open phase. pcoll_plan_seal reports a failed allocation, so generators
 * need not check. */
static inline void pcoll_plan_add(struct pcoll_plan *plan, struct pcoll_entry entry);
bool pcoll_plan_grow(struct pcoll_plan *plan); /* for pcoll_plan_add; false: out of memory */

/* Append an operand, in memory of this rank or of `rank`, to those of the plan, for the next entry
 * of pcoll_entry_reduce. */
static inline void pcoll_plan_operand(struct pcoll_plan *plan, struct pcoll_place place);
static inline void pcoll_plan_operand_of(struct pcoll_plan *plan, int rank,
                                         struct pcoll_place place);
bool pcoll_plan_grow_operands(struct pcoll_plan *plan); /* as pcoll_plan_grow */

/* Declare that `rank` touches this rank. Ranks that entries of this plan touch need no
 * declaration. */
void pcoll_plan_neighbor(struct pcoll_plan *plan, int rank);

/* End generation: derive `needs` and `neighbors`, and sort each phase stably by (trigger,
 * threshold), with entries without trigger first. PCOLL_ERR_NOMEM: this or an allocation before it
 * has failed. */
enum pcoll_result pcoll_plan_seal(struct pcoll_plan *plan) PCOLL_MUST_CHECK;

static inline struct pcoll_place pcoll_at(enum pcoll_buffer buffer, uint64_t offset)
{
    return (struct pcoll_place){buffer, offset};
}

static inline struct pcoll_place pcoll_operand_place(const struct pcoll_operand *operand)
{
    return pcoll_at(operand->buffer, operand->offset);
}

/* Entries for the common cases. They leave `done` and all fields without an argument empty. They
 * are inline because a long ring has thousands of entries, which are then written directly in
 * place. */
static inline struct pcoll_entry pcoll_entry_move(enum pcoll_op op, int trigger, uint64_t threshold,
                                                  struct pcoll_place local, int peer,
                                                  struct pcoll_place remote, uint64_t bytes)
{
    return (struct pcoll_entry){
        .op = op,
        .trigger = trigger,
        .threshold = threshold,
        .done = PCOLL_NONE,
        .peer = peer,
        .peer_counter = PCOLL_NONE,
        .bytes = bytes,
        .local = local,
        .remote = remote,
    };
}

static inline struct pcoll_entry pcoll_entry_make(enum pcoll_op op, int trigger, uint64_t threshold)
{
    const struct pcoll_place none = {0};

    return pcoll_entry_move(op, trigger, threshold, none, PCOLL_NONE, none, 0);
}

static inline struct pcoll_entry pcoll_entry_add(int trigger, uint64_t threshold)
{
    return pcoll_entry_make(PCOLL_OP_ADD, trigger, threshold);
}

static inline struct pcoll_entry pcoll_entry_wait(int trigger, uint64_t threshold)
{
    return pcoll_entry_make(PCOLL_OP_WAIT, trigger, threshold);
}

static inline struct pcoll_entry pcoll_entry_put(int trigger, uint64_t threshold,
                                                 struct pcoll_place from, int peer,
                                                 struct pcoll_place to, uint64_t bytes)
{
    return pcoll_entry_move(PCOLL_OP_PUT, trigger, threshold, from, peer, to, bytes);
}

static inline struct pcoll_entry pcoll_entry_get(int trigger, uint64_t threshold, int peer,
                                                 struct pcoll_place from, struct pcoll_place to,
                                                 uint64_t bytes)
{
    return pcoll_entry_move(PCOLL_OP_GET, trigger, threshold, to, peer, from, bytes);
}

static inline struct pcoll_entry pcoll_entry_copy(int trigger, uint64_t threshold,
                                                  struct pcoll_place from, struct pcoll_place to,
                                                  uint64_t bytes)
{
    return pcoll_entry_move(PCOLL_OP_COPY, trigger, threshold, from, PCOLL_NONE, to, bytes);
}

/* A REDUCE of the last `noperands` operands that were appended to the plan. */
static inline struct pcoll_entry pcoll_entry_reduce(const struct pcoll_plan *plan, int trigger,
                                                    uint64_t threshold, int noperands,
                                                    struct pcoll_place to, uint64_t bytes)
{
    struct pcoll_entry entry = pcoll_entry_make(PCOLL_OP_REDUCE, trigger, threshold);

    entry.local = to;
    entry.bytes = bytes;
    entry.first_operand = plan->noperands - noperands;
    entry.noperands = noperands;
    return entry;
}

/* Set the counter that the entry raises when it is done: a peer's, or an own one. */
static inline struct pcoll_entry pcoll_entry_signal(struct pcoll_entry entry, int peer, int counter,
                                                    uint64_t add)
{
    assert(entry.peer == PCOLL_NONE || entry.peer == peer);
    entry.peer = peer;
    entry.peer_counter = counter;
    entry.peer_add = add;
    return entry;
}

static inline struct pcoll_entry pcoll_entry_done(struct pcoll_entry entry, int counter,
                                                  uint64_t add)
{
    entry.done = counter;
    entry.done_add = add;
    return entry;
}

static inline void pcoll_place_set(struct pcoll_place *to, struct pcoll_place place)
{
    to->buffer = place.buffer;
    to->offset = place.offset;
}

/* Field by field, so that the compiler keeps the fields of `entry` in registers from its builder
 * above to here: it does not where a structure is copied as a whole, and each copy then reads two
 * fields at a time and waits until both have been written. */
static_assert(sizeof(struct pcoll_entry) ==
                  8 * sizeof(int) + 4 * sizeof(uint64_t) + 2 * sizeof(struct pcoll_place),
              "pcoll_plan_add copies every field");
static inline void pcoll_plan_add(struct pcoll_plan *plan, struct pcoll_entry entry)
{
    struct pcoll_entry *to;

    if (plan->nentries == plan->capacity && !pcoll_plan_grow(plan))
        return;
    plan->phases[plan->open_phase].count++;
    to = &plan->entries[plan->nentries++];
    to->op = entry.op;
    to->trigger = entry.trigger;
    to->threshold = entry.threshold;
    to->done = entry.done;
    to->first_operand = entry.first_operand;
    to->done_add = entry.done_add;
    to->peer = entry.peer;
    to->rail = entry.rail;
    to->peer_counter = entry.peer_counter;
    to->noperands = entry.noperands;
    to->peer_add = entry.peer_add;
    to->bytes = entry.bytes;
    pcoll_place_set(&to->local, entry.local);
    pcoll_place_set(&to->remote, entry.remote);
}

static inline void pcoll_plan_operand_of(struct pcoll_plan *plan, int rank,
                                         struct pcoll_place place)
{
    struct pcoll_operand *to;

    if (plan->noperands == plan->operand_room && !pcoll_plan_grow_operands(plan))
        return;
    to = &plan->operands[plan->noperands++];
    to->buffer = place.buffer;
    to->rank = rank;
    to->offset = place.offset;
}

static inline void pcoll_plan_operand(struct pcoll_plan *plan, struct pcoll_place place)
{
    pcoll_plan_operand_of(plan, plan->rank, place);
}

/* The same, but an entry that continues the last one of the phase at both ends, and is otherwise
 * equal to it, lengthens that one instead. Returns the number of entries added: 1 or 0. */
int pcoll_plan_join(struct pcoll_plan *plan, struct pcoll_entry entry);

struct pcoll_account pcoll_plan_account(const struct pcoll_plan *plan);

/* The size of a buffer of the plan's rank in bytes. */
uint64_t pcoll_plan_bytes(const struct pcoll_plan *plan, enum pcoll_buffer buffer);

/* Whether an entry moves or reduces bytes; if it is a move between ranks; and the processor's own
 * work, a COPY or REDUCE. */
static inline bool pcoll_entry_has_data(const struct pcoll_entry *entry)
{
    return entry->op != PCOLL_OP_ADD && entry->op != PCOLL_OP_WAIT;
}

static inline bool pcoll_entry_is_remote(const struct pcoll_entry *entry)
{
    return entry->op == PCOLL_OP_PUT || entry->op == PCOLL_OP_GET;
}

static inline bool pcoll_entry_is_own_work(const struct pcoll_entry *entry)
{
    return entry->op == PCOLL_OP_COPY || entry->op == PCOLL_OP_REDUCE;
}

const char *pcoll_result_text(enum pcoll_result result);
const char *pcoll_op_name(enum pcoll_op op); /* "add", "put", "get", "copy", "wait", "reduce" */
const char *pcoll_buffer_name(enum pcoll_buffer buffer); /* "send", "recv", "temp", "cell" */
const char *pcoll_need_name(enum pcoll_need need);       /* "weights" ...; NULL: none */

/* Print the whole plan for people, one line per entry. */
void pcoll_plan_print(const struct pcoll_plan *plan, FILE *out);

/* Print phase 0 in the form of the tables of document 001: columns of table 2 (broadcast: Rq Th Ot
 * Cl Cr), table 4 (barrier: r Th Ot Iv Pq) or table 5 (allgather: Mn r R Th Ot Iv Pq), separated by
 * tabs, with the subtraction that ends the single instance in place of the WAIT entry. For tests
 * and tools only. */
void pcoll_plan_print_paper(const struct pcoll_plan *plan, FILE *out);

#endif /* PCOLL_PLAN_H */
