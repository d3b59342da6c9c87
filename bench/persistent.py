#!/usr/bin/env python3
"""Measures what a persistent call costs in time and memory, bare and with Copse, where the order of starts is free and where it is asserted.

Each persistent call of Copse has a lane, which is memory of its own (docs/decisions/lanes.md). If the communicator asserts
`mpi_assert_strict_persistent_collective_ordering`, all calls share one. The calls are allreduces of 8 bytes. The figures are medians over
the launches, which alternate.

    build/venv/bin/python bench/persistent.py [--ranks 2,8] [--calls 1,16,200] [--launches 3] [--document] [mpich impi openmpi]
"""

import argparse
import statistics
from pathlib import Path

from copse import bench, flavours, paths, tables
from copse.errors import run_script

SOURCE = Path(__file__).with_suffix(".c")
DOCUMENT = paths.ROOT / "docs" / "memory.md"
TIMEOUT = 600  # seconds of a launch
COLUMNS = ["MPI", "ranks", "calls", "side", "initialise and free, us", "start and wait, us", "the blocking call, us", "memory of a call, KiB"]


def launch(side: bench.Side, ranks: int, calls: int, asserted: bool) -> list[float]:
    """Returns what bench/persistent.c prints."""
    program = [side.flavour.program(SOURCE), calls, int(asserted)]
    return [float(word) for word in tables.unpinned_output(side, ranks, program, TIMEOUT, COPSE_JOIN="1").split()]


def measure(flavour: flavours.Flavour, ranks: int, calls: int, launches: int) -> list[list[str]]:
    ours = bench.Side(flavour, (flavour.preload.name,))
    sides = {"bare": (bench.Side(flavour), False), "Copse": (ours, False), "Copse, one order": (ours, True)}
    if flavour.family is flavours.OPEN_MPI:  # its keys of an info object are too short for the assertion
        del sides["Copse, one order"]
    figures: dict[str, list[list[float]]] = {name: [] for name in sides}
    for _ in range(launches):
        for name, (side, asserted) in sides.items():
            figures[name].append(launch(side, ranks, calls, asserted))
    return [[flavour.title, str(ranks), str(calls), name, *(f"{statistics.median(column):.2f}" for column in zip(*of_side, strict=True))]
            for name, of_side in figures.items()]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="2,8")
    parser.add_argument("--calls", default="1,16,200")
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("mpi", nargs="*", default=["mpich", "impi", "openmpi"])
    options = tables.parsed(parser, DOCUMENT, "persistent")
    table = tables.GrowingTable(COLUMNS)
    for cell in tables.chosen_cells(options.mpi, options.ranks, options.calls, "calls"):
        for row in measure(*cell, options.launches):
            table.put(row)
    if options.document:
        table.write(DOCUMENT, options.marks)


if __name__ == "__main__":
    run_script(main)
