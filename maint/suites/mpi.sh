# Suites on MPICH with the backend; sourced by maint/check.

# ---- the graft -----------------------------------------------------------------------

# The tree is also needed by what runs beside.
unpack_mpich() {
    check "MPICH: unpack" flock "$results/unpack.lock" "$repo/maint/build" --fetch-only
}

suite_graft() {
    unpack_mpich
    tap graft "$repo/test/graft/graft"
}

suite_stock() {
    unpack_mpich
    tap stock "$repo/test/graft/stock"
}

# ---- MPI -----------------------------------------------------------------------------

built=
need_mpich() {
    [ -n "$built" ] || check "MPICH: build" "$repo/maint/build" --device="$PCOLL_DEVICE" ${PCOLL_MPICH:+"--mpich=$PCOLL_MPICH"}
    built=yes
}

# Configuring MPICH keeps one core busy, so other suites run beside.
suite_mpich_build() {
    unpack_mpich
    need_mpich
}

mpiexec=$build/install/bin/mpiexec
mpicc=$build/install/bin/mpicc # the driver makes a program again whose source has changed

# The interface of tests on one host. libfabric would take the fastest, which may be the bridge of another
# check's hosts (maint/hosts), and no message arrives any more when that is removed.
interface=lo

# Writes MPICH's test driver, set up for our installation, to the current folder. From 4.1 on it is a script
# that takes mpiexec from the environment.
write_runtests() {
    local driver=$build/mpich-src/test/mpi/runtests
    if [ -f "$driver.in" ]; then
        sed -e "s|@PERL@|$(command -v perl)|" -e "s|@MPIEXEC@|$mpiexec|" \
            -e 's/@MPI_IS_STRICT@/false/; s/@MPI_HAS_MPIX@/yes/; s/@RUN_XFAIL@/false/' \
            -e 's/@MPI_SOURCE@//; s/@EXEEXT@//' "$driver.in" >runtests
    else
        cp "$driver" runtests
    fi
    chmod +x runtests
}

# runtests SUITE TESTLIST: run it in the current folder, each test in processes of its own (from 5.0 on the
# driver would run several of MPICH's tests in one).
runtests() {
    local list=$2 huge=/sys/kernel/mm/transparent_hugepage/enabled
    write_runtests
    rm -f "$1.tap"
    : >"$results/$1.log"
    if grep -q 'arg=-expect=huge' "$2" && ! grep -qs '\[always\]\|\[madvise\]' "$huge"; then
        list=$2.small-pages
        grep -v 'arg=-expect=huge' "$2" >"$list"
        report skip "$1: starts -long" "$huge: no huge pages"
    fi
    show_progress "$1" "$(grep -c '^[a-z]' "$list")" &
    local progress=$!
    MPIEXEC=$mpiexec MPICC=$mpicc MPITEST_TIMEOUT_MULTIPLIER=${PCOLL_TIMEOUT_MULTIPLIER:-3} \
        RUNTESTS_SHOWPROGRESS=1 MPITEST_RUN_INDIVIDUAL=1 \
        promptly setsid --wait env ${interface:+"FI_SOCKETS_IFACE=$interface" "FI_TCP_IFACE=$interface"} \
        ./runtests -tests="$list" -tapfile="$1.tap" >"$results/$1.log" 2>&1 || true
    kill "$progress" 2>"$results/kill" || true
    touch "$1.tap"
    count_tap "$1" "$PWD/$1.tap" 0
}

# show_progress SUITE LISTED: print how many of the tests have ended, every half a minute.
show_progress() {
    local start=$SECONDS
    while sleep 30 >&- 2>&- 3>&-; do
        echo "# $1: $(grep -cE '^(not )?ok' "$1.tap" 2>&1 | tail -1) of $2 tests after $((SECONDS - start)) s"
    done >&3
}

# The installed compiler wrapper must work for a user whose ccache is broken or absent.
mpicc_without_ccache() {
    local folder=$results/no-ccache
    mkdir -p "$folder"
    printf '#!/bin/sh\nexit 77\n' >"$folder/ccache"
    chmod +x "$folder/ccache"
    echo '#include <mpi.h>
        int main(void) { return MPI_Init(0, 0) || MPI_Finalize(); }' >"$folder/init.c"
    env -u CCACHE_DIR PATH="$folder:${PATH#"$build/ccache:"}" "$build/install/bin/mpicc" \
        -o "$folder/init" "$folder/init.c"
    "$mpiexec" -n 1 "$folder/init"
    ! grep -rIl ccache "$build/install/bin" "$build/install/include" "$build/install/lib"
}

# own_mpi_tests [-VARIANT [MPICC]]
own_mpi_tests() {
    mkdir -p "$build/test-mpi${1-}"
    cd "$build/test-mpi${1-}"
    make -j"$jobs" -f "$repo/test/mpi/Makefile" MPICC="$build/install${1-}/bin/${2-mpicc}"
}

# From 5.0 on, MPI_Init over `sockets` of libfabric 1.17 sometimes does not end (doc/porting.md): nodes meet over
# TCP, unless the test is of plans over a provider that this would hide.
choose_provider() {
    case ${PCOLL_MPICH-} in
    5.* | main) sed '/NUM_CLIQUES/{/PROVIDER=/!s/$/ env=FI_PROVIDER=tcp;ofi_rxm/}' ;;
    *) cat ;;
    esac
}

# device_list LIST: what can be tested on the device. MPICH on UCX has no libfabric; it does not start without
# UCX, or with some ranks in PID namespaces of their own; and it maps memory while tests count theirs. Plans
# run on MPICH's UCX, and on their own.
device_list() {
    if [ "$PCOLL_DEVICE" = ch4:ofi ]; then
        choose_provider <"$1"
    else
        grep -v 'ofi_\|[_=]provider\|PROVIDER=\|no_ucx\|UCX_TLS=nonsense\|own-pid=[0-9]\|^memory' "$1"
        grep 'MEDIUM=ucx_rma' "$1" | grep -v 'no_ucx\|UCX_TLS=nonsense' |
            sed 's/$/ env=PCOLL_TEST_SHARE_UCX=0/' || true
    fi
}

# version_list: what can be tested on this version of MPICH alone. 4.0.2 hangs where MPI_Init follows
# MPI_Session_init, even without collectives. Since 5.1 a variable can name a broadcast that is no schedule.
version_list() {
    local who
    if [ -n "$PCOLL_MPICH" ]; then
        echo "crowded 3 arg=-one-core arg=-session-first=all arg=-want=plans env=PCOLL_TEST_SPINS=1"
        for who in all 1; do
            echo "promoted 3 arg=-rounds=20 arg=-session-first=$who arg=-rises=coll_offload_promoted_calls" \
                "env=MPIR_CVAR_COLL_OFFLOAD_PROMOTE=all env=PCOLL_TEST_PROMOTE_AFTER=4"
        done
    fi
    [ ! -f "$build/mpich-src/src/mpi/coll/ibcast/ibcast_intra_circ_graph.c" ] ||
        echo "data 3 arg=-max=9000 arg=-starts=2 arg=-only=bcast arg=-algorithm=mpich arg=-want=mpich" \
            "env=MPIR_CVAR_IBCAST_INTRA_ALGORITHM=circ_graph"
}

# machine_list: what depends on the number of cores. If each has a rank, none is free for an agent of the node; a
# single rank has none.
machine_list() {
    local cores
    cores=$(nproc)
    [ "$cores" -lt 2 ] || [ "$cores" -gt 16 ] || echo "data $cores arg=-max=9000 arg=-starts=2 arg=-want=plans arg=-expect=core" \
        "env=MPIR_CVAR_COLL_OFFLOAD_AGENT=node env=PCOLL_TEST_AGENT_FROM=0"
}

# plan_contexts SHARE: print how many contexts of UCX two ranks of MPICH on UCX open for plans.
plan_contexts() {
    cd "$build/test-mpi"
    MPIR_CVAR_NUM_CLIQUES=2 PCOLL_TEST_SHARE_UCX=$1 UCX_LOG_LEVEL=debug \
        "$mpiexec" -n 2 ./data -max=10 -only=barrier -want=plans 2>&1 | grep -c 'created ucp context pcoll'
}

ucx_is_shared() {
    [ "$(plan_contexts 1)" = 0 ] && [ "$(plan_contexts 0)" = 2 ]
}

# MPICH 4.0 on UCX lends plans its context, for which MPI_Init sets the sizes of segments over TCP.
lends_ucx() {
    [ "$PCOLL_DEVICE" = ch4:ucx ] && [ -z "$PCOLL_MPICH" ]
}

# segments_of SETTING...: print the KiB of the segments that MPICH's UCX sends, and receives, over TCP, from
# what UCX says about its buffers; one that receives holds two.
segments_of() {
    cd "$build/test-mpi"
    env UCX_TLS=tcp UCX_LOG_LEVEL=debug "$@" "$mpiexec" -n 1 ./data -max=10 -only=barrier 2>&1 |
        sed -n 's/.* uct_tcp_iface_\(.x\)_buf_mp: .* elemsize \([0-9]*\).*/\1 \2/p' | sort -ur |
        awk '{ print int($2 / ($1 == "tx" ? 1024 : 2048)) }' | paste -sd ' '
}

# segments_are SENT RECEIVED SETTING...
segments_are() {
    local want="$1 $2" found
    shift 2
    found=$(segments_of "$@")
    echo "segments with ${*:-no setting}: $found KiB"
    [ "$found" = "$want" ]
}

segments_of_user_win() {
    segments_are 16 256 UCX_TCP_TX_SEG_SIZE=16k
    segments_are 256 512 UCX_TCP_RX_SEG_SIZE=512k
}

suite_mpi() {
    need_mpich
    check "mpi: mpicc without ccache" mpicc_without_ccache
    check "mpi: build tests" own_mpi_tests
    check_tools
    if lends_ucx; then
        check "mpi: plans share MPICH's UCX" ucx_is_shared
        check "mpi: segments over TCP are set for MPICH's UCX" segments_are 256 256
        check "mpi: a user's segments over TCP win" segments_of_user_win
    fi
    cd "$build/test-mpi"
    { device_list testlist && version_list && machine_list; } >testlist.device
    runtests mpi testlist.device
    "$repo/test/mpi/rows" "$build/install/bin/pcoll-info" \
        "$([ "$PCOLL_TEST_DEPTH" -lt 2 ] || echo all)" | choose_provider >testlist.rows
    runtests mpi-rows testlist.rows
}

# At night: random tests, longer and from a new seed, which is printed, with libfabric's threads spinning;
# and 10,000 communicators, one after the other, whose memory must not grow; and what testlist leaves out.
suite_stress() {
    local ranks seed setting
    need_mpich
    check "mpi: build tests" own_mpi_tests
    cd "$build/test-mpi"
    for ranks in 2 3 4 5 8; do
        seed=$((RANDOM * 32768 + RANDOM))
        echo "# stress on $ranks ranks from seed $seed"
        echo "stress $ranks arg=-seconds=${PCOLL_STRESS_SECONDS:-60} arg=-seed=$seed env=PCOLL_TEST_SPINS=1"
    done | tee testlist.stress | grep '^#'
    for setting in "" " env=MPIR_CVAR_NUM_CLIQUES=2 env=MPIR_CVAR_COLL_OFFLOAD_PROVIDER=tcp;ofi_rxm"; do
        echo "departure 2 arg=-comms=10000 arg=-timeout=1500 timeLimit=500$setting"
    done >>testlist.stress
    cat testlist.nightly >>testlist.stress
    runtests stress testlist.stress
}

# A Start, a Wait and an init may take more instructions only on purpose.
suite_instructions() {
    if ! command -v valgrind >/dev/null; then
        report skip "instructions of Start, Wait and init" "valgrind is not installed"
        return
    fi
    need_mpich
    check "instructions of Start, Wait and init" "$repo/maint/instructions" \
        --prefix="$build/install" --check="$repo/test/instructions.tsv"
    sed 's/^/# /' "$results"/instructions-of-Start--Wait-and-init.log
}

configure_mpich_tests() {
    local source=$build/mpich-src/test/mpi
    mkdir -p "$build/test-mpich"
    cd "$build/test-mpich"
    [ -f coll/Makefile ] || "$source/configure" --with-mpi="$build/install" --disable-fortran \
        --disable-cxx --disable-romio --disable-spawn --srcdir=../mpich-src/test/mpi
    make -j"$jobs" -C util
    make -j"$jobs" -C dtpools
}

# MPICH's persistent programs on the numbers of ranks that MPICH lists (2 to 10), on 3 (at night also on
# 2), and those that run as plans on more. (p_order requires 2 ranks, p_gatherv a divisor of 10.)
write_mpich_testlist() {
    local listed=$build/mpich-src/test/mpi/coll/testlist.in
    grep '^p_' "$listed"
    grep '^p_' "$listed" | awk -v least=$((PCOLL_TEST_DEPTH < 2 ? 3 : 2)) \
        '{ for ($2 = least; $2 <= 3; $2++) print }' | grep -v 'p_order\|p_gatherv 3'
    printf '%s strict=false\n' 'p_barrier 7' 'p_bcast 9' 'p_bcast2 10' 'p_allgather 6'
}

# MPICH's programs of ordinary collectives that plans may serve, each with plans from the second call of a kind on; at
# night all programs on all numbers of ranks.
write_promoted_testlist() {
    local listed=$build/mpich-src/test/mpi/coll/testlist.in
    if [ "$PCOLL_TEST_DEPTH" -lt 2 ]; then
        grep -E '^(allgatherv4|allred[2-6]|allredmany|bcasttest|bcastzerotype|exscan2|gather2?|longuser|op(prod|sum|max)|reduce|scantst|scatter[2n]) [2-5]( |$)' "$listed" |
            sort -u -k 1,1
    else
        grep '^[a-z]' "$listed" | grep -v '^p_\|^coll_large\|mem=' # these need gigabytes
    fi | sed 's/$/ env=MPIR_CVAR_COLL_OFFLOAD_PROMOTE=all env=PCOLL_TEST_PROMOTE_AFTER=4/'
}

# test_variant VARIANT MPICC TESTLIST: the test programs on another build of MPICH.
test_variant() {
    local mpiexec=$build/install-$1/bin/mpiexec mpicc=$build/install-$1/bin/$2
    check "MPICH: build, variant $1" "$repo/maint/build" ${PCOLL_MPICH:+"--mpich=$PCOLL_MPICH"} "--variant=$1"
    check "$1: build tests" own_mpi_tests "-$1" "$2"
    cd "$build/test-mpi-$1" && runtests "$1" "$3"
}

# MPICH 5 has a second library, with the ABI of the standard.
suite_abi() {
    unpack_mpich
    if [ ! -f "$build/mpich-src/src/binding/abi/mpi_abi.h" ]; then
        report skip "abi" "this MPICH has no ABI library"
        return
    fi
    test_variant abi mpicc_abi testlist
}

# A lock for each VCI is the default from 4.1 on.
suite_per_vci() {
    test_variant per_vci mpicc testlist.threads
}

suite_mpich() {
    need_mpich
    check "mpich: configure tests" configure_mpich_tests
    cd "$build/test-mpich/coll"
    write_mpich_testlist >testlist.persistent
    runtests mpich testlist.persistent
    write_promoted_testlist >testlist.promoted
    runtests mpich-promoted testlist.promoted
}

# The MPI suites on the other supported versions, as far as their trees lie in the cache folder or have been
# built here. main is MPICH's development branch: a tree of mpich-main, whatever its version.
mpich_versions="4.1.3 4.2.3 4.3.2 5.0.1 main"

suite_versions() {
    local version log
    for version in $mpich_versions; do
        if [ ! -d "$repo/build/$version/mpich-src" ] && ! cached_mpich "$version" >"$results/cached"; then
            report skip "versions: MPICH $version" "mpich-$version is not in $cache"
            continue
        fi
        log=$results/versions-$version.log
        "$repo/maint/check" "--mpich=$version" mpi mpich >"$log" 2>&1 || true
        sed -n '/^not ok/p' "$log"
        if grep -q '^[0-9]* passed, 0 failed' "$log"; then
            report ok "versions: MPICH $version: $(tail -n 1 "$log")"
        else
            report not "versions: MPICH $version: $(tail -n 1 "$log")" "$log"
        fi
    done
}
