# One program a line; each is built from the source of its name and prints TAP.
check_PROGRAMS += \
    %D%/test_arena \
    %D%/test_bootstrap \
    %D%/test_choose \
    %D%/test_cli \
    %D%/test_collective \
    %D%/test_discrete \
    %D%/test_explore \
    %D%/test_goal \
    %D%/test_levels \
    %D%/test_media \
    %D%/test_mutants \
    %D%/test_plan \
    %D%/test_plan_check \
    %D%/test_proof \
    %D%/test_relay \
    %D%/test_resources \
    %D%/test_scale \
    %D%/test_shapes \
    %D%/test_shm \
    %D%/test_order \
    %D%/test_table \
    %D%/test_topology \
    %D%/test_tune \
    %D%/test_walk
if HAVE_LIBFABRIC
check_PROGRAMS += \
    %D%/test_ofi \
    %D%/test_ofi_endpoint \
    %D%/test_ofi_trigger
endif HAVE_LIBFABRIC

if HAVE_HWLOC
check_PROGRAMS += %D%/test_places
%C%_test_places_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
%C%_test_places_LDADD = $(LDADD) $(HWLOC_LIBS)
endif HAVE_HWLOC

# What the tests share.
check_LIBRARIES += %D%/libunit.a
%C%_libunit_a_SOURCES = \
    %D%/refuse.h \
    %D%/tap.h \
    %D%/cover.h %D%/cover.c \
    %D%/job.h %D%/job.c \
    %D%/meeting.h %D%/meeting.c \
    %D%/mutate.h %D%/mutate.c \
    %D%/trial.h %D%/trial.c
LDADD += %D%/libunit.a
