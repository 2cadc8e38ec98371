# The simulator; only in our own build, not in MPICH's.
libpcoll_a_SOURCES += \
    %D%/contents.h %D%/contents.c \
    %D%/engine.h %D%/engine_state.h \
    %D%/engine.c %D%/engine_fire.c %D%/engine_wire.c \
    %D%/intern.h %D%/intern.c \
    %D%/network.h %D%/network.c \
    %D%/program.h %D%/program.c \
    %D%/queue.h %D%/queue.c \
    %D%/symbol.h %D%/symbol.c \
    %D%/trace.h %D%/trace.c \
    %D%/walk.h %D%/walk.c
