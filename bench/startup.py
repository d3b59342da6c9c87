#!/usr/bin/env python3
"""Measures what Copse adds to the start of a program without collective calls, in milliseconds (target: 5 at most).

Launcher and program run from beginning to end, bare, with Copse preloaded, and through `copse run`, in turn. The figures are the medians of
all rounds, and the medians of the differences within a round. What `copse run` adds counts from the launch with Copse preloaded (target:
below 50). One program only initialises and finalises the MPI. The other knows nothing about MPI and runs without a launcher.

With --short-program, it measures the first collective calls of a program, many communicators that live for one call each, and the whole
program (target: at most 1.1 of the bare MPI's time).

    build/venv/bin/python bench/startup.py [--ranks 2] [--rounds 30] [--document] [none mpich impi openmpi ...]
    build/venv/bin/python bench/startup.py --short-program [--ranks 2,8,32,64] [--rounds 5] [--document] [mpich impi openmpi ...]
"""

import argparse
import statistics
import subprocess
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from copse import bench, flavours, paths, quiet, tables
from copse.errors import CopseError, run_script
from copse.run import HEAP, preload_value
from rich.console import Console

SOURCE = Path(__file__).with_suffix(".c")
DOCUMENT = paths.ROOT / "docs" / "start.md"
COPSE_RUN = (str(paths.ROOT / "tools" / "copse"), "run")
MPIS = ["mpich", "impi", "openmpi"]
TIMEOUT = 600  # seconds of a launch
PRELOADED_MS = 5.0  # the goals: what a preloaded library adds,
RUN_MS = 50.0  # what `copse run` adds to that,
FIRST_MS = {2: 1.0, 64: 10.0}  # what the first allreduce takes beyond the MPI's own, by ranks,
GOAL = 1.1  # and the ratio of a whole program
KINDS = ("integers", "doubles")
COLUMNS = ["MPI", "ranks", "bare, ms", "with Copse", "added", "with the heap", "added", "through `copse run`", "added by that"]
SHORT_COLUMNS = ["MPI", "ranks", "adds", "first allreduce, ms: bare", "Copse", "dup and allreduce, us: bare", "Copse", "free, us: bare", "Copse",
                 "whole program, s: bare", "Copse", "ratio", "resident, MiB: bare", "Copse"]  # fmt: skip


def milliseconds(command: list[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode:
        raise CopseError(f"{command[0]} failed: {done.stderr.strip()[-300:]}", f"try: {' '.join(command)}")
    return (time.perf_counter() - start) * 1e3


def commands(name: str, ranks: int) -> list[tuple[list[str], dict[str, str]]]:
    """Returns the commands and environments that run the program of a flavour, or of `none`: bare, with Copse, and with the heap.

    Those of a flavour also run it through `copse run`.
    """
    own = flavours.MPICH.preload if name == "none" else flavours.find(name).preload.name
    preloads = [{"LD_PRELOAD": preload_value(libraries, None)} if libraries else {} for libraries in ([], [own], [own, HEAP])]
    if name == "none":
        return [(["/bin/true"], preload) for preload in preloads]
    flavour = flavours.find(name)
    program, environment = [flavour.program(SOURCE)], flavour.environment()
    sides = [(flavour.command(ranks, program, crowded=True, variables=preload), environment) for preload in preloads]
    return [*sides, ([*COPSE_RUN, *flavour.command(ranks, program, crowded=True)], environment)]


def start_row(name: str, ranks: int, rounds: int) -> tuple[list[str], list[float]]:
    """Returns a row, and what is added by Copse, by Copse with the heap, and by `copse run` to a launch with Copse."""
    sides = commands(name, ranks)
    times = [[milliseconds(*side) for side in sides] for _ in range(rounds)]
    middle = [statistics.median(of_side) for of_side in zip(*times, strict=True)]
    pairs = [(1, 0), (2, 0), (3, 1)][: len(sides) - 1]
    added = [statistics.median(of_round[side] - of_round[other] for of_round in times) for side, other in pairs]
    cells = [text for figures in zip(middle[1:], added, strict=True) for text in map("{:.1f}".format, figures)]
    mpi = "none (`true`)" if name == "none" else flavours.find(name).title
    return [mpi, "1" if name == "none" else str(ranks), f"{middle[0]:.1f}", *cells, *["-"] * (len(COLUMNS) - 3 - len(cells))], added


def fill(options: argparse.Namespace) -> tuple[tables.GrowingTable, str]:
    """Returns the table of programs without collective calls, and what it comes to."""
    table = tables.GrowingTable(COLUMNS)
    added = []
    for name in options.mpi or ["none", *MPIS]:
        for ranks in bench.chosen_numbers(options.ranks or "2", "number of ranks", 1)[: 1 if name == "none" else None]:
            cells, of_row = start_row(name, ranks, options.rounds or 30)
            table.put(cells)
            added.append(of_row)
    preloaded = sum(of_row[0] > PRELOADED_MS for of_row in added)
    through = [of_row[2] for of_row in added if len(of_row) > 2]
    return table, (
        f"Preloaded, Copse may add {PRELOADED_MS:g} ms: {preloaded} of {len(added)} rows miss that. `copse run` may add {RUN_MS:g} ms: "
        f"{sum(ms >= RUN_MS for ms in through)} of {len(through)} rows miss that."
    )


@dataclass(frozen=True)
class Reading:
    """One run of the short program: times in us, the mean resident set of a rank in kB, and the time of launcher and program in s."""

    first: float
    making: float
    freeing: float
    kilobytes: float
    whole: float


def short_launch(side: bench.Side, ranks: int, kind: str, communicators: int) -> Reading:
    program = side.flavour.program(SOURCE)  # before the clock starts, because it may have to be compiled
    start = time.perf_counter()
    # Without COPSE_JOIN, Copse begins where it pays, as it does for users.
    printed = tables.unpinned_output(side, ranks, [program, kind, communicators], TIMEOUT)
    return Reading(*map(float, printed.split()), time.perf_counter() - start)


def short_row(flavour: flavours.Flavour, ranks: int, kind: str, rounds: int, options: argparse.Namespace) -> tuple[list[str], float, float]:
    """Returns a row, the ratio of the whole program, and by how many ms the first allreduce takes longer."""
    sides = (bench.Side(flavour), bench.Side(flavour, (flavour.preload.name,)))
    found: tuple[list[Reading], list[Reading]] = ([], [])
    for _ in range(rounds):
        for side, readings in zip(sides, found, strict=True):
            readings.append(options.patience.undisturbed(partial(short_launch, side, ranks, kind, options.communicators))[0])

    def middle(what: str, unit: float = 1) -> list[float]:
        return [statistics.median(getattr(reading, what) for reading in readings) / unit for readings in found]

    first, whole = middle("first", 1e3), middle("whole")
    ratio = whole[1] / whole[0]
    cells = [*map("{:.2f}".format, first), *map("{:.0f}".format, middle("making")), *map("{:.1f}".format, middle("freeing")),
             *map("{:.2f}".format, whole), f"{ratio:.2f}", *map("{:.0f}".format, middle("kilobytes", 1024))]  # fmt: skip
    return [flavour.title, str(ranks), kind, *cells], ratio, first[1] - first[0]


def fill_short(options: argparse.Namespace) -> tuple[tables.GrowingTable, str]:
    """Returns the table of short programs, and what it comes to."""
    table = tables.GrowingTable(SHORT_COLUMNS)
    ratios, firsts = [], []
    for flavour in map(flavours.find, options.mpi or MPIS):
        for ranks in bench.chosen_numbers(options.ranks or "2,8,32,64", "number of ranks", 2):
            for kind in bench.chosen_words(options.kinds, KINDS, "kind of number"):
                cells, ratio, longer = short_row(flavour, ranks, kind, options.rounds or 5, options)
                table.put(cells)
                ratios.append(ratio)
                if ranks in FIRST_MS:
                    firsts.append(longer >= FIRST_MS[ranks])
    goals = " and ".join(f"{ms:g} ms on {ranks} ranks" for ranks, ms in FIRST_MS.items())
    return table, (
        f"The whole program may take {GOAL} of the bare MPI's time: {sum(ratio > GOAL for ratio in ratios)} of {len(ratios)} rows miss that. "
        f"The first allreduce may take longer by {goals}: {sum(firsts)} of {len(firsts)} rows miss that."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short-program", action="store_true", help="a program with collective calls instead")
    parser.add_argument("--ranks", help="default: 2, and 2,8,32,64 for the short program")
    parser.add_argument("--rounds", type=int, help="default: 30, and 5 for the short program")
    parser.add_argument("--communicators", type=int, default=64, help="that the short program makes")
    parser.add_argument("--kinds", default=",".join(KINDS), help="what it adds; where sums are rounded, Copse begins at once")
    parser.add_argument("--patience", type=float, default=300, help="seconds to wait, in all, while others use the processors")
    parser.add_argument("mpi", nargs="*")
    options = tables.parsed(parser, DOCUMENT, "startup", short_program="short-program")
    options.patience = quiet.Patience(options.patience, Console(stderr=True).print)
    table, about = (fill_short if options.short_program else fill)(options)
    if options.document:
        table.write(DOCUMENT, options.marks, [about])


if __name__ == "__main__":
    run_script(main)
