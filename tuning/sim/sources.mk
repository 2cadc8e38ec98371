# pcoll-sim and its engine; only in our own build, not in MPICH's.
libpcoll_a_SOURCES += \
    %D%/engine.h %D%/engine_state.h \
    %D%/engine.c %D%/engine_fire.c %D%/engine_wire.c \
    %D%/goal.h %D%/goal.c \
    %D%/intern.h %D%/intern.c \
    %D%/network.h %D%/network.c \
    %D%/program.h %D%/program.c \
    %D%/queue.h %D%/queue.c \
    %D%/resources.h %D%/resources.c \
    %D%/schedule.h %D%/schedule.c \
    %D%/symbol.h %D%/symbol.c \
    %D%/walk.h %D%/walk.c

bin_PROGRAMS += %D%/pcoll-sim
%C%_pcoll_sim_SOURCES = \
    %D%/options.h %D%/options.c \
    %D%/help.c \
    %D%/plot.c \
    %D%/report.c \
    %D%/pcoll_sim.c
%C%_pcoll_sim_LDADD = libpcoll.a $(JSON_LIBS) -lm
