/*
 * First step of lowering: one entry, one deferred work. The contract is in lower.h.
 *
 * What must follow a PUT or GET becomes separate ADDs, triggered by a new counter that counts the
 * moves that are done. Moves with the same sequel share that counter: the j-th of them that is done
 * triggers the j-th sequel, and as the sequels are equal it does not matter which move that was.
 *
 *      c0 >= 1  get, c0 += 1, 3:c1 += 1    becomes    c0 >= 1  get, c2 += 1
 *                                                     c2 >= 1  add, c0 += 1
 *                                                     c2 >= 1  add, 3:c1 += 1
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/lower/private.h"

/* What follows a move, and the counter of those moves that it follows. */
struct sequel {
    int done, peer, peer_counter; /* peer and its counter: for a GET */
    uint64_t done_add, peer_add;
    int counter;
    uint64_t uses; /* in a cycle, so far */
};

struct split {
    const struct pcoll_plan *from;
    struct sequel *sequels;
    int nsequels;
    int *of; /* [entry]: index of its sequel, or PCOLL_NONE */
};

static bool is_move(const struct pcoll_entry *entry)
{
    return pcoll_entry_is_remote(entry);
}

static bool signals(const struct pcoll_entry *entry)
{
    return entry->peer != PCOLL_NONE && entry->peer_counter != PCOLL_NONE;
}

static bool has_sequel(const struct pcoll_entry *entry)
{
    return is_move(entry) &&
           (entry->done != PCOLL_NONE || (entry->op == PCOLL_OP_GET && signals(entry)));
}

static struct sequel sequel_of(const struct pcoll_entry *entry)
{
    struct sequel sequel = {.done = entry->done, .peer = PCOLL_NONE, .peer_counter = PCOLL_NONE};

    if (entry->done != PCOLL_NONE)
        sequel.done_add = entry->done_add;
    if (entry->op == PCOLL_OP_GET && signals(entry)) {
        sequel.peer = entry->peer;
        sequel.peer_counter = entry->peer_counter;
        sequel.peer_add = entry->peer_add;
    }
    return sequel;
}

static bool same(const struct sequel *a, const struct sequel *b)
{
    return a->done == b->done && a->done_add == b->done_add && a->peer == b->peer &&
           a->peer_counter == b->peer_counter && a->peer_add == b->peer_add;
}

/* Sort the sequels into kinds, each with a counter of its own. */
static void find_sequels(struct split *s)
{
    for (int i = 0; i < s->from->nentries; i++) {
        struct sequel sequel = sequel_of(&s->from->entries[i]);
        int k = 0;

        s->of[i] = PCOLL_NONE;
        if (!has_sequel(&s->from->entries[i]))
            continue;
        while (k < s->nsequels && !same(&s->sequels[k], &sequel))
            k++;
        if (k == s->nsequels) {
            sequel.counter = s->from->ncounters + k;
            s->sequels[s->nsequels++] = sequel;
        }
        s->of[i] = k;
    }
}

/* Add a move and, separately, what follows it. */
static void add_move(struct pcoll_plan *plan, struct pcoll_entry move, struct sequel *sequel)
{
    struct pcoll_entry after = pcoll_entry_add(sequel->counter, ++sequel->uses);

    if (sequel->peer != PCOLL_NONE) {
        move.peer_counter = PCOLL_NONE;
        move.peer_add = 0;
    }
    pcoll_plan_add(plan, pcoll_entry_done(move, sequel->counter, 1));
    if (sequel->done != PCOLL_NONE)
        pcoll_plan_add(plan, pcoll_entry_done(after, sequel->done, sequel->done_add));
    if (sequel->peer != PCOLL_NONE)
        pcoll_plan_add(
            plan, pcoll_entry_signal(after, sequel->peer, sequel->peer_counter, sequel->peer_add));
}

/* An ADD to both an own and a peer's counter becomes two. */
static void add_other(struct pcoll_plan *plan, struct pcoll_entry entry)
{
    if (entry.op == PCOLL_OP_ADD && entry.done != PCOLL_NONE && signals(&entry)) {
        struct pcoll_entry own = pcoll_entry_add(entry.trigger, entry.threshold);

        pcoll_plan_add(plan, pcoll_entry_done(own, entry.done, entry.done_add));
        entry.done = PCOLL_NONE;
    }
    pcoll_plan_add(plan, entry);
}

static void add_entries(struct split *s, struct pcoll_plan *plan)
{
    for (int p = 0; p < plan->nphases; p++) {
        const struct pcoll_phase *phase = &s->from->phases[p];

        pcoll_plan_open(plan, p);
        for (int i = phase->first; i < phase->first + phase->count; i++) {
            if (s->of[i] == PCOLL_NONE)
                add_other(plan, s->from->entries[i]);
            else
                add_move(plan, s->from->entries[i], &s->sequels[s->of[i]]);
        }
    }
    for (int k = 0; k < s->nsequels; k++)
        plan->gain[s->sequels[k].counter] = s->sequels[k].uses;
}

enum pcoll_result pcoll_lower_like(const struct pcoll_plan *plan, int ncounters,
                                   struct pcoll_plan **like_p)
{
    struct pcoll_plan *like;
    enum pcoll_result result = pcoll_plan_create(&plan->signature, NULL, plan->rank, &like);

    if (result != PCOLL_OK)
        return result;
    if (!pcoll_plan_begin(like, ncounters, plan->nphases)) {
        pcoll_plan_destroy(like);
        return PCOLL_ERR_NOMEM;
    }
    like->algorithm = plan->algorithm;
    like->temp_bytes = plan->temp_bytes;
    like->ordered = plan->ordered;
    like->user_rma = plan->user_rma;
    memcpy(like->gain, plan->gain, (size_t)plan->ncounters * sizeof(*plan->gain));
    for (int i = 0; i < plan->noperands; i++)
        pcoll_plan_operand_of(like, plan->operands[i].rank,
                              pcoll_operand_place(&plan->operands[i]));
    for (int i = 0; i < plan->nneighbors; i++)
        pcoll_plan_neighbor(like, plan->neighbors[i]);
    *like_p = like;
    return PCOLL_OK;
}

enum pcoll_result pcoll_lower_split(struct pcoll_plan **plan_p)
{
    struct pcoll_plan *from = *plan_p, *plan = NULL;
    size_t room = (size_t)from->nentries + 1;
    struct split s = {.from = from,
                      .sequels = calloc(room, sizeof(*s.sequels)),
                      .of = calloc(room, sizeof(*s.of))};
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    if (s.sequels && s.of) {
        find_sequels(&s);
        result = pcoll_lower_like(from, from->ncounters + s.nsequels, &plan);
    }
    if (result == PCOLL_OK) {
        add_entries(&s, plan);
        result = pcoll_plan_seal(plan);
    }
    if (result != PCOLL_OK) {
        pcoll_plan_destroy(plan);
        plan = NULL;
    }
    free(s.sequels);
    free(s.of);
    pcoll_plan_destroy(from);
    *plan_p = plan;
    return result;
}
