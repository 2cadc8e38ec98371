# The sources of this folder, for both builds: ours and MPICH's.
pcoll_sources += \
    %D%/medium.h \
    %D%/shm.h %D%/shm.c \
    %D%/shm_state.h %D%/shm_run.h %D%/shm_group.c %D%/shm_bind.c %D%/shm_cma.c %D%/shm_copy.c \
    %D%/shm_arena.h %D%/shm_arena.c

# Only where there is libfabric.
pcoll_ofi_sources = \
    %D%/ofi_endpoint.h %D%/ofi_endpoint.c %D%/ofi_select.c \
    %D%/ofi_rma.h %D%/ofi_rma.c \
    %D%/ofi_rma_state.h %D%/ofi_rma_group.c %D%/ofi_rma_net.c %D%/ofi_rma_leave.c \
    %D%/ofi_rma_binding.h %D%/ofi_rma_bind.c %D%/ofi_rma_swap.c %D%/ofi_rma_resolve.c \
    %D%/ofi_trigger.h %D%/ofi_trigger.c %D%/ofi_trigger_state.h \
    %D%/ofi_trigger_group.c %D%/ofi_trigger_open.c %D%/ofi_trigger_bind.c \
    %D%/ofi_trigger_work.c

# Only for tests and tools.
pcoll_tool_sources += \
    %D%/sim.h %D%/sim_state.h \
    %D%/sim.c %D%/sim_data.c %D%/sim_event.c %D%/sim_explore.c %D%/sim_layout.c
