#!/usr/bin/env python3
"""Groups of ranks join, compute and leave. Meanwhile others kill, stop and starve them, and occupy their names.

    build/venv/bin/python tests/soak/soak.py --minutes 60            # ends with a table of what was tried and of the defects
    build/venv/bin/python tests/soak/soak.py --minutes 1 --seed 7    # makes the same disturbances as every run with that seed

A defect is a wrong result, an end that the disturbance does not explain, a rank that still runs long after its timeout, or
something that is left after all ranks have ended. The exit code is 1 if there was a defect.
"""

import argparse
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
ENDS = {0: "right", 3: "lost", 4: "wrong", 5: "not met", 6: "starved", 7: "left something"}
GRACE_SECONDS = 60  # beyond the timeout: time to make calls on a machine that is busy with other groups


def compile_rank(folder: Path) -> Path:
    library, program = ROOT / "build" / "lib", folder / "rank"
    subprocess.run(
        ["gcc", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT / 'include'}", Path(__file__).with_name("rank.c"),
         "-o", program, f"-L{library}", "-lcopse", f"-Wl,-rpath,{library}"],
        check=True,
    )  # fmt: skip
    return program


@dataclass
class Group:
    """A group of ranks and what is done to it, all drawn from the group's own seed."""

    program: Path
    name: str
    seed: int
    foreign: bool = False  # its strangers belong to another user
    timeout: float = 20
    draw: random.Random = field(init=False)
    processes: list[tuple[int, subprocess.Popen]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.draw = random.Random(self.seed)
        self.ranks = self.draw.choice([2, 2, 3, 3, 4, 5])
        self.calls = self.draw.choice([20, 100, 400, 1500])
        self.rounds = self.draw.choice([1, 2, 4])
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("COPSE_")}
        self.environment.update(self.draw.choice([{}, {}, {"COPSE_CHECK": "1"}, {"COPSE_REACH": "staged"}, {"COPSE_REACH": "kernel"},
                                                  {"COPSE_PROGRESS": "thread"}]))  # fmt: skip
        if self.draw.random() < 0.3:
            self.environment["LD_PRELOAD"] = str(ROOT / "build/lib/libcopse-heap.so")
        self.began = time.monotonic()

    @property
    def address(self) -> str:
        """The abstract socket on which rank 0 listens in the first round."""
        return f"\0copse-{self.name}-0"

    def start(self, rank: int) -> subprocess.Popen:
        command = [self.program, self.name, rank, self.ranks, self.seed, self.rounds, self.calls, self.timeout]
        process = subprocess.Popen(
            [str(word) for word in command], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.processes.append((rank, process))
        return process

    def start_all(self, without: int = -1) -> None:
        order = list(range(self.ranks))
        self.draw.shuffle(order)
        for rank in order:
            if rank != without:
                self.pause(0, 0.02)
                self.start(rank)

    def pause(self, least: float, most: float) -> None:
        time.sleep(self.draw.uniform(least, most))

    def signal(self, process: subprocess.Popen, number: int) -> None:
        if process.poll() is None:
            process.send_signal(number)

    def victim(self) -> subprocess.Popen:
        return self.draw.choice(self.processes)[1]

    def end(self) -> list[tuple[int, str]]:
        """Waits for all ranks. Returns a description of how each ended."""
        ends = []
        for rank, process in self.processes:
            done, came_on = "", time.monotonic()
            while process.poll() is None and time.monotonic() < came_on + self.timeout + GRACE_SECONDS:
                time.sleep(0.02)
                if (now := name_of(process.pid)) != done:
                    done, came_on = now, time.monotonic()
            try:
                text = process.communicate(timeout=0.1)[0]
            except subprocess.TimeoutExpired:
                self.notes.append(f"rank {rank} (process {process.pid}) has not ended; it stands at\n{stack_of(process.pid)}")
                process.kill()
                process.communicate()
                ends.append((rank, "hung"))
                continue
            how = "killed" if process.returncode == -signal.SIGKILL else ENDS.get(process.returncode, f"code {process.returncode}")
            self.notes.append(f"rank {rank} {how}: {text.strip()}")
            ends.append((rank, how))
        return ends


def name_of(process: int) -> str:
    """Returns the number of calls that a rank has made, which is in its process name."""
    try:
        return Path(f"/proc/{process}/comm").read_text()
    except OSError:
        return ""


def stack_of(pid: int) -> str:
    if shutil.which("gdb") is None:
        return "(no gdb here)"
    done = subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 12"], capture_output=True, text=True)
    return "\n".join(line for line in done.stdout.splitlines() if line.startswith(("#", "Thread")))


# The disturbances. Each starts the ranks of a group and returns the ends that it explains, besides "right" ---------------


def calm(group: Group) -> set[str]:
    group.start_all()
    return set()


def killed(group: Group) -> set[str]:
    group.start_all()
    group.pause(0, 0.6)
    group.signal(group.victim(), signal.SIGKILL)
    return {"killed", "lost", "not met"}


def restarted(group: Group) -> set[str]:
    """A rank dies while the ranks meet or soon after, and is started again."""
    group.timeout = 6
    group.start_all()
    rank, process = group.draw.choice(group.processes)
    group.pause(0, 0.05)
    group.signal(process, signal.SIGKILL)
    process.wait()
    group.start(rank)
    return {"killed", "lost", "not met"}


def stopped(group: Group) -> set[str]:
    group.start_all()
    for _ in range(group.draw.randint(1, 4)):
        process = group.victim()
        group.pause(0, 0.3)
        group.signal(process, signal.SIGSTOP)
        group.pause(0, 1)
        group.signal(process, signal.SIGCONT)
    return set()


def stopped_and_killed(group: Group) -> set[str]:
    group.start_all()
    process = group.victim()
    group.pause(0, 0.3)
    group.signal(process, signal.SIGSTOP)
    group.pause(0, 1)
    group.signal(process, signal.SIGKILL)
    return {"killed", "lost", "not met"}


def starved(group: Group) -> set[str]:
    """A rank is limited to few descriptors, little memory, or small files, from its start or suddenly."""
    group.timeout = 6
    group.start_all()
    rank, process = group.draw.choice(group.processes)
    group.pause(0, 0.1)
    kind = group.draw.choice([resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_FSIZE])
    try:
        used = int(Path(f"/proc/{process.pid}/statm").read_text().split()[0]) * resource.getpagesize()
        least = {resource.RLIMIT_NOFILE: 4, resource.RLIMIT_AS: used, resource.RLIMIT_FSIZE: 0}[kind]
        more = {resource.RLIMIT_NOFILE: 12, resource.RLIMIT_AS: 96 << 20, resource.RLIMIT_FSIZE: 1 << 20}[kind]
        limit = least + group.draw.randint(0, more)
        resource.prlimit(process.pid, kind, (limit, limit))
    except (ProcessLookupError, FileNotFoundError, IndexError):
        pass  # it has ended
    return {"starved", "lost", "not met"}


def absent(group: Group) -> set[str]:
    group.timeout = group.draw.choice([0.5, 2, 4])
    group.start_all(without=group.draw.randrange(group.ranks))
    return {"not met"}


def doubled(group: Group) -> set[str]:
    """Two processes claim to be the same rank, and one of them is refused."""
    group.timeout = 8
    group.start_all()
    group.start(group.draw.randrange(group.ranks))
    return {"not met"}


class Stranger:
    """Listens under a group's name or calls its rank 0, in a separate process, as this user or as nobody."""

    def __init__(self, work, seconds: float, foreign: bool):
        self.pid = os.fork()
        if self.pid == 0:
            try:
                if foreign:
                    os.setuid(NOBODY)
                signal.alarm(int(seconds) + 5)
                work(time.monotonic() + seconds)
            finally:
                os._exit(0)

    def end(self) -> None:
        os.waitpid(self.pid, 0)


NOISE = [b"", b"\1\0\0\0", b"\0" * 64, b"copse", random.Random(1).randbytes(4096)]


def squatting(address: str, seed: int):
    def work(until: float) -> None:
        draw = random.Random(seed)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(address)
        except OSError:
            return
        listener.listen(draw.choice([0, 1, 64]))
        listener.settimeout(0.05)
        answers, callers = draw.random() < 0.7, []
        while time.monotonic() < until:
            if not answers:
                time.sleep(0.05)
                continue
            try:
                caller = listener.accept()[0]
                caller.setblocking(False)
                callers.append(caller)
                caller.send(draw.choice(NOISE))
            except OSError:
                pass

    return work


def calling(address: str, seed: int):
    def work(until: float) -> None:
        draw, lines = random.Random(seed), []
        while time.monotonic() < until:
            line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            line.setblocking(False)
            try:
                line.connect(address)
                line.send(draw.choice(NOISE))
                if draw.random() < 0.7 and len(lines) < 100:
                    lines.append(line)  # half open
            except OSError:
                pass
            time.sleep(draw.choice([0, 0, 0.001, 0.01]))

    return work


def squatted(group: Group) -> set[str]:
    group.timeout = 4
    seconds = group.draw.choice([0.3, 1, 6])
    stranger = Stranger(squatting(group.address, group.seed), seconds, group.foreign)
    group.pause(0, 0.1)
    group.start_all()
    stranger.end()
    return {"not met"}


def called_on(group: Group) -> set[str]:
    stranger = Stranger(calling(group.address, group.seed), group.draw.choice([0.5, 2]), group.foreign)
    group.start_all()
    stranger.end()
    return set()


DISTURBANCES = [calm, killed, restarted, stopped, stopped_and_killed, starved, absent, doubled, squatted, called_on]


def explained(what: str, ends: list[tuple[int, str]], group: Group, allowed: set[str]) -> bool:
    if any(how not in allowed | {"right"} for _, how in ends):
        return False
    hows = Counter(how for _, how in ends)
    if what == "absent":
        return hows["right"] == 0
    if what == "doubled":
        return hows["right"] == group.ranks and hows["not met"] == 1
    return True


@dataclass
class Soak:
    program: Path
    tried: Counter = field(default_factory=Counter)
    defects: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def one(self, seed: int) -> None:
        draw = random.Random(seed)
        disturb = draw.choice(DISTURBANCES)
        foreign = os.getuid() == 0 and draw.random() < 0.5
        group = Group(self.program, f"soak-{os.getpid()}-{seed}", seed, foreign)
        what = disturb.__name__
        allowed = disturb(group)
        ends = group.end()
        left = [line for line in Path("/proc/net/unix").read_text().splitlines() if f"copse-{group.name}-" in line]
        good = explained(what, ends, group, allowed) and not left
        with self.lock:
            self.tried[what] += 1
            self.tried.update(f"{what}: {how}" for _, how in ends)
            if not good:
                variables = {key: value for key, value in group.environment.items() if key.startswith(("COPSE_", "LD_PRELOAD"))}
                self.defects.append(
                    f"{what}, seed {seed}, {group.ranks} ranks, {variables}, after {time.monotonic() - group.began:.1f} s, "
                    f"sockets left: {left}\n  " + "\n  ".join(group.notes)
                )
                print(f"DEFECT: {self.defects[-1]}", flush=True)

    def report(self) -> None:
        for disturb in DISTURBANCES:
            what = disturb.__name__
            ends = {key.split(": ")[1]: count for key, count in self.tried.items() if key.startswith(f"{what}: ")}
            print(f"{what:20} {self.tried[what]:6} groups; ranks: {', '.join(f'{count} {how}' for how, count in sorted(ends.items()))}")


def shared_kilobytes() -> int:
    return next(int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("Shmem:"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first group; the others follow it")
    parser.add_argument("--groups", type=int, default=3, help="groups at a time")
    parser.add_argument("--only", help="one disturbance: " + ", ".join(one.__name__ for one in DISTURBANCES))
    options = parser.parse_args()
    if options.only:
        DISTURBANCES[:] = [one for one in DISTURBANCES if one.__name__ == options.only]
    before, begin = shared_kilobytes(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(compile_rank(Path(folder)))
        seeds = iter(range(options.seed, sys.maxsize))

        def work(_: int) -> None:
            while time.monotonic() < begin + 60 * options.minutes:
                with soak.lock:
                    seed = next(seeds)
                soak.one(seed)

        with ThreadPoolExecutor(options.groups) as pool:
            list(pool.map(work, range(options.groups)))
    soak.report()
    grown = shared_kilobytes() - before
    print(f"shared memory of the machine: {grown:+} KiB (other programs may have taken or given some)")
    print(f"{sum(soak.tried[one.__name__] for one in DISTURBANCES)} groups from seed {options.seed} on, "
          f"{(time.monotonic() - begin) / 60:.1f} minutes: {len(soak.defects)} defects")  # fmt: skip
    return 1 if soak.defects else 0


if __name__ == "__main__":
    sys.exit(main())
