#!/usr/bin/env python3
"""Measures whole lives of communicators: making one, so many calls on it, freeing it (target: at most 1.1 of the bare MPI's time).

bench/communicators.c makes duplicates, halves, and rows and columns of the world, and calls allreduces of 8 bytes on each. `first` are
the first calls of a program on its world. `halves-doubles` adds floating-point numbers. Bare and with Copse run in turn; a ratio is
Copse's time over the bare MPI's, by the median over the launches. *Ahead from* is the number of calls from which no ratio is above 1.

    build/venv/bin/python bench/communicators.py [--ranks 2,8,32,64] [--calls 1,3,10,...] [--launches 3] [--document] [mpich impi openmpi]
"""

import argparse
import statistics
from collections import defaultdict
from functools import partial
from pathlib import Path

from copse import bench, flavours, paths, quiet, tables
from copse.errors import run_script
from rich.console import Console

SOURCE = Path(__file__).with_suffix(".c")
DOCUMENT = paths.ROOT / "docs" / "communicators.md"
TIMEOUT = 600  # seconds of a launch
KINDS = ("first", "dup", "halves", "halves-doubles", "grid")
GOAL = 1.1
CALLS = "1,2,5,10,20,50,100,200,500,1000"

Times = dict[int, list[float]]  # microseconds of each launch, by the number of calls


def launch(side: bench.Side, ranks: int, kind: str, rounds: int, calls: tuple[int, ...]) -> dict[int, float]:
    """Returns the median life in microseconds, by the number of calls."""
    # Without COPSE_JOIN, Copse begins where it pays, as it does for users.
    printed = tables.unpinned_output(side, ranks, [side.flavour.program(SOURCE), kind, rounds, *calls], TIMEOUT)
    return {int(number): float(median) for number, _, median in map(str.split, printed.splitlines())}


def measure(
    flavour: flavours.Flavour, ranks: int, kind: str, launches: int, rounds: int, calls: tuple[int, ...], patience: quiet.Patience
) -> dict[int, float]:
    """Returns the ratio for each number of calls."""
    sides = (bench.Side(flavour), bench.Side(flavour, (flavour.preload.name,)))
    times: tuple[Times, Times] = (defaultdict(list), defaultdict(list))
    for _ in range(launches):
        for side, of_side in zip(sides, times, strict=True):
            found, _ = patience.undisturbed(partial(launch, side, ranks, kind, rounds, calls))
            for number, median in found.items():
                of_side[number].append(median)
    bare, ours = times
    return {number: round(statistics.median(ours[number]) / statistics.median(bare[number]), 2) for number in calls}


def ahead_from(ratios: dict[int, float]) -> str:
    behind = [number for number, ratio in ratios.items() if ratio > 1]
    ahead = [number for number in ratios if not behind or number > max(behind)]
    return str(min(ahead)) if ahead else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="2,8,32,64")
    parser.add_argument("--calls", default=CALLS)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--patience", type=float, default=300, help="seconds to wait, in all, while others use the processors")
    parser.add_argument("--document", action="store_true", help=f"write the table into {DOCUMENT.name}")
    parser.add_argument("mpi", nargs="*", default=["mpich", "impi", "openmpi"])
    options = parser.parse_args()
    calls = bench.chosen_numbers(options.calls, "number of calls", 1)
    table = tables.GrowingTable(["MPI", "ranks", "made by", *(f"{number} calls" for number in calls), "ahead from"])
    patience = quiet.Patience(options.patience, Console(stderr=True).print)
    all_ratios: list[float] = []
    for flavour in map(flavours.find, options.mpi):
        for ranks in bench.chosen_numbers(options.ranks, "number of ranks", 2):
            for kind in options.kinds.split(","):
                ratios = measure(flavour, ranks, kind, options.launches, options.rounds, calls, patience)
                all_ratios += ratios.values()
                cells = (f"{ratios[number]:.2f}" for number in calls)
                table.put([flavour.title, str(ranks), kind, *cells, ahead_from(ratios)])
    if options.document:
        missed = sum(ratio > GOAL for ratio in all_ratios)
        table.write(DOCUMENT, "communicators", [f"The goal is at most {GOAL}. {missed} of {len(all_ratios)} cells miss it."])


if __name__ == "__main__":
    run_script(main)
