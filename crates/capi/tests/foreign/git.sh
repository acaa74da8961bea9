#!/bin/bash
# git, with fixed names and dates, so that the hashes of commits are the same in each run. See coreutils.sh.
set -u
export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=C
export GIT_COMMITTER_EMAIL=c@example.org GIT_AUTHOR_DATE='2001-02-03T04:05:06Z' GIT_COMMITTER_DATE='2001-02-03T04:05:06Z' LC_ALL=C
git init -q -b main first; cd first || exit 1
git config gc.auto 0
for n in $(seq 20); do seq $((n * 100)) > "file$n"; done
git add .; git commit -q -m "twenty files"; git log --format='%H %an %s'
sed -i 's/^42$/forty-two/' file1; git diff --stat | cat; git commit -q -am change; git show --format=%s | md5sum
git checkout -q -b side HEAD~1; echo side > file2; git commit -q -am side; git checkout -q main
git merge -q -m merge side; git log --graph --format=%s | cat
git rev-parse HEAD HEAD~1 HEAD^2
cd ..; git clone -q first second 2>&1; git -C second log --format=%H -1
git clone -q --bare "file://$PWD/first" third.git 2>&1; git -C third.git rev-list --count main
echo more > second/new; git -C second add new; git -C second commit -q -m new
git -C second push -q ../third.git main 2>&1; echo "status $?"; git -C third.git log --format=%s -1 main
git -C first pull -q --ff-only ../third.git main 2>&1; git -C first rev-parse HEAD
git -C first fsck --full 2>&1; echo "status $?"
git -C first gc -q 2>&1; git -C first count-objects; git -C first archive HEAD | md5sum
git -C first grep -c forty-two; git -C first blame -s file2 | md5sum; git -C first stash list; git -C first status --short
git -C first commit -q -m nothing; echo "status $?"
rm -rf first second third.git
