#!/usr/bin/env python3
"""Measures how much more the first calls of a shape take than a later one: making the plan and compiling it.

bench/first_calls.c calls eight collectives with all roots and sizes of 8 bytes to 256 KiB. The bare MPI, Copse, and the libraries of an
earlier build, if one is given, run in turn. The figures are medians over the launches.

    build/venv/bin/python bench/first_calls.py [--before FOLDER] [--ranks 2,8] [--launches 15] [mpich impi openmpi]
"""

import argparse
import os
import statistics
from pathlib import Path

from copse import bench, flavours, tables
from copse.errors import run_script

SOURCE = Path(__file__).with_suffix(".c")
TIMEOUT = 120  # seconds of a launch
COLUMNS = ["MPI", "ranks", "side", "shapes", "first call, us", "second", "third", "fourth"]


def launch(side: bench.Side, ranks: int, preload: str) -> list[float]:
    """Returns what bench/first_calls.c prints."""
    variables = {"LD_PRELOAD": preload} if preload else {}
    joins = [] if not preload else ["env", "COPSE_LEARN=0", "COPSE_JOIN=1"]
    if preload and preload != side.preloaded():
        joins = ["env", "-u", "COPSE_JOIN", "-u", "COPSE_LEARN"]  # an earlier build may not know these, and would pass all calls on
    program = [*joins, str(side.flavour.program(SOURCE))]
    command = side.flavour.command(ranks, program, crowded=True, variables=variables)
    return [float(word) for word in tables.output_of(side.name, command, side.flavour.environment(), TIMEOUT).split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="the lib folder of an earlier build")
    parser.add_argument("--ranks", default="2,8")
    parser.add_argument("--launches", type=int, default=15)
    parser.add_argument("mpi", nargs="*", default=["mpich"])
    options = parser.parse_args()
    for name in ("COPSE_JOIN", "COPSE_LEARN"):
        os.environ.pop(name, None)
    table = tables.GrowingTable(COLUMNS)
    for flavour in map(flavours.find, options.mpi):
        ours = bench.Side(flavour, (flavour.preload.name,))
        sides = {"bare": "", "Copse": ours.preloaded()}
        if options.before:
            sides["before"] = str(options.before.resolve() / flavour.preload.name)
        for ranks in bench.chosen_numbers(options.ranks, "number of ranks", 1):
            figures: dict[str, list[list[float]]] = {side: [] for side in sides}
            for _ in range(options.launches):
                for side, preload in sides.items():
                    figures[side].append(launch(ours, ranks, preload))
            for side, rows in figures.items():
                shapes, *times = (statistics.median(column) for column in zip(*rows, strict=True))
                table.put([flavour.title, str(ranks), side, f"{shapes:.0f}", *(f"{time:.2f}" for time in times)])


if __name__ == "__main__":
    run_script(main)
