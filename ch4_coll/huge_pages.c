/* Huge pages for long user buffers. */

#include "huge_pages.h"

#include "offload/memory/heap.h"
#include "offload/memory/huge.h"
#include "offload/yield.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_COLL_OFFLOAD_HUGE_PAGES
      category    : COLLECTIVE
      type        : boolean
      default     : true
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Whether the 32nd start of a request moves its user buffers to huge pages (Linux 6.1 or
        later), if ranks of one node copy between them by the kernel: the parts that fill whole
        huge pages (2 MiB on x86). The data stays the same, and the start takes some milliseconds
        for each page. Nothing is moved if the administrator wants no huge pages
        (/sys/kernel/mm/transparent_hugepage/enabled), and the kernel moves no memory that is
        registered with a device. Values: true, false. Set it to false if no start may take
        milliseconds longer than the others.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* Memory of MPI_Alloc_mem is mapped by the other ranks, so the kernel copies nothing. */
static bool may_move(const struct MPIDI_PCOLL_data *data, size_t page)
{
    return (size_t)data->bytes >= page &&
           pcoll_heap_find(MPIDI_PCOLL_data_address(data), 1).fd == PCOLL_NONE;
}

bool MPIDI_PCOLL_may_use_huge_pages(const struct MPIDI_PCOLL_plan *plan)
{
    const struct pcoll_topology *topology = plan->plan->signature.topology;
    size_t page;

    if (!MPIR_CVAR_COLL_OFFLOAD_HUGE_PAGES || !plan->plan->user_rma ||
        (topology && !topology->in_node))
        return false;
    page = pcoll_huge_page_bytes();
    return page > 0 && (may_move(&plan->in, page) || may_move(&plan->out, page));
}

void MPIDI_PCOLL_use_huge_pages(const struct MPIDI_PCOLL_plan *plan)
{
    const uint64_t begin = pcoll_now();
    const size_t bytes =
        pcoll_huge_pages(MPIDI_PCOLL_data_address(&plan->in), (size_t)plan->in.bytes) +
        pcoll_huge_pages(MPIDI_PCOLL_data_address(&plan->out), (size_t)plan->out.bytes);

    if (MPIR_CVAR_COLL_OFFLOAD_VERBOSE > 0 && MPIR_Process.rank == 0)
        fprintf(stderr, "[0] pcoll: %s %llu B: %zu MiB of user memory on huge pages, %.1f ms\n",
                pcoll_coll_name(plan->plan->signature.coll),
                (unsigned long long)plan->plan->signature.bytes, bytes >> 20,
                (double)(pcoll_now() - begin) / 1e6);
}
