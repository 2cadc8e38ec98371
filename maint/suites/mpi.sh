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

# measure_table NAME MPIEXEC...: a table measured in two seconds is a valid tuning table, without rules of other machines.
measure_table() {
    local table=$results/$1.json
    shift
    rm -f "$table"
    timeout 200 "$@" "$build/install/bin/pcoll-tune" --seconds=2 -o "$table"
    "$build/install/bin/pcoll-info" --check --table="$table"
    ! grep '"rules"' "$table" || return 1
}

# The data files contain all points, whether or not gnuplot is installed.
draw_candidates() {
    local folder=$results/plot
    rm -rf "$folder"
    timeout 600 "$mpiexec" -n 2 "$build/install/bin/pcoll-tune" --seconds=1 -o "$folder.json" \
        --plot="$folder"
    [ "$(grep -c '^[0-9]' "$folder/bcast.dat")" -gt 50 ]
    [ "$(sed -n '/# chosen/,$p' "$folder/allgather.dat" | grep -c '^[0-9]')" -ge 14 ]
}

# Each setting has a line in the table and a block in the data; Open MPI may be missing.
compare_overlap() {
    local folder=$results/series
    rm -rf "$folder"
    timeout 600 "$repo/maint/compare" -n 2 --prefix="$build/install" --quick --rounds=1 --coll=bcast \
        --sizes=64K --peers=ours,thread,off --overlap --series --plot="$folder" >"$folder.txt"
    [ "$(grep -c '^bcast *64K ours offload .* %' "$folder.txt")" = 1 ]
    [ "$(grep -c '^bcast *64K' "$folder.txt")" = 8 ] # ours, thread; off: stock and nonblocking
    [ "$(grep -c '^65536 ' "$folder/bcast.dat")" = 4 ]
    ! grep -q '^65536.*?.*? ?' "$folder/bcast.dat"
}

# compare_json: a file of results has a row for each point, with the backend and a peer, and maint/measured can read it.
compare_json() {
    local file=$results/compare.json
    rm -f "$file"
    timeout 600 "$repo/maint/compare" -n 2 --prefix="$build/install" --quick --rounds=1 --coll=barrier,bcast \
        --sizes=8 --peers=ours,off --json="$file" >"$results/compare.txt"
    grep '^bcast' "$results/compare.txt"
    PYTHONPATH=$repo/maint PYTHONDONTWRITEBYTECODE=1 python3 -c 'import results, sys
rows = {tuple(row[:2]): row[2:] for row in results.read(sys.argv[1])["rows"]}
sys.exit(set(rows) != {("barrier", "-"), ("bcast", "8")} or
         not all(row[0] and row[3] and row[6] and row[7] for row in rows.values()))' "$file"
    [ "$(sed -n '/^first use/,$p' "$results/compare.txt" | grep -c '^bcast .*[0-9]$')" = 1 ]
}

# The peer in build/5.0.1 runs without plans, and throttled only where ranks outnumber cores. Here it is our MPICH under
# another name, and mpiexec keeps its settings.
compare_mpich5() {
    local tree=$results/peers bin=$results/peers/build/5.0.1/install-stock/bin
    rm -rf "$tree"
    mkdir -p "$bin"
    cp -r "$repo/maint" "$repo/bench" "$tree"
    printf '#!/bin/sh\nexec %q "$@"\n' "$mpicc" >"$bin/mpicc"
    printf '#!/bin/sh\nenv >%q\nexec %q "$@"\n' "$tree/env" "$mpiexec" >"$bin/mpiexec"
    chmod +x "$bin"/*
    timeout 600 "$tree/maint/compare" -n $(($(nproc) + 1)) --quick --rounds=1 --coll=barrier \
        --peers=mpich5 >"$results/peers.txt"
    grep -q '^barrier .* mpich5 ' "$results/peers.txt"
    grep -q '^MPIR_CVAR_BCAST_INIT_DEVICE_COLLECTIVE=0' "$tree/env"
    [ "$(grep -c '^MPIR_CVAR_CH4_PROGRESS_THROTTLE.*=1' "$tree/env")" = 2 ]
    timeout 600 "$tree/maint/compare" -n 1 --quick --rounds=1 --coll=barrier --peers=mpich5 >"$results/peers.txt"
    [ "$(grep -c THROTTLE "$tree/env")" = 0 ]
}

# What is packed runs elsewhere, and each collective has a row of results.
many_cores() {
    local folder=$results/many-cores out=$results/many-cores-results
    rm -rf "$folder" "$out"
    "$repo/maint/many-cores" pack --folder="$folder" --build="$build"
    mv "$folder" "$folder.moved"
    "$repo/maint/many-cores" run --folder="$folder.moved" --out="$out" --ranks=2 --sizes=8 --seconds=400 \
        --steps=machine,bench,judge,data
    rm -r "$folder.moved"
    PYTHONPATH=$repo/maint PYTHONDONTWRITEBYTECODE=1 python3 -c 'import json, results, sys
rows = results.read(sys.argv[1] + "/2-ranks.json")["rows"]
data = json.load(open(sys.argv[1] + "/data.json"))
judged = open(sys.argv[1] + "/untuned2.json").readlines()
print(len(rows), len(data), len(judged), [row for row in rows if not row[-1]], [test for test in data if not test["right"]])
sys.exit(not (len(rows) == len(judged) == 22 and all(row[-1] and row[3] for row in rows) and
              len(data) > 3 and all(test["right"] for test in data)))' "$out"
}

# The header says so, and the data that is verified is right, also in strided faces.
bench_uses_data() {
    local said=$results/use-data.txt
    timeout 300 "$mpiexec" -n 2 "$build/install/bin/pcoll-bench" --quick --use-data --variants=offload \
        --coll=allreduce,neighbor_alltoallw --sizes=64,8K >"$said"
    grep -q 'with data in use' "$said" && [ "$(grep -c ' yes$' "$said")" = 4 ]
}

# preload_slow_first FILE: the first broadcast sleeps 100, 200 and 400 ms in init, start and free of a request, and 100
# ms in its nonblocking call.
preload_slow_first() {
    echo '#include <mpi.h>
        #include <unistd.h>
        static int next;
        static void pass(int step) { if (next == step) { next++; usleep(100000 << step); } }
        int MPI_Bcast_init(void *b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Info i, MPI_Request *r)
        { pass(0); return PMPI_Bcast_init(b, n, t, root, c, i, r); }
        int MPI_Start(MPI_Request *r) { pass(1); return PMPI_Start(r); }
        int MPI_Request_free(MPI_Request *r) { pass(2); return PMPI_Request_free(r); }
        int MPI_Ibcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *r)
        { static int called; if (!called++) usleep(100000); return PMPI_Ibcast(b, n, t, root, c, r); }' >"$1.c"
    "$mpicc" -shared -fPIC -o "$1" "$1.c"
}

# The first use of a row contains what only the first broadcast of the job does, and has one sample.
bench_first_use() {
    local said=$results/first.txt json=$results/first.json slow=$results/slow_first.so
    preload_slow_first "$slow"
    timeout 100 "$mpiexec" -n 2 env LD_PRELOAD="$slow" "$build/install/bin/pcoll-bench" --quick \
        --variants=offload,nonblocking --coll=bcast --sizes=8 -o "$json" >"$said"
    grep -q ' offload.first nonblocking.first' "$said"
    grep -q ' first barrier .* offload [0-9]' "$said"
    python3 -c 'import json, sys
found = json.load(open(sys.argv[1]))
first, call = (found["rows"][0]["results"][name + ".first"] for name in ("offload", "nonblocking"))
print(first, call, found["start_up_us"])
sys.exit(not (first["us"] > 7e5 and call["us"] > 1e5 and first["batches"] == call["batches"] == 1 and
              set(found["start_up_us"]) == {"offload", "nonblocking"}))' "$json"
}

# All collectives, whose requests are used once; the options that need one request are refused.
bench_once() {
    local said=$results/once.txt json=$results/once.json bench=("$mpiexec" -n 2 "$build/install/bin/pcoll-bench" --once)
    timeout 300 "${bench[@]}" --quick --variants=offload,nonblocking,ihalo --sizes=64,64K --iterations=20 --batches=5 \
        -o "$json" >"$said"
    python3 -c 'import json, sys
found = json.load(open(sys.argv[1]))
names = {name for row in found["rows"] for name in row["results"]} - {"flag", "readv"}
print(names, len(found["rows"]))
sys.exit(not (found["once"] and len({row["collective"] for row in found["rows"]}) == 22 and
              names == {"offload", "nonblocking", "offload.first", "nonblocking.first"} and
              all(row["results"]["offload"]["right"] for row in found["rows"])))' "$json"
    ! timeout 100 "${bench[@]}" --series >"$said" 2>&1 && grep -q -e '--once does not go with' "$said"
}

# A rank that does not exist would compute nothing, and all would seem hidden. Others are timed, too, and ranks may
# test while they compute.
bench_away() {
    local said=$results/away.txt bench=("$mpiexec" -n 2 "$build/install/bin/pcoll-bench" --quick --variants=offload
        --coll=bcast --sizes=1M --overlap)
    timeout 100 "${bench[@]}" --away=1 >"$said" && [ "$(grep -c '^bcast .*%' "$said")" = 1 ]
    grep -q 'offload.cpu offload.others' "$said"
    timeout 100 "${bench[@]}" --away=1 --tests=1 --json >"$said" && grep -q '"offload.others"' "$said"
    ! timeout 100 "${bench[@]}" --away=2 >"$said" 2>&1 && grep -q 'away=2 is not among the 2 ranks' "$said"
}

# What cannot run is refused before anything is measured, and a file that cannot be written is no success.
bench_refuses() {
    local said=$results/bench-refusal bench=(timeout 100 "$mpiexec" -n 2 "$build/install/bin/pcoll-bench" --quick
        --variants=offload --coll=allreduce)
    ! "${bench[@]}" --sizes=8 -o "$results/no/such/folder" >"$said" 2>&1 || return 1
    grep -q 'pcoll-bench: .*/no/such/folder: No such file' "$said"
    ! grep -q '^allreduce' "$said" || return 1
    ! "${bench[@]}" --sizes=8 -o /dev/full >"$said" 2>&1 || return 1
    grep -q 'pcoll-bench: /dev/full: No space left' "$said"
    ! "${bench[@]}" --sizes=7 >"$said" 2>&1 || return 1
    grep -q 'multiples of 8' "$said"
    ! "${bench[@]}" --sizes=8 --root=-2 >"$said" 2>&1 || return 1
    grep -q 'bad value for an option: .*-2' "$said"
}

# The table contains what was measured, and the judgement has a line for each call.
correct_and_judge() {
    local table=$results/corrected.json judged=$results/judged.json calls corrected
    local tune=(timeout 300 "$mpiexec" -n 3 "$build/install/bin/pcoll-tune")
    rm -f "$table" "$judged"
    "${tune[@]}" --seconds=0 --correct --sizes=8,8K -o "$table"
    "$build/install/bin/pcoll-info" --check --table="$table"
    corrected=$(sed '1,/"corrections"/d' "$table" | grep -o '"coll": "[a-z_]*"' | sort -u | wc -l)
    calls=$("$build/install/bin/pcoll-info" --algorithms | cut -d' ' -f1 | sort -u | wc -l)
    [ "$corrected" = "$calls" ]
    "${tune[@]}" --base="$table" --judge="$judged" --sizes=60,1M # a reduction's are whole doubles
    [ "$(grep -c '"measured"' "$judged")" = $((2 * calls - 1)) ] # a barrier has one size
}

# Factors are those of the model alone, whatever those of the base table were: not 100,000 times as large.
correct_again() {
    local table=$results/corrected.json base=$results/absurd.json again=$results/again.json
    sed -E '/"factor"/s/[0-9][0-9.e+-]*([],])/1e-05\1/g' "$table" >"$base"
    timeout 300 "$mpiexec" -n 3 "$build/install/bin/pcoll-tune" --base="$base" --seconds=0 --correct --sizes=8,8K -o "$again"
    [ "$(grep '"factor"' "$base" | grep -cv '1e-05')" = 0 ]
    ! grep -E '"factor".*([[ ][0-9]{4}|e[+-])' "$again"
}

# A rule whose ring the model would not choose, and an algorithm that is named twice, run beside the model's choice
# of the same path: a correction has one point for each size.
correct_beside_rule() {
    local base=$results/rule.json table=$results/beside.json tune
    tune=(timeout 300 "$mpiexec" -n 2 "$build/install/bin/pcoll-tune" --seconds=0 --correct --sizes=8,8K -o "$table")
    PYTHONDONTWRITEBYTECODE=1 python3 -c 'import json, sys
table = json.load(open(sys.argv[1]))
table["rules"] = [{"coll": "bcast", "algorithm": "eager", "path": "temp", "slots": slots, "bytes": [size, size]}
                  for size, slots in ((8, 64), (8192, 4))]
json.dump(table, open(sys.argv[2], "w"), indent=1)' "$repo/tuning/data/default.json" "$base"
    "${tune[@]}" --base="$base"
    "$build/install/bin/pcoll-info" --check --table="$table"
    "${tune[@]}" --algorithms=eager,eager
    "$build/install/bin/pcoll-info" --check --table="$table"
}

# maint/cvars takes the names from PCOLL_ALGORITHMS, not from the rows.
variables_name_algorithms() {
    local coll name
    "$build/install/bin/mpivars" >"$results/mpivars"
    while read -r coll name _; do
        grep -q "MPIR_CVAR_${coll^^}_INIT_ALGORITHM *=auto.*\b$name\b" "$results/mpivars" ||
            die "the text of MPIR_CVAR_${coll^^}_INIT_ALGORITHM lacks $name"
    done < <("$build/install/bin/pcoll-info" --algorithms)
}

# One rank measures nothing, and no empty table takes the place of none.
tune_leaves_nothing() {
    rm -f "$results/nothing.json"
    ! timeout 100 "$mpiexec" -n 1 "$build/install/bin/pcoll-tune" --seconds=1 -o "$results/nothing.json" || return 1
    [ ! -e "$results/nothing.json" ]
}

tune_refuses() { # TEXT OPTION...
    local text=$1
    shift
    ! "$build/install/bin/pcoll-tune" "$@" 2>"$results/refusal" &&
        grep -q -- "$text" "$results/refusal"
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

# Interposed requests serve what is repeated, with right data, and tell the times of each run.
programs_run() {
    local program=$results/ours/repeated list=$results/programs.json runs=$results/programs.runs json=$results/programs-out.json
    mkdir -p "$results/ours"
    rm -f "$runs"
    "$mpicc" -o "$program" "$repo/bench/programs/repeated.c"
    echo "[{\"name\": \"repeated\", \"ranks\": 3, \"command\": \"$results/{library}/repeated\"}]" >"$list"
    timeout 100 "$repo/maint/programs" "$list" -n 3 --rounds=2 --variants=calls,persistent,all --prefix="$build/install" \
        --runs="$runs" --json="$json" --busy
    python3 -c 'import json, sys
runs = [json.loads(line) for line in open(sys.argv[1])]
served = {variant: figures["served"] for _, variant, figures in runs}
print(served)
found = json.load(open(sys.argv[2]))
sys.exit(not (len(runs) == 6 and all(run[2]["calls"] == 9000 for run in runs) and served["calls"] == served["all"] == 0 and
              served["persistent"] == 5928 and found["columns"] == ["calls", "persistent", "all"] and len(found["rows"]) == 3))' \
        "$runs" "$json"
    ! timeout 10 "$repo/maint/programs" "$list" -n 4 2>"$results/programs.txt" &&
        grep -q 'no such program with 4 ranks' "$results/programs.txt" || return
    echo '[{"name": "repeated"}]' >"$list"
    ! timeout 10 "$repo/maint/programs" "$list" 2>"$results/programs.txt" &&
        grep -q "$list: KeyError: 'command'" "$results/programs.txt"
}

suite_mpi() {
    need_mpich
    check "mpi: pcoll-tune on 2 ranks" measure_table tune-2 "$mpiexec" -n 2
    check "mpi: pcoll-tune on 3 ranks" measure_table tune-3 "$mpiexec" -n 3
    check "mpi: pcoll-tune --correct, --judge" correct_and_judge
    check "mpi: pcoll-tune --correct twice" correct_again
    check "mpi: pcoll-tune --correct beside a rule" correct_beside_rule
    check "mpi: pcoll-tune --sizes=8,4" tune_refuses "'4' is not allowed after 8" --sizes=8,4
    check "mpi: pcoll-tune --algorithms=no" tune_refuses "'no' is not allowed" --algorithms=no
    check "mpi: pcoll-tune --media=shm,no" tune_refuses "'no' is not allowed" --media=shm,no
    check "mpi: pcoll-tune --seconds=-1" tune_refuses "'-1' is not allowed" --seconds=-1
    check "mpi: pcoll-tune --judge -o" tune_refuses "--output is not allowed" --judge=x.json -o y.json
    check "mpi: pcoll-tune on 1 rank" tune_leaves_nothing
    check "mpi: pcoll-tune --plot" draw_candidates
    check "mpi: pcoll-bench --use-data" bench_uses_data
    check "mpi: pcoll-bench --once" bench_once
    check "mpi: pcoll-bench --away" bench_away
    check "mpi: pcoll-bench: refusals" bench_refuses
    check "mpi: pcoll-bench: first use" bench_first_use
    check "mpi: compare --overlap --series" compare_overlap
    check "mpi: compare --json" compare_json
    check "mpi: compare --peers=mpich5" compare_mpich5
    check "mpi: programs" programs_run
    check "mpi: texts of control variables" variables_name_algorithms
    check "mpi: mpicc without ccache" mpicc_without_ccache
    check "mpi: build tests" own_mpi_tests
    check "mpi: many-cores" many_cores
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
