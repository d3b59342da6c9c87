#!/bin/bash
# run.sh FOLDER NODES CPUS MB 'command' [more qemu arguments, such as -numa dist,src=0,dst=1,val=21 ...]
# Runs the command on an emulated machine of NODES NUMA nodes with CPUS processors and MB megabytes each. The machine sees
# this machine's files read-only; what it writes is lost, except in /out. Prints the command's output and returns its status,
# or 77 without qemu. FOLDER keeps the kernel (setup.sh). The emulation does without kvm and runs one processor at a time: it
# is right for topology and binding, and useless for timing.
set -u
folder=$1 nodes=$2 cpus=$3 mb=$4 command=$5
shift 5
command -v qemu-system-x86_64 > /dev/null || { echo "numa-guest: skipped, no qemu-system-x86 here (apt-get install it)"; exit 77; }
"$(dirname "$0")/setup.sh" "$folder" || exit 1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
printf "cd '%s'\n%s\n" "$PWD" "$command" > "$out/command"
machine=()
for ((node = 0; node < nodes; node++)); do
  machine+=(-object "memory-backend-ram,id=memory$node,size=${mb}M"
            -numa "node,nodeid=$node,memdev=memory$node,cpus=$((node * cpus))-$((node * cpus + cpus - 1))")
done
timeout -k 2 240 qemu-system-x86_64 -M q35 -accel tcg,thread=single -cpu max -smp $((nodes * cpus)) -m $((nodes * mb))M \
  "${machine[@]}" -nodefaults -display none -no-reboot -serial "file:$out/console" -serial stdio \
  -kernel "$folder/vmlinux" -initrd "$folder/base.cpio" \
  -fsdev local,id=r,path=/,security_model=none,readonly=on,multidevs=remap \
  -device virtio-9p-pci,fsdev=r,mount_tag=root \
  -fsdev "local,id=o,path=$out,security_model=none" -device virtio-9p-pci,fsdev=o,mount_tag=out \
  -append "console=ttyS0 quiet panic=-1 mitigations=off nopti nokaslr tsc=reliable no_timer_check cryptomgr.notests random.trust_cpu=on init_on_alloc=0 audit=0 apparmor=0 nowatchdog" \
  "$@" < /dev/null
status=$(cat "$out/status" 2> /dev/null)
[ -n "$status" ] || { echo "numa-guest: no answer; the end of its console:" >&2; tail -30 "$out/console" >&2; status=1; }
exit "$status"
