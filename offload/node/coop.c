/* Cooperative copies; the contract is in node/coop.h. */
#include "offload/node/coop.h"

#include <stdlib.h>
#include <unistd.h>

#include "offload/memory/cma.h"
#include "offload/node/relay.h"
#include "offload/tally.h"

/* What is copied; addresses belong to the process that they name. Offsets in the block stand for
 * the counters that the step signals. */
enum word {
    OPENER,
    HELPER,
    WRITES, /* the opener does, and the helper reads */
    MINE,   /* the opener's memory */
    THEIRS, /* the helper's */
    BYTES,
    CHUNK,
    DONE,
    DONE_ADD,
    PEER,
    PEER_ADD,
    TRIGGER, /* the copy may begin when this counter has reached the threshold */
    THRESHOLD,
    NWORDS
};

/* Only the opener writes the words, while `next` says that the ticket is closed. A helper that
 * reads them in the middle of that cannot claim, as `next` is not what it was before. */
#define CLOSED UINT32_MAX

struct pcoll_node_ticket {
    _Atomic uint64_t next;     /* the number of the opening; in the low half, the next chunk or
                                * CLOSED */
    _Atomic uint32_t left;     /* chunks that have not been copied */
    _Atomic uint32_t returned; /* the chunk that the helper could not copy, plus 1; 0: none */
    _Atomic uint32_t landed;   /* the number of the last opening that has landed */
    _Atomic uint64_t words[NWORDS];
};

_Static_assert(sizeof(struct pcoll_node_ticket) == (size_t)2 * PCOLL_LINE_BYTES,
               "a ticket is two lines");

struct pcoll_node_coop {
    struct pcoll_step plain; /* the step as it would be if no helper existed */
    int can_wait;            /* nothing that this rank does for others depends on it */
    int error;               /* why this rank stopped copying; 0: it has not */
    uint32_t given_up;       /* chunks that nobody will copy */
    char *mapped;            /* the other memory as it is mapped here, or NULL */
};

struct copy {
    uint64_t words[NWORDS];
};

/* ---- binding ---- */

size_t pcoll_node_tickets_bytes(const struct pcoll_node_group *group, int nlocal, uint64_t longest)
{
    if (group->coop_from == 0 || longest < group->coop_from)
        return 0;
    return (size_t)nlocal * sizeof(struct pcoll_node_ticket);
}

enum pcoll_result pcoll_node_coop_init(struct pcoll_node_bound *bound,
                                       const struct pcoll_plan *plan, uint64_t coop_from)
{
    size_t n = 0;

    bound->coop_from = coop_from;
    bound->self = getpid();
    if (coop_from == 0 || !(plan->needs & PCOLL_NEED_USER_RMA))
        return PCOLL_OK;
    for (int i = 0; i < plan->nentries; i++)
        n += pcoll_entry_is_remote(&plan->entries[i]) && plan->entries[i].bytes >= coop_from;
    if (n == 0)
        return PCOLL_OK;
    bound->coops = calloc(n, sizeof(*bound->coops));
    return bound->coops ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

void pcoll_node_coop_fini(struct pcoll_node_bound *bound)
{
    free(bound->coops);
}

/* True if no entry that moves data or signals a peer waits for this one. */
static int is_last(const struct pcoll_plan *plan, const struct pcoll_entry *entry)
{
    for (int i = 0; i < plan->nentries; i++) {
        const struct pcoll_entry *other = &plan->entries[i];

        if (entry->done != PCOLL_NONE && other->trigger == entry->done && other != entry &&
            (pcoll_entry_has_data(other) || other->peer_counter != PCOLL_NONE))
            return 0;
    }
    return 1;
}

int pcoll_node_is_for_coop(const struct pcoll_node_bound *bound, uint64_t bytes)
{
    return bound->coop_from > 0 && bytes >= bound->coop_from;
}

void pcoll_node_coop_step(const struct pcoll_node_binding *b, const struct pcoll_entry *entry,
                          struct pcoll_step *step)
{
    struct pcoll_node_bound *bound = b->bound;
    struct pcoll_node_coop *coop = &bound->coops[bound->ncoops++];

    coop->plain = *step;
    coop->mapped = pcoll_node_mapped(
        bound, pcoll_node_number(b, entry->peer),
        (uint64_t)(uintptr_t)(step->kind == PCOLL_NODE_READ ? step->from : step->to));
    coop->can_wait = bound->ncoops <= bound->run.nphases && is_last(b->plan, entry);
    pcoll_node_signalers_add_other(b, step->done);
    pcoll_node_signalers_add_other(b, step->peer);
    step->kind = PCOLL_NODE_COOP;
    step->done = step->peer = NULL;
    step->own = coop;
}

/* ---- chunks ---- */

static struct pcoll_node_ticket *ticket_of(const struct pcoll_node_bound *bound, int number)
{
    return (struct pcoll_node_ticket *)(void *)bound->tickets + number;
}

static uint32_t nchunks(const struct copy *copy)
{
    return (uint32_t)((copy->words[BYTES] + copy->words[CHUNK] - 1) / copy->words[CHUNK]);
}

static struct copy read_copy(const struct pcoll_node_ticket *ticket)
{
    struct copy copy = {{0}}; /* gcc -fanalyzer does not follow the loop to its end */

    for (int i = 0; i < NWORDS; i++)
        copy.words[i] = atomic_load_explicit(&ticket->words[i], memory_order_relaxed);
    return copy;
}

/* Claims the next chunk of that opening; false: there is none. */
static int claim(struct pcoll_node_ticket *ticket, uint64_t *next, uint32_t end)
{
    while ((uint32_t)*next < end)
        if (atomic_compare_exchange_weak_explicit(&ticket->next, next, *next + 1,
                                                  memory_order_acq_rel, memory_order_acquire))
            return 1;
    return 0;
}

/* `mapped` is the other's memory as it is mapped here, or NULL. Returns 0 or an errno. */
static int copy_chunk(const struct copy *copy, uint32_t chunk, int as_opener, char *mapped)
{
    const uint64_t first = (uint64_t)chunk * copy->words[CHUNK], left = copy->words[BYTES] - first;
    const size_t bytes = (size_t)(left < copy->words[CHUNK] ? left : copy->words[CHUNK]);
    const pid_t other = (pid_t)copy->words[as_opener ? HELPER : OPENER];
    char *here = (char *)(uintptr_t)(copy->words[as_opener ? MINE : THEIRS] + first);
    char *there = (char *)(uintptr_t)(copy->words[as_opener ? THEIRS : MINE] + first);
    const int writes = (copy->words[WRITES] != 0) == as_opener;
    int error = 0;

    if (mapped != NULL)
        pcoll_copy(writes ? mapped + first : here, writes ? here : mapped + first, bytes);
    else
        error = writes ? pcoll_cma_write(other, there, here, bytes)
                       : pcoll_cma_read(other, here, there, bytes);
    if (error == 0)
        pcoll_tally_chunk(as_opener ? PCOLL_BY_OPENER : PCOLL_BY_HELPER);
    return error;
}

/* The signals come before the step has landed, so that those of later steps come after them. */
static void finish_chunk(const struct pcoll_node_bound *bound, struct pcoll_node_ticket *ticket,
                         const struct copy *copy, uint64_t next)
{
    if (atomic_fetch_sub_explicit(&ticket->left, 1, memory_order_acq_rel) > 1)
        return;
    pcoll_node_signal_at(bound, copy->words[DONE], copy->words[DONE_ADD]);
    pcoll_node_signal_at(bound, copy->words[PEER], copy->words[PEER_ADD]);
    atomic_store_explicit(&ticket->landed, (uint32_t)(next >> 32), memory_order_release);
}

/* ---- the opener ---- */

static uint64_t place_of(const struct pcoll_node_bound *bound, const struct pcoll_target *target)
{
    return target ? (uint64_t)((char *)target->line - (char *)bound->block) : 0;
}

/* `trigger` NULL: the copy may begin. */
static void open_ticket(struct pcoll_node_bound *bound, struct pcoll_node_coop *coop,
                        const struct pcoll_line *trigger, uint64_t threshold)
{
    const struct pcoll_step *step = &coop->plain;
    const int writes = step->kind == PCOLL_NODE_WRITE;
    const uint64_t to = (uint64_t)(uintptr_t)step->to, from = (uint64_t)(uintptr_t)step->from;
    struct pcoll_node_ticket *ticket = ticket_of(bound, bound->number);
    const struct copy copy = {{
        [OPENER] = (uint64_t)bound->self,
        [HELPER] = (uint64_t)step->pid,
        [WRITES] = (uint64_t)writes,
        [MINE] = writes ? from : to,
        [THEIRS] = writes ? to : from,
        [BYTES] = step->bytes,
        [CHUNK] = (bound->coop_from + 1) / 2,
        [DONE] = place_of(bound, step->done),
        [DONE_ADD] = step->done ? step->done_add : 0,
        [PEER] = place_of(bound, step->peer),
        [PEER_ADD] = step->peer ? step->peer_add : 0,
        [TRIGGER] = trigger ? (uint64_t)((const char *)trigger - (char *)bound->block) : 0,
        [THRESHOLD] = threshold,
    }};

    atomic_store_explicit(&ticket->next, (uint64_t)bound->opening << 32 | CLOSED,
                          memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (int i = 0; i < NWORDS; i++)
        atomic_store_explicit(&ticket->words[i], copy.words[i], memory_order_relaxed);
    atomic_store_explicit(&ticket->left, nchunks(&copy), memory_order_relaxed);
    atomic_store_explicit(&ticket->returned, 0, memory_order_relaxed);
    bound->cooperating = coop;
    bound->opening++;
    atomic_store_explicit(&ticket->next, (uint64_t)bound->opening << 32, memory_order_release);
    atomic_fetch_add_explicit(&bound->block->alarm, PCOLL_NODE_COOPERATING, memory_order_release);
}

static void close_ticket(struct pcoll_node_bound *bound)
{
    atomic_fetch_sub_explicit(&bound->block->alarm, PCOLL_NODE_COOPERATING, memory_order_relaxed);
    bound->cooperating = NULL;
}

/* This rank cannot copy: nobody shall claim what is left. */
static void give_up(struct pcoll_node_coop *coop, struct pcoll_node_ticket *ticket,
                    const struct copy *copy, uint64_t next, int error)
{
    const uint32_t end = nchunks(copy);

    coop->error = error;
    coop->given_up = 1;
    while (claim(ticket, &next, end))
        coop->given_up++;
}

/* Copy whatever nobody else has claimed, and what the helper has returned. */
static void copy_chunks(const struct pcoll_node_bound *bound, struct pcoll_node_coop *coop)
{
    struct pcoll_node_ticket *ticket = ticket_of(bound, bound->number);
    const struct copy copy = read_copy(ticket);
    uint64_t next = atomic_load_explicit(&ticket->next, memory_order_relaxed);
    uint32_t chunk;
    int error = 0;

    while (error == 0 && claim(ticket, &next, nchunks(&copy))) {
        error = copy_chunk(&copy, (uint32_t)next, 1, coop->mapped);
        if (error == 0)
            finish_chunk(bound, ticket, &copy, next++);
    }
    if (error == 0) {
        chunk = atomic_exchange_explicit(&ticket->returned, 0, memory_order_acquire);
        if (chunk == 0)
            return;
        error = copy_chunk(&copy, chunk - 1, 1, coop->mapped);
        if (error == 0)
            finish_chunk(bound, ticket, &copy, next);
    }
    if (error != 0)
        give_up(coop, ticket, &copy, next, error);
}

/* The helper has no chunk any more: from now on the step is what it would be if no
 * helper existed. */
static enum pcoll_result go_on_alone(struct pcoll_node_bound *bound, struct pcoll_step *step)
{
    const struct pcoll_node_coop *coop = step->own;
    const uint64_t threshold = step->threshold;

    close_ticket(bound);
    *step = coop->plain;
    step->threshold = threshold;
    return pcoll_node_refused(bound, step, coop->error);
}

/* It is the only copy of its instance, and no rank waits for what follows. Start leaves it to
 * whoever waits for it. */
static int is_only(const struct pcoll_node_bound *bound, const struct pcoll_node_coop *coop)
{
    return coop->can_wait && bound->ncoops <= bound->run.nphases;
}

void pcoll_node_coop_ahead(struct pcoll_node_bound *bound)
{
    const struct pcoll_queue *queue = bound->run.pending;

    for (; queue != bound->run.pending_end && bound->cooperating == NULL; queue++)
        if (queue->first->kind == PCOLL_NODE_COOP && is_only(bound, queue->first->own)) {
            open_ticket(bound, queue->first->own, queue->line, queue->first->threshold);
            bound->is_ahead = 1;
        }
}

enum pcoll_result pcoll_node_coop(struct pcoll_node_bound *bound, struct pcoll_step *step)
{
    struct pcoll_node_coop *coop = step->own;
    struct pcoll_node_ticket *ticket = ticket_of(bound, bound->number);

    if (bound->cooperating == NULL)
        open_ticket(bound, coop, NULL, 0);
    bound->is_ahead = 0;
    if (bound->cooperating != coop || (bound->starting && is_only(bound, coop)))
        return PCOLL_PENDING;
    if (coop->error == 0)
        copy_chunks(bound, coop);
    if (coop->error != 0) {
        const uint32_t left = atomic_load_explicit(&ticket->left, memory_order_acquire);
        const uint32_t returned = atomic_load_explicit(&ticket->returned, memory_order_acquire);

        return left == coop->given_up + (returned != 0) ? go_on_alone(bound, step) : PCOLL_PENDING;
    }
    if (atomic_load_explicit(&ticket->landed, memory_order_acquire) != bound->opening)
        return PCOLL_PENDING;
    close_ticket(bound);
    return PCOLL_OK;
}

/* ---- the helper ---- */

static int is_due(const struct pcoll_node_bound *bound, const struct copy *copy)
{
    const struct pcoll_line *trigger =
        (const struct pcoll_line *)(const void *)((char *)bound->block + copy->words[TRIGGER]);

    return copy->words[TRIGGER] == 0 ||
           (int64_t)(atomic_load_explicit(&trigger->value, memory_order_acquire) -
                     copy->words[THRESHOLD]) >= 0;
}

static int help_with(struct pcoll_node_bound *bound, int opener)
{
    const uint64_t self = (uint64_t)bound->self;
    struct pcoll_node_ticket *ticket = ticket_of(bound, opener);
    uint64_t next = atomic_load_explicit(&ticket->next, memory_order_acquire);
    struct copy copy;

    if (atomic_load_explicit(&ticket->words[HELPER], memory_order_relaxed) != self)
        return 0;
    copy = read_copy(ticket);
    atomic_thread_fence(memory_order_acquire);
    if (copy.words[HELPER] != self || copy.words[CHUNK] == 0 || (uint32_t)next >= nchunks(&copy) ||
        !is_due(bound, &copy) ||
        !atomic_compare_exchange_strong_explicit(&ticket->next, &next, next + 1,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return 0;
    if (copy_chunk(&copy, (uint32_t)next, 0, pcoll_node_mapped(bound, opener, copy.words[MINE])) ==
        0) {
        finish_chunk(bound, ticket, &copy, next);
        return 1;
    }
    bound->cannot_help = 1;
    atomic_store_explicit(&ticket->returned, (uint32_t)next + 1, memory_order_release);
    return 1;
}

void pcoll_node_help(struct pcoll_node_bound *bound)
{
    for (int i = 0; i < bound->nrelays && !bound->cannot_help; i++)
        if (i != bound->number && help_with(bound, i)) {
            bound->helped++;
            return;
        }
}
