# The sources of this folder, for both builds: ours and MPICH's.  default_json.c is made from
# default.json by maint/text-to-c.
pcoll_sources += \
    %D%/choose.h %D%/choose.c %D%/search.h %D%/search.c \
    %D%/table/correction.h %D%/table/correction.c \
    %D%/table/table.h %D%/table/table.c %D%/table/state.h \
    %D%/table/estimates.h %D%/table/estimates.c \
    %D%/table/identity.h %D%/table/identity.c \
    %D%/table/media.h %D%/table/media.c \
    %D%/table/rules.h %D%/table/rules.c \
    %D%/table/reader.h %D%/table/reader.c \
    %D%/table/text.h %D%/table/text.c \
    %D%/table/wisdom.h %D%/table/wisdom.c \
    %D%/table/write.c \
    %D%/sim/contents.h %D%/sim/contents.c \
    %D%/sim/engine.h %D%/sim/engine_state.h %D%/sim/engine_state.c %D%/sim/engine.c \
    %D%/sim/wire.c %D%/sim/within.c \
    %D%/sim/intern.h %D%/sim/intern.c \
    %D%/sim/network.h %D%/sim/network.c \
    %D%/sim/node.h %D%/sim/node.c \
    %D%/sim/program.h %D%/sim/program.c \
    %D%/sim/queue.h %D%/sim/queue.c \
    %D%/sim/symbol.h %D%/sim/symbol.c \
    %D%/sim/trace.h %D%/sim/trace.c \
    %D%/sim/walk.h %D%/sim/walk.c
