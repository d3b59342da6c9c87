#!/usr/bin/env python3
"""Measures what Copse's wrapper adds to a call that it passes on to the MPI, in nanoseconds (target: 15 at most).

bench/passthrough.c runs bare and with Copse preloaded, in turn and several times. The figure is the difference of the minima.

    build/venv/bin/python bench/passthrough.py [mpich impi openmpi ...]
"""

import csv
import math
import sys
from pathlib import Path

from copse import bench, flavours
from copse.errors import run_script

SOURCE = Path(__file__).with_suffix(".c")
ROUNDS = 7
RANKS = 3
KINDS = ("collectives", "messages")


def main() -> None:
    print(f"{'flavour':16}{'call':18}{'bare ns':>9}{'copse ns':>10}{'added ns':>10}")
    for name in sys.argv[1:] or ["mpich", "impi", "openmpi"]:
        flavour = flavours.find(name)
        sides = [bench.Side(flavour), bench.Side(flavour, (flavour.preload.name,))]
        for calls in KINDS:
            best: list[dict[str, float]] = [{}, {}]
            for _ in range(ROUNDS):
                for side, times in zip(sides, best, strict=True):
                    printed = side.start(RANKS, [str(flavour.program(SOURCE)), calls])
                    for row in csv.DictReader(printed.splitlines()):
                        times[row["call"]] = min(float(row["ns"]), times.get(row["call"], math.inf))
            for call, bare in best[0].items():
                print(f"{name:16}{call:18}{bare:9.1f}{best[1][call]:10.1f}{best[1][call] - bare:10.1f}")


if __name__ == "__main__":
    run_script(main)
