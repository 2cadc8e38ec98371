## Part of MPICH's Makefile.am once grafted: this folder is src/mpid/ch4/ch4_coll there.

if BUILD_CH4_COLL_OFFLOAD

AM_CPPFLAGS += -D_GNU_SOURCE -I$(top_srcdir)/src/mpid/ch4/ch4_coll

pcoll_sources = \
    %D%/pcoll.h %D%/mpich_version.h \
    %D%/fallback.h %D%/fallback.c %D%/fallback_neighbor.c \
    %D%/settings.c %D%/forced.c %D%/known.c \
    %D%/report.c \
    %D%/agent.c %D%/agent_cpu.c \
    %D%/alloc_mem.c \
    %D%/bootstrap.c \
    %D%/comm.c \
    %D%/cores.c %D%/node_blocks.c \
    %D%/medium.c \
    %D%/network.c \
    %D%/data.c %D%/layout.c %D%/type_pieces.c %D%/kept.c \
    %D%/spans.h %D%/spans.c \
    %D%/blocks.h %D%/blocks.c \
    %D%/call.h %D%/calls.c %D%/block_calls.c %D%/edge_calls.c %D%/reduction_calls.c %D%/edges.c \
    %D%/operator.c \
    %D%/agreement.h %D%/agreement.c %D%/init.c \
    %D%/run.c %D%/wait.c %D%/lock.h %D%/life.c %D%/child.c
## Sources that only tests and tools need; not built here.
pcoll_tool_sources =
include $(top_srcdir)/src/mpid/ch4/ch4_coll/algorithms/sources.mk
include $(top_srcdir)/src/mpid/ch4/ch4_coll/offload/sources.mk
include $(top_srcdir)/src/mpid/ch4/ch4_coll/tuning/sources.mk

## tuning/default_json.c holds tuning/data/default.json as a string; the graft writes it.
if BUILD_CH4_COLL_LIBFABRIC
AM_CPPFLAGS += -DPCOLL_HAVE_LIBFABRIC
pcoll_sources += $(pcoll_ofi_sources)
endif BUILD_CH4_COLL_LIBFABRIC
if BUILD_CH4_COLL_UCX
AM_CPPFLAGS += -DPCOLL_HAVE_UCX
pcoll_sources += $(pcoll_ucx_sources)
endif BUILD_CH4_COLL_UCX
mpi_core_sources += $(pcoll_sources) src/mpid/ch4/ch4_coll/tuning/default_json.c

endif BUILD_CH4_COLL_OFFLOAD
