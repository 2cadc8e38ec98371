## Part of MPICH's Makefile.am once grafted: this folder is src/mpid/ch4/ch4_coll there.

if BUILD_CH4_COLL_OFFLOAD

AM_CPPFLAGS += -D_GNU_SOURCE -I$(top_srcdir)/src/mpid/ch4/ch4_coll

pcoll_sources = \
    %D%/mpich_version.h \
    %D%/fallback.h %D%/fallback.c %D%/fallback_neighbor.c \
    %D%/settings.h %D%/settings.c %D%/hints.h %D%/hints.c %D%/forced.h %D%/forced.c %D%/known.h %D%/known.c \
    %D%/report.h %D%/report.c %D%/job_report.h %D%/job_report.c \
    %D%/agent.h %D%/agent.c %D%/agent_cpu.h %D%/agent_cpu.c \
    %D%/alloc_mem.h %D%/alloc_mem.c \
    %D%/bootstrap.h %D%/bootstrap.c \
    %D%/comm.h %D%/comm.c \
    %D%/cores.h %D%/cores.c %D%/node_blocks.h %D%/node_blocks.c \
    %D%/media_calls.h %D%/media_calls.c \
    %D%/network.h %D%/network.c \
    %D%/data.h %D%/data.c %D%/layout.c %D%/type_pieces.c %D%/kept.c \
    %D%/spans.h %D%/spans.c \
    %D%/blocks.h %D%/blocks.c \
    %D%/call.h %D%/calls.c %D%/block_calls.c %D%/edge_calls.c %D%/reduction_calls.c %D%/edges.c \
    %D%/operator.h %D%/operator.c \
    %D%/agreement.h %D%/agreement.c %D%/race.h %D%/race.c %D%/wisdom.h %D%/wisdom.c %D%/init.c \
    %D%/plan.h %D%/run.c %D%/waiting.h %D%/waiting.c \
    %D%/promote.h %D%/promote.c %D%/promote_key.h %D%/promote_key.c \
    %D%/promote_plan.c %D%/promote_setting.c %D%/promoted_calls.c \
    %D%/state.h %D%/state.c %D%/request.h %D%/request.c %D%/once.h %D%/once.c \
    %D%/huge_pages.h %D%/huge_pages.c %D%/reuse.h %D%/reuse.c %D%/child.h %D%/child.c %D%/lock.h %D%/lock.c \
    %D%/process.h %D%/process.c %D%/hook.h %D%/hook.c %D%/session.h %D%/session.c
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
if BUILD_CH4_COLL_URING
AM_CPPFLAGS += -DPCOLL_HAVE_LIBURING
pcoll_sources += $(pcoll_uring_sources)
endif BUILD_CH4_COLL_URING
mpi_core_sources += $(pcoll_sources) src/mpid/ch4/ch4_coll/tuning/default_json.c

endif BUILD_CH4_COLL_OFFLOAD
