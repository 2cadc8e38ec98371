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
    dnl libfabric is there where it is MPICH's own network.
    AM_CONDITIONAL([BUILD_CH4_COLL_LIBFABRIC],
        [test "$with_coll" = "offload" && echo " $ch4_netmods " | grep -q " ofi "])
    AM_COND_IF([BUILD_CH4_COLL_OFFLOAD],
        [AC_DEFINE([MPIDI_CH4_COLL_OFFLOAD], [1],
                   [Define to run persistent collectives as plans of deferred work])])
])

AC_DEFUN([PAC_SUBCFG_BODY_]PAC_SUBCFG_AUTO_SUFFIX,[
    AM_COND_IF([BUILD_CH4_COLL_OFFLOAD],
        [AC_MSG_NOTICE([Persistent collectives: plans of deferred work (--with-coll=offload)])
         AC_CHECK_FUNCS([process_vm_readv process_vm_writev])])
])

[#] end of __file__
