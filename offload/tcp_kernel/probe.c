/* The probe of io_uring: by doing, since a sysctl, a seccomp filter or a limit may refuse it, and
 * since older kernels have the calls but not their present meaning. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "offload/tcp_kernel/state.h"

#define DISABLED "/proc/sys/kernel/io_uring_disabled"

/* 0, 1: only a group of users may; 2: nobody may. */
static int read_disabled(void)
{
    FILE *file = fopen(DISABLED, "re");
    int value = 0;

    if (file) {
        if (fscanf(file, "%d", &value) != 1)
            value = 0;
        fclose(file);
    }
    return value;
}

static const char *reason_of(int error)
{
    switch (error) {
        case ENOSYS:
            return "; the kernel lacks it, or a seccomp filter refuses it";
        case EPERM:
        case EACCES:
            return read_disabled() > 0 ? "; the sysctl kernel.io_uring_disabled is set"
                                       : "; a seccomp filter, as containers have, refuses it";
        case ENOMEM:
            return "; memory, or RLIMIT_MEMLOCK of old kernels, is short";
        case EMFILE:
        case ENFILE:
            return "; RLIMIT_NOFILE is too low";
        default:
            return "";
    }
}

/* What the medium relies on: no completion is lost, a wait has a timeout of its own, sockets are
 * waited for without a thread. */
#define FEATURES (IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG | IORING_FEAT_FAST_POLL)

enum pcoll_result pcoll_tcp_ring(const struct pcoll_bootstrap *bootstrap, unsigned entries,
                                 struct io_uring *ring)
{
    struct io_uring_params params = {.flags = IORING_SETUP_CLAMP};
    int error = -io_uring_queue_init_params(entries, ring, &params);

    if (error == 0 && (params.features & FEATURES) != FEATURES) {
        io_uring_queue_exit(ring);
        pcoll_tcp_report(bootstrap, "the kernel's io_uring is too old; Linux 6.0 is needed");
        return PCOLL_UNSUPPORTED;
    }
    if (error == 0) {
        error = -io_uring_ring_dontfork(ring);
        if (error != 0)
            io_uring_queue_exit(ring);
    }
    if (error == 0)
        return PCOLL_OK;
    pcoll_tcp_report(bootstrap, "io_uring_setup: %s%s", strerror(error), reason_of(error));
    return PCOLL_UNSUPPORTED;
}

enum { WORD = 8, HALF = WORD / 2, PATIENCE_SECONDS = 5 };

/* A chain from one pair of sockets to another: what is written to `in[1]` comes out at `out[1]`. */
struct probe {
    struct io_uring ring;
    int in[2], out[2];
    char word[WORD];
};

static int submit(struct probe *p)
{
    struct io_uring_sqe *recv_sqe = io_uring_get_sqe(&p->ring);
    struct io_uring_sqe *send_sqe = io_uring_get_sqe(&p->ring);

    io_uring_prep_recv(recv_sqe, p->in[0], p->word, WORD, MSG_WAITALL);
    recv_sqe->flags |= IOSQE_IO_LINK;
    io_uring_prep_send(send_sqe, p->out[0], p->word, WORD, MSG_WAITALL | MSG_NOSIGNAL);
    return io_uring_submit(&p->ring) == 2;
}

/* Returns whether the chain has ended, both actions with all bytes. */
static bool is_complete(struct probe *p)
{
    struct __kernel_timespec timeout = {.tv_sec = PATIENCE_SECONDS};
    struct io_uring_cqe *cqe;
    bool complete = true;

    for (int i = 0; i < 2; i++) {
        if (io_uring_wait_cqe_timeout(&p->ring, &cqe, &timeout) != 0)
            return false;
        complete = complete && cqe->res == WORD;
        io_uring_cqe_seen(&p->ring, cqe);
    }
    return complete;
}

/* NULL, or what the kernel cannot do. Half a word must not end the receive. */
static const char *try_chain(struct probe *p)
{
    static const char word[WORD] = "in order";
    char got[WORD];

    if (!submit(p))
        return "it takes no chain";
    if (write(p->in[1], word, HALF) != HALF || recv(p->out[1], got, WORD, MSG_DONTWAIT) >= 0 ||
        io_uring_cq_ready(&p->ring) > 0)
        return "a chain does not wait for all its bytes";
    if (write(p->in[1], word + HALF, WORD - HALF) != WORD - HALF || !is_complete(p))
        return "a chain does not end";
    if (recv(p->out[1], got, WORD, MSG_DONTWAIT) != WORD || memcmp(got, word, WORD) != 0)
        return "a chain loses bytes";
    return NULL;
}

static bool open_pairs(struct probe *p)
{
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->in) == 0 &&
           socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->out) == 0;
}

static void close_pairs(const struct probe *p)
{
    const int sockets[] = {p->in[0], p->in[1], p->out[0], p->out[1]};

    for (int i = 0; i < 4; i++)
        if (sockets[i] >= 0)
            close(sockets[i]);
}

enum pcoll_result pcoll_tcp_probe(const struct pcoll_bootstrap *bootstrap)
{
    struct probe p = {.in = {-1, -1}, .out = {-1, -1}};
    const char *lack;
    enum pcoll_result result = pcoll_tcp_ring(bootstrap, 2, &p.ring);

    if (result != PCOLL_OK)
        return result;
    lack = open_pairs(&p) ? try_chain(&p) : "the process can open no sockets";
    close_pairs(&p);
    io_uring_queue_exit(&p.ring);
    if (lack == NULL)
        return PCOLL_OK;
    pcoll_tcp_report(bootstrap, "the kernel's io_uring does not run plans: %s", lack);
    return PCOLL_UNSUPPORTED;
}
