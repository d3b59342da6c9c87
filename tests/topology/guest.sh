#!/bin/bash
# guest.sh FOLDER BINARY: boots the emulated machine that guest.cpp expects, and runs it there. FOLDER keeps the kernel.
distances=()
for from in 0 1 2 3; do
  for to in 0 1 2 3; do
    value=21
    [ $((from / 2)) = $((to / 2)) ] && value=12
    [ "$from" = "$to" ] && value=10
    distances+=(-numa "dist,src=$from,dst=$to,val=$value")
  done
done
exec "$(dirname "$0")/../tools/numa-guest/run.sh" "$1" 4 2 256 "$2" "${distances[@]}"
