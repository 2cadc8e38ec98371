/*
 * Connections between the neighbors of a plan.
 *
 * Neighbors tell each other, by the bootstrap, where they listen and a random key. The lower rank
 * connects and shows the key that the other one has told it, and the other one answers with the key
 * of the first. Whoever shows anything else, or nothing for a while, is turned away. The listeners
 * exist only while the plan is being bound.
 *
 * Neighbors on one node that exchange little first try a local socket (unix(7)), at an abstract
 * address of the kernel's choice. It is reached within a network namespace only, so they compare
 * theirs. If that fails, they connect over TCP. So do those that exchange much: a local socket
 * holds 0.2 MB, TCP some MB, and each time that it is full its sender must be woken.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "algorithms/plan/topology.h"
#include "offload/tcp_kernel/state.h"
#include "offload/yield.h"

#define SECOND UINT64_C(1000000000)

enum { SPARE = 16, STRANGER_SECONDS = 3, POLL_MS = 1, RETRY_MS = 20 };

enum way { BY_TCP, BY_LOCAL, NWAYS };

/* What a rank tells a neighbor. */
struct card {
    struct tcp_address here[NWAYS]; /* length 0: it does not listen there */
    uint64_t network;               /* its network namespace; 0: unknown */
    unsigned char key[TCP_KEY_BYTES];
    bool has_failed; /* it will not connect */
};

/* A connection on which a key is awaited. */
struct visitor {
    int socket; /* -1: none */
    enum way way;
    bool is_connecting;
    size_t got;
    unsigned char key[TCP_KEY_BYTES];
    uint64_t since; /* when it came, or when this rank tries again */
};

struct tcp_reception {
    struct tcp_bound *b;
    int listeners[NWAYS]; /* -1: none */
    struct tcp_address here[NWAYS];
    uint64_t network;
    struct card *own, *theirs; /* [nneighbors] */
    struct visitor *visitors;  /* [nneighbors] that this rank connects to, then [nstrangers] */
    struct pollfd *polled;     /* [npolled]: listeners, then visitors in their order */
    int nneighbors, nstrangers, npolled;
    int missing;   /* links that still need a socket */
    int error;     /* of the last attempt to connect */
    bool is_short; /* the process can open no socket */
    int *spare;    /* [nneighbors]: file descriptors kept for those that connect to this rank */
};

/* ---- sockets ---- */

/* Room for two pieces on each connection (order.c); the kernel counts the memory that they take,
 * which may be twice their bytes. What accepts a TCP connection has the room of its listener; a
 * local socket does not. */
static bool has_room(int socket)
{
    const int wanted = 1 << 20;
    const size_t needed = 2 * pcoll_tcp_kernel_settings.piece;
    socklen_t length = sizeof(int);
    int given = 0;

    (void)setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &wanted, sizeof(wanted));
    return getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &given, &length) == 0 &&
           (size_t)given >= needed;
}

/* BBR sends each packet when a timer says so, and the timer interrupts the core that computes. Its
 * timers stay even if the algorithm changes later, so this is for sockets that are not connected;
 * those that a listener accepts have its algorithm. */
static void avoid_pacing(int socket)
{
    char name[16] = "";
    socklen_t length = sizeof(name) - 1;

    if (getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, &length) != 0 ||
        strncmp(name, "bbr", strlen("bbr")) != 0)
        return;
    if (setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "cubic", strlen("cubic")) != 0)
        (void)setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "reno", strlen("reno"));
}

/* Short messages leave at once, a host that has vanished is noticed, and no sysctl takes the room
 * away. */
static void settle(int socket)
{
    const int on = 1, idle = 30, interval = 10, count = 3, unlimited = -1;

    (void)setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unlimited, sizeof(unlimited));
    (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    (void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    (void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

/* An io_uring request on a socket that does not block would fail where it ought to wait. */
static bool let_block(int socket)
{
    const int flags = fcntl(socket, F_GETFL);

    return flags >= 0 && fcntl(socket, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

/* The next attempt is by TCP. */
static void discard(struct visitor *v)
{
    if (v->socket >= 0)
        close(v->socket);
    *v = (struct visitor){.socket = -1, .since = pcoll_now()};
}

static int open_socket(const struct tcp_reception *r, enum way way)
{
    const int family = way == BY_LOCAL ? AF_UNIX : r->b->group->address.name.ss_family;
    const int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const struct pcoll_bootstrap *boot = &r->b->group->base.bootstrap;

    if (fd < 0) {
        pcoll_tcp_report(boot, "no socket is left: %m%s",
                         errno == EMFILE ? "; RLIMIT_NOFILE is too low" : "");
        return -1;
    }
    if (way == BY_TCP)
        avoid_pacing(fd);
    if (has_room(fd))
        return fd;
    pcoll_tcp_report(boot,
                     "send buffers are too small; the sysctl net.core.wmem_max must be at "
                     "least %zu",
                     pcoll_tcp_kernel_settings.piece);
    close(fd);
    return -1;
}

/* ---- listeners, and cards ---- */

/* The lower rank of two neighbors connects. */
static bool connects_to(const struct tcp_reception *r, int n)
{
    return r->b->plan->neighbors[n] > r->b->plan->rank;
}

/* Returns whether the neighbor is on this node. */
static bool is_near(const struct tcp_reception *r, int n)
{
    const struct pcoll_topology *topology = r->b->group->base.bootstrap.topology;

    return pcoll_tcp_kernel_settings.local > 0 &&
           pcoll_topology_node(topology, r->b->plan->rank) ==
               pcoll_topology_node(topology, r->b->plan->neighbors[n]);
}

static uint64_t find_network(void)
{
    struct stat status;

    return stat("/proc/self/ns/net", &status) == 0 ? status.st_ino : 0;
}

/* Listen at `here`, whose port or name is of the kernel's choice. */
static enum pcoll_result listen_at(struct tcp_reception *r, enum way way, struct tcp_address here)
{
    const int fd = open_socket(r, way);

    r->listeners[way] = fd;
    if (fd < 0)
        return PCOLL_UNSUPPORTED;
    if (bind(fd, (struct sockaddr *)&here.name, here.length) == 0 &&
        listen(fd, r->nneighbors + SPARE) == 0) {
        here.length = sizeof(here.name);
        if (getsockname(fd, (struct sockaddr *)&here.name, &here.length) == 0) {
            r->here[way] = here;
            return PCOLL_OK;
        }
    }
    pcoll_tcp_report(&r->b->group->base.bootstrap, "this rank cannot listen on its address: %m");
    return PCOLL_UNSUPPORTED;
}

static enum pcoll_result listen_here(struct tcp_reception *r)
{
    const struct tcp_address unnamed = {.name.ss_family = AF_UNIX, .length = sizeof(sa_family_t)};
    enum pcoll_result result = listen_at(r, BY_TCP, r->b->group->address);
    bool awaits = false;

    for (int n = 0; n < r->nneighbors; n++)
        awaits = awaits || (is_near(r, n) && !connects_to(r, n));
    if (result == PCOLL_OK && awaits)
        result = listen_at(r, BY_LOCAL, unnamed);
    return result;
}

static enum pcoll_result make_keys(struct tcp_bound *b)
{
    for (int n = 0; n < b->nneighbors; n++)
        if (getrandom(b->links[n].own, TCP_KEY_BYTES, 0) != TCP_KEY_BYTES) {
            pcoll_tcp_report(&b->group->base.bootstrap, "the kernel gives no random key: %m");
            return PCOLL_UNSUPPORTED;
        }
    return PCOLL_OK;
}

/* Tell and hear addresses and keys. */
static enum pcoll_result swap_cards(struct tcp_reception *r, bool has_failed)
{
    const struct pcoll_bootstrap *boot = &r->b->group->base.bootstrap;
    struct tcp_link *links = r->b->links;
    enum pcoll_result result = PCOLL_OK;

    for (int n = 0; n < r->nneighbors; n++) {
        r->own[n] = (struct card){.network = r->network, .has_failed = has_failed};
        memcpy(r->own[n].here, r->here, sizeof(r->here));
        memcpy(r->own[n].key, links[n].own, TCP_KEY_BYTES);
    }
    if (r->nneighbors > 0)
        result = boot->swap(boot->context, r->b->plan->neighbors, r->nneighbors, r->own, r->theirs,
                            sizeof(*r->own));
    for (int n = 0; result == PCOLL_OK && n < r->nneighbors; n++)
        memcpy(links[n].theirs, r->theirs[n].key, TCP_KEY_BYTES);
    return result;
}

/* ---- keys on connections ---- */

static bool are_equal(const unsigned char *a, const unsigned char *b)
{
    unsigned char difference = 0;

    for (int i = 0; i < TCP_KEY_BYTES; i++)
        difference |= a[i] ^ b[i];
    return difference == 0;
}

static bool show(int socket, const unsigned char *key)
{
    return send(socket, key, TCP_KEY_BYTES, MSG_NOSIGNAL) == TCP_KEY_BYTES;
}

/* Read what is there, but nothing behind the key. Returns whether the key is complete; a visitor
 * that has gone is discarded. */
static bool read_key(struct visitor *v)
{
    const ssize_t n = recv(v->socket, v->key + v->got, TCP_KEY_BYTES - v->got, 0);

    if (n > 0)
        v->got += (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        discard(v);
    return v->socket >= 0 && v->got == TCP_KEY_BYTES;
}

/* The visitor is neighbor n. */
static void take(struct tcp_reception *r, struct visitor *v, int n)
{
    settle(v->socket);
    if (!let_block(v->socket)) {
        discard(v);
        return;
    }
    r->b->links[n].socket = v->socket;
    v->socket = -1;
    r->missing--;
}

/* ---- neighbors that this rank connects to ---- */

static bool is_missing(const struct tcp_reception *r, int n)
{
    return r->b->links[n].socket < 0 && !r->theirs[n].has_failed;
}

/* How many bytes a phase moves on each connection, on average. */
static void find_traffic(struct tcp_bound *b)
{
    for (int p = 0; p < b->nphases; p++)
        for (int i = 0; i < b->scripts[p].n; i++) {
            const struct tcp_action *action = &b->scripts[p].actions[i];

            if (tcp_is_kernels(action))
                b->links[action->neighbor].bytes += action->bytes / (size_t)b->nphases;
        }
}

static bool is_reached(const struct tcp_reception *r, int n, enum way way)
{
    return way == BY_TCP || (r->b->links[n].bytes <= pcoll_tcp_kernel_settings.local &&
                             r->theirs[n].here[way].length > 0 && r->network != 0 &&
                             r->theirs[n].network == r->network);
}

static void try_to_connect(struct tcp_reception *r, int n)
{
    const struct tcp_address *there;
    struct visitor *v = &r->visitors[n];

    if (!is_reached(r, n, v->way))
        discard(v);
    if (v->socket < 0)
        v->socket = open_socket(r, v->way);
    there = &r->theirs[n].here[v->way];
    v->is_connecting = true;
    r->is_short |= v->socket < 0;
    if (v->socket >= 0 &&
        connect(v->socket, (const struct sockaddr *)&there->name, there->length) &&
        errno != EINPROGRESS) {
        r->error = errno;
        discard(v);
    }
}

/* The connection exists, or not. */
static void see_connected(struct tcp_reception *r, int n)
{
    struct visitor *v = &r->visitors[n];
    socklen_t length = sizeof(int);
    int error = 0;

    if (getsockopt(v->socket, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    v->is_connecting = false;
    if (error == 0 && show(v->socket, r->b->links[n].theirs))
        return;
    r->error = error != 0 ? error : errno;
    discard(v);
}

static void see_neighbor(struct tcp_reception *r, int n)
{
    struct visitor *v = &r->visitors[n];

    if (v->is_connecting) {
        see_connected(r, n);
        return;
    }
    if (!read_key(v))
        return;
    if (are_equal(v->key, r->b->links[n].own))
        take(r, v, n);
    else
        discard(v);
}

/* ---- strangers, some of whom are neighbors ---- */

/* A place for one more: the oldest stranger goes if there is none. */
static struct visitor *free_place(struct tcp_reception *r)
{
    struct visitor *strangers = r->visitors + r->nneighbors;
    int at = 0;

    for (int i = 0; i < r->nstrangers && strangers[at].socket >= 0; i++)
        if (strangers[i].socket < 0 || strangers[i].since < strangers[at].since)
            at = i;
    discard(&strangers[at]);
    return &strangers[at];
}

/* The oldest stranger also goes if it may have taken the last file descriptor. */
static void discard_oldest(struct tcp_reception *r)
{
    struct visitor *oldest = NULL;

    for (int i = r->nneighbors; i < r->nneighbors + r->nstrangers; i++)
        if (r->visitors[i].socket >= 0 && (oldest == NULL || r->visitors[i].since < oldest->since))
            oldest = &r->visitors[i];
    if (oldest)
        discard(oldest);
}

/* Somebody is there, perhaps no longer. */
static void accept_one(struct tcp_reception *r, int listener)
{
    const int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd >= 0 && has_room(fd))
        free_place(r)->socket = fd;
    else if (fd >= 0)
        close(fd);
    else if (errno == EMFILE || errno == ENFILE)
        discard_oldest(r);
}

static void see_stranger(struct tcp_reception *r, struct visitor *v)
{
    struct tcp_link *links = r->b->links;

    if (!read_key(v))
        return;
    for (int n = 0; n < r->nneighbors; n++)
        if (!connects_to(r, n) && is_missing(r, n) && are_equal(v->key, links[n].own)) {
            if (show(v->socket, links[n].theirs))
                take(r, v, n);
            break;
        }
    if (v->socket >= 0)
        discard(v);
}

/* ---- all of them ---- */

static void begin_attempts(struct tcp_reception *r)
{
    const uint64_t now = pcoll_now();

    for (int n = 0; n < r->nneighbors; n++)
        if (connects_to(r, n) && is_missing(r, n) && r->visitors[n].socket < 0 &&
            now - r->visitors[n].since >= RETRY_MS * SECOND / 1000)
            try_to_connect(r, n);
    for (int i = r->nneighbors; i < r->nneighbors + r->nstrangers; i++)
        if (r->visitors[i].socket >= 0 && now - r->visitors[i].since >= STRANGER_SECONDS * SECOND)
            discard(&r->visitors[i]);
}

/* The list has open sockets only, as poll refuses one that is longer than RLIMIT_NOFILE. */
static void wait_for_events(struct tcp_reception *r)
{
    r->npolled = 0;
    for (int way = 0; way < NWAYS; way++)
        if (r->listeners[way] >= 0)
            r->polled[r->npolled++] = (struct pollfd){.fd = r->listeners[way], .events = POLLIN};
    for (int i = 0; i < r->nneighbors + r->nstrangers; i++)
        if (r->visitors[i].socket >= 0)
            r->polled[r->npolled++] =
                (struct pollfd){.fd = r->visitors[i].socket,
                                .events = r->visitors[i].is_connecting ? POLLOUT : POLLIN};
    (void)poll(r->polled, (nfds_t)r->npolled, POLL_MS);
}

static void see_events(struct tcp_reception *r)
{
    const int nlisteners = 1 + (r->listeners[BY_LOCAL] >= 0);
    int at = nlisteners;

    for (int i = 0; i < r->nneighbors + r->nstrangers; i++) {
        if (r->visitors[i].socket < 0 || r->polled[at++].revents == 0)
            continue;
        if (i < r->nneighbors)
            see_neighbor(r, i);
        else
            see_stranger(r, &r->visitors[i]);
    }
    for (int i = 0; i < nlisteners; i++)
        if (r->polled[i].revents != 0)
            accept_one(r, r->polled[i].fd);
}

static void report_missing(const struct tcp_reception *r)
{
    const struct tcp_bound *b = r->b;

    for (int n = 0; n < r->nneighbors; n++)
        if (is_missing(r, n)) {
            pcoll_tcp_report(&b->group->base.bootstrap, "no connection with rank %d in %u s%s%s",
                             b->plan->neighbors[n], pcoll_tcp_kernel_settings.seconds,
                             r->error ? ": " : "", r->error ? strerror(r->error) : "");
            return;
        }
}

static void close_spare(struct tcp_reception *r)
{
    for (int n = 0; n < r->nneighbors; n++)
        if (r->spare[n] >= 0) {
            close(r->spare[n]);
            r->spare[n] = -1;
        }
}

static enum pcoll_result connect_all(struct tcp_reception *r)
{
    const struct pcoll_bootstrap *boot = &r->b->group->base.bootstrap;
    const uint64_t end = pcoll_now() + pcoll_tcp_kernel_settings.seconds * SECOND;

    find_traffic(r->b);
    for (int n = 0; n < r->nneighbors; n++) {
        r->missing += is_missing(r, n);
        if (connects_to(r, n) && is_missing(r, n))
            try_to_connect(r, n);
    }
    close_spare(r);
    while (r->missing > 0 && !r->is_short && pcoll_now() < end) {
        begin_attempts(r);
        wait_for_events(r);
        see_events(r);
        boot->idle(boot->context);
    }
    if (r->missing == 0)
        return PCOLL_OK;
    if (!r->is_short)
        report_missing(r);
    return PCOLL_UNSUPPORTED;
}

enum pcoll_result pcoll_tcp_reception_meet(struct tcp_reception *r, enum pcoll_result mine)
{
    const enum pcoll_result result = swap_cards(r, mine != PCOLL_OK);

    if (mine != PCOLL_OK)
        return mine;
    return result == PCOLL_OK ? connect_all(r) : result;
}

/* ---- the beginning and the end ---- */

static bool get_tables(struct tcp_reception *r)
{
    const size_t n = (size_t)r->nneighbors + 1, all = n + (size_t)r->nstrangers + NWAYS;

    r->own = calloc(n, sizeof(*r->own));
    r->theirs = calloc(n, sizeof(*r->theirs));
    r->visitors = calloc(all, sizeof(*r->visitors));
    r->polled = calloc(all, sizeof(*r->polled));
    r->spare = calloc(n, sizeof(*r->spare));
    for (size_t i = 0; r->spare && i < n; i++)
        r->spare[i] = -1;
    for (size_t i = 0; r->visitors && i < all; i++)
        r->visitors[i].socket = -1;
    return r->own && r->theirs && r->visitors && r->polled && r->spare;
}

/* Open now what will be needed, so that a limit is met here and not in the midst of connecting. */
static enum pcoll_result open_sockets(struct tcp_reception *r)
{
    for (int n = 0; n < r->nneighbors; n++)
        if (connects_to(r, n)) {
            r->visitors[n].way = is_near(r, n) ? BY_LOCAL : BY_TCP;
            r->visitors[n].socket = open_socket(r, r->visitors[n].way);
            if (r->visitors[n].socket < 0)
                return PCOLL_UNSUPPORTED;
        } else {
            r->spare[n] = open_socket(r, BY_TCP);
            if (r->spare[n] < 0)
                return PCOLL_UNSUPPORTED;
        }
    return PCOLL_OK;
}

enum pcoll_result pcoll_tcp_reception_open(struct tcp_bound *b, struct tcp_reception **reception_p)
{
    struct tcp_reception *r = calloc(1, sizeof(*r));
    enum pcoll_result result;

    if (r == NULL)
        return PCOLL_ERR_NOMEM;
    *r = (struct tcp_reception){.b = b,
                                .listeners = {-1, -1},
                                .network = find_network(),
                                .nneighbors = b->nneighbors,
                                .nstrangers = b->nneighbors + SPARE};
    result = get_tables(r) ? listen_here(r) : PCOLL_ERR_NOMEM;
    if (result == PCOLL_OK)
        result = open_sockets(r);
    if (result == PCOLL_OK)
        result = make_keys(b);
    if (result == PCOLL_OK)
        *reception_p = r;
    else
        pcoll_tcp_reception_close(r);
    return result;
}

void pcoll_tcp_reception_close(struct tcp_reception *r)
{
    if (r == NULL)
        return;
    for (int i = 0; r->visitors && i < r->nneighbors + r->nstrangers; i++)
        if (r->visitors[i].socket >= 0)
            close(r->visitors[i].socket);
    for (int way = 0; way < NWAYS; way++)
        if (r->listeners[way] >= 0)
            close(r->listeners[way]);
    if (r->spare)
        close_spare(r);
    free(r->spare);
    free(r->own);
    free(r->theirs);
    free(r->visitors);
    free(r->polled);
    free(r);
}
