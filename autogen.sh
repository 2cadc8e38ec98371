#!/bin/sh
# ./autogen.sh               make this project's configure (needs autoconf, automake)
# ./autogen.sh --mpich=DIR   graft the backend into the MPICH sources in DIR and regenerate
#                            their build system; then configure them --with-coll=offload
set -e
cd "$(dirname "$0")"

case ${1-} in
--mpich=*) exec maint/graft "${1#--mpich=}" ;;
'') mkdir -p build-aux && exec autoreconf --install ;;
*) echo "usage: ./autogen.sh [--mpich=DIR]" >&2 && exit 2 ;;
esac
