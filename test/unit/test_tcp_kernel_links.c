/*
 * The connections of the medium that lets Linux run the plan: strangers are turned away, and how
 * neighbors are connected.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "offload/tcp_kernel/state.h"
#include "test/unit/net_rank.h"
#include "test/unit/tap.h"

/* What net_shared holds beside starts: the number of strangers over TCP and over local sockets, and
 * whether that is enough. */
enum { VISITS = MEETING_MAX_RANKS, CALLS, ENDED };

/* --- strangers --- */

enum { ENOUGH = 100, LINGERERS = 32 };

/* Returns whether this is a socket of this process that listens, and where. */
static int is_listening(int fd, struct tcp_address *here)
{
    socklen_t size = sizeof(int);
    int listens = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens)
        return 0;
    here->length = sizeof(here->name);
    return getsockname(fd, (struct sockaddr *)&here->name, &here->length) == 0;
}

/* Connect, and show nothing, half a key, a wrong one, or much; then close, or linger. */
static void visit(const struct tcp_address *there, unsigned n, int lingerers[LINGERERS])
{
    static const size_t lengths[] = {0, TCP_KEY_BYTES / 2, TCP_KEY_BYTES, 5000};
    static const char key[5000];
    const size_t length = lengths[n % 4];
    const int fd = socket(there->name.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int *place = &lingerers[n % LINGERERS];

    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)&there->name, there->length) == 0 ||
        errno == EINPROGRESS) {
        usleep(100);
        if (send(fd, key, length, MSG_NOSIGNAL) == (ssize_t)length)
            atomic_fetch_add(&net_shared[there->name.ss_family == AF_UNIX ? CALLS : VISITS], 1);
    }
    if (*place >= 0)
        close(*place);
    *place = n / 4 % 2 ? -1 : fd;
    if (*place < 0)
        close(fd);
}

/* A thread that knocks at the doors of its own process; half of its sockets stay connected for
 * some time. */
static void *let_strangers_in(void *over)
{
    int lingerers[LINGERERS];
    unsigned n = 0;

    for (int i = 0; i < LINGERERS; i++)
        lingerers[i] = -1;
    while (!atomic_load((_Atomic int *)over)) {
        for (int at = 0; at < 256; at++) {
            struct tcp_address here;

            if (is_listening(at, &here))
                visit(&here, n++, lingerers);
        }
        usleep(50);
    }
    for (int i = 0; i < LINGERERS; i++)
        if (lingerers[i] >= 0)
            close(lingerers[i]);
    return NULL;
}

/* Bind again and again while strangers knock, until enough have come. */
static int exercise_visited(struct part *p, struct net_rank *self, const struct net_play *play)
{
    _Atomic int over = 0;
    pthread_t strangers;

    (void)play;
    if (pthread_create(&strangers, NULL, let_strangers_in, &over) != 0)
        return 1;
    do {
        if (part_bind(p) != PCOLL_OK || part_run(p, 3))
            exit(1);
        part_unbind(p);
        meeting_barrier(self->meeting);
        if (p->rank == 0)
            atomic_store(&net_shared[ENDED],
                         net_shared[VISITS] >= ENOUGH && net_shared[CALLS] >= ENOUGH);
        meeting_barrier(self->meeting);
    } while (!atomic_load(&net_shared[ENDED]));
    atomic_store(&over, 1);
    pthread_join(strangers, NULL);
    return 0;
}

/* No key serves two neighbors. */
static int is_key_shared(const struct tcp_bound *bound)
{
    int shared = 0;

    for (int n = 1; n < bound->nneighbors; n++)
        shared |= memcmp(bound->links[0].own, bound->links[n].own, TCP_KEY_BYTES) == 0;
    return shared;
}

/* Where the system's choice does not pace, this shows nothing. */
static int is_paced(const struct tcp_bound *bound)
{
    int paced = 0;

    for (int n = 0; n < bound->nneighbors; n++) {
        char name[16] = "";
        socklen_t length = sizeof(name) - 1;

        paced |= getsockopt(bound->links[n].socket, IPPROTO_TCP, TCP_CONGESTION, name, &length) ||
                 strncmp(name, "bbr", 3) == 0;
    }
    return paced;
}

/* Returns whether a bound plan has a fault. */
typedef int (*inspection)(const struct tcp_bound *bound);

static int exercise_inspected(struct part *p, struct net_rank *self, const struct net_play *play)
{
    const inspection *has_fault = play->setup;

    (void)self;
    return part_bind(p) != PCOLL_OK || (*has_fault)(tcp_bound_of(p->bound)) || part_run(p, 3);
}

static void inspect(int nranks, int (*rank_main)(struct meeting *, int rank, void *argument),
                    inspection has_fault, const char *what)
{
    struct net_play play = {net_long_chain(), exercise_inspected, &has_fault};

    tap_ok(meeting_run_processes(nranks, rank_main, &play) == 0, "%s", what);
}

static void check_strangers(void)
{
    struct net_play visited = {net_long_chain(), exercise_visited, NULL};

    atomic_store(&net_shared[VISITS], 0);
    atomic_store(&net_shared[CALLS], 0);
    tap_ok(meeting_run_processes(4, net_rank_main, &visited) == 0, "strangers are turned away");
    tap_ok(net_shared[VISITS] >= ENOUGH && net_shared[CALLS] >= ENOUGH,
           "%d strangers came over TCP, %d over local sockets", (int)net_shared[VISITS],
           (int)net_shared[CALLS]);
    inspect(4, net_rank_main, is_key_shared, "each neighbor has its own key");
    net_node_ranks = 1;
    inspect(4, net_rank_main, is_paced, "no timer paces a connection");
    net_node_ranks = 0;
}

/* --- how neighbors are connected --- */

static int family_of(const struct tcp_link *link)
{
    struct sockaddr_storage name = {0};
    socklen_t length = sizeof(name);

    return getsockname(link->socket, (struct sockaddr *)&name, &length) == 0 ? name.ss_family : 0;
}

/* The nodes are {0, 1} and {2, 3}; a start moves no more bytes than a local socket may. */
static int is_family_wrong(const struct tcp_bound *bound)
{
    int wrong = 0;

    for (int n = 0; n < bound->nneighbors; n++) {
        const int near = bound->plan->rank / 2 == bound->plan->neighbors[n] / 2;

        wrong |= family_of(&bound->links[n]) != (near ? AF_UNIX : AF_INET);
    }
    return wrong;
}

/* Room for two pieces. */
static int is_room_short(const struct tcp_bound *bound)
{
    int wrong = 0;

    for (int n = 0; n < bound->nneighbors; n++) {
        socklen_t size = sizeof(int);
        int room = 0;

        getsockopt(bound->links[n].socket, SOL_SOCKET, SO_SNDBUF, &room, &size);
        wrong |= (size_t)room < 2 * pcoll_tcp_kernel_settings.piece;
    }
    return wrong;
}

static int is_local(const struct tcp_bound *bound)
{
    int some = 0;

    for (int n = 0; n < bound->nneighbors; n++)
        some |= family_of(&bound->links[n]) != AF_INET;
    return some;
}

/* From now on this process cannot connect to the address of a local socket, as if that belonged to
 * another namespace. */
static int forbid_local(void)
{
    const unsigned bytes = sizeof(sa_family_t) + 6; /* a zero and five digits */
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bytes, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ECONNREFUSED),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

static int run_refused_locally(struct meeting *meeting, int rank, void *play)
{
    return forbid_local() || net_rank_main(meeting, rank, play);
}

/* Rank 1 has no local sockets: none of 3 ranks in a chain can use them. */
static int run_one_without(struct meeting *meeting, int rank, void *play)
{
    if (rank == 1)
        pcoll_tcp_kernel_settings.local = 0;
    return net_rank_main(meeting, rank, play);
}

static void check_ways(void)
{
    net_node_ranks = 2;
    inspect(4, net_rank_main, is_family_wrong,
            "neighbors on one node have a local socket, others TCP");
    inspect(4, net_rank_main, is_room_short, "each connection has room for two pieces");
    net_node_ranks = 0;
    pcoll_tcp_kernel_settings.local = net_long_chain().bytes - 1;
    inspect(4, net_rank_main, is_local, "much data on one node: TCP");
    pcoll_tcp_kernel_settings.local = net_long_chain().bytes;
    inspect(4, run_refused_locally, is_local, "local sockets that nobody reaches: TCP");
    inspect(3, run_one_without, is_local, "one rank has no local sockets: TCP");
}

int main(void)
{
    struct meeting *page = meeting_create(0); /* any shared page will do */

    net_medium = &pcoll_medium_tcp_kernel;
    net_shared = (_Atomic int *)(void *)page;
    if (!net_is_available())
        return tap_done();
    pcoll_tcp_kernel_settings.local = net_long_chain().bytes;
    check_strangers();
    check_ways();
    meeting_destroy(page);
    return tap_done();
}
