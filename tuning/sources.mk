# The sources of this folder, for both builds: ours and MPICH's.  default_json.c is made from
# default.json by maint/text-to-c.
pcoll_sources += \
    %D%/choose.h %D%/choose.c %D%/choice.c \
    %D%/correction.h %D%/correction.c \
    %D%/table.h %D%/table.c %D%/table_state.h \
    %D%/figures.h %D%/figures.c \
    %D%/identity.h %D%/identity.c %D%/identity_read.h %D%/identity_read.c \
    %D%/media.h %D%/media.c \
    %D%/rules.h %D%/rules.c \
    %D%/seats.h %D%/seats.c \
    %D%/reader.h %D%/reader.c \
    %D%/text.h %D%/text.c
pcoll_tool_sources += \
    %D%/write.c
