/*
 * The wire over UCX: messages that come in another order than they were sent; and long puts, whose
 * events must not come before their data. Shared memory that UCX has allocated, under the protocols
 * of later versions (UCX_PROTO_ENABLE), is where a flag that is put without waiting overtakes its
 * data: how often, a comment says.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "offload/ucx_rma/state.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"

#define BYTES ((size_t)PCOLL_UCX_MESSAGE_TCP + (64 << 10)) /* a put that is no active message */
#define WORDS (BYTES / sizeof(uint64_t))                   /* followed by a flag */
#define ROUNDS 60

/* ---- messages out of order ----------------------------------------------------------- */

enum { NMESSAGES = 5 };

static struct pcoll_ucx_peer peer_of_way;

/* What the messages write: each the first word, and one joined to a signal all of them, the third
 * one twice: its signal belongs where its data ends. */
struct words {
    uint64_t word[4];
};

static void write_words(struct words *words, uint64_t value, int joined)
{
    words->word[0] = value;
    if (joined) {
        words->word[1] = words->word[2] = value;
        words->word[3] = ~value;
    }
}

static void receive(struct pcoll_wire_way *way, struct words *words, uint32_t number, int joined)
{
    const uint64_t value = number + 1, signal[] = {value, ~value};
    uint64_t data[] = {value, value, 0};
    struct pcoll_ucx_header header = {.port = (uint64_t)(uintptr_t)way,
                                      .to = (uint64_t)(uintptr_t)&words->word[0],
                                      .number = number,
                                      .signal_to = (uint64_t)(uintptr_t)&words->word[2]};

    memcpy(header.signal, signal, sizeof(signal));
    pcoll_ucx_receive(NULL, &header, joined ? sizeof(header) : PCOLL_UCX_PLAIN_BYTES, data,
                      joined ? sizeof(data) : sizeof(data[0]), NULL);
}

/* The messages in the order of a permutation, those of the set `joined` with a signal: after each,
 * the words are what the messages wrote that all those before them had preceded. */
static int is_wrong_order(const int *order, unsigned joined)
{
    struct pcoll_wire_way way = {.peer = (uint64_t)(uintptr_t)&peer_of_way};
    struct words words = {{0}}, expected = {{0}};
    unsigned here = 0, next = 0;
    int wrong = 0;

    for (int i = 0; i < NMESSAGES; i++) {
        here |= 1u << order[i];
        receive(&way, &words, (uint32_t)order[i], joined >> order[i] & 1);
        for (; here >> next & 1; next++)
            write_words(&expected, next + 1, joined >> next & 1);
        wrong |= memcmp(&words, &expected, sizeof(words)) != 0;
    }
    return wrong || way.early != NULL || way.received != NMESSAGES;
}

static int count_wrong_orders(int *order, int n)
{
    int wrong = 0;

    if (n == NMESSAGES) {
        for (unsigned joined = 0; joined < 1u << NMESSAGES; joined++)
            wrong += is_wrong_order(order, joined);
        return wrong;
    }
    for (int i = n; i < NMESSAGES; i++) {
        const int other = order[i];

        order[i] = order[n];
        order[n] = other;
        wrong += count_wrong_orders(order, n + 1);
        order[n] = order[i];
        order[i] = other;
    }
    return wrong;
}

static void check_orders(void)
{
    int order[NMESSAGES];

    for (int i = 0; i < NMESSAGES; i++)
        order[i] = i;
    tap_ok(count_wrong_orders(order, 0) == 0,
           "%d messages in every order, each with and without a signal", NMESSAGES);
}

/* ---- data and flag ------------------------------------------------------------------- */

struct card {
    unsigned char name[1024], key[512];
    uint64_t port, block, answer;
};

/* Rank 0 writes to rank 1, which answers by a signal. */
struct side {
    struct attendee attendee;
    struct pcoll_bootstrap bootstrap;
    struct pcoll_wire_endpoint *endpoint;
    struct pcoll_wire_way way;
    struct card other; /* of the other rank */
    uint64_t key;
    ucp_mem_h memory;
    _Atomic uint64_t *block;
    _Atomic uint64_t answer;
};

static int events, failures;

static void on_event(struct pcoll_wire_request *request, const char *error)
{
    (void)request;
    events++;
    failures += error != NULL;
}

/* Memory that UCX has allocated and shares with other processes. */
static int allocate(struct side *s, struct card *own)
{
    const ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
        .length = BYTES + sizeof(uint64_t),
        .flags = UCP_MEM_MAP_ALLOCATE,
    };
    ucp_mem_attr_t attr = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
    ucp_context_h context = pcoll_ucx_endpoint_of(s->endpoint)->context;
    void *library = dlopen("libucp.so.0", RTLD_NOW);
    __typeof__(ucp_mem_query) *query;
    void *found = library ? dlsym(library, "ucp_mem_query") : NULL, *key;
    size_t bytes;
    uint32_t length;

    memcpy(&query, &found, sizeof(found));
    if (found == NULL || pcoll_ucx.ucp_mem_map(context, &params, &s->memory) != UCS_OK ||
        query(s->memory, &attr) != UCS_OK ||
        pcoll_ucx.ucp_rkey_pack(context, s->memory, &key, &bytes) != UCS_OK ||
        bytes + sizeof(length) > sizeof(own->key))
        return 1;
    length = (uint32_t)bytes;
    memcpy(own->key, &length, sizeof(length));
    memcpy(own->key + sizeof(length), key, bytes);
    pcoll_ucx.ucp_rkey_buffer_release(key);
    s->block = attr.address;
    return 0;
}

static int set_up(struct side *s)
{
    const struct pcoll_wire_options options = {.interface = "lo", .event = on_event};
    const int rank = !s->attendee.rank;
    struct card own;

    memset(&own, 0, sizeof(own));
    if (pcoll_wire_ucx.open(&options, &s->bootstrap, &s->endpoint) != PCOLL_OK ||
        s->endpoint->name_bytes > sizeof(own.name) || allocate(s, &own))
        return 1;
    own.port = (uint64_t)(uintptr_t)&s->way;
    own.block = (uint64_t)(uintptr_t)s->block;
    own.answer = (uint64_t)(uintptr_t)&s->answer;
    pcoll_wire_ucx.write_name(s->endpoint, own.name);
    if (s->bootstrap.swap(s->bootstrap.context, &rank, 1, &own, &s->other, sizeof(own)) != PCOLL_OK)
        return 1;
    s->way.port = s->other.port;
    return pcoll_wire_ucx.connect(s->endpoint, &s->bootstrap, s->other.name, &s->way) != PCOLL_OK ||
           pcoll_wire_ucx.take_key(&s->way, &s->bootstrap, s->other.key, &s->key) != PCOLL_OK;
}

static void poll_once(struct side *s)
{
    pcoll_wire_ucx.poll(s->endpoint);
    sched_yield();
}

static void wait_for(struct side *s, _Atomic uint64_t *word, uint64_t value)
{
    while (atomic_load(word) != value && failures == 0)
        poll_once(s);
}

static int answer(struct side *s, uint64_t value)
{
    struct pcoll_wire_request request;
    const struct pcoll_wire_transfer transfer = {
        .local = &value, .bytes = sizeof(value), .remote = s->other.answer};
    const int before = events;
    const char *why;

    if (pcoll_wire_ucx.put_signal(&s->way, &request, &transfer, &why) != PCOLL_OK)
        return 1;
    while (!request.is_silent && events == before)
        poll_once(s);
    return 0;
}

/* Past the wire, which would send it as a message. */
static int put_flag(struct side *s, uint64_t value)
{
    static const ucp_request_param_t none;
    void *handle =
        pcoll_ucx.ucp_put_nbx(pcoll_ucx_peer_of(&s->way)->ep, &value, sizeof(value),
                              s->other.block + BYTES, (ucp_rkey_h)(uintptr_t)s->key, &none);

    if (UCS_PTR_IS_ERR(handle))
        return 1;
    while (handle != NULL && pcoll_ucx.ucp_request_check_status(handle) == UCS_INPROGRESS)
        poll_once(s);
    if (handle != NULL)
        pcoll_ucx.ucp_request_free(handle);
    return 0;
}

/* With or without waiting for the event before the flag. */
static int write_rounds(struct side *s, int first, int waits)
{
    uint64_t *data = malloc(BYTES);
    int wrong = data == NULL;

    for (int k = first; k < first + ROUNDS && !wrong; k++) {
        struct pcoll_wire_request request;
        const struct pcoll_wire_transfer transfer = {
            .local = data, .bytes = BYTES, .remote = s->other.block, .key = s->key};
        const int before = events;
        const char *why;

        for (size_t i = 0; i < WORDS; i++)
            data[i] = (uint64_t)k;
        wrong = pcoll_wire_ucx.put(&s->way, &request, &transfer, &why) != PCOLL_OK;
        while (waits && !wrong && events == before)
            poll_once(s);
        wrong = wrong || put_flag(s, (uint64_t)k);
        while (!wrong && events == before)
            poll_once(s);
        wait_for(s, &s->answer, (uint64_t)k);
    }
    free(data);
    return wrong;
}

/* The number of flags that came before their data. */
static int read_rounds(struct side *s, int first)
{
    int early = 0;

    for (int k = first; k < first + ROUNDS; k++) {
        int is_early = 0;

        wait_for(s, &s->block[WORDS], (uint64_t)k);
        for (size_t i = 0; i < WORDS; i++)
            is_early |= s->block[i] != (uint64_t)k;
        early += is_early;
        answer(s, (uint64_t)k);
    }
    return early;
}

static int rank_main(struct meeting *meeting, int rank, void *nothing)
{
    struct side s = {.attendee = {.meeting = meeting, .rank = rank}};
    int wrong;

    (void)nothing;
    s.bootstrap = meeting_bootstrap(&s.attendee);
    if (set_up(&s))
        return 1;
    meeting_on_wait = pcoll_wire_ucx.poll_all;
    if (rank == 0) {
        wrong = write_rounds(&s, 1, 1) || write_rounds(&s, 1 + ROUNDS, 0);
    } else {
        wrong = read_rounds(&s, 1) != 0;
        printf("# without waiting, %d of %d flags overtake their data\n",
               read_rounds(&s, 1 + ROUNDS), ROUNDS);
        fflush(stdout);
    }
    meeting_barrier(meeting);
    pcoll_wire_ucx.drop_key(s.key);
    pcoll_ucx.ucp_mem_unmap(pcoll_ucx_endpoint_of(s.endpoint)->context, s.memory);
    pcoll_wire_ucx.disconnect(&s.way);
    meeting_on_wait = NULL;
    meeting_barrier(meeting);
    pcoll_wire_ucx.close(s.endpoint);
    return wrong || failures > 0;
}

static void check_transports(const char *transports)
{
    setenv("UCX_TLS", transports, 1);
    tap_ok(meeting_run_processes(2, rank_main, NULL) == 0, "data before its flag, %s", transports);
}

int main(void)
{
    setenv("UCX_LOG_LEVEL", "fatal", 0);
    check_orders();
    check_transports("tcp");
    setenv("UCX_PROTO_ENABLE", "y", 1);
    check_transports("tcp");
    check_transports("posix,cma,self");
    check_transports("posix,sysv,cma,self,tcp");
    return tap_done();
}
