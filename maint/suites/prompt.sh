# Processes that start at once; sourced by maint/check.
#
# Debian's libfabric is linked to the libraries of two kinds of old hardware, which sleep 0.2 s in every
# process before main to see how fast the processor's clock runs, and two of its providers read all
# symbols of the kernel, for 0.08 s. Tests start thousands of processes. On a machine without such
# hardware the programs of `unit`, `tables`, `mpi`, `mpich`, `hosts` and the sanitizers run with libraries
# of the same names that do nothing; `instructions`, `dist` and the tests of pcoll-tune with the system's.
# What is preloaded also yields the core where libfabric finds nothing on its sockets (test/prompt.c); what
# tests how waiting ranks share cores runs with PCOLL_TEST_SPINS=1. The runtime of a sanitizer, which must
# be the first library, is linked statically.

prompt=$build/prompt

# stub FABRIC LIBRARY [VERSION]: a library with those functions of LIBRARY that libfabric calls; each fails.
stub() {
    local version=()
    nm -D --defined-only "$(dirname "$1")/$2" | awk '{ sub("@.*", "", $3); print $3 }' | sort -u >defined
    nm -D --undefined-only "$1" | awk '{ sub("@.*", "", $2); print $2 }' | sort -u | comm -12 - defined |
        awk '{ print "int " $1 "(void) { return 1; }" }' >stub.c
    [ -s stub.c ]
    if [ -n "${3-}" ]; then
        echo "$3 { global: *; };" >stub.map
        version=(-Wl,--version-script=stub.map)
    fi
    gcc -w -shared -fPIC -Wl,-soname,"$2" "${version[@]}" -o "$2" stub.c
}

make_prompt() {
    local fabric
    rm -rf "$prompt"
    mkdir -p "$prompt"
    cd "$prompt"
    fabric=$(PKG_CONFIG_PATH= pkg-config --variable=libdir libfabric)/libfabric.so.1
    ! ls /dev/hfi1* /dev/ipath* /sys/class/infiniband/* >&2
    stub "$fabric" libpsm2.so.2 PSM2_1.0
    stub "$fabric" libpsm_infinipath.so.1
    gcc -O2 -shared -fPIC -o prompt.so "$repo/test/prompt.c"
    printf '#include <rdma/fabric.h>\nint main(void) { return fi_version() == 0; }\n' |
        gcc -x c - -o probe -lfabric
    LD_LIBRARY_PATH=$prompt LD_PRELOAD=$prompt/prompt.so ./probe 2>said
    [ ! -s said ]
    : >ready
}

# Where they cannot be made or do not work, all tests run with the system's libraries.
need_prompt() {
    if [ "$prompt/ready" -nt "$repo/test/prompt.c" ] &&
        [ "$prompt/ready" -nt "$repo/maint/suites/prompt.sh" ]; then
        return
    fi
    run_logged "$results/prompt.log" make_prompt
}

# promptly COMMAND...: run it with these libraries.
promptly() {
    if [ -f "$prompt/ready" ]; then
        LD_LIBRARY_PATH=$prompt${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} LD_PRELOAD=$prompt/prompt.so "$@"
    else
        "$@"
    fi
}
