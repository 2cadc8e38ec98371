/* MPI_Alloc_mem: memory that the other processes of the node can map (offload/memory/heap.h), so
 * that plans copy it directly. Whatever that cannot serve is left to MPICH: what asks for special
 * memory, what no other process needs, and all of it if the system has no such memory. */

#include "alloc_mem.h"

#include "mpidimpl.h"

#include "offload/memory/heap.h"

#include "mpir_coll_offload_hooks.h"
#include "process.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_COLL_OFFLOAD_ALLOC_MEM
      category    : COLLECTIVE
      type        : boolean
      default     : true
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        MPI_Alloc_mem gives memory that the other processes of the node can map, between
        which persistent collectives copy faster than between other user buffers; plans pack
        data of 64 KiB and more into such memory, too. Values: true, false (all of it is
        MPICH's, as are always allocations of less than a page and those whose info asks for
        a kind of memory). Set it to false if processes fork: their children share this
        memory.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

enum { MIN_BYTES = 4096, MIN_BUFFER_BYTES = 65536, ALIGNMENT = 4096 };

static bool is_wanted(void)
{
    return MPIR_CVAR_COLL_OFFLOAD_ALLOC_MEM && MPIR_Process.local_size > 1 &&
           MPIDI_PCOLL_is_switched_on();
}

static bool has_key(MPIR_Info *info, const char *key, char *value)
{
    int found = 0;

    if (info)
        MPIR_Info_get_impl(info, key, MPI_MAX_INFO_VAL, value, &found);
    return found;
}

/* The kind of memory is MPICH's to choose, and a larger alignment than that of pages. */
static bool is_special(MPIR_Info *info)
{
    char value[MPI_MAX_INFO_VAL + 1];

    return has_key(info, "mpich_buf_type", value) ||
           (has_key(info, "mpi_minimum_memory_alignment", value) && atoi(value) > ALIGNMENT);
}

void *MPIDI_PCOLL_alloc_mem(size_t size, struct MPIR_Info *info)
{
    if (size < MIN_BYTES || !is_wanted() || is_special(info))
        return NULL;
    return pcoll_heap_get(size);
}

bool MPIDI_PCOLL_free_mem(void *memory, int *mpi_errno_p)
{
    enum pcoll_result result = pcoll_heap_put(memory);

    if (result == PCOLL_ERR_INVALID)
        MPIR_ERR_SET(*mpi_errno_p, MPI_ERR_BASE, "**base");
    return result != PCOLL_UNSUPPORTED;
}

void *MPIDI_PCOLL_buffer_get(size_t bytes, bool zeros)
{
    void *buffer = bytes >= MIN_BUFFER_BYTES && is_wanted() ? pcoll_heap_get(bytes) : NULL;

    if (buffer)
        return buffer;
    return zeros ? MPL_calloc(1, bytes, MPL_MEM_COLL) : MPL_malloc(bytes, MPL_MEM_COLL);
}

void MPIDI_PCOLL_buffer_put(void *buffer)
{
    if (pcoll_heap_put(buffer) != PCOLL_OK)
        MPL_free(buffer);
}
