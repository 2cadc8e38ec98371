# One program a line; each is built from the source of its name and prints TAP.
check_PROGRAMS += \
    %D%/test_choose \
    %D%/test_plan \
    %D%/test_shm \
    %D%/test_sim \
    %D%/test_table

# What the tests share, and the simulator, which only they need.
check_LIBRARIES += %D%/libunit.a
%C%_libunit_a_SOURCES = \
    %D%/tap.h \
    %D%/job.h %D%/job.c \
    %D%/meeting.h %D%/meeting.c \
    %D%/mutate.h %D%/mutate.c \
    offload/sim.h offload/sim.c \
    offload/sim_state.h \
    offload/sim_data.c \
    offload/sim_event.c \
    offload/sim_explore.c \
    offload/sim_layout.c
LDADD += %D%/libunit.a
