/*
 * The persistent collectives under their MPI-4 names, also where Open MPI 4 calls them MPIX_.
 */
#ifndef PCOLL_BENCH_PERSISTENT_H
#define PCOLL_BENCH_PERSISTENT_H

#include <mpi.h>

#if MPI_VERSION < 4 && defined(OPEN_MPI)
#include <mpi-ext.h>
#if !defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#error "this Open MPI was built without its extension pcollreq (persistent collectives)"
#endif
#define MPI_Barrier_init MPIX_Barrier_init
#define MPI_Bcast_init MPIX_Bcast_init
#define MPI_Allgather_init MPIX_Allgather_init
#define MPI_Gather_init MPIX_Gather_init
#define MPI_Scatter_init MPIX_Scatter_init
#define MPI_Alltoall_init MPIX_Alltoall_init
#define MPI_Allreduce_init MPIX_Allreduce_init
#elif MPI_VERSION < 4
#error "this MPI library has no persistent collectives"
#endif

#endif
