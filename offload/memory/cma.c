/* Cross-memory attach: copies between processes without an intermediate buffer. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for process_vm_readv */
#endif

#include "offload/memory/cma.h"

#include <errno.h>
#include <stdint.h>
#include <sys/uio.h>

typedef ssize_t vm_call(pid_t, const struct iovec *, unsigned long, const struct iovec *,
                        unsigned long, unsigned long);

/* The kernel moves at most 2 GiB per call and may stop early. */
static int move(vm_call *call, pid_t pid, char *here, char *there, size_t bytes)
{
    while (bytes > 0) {
        struct iovec local = {here, bytes}, remote = {there, bytes};
        ssize_t moved = call(pid, &local, 1, &remote, 1, 0);

        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return moved < 0 ? errno : EFAULT;
        here += moved;
        there += moved;
        bytes -= (size_t)moved;
    }
    return 0;
}

int pcoll_cma_read(pid_t pid, void *to, const void *from, size_t bytes)
{
    return move(process_vm_readv, pid, to, (char *)(uintptr_t)from, bytes);
}

int pcoll_cma_write(pid_t pid, void *to, const void *from, size_t bytes)
{
    return move(process_vm_writev, pid, (char *)(uintptr_t)from, to, bytes);
}
