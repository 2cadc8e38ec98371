# The sources of this folder, for both builds: ours and MPICH's.
pcoll_sources += \
    %D%/plan/caches.h %D%/plan/caches.c \
    %D%/plan/collective.h %D%/plan/collective.c \
    %D%/plan/edges.h %D%/plan/edges.c \
    %D%/plan/node_pairs.h %D%/plan/node_pairs.c %D%/plan/pairs.h %D%/plan/pairs.c \
    %D%/plan/plan.h %D%/plan/plan.c \
    %D%/plan/pool.h %D%/plan/pool.c \
    %D%/plan/machine.h %D%/plan/topology.h %D%/plan/topology.c %D%/plan/levels.h %D%/plan/levels.c \
    %D%/plan/user.h %D%/plan/user.c \
    %D%/plan/print.c \
    %D%/util.h %D%/algorithm.h %D%/algorithm.c \
    %D%/number.h %D%/number.c \
    %D%/cost.h %D%/cost.c \
    %D%/shape/tree.h %D%/shape/tree.c \
    %D%/shape/segment.h %D%/shape/segment.c \
    %D%/shape/star.h %D%/shape/star.c \
    %D%/shape/ring.h %D%/shape/ring.c \
    %D%/lower/lower.h %D%/lower/lower.c %D%/lower/private.h \
    %D%/lower/split.c %D%/lower/signals.c %D%/lower/layout.c %D%/lower/stages.c \
    %D%/teams.h %D%/teams.c \
    %D%/shape/team_tree.h %D%/shape/team_tree.c \
    %D%/shape/ring_tree.h %D%/shape/ring_tree.c \
    %D%/barrier/team.h %D%/barrier/team.c \
    %D%/barrier/butterfly.c \
    %D%/barrier/dissemination.c \
    %D%/barrier/knomial.c \
    %D%/bcast/eager.c \
    %D%/bcast/shared.c \
    %D%/bcast/knomial_put.c \
    %D%/bcast/knomial_get.c \
    %D%/shape/trees.h %D%/shape/pipeline.h %D%/shape/pipeline.c \
    %D%/shape/relatives.h %D%/shape/relatives.c \
    %D%/shape/two_tree.h %D%/shape/two_tree.c \
    %D%/bcast/kary.c \
    %D%/bcast/two_tree.c \
    %D%/bcast/trinaryx3.c \
    %D%/shape/blocks.h %D%/shape/blocks.c \
    %D%/allgather/butterfly.c \
    %D%/allgather/bruck.c \
    %D%/allgather/ring.c \
    %D%/allgather/direct.c \
    %D%/gather/direct.c \
    %D%/gather/knomial.c \
    %D%/scatter/direct.c \
    %D%/scatter/knomial.c \
    %D%/alltoall/direct.c \
    %D%/alltoall/bruck.c \
    %D%/alltoall/node_aware.c \
    %D%/edges/walk.h %D%/edges/walk.c %D%/edges/slots.h %D%/edges/slots.c \
    %D%/edges/direct.h %D%/edges/direct.c %D%/edges/direct_get.c %D%/edges/direct_shared.c \
    %D%/edges/uniform.h %D%/edges/uniform.c \
    %D%/edges/crossing.h %D%/edges/crossing.c %D%/edges/aggregate.c \
    %D%/allreduce/direct.c \
    %D%/shape/fold.h %D%/shape/fold.c \
    %D%/shape/doubling.h %D%/shape/doubling.c \
    %D%/allreduce/butterfly.c \
    %D%/shape/grid.h %D%/shape/grid.c \
    %D%/shape/halving.h %D%/shape/halving.c \
    %D%/allreduce/halving.c \
    %D%/shape/sliced_get.h %D%/shape/sliced_get.c \
    %D%/allreduce/sliced_get.c %D%/reduce/sliced_get.c %D%/reduce_scatter/direct_get.c \
    %D%/allreduce/ring.c \
    %D%/allreduce/two_tree.c \
    %D%/shape/slices.h %D%/shape/slices.c \
    %D%/shape/sliced.h %D%/shape/sliced.c \
    %D%/allreduce/sliced.c \
    %D%/shape/team_slices.h %D%/shape/team_slices.c \
    %D%/shape/between.h %D%/shape/between.c \
    %D%/shape/leaders.h %D%/shape/leaders.c %D%/shape/leaders_cost.c \
    %D%/shape/leaders_cut.c \
    %D%/allreduce/multi_leader.c \
    %D%/shape/order_tree.h %D%/shape/order_tree.c \
    %D%/shape/up.h %D%/shape/up.c \
    %D%/reduce/knomial.h %D%/reduce/knomial.c %D%/reduce/chain.c \
    %D%/reduce/two_tree.c \
    %D%/reduce/sliced.c \
    %D%/reduce/multi_leader.c \
    %D%/reduce_scatter/direct.c \
    %D%/reduce_scatter/ranges.h %D%/reduce_scatter/ranges.c %D%/reduce_scatter/node_aware.c \
    %D%/scan/chain.c \
    %D%/scan/direct.c \
    %D%/scan/doubling.c \
    %D%/scan/columns.c

# Only for tests and tools.
pcoll_tool_sources += \
    %D%/plan/paper.c \
    %D%/proof/check.h %D%/proof/check.c %D%/proof/private.h %D%/proof/shared.c \
    %D%/proof/order.c %D%/proof/flow.c \
    %D%/proof/trace.h %D%/proof/trace.c %D%/proof/meaning.c
