#!/usr/bin/env python3
"""Measures short collectives where processors are scarce: beside busy programs, under a quota, on one processor.

bench/busy.c calls MPI_Allreduce of 8 bytes for some seconds, bare and with Copse in turn. A busy program is one that only counts. A
quota is the system's limit of processor time (cgroups), as containers have one. Ranks that are moved bind themselves to one processor after
their first calls. *Calls/s* is the median over the rounds. *Slow* is the share of the time that passed in calls of more than 100 us: time
slices of others, or of a rank that waits on the wrong processor. (Target: never fewer calls than the bare MPI makes; under 20 us a call
where two ranks share a processor.)

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
from functools import partial
from pathlib import Path

from copse import bench, flavours, paths, quiet, tables
from copse.errors import run_script
from rich.console import Console

SOURCE = Path(__file__).with_suffix(".c")
DOCUMENT = paths.ROOT / "docs" / "busy-machines.md"
COUNTING = "while :; do :; done"
TIMEOUT = 300  # seconds of a launch
SHARED_US = 20.0  # the goal for a call where two ranks share a processor that nobody else wants
COLUMNS = ["MPI", "ranks", "where", "calls/s, bare", "calls/s, Copse", "gain", "us, median: bare", "Copse", "slow: bare", "Copse", "worst call: bare", "Copse"]


@dataclass(frozen=True)
class Situation:
    title: str
    busy: int = 0  # programs that count
    pinned: bool = False  # rank r on processor r
    processors: int = 0  # how many the ranks may use; 0: all
    siblings: bool = False  # hardware threads of one core only
    moved: bool = False  # to one processor, after the first calls
    quota: float = 0  # processors' worth of time; 0: no limit

    @property
    def shared(self) -> bool:
        """Whether all ranks share one processor, which they have for themselves."""
        return (self.processors == 1 or self.moved) and self.busy == 0


SITUATIONS = (
    Situation("quiet"),
    Situation("one busy program", busy=1),
    Situation("two busy programs", busy=2),
    Situation("bound, quiet", pinned=True),
    Situation("bound, one busy program", busy=1, pinned=True),
    Situation("bound, two busy programs", busy=2, pinned=True),
    Situation("all on one processor", processors=1),
    Situation("all on one processor, one busy program there", busy=1, processors=1),
    Situation("moved to one processor", moved=True),
    Situation("sibling hardware threads", siblings=True),
    Situation("sibling hardware threads, one busy program there", busy=1, siblings=True),
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


class LeftOut(Exception):
    """This machine does not have such a situation. The text says why."""


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
        raise LeftOut(str(refused)) from refused
    try:
        yield [folder / "cgroup.procs"]
    finally:
        for _ in range(50):
            with contextlib.suppress(OSError):
                folder.rmdir()
                break
            time.sleep(0.1)


def processors_of(situation: Situation) -> list[int]:
    """Returns the processors on which the ranks may run."""
    usable = sorted(os.sched_getaffinity(0))
    if situation.siblings:
        cores = (sorted(flavours.siblings_of(processor) & set(usable)) for processor in usable)
        found = next((core for core in cores if len(core) > 1), None)
        if found is None:
            raise LeftOut("no core has two hardware threads that may be used")
        return found
    return usable[: situation.processors] if situation.processors else usable


def launch(side: bench.Side, ranks: int, situation: Situation, seconds: float) -> str:
    processors = processors_of(situation)
    preloaded = side.preloaded()
    variables = {"LD_PRELOAD": preloaded, "COPSE_JOIN": "1"} if preloaded else {}
    crowded = ranks > len(processors) or situation.busy > 0 or situation.quota > 0 or situation.moved
    program = [str(side.flavour.program(SOURCE)), str(seconds), *([str(processors[0])] if situation.moved else [])]
    command = side.flavour.command(ranks, program, pinned=situation.pinned, crowded=crowded, variables=variables)
    with quota(situation.quota) as members, beside(situation, processors):
        enter = "".join(f"echo $$ > {shlex.quote(str(file))}; " for file in members)
        confined = ["taskset", "-c", ",".join(map(str, processors)), "sh", "-c", f'{enter}exec "$@"', "sh", *command]
        return tables.output_of(side.name, confined, side.flavour.environment(), TIMEOUT)


@dataclass
class Verdict:
    """What the rows come to: how often Copse made more calls than the bare MPI, and the longest mean call of two ranks on one processor."""

    gains: list[float] = field(default_factory=list)
    shared_us: float = 0

    def add(self, ranks: int, situation: Situation, bare: Readings, ours: Readings) -> None:
        rate = statistics.median(ours.rates)
        self.gains.append(rate / statistics.median(bare.rates))
        if ranks == 2 and situation.shared:
            self.shared_us = max(self.shared_us, 1e6 / rate)

    def __str__(self) -> str:
        fewer = sum(gain < 1 for gain in self.gains)
        text = f"Copse made fewer calls than the bare MPI in {fewer} of {len(self.gains)} rows."
        if self.shared_us:
            text += f" Where two ranks shared one processor, a call took {self.shared_us:.2f} us at most, in the mean (the goal is {SHARED_US:g})."
        return text


def row(flavour: flavours.Flavour, ranks: int, situation: Situation, bare: Readings, ours: Readings) -> list[str]:
    def both(values: str, text: str) -> list[str]:
        return [text.format(statistics.median(getattr(readings, values))) for readings in (bare, ours)]

    gain = statistics.median(ours.rates) / statistics.median(bare.rates)
    return [flavour.title, str(ranks), situation.title, *both("rates", "{:.0f}"), f"{gain:.2f}", *both("medians", "{:.2f}"),
            *both("slow", "{:.0%}"), *(f"{max(readings.slowest) / 1000:.1f} ms" for readings in (bare, ours))]  # fmt: skip


def measure(flavour: flavours.Flavour, ranks: int, situation: Situation, options: argparse.Namespace) -> tuple[Readings, Readings]:
    """Returns the readings of the bare MPI and of Copse. The busy programs are ours; those of others are waited for."""
    sides, readings = (bench.Side(flavour), bench.Side(flavour, (flavour.preload.name,))), (Readings(), Readings())
    for _ in range(options.rounds):
        for side, of_side in zip(sides, readings, strict=True):
            of_side.add(options.patience.undisturbed(partial(launch, side, ranks, situation, options.seconds))[0])
    return readings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default="mpich,impi,openmpi")
    parser.add_argument("--ranks", default="2,8")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--situations", default="", help="words of their titles; all by default")
    parser.add_argument("--patience", type=float, default=300, help="seconds to wait, in all, while others use the processors")
    options = tables.parsed(parser, DOCUMENT, "busy")
    options.patience = quiet.Patience(options.patience, Console(stderr=True).print)
    chosen = [s for s in SITUATIONS if any(word in s.title for word in options.situations.split(","))]
    table, verdict = tables.GrowingTable(COLUMNS), Verdict()
    for flavour in map(flavours.find, options.against.split(",")):
        for ranks in bench.chosen_numbers(options.ranks, "number of ranks", 1):
            for situation in chosen:
                if situation.pinned and ranks > len(os.sched_getaffinity(0)):
                    continue
                try:
                    readings = measure(flavour, ranks, situation, options)
                except LeftOut as refused:
                    print(f"busy: left out: {situation.title}: {refused}", file=sys.stderr)
                    continue
                table.put(row(flavour, ranks, situation, *readings))
                verdict.add(ranks, situation, *readings)
    if options.document:
        table.write(DOCUMENT, options.marks, [str(verdict)])


if __name__ == "__main__":
    run_script(main)
