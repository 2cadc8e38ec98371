/* The worker that MPI has opened; the contract is in foreign.h. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/ucx_rma/state.h"

#define SECONDS_BETWEEN_QUESTIONS 2
#define TRIAL_POLLS 100000 /* until a get from this process must have ended */

const struct pcoll_ucx_foreign *pcoll_ucx_foreign_of(const struct pcoll_wire_options *options,
                                                     const struct pcoll_bootstrap *bootstrap)
{
    const struct pcoll_foreign *foreign = bootstrap->foreign;

    if (foreign == NULL || options->interface != NULL ||
        strcmp(foreign->library, PCOLL_UCX_LIBRARY) != 0)
        return NULL;
    return pcoll_container_of(foreign, struct pcoll_ucx_foreign, base);
}

static enum pcoll_result refuse(const struct pcoll_ucx_endpoint *e,
                                const struct pcoll_bootstrap *bootstrap, const char *why)
{
    char text[200];

    snprintf(text, sizeof(text), "UCX: %s's worker cannot be used: %.100s; opening one more",
             e->foreign->owner, why);
    bootstrap->report(bootstrap->context, text);
    return PCOLL_UNSUPPORTED;
}

enum pcoll_result pcoll_ucx_enter_foreign(struct pcoll_ucx_endpoint *e,
                                          const struct pcoll_bootstrap *bootstrap)
{
    const struct pcoll_ucx_foreign *foreign = e->foreign;

    if (foreign->progress != pcoll_ucx.ucp_worker_progress)
        return refuse(e, bootstrap, "it is another copy of the library");
    e->context = foreign->context;
    e->worker = foreign->worker;
    e->address = (ucp_address_t *)(void *)(uintptr_t)&foreign->process;
    e->address_bytes = sizeof(foreign->process);
    if (pcoll_ucx_listen(e) != UCS_OK)
        return refuse(e, bootstrap, "its context has no active messages");
    return PCOLL_OK;
}

/* It outlives a get that never ends. */
static struct trial {
    struct pcoll_wire_request request;
    uint64_t from, to;
} trial;

/* Read memory of this process through the worker. */
static const char *get_from_self(struct pcoll_ucx_endpoint *e, const struct pcoll_wire_way *to_self,
                                 uint64_t key)
{
    const struct pcoll_wire_transfer transfer = {
        .local = &trial.to,
        .bytes = sizeof(trial.to),
        .remote = (uint64_t)(uintptr_t)&trial.from,
        .key = key,
    };
    struct pcoll_wire_way way = *to_self;
    const char *why = NULL;

    trial.from = ~trial.to;
    if (pcoll_wire_ucx.get(&way, &trial.request, &transfer, &why) != PCOLL_OK)
        return why;
    for (int i = 0; e->done == NULL && i < TRIAL_POLLS; i++)
        pcoll_ucx.ucp_worker_progress(e->worker);
    e->is_stuck = e->done == NULL;
    if (e->is_stuck)
        return "a get does not end";
    why = e->done->error;
    e->done = NULL;
    e->done_end = &e->done;
    return why == NULL && trial.to != trial.from ? "a get brings wrong data" : why;
}

/* A context made without UCP_FEATURE_RMA says so only when RMA is used. */
static enum pcoll_result try_key(struct pcoll_ucx_endpoint *e,
                                 const struct pcoll_bootstrap *bootstrap,
                                 const struct pcoll_wire_way *to_self, void *packed)
{
    const char *why = NULL;
    struct pcoll_wire_region region = {0};
    uint64_t key;
    char text[120];
    enum pcoll_result result =
        pcoll_ucx_map(&e->base, bootstrap, "8 bytes", &trial.from, sizeof(trial.from), &region);

    if (result != PCOLL_OK)
        return result;
    pcoll_ucx_write_key(&region, packed);
    result = pcoll_ucx_take_key(to_self, bootstrap, packed, &key);
    if (result == PCOLL_OK) {
        why = get_from_self(e, to_self, key);
        if (!e->is_stuck)
            pcoll_ucx_drop_key(key);
    }
    if (!e->is_stuck)
        pcoll_ucx_unmap(&e->base, &region);
    if (why == NULL)
        return result;
    snprintf(text, sizeof(text), "it cannot read this process's memory: %.60s", why);
    return refuse(e, bootstrap, text);
}

enum pcoll_result pcoll_ucx_try_foreign(struct pcoll_ucx_endpoint *e,
                                        const struct pcoll_bootstrap *bootstrap)
{
    char *name = malloc(e->base.name_bytes), *key = malloc(e->base.key_bytes);
    struct pcoll_wire_way to_self = {0};
    enum pcoll_result result = name && key ? PCOLL_OK : PCOLL_ERR_NOMEM;

    if (result == PCOLL_OK) {
        pcoll_wire_ucx.write_name(&e->base, name);
        result = pcoll_wire_ucx.connect(&e->base, bootstrap, name, &to_self);
    }
    if (result == PCOLL_OK)
        result = try_key(e, bootstrap, &to_self, key);
    free(name);
    free(key);
    return result;
}

/* ---- peers that are gone --------------------------------------------------------------- */

static void on_asked(void *handle, ucs_status_t status, void *peer_to)
{
    struct pcoll_ucx_peer *peer = peer_to;

    pcoll_ucx.ucp_request_free(handle);
    peer->is_asking = false;
    peer->is_lost |= status != UCS_OK;
}

/* An empty message, which the peer ignores, fails if its connection has ended. */
static void ask(struct pcoll_ucx_peer *peer)
{
    const ucp_request_param_t param = {
        .op_attr_mask =
            UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_AM_SEND_FLAG_EAGER,
        .cb.send = on_asked,
        .user_data = peer,
    };
    void *handle =
        pcoll_ucx.ucp_am_send_nbx(peer->ep, PCOLL_UCX_AM, NULL, 0, &peer->asked, 0, &param);

    peer->is_lost |= UCS_PTR_IS_ERR(handle);
    peer->is_asking = UCS_PTR_IS_PTR(handle);
}

bool pcoll_ucx_foreign_is_lost(struct pcoll_ucx_peer *peer)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (!peer->is_asking && now.tv_sec - peer->asked >= SECONDS_BETWEEN_QUESTIONS) {
        if (peer->asked != 0)
            ask(peer);
        peer->asked = now.tv_sec;
    }
    return peer->is_lost;
}
