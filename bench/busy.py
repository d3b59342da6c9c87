#!/usr/bin/env python3
"""Measures short collectives where processors are scarce: beside busy programs, under a quota, on one processor.

bench/busy.c calls MPI_Allreduce of 8 bytes for some seconds, bare and with Copse in turn. A busy program is one that only counts. A
quota is the system's limit of processor time (cgroups), as containers have one. *Calls/s* is the median over the rounds. *Slow* is the
share of the time that passed in calls of more than 100 us: time slices of others, or of a rank that waits on the wrong processor.

    build/venv/bin/python bench/busy.py [--against mpich,impi,openmpi] [--ranks 2,8] [--seconds 2] [--rounds 3] [--document]
"""

import argparse
import contextlib
import os
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from copse import bench, flavours, paths, tables
from copse.errors import run_script

SOURCE = Path(__file__).with_suffix(".c")
DOCUMENT = paths.ROOT / "docs" / "busy-machines.md"
COUNTING = "while :; do :; done"
TIMEOUT = 300  # seconds of a launch
COLUMNS = ["MPI", "ranks", "where", "calls/s, bare", "calls/s, Copse", "gain", "us, median: bare", "Copse", "slow: bare", "Copse", "worst call: bare", "Copse"]


@dataclass(frozen=True)
class Situation:
    title: str
    busy: int = 0  # programs that count
    pinned: bool = False  # rank r on processor r
    processors: int = 0  # how many the ranks may use; 0: all
    quota: float = 0  # processors' worth of time; 0: no limit


SITUATIONS = (
    Situation("quiet"),
    Situation("one busy program", busy=1),
    Situation("two busy programs", busy=2),
    Situation("bound, quiet", pinned=True),
    Situation("bound, one busy program", busy=1, pinned=True),
    Situation("bound, two busy programs", busy=2, pinned=True),
    Situation("all on one processor", processors=1),
    Situation("all on one processor, one busy program there", busy=1, processors=1),
    Situation("quota of 1.5 processors", quota=1.5),
    Situation("quota of 1 processor", quota=1),
)


@dataclass
class Readings:
    rates: list[float] = field(default_factory=list)
    medians: list[float] = field(default_factory=list)
    slow: list[float] = field(default_factory=list)
    slowest: list[float] = field(default_factory=list)

    def add(self, printed: str) -> None:
        calls, seconds, median, slow, slowest = map(float, printed.split())
        self.rates.append(calls / seconds)
        self.medians.append(median)
        self.slow.append(slow)
        self.slowest.append(slowest)


@contextlib.contextmanager
def beside(situation: Situation, processors: list[int]) -> Iterator[None]:
    """Lets busy programs run while the context is entered, on the processors that the ranks have."""
    where = ",".join(map(str, processors))
    jobs = [subprocess.Popen(["taskset", "-c", where, "sh", "-c", COUNTING]) for _ in range(situation.busy)]
    try:
        yield
    finally:
        for job in jobs:
            job.kill()
            job.wait()


class NoQuota(Exception):
    """This machine lets us set no quota."""


@contextlib.contextmanager
def quota(processors: float) -> Iterator[list[Path]]:
    """Gives the files by which a process joins a new cgroup with this quota. There are none if there is no limit."""
    if not processors:
        yield []
        return
    period = 100_000  # us
    of_v1, of_v2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
    folder = (of_v1 if of_v1.is_dir() else of_v2) / f"copse-busy-{os.getpid()}"
    try:
        folder.mkdir()
        if of_v1.is_dir():
            (folder / "cpu.cfs_period_us").write_text(str(period))
            (folder / "cpu.cfs_quota_us").write_text(str(int(processors * period)))
        else:
            (folder / "cpu.max").write_text(f"{int(processors * period)} {period}")
    except OSError as refused:
        with contextlib.suppress(OSError):
            folder.rmdir()
        raise NoQuota(str(refused)) from refused
    try:
        yield [folder / "cgroup.procs"]
    finally:
        for _ in range(50):
            with contextlib.suppress(OSError):
                folder.rmdir()
                break
            time.sleep(0.1)


def launch(side: bench.Side, ranks: int, situation: Situation, seconds: float) -> str:
    usable = sorted(os.sched_getaffinity(0))
    processors = usable[: situation.processors] if situation.processors else usable
    preloaded = side.preloaded()
    variables = {"LD_PRELOAD": preloaded, "COPSE_JOIN": "1"} if preloaded else {}
    pinned = situation.pinned and ranks <= len(usable)
    crowded = ranks > len(processors) or situation.busy > 0 or situation.quota > 0
    program = [str(side.flavour.program(SOURCE)), str(seconds)]
    command = side.flavour.command(ranks, program, pinned=pinned, crowded=crowded, variables=variables)
    with quota(situation.quota) as members, beside(situation, processors):
        enter = "".join(f"echo $$ > {shlex.quote(str(file))}; " for file in members)
        confined = ["taskset", "-c", ",".join(map(str, processors)), "sh", "-c", f'{enter}exec "$@"', "sh", *command]
        return tables.output_of(side.name, confined, side.flavour.environment(), TIMEOUT)


def row(flavour: flavours.Flavour, ranks: int, situation: Situation, bare: Readings, ours: Readings) -> list[str]:
    def both(values: str, text: str) -> list[str]:
        return [text.format(statistics.median(getattr(readings, values))) for readings in (bare, ours)]

    gain = statistics.median(ours.rates) / statistics.median(bare.rates)
    return [flavour.title, str(ranks), situation.title, *both("rates", "{:.0f}"), f"{gain:.2f}", *both("medians", "{:.2f}"),
            *both("slow", "{:.0%}"), *(f"{max(readings.slowest) / 1000:.1f} ms" for readings in (bare, ours))]  # fmt: skip


def measure(flavour: flavours.Flavour, ranks: int, situation: Situation, seconds: float, rounds: int) -> list[str]:
    sides, readings = (bench.Side(flavour), bench.Side(flavour, (flavour.preload.name,))), (Readings(), Readings())
    for _ in range(rounds):
        for side, of_side in zip(sides, readings, strict=True):
            of_side.add(launch(side, ranks, situation, seconds))
    return row(flavour, ranks, situation, *readings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default="mpich,impi,openmpi")
    parser.add_argument("--ranks", default="2,8")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--situations", default="", help="words of their titles; all by default")
    parser.add_argument("--document", action="store_true", help=f"write the table into {DOCUMENT.name}")
    options = parser.parse_args()
    chosen = [s for s in SITUATIONS if any(word in s.title for word in options.situations.split(","))]
    table = tables.GrowingTable(COLUMNS)
    for flavour in map(flavours.find, options.against.split(",")):
        for ranks in bench.chosen_numbers(options.ranks, "number of ranks", 1):
            for situation in chosen:
                if situation.pinned and ranks > len(os.sched_getaffinity(0)):
                    continue
                try:
                    table.put(measure(flavour, ranks, situation, options.seconds, options.rounds))
                except NoQuota as refused:
                    print(f"busy: left out: {situation.title}: {refused}", file=sys.stderr)
    if options.document:
        table.write(DOCUMENT, "busy")


if __name__ == "__main__":
    run_script(main)
