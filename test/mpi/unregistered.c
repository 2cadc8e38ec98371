/* A libfabric provider that refuses to register memory.
 *
 * The library finds our fi_fabric before libfabric's own and receives domains whose registrations
 * fail. Two kinds of fabrics are not affected: those opened before deny_registration, which are
 * MPICH's own, and those that a provider opens for itself below another one. */

#include "adversity.h"

#if __has_include(<rdma/fi_domain.h>)

#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

typedef int open_fabric(struct fi_fabric_attr *, struct fid_fabric **, void *);
typedef int open_domain(struct fid_fabric *, struct fi_info *, struct fid_domain **, void *);

static int denied, depth;
static open_domain *real_domain;
static struct fi_ops_fabric fabric_ops;
static struct fi_ops_mr mr_ops;

static int refuse(struct fid *fid, const void *buffer, size_t bytes, uint64_t access,
                  uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
    (void)fid, (void)buffer, (void)bytes, (void)access, (void)offset, (void)key, (void)flags;
    (void)mr, (void)context;
    return -FI_ENOMEM;
}

static int refusing_domain(struct fid_fabric *fabric, struct fi_info *info,
                           struct fid_domain **domain, void *context)
{
    int error;

    depth++;
    error = real_domain(fabric, info, domain, context);
    depth--;
    if (error == 0) {
        mr_ops = *(*domain)->mr;
        mr_ops.reg = refuse;
        (*domain)->mr = &mr_ops;
    }
    return error;
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    open_fabric *real = (open_fabric *)dlsym(RTLD_NEXT, "fi_fabric");
    int error;

    depth++;
    error = real(attr, fabric, context);
    depth--;
    if (error == 0 && denied && depth == 0) {
        fabric_ops = *(*fabric)->ops;
        real_domain = fabric_ops.domain;
        fabric_ops.domain = refusing_domain;
        (*fabric)->ops = &fabric_ops;
    }
    return error;
}

void deny_registration(void)
{
    denied = 1;
}

#else

void deny_registration(void)
{
}

#endif
