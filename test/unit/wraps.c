/* The contract is in wraps.h. */
#include "test/unit/wraps.h"

#include <assert.h>

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nlocal,
                                const struct iovec *remote, unsigned long nremote,
                                unsigned long flags)
{
    assert(nlocal == 1 && nremote == 1 && flags == 0);
    return vm_copy(__real_process_vm_readv, pid, local, remote);
}

ssize_t __wrap_process_vm_writev(pid_t pid, const struct iovec *local, unsigned long nlocal,
                                 const struct iovec *remote, unsigned long nremote,
                                 unsigned long flags)
{
    assert(nlocal == 1 && nremote == 1 && flags == 0);
    return vm_copy(__real_process_vm_writev, pid, local, remote);
}
