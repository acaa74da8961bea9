#!/usr/bin/env bash
# Tests a program for TLI that others wrote: Taylor UUCP 1.07. Its port type "tli" opens, binds, listens, accepts, forks, connects
# and transfers by t_*, or by read and write through tirdwr. It is built from its own source. Two systems copy files both ways
# over each transport with connections, and the files must arrive byte for byte.
#
#   uucp.sh LIBRARY SOURCE
#
# LIBRARY is libheadwater.so; SOURCE is the unpacked source of UUCP 1.07 (Debian: apt-get source uucp), which stays as it is.
set -euo pipefail
library=$(dirname "$(realpath "${1:?the path of libheadwater.so}")")
source=$(realpath "${2:?the directory of the source of UUCP 1.07}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
export LD_LIBRARY_PATH=$library TMPDIR=$work
server=
leave() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap leave EXIT

cp -r "$source" "$work/source"
cd "$work/source"
[ ! -e Makefile ] || make -s distclean >/dev/null 2>&1 || true
# configure looks for t_open in libxti and in the C library.
ac_cv_func_t_open=yes ac_cv_lib_xti_t_open=no CPPFLAGS="-I$here/../../include" CFLAGS='-g -O1 -std=gnu89 -w' \
    ./configure --with-newconfigdir="$work/none" >configured 2>&1
make -s LIBS="-L$library -lheadwater" >made 2>&1 || { tail -20 made; exit 1; }

# system NAME OTHER TRANSPORT ADDRESS STREAM: writes what a system knows about itself and the other.
system() {
    local at=$work/$1
    mkdir -p "$at"/{spool,public}
    chmod 777 "$at/public"
    printf '%s\n' "nodename $1" "spool $at/spool" "pubdir $at/public" "logfile $at/log" "statfile $at/stats" "debugfile $at/debug" \
        "sysfile $at/systems" "portfile $at/ports" "passwdfile $at/passwords" "lockdir $at/spool" >"$at/config"
    printf '%s\n' 'port tli' 'type tli' "device $3" "server-address $4" "stream $5" \
        'dialer-sequence TLI' >"$at/ports"
    printf '%s\n' "system $2" 'time any' 'port tli' "address $4" 'protocol t' 'chat "" \r\c ogin: other ssword: secret' \
        'local-send /' 'local-receive /' 'remote-send /' 'remote-receive /' 'commands rmail' >"$at/systems"
    echo 'other secret' >"$at/passwords"
}

# UUCP gives up root's rights, and must own its files.
as=()
if [ "$(id -u)" -eq 0 ]; then
    as=(setpriv --reuid=uucp --regid=uucp --clear-groups)
    chown uucp "$work"
fi
failed=0
# DEVICE ADDRESS: the loop-back transports, and TCP, whose address is a sockaddr_in of 127.0.0.1.
# Each runs once with t_snd and t_rcv, and once through tirdwr ("stream"). The server pushes tirdwr in its child, when data may
# already be there.
while read -r device streams address; do
    for stream in ${streams//,/ }; do
        rm -rf "$work"/{near,far}
        system near far "$device" "$address" "$stream"
        system far near "$device" "$address" "$stream"
        [ ${#as[@]} -eq 0 ] || chown -R uucp "$work"/{near,far}
        head -c 300000 /dev/urandom >"$work/near/given"
        head -c 200000 /dev/urandom >"$work/far/public/asked"
        chmod 644 "$work/near/given" "$work/far/public/asked"
        "${as[@]}" ./uucico -I "$work/far/config" -p tli -e -D &
        server=$!
        sleep 1
        "${as[@]}" ./uucp -I "$work/near/config" -r "$work/near/given" "far!$work/far/public/got"
        "${as[@]}" ./uucp -I "$work/near/config" -r "far!$work/far/public/asked" "$work/near/public/got"
        status=0
        timeout 60 "${as[@]}" ./uucico -I "$work/near/config" -s far -D || status=$?
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
        server=
        if [ "$status" -eq 0 ] && cmp "$work/near/given" "$work/far/public/got" && cmp "$work/far/public/asked" "$work/near/public/got"; then
            echo "ok: $device, stream $stream"
        else
            echo "FAILED: $device, stream $stream, status $status"
            cat "$work"/*/log "$work"/*/debug 2>/dev/null || true
            failed=1
        fi
    done
done <<'TRANSPORTS'
/dev/ticots false,true uucp
/dev/ticotsord false,true uucp
/dev/tcp false,true \002\000\035\260\177\000\000\001\000\000\000\000\000\000\000\000
TRANSPORTS
exit $failed
