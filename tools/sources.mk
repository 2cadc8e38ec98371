# Programs beside the library.  pcoll-tune is an MPI program: ../Makefile.am makes it with mpicc.
bin_PROGRAMS += pcoll-info pcoll-sim
pcoll_info_SOURCES = \
    %D%/pcoll_info.c %D%/info.h %D%/info_machine.c %D%/info_map.c %D%/info_help.c %D%/info_prove.c \
    %D%/show.h %D%/show.c %D%/show_dot.c %D%/show_json.c
pcoll_info_LDADD = %D%/libtools.a libpcoll.a $(JSON_LIBS) $(LIBFABRIC_LIBS) \
    $(LIBURING_LIBS) -lm
pcoll_sim_SOURCES = \
    %D%/sim/options.h %D%/sim/options.c \
    %D%/sim/help.c \
    %D%/sim/plot.c \
    %D%/sim/report.c \
    %D%/sim/timeline.h %D%/sim/timeline.c \
    %D%/sim/pcoll_sim.c
nodist_pcoll_sim_SOURCES = %D%/sim/timeline_html.c
pcoll_sim_LDADD = %D%/libtools.a libpcoll.a $(JSON_LIBS) -lm
CLEANFILES += %D%/sim/timeline_html.c

%D%/sim/timeline_html.c: %D%/sim/timeline.html maint/text-to-c
	$(AM_V_GEN)$(MKDIR_P) %D%/sim && $(PYTHON3) $(srcdir)/maint/text-to-c \
	    pcoll_timeline_html $(srcdir)/%D%/sim/timeline.html >$@.tmp && mv $@.tmp $@

# What the programs share, and what they consist of that has unit tests.
noinst_LIBRARIES += %D%/libtools.a
%C%_libtools_a_SOURCES = \
    %D%/cli.h %D%/cli.c \
    %D%/draw.h %D%/draw.c \
    %D%/gnuplot.h %D%/gnuplot.c \
    %D%/lines.h %D%/lines.c \
    %D%/probes.h %D%/probes.c \
    %D%/robust.h %D%/robust.c \
    %D%/sim/goal.h %D%/sim/goal.c \
    %D%/sim/node_file.h %D%/sim/node_file.c \
    %D%/sim/resources.h %D%/sim/resources.c \
    %D%/sim/schedule.h %D%/sim/schedule.c
if HAVE_HWLOC
%C%_libtools_a_SOURCES += %D%/places.h %D%/places.c
endif HAVE_HWLOC
%C%_libtools_a_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)

# pcoll-tune, as far as it needs MPI.
tune_sources = \
    %D%/tune.h %D%/pcoll_tune.c %D%/tune_correct.c %D%/tune_levels.c %D%/tune_local.c \
    %D%/tune_options.c %D%/tune_pair.c %D%/tune_plot.c %D%/tune_race.c \
    %D%/tune_shots.h %D%/tune_shots.c %D%/tune_stage.c %D%/tune_wait.c
EXTRA_DIST += $(tune_sources) %D%/README.md %D%/sim/README.md %D%/sim/timeline.html
