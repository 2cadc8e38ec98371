/*
 * The libfabric endpoint: processes that write to each other, and the messages for wrong hints.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "offload/interfaces.h"
#include "offload/ofi/endpoint.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"

#define WRITES 200

struct card {
    struct pcoll_ofi_name name;
    uint64_t key, base;
};

/* The state of a rank; rank r writes words[r]. */
struct trigger_rank {
    struct meeting *meeting;
    struct pcoll_bootstrap bootstrap;
    struct pcoll_ofi_endpoint *endpoint;
    struct pcoll_ofi_region region;
    struct card cards[MEETING_MAX_RANKS];
    fi_addr_t peers[MEETING_MAX_RANKS];
    volatile uint64_t words[MEETING_MAX_RANKS];
    uint64_t sources[MEETING_MAX_RANKS];
};

static int completions, errors;

static void on_event(void *context, const char *error)
{
    (void)context;
    completions++;
    errors += error != NULL;
    if (error != NULL)
        printf("# event: %s\n", error);
}

/* Nobody guesses a key of 8 bytes, if the provider leaves it to the library. */
static int has_random_key(const struct trigger_rank *p)
{
    const struct fi_domain_attr *domain = p->endpoint->info->domain_attr;

    return domain->mr_mode & FI_MR_PROV_KEY || domain->mr_key_size < sizeof(uint64_t) ||
           p->region.key > UINT32_MAX;
}

static int connect_ranks(struct trigger_rank *p)
{
    int n = p->bootstrap.nranks;
    struct card own;

    if (pcoll_ofi_register(p->endpoint, &p->bootstrap, "words", p, sizeof(*p), NULL, &p->region) !=
            PCOLL_OK ||
        !has_random_key(p))
        return 1;
    memset(&own, 0, sizeof(own));
    own.name = p->endpoint->name;
    own.key = p->region.key;
    own.base = p->region.base;
    meeting_allgather(p->bootstrap.context, &own, p->cards, sizeof(own));
    for (int r = 0; r < n; r++) {
        fi_addr_t again;

        if (pcoll_ofi_peer(p->endpoint, &p->bootstrap, &p->cards[r].name, &p->peers[r]) ||
            pcoll_ofi_peer(p->endpoint, &p->bootstrap, &p->cards[r].name, &again) ||
            again != p->peers[r])
            return 1;
    }
    return 0;
}

static int write_word(struct trigger_rank *p, int peer, uint64_t value)
{
    size_t offset = offsetof(struct trigger_rank, words) + (size_t)p->bootstrap.rank * 8;
    struct iovec iov = {&p->sources[peer], 8};
    struct fi_rma_iov remote = {p->cards[peer].base + offset, 8, p->cards[peer].key};
    struct fi_msg_rma message = {.msg_iov = &iov,
                                 .desc = &p->region.desc,
                                 .iov_count = 1,
                                 .addr = p->peers[peer],
                                 .rma_iov = &remote,
                                 .rma_iov_count = 1,
                                 .context = p};
    ssize_t error;

    p->sources[peer] = value;
    do {
        pcoll_ofi_poll(p->endpoint);
        error = fi_writemsg(p->endpoint->ep, &message, FI_COMPLETION);
    } while (error == -FI_EAGAIN);
    return error != 0;
}

/* Every rank writes to every rank, then waits for all words and all completions. */
static int write_round(struct trigger_rank *p, uint64_t value)
{
    int n = p->bootstrap.nranks, expected = completions + n - 1, arrived = 0, wrong = 0;

    for (int i = 1; i < n; i++)
        wrong |= write_word(p, (p->bootstrap.rank + i) % n, value);
    while (!wrong && (arrived < n - 1 || completions < expected)) {
        if (pcoll_ofi_poll(p->endpoint) == 0)
            sched_yield();
        arrived = 0;
        for (int r = 0; r < n; r++)
            arrived += r != p->bootstrap.rank && p->words[r] >= value;
    }
    return wrong;
}

static int rank_main(struct meeting *meeting, int rank, void *argument)
{
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct trigger_rank *p = calloc(1, sizeof(*p));
    struct pcoll_ofi_endpoint *again = NULL;
    int wrong = 1;

    if (p == NULL)
        return 1;
    p->bootstrap = meeting_bootstrap(&attendee);
    if (pcoll_ofi_open(argument, &p->bootstrap, &p->endpoint) == PCOLL_OK &&
        pcoll_ofi_open(argument, &p->bootstrap, &again) == PCOLL_OK && again == p->endpoint)
        wrong = connect_ranks(p);
    pcoll_ofi_close(again);
    for (uint64_t i = 1; i <= WRITES && !wrong; i++)
        wrong = write_round(p, i);
    meeting_barrier(meeting);
    pcoll_ofi_unregister(&p->region);
    pcoll_ofi_close(p->endpoint);
    free(p);
    return wrong || errors > 0;
}

static void check_writes(const char *provider, const char *interface, enum fi_progress progress)
{
    struct pcoll_ofi_options options = {
        .provider = provider, .interface = interface, .progress = progress, .event = on_event};

    for (int n = 1; n <= 4; n += 1 + (n == 2))
        tap_ok(meeting_run_processes(n, rank_main, &options) == 0, "%d ranks write, %s on %s, %s",
               n, provider ? provider : "default", interface ? interface : "default",
               progress == FI_PROGRESS_AUTO ? "automatic progress" : "polling");
}

static char told[400];

static void remember(void *context, const char *message)
{
    (void)context;
    snprintf(told, sizeof(told), "%s", message);
    printf("# %s\n", message);
}

static int refusal_main(struct meeting *meeting, int rank, void *argument)
{
    struct pcoll_bootstrap bootstrap = {.nranks = 1, .report = remember};
    struct pcoll_ofi_endpoint *endpoint;
    struct pcoll_ofi_options *options = argument;
    const char *culprit = options->interface ? options->interface : options->provider;

    (void)meeting;
    (void)rank;
    if (culprit == NULL)
        culprit = getenv("FI_PROVIDER");
    return pcoll_ofi_open(options, &bootstrap, &endpoint) != PCOLL_ERR_INVALID ||
           strstr(told, culprit) == NULL;
}

/* Runs in a process of its own, since libfabric reads the environment only once. */
static void check_refusal(const char *what, struct pcoll_ofi_options options)
{
    options.event = on_event;
    tap_ok(meeting_run_processes(1, refusal_main, &options) == 0, "%s is named", what);
}

static void check_environment(void)
{
    setenv("FI_PROVIDER", "nonsense", 1);
    check_refusal("a wrong FI_PROVIDER", (struct pcoll_ofi_options){.provider = NULL});
    setenv("FI_PROVIDER", "sockets", 1);
    check_refusal("what FI_PROVIDER excludes",
                  (struct pcoll_ofi_options){.provider = "tcp;ofi_rxm"});
    setenv("FI_PROVIDER", "^ofi_rxd", 1);
    check_refusal("a provider without RMA", (struct pcoll_ofi_options){.provider = "udp"});
    unsetenv("FI_PROVIDER");
}

struct list {
    const char *text;
    int n;
    const char *last; /* the last name */
    const char *said; /* the report about the last flaw; "" if there is none */
};

static const struct list lists[] = {
    {NULL, 1, NULL, ""},
    {"lo", 1, "lo", ""},
    {"link1,link2,link3", 3, "link3", ""},
    {"a,,b", 2, "b", "interfaces 'a,,b': an empty name"},
    {"a,b,", 2, "b", "an empty name"},
    {"link1,b,link1", 2, "b", "'link1' is repeated"},
    {"a,b,c,d,e,f,g,h", 8, "h", ""},
    {"a,b,c,d,e,f,g,h,link9", 8, "h", "'link9' exceeds 8 names"},
    {",", 1, NULL, "no name is left"},
};

static void check_list(const struct list *list)
{
    struct pcoll_bootstrap bootstrap = {.interface = list->text, .report = remember};
    struct pcoll_interfaces taken;
    const char *last;
    int right;

    told[0] = '\0';
    right = pcoll_interfaces(&bootstrap, &taken) == PCOLL_OK && taken.n == list->n;
    last = right ? taken.names[taken.n - 1] : NULL;
    right = right && (last && list->last ? strcmp(last, list->last) == 0 : last == list->last) &&
            strstr(told, list->said) != NULL && (told[0] == '\0') == (list->said[0] == '\0');
    pcoll_interfaces_free(&taken);
    tap_ok(right, "list of interfaces: %s", list->text ? list->text : "none");
}

int main(void)
{
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        check_list(&lists[i]);
    check_writes("tcp;ofi_rxm", NULL, FI_PROGRESS_UNSPEC);
    check_writes("tcp;ofi_rxm", "lo", FI_PROGRESS_UNSPEC);
    check_writes("tcp;ofi_rxm", "127.0.0.1", FI_PROGRESS_UNSPEC);
    check_writes("sockets", NULL, FI_PROGRESS_UNSPEC);
    check_writes("sockets", "lo", FI_PROGRESS_AUTO);
    check_writes(NULL, NULL, FI_PROGRESS_UNSPEC);
    check_refusal("an unknown provider", (struct pcoll_ofi_options){.provider = "nonsense"});
    check_refusal("an unknown interface",
                  (struct pcoll_ofi_options){.provider = "sockets", .interface = "eth77"});
    check_refusal("missing triggers",
                  (struct pcoll_ofi_options){.provider = "tcp;ofi_rxm", .caps = FI_TRIGGER});
    check_environment();
    return tap_done();
}
