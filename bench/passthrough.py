#!/usr/bin/env python3
"""Measures what Copse's wrapper adds to a call that it passes on to the MPI, in nanoseconds (target: 15 at most).

bench/passthrough.c runs bare and with Copse preloaded, in turn and several times. The figure is the difference of the minima.
With --before it also runs with the libraries of another build, given by its `lib` folder.

    build/venv/bin/python bench/passthrough.py [mpich impi openmpi ...] [--before FOLDER]
"""

import argparse
import csv
import math
from pathlib import Path

from builds import Build

from copse import bench, flavours
from copse.errors import run_script

SOURCE = Path(__file__).with_suffix(".c")
ROUNDS = 7
RANKS = 3
KINDS = ("collectives", "messages")


def measure(sides: list[bench.Side], program: str, calls: str) -> list[dict[str, float]]:
    """Returns the least time of each call in ns, for each side."""
    best: list[dict[str, float]] = [{} for _ in sides]
    for _ in range(ROUNDS):
        for side, times in zip(sides, best, strict=True):
            for row in csv.DictReader(side.start(RANKS, [program, calls]).splitlines()):
                times[row["call"]] = min(float(row["ns"]), times.get(row["call"], math.inf))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="flavour", default=["mpich", "impi", "openmpi"])
    parser.add_argument("--before", type=Path, help="the lib folder of another build")
    parser.add_argument("--older", action="store_true", help="the other build has neither COPSE_JOIN nor COPSE_LEARN")
    options = parser.parse_args()
    print(f"{'flavour':16}{'call':18}{'bare ns':>9}{'copse ns':>10}{'added ns':>10}" + ("  before added" if options.before else ""))
    for name in options.names:
        flavour = flavours.find(name)
        sides = [bench.Side(flavour), bench.Side(flavour, (flavour.preload.name,))]
        if options.before:
            sides.append(Build(flavour, (flavour.preload.name,), folder=options.before.resolve(), older=options.older))
        for calls in KINDS:
            bare, ours, *before = measure(sides, str(flavour.program(SOURCE)), calls)
            for call in bare:
                former = "".join(f"{times[call] - bare[call]:14.1f}" for times in before)
                print(f"{name:16}{call:18}{bare[call]:9.1f}{ours[call]:10.1f}{ours[call] - bare[call]:10.1f}{former}")


if __name__ == "__main__":
    run_script(main)
