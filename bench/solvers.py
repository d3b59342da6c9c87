#!/usr/bin/env python3
"""Measures two applications that live on short allreduces, with dedicated collective processors and without (bench/solvers.c).

Conjugate gradients, blocking and pipelined, and a barotropic solver as in POP, with blocking and with started allreduces. Each MPI
runs bare, with Copse, and with Copse and a helper, in turn. The ranks of these have all processors but one, which is the helper's, or
idle. A fourth and a fifth side give the ranks all processors, since that is what a helper costs. *Share* is the part of the time that
rank 0 spent in calls of collectives. *By the helper* is the number of a rank's calls that it makes in a launch of its own. *Result*
compares the sum over the solution with the first side's. It is an error if a method starts calls and the helper makes none of them.

    build/venv/bin/python bench/solvers.py [--against mpich,impi,openmpi] [--side 64] [--ranks N] [--rounds 5] [--document]
"""

import argparse
import json
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from copse import flavours, paths, tables
from copse.errors import run_script

SOURCE = Path(__file__).with_suffix(".c")
DOCUMENT = paths.ROOT / "docs" / "collective-processors.md"
METHODS = ("cg", "cg-pipelined", "pop", "pop-started")
STEPS = 200  # of pop
STARTING = ("cg-pipelined", "pop-started")  # the others block in every call, and a helper has nothing to do
TIMEOUT = 300  # seconds of a launch
COLUMNS = ["MPI", "ranks", "method", "side", "processors of the ranks", "ms, least", "ms, median", "share", "by the helper", "result"]
COPSE, HELPED = "Copse", "Copse, a helper"


@dataclass
class Side:
    title: str
    spare: int  # processors that the ranks leave free
    preload: bool = False
    variables: dict[str, str] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    served: str = ""  # how many of a rank's calls a helper makes
    total: float = 0  # the sum over the solution


def sides_of() -> list[Side]:
    helper = {"COPSE_COLLECTIVE_PROCESSORS": "1"}
    return [Side("bare", 1), Side(COPSE, 1, True), Side(HELPED, 1, True, helper), Side("bare", 0), Side(COPSE, 0, True)]


def command_of(flavour: flavours.Flavour, side: Side, ranks: int, method: str, points: int, **more: str) -> list[str]:
    """Returns the command that runs bench/solvers.c, with more variables for its ranks."""
    usable = sorted(os.sched_getaffinity(0))
    processors = usable[: max(1, len(usable) - side.spare)]
    variables = {"LD_PRELOAD": str(flavour.preload), "COPSE_JOIN": "1", **side.variables, **more} if side.preload else {}
    program = [str(flavour.program(SOURCE, "-lm")), method, str(points), str(STEPS)]
    command = flavour.command(ranks, program, crowded=ranks > len(processors), variables=variables)
    return ["taskset", "-c", ",".join(map(str, processors)), *command]


def require_served(flavour: flavours.Flavour, side: Side, ranks: int, method: str, points: int) -> int:
    """Returns how many of a rank's calls the helper of a side makes, which must be some. A launch of its own is traced, because that
    takes time."""
    traced = command_of(flavour, side, ranks, method, points, COPSE_TRACE="1")
    served = tables.require_served(f"{flavour.title}, {method}, {side.title}", traced, flavour.environment(), TIMEOUT)
    return sum(served.values()) // ranks


def launch(flavour: flavours.Flavour, side: Side, ranks: int, method: str, points: int) -> None:
    command = command_of(flavour, side, ranks, method, points)
    printed = tables.output_of(side.title, command, flavour.environment(), TIMEOUT)
    found = next(json.loads(line) for line in printed.splitlines() if line.startswith("{"))
    side.seconds.append(found["seconds"])
    side.shares.append(found["in_collectives"] / found["seconds"])
    side.total = float.fromhex(found["sum"])


def verdict(total: float, first: float) -> str:
    return "the same bits" if total == first else f"{abs(total - first) / abs(first):.0e}"


def measure(flavour: flavours.Flavour, ranks: int, method: str, points: int, rounds: int) -> list[list[str]]:
    sides = sides_of()
    for side in sides:
        if side.title == HELPED:
            side.served = str(require_served(flavour, side, ranks, method, points)) if method in STARTING else "starts none"
    for _ in range(rounds):
        for side in sides:
            launch(flavour, side, ranks, method, points)
    usable = len(os.sched_getaffinity(0))
    return [
        [flavour.title, str(ranks), method, side.title, str(max(1, usable - side.spare)), f"{1e3 * min(side.seconds):.2f}",
         f"{1e3 * statistics.median(side.seconds):.2f}", f"{statistics.median(side.shares):.0%}", side.served,
         verdict(side.total, sides[0].total)]
        for side in sides
    ]  # fmt: skip


Found = Mapping[tuple[str, str, int], Mapping[str, str]]  # the table's rows of an MPI, by method, side, and processors of the ranks


def span(found: Found, column: str, one: tuple[str, int], other: tuple[str, int]) -> str:
    """Returns the least and the largest quotient of two sides' times over the methods."""
    methods = dict.fromkeys(method for method, *_ in found)
    quotients = [float(found[method, *one][column]) / float(found[method, *other][column]) for method in methods]
    return f"{min(quotients):.2f} to {max(quotients):.2f}"


def summaries(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Returns a line for each MPI, from the table's rows: what a helper costs, and what its processor would do for the ranks."""
    lines = []
    for mpi in dict.fromkeys(row["MPI"] for row in rows):
        found = {(row["method"], row["side"], int(row["processors of the ranks"])): row for row in rows if row["MPI"] == mpi}
        few, most = (end(processors for _, _, processors in found) for end in (min, max))
        least, median = (span(found, column, (HELPED, few), (COPSE, few)) for column in ("ms, least", "ms, median"))
        instead = span(found, "ms, least", (COPSE, most), (HELPED, few))
        lines.append(
            f"- {mpi}: with a helper the methods take {least} times as long as without it on the same processors (by the medians, {median}). "
            f"Without it, on all processors, they take {instead} times as long as with it."
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default="mpich,impi,openmpi")
    parser.add_argument("--side", type=int, default=64, help="points of a rank's part of the grid, in each direction")
    parser.add_argument("--ranks", type=int, default=0, help="default: as many as there are processors")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--methods", default=",".join(METHODS))
    options = tables.parsed(parser, DOCUMENT, "solvers")
    ranks = options.ranks or len(os.sched_getaffinity(0))
    table, rows = tables.GrowingTable(COLUMNS), []
    for flavour in map(flavours.find, options.against.split(",")):
        for method in options.methods.split(","):
            for row in measure(flavour, ranks, method, options.side, options.rounds):
                table.put(row)
                rows.append(dict(zip(COLUMNS, row, strict=True)))
    if options.document:
        table.write(DOCUMENT, options.marks, summaries(rows))


if __name__ == "__main__":
    run_script(main)
