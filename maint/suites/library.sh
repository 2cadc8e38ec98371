# Suites that need no MPI; sourced by maint/check.

# ---- our own library -----------------------------------------------------------------

# own DIR TARGETS CONFIGURE_ARGUMENTS...: build this project without MPICH in build/DIR.
own() {
    local folder=$build/$1 targets=$2
    shift 2
    [ "$repo/configure" -nt "$repo/configure.ac" ] || (cd "$repo" && ./autogen.sh)
    mkdir -p "$folder"
    cd "$folder"
    if [ ! -f Makefile ] || [ "$(cat configured 2>/dev/null)" != "$*" ]; then
        rm -f config.cache
        "$(realpath --relative-to=. "$repo")/configure" -C "$@"
        echo "$*" >configured
    fi
    # shellcheck disable=SC2086
    make -j"$jobs" V=0 $targets
}

# Seconds that a unit test may take.
unit_limit() {
    if [ "$PCOLL_TEST_DEPTH" -lt 2 ]; then echo 1200; else echo 7200; fi
}

# unit_tests SUITE FOLDER [NAMES]: run the unit tests built in FOLDER, the slowest first. NAMES is a pattern of
# grep -P for what follows test_. Ranks of a test yield their cores to each other, and wait for whole time slices
# where anything else wants them: on two cores such tests run one at a time. The others fill the cores beside, with what
# time these leave.
unit_tests() {
    local name suite=$1 log=$results/$1 limit=${inherited_limit:-$(unit_limit)}
    cd "$build/$2"
    rm -f "$log"-test_* # a test that does not run must not be counted by an earlier run
    for name in $(unit_programs "${3:-.*}"); do
        [ ! -x "$name" ] || echo "${name##*/}"
    done | longest_first >"$log.tests"
    with_ranks >"$log.ranks"
    grep -vxFf "$log.ranks" "$log.tests" | run_tests "$jobs" chrt --idle 0 &
    grep -xFf "$log.ranks" "$log.tests" | run_tests $(((jobs + 1) / 2))
    wait $!
    while read -r name; do
        awk -v OFS='\t' -v name="$suite/$name" '{ print name, $1, $2 + $3 }' "$log-$name.time" \
            >>"$times_now"
        count_tap "$suite-$name" "$log-$name.log" "$(cat "$log-$name.status")"
    done <"$log.tests"
}

# run_tests AT_A_TIME [COMMAND...]: those that are named on standard input, each by COMMAND; of unit_tests.
run_tests() {
    local at_a_time=$1
    shift
    # shellcheck disable=SC2016
    promptly "$@" xargs -P "$at_a_time" -I NAME bash -c 'TIMEFORMAT="%0R %1U %1S"
        { time timeout "$1" test/unit/NAME >"$0-NAME.log" 2>&1; } 2>"$0-NAME.time"
        echo $? >"$0-NAME.status"
        read -r seconds _ <"$0-NAME.time"
        [ "$seconds" -lt 5 ] || echo "# ${0##*/} NAME: $seconds s" >&3' \
        "$log" "$limit"
}

# Unit tests whose ranks are processes or threads.
with_ranks() {
    (cd "$repo/test/unit" && grep -lE '"test/unit/(meeting|setup|net_[a-z]*|rma_[a-z]*)\.h"' test_*.c | sed 's/\.c$//')
}

# Sort names of unit tests by their seconds in the reference, longest first.
longest_first() {
    local name seconds
    while read -r name; do
        seconds=$(awk -v name="unit/$name" '$1 == name { print $2 }' "$times_reference")
        echo "${seconds:-0} $name"
    done | sort -k1,1nr -s | cut -d' ' -f2
}

# unit_programs [NAMES]: as of unit_tests.
unit_programs() {
    sed -n 's|.*%D%/\(test_[a-z0-9_]*\)\( \\\)*$|test/unit/\1|p' "$repo/test/unit/sources.mk" |
        grep -xP "test/unit/test_(${1:-.*})"
}

every_unit_test_is_listed() {
    diff <(cd "$repo" && ls test/unit/test_*.c | sed 's/\.c$//') <(unit_programs | sort)
}

suite_unit() {
    check "unit: every test is listed" every_unit_test_is_listed
    check "unit: build" own pcoll "all check-build" --prefix="$build/install" CC=gcc
    unit_tests unit pcoll
}

# Sanitizers check code paths, and the first few jobs of each kind already cover them: every test runs
# one depth lower, with the limit of the depth that was asked for.
sanitized() {
    local inherited_limit
    inherited_limit=$(unit_limit)
    local -x PCOLL_TEST_DEPTH=$((PCOLL_TEST_DEPTH > 0 ? PCOLL_TEST_DEPTH - 1 : 0))
    unit_tests "$@"
}

# Helpers are explored at night only: that takes a third of the time of all other tests, and test_explore runs the explorer.
suite_asan() {
    local tests='(?!explore_help$).*'
    [ "$PCOLL_TEST_DEPTH" -lt 2 ] || tests='.*'
    ! is_late asan || return 0
    check "asan: build" own asan check-build CC=gcc CFLAGS="-O1 -g" \
        LDFLAGS="-static-libasan -static-libubsan" --enable-sanitizers=address,undefined
    sanitized asan asan "$tests"
}

# These tests have ranks as threads; a race between processes cannot be seen, so test_shm makes none.
suite_tsan() {
    local -x PCOLL_TEST_RANKS=threads
    local tests='agent(_plans|_sleep)?|board|coop|notice|shm|bootstrap|tune|pool'
    ! is_late tsan || return 0
    check "tsan: build" own tsan "$(unit_programs "$tests")" CC=clang CFLAGS="-O1 -g" --enable-sanitizers=thread
    sanitized tsan tsan "$tests"
}

suite_warnings() {
    local unseen="-Wno-analyzer-malloc-leak -Wno-analyzer-null-dereference"
    unseen="$unseen -Wno-analyzer-null-argument"
    local targets="-k libpcoll.a tools/libtools.a pcoll-info pcoll-sim"
    check "warnings: gcc" own warnings-gcc "$targets" --enable-warnings CC=gcc CFLAGS="-O2"
    # clang objects to assert(!"text")
    check "warnings: clang" own warnings-clang "$targets" --enable-warnings \
        CC=clang CFLAGS="-O2 -Wno-string-conversion"
    # gcc 12 understands neither that ranks cannot agree on success if one of them had no memory, nor
    # that ownership of a structure includes its members: each of these reports was false.
    check "warnings: gcc -fanalyzer" own analyzer "-k libpcoll.a" --enable-warnings \
        CC=gcc CFLAGS="-O1 -fanalyzer $unseen"
}

# What .clang-tidy asks for, of the library and its programs; ch4_coll/ needs MPICH's headers.
tidy_sources() {
    sed -n 's|^ *"file": "\(.*\)",*$|\1|p' compile_commands.json | sort -u |
        grep -E "^$repo/(algorithms|offload|tuning|tools)/"
}

tidy() {
    cd "$build/tidy"
    tidy_sources >sources
    [ -s sources ]
    xargs -a sources -P "$jobs" -n 4 clang-tidy -p . --quiet
}

suite_tidy() {
    if ! command -v clang-tidy >/dev/null || ! command -v bear >/dev/null; then
        report skip "tidy" "no clang-tidy and bear here (Debian packages of these names)"
        return
    fi
    rm -f "$build/tidy/compile_commands.json"
    check "tidy: compile_commands.json" own tidy compile_commands.json CC=gcc
    check "tidy: clang-tidy" tidy
}

suite_deps() {
    check "dependency direction" "$repo/maint/check-deps"
}

suite_format() {
    check "format" "$repo/maint/format" --check
}

# Before suites that run beside each other and use it.
need_own_library() {
    check "own library: build" own pcoll all --prefix="$build/install" CC=gcc
}

suite_tables() {
    promptly tap_begin tables "$repo/test/tables/tables" "$build/pcoll/pcoll-info"
    promptly tap_begin plans "$repo/test/tables/plans" "$build/pcoll/pcoll-info"
    promptly tap_begin timelines "$repo/test/tables/timelines" "$build/pcoll/pcoll-sim" \
        "$build/pcoll/pcoll-info"
    promptly tap_begin state "$repo/test/tables/state" "$build/pcoll/pcoll-info"
    tap_end tables plans timelines state
}

# quickstart shows the programs of the build that its options make, and installs nothing for --help or a wrong option.
quickstart_options() {
    [ "$("$repo/maint/build" --print-prefix --mpich=4.3.2 --device=ch4:ucx --full)" = "$repo/build/4.3.2/ucx/install-full" ]
    "$repo/maint/quickstart" --help >"$results/quickstart"
    grep -q '^  maint/quickstart \[--full\]' "$results/quickstart"
    ! "$repo/maint/quickstart" --fetch-only >"$results/quickstart" 2>&1 || return 1
    [ "$(cat "$results/quickstart")" = "quickstart: unknown option --fetch-only (see --help)" ]
}

suite_docs() {
    check "docs: options of maint/quickstart" quickstart_options
    promptly tap docs "$repo/test/docs/docs" "$build/pcoll/pcoll-info" "$build/pcoll/pcoll-sim"
}

suite_fuzz() {
    tap fuzz "$repo/test/fuzz/run" "${PCOLL_FUZZ_SECONDS:-10}"
}

suite_aarch64() {
    tap aarch64 "$repo/test/aarch64/run"
}

# ---- the matrix ----------------------------------------------------------------------

# The matrix of algorithms and tests, with a column for each suite that ran.
matrix_of_tests() {
    local columns='' printed=("$results"/unit-test_*.log)
    [ -e "${printed[0]}" ] || printed=()
    [[ " $chosen " != *" unit "* ]] || columns="proof,orders,random,mutants,helpers,shm,ofi_rma,ofi_trigger,ucx_rma,tcp_kernel"
    [[ " $chosen " != *" mpi "* ]] || columns=${columns:+$columns,}MPI
    [ -n "$columns" ] || return 0
    check "matrix: every algorithm is in every column, or has a reason not to be" "$repo/maint/matrix" \
        --columns="$columns" --info="$build/pcoll/pcoll-info" --output="$results/matrix.tsv" \
        --mpi-list="$build/test-mpi/testlist.rows" --mpi-tap="$build/test-mpi/mpi-rows.tap" \
        "${printed[@]}"
    sed 's/^/# /' "$results"/matrix--*.log
}

# make dist packs what git tracks.
every_file_is_distributed() {
    own dist dist CC=gcc
    diff <(git -C "$repo" ls-files | sort) \
        <(tar -tf pcoll-*.tar.xz | sed 's|^[^/]*/||' | sort) | sed -n 's/^< /missing: /p' >missing
    cat missing
    [ ! -s missing ]
}

# Built, tested, installed and uninstalled from read-only sources. The unit suite has run the tests, so
# only those that read files of the sources repeat it, except at night.
tarball_is_complete() {
    local tests
    tests=$(unit_programs)
    [ "$PCOLL_TEST_DEPTH" -ge 2 ] || tests=$(cd "$repo" && grep -l '"test/unit/tables.h"' test/unit/test_*.c |
        sed 's/\.c$//')
    own dist dist CC=gcc
    PCOLL_TEST_DEPTH=0 make -j"$jobs" V=0 distcheck TESTS="${tests//$'\n'/ }" \
        DISTCHECK_CONFIGURE_FLAGS=CC=gcc
}

suite_dist() {
    check "dist: every tracked file is in the tarball" every_file_is_distributed
    check "dist: the tarball builds and installs" tarball_is_complete
}
