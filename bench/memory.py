#!/usr/bin/env python3
"""Measures what memory a rank has, bare and with Copse, by the number of ranks and of communicators (target: 4 MiB more at most).

bench/memory.c calls short and long allreduces on each communicator. *Share* is the mean of the ranks' proportional sets: pages that several
ranks map count once in all. *Resident* is the mean resident set, in which they count for each rank. *Page tables* are the kernel's, and are
in neither of these.

    build/venv/bin/python bench/memory.py [--ranks 2,8,32,64,128] [--communicators 1,65] [--document] [mpich impi openmpi]
"""

import argparse
from pathlib import Path

from copse import bench, flavours, paths, tables
from copse.errors import run_script

SOURCE = Path(__file__).with_suffix(".c")
DOCUMENT = paths.ROOT / "docs" / "memory.md"
TIMEOUT = 1800  # seconds of a launch
GOAL = 4.0  # MiB
KINDS = ("share of a rank", "resident", "page tables")
COLUMNS = ["MPI", "ranks", "communicators", *(title for kind in KINDS for title in (f"{kind}, MiB: bare", "with Copse", "more"))]

Figures = tuple[float, ...]  # MiB of each kind


def launch(side: bench.Side, ranks: int, communicators: int, calls: int) -> Figures:
    """Returns the means over the ranks."""
    printed = tables.unpinned_output(side, ranks, [side.flavour.program(SOURCE), communicators, calls], TIMEOUT, COPSE_JOIN="1")
    return tuple(float(word) / 1024 for word in printed.split()[::2])


def measure(flavour: flavours.Flavour, ranks: int, communicators: int, calls: int) -> tuple[list[str], Figures]:
    """Returns a row, and by how much more there is of each kind."""
    sides = bench.Side(flavour), bench.Side(flavour, (flavour.preload.name,))
    bare, ours = (launch(side, ranks, communicators, calls) for side in sides)
    more = tuple(after - before for before, after in zip(bare, ours, strict=True))
    cells = [flavour.title, str(ranks), str(communicators)]
    for before, after, added in zip(bare, ours, more, strict=True):
        cells += [f"{before:.1f}", f"{after:.1f}", f"{added:+.1f}"]
    return cells, more


def summary(more: list[Figures]) -> str:
    """Says how many rows miss the goal, and by which way of counting."""
    shares = sum(share > GOAL for share, _, _ in more)
    with_tables = sum(share + pages > GOAL for share, _, pages in more)
    resident = sum(held > GOAL for _, held, _ in more)
    return (
        f"The goal is at most {GOAL:g} MiB more. Of {len(more)} rows, {shares} miss it by the share, {with_tables} by share and page tables "
        f"together, and {resident} by the resident set."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="2,8,32,64,128")
    parser.add_argument("--communicators", default="1,65")
    parser.add_argument("--calls", type=int, default=100, help="of each short size on each communicator; fewer take less time with many ranks")
    parser.add_argument("mpi", nargs="*", default=["mpich", "impi", "openmpi"])
    options = tables.parsed(parser, DOCUMENT, "memory")
    table = tables.GrowingTable(COLUMNS)
    more: list[Figures] = []
    for cell in tables.chosen_cells(options.mpi, options.ranks, options.communicators, "communicators"):
        cells, of_cell = measure(*cell, options.calls)
        table.put(cells)
        more.append(of_cell)
    if options.document:
        table.write(DOCUMENT, options.marks, [summary(more)])


if __name__ == "__main__":
    run_script(main)
