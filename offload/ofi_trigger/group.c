/* Groups, and the probe of whether the provider has what this medium needs. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/fi_errno.h>

#include "offload/ofi_trigger/state.h"
#include "offload/yield.h"

#define PROBE_SECONDS 5 /* a probe that takes longer will never complete */

struct trigger_process pcoll_trigger_process;

static void report_error(const struct trigger_work *w, const char *error)
{
    const struct trigger_bound *b = w->bound;
    const struct pcoll_bootstrap *bootstrap = &b->group->base.bootstrap;
    char text[300];

    snprintf(text, sizeof(text), "libfabric: %s: deferred %s rank %d: %s",
             b->endpoint->info->fabric_attr->prov_name,
             w->work.op_type == FI_OP_READ ? "get from" : "put to",
             b->plan->entries[w - b->works].peer, error);
    bootstrap->report(bootstrap->context, text);
}

/* An operation has failed: so does its plan. */
static void on_event(void *context, const char *error)
{
    struct trigger_work *work = context;
    struct trigger_bound *b = work ? work->bound : NULL;

    if (error == NULL || b == NULL || b->failed)
        return;
    b->failed = true;
    if (b->plan)
        report_error(work, error);
}

/* The objects of the probe: counter `from` triggers a write to our own memory, which `to` counts;
 * `done` counts the write itself. */
struct probe {
    struct pcoll_ofi_endpoint *endpoint;
    const struct pcoll_bootstrap *bootstrap;
    struct fid_cntr *from, *to, *done;
    struct pcoll_ofi_region region;
    struct trigger_work work;
    uint64_t words[2];
    bool is_stuck; /* the provider may still use all of this: it stays */
};

static int open_counters(struct probe *p)
{
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
    int error = fi_cntr_open(p->endpoint->domain, &attr, &p->from, NULL);

    if (error == 0)
        error = fi_cntr_open(p->endpoint->domain, &attr, &p->to, NULL);
    if (error == 0)
        error = fi_cntr_open(p->endpoint->domain, &attr, &p->done, NULL);
    return error;
}

static int queue_probe(struct probe *p, fi_addr_t self)
{
    struct trigger_work *w = &p->work;

    w->local = (struct iovec){&p->words[0], sizeof(p->words[0])};
    w->desc = p->region.desc;
    w->remote = (struct fi_rma_iov){p->region.base + sizeof(p->words[0]), sizeof(p->words[1]),
                                    p->region.key};
    w->rma.ep = p->endpoint->ep;
    w->rma.msg = (struct fi_msg_rma){.msg_iov = &w->local,
                                     .desc = &w->desc,
                                     .iov_count = 1,
                                     .addr = self,
                                     .rma_iov = &w->remote,
                                     .rma_iov_count = 1,
                                     .context = &w->work};
    w->work.threshold = 1;
    w->work.triggering_cntr = p->from;
    w->work.completion_cntr = p->done;
    w->work.op_type = FI_OP_WRITE;
    w->work.op.rma = &w->rma;
    return fi_control(&p->endpoint->domain->fid, FI_QUEUE_WORK, &w->work);
}

/* Nothing has happened before the trigger; the data and both counts have arrived after it. */
static bool is_done(struct probe *p)
{
    time_t end = time(NULL) + PROBE_SECONDS;

    if (fi_cntr_read(p->to) != 0)
        return false;
    fi_cntr_add(p->from, 1);
    while (fi_cntr_read(p->to) != 1 || fi_cntr_read(p->done) != 1) {
        pcoll_ofi_poll(p->endpoint);
        pcoll_yield();
        if (time(NULL) > end)
            return false;
    }
    return p->words[1] == p->words[0];
}

/* NULL, or what the provider cannot do. */
static const char *try_probe(struct probe *p)
{
    fi_addr_t self;

    if (open_counters(p) != 0)
        return "it has no counters";
    if (pcoll_ofi_register(p->endpoint, p->bootstrap, "the probe", p->words, sizeof(p->words),
                           p->to, &p->region) != PCOLL_OK)
        return "it cannot count writes to registered memory";
    if (pcoll_ofi_peer(p->endpoint, p->bootstrap, &p->endpoint->name, &self) != PCOLL_OK)
        return "it cannot reach itself";
    p->words[0] = 42;
    if (queue_probe(p, self) != 0)
        return "it does not take deferred work";
    p->is_stuck = !is_done(p);
    return p->is_stuck ? "its deferred work is not done" : NULL;
}

static void close_probe(struct probe *p)
{
    struct fid_cntr *const counters[] = {p->from, p->to, p->done};

    pcoll_ofi_unregister(&p->region);
    for (int i = 0; i < 3; i++)
        if (counters[i])
            fi_close(&counters[i]->fid);
    free(p);
}

static enum pcoll_result probe(struct pcoll_ofi_endpoint *endpoint,
                               const struct pcoll_bootstrap *bootstrap)
{
    struct probe *p = calloc(1, sizeof(*p));
    const char *lack;
    char text[160];

    if (p == NULL)
        return PCOLL_ERR_NOMEM;
    p->endpoint = endpoint;
    p->bootstrap = bootstrap;
    lack = try_probe(p);
    if (!p->is_stuck)
        close_probe(p);
    if (lack == NULL)
        return PCOLL_OK;
    snprintf(text, sizeof(text), "libfabric: %s cannot run plans by itself: %s",
             endpoint->info->fabric_attr->prov_name, lack);
    bootstrap->report(bootstrap->context, text);
    return PCOLL_UNSUPPORTED;
}

static enum pcoll_result open_here(struct pcoll_autonomous_group *base, const char *interface)
{
    struct trigger_group *group = trigger_group_of(&base->base);
    struct pcoll_ofi_options options = {.provider = base->bootstrap.provider,
                                        .interface = interface,
                                        .caps = FI_TRIGGER | FI_RMA_EVENT,
                                        .progress = FI_PROGRESS_AUTO,
                                        .event = on_event};
    struct trigger_process *process = &pcoll_trigger_process;
    enum pcoll_result result = pcoll_ofi_open(&options, &base->bootstrap, &group->endpoint);

    if (result != PCOLL_OK)
        return result == PCOLL_ERR_NOMEM ? result : PCOLL_UNSUPPORTED;
    if (process->endpoint == group->endpoint)
        return PCOLL_OK;
    result = probe(group->endpoint, &base->bootstrap);
    if (result == PCOLL_OK && process->endpoint == NULL)
        result = pcoll_ofi_open(&options, &base->bootstrap, &process->endpoint);
    return result;
}

static void close_here(struct pcoll_autonomous_group *base)
{
    pcoll_ofi_close(trigger_group_of(&base->base)->endpoint);
}

enum pcoll_result pcoll_trigger_group_create(const struct pcoll_bootstrap *bootstrap,
                                             struct pcoll_group **group_p)
{
    static const struct pcoll_autonomous kind = {
        .medium = &pcoll_medium_ofi_trigger,
        .group_bytes = sizeof(struct trigger_group),
        .open = open_here,
        .close = close_here,
    };

    return pcoll_autonomous_group_create(&kind, bootstrap, group_p);
}

unsigned pcoll_trigger_group_provides(const struct pcoll_group *group)
{
    const struct pcoll_ofi_endpoint *endpoint = trigger_group_of(group)->endpoint;

    return PCOLL_NEED_GET | PCOLL_NEED_USER_RMA | (endpoint->ordered ? PCOLL_NEED_ORDER : 0);
}
