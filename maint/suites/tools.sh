# What is installed beside MPICH, and what measures it; sourced by maint/check. The mpi suite runs these checks.

# measure_table NAME MPIEXEC...: a table measured in two seconds is a valid tuning table, without rules of other machines.
measure_table() {
    local table=$results/$1.json
    shift
    rm -f "$table"
    timeout 200 "$@" "$build/install/bin/pcoll-tune" --seconds=2 -o "$table"
    "$build/install/bin/pcoll-info" --check --table="$table"
    ! grep '"rules"' "$table" || return 1
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

# The data files contain all points, whether or not gnuplot is installed.
draw_candidates() {
    local folder=$results/plot
    rm -rf "$folder"
    timeout 600 "$mpiexec" -n 2 "$build/install/bin/pcoll-tune" --seconds=1 --sizes=8,512,16K,256K,1M \
        -o "$folder.json" --plot="$folder"
    [ "$(grep -c '^[0-9]' "$folder/bcast.dat")" -gt 20 ]
    [ "$(sed -n '/# chosen/,$p' "$folder/allgather.dat" | grep -c '^[0-9]')" -ge 5 ]
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

check_tools() {
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
    check "mpi: many-cores" many_cores
}
