# The sources of this folder, for both builds: ours and MPICH's.  default_json.c is made from
# default.json by maint/text-to-c.
pcoll_sources += \
    %D%/choose.h %D%/choose.c \
    %D%/table.h %D%/table.c \
    %D%/rules.h %D%/rules.c \
    %D%/reader.h %D%/reader.c \
    %D%/text.h %D%/text.c
