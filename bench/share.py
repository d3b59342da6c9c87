#!/usr/bin/env python3
"""What share of an MPI program's time its collective calls take, on the bare MPI and with Copse.

The program runs in turn with COPSE_DISABLE=1, when the MPI's own calls are counted and timed, and with Copse; what is
printed is the median of several rounds.

    build/venv/bin/python bench/share.py [--rounds 5] [--shared-heap] mpirun -n 4 python examples/kmeans.py
    build/venv/bin/python bench/share.py                            # this example, on 2 ranks of each MPI
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
from dataclasses import dataclass

from copse import flavours, paths
from copse.errors import CopseError

EXAMPLE = paths.ROOT / "examples" / "kmeans.py"
SHARE = re.compile(r"these calls took ([\d.]+) % of the ranks' time, which was \d+ x ([\d.]+) seconds")
SIDES = {"bare": {"COPSE_DISABLE": "1"}, "Copse": {}}


@dataclass(frozen=True)
class Reading:
    seconds: float  # from MPI_Init to MPI_Finalize
    percent: float  # of these in collective calls


def read(command: list[str], heap: bool, variables: dict[str, str], environment: dict[str, str]) -> Reading:
    options = ["--trace", *(["--shared-heap"] if heap else [])]
    done = subprocess.run([paths.ROOT / "tools" / "copse", "run", *options, *command], env={**environment, **variables},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)  # fmt: skip
    found = SHARE.search(done.stderr)
    if done.returncode or not found:
        raise CopseError(f"{' '.join(command)} failed or left no trace: {done.stderr.strip()[-300:]}",
                         "see that it runs to its MPI_Finalize with: copse run --trace")  # fmt: skip
    return Reading(float(found[2]), float(found[1]))


def report(command: list[str], rounds: int, heap: bool, environment: dict[str, str]) -> None:
    readings: dict[str, list[Reading]] = {side: [] for side in SIDES}
    for _ in range(rounds):
        for side, variables in SIDES.items():
            readings[side].append(read(command, heap, variables, environment))
    for side, taken in readings.items():
        percent, seconds = (statistics.median(getattr(r, name) for r in taken) for name in ("percent", "seconds"))
        inside = statistics.median(r.seconds * r.percent / 100 for r in taken)
        print(f"{side:6} {seconds:9.3f} s, of which in collective calls {inside:9.4f} s a rank: {percent:6.2f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--shared-heap", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="MPIRUN ...")
    options = parser.parse_args()
    if options.command:
        return report(options.command, options.rounds, options.shared_heap, dict(os.environ))
    for name in ("mpich", "impi", "openmpi"):
        flavour = flavours.find(name)
        print(f"{flavour.title}:")
        command = flavour.command(2, [flavour.python, EXAMPLE])
        report(command, options.rounds, options.shared_heap, flavour.environment())


if __name__ == "__main__":
    try:
        main()
    except CopseError as error:
        sys.exit(f"share: {error}")
