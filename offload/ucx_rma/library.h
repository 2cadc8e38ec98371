/* The functions of UCX, loaded when they are first needed. */
#ifndef PCOLL_UCX_LIBRARY_H
#define PCOLL_UCX_LIBRARY_H

#include <ucp/api/ucp.h>

#include "offload/bootstrap.h"

#define PCOLL_UCX_FUNCTIONS(F)                                                                     \
    F(ucp_am_send_nbx)                                                                             \
    F(ucp_cleanup)                                                                                 \
    F(ucp_config_modify)                                                                           \
    F(ucp_config_read)                                                                             \
    F(ucp_config_release)                                                                          \
    F(ucp_ep_close_nbx)                                                                            \
    F(ucp_ep_create)                                                                               \
    F(ucp_ep_flush_nbx)                                                                            \
    F(ucp_ep_rkey_unpack)                                                                          \
    F(ucp_get_nbx)                                                                                 \
    F(ucp_get_version)                                                                             \
    F(ucp_get_version_string)                                                                      \
    F(ucp_init_version)                                                                            \
    F(ucp_mem_map)                                                                                 \
    F(ucp_mem_unmap)                                                                               \
    F(ucp_put_nbx)                                                                                 \
    F(ucp_request_check_status)                                                                    \
    F(ucp_request_free)                                                                            \
    F(ucp_rkey_buffer_release)                                                                     \
    F(ucp_rkey_destroy)                                                                            \
    F(ucp_rkey_pack)                                                                               \
    F(ucp_worker_create)                                                                           \
    F(ucp_worker_destroy)                                                                          \
    F(ucp_worker_get_address)                                                                      \
    F(ucp_worker_progress)                                                                         \
    F(ucp_worker_release_address)                                                                  \
    F(ucp_worker_set_am_recv_handler)                                                              \
    F(ucs_status_string)

struct pcoll_ucx {
#define PCOLL_UCX_MEMBER(function) __typeof__(function) *function;
    PCOLL_UCX_FUNCTIONS(PCOLL_UCX_MEMBER)
#undef PCOLL_UCX_MEMBER
};

extern struct pcoll_ucx pcoll_ucx; /* valid after pcoll_ucx_load has succeeded */

/* Before a context is opened: what UCX is told by the environment, unless that is set already. */
void pcoll_ucx_set_environment(void);

/* Load the library, once. PCOLL_ERR_INVALID: there is none, or it is too old; reported. */
enum pcoll_result pcoll_ucx_load(const struct pcoll_bootstrap *bootstrap) PCOLL_MUST_CHECK;

#endif /* PCOLL_UCX_LIBRARY_H */
