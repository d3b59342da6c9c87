#!/usr/bin/env python3
"""Measures what Copse changes in the results and the times of real, unmodified programs.

Each program (bench/program_cases.py) runs bare, with Copse, and with Copse and the shared heap, in turn and several times. With
--helper, it runs bare, with Copse, and with a dedicated collective processor besides; so do programs that make every kind of call.
Copse makes every call from the first one on (COPSE_JOIN=1).
The output is a table of the seconds of the whole run (minimum and median), the seconds that a rank spends in collective calls
(including its wait for slower ranks), the calls that Copse ran, and the comparison of the results with the bare run's: equal
bit for bit, or within the program's own tolerance. The exit code is 1 if a result differs by more. With --helper, there are also
the calls that helpers made. It is an error if they made none of a program that starts some. Programs that are not
installed are left out; their names and Debian packages are printed.

    build/venv/bin/python bench/programs.py                        # all, on 2 and 4 ranks
    build/venv/bin/python bench/programs.py --programs hpcc,lammps --ranks 8 --rounds 5
    build/venv/bin/python bench/programs.py --small --rounds 1     # takes seconds; only compares the results
    build/venv/bin/python bench/programs.py --document             # rewrites the table of docs/programs.md
    build/venv/bin/python bench/programs.py --helper --document    # rewrites its table of programs with a helper
"""

import argparse
import math
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from program_cases import CALLING_ALL, CASES, Case, Command, Results
from share import Launch, Reading, launch, reading_of

from copse import flavours, paths, tables
from copse.errors import CopseError, run_script
from copse.run import HEAP, preload_value
from copse.trace import served_calls

DOCUMENT = paths.ROOT / "docs" / "programs.md"
BARE, COPSE, WITH_HEAP = "bare", "Copse", "Copse, shared heap"
HELPED = "Copse, a helper"  # a dedicated collective processor
SIDES, HELPED_SIDES = (BARE, COPSE, WITH_HEAP), (BARE, COPSE, HELPED)
SAME = "the same bits"


def difference(bare: Results, ours: Results) -> tuple[float, str]:
    """Returns the largest difference (relative for numbers larger than one) and the name of its result."""
    worst = (0.0, "")
    if bare.keys() != ours.keys():
        return math.inf, "what is printed at all"
    for name, ones in bare.items():
        others = ours[name]
        if len(ones) != len(others):
            return math.inf, name
        for one, other in zip(ones, others, strict=True):
            apart = 0.0 if one == other else abs(one - other) / max(1.0, abs(one), abs(other))
            worst = max(worst, (math.inf if math.isnan(apart) else apart, name))
    return worst


@dataclass
class Side:
    """The results of the runs of one side."""

    walls: list[float] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    apart: tuple[float, str] = (0.0, "")  # from the first bare run

    def middle(self, name: str) -> float:
        return statistics.median(getattr(reading, name) for reading in self.readings)

    @property
    def served(self) -> int:
        """The calls of all ranks that helpers made in the last round."""
        return sum(served_calls(self.readings[-1].launch.errors).values())

    def verdict(self, tolerance: float) -> str:
        apart, name = self.apart
        if apart <= tolerance:
            return f"within {apart:.0e}" if apart else SAME
        return f"DIFFERENT: {name} by {apart:.2g}, where {tolerance:.0e} is allowed"


@dataclass
class Measurement:
    """A program on a number of ranks of an MPI."""

    case: Case
    flavour: flavours.Flavour
    ranks: int
    titles: Sequence[str] = SIDES  # the bare side comes first
    sides: dict[str, Side] = field(init=False)

    def __post_init__(self) -> None:
        self.sides = {title: Side() for title in self.titles}

    def run(self, scratch: Path, rounds: int, small: bool) -> None:
        first: Results | None = None
        for number in range(rounds):
            for title, side in self.sides.items():
                folder = scratch / f"{self.flavour.name}-{self.ranks}-{number}-{list(self.sides).index(title)}"
                folder.mkdir()
                program = self.case.prepare(folder, self.flavour, self.ranks, small)
                for variables in self._variables(title):
                    done = self._launch(title, folder, program, variables)
                    if variables.get("COPSE_DISABLE"):
                        continue
                    results = self.case.results(folder, done.output)
                    first = results if first is None else first
                    side.walls.append(done.wall)
                    side.apart = max(side.apart, difference(first, results))

    def _launch(self, title: str, folder: Path, program: Command, variables: Mapping[str, str]) -> Launch:
        """Runs the program. All sides start it alike, also if only one of them has a helper that shares a processor with a rank."""
        crowded = HELPED in self.sides and self.ranks >= len(os.sched_getaffinity(0))
        command = self.flavour.command(self.ranks, program, crowded=crowded, variables={"OMP_NUM_THREADS": "1", **variables})
        done = launch(command, self.flavour.environment(), folder)
        if variables:
            self.sides[title].readings.append(reading_of(done, command))
        if title == HELPED and self.case.starts:
            tables.calls_served(f"{self.case.name}, {self.flavour.title}", command, done.errors)
        return done

    def _variables(self, side: str) -> list[dict[str, str]]:
        """Returns the readings of a side in each round. The bare program runs once as it is and once to count its calls."""
        libraries = [self.flavour.preload.name, *([HEAP] if side == WITH_HEAP else [])]
        helper = {"COPSE_COLLECTIVE_PROCESSORS": "1"} if side == HELPED else {}
        preload = {"LD_PRELOAD": preload_value(libraries, None), "COPSE_TRACE": "1", "COPSE_JOIN": "1", **helper}
        return [{}, {**preload, "COPSE_DISABLE": "1"}] if side == BARE else [preload]

    def rows(self) -> Iterator[list[str]]:
        bare = self.sides[BARE]
        for title, side in self.sides.items():
            calls = side.readings[-1].calls
            ran = f"{calls['ran'] / max(1, sum(calls.values())):.0%}" if sum(calls.values()) else "none seen"
            gain = "" if title == BARE else f"{min(bare.walls) / min(side.walls):.2f}"
            served = [f"{side.served // self.ranks}" if title == HELPED else ""] if HELPED in self.sides else []
            yield [
                self.case.name, self.flavour.title, str(self.ranks), title,
                f"{min(side.walls):.2f} / {statistics.median(side.walls):.2f}", gain,
                f"{side.middle('inside'):.3f} ({side.middle('percent'):.1f} %)",
                f"{sum(calls.values()) // self.ranks}" if title == BARE else ran, *served, side.verdict(self.case.tolerance),
            ]  # fmt: skip

    @property
    def different(self) -> bool:
        return any(side.apart[0] > self.case.tolerance for side in self.sides.values())


def columns(sides: Sequence[str]) -> list[str]:
    served = ["by helpers"] if HELPED in sides else []
    return ["program", "MPI", "ranks", "side", "s, minimum / median", "gain", "s in collectives", "calls", *served, "results"]


def chosen(names: Sequence[str], known: Sequence[Case]) -> list[Case]:
    """Returns the installed programs whose name contains one of the words, and prints those that are missing."""
    cases = [case for case in known if any(name.lower() in case.name.lower() for name in names)]
    for package in dict.fromkeys(case.package for case in cases if case.missing):
        print(f"programs: {package} is not installed; to have it measured: apt-get install {package}", file=sys.stderr)
    present = [case for case in cases if not case.missing]
    if not present:
        raise CopseError("there is nothing to run", f"choose from: {', '.join(case.name for case in known)}")
    return present


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="", help="words of their names: hpcc,salt; all by default")
    parser.add_argument("--ranks", default="2,4", help="2,4")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--helper", action="store_true", help="with a dedicated collective processor, and without the shared heap")
    parser.add_argument("--small", action="store_true", help="inputs of a second or two: for the results, not the times")
    options = tables.parsed(parser, DOCUMENT, "programs", helper="helped")
    sides, known = (HELPED_SIDES, (*CASES, *CALLING_ALL)) if options.helper else (SIDES, CASES)
    cases = chosen(options.programs.split(","), known)
    table, different = tables.GrowingTable(columns(sides)), False
    for case in cases:
        for flavour in map(flavours.find, case.mpis):
            for ranks in map(int, options.ranks.split(",")):
                measured = Measurement(case, flavour, ranks, sides)
                with tempfile.TemporaryDirectory(prefix="copse-programs-") as scratch:
                    measured.run(Path(scratch), options.rounds, options.small)
                for row in measured.rows():
                    table.put(row)
                different |= measured.different
    if options.document:
        about = [f"- {case.name}: {case.about} ({case.origin})" for case in cases]
        table.write(DOCUMENT, options.marks, about)
    return 1 if different else 0


if __name__ == "__main__":
    run_script(main)
