# The sources of this folder, for both builds: ours and MPICH's.  default_json.c is made from
# default.json by maint/text-to-c.
pcoll_sources += \
    %D%/choose.h %D%/choose.c %D%/choice.c %D%/search.h %D%/search.c \
    %D%/table/correction.h %D%/table/correction.c \
    %D%/table/table.h %D%/table/table.c %D%/table/state.h \
    %D%/table/estimates.h %D%/table/estimates.c \
    %D%/table/identity.h %D%/table/identity.c %D%/table/identity_read.h %D%/table/identity_read.c \
    %D%/table/media.h %D%/table/media.c \
    %D%/table/rules.h %D%/table/rules.c \
    %D%/locality.h %D%/locality.c \
    %D%/table/reader.h %D%/table/reader.c \
    %D%/table/text.h %D%/table/text.c
pcoll_tool_sources += \
    %D%/table/write.c
