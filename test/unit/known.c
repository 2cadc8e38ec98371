/* Jobs as words, which a set remembers; the contract is in known.h. */
#include "test/unit/known.h"

#include <stdlib.h>

#include "offload/explore/visited.h"

struct words {
    uint64_t *word;
    size_t n, room;
};

static void put(struct words *w, uint64_t word)
{
    if (w->n == w->room) {
        w->room = 2 * w->room + 1000;
        w->word = realloc(w->word, w->room * sizeof(*w->word));
        if (!w->word)
            abort();
    }
    w->word[w->n++] = word;
}

static void put_int(struct words *w, int number)
{
    put(w, (uint64_t)number);
}

static void put_place(struct words *w, struct pcoll_place place)
{
    put(w, place.buffer);
    put(w, place.offset);
}

/* Entries and operands have gaps between their fields, so these are taken one by one. */
static void put_entry(struct words *w, const struct pcoll_entry *entry)
{
    put(w, entry->op);
    put_int(w, entry->trigger);
    put(w, entry->threshold);
    put_int(w, entry->done);
    put_int(w, entry->first_operand);
    put(w, entry->done_add);
    put_int(w, entry->peer);
    put_int(w, entry->rail);
    put_int(w, entry->peer_counter);
    put_int(w, entry->noperands);
    put(w, entry->peer_add);
    put(w, entry->bytes);
    put_place(w, entry->local);
    put_place(w, entry->remote);
}

static void put_plan(struct words *w, const struct pcoll_plan *plan)
{
    put_int(w, plan->nphases);
    for (int p = 0; p < plan->nphases; p++)
        put_int(w, plan->phases[p].count);
    put_int(w, plan->ncounters);
    for (int c = 0; c < plan->ncounters; c++)
        put(w, plan->gain[c]);
    for (int i = 0; i < plan->nentries; i++)
        put_entry(w, &plan->entries[i]);
    put_int(w, plan->noperands);
    for (int i = 0; i < plan->noperands; i++) {
        put_int(w, plan->operands[i].rank);
        put_place(w, pcoll_operand_place(&plan->operands[i]));
    }
    put_int(w, plan->nneighbors);
    for (int i = 0; i < plan->nneighbors; i++)
        put_int(w, plan->neighbors[i]);
    put(w, plan->needs);
    put(w, plan->ordered);
    put(w, plan->user_rma);
}

static void put_memory(struct words *w, const struct pcoll_plan *plan)
{
    const struct pcoll_span input = pcoll_input_in_recv(&plan->signature, plan->local, plan->rank);

    for (int b = 0; b < PCOLL_NUM_BUFFERS; b++)
        put(w, pcoll_plan_bytes(plan, (enum pcoll_buffer)b));
    put(w, input.first);
    put(w, input.count);
}

static void put_block(struct words *w, const struct pcoll_piece *piece, int k, int nranks)
{
    if (piece->bytes == 0)
        return;
    put(w, piece->first + (uint64_t)k * piece->bytes);
    put(w, piece->bytes);
    put_int(w, piece->rank + k);
    put_int(w, nranks);
    put(w, piece->from);
}

/* Block by block: what is one piece for a collective may be several for another. */
static void put_expected(struct words *w, const struct pcoll_signature *signature,
                         const struct pcoll_local *const *locals, int rank)
{
    struct pcoll_piece piece;

    for (int i = 0; pcoll_expect(signature, locals, rank, i, &piece); i++) {
        if (piece.is_fold)
            put_block(w, &piece, 0, piece.nranks);
        for (int k = 0; !piece.is_fold && k < piece.nranks; k++)
            put_block(w, &piece, k, 1);
    }
    put_int(w, PCOLL_NONE); /* no block begins there */
}

int job_is_known(const struct job *job, int how)
{
    static struct pcoll_visited known;
    static struct words w;
    const struct pcoll_signature *signature = &job->plans[0]->signature;
    const struct pcoll_local *locals[JOB_MOST_RANKS];
    const int nranks = signature->nranks;
    bool is_new;

    assert(nranks <= JOB_MOST_RANKS);
    for (int r = 0; r < nranks; r++)
        locals[r] = job->plans[r]->local;
    w.n = 0;
    put_int(&w, how);
    put_int(&w, nranks);
    put_int(&w, pcoll_coll_has(signature->coll, PCOLL_SYNCHRONIZES));
    put_int(&w, pcoll_coll_has(signature->coll, PCOLL_REDUCES));
    put(&w, signature->unit);
    put(&w, signature->commutes);
    for (int r = 0; r < nranks; r++) {
        put_plan(&w, job->plans[r]);
        put_memory(&w, job->plans[r]);
        put_expected(&w, signature, locals, r);
    }
    if (pcoll_visited_add(&known, (const unsigned char *)w.word, w.n * sizeof(*w.word), &is_new) !=
        PCOLL_OK)
        abort();
    return !is_new;
}
