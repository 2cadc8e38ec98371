/*
 * A provider that refuses to register memory once: at the n-th registration from now on.
 */
#ifndef PCOLL_REFUSE_H
#define PCOLL_REFUSE_H

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

static struct fi_ops_mr *granting, refusing;
static int granted, refused;

static int refuse_nth(struct fid *fid, const void *buffer, size_t bytes, uint64_t access,
                      uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr,
                      void *context)
{
    if (granted-- == 0) {
        refused++;
        return -FI_ENOMEM;
    }
    return granting->reg(fid, buffer, bytes, access, offset, key, flags, mr, context);
}

static void refuse_begin(struct fid_domain *domain, int n)
{
    granting = domain->mr;
    refusing = *granting;
    refusing.reg = refuse_nth;
    granted = n - 1;
    refused = 0;
    domain->mr = &refusing;
}

static void refuse_end(struct fid_domain *domain)
{
    domain->mr = granting;
}

#endif /* PCOLL_REFUSE_H */
