/*
 * Binding: ranks ask their neighbors for the memory that they will write to or read, and receive
 * the keys.
 *
 * All ranks take the same steps, whatever has failed on some of them; they agree before the first
 * message and after the last.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "offload/agree.h"
#include "offload/ofi_trigger/state.h"

/* Memory of a neighbor that this rank's entries write to or read. */
struct place {
    int32_t buffer;  /* PCOLL_NONE: the doorbell of `counter` */
    int32_t counter; /* the counter that the writes raise, or PCOLL_NONE */
};

struct want {
    struct place place;
    uint32_t signals[]; /* [nphases] */
};

struct key {
    uint64_t key, base;
};

struct card {
    struct pcoll_ofi_name name;
    struct key farewell; /* for the reader's farewell */
    int32_t nwants;
    int32_t pad;
    /* followed by the requests */
};

struct binding {
    struct trigger_bound *bound;
    const struct pcoll_plan *plan;
    size_t want_bytes, card_bytes, keys_bytes;
    int max_wants;              /* requests of any rank to any neighbor */
    char *own, *theirs;         /* [neighbor]: cards */
    struct key *given, *got;    /* [neighbor][max_wants] */
    int *neighbor_of, *want_of; /* [entry] */
};

static struct card *card(const struct binding *b, char *cards, int neighbor)
{
    return (struct card *)(void *)(cards + (size_t)neighbor * b->card_bytes);
}

static struct want *want_at(const struct binding *b, struct card *c, int i)
{
    return (struct want *)(void *)((char *)(c + 1) + (size_t)i * b->want_bytes);
}

static struct place place_of(const struct pcoll_entry *entry)
{
    bool is_move = entry->op == PCOLL_OP_PUT || entry->op == PCOLL_OP_GET;

    return (struct place){.buffer = is_move ? (int32_t)entry->remote.buffer : PCOLL_NONE,
                          .counter = entry->peer_counter};
}

/* The memory that an entry requests, and the peer that owns it. */
struct wanted {
    int peer, entry;
    struct place place;
};

static int by_want(const void *left, const void *right)
{
    const struct wanted *a = left, *b = right;

    if (a->peer != b->peer)
        return a->peer < b->peer ? -1 : 1;
    if (a->place.buffer != b->place.buffer)
        return a->place.buffer < b->place.buffer ? -1 : 1;
    if (a->place.counter != b->place.counter)
        return a->place.counter < b->place.counter ? -1 : 1;
    return 0;
}

/* Number the requests to each neighbor in want_of[entry], and return the most to one neighbor.
 * Entries that request the same memory share a number. */
static int number_wants(struct binding *b, struct wanted *wanted)
{
    const struct pcoll_plan *plan = b->plan;
    int max = 0, count = 0;

    for (int i = 0; i < plan->nentries; i++) {
        b->want_of[i] = PCOLL_NONE;
        if (plan->entries[i].peer != PCOLL_NONE)
            wanted[count++] =
                (struct wanted){plan->entries[i].peer, i, place_of(&plan->entries[i])};
    }
    if (count > 0)
        qsort(wanted, (size_t)count, sizeof(*wanted), by_want);
    for (int k = 0, number = 0; k < count; k++) {
        if (k == 0 || wanted[k].peer != wanted[k - 1].peer)
            number = 0;
        else
            number += by_want(&wanted[k - 1], &wanted[k]) != 0;
        b->neighbor_of[wanted[k].entry] = pcoll_autonomous_neighbor(plan, wanted[k].peer);
        b->want_of[wanted[k].entry] = number;
        max = number + 1 > max ? number + 1 : max;
    }
    return max;
}

static struct key farewell_key(const struct trigger_bound *bound, int neighbor)
{
    uint64_t offset = (BELL_FAREWELLS + (uint64_t)neighbor) * sizeof(bound->bells[0]);

    return (struct key){bound->bell_region.key, bound->bell_region.base + offset};
}

static void write_cards(struct binding *b)
{
    const struct pcoll_plan *plan = b->plan;

    for (int n = 0; n < plan->nneighbors; n++) {
        card(b, b->own, n)->name = b->bound->endpoint->name;
        card(b, b->own, n)->farewell = farewell_key(b->bound, n);
    }
    for (int p = 0; p < plan->nphases; p++)
        for (int i = plan->phases[p].first; i < plan->phases[p].first + plan->phases[p].count;
             i++) {
            struct card *c;
            struct want *want;

            if (b->want_of[i] == PCOLL_NONE)
                continue;
            c = card(b, b->own, b->neighbor_of[i]);
            want = want_at(b, c, b->want_of[i]);
            want->place = place_of(&plan->entries[i]);
            want->signals[p] += want->place.counter != PCOLL_NONE;
            if (c->nwants <= b->want_of[i])
                c->nwants = b->want_of[i] + 1;
        }
}

static enum pcoll_result give_doorbell(struct trigger_bound *bound, int counter,
                                       const struct pcoll_ofi_region **region_p)
{
    struct trigger_counter *c = &bound->counters[counter];
    enum pcoll_result result = PCOLL_OK;

    if (c->doorbell.mr == NULL)
        result = pcoll_ofi_register(bound->endpoint, &bound->group->base.bootstrap, "a doorbell",
                                    (void *)bound->bells, sizeof(bound->bells[0]), c->cntr,
                                    &c->doorbell);
    *region_p = &c->doorbell;
    return result;
}

static enum pcoll_result give_window(struct trigger_bound *bound, const struct place *place,
                                     const struct pcoll_ofi_region **region_p)
{
    struct trigger_window *window = bound->windows;

    while (window < bound->windows + bound->nwindows &&
           !(window->buffer == place->buffer && window->counter == place->counter))
        window++;
    *region_p = &window->region;
    if (window < bound->windows + bound->nwindows)
        return PCOLL_OK;
    bound->nwindows++;
    window->buffer = place->buffer;
    window->counter = place->counter;
    return pcoll_ofi_register(
        bound->endpoint, &bound->group->base.bootstrap, "a buffer",
        bound->memory.buffers[place->buffer], bound->memory.sizes[place->buffer],
        place->counter == PCOLL_NONE ? NULL : bound->counters[place->counter].cntr,
        &window->region);
}

static bool is_valid(const struct trigger_bound *bound, const struct place *place)
{
    return place->buffer >= PCOLL_NONE && place->buffer < PCOLL_NUM_BUFFERS &&
           place->counter >= PCOLL_NONE && place->counter < bound->ncounters &&
           (place->counter != PCOLL_NONE || place->buffer != PCOLL_NONE) &&
           (place->buffer == PCOLL_NONE || bound->memory.sizes[place->buffer] > 0);
}

static enum pcoll_result give(struct binding *b, const struct want *want, struct key *key)
{
    struct trigger_bound *bound = b->bound;
    const struct place *place = &want->place;
    const struct pcoll_ofi_region *region = NULL;
    enum pcoll_result result = PCOLL_ERR_INVALID;

    if (is_valid(bound, place))
        result = place->buffer == PCOLL_NONE ? give_doorbell(bound, place->counter, &region)
                                             : give_window(bound, place, &region);
    if (result != PCOLL_OK)
        return result;
    *key = (struct key){region->key, region->base};
    for (int p = 0, sum = 0; place->counter != PCOLL_NONE && p < bound->nphases; p++) {
        sum += (int)want->signals[p];
        bound->total[p * bound->ncounters + place->counter] += (uint64_t)sum;
    }
    return PCOLL_OK;
}

/* Register what the neighbors request. */
static enum pcoll_result give_all(struct binding *b)
{
    int n = b->plan->nneighbors;
    enum pcoll_result result = PCOLL_OK;

    b->bound->windows = calloc((size_t)n * (size_t)b->max_wants + 1, sizeof(*b->bound->windows));
    if (b->bound->windows == NULL)
        return PCOLL_ERR_NOMEM;
    for (int i = 0; i < n; i++) {
        struct card *c = card(b, b->theirs, i);

        for (int w = 0; result == PCOLL_OK && w < c->nwants; w++)
            result = give(b, want_at(b, c, w), &b->given[i * b->max_wants + w]);
    }
    return result;
}

static enum pcoll_result meet_neighbor(struct binding *b, int n)
{
    const struct card *c = card(b, b->theirs, n);
    struct trigger_neighbor *neighbor = &b->bound->neighbors[n];

    neighbor->word.key = c->farewell.key;
    neighbor->word.base = c->farewell.base;
    return pcoll_ofi_peer(b->bound->endpoint, &b->bound->group->base.bootstrap, &c->name,
                          &neighbor->word.peer);
}

static enum pcoll_result make_works(struct binding *b)
{
    const struct pcoll_plan *plan = b->plan;
    enum pcoll_result result = PCOLL_OK;

    for (int n = 0; result == PCOLL_OK && n < plan->nneighbors; n++)
        result = meet_neighbor(b, n);

    for (int i = 0; result == PCOLL_OK && i < plan->nentries; i++) {
        struct trigger_target target;
        const struct key *key;

        if (b->want_of[i] == PCOLL_NONE) {
            if (plan->entries[i].op == PCOLL_OP_ADD)
                pcoll_trigger_work(b->bound, i, NULL);
            continue;
        }
        key = &b->got[b->neighbor_of[i] * b->max_wants + b->want_of[i]];
        target.peer = b->bound->neighbors[b->neighbor_of[i]].word.peer;
        target.key = key->key;
        target.base = key->base;
        pcoll_trigger_work(b->bound, i, &target);
    }
    return result;
}

/* Send requests and return keys. A rank that has failed still answers. */
static enum pcoll_result talk(struct binding *b)
{
    const struct pcoll_bootstrap *boot = &b->bound->group->base.bootstrap;
    const int *neighbors = b->plan->neighbors;
    int n = b->plan->nneighbors;
    enum pcoll_result outcome, result;

    write_cards(b);
    outcome = boot->swap(boot->context, neighbors, n, b->own, b->theirs, b->card_bytes);
    result = outcome == PCOLL_OK ? give_all(b) : outcome;
    outcome = boot->swap(boot->context, neighbors, n, b->given, b->got, b->keys_bytes);
    if (result == PCOLL_OK)
        result = outcome;
    return result == PCOLL_OK ? make_works(b) : result;
}

static enum pcoll_result get_cards(struct binding *b)
{
    size_t n = (size_t)b->plan->nneighbors + 1;

    b->card_bytes = sizeof(struct card) + (size_t)b->max_wants * b->want_bytes;
    b->card_bytes = (b->card_bytes + 7) / 8 * 8;
    b->keys_bytes = (size_t)b->max_wants * sizeof(struct key);
    b->own = calloc(n, b->card_bytes);
    b->theirs = calloc(n, b->card_bytes);
    b->given = calloc(n, b->keys_bytes + 1);
    b->got = calloc(n, b->keys_bytes + 1);
    return b->own && b->theirs && b->given && b->got ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

/* Before the first message: everything that this rank can do alone. */
static enum pcoll_result prepare(struct binding *b, const struct pcoll_memory *memory)
{
    struct wanted *wanted;
    enum pcoll_result result;

    if (b->bound == NULL)
        return PCOLL_ERR_NOMEM;
    if (b->plan == NULL)
        return PCOLL_ERR_INVALID;
    result = pcoll_trigger_open(b->bound, b->plan, memory);
    wanted = calloc((size_t)b->plan->nentries + 1, sizeof(*wanted));
    b->want_of = calloc((size_t)b->plan->nentries + 1, sizeof(*b->want_of));
    b->neighbor_of = calloc((size_t)b->plan->nentries + 1, sizeof(*b->neighbor_of));
    b->want_bytes = sizeof(struct want) + (size_t)b->plan->nphases * sizeof(uint32_t);
    if (result == PCOLL_OK && !(wanted && b->want_of && b->neighbor_of))
        result = PCOLL_ERR_NOMEM;
    if (result == PCOLL_OK)
        b->max_wants = number_wants(b, wanted);
    free(wanted);
    return result;
}

static void release(struct binding *b)
{
    free(b->own);
    free(b->theirs);
    free(b->given);
    free(b->got);
    free(b->want_of);
    free(b->neighbor_of);
}

/* The ranks first agree on the size of cards; a rank that cannot allocate them says so in a
 * second vote. */
static enum pcoll_result bind_together(struct binding *b, const struct pcoll_bootstrap *boot,
                                       const struct pcoll_memory *memory)
{
    enum pcoll_result result = prepare(b, memory);
    struct pcoll_term max = {.kind = PCOLL_TERM_MAX, .value = (uint64_t)b->max_wants};

    result = pcoll_agree(boot, PCOLL_ROUND_PLAN, result, &max, 1);
    if (result != PCOLL_OK)
        return result;
    b->max_wants = (int)max.value;
    result = pcoll_agree(boot, PCOLL_ROUND_READY, get_cards(b), NULL, 0);
    if (result != PCOLL_OK)
        return result;
    return pcoll_agree(boot, PCOLL_ROUND_BOUND, talk(b), NULL, 0);
}

enum pcoll_result pcoll_trigger_bind(struct pcoll_group *base, const struct pcoll_plan *plan,
                                     const struct pcoll_memory *memory,
                                     struct pcoll_bound **bound_p)
{
    struct trigger_group *group = trigger_group_of(base);
    struct binding b = {.bound = calloc(1, sizeof(*b.bound)), .plan = plan};
    enum pcoll_result result;

    pcoll_trigger_sweep();
    if (b.bound) {
        b.bound->base.medium = base->medium;
        b.bound->group = group;
        b.bound->endpoint = group->endpoint;
        group->base.refs++;
    }
    result = bind_together(&b, &group->base.bootstrap, memory);
    release(&b);
    if (result == PCOLL_OK)
        *bound_p = &b.bound->base;
    else if (b.bound)
        pcoll_trigger_close(b.bound);
    return result;
}
