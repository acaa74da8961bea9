#!/usr/bin/env bash
# Checks what transports send on the wire, as other programs see it: datagrams of many sizes go through udp and inet-udp to a
# plain socket and back, between two network namespaces with a veth pair. tcpdump captures them, and tshark reads them and checks
# all checksums.
#
#   run.sh LIBRARY
#
# LIBRARY is libheadwater.so. The script must run as root, and needs ip(8), ethtool(8), tcpdump(8), tshark(1) and python3.
set -euo pipefail
library=$(dirname "$(realpath "${1:?the path of libheadwater.so}")")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
one=headwater-wire-$$-1 two=headwater-wire-$$-2
leave() {
    # shellcheck disable=SC2046
    kill $(jobs -p) 2>/dev/null || true
    wait 2>/dev/null || true
    ip netns del "$one" 2>/dev/null || true
    ip netns del "$two" 2>/dev/null || true
    rm -rf "$work"
}
trap leave EXIT

cc -Wall -Wextra -I "$here/../../include" "$here/wire.c" -o "$work/wire" -L "$library" -lheadwater
ip netns add "$one"
ip netns add "$two"
ip link add one netns "$one" type veth peer name two netns "$two"
ip -n "$one" addr add 10.9.9.1/24 dev one
ip -n "$two" addr add 10.9.9.2/24 dev two
ip -n "$one" link set one up
ip -n "$two" link set two up
# Otherwise a veth pair leaves the checksums out.
ip netns exec "$one" ethtool -K one tx off >/dev/null
ip netns exec "$two" ethtool -K two tx off >/dev/null

ip netns exec "$two" python3 -c '
import socket
socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
socket.bind(("10.9.9.2", 7777))
while True:
    socket.sendto(*socket.recvfrom(65536))' &
ip netns exec "$two" tcpdump -i two -w "$work/capture" -U 2>/dev/null &
sleep 2
for device in /dev/udp2 /dev/udp; do
    LD_LIBRARY_PATH=$library timeout 60 ip netns exec "$one" "$work/wire" "$device" 10.9.9.2
done
sleep 1

checks=(-o udp.check_checksum:TRUE -o ip.check_checksum:TRUE)
datagrams=$(tshark -r "$work/capture" "${checks[@]}" -Y 'udp.dstport == 7777 or udp.srcport == 7777' 2>/dev/null | wc -l)
good=$(tshark -r "$work/capture" "${checks[@]}" -Y 'udp.checksum.status == 1' 2>/dev/null | wc -l)
complaints=$(tshark -r "$work/capture" "${checks[@]}" -Y '_ws.expert.severity >= 0x400000' 2>/dev/null | wc -l)
echo "tshark: $datagrams datagrams, $good with a good checksum, $complaints notes, warnings or errors"
[ "$datagrams" -gt 0 ] && [ "$good" -eq "$datagrams" ] && [ "$complaints" -eq 0 ]
