# Clean installations of Debian below a folder; sourced by the scripts of this folder after maint/lib.sh.

why_no_root() {
    if [ "$(id -u)" != 0 ]; then
        echo "a clean installation of Debian needs root"
    elif [ -n "$(missing_packages debian debian-source)" ]; then
        echo "not installed: $(missing_packages debian debian-source | paste -sd ' ')"
    fi
}

# make_root FOLDER [PACKAGES]: a minimal Debian bookworm, and these packages (with commas in between).
make_root() {
    remove_root "$1"
    mmdebstrap --mode=root --variant=minbase --skip=cleanup/apt/lists ${2:+"--include=$2"} \
        bookworm "$1" "${PCOLL_DEBIAN_MIRROR:-http://deb.debian.org/debian}"
    cp /etc/resolv.conf "$1/etc/resolv.conf"
    echo 'force-unsafe-io' >"$1/etc/dpkg/dpkg.cfg.d/unsafe-io"
}

# Nothing may be mounted in it: the mounts of in_root are those of its own process.
remove_root() {
    rm -rf --one-file-system "$1"
}

# in_root FOLDER [-b SOURCE:TARGET]... COMMAND...: the command sees nothing of this system but /dev, /sys
# and what -b names.
in_root() {
    local folder=$1 binds=()
    shift
    while [ "$1" = -b ]; do
        binds+=("$2")
        shift 2
    done
    # shellcheck disable=SC2016
    unshare --mount bash -eu -c '
        folder=$1
        count=$2
        shift 2
        mount -t proc proc "$folder/proc"
        mount --rbind /sys "$folder/sys"
        mount --rbind /dev "$folder/dev"
        while [ "$count" -gt 0 ]; do
            mkdir -p "$folder/${1#*:}"
            mount --bind "${1%%:*}" "$folder/${1#*:}"
            count=$((count - 1))
            shift
        done
        exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive chroot "$folder" "$@"' \
        in_root "$folder" "${#binds[@]}" ${binds[@]+"${binds[@]}"} "$@"
}
