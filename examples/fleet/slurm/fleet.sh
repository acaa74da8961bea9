#!/bin/sh
# Measures every node of a Slurm cluster, one job per node, and compares this campaign with the earlier ones over the nodes.
#
#   HEADWATER_RUNS=/shared/runs fleet.sh before                 # before an update of the cluster
#   HEADWATER_RUNS=/shared/runs fleet.sh after --partition=all  # after it; the report is in /shared/runs/fleet.html
#
# Words behind the campaign's name are options of sbatch and sinfo that both have, such as --partition. Variables:
#   HEADWATER_RUNS      a directory that all nodes share: each run is CAMPAIGN-NODE in it
#   HEADWATER_ROWS      what is measured (default: overview), with further options of `headwater run`
#   HEADWATER_ARCHIVE   if set, each run is added to this archive
#   HEADWATER_SBATCH    options of the jobs that measure, such as --licenses=headwater where a license limits how many do so
#                       at a time, because they share a power supply or a network
#   HEADWATER_TIME      the time limit of a node (default: 30 minutes)
#   HEADWATER_DEADLINE  nodes that have not measured by then do without (default: now+4hours)
set -eu

campaign=${1:?a name for this campaign, such as before}
shift
: "${HEADWATER_RUNS:?a directory that all nodes share}"
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$HEADWATER_RUNS"

# All nodes are expected; those that are up are measured.
expected=$(sinfo --noheader --Node --format=%N "$@" | sort -u | paste -sd, -)
up=$(sinfo --noheader --Node --format='%N %t' "$@" | awk '$2 ~ /^(idle|mix|alloc|comp)$/ { print $1 }' | sort -u)
count=$(printf '%s\n' "$up" | grep -c .) || { echo "no node of $expected is up: sinfo -R says why" >&2; exit 1; }

export HEADWATER_RUNS HEADWATER_CAMPAIGN="$campaign" HEADWATER_EXPECT="$expected"

# A job for each node, and no array: while an element of an array waits for a drained node, Slurm starts no other element.
# A node that fails ends its job, which is not tried elsewhere; one that is drained meanwhile is given up at the deadline. So
# the report behind the jobs always runs.
jobs=
for node in $up; do
    # shellcheck disable=SC2086
    jobs=$jobs:$(sbatch --parsable --nodelist="$node" --time="${HEADWATER_TIME:-30}" --deadline="${HEADWATER_DEADLINE:-now+4hours}" \
        --output="$HEADWATER_RUNS/slurm-$campaign-$node.txt" ${HEADWATER_SBATCH:-} "$@" "$here/measure.sbatch")
done
report=$(sbatch --parsable --dependency="afterany$jobs" --output="$HEADWATER_RUNS/report-$campaign.txt" "$@" "$here/report.sbatch")
echo "campaign $campaign: $count nodes of $expected; job $report writes $HEADWATER_RUNS/report-$campaign.txt"
