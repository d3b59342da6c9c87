#!/usr/bin/env python3
"""Measures what memory a rank has, bare and with Copse, by the number of ranks and of communicators (target: 4 MiB more at most).

bench/memory.c calls short and long allreduces on each communicator. *Share* is the mean of the ranks' proportional sets: pages that several
ranks map count once in all. *Resident* is the mean resident set, in which they count for each rank.

    build/venv/bin/python bench/memory.py [--ranks 2,8,32,64,128] [--communicators 1,65] [--document] [mpich impi openmpi]
"""

import argparse
from pathlib import Path

from copse import bench, flavours, paths, tables
from copse.errors import run_script

SOURCE = Path(__file__).with_suffix(".c")
DOCUMENT = paths.ROOT / "docs" / "memory.md"
TIMEOUT = 900  # seconds of a launch
COLUMNS = ["MPI", "ranks", "communicators", "share of a rank, MiB: bare", "with Copse", "more", "resident, MiB: bare", "with Copse", "more"]


def launch(side: bench.Side, ranks: int, communicators: int) -> tuple[float, float]:
    """Returns MiB: the mean proportional set and the mean resident set."""
    printed = tables.unpinned_output(side, ranks, [side.flavour.program(SOURCE), communicators], TIMEOUT, COPSE_JOIN="1")
    share, _, resident, _ = (float(word) / 1024 for word in printed.split())
    return share, resident


def row(flavour: flavours.Flavour, ranks: int, communicators: int) -> list[str]:
    bare, ours = (launch(side, ranks, communicators) for side in (bench.Side(flavour), bench.Side(flavour, (flavour.preload.name,))))
    cells = [flavour.title, str(ranks), str(communicators)]
    for before, after in zip(bare, ours, strict=True):
        cells += [f"{before:.1f}", f"{after:.1f}", f"{after - before:+.1f}"]
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="2,8,32,64,128")
    parser.add_argument("--communicators", default="1,65")
    parser.add_argument("--document", action="store_true", help=f"write the table into {DOCUMENT.name}")
    parser.add_argument("mpi", nargs="*", default=["mpich", "impi", "openmpi"])
    options = parser.parse_args()
    table = tables.GrowingTable(COLUMNS)
    for cell in tables.chosen_cells(options.mpi, options.ranks, options.communicators, "communicators"):
        table.put(row(*cell))
    if options.document:
        table.write(DOCUMENT, "memory")


if __name__ == "__main__":
    run_script(main)
