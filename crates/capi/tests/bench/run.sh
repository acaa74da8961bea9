#!/bin/bash
# Measures the C library: calls that only pass through it, the start of a program, and the rate over a pipe.
#
#   run.sh LIBRARY [ROUNDS]
#
# LIBRARY is a release build of libheadwater.so. Figures are the median of the rounds, which run by turns with and without it.
set -eu
library=$(realpath "$1") rounds=${2:-9}
here=$(dirname "$(realpath "$0")") work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for program in pass_through start_up; do cc -O2 -Wall -Wextra -Werror "$here/$program.c" -o "$work/$program"; done
cc -O2 -Wall -Wextra -Werror "$here/rate.c" -o "$work/rate" -L"$(dirname "$library")" -lheadwater -Wl,-rpath,"$(dirname "$library")"

for _ in $(seq "$rounds"); do
    "$work/pass_through" >> "$work/without"
    LD_PRELOAD=$library "$work/pass_through" >> "$work/with"
done
median() { grep -F "$1	" "$2" | cut -f2 | sort -n | sed -n "$((rounds / 2 + 1))p"; }
echo "A call on a descriptor that is no stream, ns (without, with, more):"
cut -f1 "$work/without" | head -n "$(($(wc -l < "$work/without") / rounds))" | while read -r name; do
    without=$(median "$name" "$work/without") with=$(median "$name" "$work/with")
    printf '%-24s %8.2f %8.2f %8.2f\n' "$name" "$without" "$with" "$(echo "$with - $without" | bc -l)"
done
LIBRARY=$library "$work/start_up" /bin/true
echo "Over a STREAMS pipe, C:"
"$work/rate"
echo "Over the kernel's pipe, C:"
HEADWATER_PIPE=0 "$work/rate"
