#!/bin/bash
# Programs of coreutils, findutils and others, alone and in pipelines. `cargo xtask preload` runs this with and without the
# library in an empty directory, and compares what it prints, its status and the files that it leaves.
set -u
export LC_ALL=C
seq 1 5000 > numbers
seq 5000 -1 1 | sort -n | cmp - numbers && echo sorted
cat numbers numbers | wc -lc
head -n 3 numbers; tail -n 2 numbers
tac numbers | head -n 1
dd if=/dev/zero of=zeros bs=4k count=100 status=none; stat -c '%s %F' zeros
dd if=numbers bs=1 count=10 skip=5 status=none | od -c
cat zeros | dd bs=1k 2>&1 >/dev/null | head -n 2 | sed 's/,.*//'
seq 1000000 | head -n 1
yes | head -c 100000 | md5sum
yes | head -n 3; echo "status ${PIPESTATUS[*]}"
sort -R --random-source=numbers numbers | sort -n | md5sum
split -l 1000 numbers part.; ls; wc -l part.*
paste part.aa part.ab | cut -f2 | tail -n 1
tee copy < numbers | md5sum; cmp copy numbers && echo same
ln -s numbers link; readlink link; ls -F | tr '\n' ' '; echo
mkfifo fifo; stat -c %F fifo; (seq 10 > fifo &) ; cat fifo
for n in 1 2 3 4 5; do seq $((n * 1000)) | shuf --random-source=zeros | sort -n | tail -n 1; done
comm -12 <(seq 1 10) <(seq 5 15) | tr '\n' ' '; echo
sha256sum < numbers; cksum numbers; base64 numbers | base64 -d | cmp - numbers && echo decoded
env -i /bin/ls numbers; echo "status $?"
ls /no/such/file; echo "status $?"
cat < /no/such/file; echo "status $?"
echo full > /dev/full; echo "status $?"
timeout 0.2 sleep 5; echo "status $?"
timeout 5 cat < /dev/null; echo "status $?"
find . -name 'part.*' | sort | xargs -n 2 echo
seq 20 | xargs -P 4 -n 5 echo | sort
mkdir tree; cp -r part.* tree; rm part.*; ls tree | wc -l; du -a tree | wc -l
tar cf - tree | tar tf - | sort | md5sum
gzip < numbers | gunzip | cmp - numbers && echo unpacked
cp --sparse=always zeros sparse; truncate -s 12345 sparse; stat -c %s sparse
touch -d '2001-02-03 04:05:06 UTC' dated; stat -c %Y dated
chmod 640 dated; stat -c %a dated; id -u | tr -d '0-9'; nohup true 2>&1 </dev/null; echo "status $?"
stdbuf -o0 seq 3; nice -n 3 seq 2; test -t 0; echo "status $?"; tty -s; echo "status $?"
ls -l /proc/self/fd | wc -l
