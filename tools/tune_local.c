/*
 * What a rank measures alone: its turn on a core, copies and arithmetic, memory registration.
 */
#include "tools/tune.h"

#include "offload/media.h"
#include "offload/rma/wire.h"
#include "offload/sysfs.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 200, HANDOVERS = 25, COPY_BYTES = 64 << 10, BLOCK = 8 };

#define SHORT_REGION ((size_t)64 << 10)
#define LONG_REGION ((size_t)1 << 20)
#define MAX_SECONDS 1.0

/* One sample; negative if it could not be taken. */
typedef double measure(void *context);

static void repeat(struct tune_result *result, enum pcoll_parameter parameter, measure *sample,
                   void *context)
{
    const double begin = tune_now();
    double samples[SAMPLES];
    int n = 0;

    while (n < SAMPLES && (n == 0 || tune_now() - begin < MAX_SECONDS)) {
        samples[n] = sample(context);
        if (samples[n++] < 0)
            return;
    }
    result->estimates[parameter] = estimate_of(samples, n);
    result->given |= pcoll_parameter_bit(parameter);
}

/* ---- turn: two threads on one core take turns ---- */

struct handover {
    _Atomic int turn;
    int unit;
};

static void take_turns(struct handover *handover, bool mine)
{
    for (int i = 0; i < HANDOVERS; i++) {
        while (atomic_load_explicit(&handover->turn, memory_order_acquire) != mine)
            sched_yield();
        atomic_store_explicit(&handover->turn, !mine, memory_order_release);
    }
}

static void *other_thread(void *argument)
{
    struct handover *handover = argument;

    tune_sit(handover->unit);
    take_turns(handover, true);
    return NULL;
}

static double measure_turn(void *context)
{
    struct handover *handover = context;
    pthread_t thread;
    double begin;

    atomic_store(&handover->turn, 1); /* the other thread begins once it runs */
    if (pthread_create(&thread, NULL, other_thread, handover) != 0)
        return -1;
    while (atomic_load_explicit(&handover->turn, memory_order_acquire) != 0)
        sched_yield();
    begin = tune_now();
    take_turns(handover, false);
    begin = tune_now() - begin;
    pthread_join(thread, NULL);
    return begin / (2 * HANDOVERS - 1) * 1e6;
}

/* ---- copies and arithmetic ---- */

struct buffers {
    char *from, *to;
    MPI_Datatype strided; /* COPY_BYTES in every second block of BLOCK bytes */
};

static double measure_copy(void *context)
{
    const struct buffers *buffers = context;
    const double begin = tune_now();

    memcpy(buffers->to, buffers->from, COPY_BYTES);
    return (tune_now() - begin) / COPY_BYTES * 1e6;
}

static double measure_pack(void *context)
{
    const struct buffers *buffers = context;
    const double begin = tune_now();
    int position = 0;

    MPI_Pack(buffers->from, 1, buffers->strided, buffers->to, COPY_BYTES, &position, MPI_COMM_SELF);
    return (tune_now() - begin) / COPY_BYTES * 1e6;
}

static double measure_reduce(void *context)
{
    const struct buffers *buffers = context;
    const double begin = tune_now();

    MPI_Reduce_local(buffers->from, buffers->to, COPY_BYTES / (int)sizeof(double), MPI_DOUBLE,
                     MPI_SUM);
    return (tune_now() - begin) / COPY_BYTES * 1e6;
}

void tune_take(struct tune_result *result, enum pcoll_parameter parameter, double value)
{
    if (value <= 0)
        return;
    result->estimates[parameter] = (struct estimate){value, value, value, 1, 0};
    result->given |= pcoll_parameter_bit(parameter);
}

/* They are known, not measured. */
static void take_caches(struct tune_result *result)
{
    const struct pcoll_sysfs here = pcoll_sysfs_here();
    struct pcoll_machine known = {.L = 0};

    pcoll_caches_tell(&here.caches, &known);
    tune_take(result, PCOLL_PARAMETER_CACHE, known.cache);
    tune_take(result, PCOLL_PARAMETER_SHARE, known.share);
    tune_take(result, PCOLL_PARAMETER_OWN, known.own);
}

void tune_host(struct tune_result *result)
{
    struct handover handover = {.unit = sched_getcpu()};
    struct buffers buffers = {.from = calloc(2, COPY_BYTES), .to = calloc(1, COPY_BYTES)};

    take_caches(result);
    if (tune_sit(handover.unit))
        repeat(result, PCOLL_PARAMETER_TURN, measure_turn, &handover);
    if (buffers.from && buffers.to) {
        memset(buffers.from, 1, 2 * COPY_BYTES); /* otherwise all of it is one page of zeros */
        MPI_Type_vector(COPY_BYTES / BLOCK, BLOCK, 2 * BLOCK, MPI_BYTE, &buffers.strided);
        MPI_Type_commit(&buffers.strided);
        repeat(result, PCOLL_PARAMETER_COPY, measure_copy, &buffers);
        repeat(result, PCOLL_PARAMETER_KEPT, measure_copy, &buffers);
        repeat(result, PCOLL_PARAMETER_PACK, measure_pack, &buffers);
        repeat(result, PCOLL_PARAMETER_REDUCE, measure_reduce, &buffers);
        MPI_Type_free(&buffers.strided);
    }
    tune_sit_anywhere();
    free(buffers.from);
    free(buffers.to);
}

/* ---- registration ---- */

struct registrar {
    struct pcoll_wire_endpoint *endpoint;
    const struct pcoll_bootstrap *bootstrap;
};

/* Registers memory that the network has not seen; in us, or negative. */
static double register_once(const struct registrar *registrar, size_t bytes)
{
    const struct pcoll_wire *wire = registrar->endpoint->wire;
    struct pcoll_wire_region region = {0};
    char *memory = malloc(bytes);
    enum pcoll_result result = PCOLL_ERR_NOMEM;
    double begin, end;

    if (memory)
        memset(memory, 1, bytes);
    begin = tune_now();
    if (memory)
        result = wire->map(registrar->endpoint, registrar->bootstrap, "test memory", memory, bytes,
                           &region);
    end = tune_now();
    wire->unmap(registrar->endpoint, &region);
    free(memory);
    return result == PCOLL_OK ? (end - begin) * 1e6 : -1;
}

static double measure_register(void *context)
{
    return register_once(context, SHORT_REGION);
}

static double measure_pin(void *context)
{
    const double less = register_once(context, SHORT_REGION);
    const double more = register_once(context, LONG_REGION);

    if (less < 0 || more < 0)
        return -1;
    return more > less ? (more - less) / (double)(LONG_REGION - SHORT_REGION) : 0;
}

static void ignore_event(struct pcoll_wire_request *request, const char *error)
{
    (void)request;
    (void)error;
}

/* "tcp;ofi_rxm (eth0)" without the interface. */
static void name_provider(const struct pcoll_wire_endpoint *endpoint,
                          char provider[PCOLL_IDENTITY_BYTES])
{
    char text[200], *end;

    endpoint->wire->describe(endpoint, text, sizeof(text));
    end = strstr(text, " (");
    if (end)
        *end = '\0';
    pcoll_identity_text(provider, text);
}

void tune_network(MPI_Comm *comm, const struct pcoll_medium *medium,
                  const struct tune_options *options, struct tune_result *result,
                  char provider[PCOLL_IDENTITY_BYTES])
{
    const struct pcoll_bootstrap bootstrap = tune_bootstrap(comm, options);
    const struct pcoll_wire *wire = pcoll_media_wire(medium);
    const struct pcoll_wire_options wanted = {
        .provider = options->provider, .interface = options->interface, .event = ignore_event};
    struct registrar registrar = {.bootstrap = &bootstrap};

    if (!wire || wire->open(&wanted, &bootstrap, &registrar.endpoint) != PCOLL_OK)
        return;
    if (strcmp(medium->library, "libfabric") == 0)
        name_provider(registrar.endpoint, provider);
    repeat(result, PCOLL_PARAMETER_REGISTER, measure_register, &registrar);
    repeat(result, PCOLL_PARAMETER_PIN, measure_pin, &registrar);
    wire->close(registrar.endpoint);
}
