/*
 * The exchange of a neighborhood collective as programs write it by hand, each way in its best
 * form:
 *
 * HALO         persistent requests with derived datatypes: MPI_Startall, receives first,
 * MPI_Waitall IHALO        the same with MPI_Irecv and MPI_Isend PACKED_HALO  persistent requests
 * of contiguous buffers: each block is packed by a loop and sent at once, and unpacked when it
 * arrives
 *
 * What a rank sends to itself it copies between starting and waiting. The tag of a message is the
 * slot in which it arrives, so messages of neighbors that coincide are told apart.
 */
#include "calls.h"

#include <stdlib.h>

struct message {
    const struct block *block;
    char *buffer; /* the block's place, or a buffer of its own if it is packed */
    int count, peer, tag;
    MPI_Datatype type;
    bool packed;
};

struct halo {
    enum way way;
    const struct arguments *a;
    int nrecv, nsent, nself; /* messages, and blocks that stay on this rank */
    struct message received[MAX_NEIGHBORS], sent[MAX_NEIGHBORS];
    const struct block *to_self[MAX_NEIGHBORS], *from_self[MAX_NEIGHBORS];
    MPI_Request requests[2 * MAX_NEIGHBORS]; /* receives, then sends */
};

/* ---- opening --------------------------------------------------------------------------------- */

static struct message make_message(enum way way, const struct block *block, char *base,
                                   MPI_Datatype type)
{
    struct message message = {block, base + block->at, (int)block->bytes, 0, 0, MPI_BYTE, false};
    if (block->chunk == block->bytes)
        return message;
    if (way == PACKED_HALO) {
        message.packed = true;
        message.buffer = malloc(block->bytes);
    } else {
        message.count = 1;
        message.type = type;
    }
    return message;
}

static void add_received(struct halo *halo, const struct operation *op, int slot)
{
    const struct arguments *a = halo->a;
    const struct block *block = &a->received[slot];
    if (op->hood->from[slot] == op->job->rank) {
        halo->to_self[halo->nself] = block;
        halo->from_self[halo->nself++] = &a->sent[block->slot];
        return;
    }
    struct message *message = &halo->received[halo->nrecv++];
    *message = make_message(halo->way, block, a->recv, a->rtypes[slot]);
    message->peer = op->hood->from[slot];
    message->tag = slot;
}

/* A collective that sends one block sends it to all neighbors. */
static void add_sent(struct halo *halo, const struct operation *op, int slot)
{
    const struct arguments *a = halo->a;
    int block = a->nsent == 1 ? 0 : slot;
    if (op->hood->to[slot] == op->job->rank)
        return;
    struct message *message = &halo->sent[halo->nsent++];
    *message = make_message(halo->way, &a->sent[block], a->send, a->stypes[block]);
    message->peer = op->hood->to[slot];
    message->tag = neighborhood_arrives(op->hood, slot);
}

static void make_requests(struct halo *halo, MPI_Comm comm)
{
    MPI_Request *request = halo->requests;
    for (const struct message *m = halo->received; m < halo->received + halo->nrecv; m++)
        MPI_Recv_init(m->buffer, m->count, m->type, m->peer, m->tag, comm, request++);
    for (const struct message *m = halo->sent; m < halo->sent + halo->nsent; m++)
        MPI_Send_init(m->buffer, m->count, m->type, m->peer, m->tag, comm, request++);
}

struct halo *halo_open(const struct operation *op, enum way way, const struct arguments *a)
{
    struct halo *halo = calloc(1, sizeof *halo);
    halo->way = way;
    halo->a = a;
    for (int slot = 0; slot < op->hood->n; slot++) {
        add_received(halo, op, slot);
        add_sent(halo, op, slot);
    }
    if (way != IHALO)
        make_requests(halo, a->comm);
    return halo;
}

static void free_buffers(struct message *messages, int n)
{
    for (int i = 0; i < n; i++)
        if (messages[i].packed)
            free(messages[i].buffer);
}

void halo_close(struct halo *halo)
{
    for (int i = 0; halo && halo->way != IHALO && i < halo->nrecv + halo->nsent; i++)
        MPI_Request_free(&halo->requests[i]);
    if (halo) {
        free_buffers(halo->received, halo->nrecv);
        free_buffers(halo->sent, halo->nsent);
    }
    free(halo);
}

/* ---- running --------------------------------------------------------------------------------- */

static void post(struct halo *halo)
{
    MPI_Comm comm = halo->a->comm;
    MPI_Request *request = halo->requests;
    for (const struct message *m = halo->received; m < halo->received + halo->nrecv; m++)
        MPI_Irecv(m->buffer, m->count, m->type, m->peer, m->tag, comm, request++);
    for (const struct message *m = halo->sent; m < halo->sent + halo->nsent; m++)
        MPI_Isend(m->buffer, m->count, m->type, m->peer, m->tag, comm, request++);
}

static void pack_and_start(struct halo *halo)
{
    MPI_Startall(halo->nrecv, halo->requests);
    for (int i = 0; i < halo->nsent; i++) {
        const struct message *m = &halo->sent[i];
        if (m->packed)
            block_pack(m->block, halo->a->send, m->buffer);
        MPI_Start(&halo->requests[halo->nrecv + i]);
    }
}

void halo_begin(struct halo *halo)
{
    if (halo->way == HALO)
        MPI_Startall(halo->nrecv + halo->nsent, halo->requests);
    else if (halo->way == IHALO)
        post(halo);
    else
        pack_and_start(halo);
    for (int i = 0; i < halo->nself; i++)
        block_copy(halo->to_self[i], halo->a->recv, halo->from_self[i], halo->a->send);
}

static void unpack_arrivals(struct halo *halo)
{
    for (int left = halo->nrecv; left > 0; left--) {
        int i;
        MPI_Waitany(halo->nrecv, halo->requests, &i, MPI_STATUS_IGNORE);
        const struct message *m = &halo->received[i];
        if (m->packed)
            block_unpack(m->block, halo->a->recv, m->buffer);
    }
}

void halo_finish(struct halo *halo)
{
    if (halo->way == PACKED_HALO)
        unpack_arrivals(halo);
    MPI_Waitall(halo->nrecv + halo->nsent, halo->requests, MPI_STATUSES_IGNORE);
}
