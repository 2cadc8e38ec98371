# The sources of this folder, for both builds: ours and MPICH's.
pcoll_sources += \
    %D%/plan.h %D%/plan.c \
    %D%/plan_print.c \
    %D%/algorithm.h %D%/algorithm.c %D%/algorithm_files.h \
    %D%/private.h %D%/private.c \
    %D%/ring.h %D%/ring.c \
    %D%/lower.h %D%/lower.c %D%/lower_private.h \
    %D%/lower_split.c %D%/lower_pours.c %D%/lower_layout.c %D%/lower_stages.c \
    %D%/topology.h %D%/topology.c \
    %D%/barrier_team.c \
    %D%/barrier_butterfly.c \
    %D%/barrier_dissemination.c \
    %D%/bcast_eager.c \
    %D%/bcast_shared.c \
    %D%/bcast_knomial_put.c \
    %D%/bcast_knomial_get.c \
    %D%/bcast_pipeline.h %D%/bcast_pipeline.c \
    %D%/bcast_kary.c \
    %D%/bcast_two_tree.c \
    %D%/bcast_trinaryx3.c \
    %D%/bcast_scatter_ring.c \
    %D%/allgather_butterfly.c \
    %D%/allgather_bruck.c \
    %D%/allgather_ring.c \
    %D%/allgather_direct.c

# Only for tests and tools.
pcoll_tool_sources += \
    %D%/plan_check.h %D%/plan_check.c %D%/plan_check_private.h \
    %D%/plan_order.c %D%/plan_flow.c %D%/plan_meaning.c
