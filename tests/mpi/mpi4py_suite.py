#!/usr/bin/env python3
"""Compares mpi4py's own test-suite on a bare MPI and with Copse preloaded, test by test and rank by rank.

    build/venv/bin/python tests/mpi/mpi4py_suite.py                          # the collective part on 2 ranks of each MPI
    build/venv/bin/python tests/mpi/mpi4py_suite.py --mpi mpich --ranks 1,2,3,4,7 --whole
    build/venv/bin/python tests/mpi/mpi4py_suite.py --tests '^test_rma' --sides heap

Prints a line for each configuration, and the tests whose outcome differs; exit code 1 if there are any. A test that
hangs or kills its rank is one more outcome: it is noted, and the others run on in a new start. Where Copse differs, the
bare MPI runs these tests again: what it cannot repeat itself is listed as unsteady and does not count.
"""

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from copse import flavours, paths
from copse.errors import CopseError
from copse.run import HEAP, preload_value

SUITE = paths.MPI_FOLDER / "sources" / "mpi4py" / "test"
RANKS_PROGRAM = Path(__file__).with_name("mpi4py_ranks.py")
COLLECTIVE = r"^test_(cco_\w+|comm|comm_topo)\.py$"
WHOLE = ""
# To load it is enough: it tries MPI_Open_port, of which a rank of Intel MPI dies, with Copse or without.
LEFT_OUT = {flavours.INTEL: "^test_dynproc"}
SIDES = ("plain", "heap")  # of Copse: without and with the shared heap
PATIENCE_SECONDS = 120  # without any test's beginning or end
STARTS_MAX = 40
AGAIN = 3
TAIL_CHARACTERS = 4000

BEGUN, NOT_BEGUN = "begun", "not begun"
ENDED, DIED, HUNG = "ended", "died", "hung"

Outcomes = dict[str, tuple[str, ...]]  # of each test, on each rank


@dataclass
class Side:
    """What a run of the suite gave."""

    outcomes: Outcomes = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    calls: int = 0  # collective calls that Copse's trace says it ran

    def summary(self) -> str:
        kinds = [" / ".join(sorted(set(ranks))) for ranks in self.outcomes.values()]
        return ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds), key=kinds.count, reverse=True))


@dataclass
class Suite:
    """A selection of tests on a number of ranks of one MPI."""

    flavour: flavours.Flavour
    ranks: int
    tests: str = COLLECTIVE  # a regular expression of file names
    folder: Path = SUITE
    patience: float = PATIENCE_SECONDS

    def run(self, side: str, only: set[str] | None = None) -> Side:
        """Runs it bare, or on one of Copse's sides; `only` some tests of it."""
        result = Side()
        with tempfile.TemporaryDirectory(prefix="mpi4py-suite-") as scratch:
            for start in range(STARTS_MAX):
                folder = Path(scratch) / str(start)
                folder.mkdir()
                (folder / "done").write_text("\n".join(result.outcomes))
                (folder / "only").write_text("\n".join(only or ()))
                if self._start(side, folder, result):
                    return result
        raise CopseError(f"the suite was started {STARTS_MAX} times without coming to its end", "choose fewer --tests")

    def _start(self, side: str, folder: Path, result: Side) -> bool:
        """Adds what a start of the program gave; false if there are tests left."""
        options = ["-q", "-i", self.tests, "-e", LEFT_OUT.get(self.flavour.family, "^$")]
        command = self.flavour.command(
            self.ranks, [self.flavour.python, RANKS_PROGRAM, self.folder, folder, *options],
            crowded=True, variables=variables_of(self.flavour, side),
        )  # fmt: skip
        log = folder / "log"
        with log.open("wb") as output:
            launcher = subprocess.Popen(command, env=self.flavour.environment(), start_new_session=True,
                                        stdin=subprocess.DEVNULL, stdout=output, stderr=output)  # fmt: skip
            try:
                fate = self._watch(launcher, folder)
            finally:
                kill_session(launcher.pid)
        text = log.read_text(errors="replace")
        result.calls += ran_calls(text)
        journals = [read_journal(folder / str(rank)) for rank in range(self.ranks)]
        unfinished = []
        for name in dict.fromkeys(name for journal in journals for name in journal.outcomes):
            ranks = tuple(journal.outcomes.get(name, NOT_BEGUN) for journal in journals)
            if {BEGUN, NOT_BEGUN} & set(ranks):
                unfinished.append(name)
            else:
                result.outcomes[name] = ranks
                result.reasons[name] = next((j.reasons[name] for j in journals if j.reasons[name]), "")
        if fate == ENDED and not unfinished and all(journal.ended for journal in journals):
            return True
        # Ranks may have gone ahead of the one that is stuck.
        culprit = next((name for name in unfinished if any(j.outcomes.get(name) == BEGUN for j in journals)), None)
        if culprit is None and not any(journal.ended for journal in journals):
            raise CopseError(f"{fate} before the first test: {' '.join(command)}\n{text[-TAIL_CHARACTERS:]}",
                             "run this by hand")  # fmt: skip
        culprit = culprit or "the end"
        result.outcomes[culprit] = (DIED if fate == ENDED else fate,) * self.ranks
        result.reasons[culprit] = text[-TAIL_CHARACTERS:]
        return culprit not in unfinished

    def _watch(self, launcher: subprocess.Popen, folder: Path) -> str:
        """Waits for the launcher; says whether it ended, died or hung."""
        progress, since = None, time.monotonic()
        while launcher.poll() is None:
            time.sleep(0.2)
            sizes = [file.stat().st_size for file in folder.iterdir() if file.name.isdigit()]
            if sizes != progress:
                progress, since = sizes, time.monotonic()
            elif time.monotonic() - since > self.patience:
                for file in folder.iterdir():
                    if file.name.isdigit():
                        send(int(file.read_text().split(maxsplit=1)[0]), signal.SIGUSR1)
                time.sleep(1)
                kill_session(launcher.pid)
                launcher.wait()
                return HUNG
        return ENDED if launcher.returncode in (0, 1) else DIED  # 1: some test failed


def variables_of(flavour: flavours.Flavour, side: str) -> dict[str, str]:
    if side == "bare":
        return {}
    libraries = [flavour.preload.name, *([HEAP] if side == "heap" else [])]
    return {"LD_PRELOAD": preload_value(libraries, None), "COPSE_TRACE": "1"}


@dataclass
class Journal:
    """See mpi4py_ranks.py."""

    outcomes: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    ended: bool = False


def read_journal(file: Path) -> Journal:
    journal = Journal()
    for line in file.read_text().splitlines()[1:] if file.exists() else ():
        if line == "end":
            journal.ended = True
        else:
            name, journal.outcomes[name], journal.reasons[name] = line.split("\t")
    return journal


def send(process: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def kill_session(session: int) -> None:
    """Kills all processes of a session, whatever groups the launcher has put them in."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                send(int(stat.parent.name), signal.SIGKILL)


def ran_calls(log: str) -> int:
    """Calls that Copse ran, by its trace."""
    return sum(map(int, re.findall(r"^copse: \w+ +\w+ (?:line|slot|get|put)\b.*? {2,}(\d+) ", log, re.MULTILINE)))


@dataclass
class Comparison:
    side: str
    bare: Side
    ours: Side
    different: list[str] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)  # different, but the bare MPI is different from itself as well

    def explain(self, name: str) -> str:
        bare, ours = self.bare.outcomes.get(name, ("absent",)), self.ours.outcomes.get(name, ("absent",))
        why = self.ours.reasons.get(name) or self.bare.reasons.get(name, "")
        return f"{name}: bare {' / '.join(bare)}, with Copse {' / '.join(ours)}: {why}"


def compare(suite: Suite, sides: tuple[str, ...] = SIDES, trusting: bool = False) -> Iterator[Comparison]:
    """`trusting` saves the bare run: what passes with Copse is taken to pass without it, and the rest is compared."""
    bare = Side() if trusting else suite.run("bare")
    for side in sides:
        ours = suite.run(side)
        if trusting:
            doubtful = {name for name, ranks in ours.outcomes.items() if set(ranks) != {"ok"}}
            passing = {name: ranks for name, ranks in ours.outcomes.items() if name not in doubtful}
            bare = suite.run("bare", doubtful) if doubtful else Side()
            bare.outcomes |= passing
        result = Comparison(side, bare, ours)
        names = {**bare.outcomes, **ours.outcomes}
        suspects = [name for name in names if bare.outcomes.get(name) != ours.outcomes.get(name)]
        again = [suite.run("bare", set(suspects)) for _ in range(AGAIN)] if suspects else []
        for name in suspects:
            steady = all(one.outcomes.get(name) == bare.outcomes.get(name) for one in again)
            (result.different if steady else result.unsteady).append(name)
        yield result


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", type=words, default=("mpich", "impi", "openmpi"), help="mpich,impi,openmpi")
    parser.add_argument("--ranks", type=numbers, default=[2], help="2; several: 1,2,3")
    parser.add_argument("--sides", type=words, default=SIDES, help="plain,heap: without and with the shared heap")
    parser.add_argument("--tests", default=COLLECTIVE, help="a regular expression of the suite's files")
    parser.add_argument("--whole", action="store_const", dest="tests", const=WHOLE, help="all of the suite")
    parser.add_argument("--patience", type=float, default=PATIENCE_SECONDS, help="seconds until a test counts as hung")
    options = parser.parse_args()
    different = 0
    for name in options.mpi:
        for ranks in options.ranks:
            suite = Suite(flavours.find(name), ranks, options.tests, patience=options.patience)
            for one in compare(suite, options.sides):
                print(f"{name:8} {ranks} ranks, {one.side:5}: {'DIFFERENT' if one.different else 'same'}; "
                      f"{one.ours.summary()}; Copse ran {one.ours.calls} calls", flush=True)  # fmt: skip
                for test in one.different:
                    print(f"    {one.explain(test)}", flush=True)
                for test in one.unsteady:
                    print(f"    unsteady without Copse, too: {one.explain(test)}", flush=True)
                different += len(one.different)
    return 1 if different else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CopseError as error:
        sys.exit(f"mpi4py_suite: {error}")
