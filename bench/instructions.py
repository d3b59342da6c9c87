#!/usr/bin/env python3
"""Counts the instructions of a call in Copse's library, under valgrind. They do not depend on how near the caches are. But a rank that
waits makes more of them, up to a third here, so each figure is the least of several launches.

bench/first_calls.c makes a call many times, and then more times. The difference is free of what the start takes. With --before, the
libraries of an earlier build run as well.

    build/venv/bin/python bench/instructions.py [--before FOLDER] [--older] [--ranks 2] [--calls gather,scan] [--launches 2] [--against mpich]
"""

import argparse
import re
import tempfile
from pathlib import Path

from builds import Build

from copse import bench, flavours, tables
from copse.bench_report import size_text
from copse.errors import run_script

SOURCE = Path(__file__).with_name("first_calls.c")
KINDS = tuple(name.lower() for name in re.findall(r"(?:case \d+|default): MPI_(\w+)\(", SOURCE.read_text()))
FEW, MANY = 1000, 5000  # calls
COLUMNS = ["call", "size", "rank, from the fewest on", "before", "now", "now / before"]


def in_library(counts: str, library: str) -> int:
    """Returns the instructions that a file of callgrind counts in the functions of a library, without what they call."""
    names: dict[str, str] = {}
    total, inside, of_callee = 0, False, False
    for line in counts.splitlines():
        if found := re.match(r"(c?ob)=(\(\d+\))(?: (.*))?$", line):
            what, number, name = found.groups()
            names.setdefault(number, name or "")
            if what == "ob":
                inside = library in names[number]
        elif line.startswith("calls="):
            of_callee = True
        elif re.match(r"[\d+*-]", line):
            if inside and not of_callee:
                total += int(line.split()[1])
            of_callee = False
    return total


def counted(side: Build, ranks: int, kind: int, size: int, calls: int) -> list[int]:
    """Returns the instructions of each rank, the fewest first: nothing in the files says which rank is which."""
    with tempfile.TemporaryDirectory() as folder:
        valgrind = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={folder}/%p"]
        learning = {} if side.older else {"COPSE_LEARN": "0"}
        side.start(ranks, [*valgrind, str(side.flavour.program(SOURCE)), str(kind), str(size), str(calls)], **learning)
        files = (file.read_text() for file in Path(folder).iterdir())
        return sorted(in_library(text, side.flavour.preload.name) for text in files if side.flavour.preload.name in text)


def of_a_call(side: Build, ranks: int, kind: int, size: int, launches: int) -> list[float]:
    """Returns the instructions of a call on each rank."""
    best: dict[int, list[int]] = {}
    for calls in (FEW, MANY):
        rows = [counted(side, ranks, kind, size, calls) for _ in range(launches)]
        best[calls] = [min(of_rank) for of_rank in zip(*rows, strict=True)]
    return [(many - few) / (MANY - FEW) for few, many in zip(best[FEW], best[MANY], strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="the lib folder of an earlier build")
    parser.add_argument("--older", action="store_true", help="the earlier build has neither COPSE_JOIN nor COPSE_LEARN: it begins at once and never learns")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--calls", default=",".join(KINDS))
    parser.add_argument("--sizes", default="8,4K")
    parser.add_argument("--launches", type=int, default=2)
    parser.add_argument("--against", default="mpich", help="the MPI to run under")
    options = parser.parse_args()
    flavour = flavours.find(options.against)
    ours = (flavour.preload.name,)
    now = Build(flavour, ours)
    before = Build(flavour, ours, folder=options.before.resolve(), older=options.older) if options.before else None
    table = tables.GrowingTable(COLUMNS)
    for name in bench.chosen_words(options.calls, KINDS, "call"):
        kind = KINDS.index(name)
        for size in bench.chosen_numbers(options.sizes, "size", 8, suffixes=True):
            figures = of_a_call(now, options.ranks, kind, size, options.launches)
            earlier = of_a_call(before, options.ranks, kind, size, options.launches) if before else [0.0] * len(figures)
            for rank, (one, other) in enumerate(zip(figures, earlier, strict=True)):
                cells = [f"{other:.0f}", f"{one:.0f}", f"{one / other:.2f}"] if before else ["", f"{one:.0f}", ""]
                table.put([name, size_text(size), str(rank), *cells])


if __name__ == "__main__":
    run_script(main)
