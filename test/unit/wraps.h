/*
 * Calls of the library that its linker leads to the test (-Wl,--wrap in sources.mk): each goes to
 * __wrap_NAME, which the test defines, and __real_NAME is the function itself. Those of CMA go to
 * wraps.c, which gives both to the test's vm_copy.
 */
#ifndef PCOLL_TEST_WRAPS_H
#define PCOLL_TEST_WRAPS_H

#include <sys/types.h>
#include <sys/uio.h>

#include "offload/node/measure.h"
#include "offload/node/notice.h"

typedef ssize_t vm_call(pid_t, const struct iovec *, unsigned long, const struct iovec *,
                        unsigned long, unsigned long);
vm_call __real_process_vm_readv, __wrap_process_vm_readv;
vm_call __real_process_vm_writev, __wrap_process_vm_writev;

/* Defined by the test: what the library gets from `call`, which is one of the real ones, for one
 * piece of memory. */
ssize_t vm_copy(vm_call *call, pid_t pid, const struct iovec *local, const struct iovec *remote);

void __real_pcoll_node_measure_readers(struct pcoll_measure_place *place, int rank, bool has_core,
                                       uint64_t deadline, struct pcoll_machine *machine);
void __wrap_pcoll_node_measure_readers(struct pcoll_measure_place *place, int rank, bool has_core,
                                       uint64_t deadline, struct pcoll_machine *machine);
void __real_pcoll_copy(void *to, const void *from, size_t bytes);
void __wrap_pcoll_copy(void *to, const void *from, size_t bytes);
void __real_pcoll_notice_close(struct pcoll_notice *notice);
void __wrap_pcoll_notice_close(struct pcoll_notice *notice);
bool __real_pcoll_notice_claim(struct pcoll_notice *notice, uint64_t word, unsigned helper,
                               struct pcoll_chunk *chunk_p);
bool __wrap_pcoll_notice_claim(struct pcoll_notice *notice, uint64_t word, unsigned helper,
                               struct pcoll_chunk *chunk_p);

#endif /* PCOLL_TEST_WRAPS_H */
