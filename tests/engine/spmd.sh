#!/bin/sh
# spmd.sh <ranks> <library or ""> <command ...>: runs the command once for each rank, under the preloaded library.
set -u
ranks=$1
library=$2
shift 2
pids=""
rank=0
while [ "$rank" -lt "$ranks" ]; do
  TEST_SPMD_RANK=$rank TEST_SPMD_NAME=spmd-$$- LD_PRELOAD=$library "$@" &
  pids="$pids $!"
  rank=$((rank + 1))
done
status=0
for pid in $pids; do wait "$pid" || status=1; done
exit $status
