#!/usr/bin/env python3
"""Measures whole lives of communicators: making one, so many calls on it, freeing it (target: at most 1.1 of the bare MPI's time).

bench/communicators.c makes duplicates, halves, and rows and columns of the world, and calls allreduces of 8 bytes on each. `first` are
the first calls of a program on its world. `halves-doubles` adds floating-point numbers. Bare and with Copse run in turn; a ratio is
Copse's time over the bare MPI's, by the median over the launches. *Ahead from* is the number of calls from which no ratio is above 1.

With --many, it makes very many that live for one barrier: 100,000 duplicates of the world, and a million splits of MPI_COMM_SELF.

    build/venv/bin/python bench/communicators.py [--ranks 2,8,32,64] [--calls 1,3,10,...] [--launches 3] [--document] [mpich impi openmpi]
    build/venv/bin/python bench/communicators.py --many --ranks 2 --launches 1 [--document] [mpich impi openmpi]
"""

import argparse
import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from copse import bench, flavours, paths, quiet, tables
from copse.errors import run_script
from rich.console import Console

SOURCE = Path(__file__).with_suffix(".c")
DOCUMENT = paths.ROOT / "docs" / "communicators.md"
TIMEOUT = 1800  # seconds of a launch
KINDS = ("first", "dup", "halves", "halves-doubles", "grid")
MANY = {"dup-barriers": 100_000, "self-barriers": 1_000_000}
GOAL = 1.1
CALLS = "1,2,5,10,20,50,100,200,500,1000"
ROUNDS = {2: 20, 8: 8}  # by ranks; with more of them a round is long
FEW_ROUNDS = 3
MANY_COLUMNS = ["MPI", "ranks", "made by", "lives", "s: bare", "Copse", "ratio", "growth of a rank, KiB: bare", "Copse", "open files more: bare", "Copse"]


@dataclass(frozen=True)
class Lives:
    """Lives of communicators with the same number of calls: the median life in us, all in s, and what the rank that grew most grew by."""

    median: float
    seconds: float
    kilobytes: int
    files: int


Found = dict[int, Lives]  # by the number of calls
Sides = tuple[list[Found], list[Found]]  # of each launch: bare, and with Copse


def launch(side: bench.Side, ranks: int, kind: str, rounds: int, calls: tuple[int, ...]) -> Found:
    # Without COPSE_JOIN, Copse begins where it pays, as it does for users.
    printed = tables.unpinned_output(side, ranks, [side.flavour.program(SOURCE), kind, rounds, *calls], TIMEOUT)
    rows = map(str.split, printed.splitlines())
    return {int(row[0]): Lives(float(row[2]), float(row[3]), int(row[4]), int(row[5])) for row in rows}


def both(flavour: flavours.Flavour, ranks: int, kind: str, rounds: int, calls: tuple[int, ...], options: argparse.Namespace) -> Sides:
    """Launches the bare MPI and Copse in turn."""
    sides = (bench.Side(flavour), bench.Side(flavour, (flavour.preload.name,)))
    found: Sides = ([], [])
    for _ in range(options.launches):
        for side, of_side in zip(sides, found, strict=True):
            of_side.append(options.patience.undisturbed(partial(launch, side, ranks, kind, rounds, calls))[0])
    return found


def ratios_of(found: Sides, calls: tuple[int, ...]) -> dict[int, float]:
    """Returns the ratio for each number of calls."""
    bare, ours = ({number: statistics.median(lives[number].median for lives in side) for number in calls} for side in found)
    return {number: ours[number] / bare[number] for number in calls}


def ahead_from(ratios: dict[int, float]) -> str:
    """Returns the number of calls from which on no printed figure is above 1."""
    behind = [number for number, ratio in ratios.items() if round(ratio, 2) > 1]
    ahead = [number for number in ratios if not behind or number > max(behind)]
    return str(min(ahead)) if ahead else "-"


def places(options: argparse.Namespace, kinds: list[str]) -> Iterator[tuple[flavours.Flavour, int, str]]:
    for flavour in map(flavours.find, options.mpi):
        for ranks in bench.chosen_numbers(options.ranks, "number of ranks", 2):
            for kind in kinds:
                yield flavour, ranks, kind


def fill(options: argparse.Namespace) -> tuple[tables.GrowingTable, str]:
    """Returns the table of lives with more and more calls, and what it comes to."""
    calls = bench.chosen_numbers(options.calls, "number of calls", 1)
    table = tables.GrowingTable(["MPI", "ranks", "made by", *(f"{number} calls" for number in calls), "ahead from"])
    all_ratios: defaultdict[int, list[float]] = defaultdict(list)  # by ranks
    for flavour, ranks, kind in places(options, options.kinds.split(",")):
        rounds = options.rounds or ROUNDS.get(ranks, FEW_ROUNDS)
        ratios = ratios_of(both(flavour, ranks, kind, rounds, calls, options), calls)
        all_ratios[ranks] += ratios.values()
        table.put([flavour.title, str(ranks), kind, *(f"{ratios[number]:.2f}" for number in calls), ahead_from(ratios)])
    missed = {ranks: sum(ratio > GOAL for ratio in ratios) for ranks, ratios in all_ratios.items()}
    of_ranks = ", ".join(f"{count} of {len(all_ratios[ranks])} on {ranks} ranks" for ranks, count in missed.items())
    return table, f"The goal is at most {GOAL}. {sum(missed.values())} of {sum(map(len, all_ratios.values()))} cells miss it ({of_ranks})."


def fill_many(options: argparse.Namespace) -> tuple[tables.GrowingTable, str]:
    """Returns the table of very many short lives, and what it comes to."""
    table = tables.GrowingTable(MANY_COLUMNS)
    ratios = []
    for flavour, ranks, kind in places(options, list(MANY)):
        lives = options.lives or MANY[kind]
        bare, ours = ([of_launch[1] for of_launch in side] for side in both(flavour, ranks, kind, lives, (1,), options))
        seconds = [statistics.median(one.seconds for one in side) for side in (bare, ours)]
        ratios.append(seconds[1] / seconds[0])
        growth = [str(max(getattr(one, what) for one in side)) for what in ("kilobytes", "files") for side in (bare, ours)]
        table.put([flavour.title, str(ranks), kind, str(lives), *(f"{each:.2f}" for each in seconds), f"{ratios[-1]:.2f}", *growth])
    return table, f"The goal is at most {GOAL}. {sum(ratio > GOAL for ratio in ratios)} of {len(ratios)} rows miss it."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="2,8,32,64")
    parser.add_argument("--calls", default=CALLS)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=0, help=f"default: {ROUNDS} by ranks, and else {FEW_ROUNDS}")
    parser.add_argument("--many", action="store_true", help="very many lives instead, with one barrier each")
    parser.add_argument("--lives", type=int, default=0, help=f"how many --many makes of each kind; default: {MANY}")
    parser.add_argument("--patience", type=float, default=300, help="seconds to wait, in all, while others use the processors")
    parser.add_argument("mpi", nargs="*", default=["mpich", "impi", "openmpi"])
    options = tables.parsed(parser, DOCUMENT, "communicators", many="many-lives")
    options.patience = quiet.Patience(options.patience, Console(stderr=True).print)
    table, about = (fill_many if options.many else fill)(options)
    if options.document:
        table.write(DOCUMENT, options.marks, [about])


if __name__ == "__main__":
    run_script(main)
