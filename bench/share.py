#!/usr/bin/env python3
"""Measures the share of an MPI program's time that its collective calls take, on the bare MPI and with Copse.

The program runs in turn with COPSE_DISABLE=1, where Copse counts and times the MPI's own calls, and with Copse. The
figures are medians of several rounds. bench/programs.py does the same for real programs and compares their results.

    build/venv/bin/python bench/share.py [--rounds 5] [--shared-heap] mpirun -n 4 python examples/kmeans.py
    build/venv/bin/python bench/share.py                            # this example, on 2 ranks of each MPI
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from copse import flavours, paths
from copse.errors import CopseError, run_script

EXAMPLE = paths.ROOT / "examples" / "kmeans.py"
SHARE = re.compile(r"these calls took ([\d.]+) % of the ranks' time, which was \d+ x ([\d.]+) seconds")
TABLE = re.compile(r"copse: call +(ran|passed)")
ROW = re.compile(r"copse: \w+ +.+? {2,}(\d+) +\d+ +[\d.]+ +[\d.]+$")
SIDES = {"bare": {"COPSE_DISABLE": "1"}, "Copse": {}}
LIMIT_SECONDS = 900


@dataclass(frozen=True)
class Launch:
    """A complete run of an MPI program."""

    wall: float  # seconds, including the launcher's own
    output: str
    errors: str


@dataclass(frozen=True)
class Reading:
    launch: Launch
    seconds: float  # from MPI_Init to MPI_Finalize
    percent: float  # of these seconds, in collective calls
    calls: Mapping[str, int]  # of all ranks: "ran" by Copse, "passed" on to the MPI

    @property
    def inside(self) -> float:
        """The seconds that a rank spends in collective calls."""
        return self.seconds * self.percent / 100


def launch(command: Sequence[str | Path], environment: Mapping[str, str], folder: Path | None = None) -> Launch:
    begin = time.perf_counter()
    with subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:  # fmt: skip
        try:
            output, errors = process.communicate(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.terminate()  # not kill: the launcher must end its ranks
            output, errors = process.communicate()
            errors += f"no end after {LIMIT_SECONDS} seconds"
    if process.returncode:
        raise CopseError(f"{' '.join(map(str, command))} failed: {(output + errors).strip()[-500:]}",
                         "run it by hand")  # fmt: skip
    return Launch(time.perf_counter() - begin, output, errors)


def counts(trace: str) -> dict[str, int]:
    found, table = {"ran": 0, "passed": 0}, ""
    for line in trace.splitlines():
        if heading := TABLE.match(line):
            table = heading[1]
        elif table and (row := ROW.match(line)):
            found[table] += int(row[1])
    return found


def reading_of(done: Launch, command: Sequence[str | Path]) -> Reading:
    """Returns the reading of a run that left a trace."""
    found = SHARE.search(done.errors)
    if not found:
        raise CopseError(f"{' '.join(map(str, command))} left no trace: {done.errors.strip()[-300:]}",
                         "see that it runs to its MPI_Finalize with: copse run --trace")  # fmt: skip
    return Reading(done, float(found[2]), float(found[1]), counts(done.errors))


def report(command: list[str], rounds: int, heap: bool, environment: dict[str, str]) -> None:
    traced = [sys.executable, "-m", "copse", "run", "--trace", *(["--shared-heap"] if heap else []), *command]
    readings: dict[str, list[Reading]] = {side: [] for side in SIDES}
    for _ in range(rounds):
        for side, variables in SIDES.items():
            readings[side].append(reading_of(launch(traced, {**environment, **variables}), command))
    for side, taken in readings.items():
        percent, seconds, inside = (
            statistics.median(getattr(r, name) for r in taken) for name in ("percent", "seconds", "inside")
        )
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
    run_script(main)
