"""`copse doctor` on machines that are made up: files of /proc and /sys in a folder, and what the probes would have found."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from copse import __main__, doctor, flavours, paths
from copse.doctor import FAILS, SLOWER, WORKS, System
from copse.run import Launcher

THP = "/sys/kernel/mm/transparent_hugepage"
HEALTHY = {
    "/proc/loadavg": "0.10 0.20 0.30 1/100 1000",
    "/proc/self/status": "Name:\tcopse\nSeccomp:\t0\n",
    "/proc/self/limits": "Limit                     Soft Limit           Hard Limit           Units\n"
    "Max open files            1024                 4096                 files\n"
    "Max locked memory         8388608              8388608              bytes\n",
    "/proc/self/cgroup": "0::/user.slice/session-1.scope\n",
    "/proc/mounts": "proc /proc proc rw,nosuid 0 0\n",
    f"{THP}/enabled": "always [madvise] never",
    f"{THP}/shmem_enabled": "always within_size [advise] never deny force",
}
REFUSED = {"kernel": "process_vm_readv: Operation not permitted"}


@pytest.fixture
def machine(tmp_path):
    """Makes a machine with four processors from HEALTHY, further files, and the reasons of reaches that do not work."""

    def build(files=None, refused=None, *, size=1 << 30, regions=1, mpirun=flavours.MPICH) -> System:
        for path, text in {**HEALTHY, **(files or {})}.items():
            file = tmp_path / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        reasons = refused or {}
        report = {
            "process": {"processors": [0, 1, 2, 3]},
            "machine": {"regions": [{}] * regions},
            "reaches": [{"reach": name, "works": name not in reasons, "why_not": reasons.get(name, "")} for name in ("staged", "kernel", "direct")],
        }
        launcher = Launcher(Path("/usr/bin/mpirun"), mpirun)
        return System(report, tmp_path, lambda folder: size, [flavours.find("mpich")], launcher)

    return build


def troubles(system: System) -> list[tuple[str, str, str, str]]:
    return [(f.state, f.subject, f.says, f.mend) for f in doctor.examine(system) if f.state != WORKS]


def test_a_healthy_machine_has_no_troubles(machine):
    assert troubles(machine()) == []
    findings = doctor.examine(machine())
    assert len(findings) >= 10 and {finding.subject for finding in findings} >= {"processors", "common memory", "memory limit", "MPI", "mpirun"}


CGROUP1 = {"/proc/self/cgroup": "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n0::/\n"}


@pytest.mark.parametrize("files, refused, state, subject, says, mend", [
    ({"/proc/loadavg": "3.50 1 1 4/100 1"}, {}, SLOWER, "other work", "3.5 threads want the 4 processors", "top"),
    ({"/sys/fs/cgroup/user.slice/cpu.max": "150000 100000"}, {}, SLOWER, "processors", "the time of 1.5", "systemctl set-property --runtime user.slice CPUQuota=400%"),
    ({**CGROUP1, "/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us": "200000", "/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us": "100000"}, {},
     SLOWER, "processors", "the time of 2:", "docker update --cpus 4"),
    ({"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave"}, {}, SLOWER, "clock", "powersave", "cpupower frequency-set -g performance"),
    ({"/proc/mounts": "proc /proc proc rw,hidepid=invisible 0 0\n"}, {"staged": "opening /proc/<pid>/fd: No such file"}, FAILS, "common memory",
     "every call is passed on", "mount -o remount,hidepid=0 /proc"),
    ({"/proc/self/status": "Seccomp:\t2\n"}, {"staged": "memfd_create: Operation not permitted"}, FAILS, "common memory", "memfd_create", "seccomp=unconfined"),
    ({"/proc/sys/kernel/yama/ptrace_scope": "1"}, REFUSED, SLOWER, "kernel's copy", "ptrace_scope is 1", "sysctl kernel.yama.ptrace_scope=0"),
    ({"/proc/sys/kernel/yama/ptrace_scope": "3"}, REFUSED, SLOWER, "kernel's copy", "started anew", "--shared-heap"),
    ({"/proc/self/status": "Seccomp:\t2\n"}, REFUSED, SLOWER, "kernel's copy", "seccomp filter", "--cap-add SYS_PTRACE"),
    ({}, REFUSED, SLOWER, "kernel's copy", "Operation not permitted", "--shared-heap"),
    ({}, {"direct": "libmimalloc.so.2: cannot open"}, SLOWER, "shared heap", "cannot open", "apt install libmimalloc2.0"),
    ({"/proc/sys/vm/overcommit_memory": "2"}, {"direct": "no memory"}, SLOWER, "shared heap", "promises no more", "COPSE_HEAP_BYTES"),
    ({"/sys/fs/cgroup/user.slice/memory.max": str(300 << 20), "/sys/fs/cgroup/user.slice/memory.current": str(200 << 20)}, {},
     FAILS, "memory limit", "leaves 100 MiB", "set-property --runtime user.slice MemoryMax="),
    ({"/sys/fs/cgroup/user.slice/memory.max": str(300 << 20), "/sys/fs/cgroup/user.slice/memory.current": str(290 << 20),
      "/sys/fs/cgroup/user.slice/memory.stat": f"anon 1\nfile {90 << 20}\nshmem {30 << 20}\n"}, {}, FAILS, "memory limit", "leaves 70 MiB", "MemoryMax="),
    ({**CGROUP1, "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": str(1 << 20)}, {}, FAILS, "memory limit", "1 MiB", "docker update --memory"),
    ({"/proc/self/limits": "Max open files            64                   100                  files\n"}, {}, SLOWER, "open files", "at most 64", "ulimit -n 100"),
    ({"/sys/class/infiniband/mlx5_0/node_type": "1"}, {}, SLOWER, "locked memory", "8 MiB", "ulimit -l unlimited"),
    ({f"{THP}/shmem_enabled": "always advise [never]"}, {}, SLOWER, "huge pages", "shmem_enabled is never", "echo advise | sudo tee"),
    ({f"{THP}/enabled": "always madvise [never]"}, {}, SLOWER, "huge pages", "none at all", f"tee {THP}/enabled"),
])  # fmt: skip
def test_a_trouble_is_found_with_its_remedy(machine, files, refused, state, subject, says, mend):
    [found] = troubles(machine(files, refused))
    assert found[:2] == (state, subject) and says in found[2] and mend in found[3], found


@pytest.mark.parametrize("driver", ["intel_pstate", "amd-pstate-epp"])
def test_a_governor_that_adapts_is_no_trouble(machine, driver):
    folder = "/sys/devices/system/cpu/cpu0/cpufreq"
    assert troubles(machine({f"{folder}/scaling_governor": "powersave", f"{folder}/scaling_driver": driver})) == []


def test_limits_that_allow_enough_are_no_trouble(machine):
    generous = {"/sys/fs/cgroup/user.slice/cpu.max": "800000 100000", "/sys/fs/cgroup/cpu.max": "max 100000", "/sys/fs/cgroup/user.slice/memory.max": str(8 << 30)}
    assert troubles(machine(generous)) == []


def test_a_small_dev_shm_hurts_the_mpis(machine):
    [(state, subject, says, mend)] = troubles(machine(size=64 << 20))
    assert (state, subject) == (FAILS, "/dev/shm") and "64 MiB" in says and "--shm-size" in mend
    [(state, _, says, _)] = troubles(machine(size=None))
    assert state == FAILS and "missing" in says


def test_balancing_matters_with_several_regions_only(machine):
    files = {"/proc/sys/kernel/numa_balancing": "1"}
    assert troubles(machine(files)) == []
    [(state, subject, _, mend)] = troubles(machine(files, regions=2))
    assert (state, subject, mend) == (SLOWER, "NUMA balancing", "sudo sysctl kernel.numa_balancing=0")


def test_an_unknown_mpirun_needs_a_name(machine):
    [(state, subject, _, mend)] = troubles(machine(mpirun=None))
    assert (state, subject) == (FAILS, "mpirun") and "--flavour" in mend


def test_an_mpi_without_its_library_says_how_to_get_it(machine, monkeypatch, tmp_path):
    system = machine()
    monkeypatch.setattr(paths, "PRELOAD_FOLDER", tmp_path)
    [(state, subject, says, _)] = troubles(system)
    assert (state, subject) == (FAILS, "MPI") and "libcopse-mpi-mpich.so is missing; run: make" in says


def test_this_machine_is_examined_as_it_is(native_binary):
    def ask(*arguments):
        return CliRunner().invoke(__main__.make_app(), ["doctor", *arguments], env={name: None for name in os.environ if name.startswith("COPSE_")})

    done = ask("--json")
    rows = json.loads(done.stdout)
    assert done.exit_code == (1 if any(row["state"] == FAILS for row in rows) else 0)
    assert [row["says"].split()[0] for row in rows if row["subject"] == "MPI"] == ["MPICH", "Intel", "Open", "MPICH", "Open"]
    shown = ask().stdout
    assert all(row["says"] in shown and row["mend"] in shown for row in rows if row["subject"] != "other work")
    counts = [sum(row["state"] == state for row in rows) for state in (WORKS, SLOWER, FAILS)]
    assert sum(counts) == len(rows) and " do not work" in shown.splitlines()[-1]
