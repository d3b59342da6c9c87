#!/usr/bin/env python3
"""Measures how much more the first calls of a shape take than a later one: making the plan and compiling it.

bench/first_calls.c calls eight collectives with all roots and sizes of 8 bytes to 256 KiB. The bare MPI, Copse, and the libraries of an
earlier build, if one is given, run in turn. The figures are medians over the launches.

    build/venv/bin/python bench/first_calls.py [--before FOLDER] [--ranks 2,8] [--launches 15] [mpich impi openmpi]
"""

import argparse
import statistics
from pathlib import Path

from builds import Build

from copse import bench, flavours, tables
from copse.errors import run_script

SOURCE = Path(__file__).with_suffix(".c")
COLUMNS = ["MPI", "ranks", "side", "shapes", "first call, us", "second", "third", "fourth"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="the lib folder of an earlier build")
    parser.add_argument("--ranks", default="2,8")
    parser.add_argument("--launches", type=int, default=15)
    parser.add_argument("mpi", nargs="*", default=["mpich"])
    options = parser.parse_args()
    table = tables.GrowingTable(COLUMNS)
    for flavour in map(flavours.find, options.mpi):
        ours = (flavour.preload.name,)
        sides = {"bare": bench.Side(flavour), "Copse": Build(flavour, ours, older=True)}
        if options.before:
            sides["before"] = Build(flavour, ours, folder=options.before.resolve(), older=True)
        for ranks in bench.chosen_numbers(options.ranks, "number of ranks", 1):
            figures: dict[str, list[list[float]]] = {name: [] for name in sides}
            for _ in range(options.launches):
                for name, side in sides.items():
                    figures[name].append([float(word) for word in side.start(ranks, [str(flavour.program(SOURCE))]).split()])
            for side, rows in figures.items():
                shapes, *times = (statistics.median(column) for column in zip(*rows, strict=True))
                table.put([flavour.title, str(ranks), side, f"{shapes:.0f}", *(f"{time:.2f}" for time in times)])


if __name__ == "__main__":
    run_script(main)
