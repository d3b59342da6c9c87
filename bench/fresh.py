#!/usr/bin/env python3
"""Measures what the first calls on a fresh communicator cost, bare and with Copse, creation and end included.

bench/fresh.c runs in turn on the bare MPI and with Copse preloaded. A figure is the least of the medians of all launches,
in microseconds; the ratio is Copse's figure over the MPI's (target: 1.1 at most, for every number of calls). Below each
table stands the number of calls from which on Copse is ahead.

    build/venv/bin/python bench/fresh.py [--ranks 2,8] [--kinds dup,halves,single,world] [--calls int,double] [mpich impi openmpi]
"""

import argparse
import csv
from pathlib import Path

from copse import bench, flavours
from copse.errors import run_script

SOURCE = Path(__file__).with_suffix(".c")
KINDS = ("world", "dup", "halves", "single")
CALLS = ("barrier", "int", "double", "bcast", "none")
MOST = 1.1  # of the bare MPI's time
ROUNDS = {2: 15}  # by ranks; with more ranks than processors a round is long
FEW_ROUNDS = 3

Times = dict[int, float]  # microseconds by number of calls


def readings(side: bench.Side, ranks: int, kind: str, call: str, join: str) -> Times:
    program = [str(side.flavour.program(SOURCE)), kind, call, str(ROUNDS.get(ranks, FEW_ROUNDS))]
    rows = csv.DictReader(side.start(ranks, program, COPSE_JOIN=join).splitlines())
    return {int(row["calls"]): float(row["us"]) for row in rows}


def least(launches: list[Times]) -> Times:
    return {calls: min(times[calls] for times in launches) for calls in launches[0]}


def ahead_from(bare: Times, ours: Times) -> int | None:
    """Returns the least measured number of calls from which on Copse never takes longer; None if there is none."""
    behind = [calls for calls in bare if ours[calls] > bare[calls]]
    return next((calls for calls in bare if calls > max(behind, default=0)), None)


def measure(name: str, ranks: int, kind: str, call: str, options: argparse.Namespace) -> None:
    flavour = flavours.find(name)
    sides = [bench.Side(flavour), bench.Side(flavour, (flavour.preload.name,))]
    launches = [[readings(side, ranks, kind, call, options.join) for side in sides] for _ in range(options.launches)]
    bare, ours = (least(list(times)) for times in zip(*launches, strict=True))
    print(f"\n{name}, {ranks} ranks, {kind}, {call}\n{'calls':>8}{'bare us':>12}{'copse us':>12}{'ratio':>8}")
    for calls, us in bare.items():
        ratio = ours[calls] / us
        print(f"{calls:8}{us:12.1f}{ours[calls]:12.1f}{ratio:8.2f}{'  more than ' + str(MOST) if ratio > MOST else ''}")
    first = ahead_from(bare, ours)
    print(f"Copse is ahead from {first} calls on" if first else f"Copse is not ahead within {max(bare)} calls")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="2,8")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--calls", default="int,double,bcast")
    parser.add_argument("--launches", type=int, default=3, help="of each side")
    parser.add_argument("--join", default="pays", help="COPSE_JOIN; 1 shows what it costs to begin with the first call")
    parser.add_argument("mpi", nargs="*", default=["mpich", "impi", "openmpi"])
    options = parser.parse_args()
    for ranks in bench.chosen_numbers(options.ranks, "number of ranks", 1):
        for kind in bench.chosen_words(options.kinds, KINDS, "kind of communicator"):
            for call in bench.chosen_words(options.calls, CALLS, "call"):
                for name in options.mpi:
                    measure(name, ranks, kind, call, options)


if __name__ == "__main__":
    run_script(main)
