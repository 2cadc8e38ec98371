/* What fails on purpose; the contract is in shortage.h. */
#include "test/unit/shortage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <json-c/json.h>
#ifdef PCOLL_HAVE_LIBFABRIC
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#endif

#include "algorithms/plan/plan.h"

static int countdown = PCOLL_NONE, hit;

void shortage_begin(int n)
{
    countdown = n;
    hit = 0;
}

int shortage_end(void)
{
    countdown = PCOLL_NONE;
    return hit;
}

static int fails(void)
{
    if (countdown == PCOLL_NONE || countdown-- > 0)
        return 0;
    countdown = PCOLL_NONE;
    hit = 1;
    errno = ENOMEM;
    return 1;
}

/* ---- what is held -------------------------------------------------------------------- */

enum { MOST = 1 << 16 };

static void *held[MOST];
static int nheld;

static void *hold(void *block)
{
    if (block == NULL)
        return NULL;
    if (nheld == MOST)
        abort();
    held[nheld++] = block;
    return block;
}

/* What others have allocated is not there; what was allocated last is looked for first. */
static void let_go(const void *block)
{
    int i = nheld;

    while (i > 0 && held[i - 1] != block)
        i--;
    if (i > 0)
        held[i - 1] = held[--nheld];
}

int shortage_live(void)
{
    return nheld;
}

/* ---- the C library ------------------------------------------------------------------- */

#define WRAP(type, name, parameters)                                                               \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters

WRAP(void *, malloc, (size_t bytes))
{
    return fails() ? NULL : hold(__real_malloc(bytes));
}

WRAP(void *, calloc, (size_t n, size_t bytes))
{
    return fails() ? NULL : hold(__real_calloc(n, bytes));
}

WRAP(void *, realloc, (void *block, size_t bytes))
{
    void *moved = fails() ? NULL : __real_realloc(block, bytes);

    if (moved != NULL)
        let_go(block);
    return hold(moved);
}

WRAP(int, posix_memalign, (void **block, size_t alignment, size_t bytes))
{
    int error = fails() ? ENOMEM : __real_posix_memalign(block, alignment, bytes);

    if (error == 0)
        hold(*block);
    return error;
}

WRAP(void, free, (void *block))
{
    let_go(block);
    __real_free(block);
}

/* Not held: libfabric frees names that it was given. */
WRAP(char *, strdup, (const char *text))
{
    return fails() ? NULL : __real_strdup(text);
}

WRAP(FILE *, fdopen, (int fd, const char *mode))
{
    return fails() ? NULL : __real_fdopen(fd, mode);
}

WRAP(void *, mmap, (void *at, size_t bytes, int protection, int flags, int fd, off_t offset))
{
    void *mapped = fails() ? MAP_FAILED : __real_mmap(at, bytes, protection, flags, fd, offset);

    return mapped == MAP_FAILED ? mapped : hold(mapped);
}

WRAP(int, munmap, (void *at, size_t bytes))
{
    let_go(at);
    return __real_munmap(at, bytes);
}

WRAP(int, memfd_create, (const char *name, unsigned flags))
{
    return fails() ? -1 : __real_memfd_create(name, flags);
}

WRAP(int, shm_open, (const char *name, int flags, mode_t mode))
{
    return fails() ? -1 : __real_shm_open(name, flags, mode);
}

WRAP(int, posix_fallocate, (int fd, off_t offset, off_t bytes))
{
    return fails() ? ENOSPC : __real_posix_fallocate(fd, offset, bytes);
}

WRAP(ssize_t, process_vm_readv,
     (pid_t pid, const struct iovec *to, unsigned long nto, const struct iovec *from,
      unsigned long nfrom, unsigned long flags))
{
    return fails() ? -1 : __real_process_vm_readv(pid, to, nto, from, nfrom, flags);
}

WRAP(ssize_t, process_vm_writev,
     (pid_t pid, const struct iovec *from, unsigned long nfrom, const struct iovec *to,
      unsigned long nto, unsigned long flags))
{
    return fails() ? -1 : __real_process_vm_writev(pid, from, nfrom, to, nto, flags);
}

/* ---- json-c -------------------------------------------------------------------------- */

WRAP(struct json_tokener *, json_tokener_new_ex, (int depth))
{
    return fails() ? NULL : __real_json_tokener_new_ex(depth);
}

/* ---- libfabric, by one provider in a process ----------------------------------------- */

#ifdef PCOLL_HAVE_LIBFABRIC

static struct fi_ops_fabric *fabric_ops, scarce_fabric;
static struct fi_ops_domain *domain_ops, scarce_domain;
static struct fi_ops_mr *mr_ops, scarce_mr;
static struct fi_ops_av *av_ops, scarce_av;

static int av_insert(struct fid_av *av, const void *name, size_t count, fi_addr_t *address,
                     uint64_t flags, void *context)
{
    return fails() ? -FI_ENOMEM : av_ops->insert(av, name, count, address, flags, context);
}

static int av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
                   void *context)
{
    int error = fails() ? -FI_ENOMEM : domain_ops->av_open(domain, attr, av, context);

    if (error != 0)
        return error;
    av_ops = (*av)->ops;
    scarce_av = *av_ops;
    scarce_av.insert = av_insert;
    (*av)->ops = &scarce_av;
    return 0;
}

static int cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
                   void *context)
{
    return fails() ? -FI_ENOMEM : domain_ops->cq_open(domain, attr, cq, context);
}

static int endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                    void *context)
{
    return fails() ? -FI_ENOMEM : domain_ops->endpoint(domain, info, ep, context);
}

static int cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
                     void *context)
{
    return fails() ? -FI_ENOMEM : domain_ops->cntr_open(domain, attr, cntr, context);
}

static int reg(struct fid *fid, const void *buffer, size_t bytes, uint64_t access, uint64_t offset,
               uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
    if (fails())
        return -FI_ENOMEM;
    return mr_ops->reg(fid, buffer, bytes, access, offset, key, flags, mr, context);
}

static int open_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
                       void *context)
{
    int error = fails() ? -FI_ENOMEM : fabric_ops->domain(fabric, info, domain, context);

    if (error != 0)
        return error;
    domain_ops = (*domain)->ops;
    scarce_domain = *domain_ops;
    scarce_domain.av_open = av_open;
    scarce_domain.cq_open = cq_open;
    scarce_domain.endpoint = endpoint;
    scarce_domain.cntr_open = cntr_open;
    (*domain)->ops = &scarce_domain;
    mr_ops = (*domain)->mr;
    scarce_mr = *mr_ops;
    scarce_mr.reg = reg;
    (*domain)->mr = &scarce_mr;
    return 0;
}

WRAP(int, fi_fabric, (struct fi_fabric_attr * attr, struct fid_fabric **fabric, void *context))
{
    int error = fails() ? -FI_ENOMEM : __real_fi_fabric(attr, fabric, context);

    if (error != 0)
        return error;
    if ((*fabric)->ops == &scarce_fabric)
        return 0;
    fabric_ops = (*fabric)->ops;
    scarce_fabric = *fabric_ops;
    scarce_fabric.domain = open_domain;
    (*fabric)->ops = &scarce_fabric;
    return 0;
}

WRAP(int, fi_getinfo,
     (uint32_t version, const char *node, const char *service, uint64_t flags,
      const struct fi_info *hints, struct fi_info **info))
{
    if (fails())
        return -FI_ENOMEM;
    return __real_fi_getinfo(version, node, service, flags, hints, info);
}

/* fi_allocinfo() is this, of nothing. */
WRAP(struct fi_info *, fi_dupinfo, (const struct fi_info *info))
{
    return fails() ? NULL : __real_fi_dupinfo(info);
}

#endif /* PCOLL_HAVE_LIBFABRIC */
