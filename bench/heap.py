#!/usr/bin/env python3
"""Measures how fast the shared heap allocates and how much memory it takes, beside glibc's malloc and plain mimalloc.

    tools/build release --target heap_speed copse_heap
    build/venv/bin/python bench/heap.py [--rounds 3]

The figures are the least of several rounds, in which the allocators take turns (tests/heap/heap_speed.cpp).
"""

import argparse
import os
import re
import subprocess
import sys

from copse import paths
from copse.errors import CopseError

PROGRAM = paths.BUILD / "release" / "tests" / "heap_speed"
ALLOCATORS = {"glibc": "", "mimalloc": "libmimalloc.so.2", "shared heap": str(paths.PRELOAD_FOLDER / "libcopse-heap.so")}
LINE = re.compile(r"^(.{52}) +([\d.]+) (.+)$", re.MULTILINE)


def measure(preload: str) -> dict[tuple[str, str], float]:
    done = subprocess.run([PROGRAM], env={**os.environ, "LD_PRELOAD": preload}, capture_output=True, text=True)
    if done.returncode or done.stderr:
        raise CopseError(f"heap_speed failed with LD_PRELOAD={preload!r}: {done.stderr.strip()}",
                         "build it: tools/build release --target heap_speed copse_heap")  # fmt: skip
    return {(what, unit): float(value) for what, value, unit in LINE.findall(done.stdout)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    best: dict[str, dict[tuple[str, str], float]] = {}
    for _ in range(rounds):
        for name, preload in ALLOCATORS.items():
            taken = measure(preload)
            best[name] = {row: min(value, best.get(name, taken)[row]) for row, value in taken.items()}
    print(f"{'':66}" + "".join(f"{name:>14}" for name in ALLOCATORS))
    for what, unit in next(iter(best.values())):
        values = "".join(f"{best[name][what, unit]:14.2f}" for name in ALLOCATORS)
        print(f"{what:52} {unit:13}{values}")


if __name__ == "__main__":
    try:
        main()
    except (CopseError, OSError) as error:
        sys.exit(f"heap: {error}")
