# Shared by the tests of this folder; sourced. Hosts have a name of their own.
. "$(dirname "$0")/../../maint/lib.sh"

export PCOLL_HOSTS=${PCOLL_HOSTS:-pcheck}
name=$PCOLL_HOSTS
count=0
failed=0

# ok STATUS NAME: a line of TAP; what is in the file $said explains a failure.
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

hosts() {
    "$repo/maint/hosts" "$@"
}

carried() { # bytes, both ways, by the first link of HOST
    (cd "/sys/class/net/$1-1/statistics" && echo $(($(cat rx_bytes) + $(cat tx_bytes))))
}

processes_left() {
    hosts status | grep -vc ' 0 processes$'
}

# The number of lines left is 1, the head line of status, once nobody runs any more.
nobody_left() {
    local i
    for i in {1..300}; do
        [ "$(processes_left)" = 1 ] && return
        sleep 0.1
    done
    return 1
}

# Where there can be no hosts, one line says so.
need_hosts() {
    local why
    if ! why=$(hosts try 2>&1); then
        echo "ok 1 # SKIP $why"
        exit 0
    fi
}
