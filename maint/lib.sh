# Functions that the scripts of this folder share; sourced by bash with `set -eu`.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${PCOLL_CACHE:-$HOME/.cache/pcoll}

# use_mpich VERSION DEVICE: MPICH 4.0.2 is built in build/ (no VERSION), any other version in
# build/VERSION, and with ch4:ucx in a folder `ucx` below that.
use_mpich() {
    [ "$1" != 4.0.2 ] || set -- "" "$2"
    export PCOLL_MPICH=$1 PCOLL_DEVICE=$2
    build=$repo/build${1:+/$1}
    [ "$2" = ch4:ofi ] || build=$build/${2#*:}
    logs=$build/log
}
use_mpich "${PCOLL_MPICH:-}" "${PCOLL_DEVICE:-ch4:ofi}"

# cached_mpich VERSION: print the tree or tarball of that version in the cache folder; none: fail.
cached_mpich() {
    local path
    for path in "$cache/mpich-$1" "$cache/mpich-$1".tar.*; do
        [ ! -e "$path" ] || { echo "$path" && return; }
    done
    return 1
}

# Debian's source package of MPICH 4.0.2, fetched once. Uses a list of sources of its own: the system's may
# lack deb-src, and this needs no root.
debian_source=$cache/mpich_4.0.2-3.dsc

fetch_with_apt() {
    local state=$cache/apt
    local apt=(apt-get -o "Dir::Etc::sourcelist=$state/sources.list" -o Dir::Etc::sourceparts=-
        -o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state" -o "APT::Sandbox::User=$(id -un)")
    mkdir -p "$state/lists/partial" "$state/archives/partial"
    echo "deb-src ${PCOLL_DEBIAN_MIRROR:-http://deb.debian.org/debian} bookworm main" \
        >"$state/sources.list"
    "${apt[@]}" update
    cd "$cache"
    "${apt[@]}" source --download-only mpich=4.0.2-3
}

fetch_debian_source() {
    [ ! -f "$debian_source" ] || return 0
    command -v apt-get >/dev/null ||
        die "apt-get is not available: please get MPICH 4.0.2 and name it with --mpich-source="
    step "MPICH: fetch the source package" fetch fetch_with_apt
}

jobs=$(nproc)

# ccache finds objects again that another clone compiled: paths below the clone count as relative, and
# the folder in which the compiler runs does not count.
export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache}
export CCACHE_BASEDIR=$repo
export CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=time_macros,include_file_mtime,include_file_ctime

# use_ccache: put links to ccache under the names of the compilers first on the PATH, so that what is
# configured, built and installed says `gcc` and does not need ccache later.
use_ccache() {
    local folder=$build/ccache name
    command -v ccache >/dev/null || return 0
    mkdir -p "$folder"
    for name in cc gcc g++ clang clang++ aarch64-linux-gnu-gcc; do
        ! command -v "$name" >/dev/null || ln -sfn "$(command -v ccache)" "$folder/$name"
    done
    PATH=$folder:$PATH
}

die() {
    echo "${0##*/}: $*" >&2
    exit 1
}

# run_logged LOG COMMAND...: run it in a subshell that ends at the first error; sets `status`.
# Must not be called where bash ignores `set -e`: after if, && or ||.
run_logged() {
    local log=$1
    shift
    set +e
    (
        set -e
        "$@"
    ) >"$log" 2>&1
    status=$?
    set -e
}

# step NAME LOG COMMAND...: run it with its output in build/log/LOG.log and print one line of progress.
step() {
    local name=$1 log=$logs/$2.log start=$SECONDS
    shift 2
    mkdir -p "$logs"
    printf '%-42s' "$name ..."
    run_logged "$log" "$@"
    if [ "$status" != 0 ]; then
        printf ' failed after %d s\n' $((SECONDS - start))
        tail -n 25 "$log"
        die "$name failed; the whole output is in $log"
    fi
    printf '%5d s\n' $((SECONDS - start))
}

# hash_of FILE...: print one word that stands for the contents of all files.
hash_of() {
    cat "$@" | sha256sum | cut -c1-16
}

# packages GROUP...: print the names listed in maint/packages.
packages() {
    local group
    for group in "$@"; do
        awk -v group="$group" '$1 == group { print $2 }' "$repo/maint/packages"
    done
}

missing_packages() {
    local name
    for name in $(packages "$@"); do
        dpkg-query -W -f '${Status}\n' "$name" 2>/dev/null | grep -q ' installed$' || echo "$name"
    done
}

# need_packages GROUP...: name the missing packages and exit; without dpkg nobody can say.
need_packages() {
    local missing
    command -v dpkg-query >/dev/null || return 0
    missing=$(missing_packages "$@" | paste -sd ' ')
    [ -z "$missing" ] || die "please install these packages first: $missing"
}

can_install() {
    [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null
}

# install_packages GROUP...: install the missing packages, or name them and exit.
install_packages() {
    local missing
    if ! command -v dpkg-query >/dev/null; then
        echo "no dpkg: assuming that these are installed: $(packages "$@" | paste -sd ' ')"
        return
    fi
    missing=$(missing_packages "$@" | paste -sd ' ')
    [ -n "$missing" ] || return 0
    can_install || die "please install these packages first: $missing"
    step "packages: update" apt-update apt-get update
    # shellcheck disable=SC2086
    step "packages: $(wc -w <<<"$missing") to install" apt-install \
        env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
}
