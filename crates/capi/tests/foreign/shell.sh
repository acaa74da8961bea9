#!/bin/bash
# What a shell does with descriptors, processes and signals. See coreutils.sh.
set -u
exec 3> three 4>&1 5< /dev/null
echo to three >&3; exec 3>&-; cat three
(echo nobody reads >&3) 2>/dev/null; echo "status $?"
echo to four >&4; exec 4>&-
read -r line <&5; echo "status $?"; exec 5<&-
exec {named}<> both; echo "$named"; echo text >&"$named"; exec {named}>&-; cat both
f() { echo "in f $1"; return 7; }; f x; echo "status $?"
v=$(echo substituted; exit 3); echo "$v $?"
cat <<< "a here string"; cat <<END
a here document of $((6 * 7))
END
big=$(seq 100000); echo "${#big}"
cat <<< "$big" | md5sum
(sleep 0.1; exit 5) & wait $!; echo "status $?"
(kill -TERM $BASHPID); echo "status $?"
(trap 'echo trapped; exit 9' USR1; kill -USR1 $BASHPID; sleep 1); echo "status $?"
trap 'echo "end of script"' EXIT
coproc doubler { while read -r n; do echo $((n * 2)); done; }
for n in 1 2 3; do echo "$n" >&"${doubler[1]}"; read -r d <&"${doubler[0]}"; echo "$n $d"; done
exec {doubler[1]}>&-; wait "$doubler_PID"; echo "status $?"
mkfifo fifo; while read -r l; do echo "got $l"; done < fifo & for n in 1 2 3; do echo "$n"; done > fifo; wait
diff <(seq 5) <(seq 2 6); echo "status $?"
echo a | cat | cat | cat | cat | tr a b
set -o pipefail; false | true; echo "status $?"; true | false; echo "status $?"; ! false | true; echo "status $?"
while read -r x; do echo "$x"; done < <(printf '%s\n' one two three)
printf '%s\n' b c a | sort | while read -r x; do printf '%s ' "$x"; done; echo
timeout 1 bash -c 'read -r -t 0.1 x < <(sleep 3)'; echo "status $?"
bash -c 'exec 9>&1; bash -c "echo inherited >&9"'
(ulimit -n 64; for n in 1 2 3; do seq 100 | tail -n 1; done)
for n in $(seq 50); do echo "$n" | cat; done | md5sum
yes | (read -r x; echo "$x"); echo "${PIPESTATUS[0]}"
exec 0<&-; cat; echo "status $?"
exec 0< /dev/null 2>&1; ls /proc/self/fd | tr '\n' ' '; echo
