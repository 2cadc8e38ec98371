[#] start of __file__
dnl MPICH_SUBCFG_AFTER=src/mpid/ch4

dnl --with-coll=offload: run persistent collectives as plans (device ch4 only).
AC_DEFUN([PAC_SUBCFG_PREREQ_]PAC_SUBCFG_AUTO_SUFFIX,[
    AC_ARG_WITH([coll],
        [AS_HELP_STRING([--with-coll=offload],
                        [run persistent collectives as plans of deferred work (ch4 only)])],
        [], [with_coll=no])
    AS_CASE([$with_coll],
        [no|offload], [],
        [AC_MSG_ERROR([--with-coll=$with_coll: unknown, the only value is "offload"])])
    AS_IF([test "$with_coll" = "offload" && test "$device_name" != "ch4"],
        [AC_MSG_WARN([--with-coll=offload needs --with-device=ch4; ignored for $device_name])
         with_coll=no])
    AM_CONDITIONAL([BUILD_CH4_COLL_OFFLOAD], [test "$with_coll" = "offload"])
    AC_ARG_WITH([coll-wires],
        [AS_HELP_STRING([--with-coll-wires=LIST],
                        [libraries for plans between nodes: a list of ofi, ucx and uring, as ofi,uring
                         (default: those whose headers are there; ofi only with ch4:ofi)])],
        [], [with_coll_wires=auto])
    AS_IF([test "$with_coll" = "offload"],
        [for wire in `echo "$with_coll_wires" | tr , ' '` ; do
             AS_CASE([$wire],
                 [auto|ucx|uring], [],
                 [ofi], [echo " $ch4_netmods " | grep -q " ofi " ||
                     AC_MSG_ERROR([--with-coll-wires=ofi needs --with-device=ch4:ofi])],
                 [AC_MSG_ERROR([--with-coll-wires: '$wire' is unknown, allowed are ofi, ucx and uring])])
         done])
    AM_CONDITIONAL([BUILD_CH4_COLL_LIBFABRIC],
        [test "$with_coll" = "offload" && echo " $ch4_netmods " | grep -q " ofi " &&
         echo ",$with_coll_wires," | grep -q ",auto,\|,ofi,"])
    dnl UCX is loaded at run time; only its headers are needed here.
    pcoll_have_ucx=no
    AS_IF([test "$with_coll" = "offload" && echo ",$with_coll_wires," | grep -q ",auto,\|,ucx,"],
        [AS_IF([echo "@%:@include <ucp/api/ucp.h>" | ${CC-cc} $CPPFLAGS -E - >/dev/null 2>&1],
             [pcoll_have_ucx=yes],
             [test "$with_coll_wires" != auto],
             [AC_MSG_ERROR([--with-coll-wires=ucx needs ucp/api/ucp.h of UCX in CPPFLAGS])])])
    AM_CONDITIONAL([BUILD_CH4_COLL_UCX], [test "$pcoll_have_ucx" = yes])
    dnl liburing 2.3 or later.
    pcoll_have_uring=no
    AS_IF([test "$with_coll" = "offload" && echo ",$with_coll_wires," | grep -q ",auto,\|,uring,"],
        [AS_IF([printf '%s\n' '@%:@include <liburing.h>' \
                    'int main(void) { return io_uring_register_sync_cancel(0, 0); }' |
                ${CC-cc} -D_GNU_SOURCE $CPPFLAGS $LDFLAGS -x c - -o conftest.uring -luring >/dev/null 2>&1],
             [pcoll_have_uring=yes],
             [test "$with_coll_wires" != auto],
             [AC_MSG_ERROR([--with-coll-wires=uring needs liburing 2.3 or later])])
         rm -f conftest.uring])
    AM_CONDITIONAL([BUILD_CH4_COLL_URING], [test "$pcoll_have_uring" = yes])
    AM_COND_IF([BUILD_CH4_COLL_OFFLOAD],
        [AC_DEFINE([MPIDI_CH4_COLL_OFFLOAD], [1],
                   [Define to run persistent collectives as plans of deferred work])])
])

AC_DEFUN([PAC_SUBCFG_BODY_]PAC_SUBCFG_AUTO_SUFFIX,[
    AM_COND_IF([BUILD_CH4_COLL_OFFLOAD],
        [AC_MSG_NOTICE([Persistent collectives: plans of deferred work (--with-coll=offload)])
         AC_SEARCH_LIBS([dlopen], [dl])
         AM_COND_IF([BUILD_CH4_COLL_URING],
             [AC_SEARCH_LIBS([io_uring_register_sync_cancel], [uring])])
         AC_CHECK_FUNCS([process_vm_readv process_vm_writev])])
])

[#] end of __file__
