"""`copse doctor`: says what of Copse works on this machine, what will be slower than it could be, and what to type against it.

What works is tried, by the same probes as in `copse info`. Why something does not work, and what costs time, is read from /proc and
/sys: proc(5), cgroups(7), the kernel's admin-guide (mm/transhuge, cgroup-v2, LSM/Yama).
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from . import flavours, native, paths, run
from .info import ranges_text, size_text

WORKS, SLOWER, FAILS = "works", "slower", "fails"
COLOURS = {WORKS: "green", SLOWER: "yellow", FAILS: "red"}
MEMORY_LEFT_LEAST = 256 << 20  # bytes: below this the MPI's own segments and the program are in danger, too
MEMORY_FILES = (  # of both versions of cgroups: controller, limit, use, and the statistics' names of files and of common memory
    ("", "memory.max", "memory.current", "file", "shmem"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache", "total_shmem"),
)
SHM_LEAST = 64 << 20  # bytes: what a container gets unless told otherwise; MPIs keep their own segments there
FILES_BESIDE = 128  # descriptors that a program and its MPI are granted besides the one by which Copse watches each rank
BUSY = 0.5  # runnable threads for each processor


@dataclass(frozen=True)
class Finding:
    """One line of the report. `mend` is the command to type, empty where there is nothing to mend."""

    state: str
    subject: str
    says: str
    mend: str = ""


def total_bytes(folder: Path) -> int | None:
    """Returns the size of the file system of a folder; None if there is no such folder."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    return found.f_blocks * found.f_frsize


@dataclass(frozen=True)
class System:
    """Where the checks look: files below `root`, and what the probes of copse-native found (`copse info --json`)."""

    report: dict[str, Any]
    root: Path = Path("/")
    size_of: Callable[[Path], int | None] = total_bytes
    mpis: list[flavours.Flavour] = field(default_factory=list)
    mpirun: run.Launcher | None = None

    def text(self, path: str) -> str:
        """Returns a file's text; empty if it cannot be read."""
        try:
            return (self.root / path.lstrip("/")).read_text(errors="replace").strip()
        except OSError:
            return ""

    def chosen(self, path: str) -> str:
        """Returns the word in brackets of a file such as `always [madvise] never`."""
        found = re.search(r"\[(\w+)\]", self.text(path))
        return found[1] if found else ""

    def status(self, name: str) -> str:
        found = re.search(rf"^{name}:\s*(\S+)", self.text("/proc/self/status"), re.MULTILINE)
        return found[1] if found else ""

    def limit(self, name: str) -> tuple[float, float]:
        """Returns the soft and the hard limit of that name in /proc/self/limits; infinite if it is not there."""
        found = re.search(rf"^{name} +(\S+) +(\S+)", self.text("/proc/self/limits"), re.MULTILINE)
        soft, hard = found.groups() if found else ("unlimited", "unlimited")
        return tuple(float("inf") if word == "unlimited" else float(word) for word in (soft, hard))

    def cgroup_files(self, controller: str, name: str) -> Iterator[tuple[str, str]]:
        """Gives the texts of a controller's file in this process's cgroup and those above it, each with its folder.

        `controller` is empty for version 2. A container may not see the folders above its own, or may see its own as the top.
        """
        for line in self.text("/proc/self/cgroup").splitlines():
            _, controllers, path = line.split(":", 2)
            if controller not in controllers.split(","):
                continue
            for folder in (Path(path), *Path(path).parents):
                if text := self.text(f"/sys/fs/cgroup/{controller}/{folder}/{name}"):
                    yield text, str(folder)

    @property
    def processors(self) -> list[int]:
        return self.report["process"]["processors"]

    def reach(self, name: str) -> dict[str, Any]:
        return next(row for row in self.report["reaches"] if row["reach"] == name)


def in_unit(folder: str, setting: str, otherwise: str) -> str:
    """Returns the command that changes a limit of a cgroup: systemd's where the cgroup is one of its units."""
    unit = folder.rstrip("/").rsplit("/", 1)[-1]
    if re.search(r"\.(slice|service|scope)$", unit):
        return f"sudo systemctl set-property --runtime {unit} {setting}"
    return otherwise


def check_processors(system: System) -> Iterator[Finding]:
    count = len(system.processors)
    quotas = []
    for text, folder in system.cgroup_files("", "cpu.max"):
        quota, period = text.split()
        if quota != "max":
            quotas.append((int(quota) / int(period), folder))
    for text, folder in system.cgroup_files("cpu", "cpu.cfs_quota_us"):
        period = next((p for p, where in system.cgroup_files("cpu", "cpu.cfs_period_us") if where == folder), "100000")
        if int(text) > 0:
            quotas.append((int(text) / int(period), folder))
    listed = ranges_text(system.processors)
    if quotas and min(quotas)[0] < count:
        least, folder = min(quotas)
        yield Finding(SLOWER, "processors", f"{listed}, but a quota allows the time of {least:g}: ranks that wait use it up, and then all stand still",
                      in_unit(folder, f"CPUQuota={100 * count}%", f"docker update --cpus {count} CONTAINER  # or start at most {max(1, int(least))} ranks"))  # fmt: skip
    else:
        yield Finding(WORKS, "processors", f"{count} ({listed}); with more ranks than that, waiting ranks give way at once")
    load = system.text("/proc/loadavg").split()
    if load and float(load[0]) > BUSY * count:
        yield Finding(SLOWER, "other work", f"{float(load[0]):.1f} threads want the {count} processors (the load of the last minute)", "top")
    governor = system.text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    driver = system.text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver")
    if governor == "powersave" and driver not in ("intel_pstate", "amd-pstate-epp"):  # in these, the name means a governor that adapts
        yield Finding(SLOWER, "clock", "the processors run at their lowest frequency (governor powersave)", "sudo cpupower frequency-set -g performance")


def check_common_memory(system: System) -> Iterator[Finding]:
    row = system.reach("staged")
    if row["works"]:
        yield Finding(WORKS, "common memory", "ranks meet in memory without a name (memfd), so the size of /dev/shm does not matter to Copse")
        return
    mend = "docker run --security-opt seccomp=unconfined ..." if system.status("Seccomp") == "2" else "strace -f copse info"
    if re.search(r"^\S+ /proc \S+ \S*hidepid=(?!0|off)", system.text("/proc/mounts"), re.MULTILINE):
        mend = "sudo mount -o remount,hidepid=0 /proc"
    yield Finding(FAILS, "common memory", f"every call is passed on to the MPI: {row['why_not']}", mend)


def check_kernel_reach(system: System) -> Iterator[Finding]:
    row = system.reach("kernel")
    if row["works"]:
        yield Finding(WORKS, "kernel's copy", "ranks copy out of one another's memory (process_vm_readv)")
        return
    scope = system.text("/proc/sys/kernel/yama/ptrace_scope")
    mend = "copse run --shared-heap mpirun ...  # reaches memory without the kernel's copy"
    cause = row["why_not"]
    if scope in ("1", "2"):
        cause, mend = f"Yama's ptrace_scope is {scope}", "sudo sysctl kernel.yama.ptrace_scope=0"
    elif scope == "3":
        cause = "Yama's ptrace_scope is 3, and stays so until the system is started anew"
    elif system.status("Seccomp") == "2":
        cause, mend = f"a seccomp filter, as containers have it ({row['why_not']})", "docker run --cap-add SYS_PTRACE ..."
    yield Finding(SLOWER, "kernel's copy", f"refused, so large messages are copied twice: {cause}", mend)


def check_shared_heap(system: System) -> Iterator[Finding]:
    row = system.reach("direct")
    if row["works"]:
        yield Finding(WORKS, "shared heap", "large messages can be copied once, straight out of a peer's memory", "copse run --shared-heap mpirun -n 2 ./app")
    elif system.text("/proc/sys/vm/overcommit_memory") == "2":
        yield Finding(SLOWER, "shared heap", f"the system promises no more memory than it has, and the heap asks for all: {row['why_not']}",
                      "export COPSE_HEAP_BYTES=1G")  # fmt: skip
    else:
        mend = "sudo apt install libmimalloc2.0" if "mimalloc" in row["why_not"] else "copse info"
        yield Finding(SLOWER, "shared heap", f"--shared-heap has no effect: {row['why_not']}", mend)


def check_memory(system: System) -> Iterator[Finding]:
    found = []
    for controller, limit, used, files, common in MEMORY_FILES:
        now = {folder: int(text) for text, folder in system.cgroup_files(controller, used)}
        for text, folder in system.cgroup_files(controller, "memory.stat"):
            kept = {name: int(number) for name, number in (line.split() for line in text.splitlines())}
            droppable = kept.get(files, 0) - kept.get(common, 0)  # files that the kernel drops when memory is needed
            now[folder] = now.get(folder, 0) - max(0, droppable)
        found += [(int(text) - now.get(folder, 0), folder) for text, folder in system.cgroup_files(controller, limit)
                  if text != "max" and int(text) < 1 << 60]  # fmt: skip
    if not found:
        yield Finding(WORKS, "memory limit", "no cgroup limits the memory")
        return
    left, folder = min(found)
    says = f"its cgroup leaves {size_text(max(0, left))}, and common memory counts against it"
    if left < MEMORY_LEFT_LEAST:
        yield Finding(FAILS, "memory limit", f"{says}: ranks may be killed", in_unit(folder, "MemoryMax=4G", "docker update --memory 4g CONTAINER"))
    else:
        yield Finding(WORKS, "memory limit", says)


def check_dev_shm(system: System) -> Iterator[Finding]:
    size = system.size_of(system.root / "dev/shm")
    if size is None:
        yield Finding(FAILS, "/dev/shm", "is missing, and the MPIs keep their own segments there", "sudo mount -t tmpfs tmpfs /dev/shm")
    elif size <= SHM_LEAST:
        yield Finding(FAILS, "/dev/shm", f"has {size_text(size)}: Copse does not use it, but the MPIs keep their own segments there, and may die",
                      "docker run --shm-size=1g ...  # or: sudo mount -o remount,size=1g /dev/shm")  # fmt: skip
    else:
        yield Finding(WORKS, "/dev/shm", f"has {size_text(size)}, for the MPIs' own segments")


def check_limits(system: System) -> Iterator[Finding]:
    soft, hard = system.limit("Max open files")
    needed = FILES_BESIDE + len(system.processors)
    if soft < needed:
        yield Finding(SLOWER, "open files", f"at most {soft:g}; Copse and the MPI need some for each rank of a node, say {needed}",
                      f"ulimit -n {needed if hard >= needed else int(hard)}")  # fmt: skip
    else:
        yield Finding(WORKS, "open files", "the limit is high enough for a full node")
    locked, _ = system.limit("Max locked memory")
    network = (system.root / "sys/class/infiniband").is_dir() and any((system.root / "sys/class/infiniband").iterdir())
    if network and locked < float("inf"):
        yield Finding(SLOWER, "locked memory", f"at most {size_text(int(locked))}; the MPI's network card needs more between nodes", "ulimit -l unlimited")
    else:
        yield Finding(WORKS, "locked memory", "no network card here needs it, nor does Copse" if not network else "unlimited, as the network card needs it")


def check_pages(system: System) -> Iterator[Finding]:
    folder = "/sys/kernel/mm/transparent_hugepage"
    private, shared = system.chosen(f"{folder}/enabled"), system.chosen(f"{folder}/shmem_enabled")
    if shared in ("never", "deny") and system.reach("direct")["works"]:
        yield Finding(SLOWER, "huge pages", f"none for the shared heap (shmem_enabled is {shared}): first touches of large buffers may take longer",
                      f"echo advise | sudo tee {folder}/shmem_enabled")  # fmt: skip
    elif private == "never":
        yield Finding(SLOWER, "huge pages", "none at all: first touches of large buffers may take longer", f"echo madvise | sudo tee {folder}/enabled")
    elif private:
        yield Finding(WORKS, "huge pages", f"private memory {private}, shared memory {shared or 'not known'}")
    if len(system.report["machine"]["regions"]) > 1 and system.text("/proc/sys/kernel/numa_balancing") == "1":
        yield Finding(SLOWER, "NUMA balancing", "the kernel unmaps pages now and then to see who uses them, also those that ranks share",
                      "sudo sysctl kernel.numa_balancing=0")  # fmt: skip


def check_mpis(system: System) -> Iterator[Finding]:
    if not system.mpis:
        yield Finding(FAILS, "MPI", f"none found; {flavours.MISSING}", "sudo apt install mpich libmpich-dev")
    for mpi in system.mpis:
        if mpi.preload.exists() and mpi.world_library.exists():
            yield Finding(WORKS, "MPI", f"{mpi.title}", f"copse run {mpi.mpiexec} -n 2 ./app")
        else:
            missing = mpi.world_library if mpi.preload.exists() else mpi.preload
            yield Finding(FAILS, "MPI", f"{mpi.title}: its {missing.name} is missing; {paths.make('build')}")
    if system.mpirun is None:
        yield Finding(SLOWER, "mpirun", "is not on PATH; give its whole path", f"copse run {system.mpis[0].mpiexec if system.mpis else '/path/of/mpirun'} -n 2 ./app")
    elif system.mpirun.family is None:
        yield Finding(FAILS, "mpirun", f"{system.mpirun.path} belongs to no MPI that Copse knows; name one", "copse run --flavour mpich mpirun -n 2 ./app")
    else:
        yield Finding(WORKS, "mpirun", f"{system.mpirun.path} belongs to {system.mpirun.family.title}", "copse run mpirun -n 2 ./app")


CHECKS = (check_processors, check_common_memory, check_kernel_reach, check_shared_heap, check_memory, check_dev_shm, check_limits, check_pages, check_mpis)


def examine(system: System) -> list[Finding]:
    return [finding for check in CHECKS for finding in check(system)]


def show(console: Console, findings: list[Finding]) -> None:
    width = max(len(finding.subject) for finding in findings)
    for finding in findings:
        line = Text.assemble((f"{finding.state:<7}", COLOURS[finding.state]), f" {finding.subject:<{width}}  {finding.says}")
        console.print(line, soft_wrap=True)
        if finding.mend:
            console.print(Text(f"{'':<{width + 10}}$ {finding.mend}", "bold"), soft_wrap=True)
    count = {state: sum(finding.state == state for finding in findings) for state in COLOURS}
    console.print(f"{count[WORKS]} work, {count[SLOWER]} could be faster, {count[FAILS]} do not work", highlight=False)


def doctor_command(as_json: Annotated[bool, typer.Option("--json", help="as JSON, for scripts")] = False) -> None:
    """Say what works on this machine, what will be slower, and what to type against it. Exits with 1 if something does not work."""
    launcher = run.identify_launcher("mpirun") if shutil.which("mpirun") else None
    findings = examine(System(native.query("info"), mpis=flavours.installed(), mpirun=launcher))
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        show(Console(), findings)
    raise typer.Exit(1 if any(finding.state == FAILS for finding in findings) else 0)
