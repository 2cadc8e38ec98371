# Suites on the MPI that a user installs: maint/build --full, Debian's packages, Spack's recipe; sourced by
# maint/check.

# ---- maint/build --full --------------------------------------------------------------

# language_tests BIN: the programs in Fortran and C++ beside those in C, in the current folder.
language_tests() {
    make -j"$jobs" -f "$repo/test/mpi/languages/Makefile" all languages \
        MPICC="$1/mpicc" MPIFC="$1/mpifort" MPICXX="$1/mpicxx"
}

# What a user's compiler wrappers and the installed programs say.
full_is_complete() {
    local bin=$build/install-full/bin name
    for name in mpicc mpicxx mpifort mpif77 mpif90 mpiexec pcoll-info pcoll-tune pcoll-bench; do
        [ -x "$bin/$name" ] || die "no $name"
    done
    if grep -rIl ccache "$bin" "$build/install-full/include" "$build/install-full/lib"; then
        die "these name ccache"
    fi
    grep -q '^#define HAVE_YAKSA\|^#define MPICH_DATATYPE_ENGINE MPICH_DATATYPE_ENGINE_YAKSA' \
        "$build/mpich-full/src/include/mpichconf.h"
    "$bin/mpiexec" -n 2 "$bin/pcoll-bench" --quick
}

suite_full() {
    local mpiexec=$build/install-full/bin/mpiexec mpicc=$build/install-full/bin/mpicc
    if [ -n "$(missing_packages full)" ]; then
        report skip "full" "not installed: $(missing_packages full | paste -sd ' ')"
        return
    fi
    test_variant full mpicc testlist.short
    check "full: programs, wrappers, datatype engine" full_is_complete
    cd "$build/test-mpi-full"
    check "full: build tests in Fortran and C++" language_tests "$build/install-full/bin"
    device_list testlist.languages >testlist.device
    runtests languages testlist.device
}

# ---- Debian --------------------------------------------------------------------------

. "$repo/packaging/debian/root.sh"
debian_root=$build/debian/root

in_debian() {
    in_root "$debian_root" -b "$repo:$repo" -b "$build/debian/packages:packages" "$@"
}

# The packages that a user names; apt installs what they depend on.
install_debian() {
    make_root "$debian_root" make,perl,python3 # of the tests
    in_debian bash -c 'apt-get -y --no-install-recommends install /packages/{mpich,libmpich}*.deb'
    in_debian mpichversion
    in_debian dpkg-query -W mpich libmpich12 libmpich-dev
    in_debian mpichversion | grep -q -- '--with-coll=offload'
}

# In a folder of the clone, which the clean system sees under the same name. Debian's MPICH uses UCX.
debian_tests() {
    local PCOLL_DEVICE=ch4:ucx
    rm -rf "$build/debian/test"
    mkdir -p "$build/debian/test"
    cd "$build/debian/test"
    in_debian make -C "$PWD" -j"$jobs" -f "$repo/test/mpi/languages/Makefile" all languages \
        MPICC=mpicc MPIFC=mpifort MPICXX=mpicxx
    device_list testlist.short >testlist.device
    device_list testlist.languages | grep -v '^io' >>testlist.device
}

# As doc/install.md tells a user of the packages: the tools, with the packages' mpicc.
debian_tools() {
    rm -rf "$build/debian/tools"
    mkdir -p "$build/debian/tools"
    cd "$build/debian/tools"
    in_debian apt-get -y --no-install-recommends install pkg-config python3 libjson-c-dev libhwloc-dev libfabric-dev
    in_debian env --chdir="$PWD" "$repo/configure" CC=gcc
    in_debian make -C "$PWD" -j"$jobs" V=0 install install-mpi-programs MPICC=mpicc
    in_debian mpiexec -n 2 pcoll-bench --quick
    in_debian mpiexec -n 2 pcoll-tune --seconds=2 -o "$PWD/table.json"
    in_debian pcoll-info --check --table="$PWD/table.json"
}

run_debian_tests() {
    local mpiexec=/usr/bin/mpiexec
    write_runtests
    rm -f debian.tap
    in_debian env --chdir="$PWD" MPITEST_TIMEOUT_MULTIPLIER=3 MPIEXEC=$mpiexec MPICC=mpicc \
        RUNTESTS_SHOWPROGRESS=1 setsid --wait ./runtests -tests=testlist.device -tapfile=debian.tap \
        >"$results/debian.log" 2>&1 || true
    touch debian.tap
    count_tap debian "$PWD/debian.tap" 0
}

# All kernels of the datatype engine would compile for an hour; PCOLL_YAKSA_NESTING= (empty) makes them.
suite_debian() {
    local why before=$failed
    local -x PCOLL_YAKSA_NESTING=${PCOLL_YAKSA_NESTING-2}
    why=$(why_no_root)
    if [ -n "$why" ]; then
        report skip "debian" "$why"
        return
    fi
    unpack_mpich # for its test driver
    check "debian: packages from the source package" "$repo/packaging/debian/build"
    [ "$failed" != "$before" ] || check "debian: install in a clean system" install_debian
    [ "$failed" != "$before" ] || check "debian: build tests with the packages' mpicc" debian_tests
    [ "$failed" != "$before" ] || { cd "$build/debian/test" && run_debian_tests; }
    [ "$failed" != "$before" ] || check "debian: pcoll-bench, pcoll-tune, pcoll-info" debian_tools
}

# ---- Spack ---------------------------------------------------------------------------

suite_spack() {
    local tree=$build/spack-test
    unpack_mpich
    rm -rf "$tree"
    cp -a "$build/mpich-src" "$tree"
    check "spack: a tree as it was unpacked" "$repo/maint/graft" --undo "$tree"
    tap spack "$repo/packaging/spack/test" "$tree"
    rm -rf "$tree"
}
