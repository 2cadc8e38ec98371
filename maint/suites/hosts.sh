# Suites of maint/check on several hosts (maint/hosts); sourced by it.

# ---- several hosts -------------------------------------------------------------------

# with_hosts COMMAND...: run it if this machine can have hosts; they have a name of their own, and only
# one check at a time uses them.
with_hosts() {
    local why interface='' mpiexec="$repo/maint/hosts run"
    local -x FI_PROVIDER=${FI_PROVIDER:-tcp}
    export PCOLL_HOSTS=pcheck PCOLL_PREFIX=$build/install # also for the trap
    if ! why=$("$repo/maint/hosts" try 2>&1); then
        report skip hosts "$why"
        return
    fi
    need_mpich
    check "mpi: build tests" own_mpi_tests
    exec 8>/run/pcoll-hosts/check
    flock --nonblock 8 || { echo "waiting for another maint/check" && flock 8; }
    trap '"$repo/maint/hosts" down' EXIT
    "$@"
    "$repo/maint/hosts" down
    exec 8>&-
    trap - EXIT
}

some_on_hosts() {
    promptly tap hosts "$repo/test/hosts/hosts"
    promptly tap hosts-rails "$repo/test/hosts/rails"
    promptly tap hosts-failures "$repo/test/hosts/failures" killed cut_tcp cut_ucx cut_kernel
    check "hosts: up 4" "$repo/maint/hosts" up 4
    check "hosts: pcoll-tune on 3 hosts" measure_table tune-hosts \
        "$repo/maint/hosts" run --map=2+1+1 -n 4
    [ "$PCOLL_DEVICE" != ch4:ofi ] || [ "$(nproc)" = 1 ] || check "hosts: maint/compare --series" series_on_hosts
    cd "$build/test-mpi"
    device_list testlist.hosts >testlist.device
    runtests hosts-mpi testlist.device
}

# Each setting has a row with all figures. (Open MPI, which a person may add, may be installed without its headers.)
series_on_hosts() {
    local file=$results/series-hosts.json
    rm -f "$file"
    timeout 300 "$repo/maint/compare" -n 4 --hosts=1 --prefix="$build/install" --quick --rounds=1 --coll=bcast --sizes=8K \
        --series --away=2 --algorithm=chain --peers=kernel,thread --json="$file" >"$results/series-hosts.txt"
    PYTHONPATH=$repo/maint PYTHONDONTWRITEBYTECODE=1 python3 -c 'import results, sys
rows = {row[0]: row[2:] for row in results.read(sys.argv[1])["rows"]}
sys.exit(set(rows) != {"bcast, tcp_kernel", "bcast, plan, a thread"} or
         any(value is None for row in rows.values() for value in row))' "$file"
}

# Cells of the matrix: HOSTSxRANKS_ON_EACH, or 3+1.
cells="2x1 3x1 4x1 8x1 2x2 3x2 4x2 8x2 3+1"

# matrix_list RANKS: print the lines of testlist.matrix for that number of ranks.
matrix_list() {
    awk -v n="$1" '/^[a-z]/ { split($2, of, "-"); if (of[2] == "") of[2] = of[1]
        if (of[1] <= n && n <= of[2]) { $2 = n; print } }' testlist.matrix
}

# matrix_mpich_list RANKS MEDIUM: print MPICH's persistent programs for that number of ranks. With more
# than 4 ranks, and on ofi_trigger, only those that run as plans. (p_order requires 2 ranks, p_gatherv
# a divisor of 10.)
matrix_mpich_list() {
    grep '^p_' "$build/mpich-src/test/mpi/coll/testlist.in" | awk -v n="$1" -v medium="$2" '
        $1 == "p_order" && n != 2 || $1 == "p_gatherv" && 10 % n { next }
        (n > 4 || medium == "trigger") && $1 !~ /^p_(barrier|bcast|bcast2|allgather|order)$/ { next }
        !seen[$1]++ { $2 = n; print }'
}

# matrix_cell CELL NAME
matrix_cell() {
    local ranks ppn run=$mpiexec p=$passed f=$failed start=$SECONDS mpiexec
    case $1 in
    3+1) ranks=4 ppn=3 ;;
    *) ranks=$((${1%x*} * ${1#*x})) ppn=${1#*x} ;;
    esac
    mpiexec="$run -ppn $ppn"
    cd "$build/test-mpi"
    matrix_list $ranks >testlist.cell
    runtests "matrix-$2-$1" testlist.cell
    cd "$build/test-mpich/coll"
    matrix_mpich_list $ranks "$2" >testlist.cell
    runtests "matrix-$2-$1-mpich" testlist.cell
    echo "# $2 $1: $((passed - p)) passed, $((failed - f)) failed, $((SECONDS - start)) s"
}

# matrix NAME SETTING...: run all cells with these variables, or only those in PCOLL_CELLS if it is set; nothing if
# PCOLL_MATRIX is set and lacks the name.
matrix() {
    local cell setting name=$1
    [[ " ${PCOLL_MATRIX:-$name} " = *" $name "* ]] || return 0
    shift
    for setting in "$@"; do
        local -x "$setting"
    done
    for cell in ${PCOLL_CELLS:-$cells}; do
        matrix_cell "$cell" "$name"
    done
}

# find_kernel: set by_kernel unless this machine refuses io_uring, as containers do; a message says why.
find_kernel() {
    local said=$results/hosts-kernel.log
    cd "$build/test-mpi"
    MPIR_CVAR_COLL_OFFLOAD_MEDIUM=tcp_kernel timeout 60 $mpiexec -n 2 -ppn 1 ./data -only=barrier >"$said" 2>&1 || true
    by_kernel=yes
    ! grep -q 'tcp_kernel: ' "$said" || { by_kernel= && report skip "hosts: tcp_kernel" "$(grep -m 1 'tcp_kernel: ' "$said")"; }
}

# On libfabric: each of its providers and media, and plans over UCX beside it.
matrix_ofi() {
    local trigger=MPIR_CVAR_COLL_OFFLOAD_MEDIUM=ofi_trigger
    matrix tcp FI_PROVIDER=tcp
    matrix sockets FI_PROVIDER=sockets FI_SOCKETS_PE_WAITTIME=0
    matrix ucx FI_PROVIDER=tcp MPIR_CVAR_COLL_OFFLOAD_MEDIUM=ucx_rma
    matrix trigger FI_PROVIDER=sockets FI_SOCKETS_PE_WAITTIME=0 $trigger
    [ -z "$by_kernel" ] || matrix kernel FI_PROVIDER=tcp MPIR_CVAR_COLL_OFFLOAD_MEDIUM=tcp_kernel
}

# On UCX: plans on MPICH's UCX, and on their own.
matrix_ucx() {
    matrix ucx PCOLL_TEST_SHARE_UCX=1
    matrix ucx-own PCOLL_TEST_SHARE_UCX=0
}

all_on_hosts() {
    local by_kernel
    check "mpich: configure tests" configure_mpich_tests
    [ "$PCOLL_DEVICE" != ch4:ofi ] ||
        promptly tap hosts-failures-sockets "$repo/test/hosts/failures" cut_sockets
    check "hosts: up 8" "$repo/maint/hosts" up 8
    find_kernel
    cd "$build/test-mpi"
    device_list testlist.long >testlist.device
    [ -n "$by_kernel" ] || sed -i /tcp_kernel/d testlist.device
    runtests hosts-long testlist.device
    "matrix_${PCOLL_DEVICE#ch4:}"
}

suite_hosts() {
    with_hosts some_on_hosts
}

suite_hosts_all() {
    with_hosts all_on_hosts
}
