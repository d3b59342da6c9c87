"""Groups of ranks of an MPI program, under an installed MPI and with Copse's preload, some of them with helper processes."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from groups import End, Group, Workshop, stack_of  # isort: skip (it says where the next ones are)
from collectives import passed
from leftovers import MARK, Process
from test_trouble import UNTIL_TWO_HAVE_ENDED

from copse.run import HEAP, preload_value

HANGS_SECONDS = 200  # as long as the tests of these parts may take alone
ENDLESS, WRONG = 10**9, "a wrong sum"  # of sums.c
FORMS = ("", "started-", "persistent-")
HAS_ENDED = r"rank \d+ \(process \d+\) has ended before it took its part"


class Program(Group):
    """An MPI program under its launcher. It is `collectives` if the kind chooses no other."""

    def __init__(self, kind: str, number: int, shop: Workshop):
        super().__init__(kind, number, shop)
        self.flavour = self.draw.choice(shop.mpis)
        self.program = shop.collectives(self.flavour)
        self.ranks = self.draw.choice([2, 2, 3, 4])
        libraries = [self.flavour.preload.name, *([HEAP] if self.draw.random() < 0.3 else [])]
        self.variables = {"LD_PRELOAD": preload_value(libraries, None), "COPSE_JOIN": "1", "COPSE_TRACE": "1", MARK: self.mark}
        self.folder = shop.folder / str(number)  # it is the TMPDIR, too, for the reason in limited.py
        self.folder.mkdir()

    def help(self) -> None:
        self.variables["COPSE_COLLECTIVE_PROCESSORS"] = self.draw.choice(["1", "1/2"])

    def start(self, *command: object) -> None:
        command = self.flavour.command(self.ranks, command, crowded=True, variables=self.variables)
        environment = {**self.flavour.environment(self.environment), "TMPDIR": str(self.folder)}
        with (self.folder / "output").open("w") as output, (self.folder / "errors").open("w") as errors:
            self.launcher = self.spawn(command, env=environment, stdout=output, stderr=errors)

    def start_sums(self, calls: int) -> None:
        self.program = self.flavour.program(Path(__file__).with_name("sums.c"))
        self.start(self.program, calls)

    def wait(self) -> subprocess.CompletedProcess[str]:
        try:
            self.launcher.wait(HANGS_SECONDS)
        except subprocess.TimeoutExpired:
            for process in self.members():
                self.notes.append(f"{process} has not ended; it stands at\n{stack_of(process.pid)}")
            for process in self.members():
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
            self.launcher.wait()
        output, errors = ((self.folder / name).read_text(errors="replace") for name in ("output", "errors"))
        shutil.rmtree(self.folder, ignore_errors=True)
        self.notes += [f"{self.flavour.name}: code {self.launcher.returncode}", output, errors]
        return subprocess.CompletedProcess(self.launcher.args, self.launcher.returncode, output, errors)

    def is_rank(self, process: Process) -> bool:
        return process.command[:1] == (str(self.program),)

    def strike(self, is_victim: Callable[[Process], bool]) -> bool:
        """Kills one of these processes at some time after it has come, unless the program ends before that."""
        until = time.monotonic() + HANGS_SECONDS
        while self.launcher.poll() is None and not any(map(is_victim, self.members())) and time.monotonic() < until:
            time.sleep(0.1)
        self.pause(0, 0.4)
        victims = [process for process in self.members() if is_victim(process)]
        if not victims:
            return False
        try:
            os.kill(self.draw.choice(victims).pid, signal.SIGKILL)
        except ProcessLookupError:  # it has just ended
            return False
        return True

    def count(self, survivors: str, killed: int = 0) -> None:
        self.ends += [End(rank, "killed" if rank < killed else survivors) for rank in range(self.ranks)]


def serves(process: Process) -> bool:
    return process.command[1:2] == ("serve",)


def mpi(group: Program) -> list[str]:
    part = f"{group.draw.choice(FORMS)}rounds"
    group.start(group.program, part)
    done = group.wait()
    if not passed(done, part) or not re.search(r"^copse: allreduce ", done.stderr, re.MULTILINE):
        group.count("failed")
        return [f"{part} did not pass, or without Copse"]
    group.count("right")
    return []


def mpi_killed(group: Program) -> list[str]:
    """A rank dies after the ranks have met; before, what a launcher does about it is the MPI's affair."""
    if group.draw.random() < 0.5:
        group.help()
    group.start_sums(ENDLESS)
    struck = group.strike(lambda process: group.is_rank(process) and "copse" in process.memory.values())
    done = group.wait()
    group.count("lost" if re.search(HAS_ENDED, done.stderr) else "ended by the MPI", killed=1)
    good = struck and done.returncode != 0 and WRONG not in done.stderr
    return [] if good else ["the program ended for another reason than that a rank of it was killed"]


def mpi_killed_amid(group: Program) -> list[str]:
    """A rank dies in the middle of a call, and the launcher notices later than the other ranks."""
    part = f"{group.draw.choice(FORMS)}killed-amid"
    (group.folder / "ends").mkdir()
    group.variables["ENDS"] = str(group.folder / "ends")
    group.start("sh", "-c", UNTIL_TWO_HAVE_ENDED, group.program, part, group.number)
    done = group.wait()
    group.count("lost", killed=1)
    told = re.search(rf"copse: rank \d: .*{HAS_ENDED}", done.stderr)
    return [] if done.returncode != 0 and told else [f"{part}: no rank says that another has ended"]


def mpi_helped(group: Program) -> list[str]:
    group.help()
    group.start(group.program, "started-rounds")
    done = group.wait()
    if not passed(done, "started-rounds") or not re.search(r"^copse: helpers: \d on each node", done.stderr, re.MULTILINE):
        group.count("failed")
        return ["started-rounds did not pass with helpers"]
    group.count("served" if re.search(r"^copse: allreduce +served ", done.stderr, re.MULTILINE) else "right")
    return []


def mpi_helper_killed(group: Program) -> list[str]:
    """A helper dies at any time. The ranks do without it, or say that it has ended."""
    group.help()
    group.start_sums(20000)
    group.strike(serves)
    done = group.wait()
    if passed(done, "sums"):
        group.count("right")
        return []
    group.count("lost")
    good = done.returncode != 0 and re.search(HAS_ENDED, done.stderr) and WRONG not in done.stderr
    return [] if good else ["not all sums were made, and no rank says that a helper has ended"]


KINDS = (mpi, mpi_killed, mpi_killed_amid, mpi_helped, mpi_helper_killed)
