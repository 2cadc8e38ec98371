/* A rank's part in a trial; the contract is in trial.h. */
#include "test/unit/trial.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/lower/lower.h"
#include "offload/agree.h"
#include "offload/reduce/kernels.h"
#include "offload/memory/heap.h"

enum { PERIOD = 256, SEVENTH = 183 /* 7 * 183 is 1 mod 256 */ };

static unsigned char sevens[2 * PERIOD];

__attribute__((constructor)) static void fill_sevens(void)
{
    for (int k = 0; k < 2 * PERIOD; k++)
        sevens[k] = (unsigned char)(7 * k);
}

/* A rank's data from byte `i` on, up to the next multiple of PERIOD: byte i is 37 rank + 101
 * instance + 7 i + i / 256 + 1. */
static const unsigned char *data_of(int rank, int instance, uint64_t i)
{
    const uint64_t phase = 37 * (uint64_t)rank + 101 * (uint64_t)instance + i / PERIOD + 1;

    return sevens + phase * SEVENTH % PERIOD + i % PERIOD;
}

/* How many bytes of so many from byte `i` on data_of() gives. */
static uint64_t stretch(uint64_t i, uint64_t bytes)
{
    const uint64_t room = PERIOD - i % PERIOD;

    return bytes < room ? bytes : room;
}

/* An associative operator on bytes that does not commute: the composition of maps x -> a x + b mod
 * 16, with odd a, in the halves of each byte. */
static void compose(unsigned char *to, const unsigned char *left, const unsigned char *right,
                    size_t n)
{
    typedef unsigned char lanes __attribute__((vector_size(16)));

    for (size_t i = 0; i < n; i += sizeof(lanes)) {
        const size_t count = n - i < sizeof(lanes) ? n - i : sizeof(lanes);
        lanes l = {0}, r = {0};

        memcpy(&l, left + i, count);
        memcpy(&r, right + i, count);
        l = ((l | 1) * (r | 1) & 15) | ((l | 1) * (r >> 4) + (l >> 4)) << 4;
        memcpy(to + i, &l, count);
    }
}

static enum pcoll_result apply(const struct pcoll_operator *self, const void *left, void *right,
                               size_t n)
{
    (void)self;
    compose(right, left, right, n);
    return PCOLL_OK;
}

/* to = to * right with the operator of the signature. */
static void operate(const struct pcoll_signature *signature, unsigned char *to,
                    const unsigned char *right, size_t n)
{
    if (!signature->commutes)
        compose(to, to, right, n);
    for (size_t i = 0; signature->commutes && i < n; i++)
        to[i] = (unsigned char)(to[i] + right[i]);
}

static uint64_t send_bytes(const struct part *p)
{
    return pcoll_collective_of(&p->signature)->send_bytes(&p->signature, NULL, p->rank);
}

static uint64_t recv_bytes(const struct part *p)
{
    return pcoll_collective_of(&p->signature)->recv_bytes(&p->signature, NULL, p->rank);
}

static int lies_in_recv(const struct part *p)
{
    return pcoll_input_in_recv(&p->signature, NULL, p->rank).count > 0;
}

/* ---- user memory with gaps ---- */

/* What medium.h demands: the plan reads only SEND and writes only RECV, and no peer accesses
 * either, nor a REDUCE. */
static int takes_layouts(const struct pcoll_plan *plan)
{
    int takes = !plan->user_rma;

    for (int i = 0; i < plan->noperands; i++)
        takes = takes && plan->operands[i].buffer > PCOLL_RECV;
    for (int i = 0; i < plan->nentries; i++) {
        const struct pcoll_entry *entry = &plan->entries[i];
        const int is_get = entry->op == PCOLL_OP_GET;

        if (!pcoll_entry_has_data(entry))
            continue;
        takes = takes && entry->local.buffer != (is_get ? PCOLL_SEND : PCOLL_RECV);
        if (entry->op == PCOLL_OP_REDUCE)
            takes = takes && entry->local.buffer > PCOLL_RECV;
        else if (entry->op == PCOLL_OP_COPY)
            takes = takes && entry->remote.buffer != PCOLL_SEND;
    }
    return takes;
}

static struct strided *strided_send(struct part *p)
{
    return &p->strided_send[p->turn];
}

static struct strided *strided_recv(struct part *p)
{
    return &p->strided_recv[p->turn];
}

static void free_layouts(struct part *p)
{
    free(strided_send(p)->memory);
    free(strided_recv(p)->memory);
    strided_send(p)->memory = strided_recv(p)->memory = NULL;
}

static enum pcoll_result get_layouts(struct part *p)
{
    enum pcoll_result result;

    if (!p->has_layouts)
        return PCOLL_OK;
    result = strided_init(strided_send(p), send_bytes(p), p->rank % 2);
    return result == PCOLL_OK ? strided_init(strided_recv(p), recv_bytes(p), p->rank % 2) : result;
}

static enum pcoll_result init_layouts(struct part *p)
{
    return p->has_layouts && !takes_layouts(p->plan) ? PCOLL_UNSUPPORTED : get_layouts(p);
}

/* ---- user memory that is contiguous ---- */

enum { ODD = 4096 + 13 }; /* where it lies in what the heap gave */

static unsigned char *get_memory(const struct part *p, uint64_t bytes)
{
    unsigned char *memory;

    if (p->source != NULL)
        return p->source->get(bytes + 1);
    memory = p->in_heap ? pcoll_heap_get(bytes + ODD) : malloc(bytes + 1);
    return p->in_heap && memory != NULL ? memory + ODD : memory;
}

static void put_memory(const struct part *p, unsigned char *memory)
{
    if (memory != NULL && p->source != NULL)
        p->source->put(memory);
    else if (!p->in_heap)
        free(memory);
    else if (memory != NULL && pcoll_heap_put(memory - ODD) != PCOLL_OK)
        abort();
}

enum pcoll_result part_get_memory(struct part *p)
{
    p->recv = get_memory(p, recv_bytes(p));
    p->send = lies_in_recv(p) ? p->recv + pcoll_input_in_recv(&p->signature, NULL, p->rank).first
                              : get_memory(p, send_bytes(p));
    return p->recv != NULL && p->send != NULL ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

void part_free_memory(struct part *p)
{
    if (!lies_in_recv(p))
        put_memory(p, p->send);
    put_memory(p, p->recv);
    p->send = p->recv = NULL;
}

/* ---- a part ---- */

static unsigned provided(const struct part *p)
{
    const unsigned more = p->loads && p->medium->traits & PCOLL_LOADS ? PCOLL_NEED_MAPPED : 0;

    return p->medium->group_provides(p->group) | more;
}

enum pcoll_result part_init(struct part *p, const struct pcoll_algorithm *row,
                            const struct pcoll_params *params)
{
    const struct pcoll_signature *sig = &p->signature;
    enum pcoll_result result;

    p->signature.commutes |= row->must_commute;
    result = part_get_memory(p);
    if (result != PCOLL_OK)
        return result;
    result = pcoll_generate(row, sig, NULL, p->rank, params, &p->plan);
    if (result == PCOLL_OK && !(provided(p) & PCOLL_NEED_WEIGHTS))
        result = pcoll_lower(row, params, &p->plan);
    if (result == PCOLL_OK && p->plan->needs & ~provided(p))
        result = PCOLL_UNSUPPORTED;
    return result == PCOLL_OK ? init_layouts(p) : result;
}

void part_fini(struct part *p)
{
    pcoll_plan_destroy(p->plan);
    part_free_memory(p);
    free_layouts(p);
}

static struct pcoll_memory memory_of(struct part *p)
{
    if (p->has_layouts)
        return (struct pcoll_memory){.op = &p->op,
                                     .send_layout = &strided_send(p)->layout,
                                     .recv_layout = &strided_recv(p)->layout};
    return (struct pcoll_memory){p->send, p->recv, &p->op};
}

enum pcoll_result part_bind(struct part *p)
{
    const struct pcoll_memory memory = memory_of(p);

    p->op = (struct pcoll_operator){.unit = 1, .apply = apply};
    if (p->signature.commutes)
        p->op.kernel = pcoll_kernel_of(PCOLL_OPERATOR_SUM, PCOLL_ELEMENT_UINT8);
    p->instance = 0;
    atomic_store(&p->starts[p->rank], 0);
    return p->medium->bind(p->group, p->plan, &memory, &p->bound);
}

static void dawdle(struct part *p)
{
    for (int n = rand_r(&p->seed) % 8 == 0 ? rand_r(&p->seed) % 20 : 0; n > 0; n--)
        sched_yield();
}

enum pcoll_result part_move(struct part *p)
{
    struct part old = *p;
    struct pcoll_memory memory;
    enum pcoll_result result;

    p->turn = !p->turn;
    if (part_get_memory(p) != PCOLL_OK || get_layouts(p) != PCOLL_OK)
        return PCOLL_ERR_NOMEM;
    memory = memory_of(p);
    p->bound->medium->tell(p->bound, &memory);
    result = pcoll_agree(p->group->bootstrap, PCOLL_ROUND_CALL, PCOLL_OK, NULL, 0);
    dawdle(p);
    p->bound->medium->move(p->bound, p->plan, &memory);
    part_free_memory(&old);
    free_layouts(&old);
    return result;
}

void part_unbind(struct part *p)
{
    p->bound->medium->unbind(p->bound);
    p->bound = NULL;
}

static void fill(struct part *p)
{
    const uint64_t bytes = send_bytes(p);

    memset(p->recv, 0xee, recv_bytes(p));
    for (uint64_t i = 0, n; i < bytes; i += n) {
        n = stretch(i, bytes - i);
        memcpy(p->send + i, data_of(p->rank, p->instance, i), n);
    }
    if (p->has_layouts) {
        strided_fill(strided_send(p), p->send);
        strided_fill(strided_recv(p), p->recv);
    }
}

/* Block k of the piece. */
static int wrong_block(const struct part *p, const struct pcoll_piece *piece, int k)
{
    const unsigned char *got = p->recv + piece->first + (uint64_t)k * piece->bytes;
    const int owner = piece->rank + k;

    for (uint64_t i = 0, n; i < piece->bytes; i += n) {
        const unsigned char *ought = data_of(owner, p->instance, piece->from + i);

        n = stretch(piece->from + i, piece->bytes - i);
        if (memcmp(got + i, ought, n) == 0)
            continue;
        for (; got[i] == *ought; ought++)
            i++;
        printf("# byte %lu from rank %d in instance %d: %02x, not %02x\n", (unsigned long)i, owner,
               p->instance, got[i], *ought);
        return 1;
    }
    return 0;
}

static int wrong_fold(const struct part *p, const struct pcoll_piece *piece)
{
    const unsigned char *got = p->recv + piece->first;
    unsigned char ought[PERIOD];

    for (uint64_t i = 0, n; i < piece->bytes; i += n) {
        const uint64_t from = piece->from + i;

        n = stretch(from, piece->bytes - i);
        memcpy(ought, data_of(piece->rank, p->instance, from), n);
        for (int k = 1; k < piece->nranks; k++)
            operate(&p->signature, ought, data_of(piece->rank + k, p->instance, from), n);
        if (memcmp(got + i, ought, n) != 0) {
            printf("# bytes %lu to %lu of the reduction of instance %d are wrong\n",
                   (unsigned long)i, (unsigned long)(i + n - 1), p->instance);
            return 1;
        }
    }
    return 0;
}

static int check(struct part *p)
{
    const struct pcoll_signature *sig = &p->signature;
    struct pcoll_piece piece;
    int wrong = p->has_layouts && strided_read(strided_recv(p), p->recv);

    for (int i = 0; pcoll_expect(sig, NULL, p->rank, i, &piece); i++)
        for (int k = 0; k < (piece.is_fold ? 1 : piece.nranks); k++)
            wrong += piece.is_fold ? wrong_fold(p, &piece) : wrong_block(p, &piece, k);
    for (int r = 0; r < sig->nranks && pcoll_coll_has(sig->coll, PCOLL_SYNCHRONIZES); r++)
        wrong += atomic_load(&p->starts[r]) <= p->instance;
    return wrong;
}

int part_start(struct part *p)
{
    enum pcoll_result result;

    fill(p);
    atomic_fetch_add(&p->starts[p->rank], 1);
    result = p->bound->medium->start(p->bound);
    p->active = result == PCOLL_PENDING;
    p->failed = result != PCOLL_OK && result != PCOLL_PENDING;
    dawdle(p);
    return p->failed;
}

int part_wait(struct part *p)
{
    enum pcoll_result result = p->active ? PCOLL_PENDING : PCOLL_OK;
    int wrong;

    for (int polls = 0; result == PCOLL_PENDING; polls++) {
        result =
            polls % 2 ? p->bound->medium->progress(p->bound) : p->bound->medium->spin(p->bound, 5);
        if (result == PCOLL_PENDING)
            p->bound->medium->rest(p->bound, polls > 50 ? 100 : 0);
    }
    p->active = 0;
    p->failed = result != PCOLL_OK;
    wrong = p->failed || check(p);
    p->instance++;
    memset(p->send, 0x55, send_bytes(p));
    if (p->has_layouts)
        strided_fill(strided_send(p), p->send);
    dawdle(p);
    return wrong;
}

int part_is_untouched(const struct part *p)
{
    const uint64_t bytes = pcoll_plan_bytes(p->plan, PCOLL_RECV);
    int wrong = 0;

    memset(p->recv, 0x77, bytes);
    sched_yield();
    for (uint64_t i = 0; i < bytes; i++)
        wrong |= p->recv[i] != 0x77;
    return !wrong;
}

int part_run(struct part *p, int instances)
{
    int wrong = 0;

    p->failed = 0;
    for (int i = 0; i < instances && !p->failed; i++)
        wrong |= part_start(p) || part_wait(p);
    return wrong;
}

int part_perform(struct part *p, const struct part_frame *frame)
{
    enum pcoll_result made;
    int wrong;

    if (p->medium->group_create(frame->bootstrap, &p->group) != PCOLL_OK)
        return 1;
    made = pcoll_agree(frame->bootstrap, PCOLL_ROUND_BOUND, part_init(p, frame->row, frame->params),
                       NULL, 0);
    wrong = made == PCOLL_OK ? frame->exercise(p, frame) : made != PCOLL_UNSUPPORTED;
    meeting_barrier(frame->meeting);
    if (p->rank == 0)
        meeting_barrier(frame->meeting); /* threads share rank 0's mapping, so rank 0 leaves last */
    p->medium->group_destroy(p->group);
    if (p->rank != 0)
        meeting_barrier(frame->meeting);
    part_fini(p);
    return wrong;
}
