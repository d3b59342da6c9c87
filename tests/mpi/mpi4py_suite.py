#!/usr/bin/env python3
"""Compares mpi4py's own test-suite on a bare MPI and with Copse preloaded, test by test and rank by rank.

    build/venv/bin/python tests/mpi/mpi4py_suite.py                          # the collective part on 2 ranks of each MPI
    build/venv/bin/python tests/mpi/mpi4py_suite.py --mpi mpich --ranks 1,2,3,4,7 --whole
    build/venv/bin/python tests/mpi/mpi4py_suite.py --tests '^test_rma' --sides heap
    build/venv/bin/python tests/mpi/mpi4py_suite.py --ranks 1,2,3,4,7 --whole --minutes 60 --resume; ... --table

Prints a line for each configuration and the tests whose outcomes differ. The exit code is 1 if there are any. Hanging and
killing its rank are outcomes of a test too; they are noted, and the other tests continue in a new start. If Copse differs,
the bare MPI runs these tests again. Results that it cannot repeat are listed as unsteady and do not count.

The ranks' journals stay under build/mpi4py-suite/, in a folder for each version of an MPI, number of ranks and side, together
with the logs of tests that hung or died. The bare MPI runs a test once, for all later comparisons. With --resume so does
Copse, after a run that was cut short. --table prints what is known and runs nothing.
"""

import argparse
import contextlib
import fcntl
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from copse import flavours, paths
from copse.cluster import Cluster, launch
from copse.errors import CopseError, run_script
from copse.run import HEAP, preload_value
from copse.trace import served_calls

SUITE = paths.MPI_FOLDER / "sources" / "mpi4py" / "test"
RECORDS = paths.BUILD / "mpi4py-suite"
RANKS_PROGRAM = Path(__file__).with_name("mpi4py_ranks.py")
COLLECTIVE = r"^test_(cco_\w+|comm|comm_topo|request|ulfm)\.py$"
WHOLE = ""
LEFT_OUT = {
    # Loading it is enough to fail: it tries MPI_Open_port, and a rank of Intel MPI dies of that, with or without Copse.
    flavours.INTEL: ("-e", "^test_dynproc"),
    # mpi4py replaces a missing MPI_Comm_iagree by MPI_Iallreduce. This test starts it before a barrier on one rank and
    # after it on the others, which MPI forbids (MPI-4.1 6.12, "Mixing blocking and nonblocking collective operations").
    flavours.MPICH: ("-x", "testIAgree"),
}
BARE = "bare"
SIDES = ("plain", "heap")  # of Copse: without and with the shared heap
HELPER = "helper"  # another side: with a dedicated collective processor
OUTSIDE = "outside"  # another side: one more rank is launched, and is a helper
PATIENCE_SECONDS = 120  # without the begin or end of any test
STARTS_MAX = 40
AGAIN = tuple(f"{BARE}-again-{number}" for number in (1, 2, 3))
TAIL_CHARACTERS = 4000

BEGUN, NOT_BEGUN = "begun", "not begun"
ENDED, DIED, HUNG, CUT_SHORT = "ended", "died", "hung", "cut short"

Outcomes = dict[str, tuple[str, ...]]  # of each test, on each rank


class OutOfTime(CopseError):
    """The run was cut short. What it found is recorded."""


@dataclass
class Side:
    """The results of the starts of the suite on one side."""

    outcomes: Outcomes = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    calls: int = 0  # collective calls that Copse's trace says it ran
    served: int = 0  # those of them that helpers made
    ended: set[str] = field(default_factory=set)  # the selections of tests that came to their end

    def summary(self) -> str:
        kinds = [" / ".join(sorted(set(ranks))) for ranks in self.outcomes.values()]
        return ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds), key=kinds.count, reverse=True))

    def add(self, start: Path, ranks: int) -> bool:
        """Adds the results of a start from the files in its folder. Returns false if there are tests left."""
        text = (start / "log").read_text(errors="replace")
        fate = (start / "fate").read_text() if (start / "fate").exists() else CUT_SHORT
        self.calls += ran_calls(text)
        self.served += sum(served_calls(text).values())
        journals = [read_journal(start / str(rank)) for rank in range(ranks)]
        unfinished = []
        for name in dict.fromkeys(name for journal in journals for name in journal.outcomes):
            outcomes = tuple(journal.outcomes.get(name, NOT_BEGUN) for journal in journals)
            if {BEGUN, NOT_BEGUN} & set(outcomes):
                unfinished.append(name)
            else:
                self.outcomes[name] = outcomes
                self.reasons[name] = next((j.reasons[name] for j in journals if j.reasons[name]), "")
        if fate == CUT_SHORT:
            return False
        over = fate == ENDED and not unfinished and all(journal.ended for journal in journals)
        if not over:
            # Other ranks may be ahead of the one that is stuck.
            culprit = next((name for name in unfinished if any(j.outcomes.get(name) == BEGUN for j in journals)), None)
            if culprit is None and not any(journal.ended for journal in journals):
                (start / "fate").unlink()  # says nothing about a test
                raise CopseError(f"{fate} before the first test:\n{text[-TAIL_CHARACTERS:]}", f"look into {start}")
            culprit = culprit or "the end"
            self.outcomes[culprit] = (DIED if fate == ENDED else fate,) * ranks
            self.reasons[culprit] = f"see {start / 'log'}"
            over = culprit not in unfinished
        if over and not (start / "only").read_text():
            self.ended.add((start / "tests").read_text())
        return over


@dataclass
class Suite:
    """A selection of tests on a number of ranks of one MPI."""

    flavour: flavours.Flavour
    ranks: int
    tests: str = COLLECTIVE  # a regular expression of file names
    folder: Path = SUITE
    patience: float = PATIENCE_SECONDS
    records: Path = RECORDS
    deadline: float = math.inf  # by time.monotonic()
    cluster: Cluster | None = None  # emulated nodes, among which the ranks are divided evenly

    def record(self, side: str) -> Path:
        """Returns the folder of a side's starts."""
        return self.records / f"{self.flavour.name}-{self.flavour.version}-{self.ranks}" / side

    def starts(self, side: str) -> list[Path]:
        return sorted((log.parent for log in self.record(side).glob("*/log")), key=lambda start: int(start.name))

    def read(self, side: str) -> Side:
        result = Side()
        for start in self.starts(side):
            result.add(start, self.ranks)
        return result

    def run(self, side: str, only: set[str] | None = None) -> Side:
        """Runs what the record lacks, bare or on one of Copse's sides, or `only` some tests of it."""
        with alone(self.record(side)):
            result = self.read(side)
            if self.tests in result.ended or (only is not None and only <= result.outcomes.keys()):
                return result
            first = len(self.starts(side))
            for number in range(first, first + STARTS_MAX):
                start = self.record(side) / str(number)
                start.mkdir(exist_ok=True)
                (start / "tests").write_text(self.tests)
                (start / "done").write_text("\n".join(result.outcomes))
                (start / "only").write_text("\n".join(only or ()))
                self._start(side, start)
                if result.add(start, self.ranks):
                    return result
        raise CopseError(f"the suite was started {STARTS_MAX} times without coming to its end", "choose fewer --tests")

    def _start(self, side: str, start: Path) -> None:
        options = ["-q", "-i", self.tests, *LEFT_OUT.get(self.flavour.family, ())]
        program, variables = [self.flavour.python, RANKS_PROGRAM, self.folder, start, *options], variables_of(self.flavour, side)
        launched = self.ranks + (1 if side == OUTSIDE else 0)
        command, environment = launch(self.flavour, launched, program, self.cluster, variables, crowded=True)
        with (start / "log").open("wb") as output, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as own:
            # A temporary folder of its own, for the reason in limited.py.
            launcher = subprocess.Popen(command, env={**environment, "TMPDIR": own}, start_new_session=True,
                                        stdin=subprocess.DEVNULL, stdout=output, stderr=output)  # fmt: skip
            try:
                fate = self._watch(launcher, start)
            finally:
                kill_session(launcher.pid)
        (start / "fate").write_text(fate)

    def _watch(self, launcher: subprocess.Popen, folder: Path) -> str:
        """Waits for the launcher. Returns whether it ended, died or hung."""
        progress, since = None, time.monotonic()
        while launcher.poll() is None:
            time.sleep(0.2)
            if time.monotonic() > self.deadline:
                raise OutOfTime("there was no time for all", "go on with --resume")
            sizes = [file.stat().st_size for file in folder.iterdir() if file.name.isdigit()]
            if sizes != progress:
                progress, since = sizes, time.monotonic()
            elif time.monotonic() - since > (self.patience if sizes else PATIENCE_SECONDS):  # a start takes longer
                for file in folder.iterdir() if self.cluster is None else ():  # on emulated nodes, processes have other numbers
                    if file.name.isdigit():
                        send(int(file.read_text().split(maxsplit=1)[0]), signal.SIGUSR1)
                time.sleep(1)
                kill_session(launcher.pid)
                launcher.wait()
                return HUNG
        return ENDED if launcher.returncode in (0, 1) else DIED  # 1: some test failed


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keeps two commands from writing to one record at the same time."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CopseError(f"another run writes to {folder}", "let it end, or give another --records") from None
        yield


def variables_of(flavour: flavours.Flavour, side: str) -> dict[str, str]:
    if side.startswith(BARE):
        return {}
    libraries = [flavour.preload.name, *([HEAP] if side == "heap" else [])]
    if side == OUTSIDE:
        libraries.insert(0, flavour.world_library.name)
    helper = {HELPER: {"COPSE_COLLECTIVE_PROCESSORS": "1"}, OUTSIDE: {"COPSE_COLLECTIVE_PROCESSORS": "out:1"}}.get(side, {})
    return {"LD_PRELOAD": preload_value(libraries, None), "COPSE_TRACE": "1", "COPSE_JOIN": "1", **helper}


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
    """Kills all processes of a session, whatever their groups."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                send(int(stat.parent.name), signal.SIGKILL)


def ran_calls(log: str) -> int:
    """Returns the number of calls that Copse ran, from its trace."""
    return sum(map(int, re.findall(r"^copse: \w+ +\w+ (?:line|slot|get|put)\b.*? {2,}(\d+) ", log, re.MULTILINE)))


@dataclass
class Comparison:
    side: str
    bare: Side
    ours: Side
    same: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)  # different, but the bare MPI is different from itself as well

    def explain(self, name: str) -> str:
        bare, ours = self.bare.outcomes.get(name, ("absent",)), self.ours.outcomes.get(name, ("absent",))
        why = self.ours.reasons.get(name) or self.bare.reasons.get(name, "")
        return f"{name}: bare {' / '.join(bare)}, with Copse {' / '.join(ours)}: {why}"


def judge(suite: Suite, side: str) -> Comparison:
    """Compares what is recorded. Until the bare MPI has run everything, a test that passes with Copse is assumed to
    pass without it."""
    bare, ours = suite.read(BARE), suite.read(side)
    again = [suite.read(name) for name in AGAIN]
    if suite.tests not in bare.ended:
        bare.outcomes = {name: ranks for name, ranks in ours.outcomes.items() if set(ranks) == {"ok"}} | bare.outcomes
    result = Comparison(side, bare, ours)
    for name in {**bare.outcomes, **ours.outcomes}:
        outcome = bare.outcomes.get(name)
        module = re.search(r"\btest_\w+", name)
        if module and not re.search(suite.tests, f"{module[0]}.py"):
            continue
        if ours.outcomes.get(name) == outcome:
            result.same.append(name)
        elif all(one.outcomes.get(name, outcome) == outcome for one in again):
            result.different.append(name)
        else:
            result.unsteady.append(name)
    return result


def compare(suite: Suite, sides: tuple[str, ...] = SIDES, trusting: bool = False) -> Iterator[Comparison]:
    """With `trusting`, the bare MPI runs only what does not pass with Copse."""
    for side in sides:
        if not trusting:
            suite.run(BARE)
        ours = suite.run(side)
        suite.run(BARE, {name for name, ranks in ours.outcomes.items() if set(ranks) != {"ok"}})
        found = judge(suite, side)
        suspects = {*found.different, *found.unsteady}
        for name in AGAIN if suspects else ():
            suite.run(name, suspects)
        yield judge(suite, side)


def table(suites: list[Suite], sides: tuple[str, ...]) -> str:
    """Returns the record as a table for a document."""
    titles = {"plain": "Copse", "heap": "and the shared heap", HELPER: "and a helper", OUTSIDE: "and a rank as helper"}
    rows = [["MPI", "ranks", "tests", *(f"{titles[side]}: same / different / unsteady" for side in sides)]]
    rows.append(["---"] * len(rows[0]))
    for suite in suites:
        found = [judge(suite, side) for side in sides if suite.tests in suite.read(side).ended]
        cells = {one.side: f"{len(one.same)} / {len(one.different)} / {len(one.unsteady)}" for one in found}
        tests = max((len(one.same) + len(one.different) + len(one.unsteady) for one in found), default=0)
        rows.append([suite.flavour.title, str(suite.ranks), str(tests), *(cells.get(side, "not run") for side in sides)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", type=words, default=("mpich", "impi", "openmpi"), help="mpich,impi,openmpi")
    parser.add_argument("--ranks", type=numbers, default=[2], help="2; several: 1,2,3")
    parser.add_argument("--sides", type=words, default=SIDES, help="plain,heap,helper,outside: without and with the shared heap, with a helper beside the ranks, with a launched rank as helper")
    parser.add_argument("--tests", default=COLLECTIVE, help="a regular expression of the suite's files")
    parser.add_argument("--whole", action="store_const", dest="tests", const=WHOLE, help="all of the suite")
    parser.add_argument("--trusting", action="store_true", help="run on the bare MPI only what does not pass with Copse")
    parser.add_argument("--resume", action="store_true", help="go on where the last run with Copse was cut short")
    parser.add_argument("--table", action="store_true", help="run nothing, print a table of what is recorded")
    parser.add_argument("--minutes", type=float, default=math.inf, help="for all; then --resume goes on")
    parser.add_argument("--patience", type=float, default=PATIENCE_SECONDS, help="seconds until a test counts as hung")
    parser.add_argument("--records", type=Path, default=RECORDS, help="folder of what is known")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("mpi4py_suite: told to end"))  # and the ranks with it
    deadline = time.monotonic() + 60 * options.minutes
    suites = [
        Suite(flavours.find(name), ranks, options.tests, SUITE, options.patience, options.records.resolve(), deadline)
        for ranks in options.ranks for name in options.mpi
    ]  # fmt: skip
    if options.table:
        print(table(suites, options.sides), end="")
        return 0
    different = 0
    for suite in suites:
        for side in () if options.resume else options.sides:
            shutil.rmtree(suite.record(side), ignore_errors=True)
        for one in compare(suite, options.sides, options.trusting):
            print(f"{suite.flavour.name:8} {suite.ranks} ranks, {one.side:5}: {'DIFFERENT' if one.different else 'same'}; "
                  f"{one.ours.summary()}; Copse ran {one.ours.calls} calls", flush=True)  # fmt: skip
            for test in one.different:
                print(f"    {one.explain(test)}", flush=True)
            for test in one.unsteady:
                print(f"    unsteady without Copse, too: {one.explain(test)}", flush=True)
            different += len(one.different)
    return 1 if different else 0


if __name__ == "__main__":
    run_script(main)
