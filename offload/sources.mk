# The sources of this folder, for both builds: ours and MPICH's.
pcoll_sources += \
    %D%/medium.h %D%/media.h %D%/media.c %D%/bootstrap.h %D%/bootstrap.c %D%/agree.h %D%/agree.c \
    %D%/race.h %D%/race.c %D%/edges.h %D%/edges.c %D%/pairs.h %D%/pairs.c \
    %D%/interfaces.h %D%/interfaces.c \
    %D%/sysfs.h %D%/sysfs.c %D%/yield.h %D%/yield.c %D%/pace.h %D%/pace.c %D%/bell.h %D%/bell.c %D%/pieces.h %D%/pieces.c \
    %D%/copy.h %D%/copy.c %D%/times.h %D%/times.c %D%/tally.h %D%/tally.c \
    %D%/names.h %D%/names.c \
    %D%/reduce/operator.h %D%/reduce/reduce.h %D%/reduce/reduce.c \
    %D%/reduce/kernels.h %D%/reduce/kernels.c \
    %D%/run/line.h %D%/run/run.h %D%/run/run.c %D%/run/fire.h \
    %D%/agent/agent.h %D%/agent/state.h %D%/agent/claim.h %D%/agent/served.c %D%/agent/thread.c %D%/agent/cpus.c \
    %D%/memory/process.h %D%/memory/process.c %D%/memory/object.h %D%/memory/object.c \
    %D%/memory/arena.h %D%/memory/arena.c %D%/memory/extents.h %D%/memory/extents.c \
    %D%/memory/heap.h %D%/memory/heap.c %D%/memory/attach.c %D%/memory/cma.h %D%/memory/cma.c \
    %D%/memory/xpmem.h %D%/memory/xpmem.c %D%/memory/huge.h %D%/memory/huge.c \
    %D%/node/node.h %D%/node/nodes.h %D%/node/nodes.c %D%/node/group.h %D%/node/group.c \
    %D%/node/distance.h %D%/node/distance.c %D%/node/measure.h %D%/node/measure.c \
    %D%/node/sharing.h %D%/node/sharing.c \
    %D%/node/bound.h %D%/node/fire.h %D%/node/perform.c %D%/node/fail.c %D%/node/layout.c %D%/node/views.c \
    %D%/node/binding.h %D%/node/bind.c %D%/node/resolve.c %D%/node/move.c %D%/node/signalers.c \
    %D%/node/relay.h %D%/node/relay.c %D%/node/notice.h %D%/node/notice.c \
    %D%/node/board.h %D%/node/board_state.h %D%/node/board_bind.c %D%/node/chunk.c \
    %D%/node/post.c %D%/node/help.c %D%/node/visit.c \
    %D%/shm/shm.h %D%/shm/shm.c \
    %D%/autonomous/autonomous.h %D%/autonomous/autonomous.c

# The core of the media with RMA.
pcoll_sources += \
    %D%/rma/rma.h %D%/rma/wire.h %D%/rma/rma.c \
    %D%/rma/state.h %D%/rma/group.c %D%/rma/net.c %D%/rma/unbind.c \
    %D%/rma/binding.h %D%/rma/bind.c %D%/rma/swap.c %D%/rma/resolve.c

# Only where there is libfabric.
pcoll_ofi_sources = \
    %D%/ofi/endpoint.h %D%/ofi/endpoint.c %D%/ofi/select.c \
    %D%/ofi_rma/ofi_rma.h %D%/ofi_rma/ofi_rma.c %D%/ofi_rma/wire.h %D%/ofi_rma/wire.c \
    %D%/ofi_trigger/ofi_trigger.h %D%/ofi_trigger/ofi_trigger.c %D%/ofi_trigger/state.h \
    %D%/ofi_trigger/group.c %D%/ofi_trigger/open.c %D%/ofi_trigger/bind.c \
    %D%/ofi_trigger/unbind.c %D%/ofi_trigger/work.c

# Only where there are UCX's headers; its library is loaded at run time.
pcoll_ucx_sources = \
    %D%/ucx_rma/ucx_rma.h %D%/ucx_rma/ucx_rma.c %D%/ucx_rma/library.h %D%/ucx_rma/library.c \
    %D%/ucx_rma/state.h %D%/ucx_rma/foreign.h %D%/ucx_rma/foreign.c %D%/ucx_rma/worker.c %D%/ucx_rma/memory.c \
    %D%/ucx_rma/wire.h %D%/ucx_rma/wire.c

# Only where there is liburing.
pcoll_uring_sources = \
    %D%/tcp_kernel/tcp_kernel.h %D%/tcp_kernel/tcp_kernel.c %D%/tcp_kernel/state.h \
    %D%/tcp_kernel/address.c %D%/tcp_kernel/bind.c %D%/tcp_kernel/chain.c \
    %D%/tcp_kernel/connect.c %D%/tcp_kernel/group.c %D%/tcp_kernel/order.c \
    %D%/tcp_kernel/probe.c %D%/tcp_kernel/script.c %D%/tcp_kernel/unbind.c \
    %D%/tcp_kernel/walk.h %D%/tcp_kernel/walk.c

# Only for tests and tools.
pcoll_tool_sources += \
    %D%/explore/explore.h %D%/explore/state.h %D%/explore/state.c %D%/explore/search.h \
    %D%/explore/run.c %D%/explore/data.c %D%/explore/event.c %D%/explore/explore.c \
    %D%/explore/notice.h %D%/explore/notice.c %D%/explore/help.h %D%/explore/help.c \
    %D%/explore/settle.c %D%/explore/layout.c %D%/explore/visited.h %D%/explore/visited.c
