# pcoll-sim and its engine; only in our own build, not in MPICH's.
libpcoll_a_SOURCES += \
    %D%/contents.h %D%/contents.c \
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
    %D%/trace.h %D%/trace.c \
    %D%/walk.h %D%/walk.c

bin_PROGRAMS += %D%/pcoll-sim
%C%_pcoll_sim_SOURCES = \
    %D%/options.h %D%/options.c \
    %D%/help.c \
    %D%/plot.c \
    %D%/report.c \
    %D%/timeline.h %D%/timeline.c %D%/timeline_page.c %D%/timeline_trace.c \
    %D%/pcoll_sim.c
nodist_%C%_pcoll_sim_SOURCES = %D%/timeline_html.c
CLEANFILES += %D%/timeline_html.c
EXTRA_DIST += %D%/timeline.html

%D%/timeline_html.c: %D%/timeline.html maint/text-to-c
	$(AM_V_GEN)$(MKDIR_P) %D% && $(PYTHON3) $(srcdir)/maint/text-to-c \
	    pcoll_timeline_html $(srcdir)/%D%/timeline.html >$@.tmp && mv $@.tmp $@

%C%_pcoll_sim_LDADD = tuning/tools/libtools.a libpcoll.a $(JSON_LIBS) -lm
