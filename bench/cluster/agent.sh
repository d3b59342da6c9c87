#!/bin/bash
# Stands in for ssh between the emulated nodes: agent.sh [options of ssh] HOST COMMAND...
folder=${NODES_DIR:?the folder that keeps the state of the nodes}
while [ $# -gt 0 ]; do
  case "$1" in
    -l | -p | -o | -i | -F | -E | -b) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
host=${1#*@}
shift
holder=$(cat "$folder/$host.pid") || exit 255
exec nsenter -t "$holder" -n -u -i -m -p /bin/sh -c "export TMPDIR=/dev/shm NODES_DIR='$folder'; cd '$PWD'; $*"
