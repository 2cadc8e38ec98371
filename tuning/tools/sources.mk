# Programs beside the library.  pcoll-tune is an MPI program: ../../Makefile.am makes it with mpicc.
bin_PROGRAMS += pcoll-info
pcoll_info_SOURCES = \
    %D%/pcoll_info.c %D%/info.h %D%/info_map.c %D%/info_help.c \
    %D%/show.h %D%/show.c %D%/show_dot.c %D%/show_json.c
pcoll_info_LDADD = tuning/tools/libtools.a libpcoll.a $(JSON_LIBS) $(LIBFABRIC_LIBS) -lm

# What the programs share, and what pcoll-tune consists of and needs no MPI for.
noinst_LIBRARIES += %D%/libtools.a
%C%_libtools_a_SOURCES = \
    %D%/cli.h %D%/cli.c \
    %D%/draw.h %D%/draw.c \
    %D%/gnuplot.h %D%/gnuplot.c \
    %D%/probes.h %D%/probes.c \
    %D%/robust.h %D%/robust.c
if HAVE_HWLOC
%C%_libtools_a_SOURCES += %D%/places.h %D%/places.c
endif HAVE_HWLOC
%C%_libtools_a_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
