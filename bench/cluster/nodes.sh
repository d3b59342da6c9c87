#!/bin/bash
# nodes.sh up N [MICROSECONDS DELAY] | rate MBIT | cut_off NODE | on NODE COMMAND... | down
# Emulates N machines n0, n1, ... and one more, "head", from which to launch. Each has its own network, host name, System V
# memory, /dev/shm and (except for head) process ids. veth pairs and a bridge join them. If each message is to take
# MICROSECONDS longer, the program DELAY joins them instead (delay.c). `rate` limits what a node sends. `cut_off` takes a node out of
# the bridge, and no machine is told that.
# Needs root and namespaces; `up` returns 77 if they are not permitted. NODES_DIR must be set; it keeps the state of the
# nodes. `down` ends only what `up` started.
set -u
folder=${NODES_DIR:?the folder that keeps the state of the nodes} network=10.77.0
PATH=$PATH:/usr/sbin:/sbin

# hold NAME [pid]: starts a process that keeps the machine's namespaces. Its id goes to NAME.pid.
hold() {
  setsid unshare --net --uts --ipc --mount --propagation private ${2:+--pid --fork --kill-child --mount-proc} bash -c "
    hostname $1 && ip link set lo up && mount -t tmpfs -o mode=1777 shm /dev/shm &&
    mount --bind '$folder/hosts' /etc/hosts && exec -a ready-$1 sleep infinity" < /dev/null > "$folder/$1.log" 2>&1 &
  local started=$! holder
  for _ in $(seq 500); do
    holder=$started
    [ -z "${2:-}" ] || holder=$(cut -d' ' -f1 "/proc/$started/task/$started/children" 2> /dev/null)
    if [ -n "$holder" ] && [ "$(tr '\0' ' ' 2> /dev/null < "/proc/$holder/cmdline")" = "ready-$1 infinity " ]; then
      echo "$holder" > "$folder/$1.pid"
      return 0
    fi
    [ -d "/proc/$started" ] || break
    sleep 0.01
  done
  kill -9 "$started" 2> /dev/null
  echo "nodes.sh: no namespaces for $1: $(tail -n 1 "$folder/$1.log")" >&2
  return 77
}

in_network() { nsenter -t "$(cat "$folder/$1.pid")" -n "${@:2}"; }

give_address() { # NAME NUMBER
  in_network "$1" ip address add "$network.$2/24" dev eth0 && in_network "$1" ip link set eth0 mtu 9000 up
}

# join_by_bridge LAST: makes eth0 of head and of n0 to nLAST. Returns 77 if that is not permitted.
join_by_bridge() {
  local i
  in_network head ip link add eth0 type bridge || return 77
  for i in $(seq 0 "$1"); do
    in_network head ip link add "port$i" type veth peer name eth0 netns "$(cat "$folder/n$i.pid")" || return 77
    in_network head ip link set "port$i" mtu 9000 master eth0 up || return 77
  done
}

# join_with_delay LAST MICROSECONDS DELAY: makes the same devices. The program goes on in the background until `down`, or until head ends.
# Returns its exit code, which is 77 if devices are not permitted.
join_with_delay() {
  local i machines
  machines=("$(cat "$folder/head.pid")")
  for i in $(seq 0 "$1"); do machines+=("$(cat "$folder/n$i.pid")"); done
  "$3" "$2" "${machines[@]}" > "$folder/delay.pid"
}

up() {
  local last=$(($1 - 1)) i
  mkdir -p "$folder"
  {
    echo '127.0.0.1 localhost'
    echo "$network.250 head"
    for i in $(seq 0 $last); do echo "$network.$((i + 1)) n$i"; done
  } > "$folder/hosts"
  hold head || return
  for i in $(seq 0 $last); do hold "n$i" pid || return; done
  if [ "${2:-0}" -gt 0 ]; then join_with_delay $last "$2" "$3"; else join_by_bridge $last; fi || return
  for i in $(seq 0 $last); do give_address "n$i" $((i + 1)); done
  give_address head 250
}

# The bucket holds a segment of 64 KiB with the headers of its packets. Otherwise the kernel would cut each one up.
rate() {
  local file
  for file in "$folder"/n[0-9]*.pid; do
    in_network "$(basename "$file" .pid)" tc qdisc replace dev eth0 root tbf rate "${1}mbit" burst 80kb latency 50ms
  done
}

cut_off() { in_network head ip link set "port${1#n}" nomaster; }

on() { exec nsenter -t "$(cat "$folder/$1.pid")" -n -u -i -m env -C "$PWD" "${@:2}"; }

down() {
  local file
  for file in "$folder"/*.pid; do
    [ -f "$file" ] && kill -9 "$(cat "$file")" 2> /dev/null
    rm -f "$file"
  done
  return 0
}

"$@"
