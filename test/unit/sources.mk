# One program per line; each is built from the source of the same name and prints TAP.
check_PROGRAMS += \
    %D%/test_agent \
    %D%/test_agent_plans \
    %D%/test_agent_sleep \
    %D%/test_arena \
    %D%/test_board \
    %D%/test_bootstrap \
    %D%/test_cached \
    %D%/test_candidates \
    %D%/test_cheapest \
    %D%/test_choose \
    %D%/test_cli \
    %D%/test_collective \
    %D%/test_discrete \
    %D%/test_distance \
    %D%/test_edges \
    %D%/test_engine_parts \
    %D%/test_explore \
    %D%/test_explore_help \
    %D%/test_extents \
    %D%/test_goal \
    %D%/test_heap \
    %D%/test_huge \
    %D%/test_hints \
    %D%/test_kept \
    %D%/test_known \
    %D%/test_levels \
    %D%/test_lines \
    %D%/test_loads \
    %D%/test_mapped \
    %D%/test_measure \
    %D%/test_media \
    %D%/test_mutants \
    %D%/test_names \
    %D%/test_nodes \
    %D%/test_notice \
    %D%/test_object \
    %D%/test_pieces \
    %D%/test_placement \
    %D%/test_plan \
    %D%/test_plan_check \
    %D%/test_pool \
    %D%/test_proof \
    %D%/test_race \
    %D%/test_reduce \
    %D%/test_refusals \
    %D%/test_relay \
    %D%/test_run \
    %D%/test_resources \
    %D%/test_rules \
    %D%/test_scarce \
    %D%/test_scarce_jobs \
    %D%/test_scale \
    %D%/test_shapes \
    %D%/test_coop \
    %D%/test_sharing \
    %D%/test_shm \
    %D%/test_signalers \
    %D%/test_order \
    %D%/test_table \
    %D%/test_times \
    %D%/test_pace \
    %D%/test_topology \
    %D%/test_tune \
    %D%/test_ult \
    %D%/test_sim_node \
    %D%/test_walk \
    %D%/test_walk_nodes \
    %D%/test_wisdom \
    %D%/test_write \
    %D%/test_xpmem
if HAVE_LIBFABRIC
check_PROGRAMS += \
    %D%/test_agent_rma \
    %D%/test_ofi \
    %D%/test_ofi_endpoint \
    %D%/test_ofi_failures \
    %D%/test_ofi_trigger \
    %D%/test_ofi_trigger_refusals
endif HAVE_LIBFABRIC

if HAVE_UCX
check_PROGRAMS += \
    %D%/test_ucx \
    %D%/test_ucx_foreign \
    %D%/test_ucx_wire
endif HAVE_UCX

if HAVE_LIBURING
check_PROGRAMS += \
    %D%/test_tcp_kernel \
    %D%/test_tcp_kernel_failures \
    %D%/test_tcp_kernel_links \
    %D%/test_tcp_order
endif HAVE_LIBURING

if HAVE_HWLOC
check_PROGRAMS += \
    %D%/test_places \
    %D%/test_sysfs
%C%_test_places_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
%C%_test_places_LDADD = $(LDADD) $(HWLOC_LIBS)
%C%_test_sysfs_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
%C%_test_sysfs_LDADD = $(LDADD) $(HWLOC_LIBS)
endif HAVE_HWLOC

# Code that the tests share.
check_LIBRARIES += %D%/libunit.a
%C%_libunit_a_SOURCES = \
    %D%/refuse.h \
    %D%/tap.h \
    %D%/cover.h %D%/cover.c \
    %D%/graph.h %D%/graph.c \
    %D%/job.h %D%/job.c \
    %D%/known.h %D%/known.c \
    %D%/meeting.h %D%/meeting.c \
    %D%/net_rank.h %D%/net_rank.c %D%/net_tests.h %D%/net_tests.c \
    %D%/excuse.h %D%/excuse.c \
    %D%/mutant.h %D%/mutant.c %D%/mutant_same.c \
    %D%/mutate.h %D%/mutate.c \
    %D%/operands.h %D%/operands.c \
    %D%/plan_faults.h %D%/plan_faults.c \
    %D%/question.h %D%/question.c \
    %D%/strided.h %D%/strided.c \
    %D%/tables.h %D%/tables.c \
    %D%/topology_check.h %D%/topology_check.c \
    %D%/stub.h %D%/stub.c \
    %D%/trial.h %D%/trial.c \
    %D%/walked.h %D%/walked.c \
    %D%/rma_tests.h %D%/rma_tests.c %D%/rma_failures.c \
    %D%/rma_rows.h %D%/rma_rows.c \
    %D%/setup.h %D%/setup.c
%C%_libunit_a_CPPFLAGS = $(AM_CPPFLAGS) \
    -DPCOLL_TEST_TABLES='"$(abs_top_srcdir)/test/tables"'
LDADD += %D%/libunit.a

# Where the calls of CMA of these tests go.
vm_wraps = -Wl,--wrap=process_vm_readv -Wl,--wrap=process_vm_writev
%C%_test_agent_SOURCES = %D%/test_agent.c %D%/wraps.h %D%/wraps.c
%C%_test_coop_SOURCES = %D%/test_coop.c %D%/wraps.c
%C%_test_mapped_SOURCES = %D%/test_mapped.c %D%/wraps.c
%C%_test_measure_SOURCES = %D%/test_measure.c %D%/wraps.c
%C%_test_relay_SOURCES = %D%/test_relay.c %D%/wraps.c
%C%_test_mapped_LDFLAGS = $(AM_LDFLAGS) $(vm_wraps)
%C%_test_measure_LDFLAGS = $(AM_LDFLAGS) $(vm_wraps) -Wl,--wrap=pcoll_node_measure_readers
%C%_test_relay_LDFLAGS = $(AM_LDFLAGS) $(vm_wraps)

# Where what these tests know of XPMEM comes from.
xpmem_wraps = -Wl,--wrap=open -Wl,--wrap=dlopen -Wl,--wrap=dlsym -Wl,--wrap=dlclose
%C%_test_xpmem_SOURCES = %D%/test_xpmem.c %D%/standin.h %D%/standin.c %D%/wraps.c
%C%_test_xpmem_LDFLAGS = $(AM_LDFLAGS) $(xpmem_wraps) $(vm_wraps)

# Where test_agent pauses.
%C%_test_agent_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=syscall $(vm_wraps)

# Where test_board pauses, or dies.
%C%_test_board_SOURCES = %D%/test_board.c %D%/standin.c
%C%_test_board_LDFLAGS = $(AM_LDFLAGS) $(xpmem_wraps) -Wl,--wrap=pcoll_copy -Wl,--wrap=pcoll_notice_close \
    -Wl,--wrap=pcoll_notice_claim -Wl,--wrap=pcoll_reduce -Wl,--wrap=pcoll_node_attend

# Where ranks of test_coop pause, are refused, or die.
%C%_test_coop_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pcoll_copy -Wl,--wrap=pcoll_notice_close \
    -Wl,--wrap=pcoll_notice_claim $(vm_wraps)

# Where test_placement observes copies.
%C%_test_placement_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pcoll_copy

# What test_scarce and test_scarce_jobs make fail: the linker redirects these calls of their own
# objects to shortage.c.
shortage_wraps = malloc calloc realloc posix_memalign free strdup fdopen mmap munmap memfd_create \
    shm_open posix_fallocate process_vm_readv process_vm_writev json_tokener_new_ex
if HAVE_LIBFABRIC
shortage_wraps += fi_fabric fi_getinfo fi_dupinfo
endif HAVE_LIBFABRIC
check_LIBRARIES += %D%/libshortage.a
%C%_libshortage_a_SOURCES = %D%/shortage.h %D%/shortage.c
shortage_flags = $(AM_LDFLAGS) $(shortage_wraps:%=-Wl,--wrap=%)
%C%_test_scarce_LDFLAGS = $(shortage_flags)
%C%_test_scarce_LDADD = %D%/libshortage.a $(LDADD)
%C%_test_scarce_jobs_LDFLAGS = $(shortage_flags)
%C%_test_scarce_jobs_LDADD = %D%/libshortage.a $(LDADD)
