# Functions that the tests of this folder share. Their hosts have names of their own.
. "$(dirname "$0")/../../maint/lib.sh"

export PCOLL_HOSTS=${PCOLL_HOSTS:-pcheck}
name=$PCOLL_HOSTS
count=0
failed=0

# ok STATUS NAME: print a line of TAP, and the file $said after a failure.
ok() {
    count=$((count + 1))
    if [ "$1" = 0 ]; then
        echo "ok $count - $2"
    else
        failed=1
        echo "not ok $count - $2"
        [ ! -f "${said-}" ] || sed 's/^/# /' "$said"
    fi
}

has_libfabric() { # the MPICH under test
    [ "$PCOLL_DEVICE" = ch4:ofi ]
}

hosts() {
    "$repo/maint/hosts" "$@"
}

carried() { # HOST [LINK]: bytes in both directions
    (cd "/sys/class/net/$1-${2:-1}/statistics" && echo $(($(cat rx_bytes) + $(cat tx_bytes))))
}

processes_left() {
    hosts status | grep -vc ' 0 processes$'
}

# Once no process runs any more, status prints only its first line.
nobody_left() {
    local i
    for i in {1..300}; do
        [ "$(processes_left)" = 1 ] && return
        sleep 0.1
    done
    return 1
}

# If this machine cannot have hosts, one line says so.
need_hosts() {
    local why
    if ! why=$(hosts try 2>&1); then
        echo "ok 1 # SKIP $why"
        exit 0
    fi
}
