#!/usr/bin/env python3
"""Measures what Copse adds to the start of a program without collective calls, in milliseconds (target: 5 at most).

Launcher and program run from beginning to end, bare and with Copse preloaded, in turn. The figures are the medians of all
rounds, and the median of the differences within a round. One program only initialises and finalises the MPI. The other
knows nothing about MPI and runs without a launcher.

    build/venv/bin/python bench/startup.py [--rounds 30] [mpich impi openmpi ...]
"""

import argparse
import statistics
import subprocess
import time
from pathlib import Path

from copse import flavours
from copse.errors import run_script
from copse.run import HEAP, preload_value

RANKS = 2
SOURCE = Path(__file__).with_suffix(".c")


def milliseconds(command: list[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=True, capture_output=True, timeout=60)
    return (time.perf_counter() - start) * 1e3


def commands(name: str, libraries: list[str]) -> tuple[list[str], dict[str, str]]:
    """Returns the command and environment that run the program of a flavour, or of `none`, with these libraries preloaded."""
    variables = {"LD_PRELOAD": preload_value(libraries, None)} if libraries else {}
    if name == "none":
        return ["/bin/true"], variables
    flavour = flavours.find(name)
    return flavour.command(RANKS, [flavour.program(SOURCE)], crowded=True, variables=variables), flavour.environment()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("mpi", nargs="*", default=["none", "mpich", "impi", "openmpi"])
    options = parser.parse_args()
    print(f"{'flavour':16}{'bare ms':>9}{'copse ms':>10}{'added ms':>10}{'with heap':>11}{'added ms':>10}")
    for name in options.mpi:
        own = flavours.MPICH.preload if name == "none" else flavours.find(name).preload.name
        sides = [commands(name, libraries) for libraries in ([], [own], [own, HEAP])]
        rounds = [[milliseconds(*side) for side in sides] for _ in range(options.rounds)]
        middle = [statistics.median(times) for times in zip(*rounds, strict=True)]
        added = [statistics.median(times[side] - times[0] for times in rounds) for side in (1, 2)]
        print(f"{name:16}{middle[0]:9.1f}{middle[1]:10.1f}{added[0]:10.1f}{middle[2]:11.1f}{added[1]:10.1f}")


if __name__ == "__main__":
    run_script(main)
