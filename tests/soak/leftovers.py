"""What the groups of a soak leave behind: processes that go on, and memory of Copse in processes that should not have it.

Copse's memory has no name in the file system. It exists as long as a process maps it or has it open. So who has looked at all
processes has looked at all of it.

Every process of a group has the group's mark in its environment, and passes it on to its children. A process that has shed
its mark is noticed when its parent ends: the soak then becomes its parent, because it asks the system for orphans.
"""

import contextlib
import ctypes
import os
import re
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MARK = "SOAK_GROUP"
MAPPED = re.compile(rb"^\S+ \S+ \S+ \S+ (\d+)\s+/memfd:(copse\S*)", re.MULTILINE)
OPENED = re.compile(r"/memfd:(copse\S*)")
PR_SET_CHILD_SUBREAPER = 36
UNKNOWN = "unknown/0"  # instead of the mark that a process has shed


@dataclass(frozen=True)
class Process:
    pid: int
    started: str  # together with the pid, this names a process for ever
    parent: int
    session: int
    runs: bool  # not so if it has ended, ends, or loads another program at this moment: then nobody can see whose it is
    command: tuple[str, ...] = ()
    mark: str | None = None
    memory: dict[int, str] = field(default_factory=dict)  # the names of Copse's memory, by inode

    @property
    def key(self) -> tuple[int, str]:
        return self.pid, self.started

    def __str__(self) -> str:
        return f"process {self.pid} ({' '.join(self.command)[:200]})"


def memory_of(folder: Path) -> dict[int, str]:
    memory = {int(inode): name.decode() for inode, name in MAPPED.findall((folder / "maps").read_bytes())}
    for number in os.listdir(folder / "fd"):
        try:
            if opened := OPENED.match(os.readlink(folder / "fd" / number)):
                memory[(folder / "fd" / number).stat().st_ino] = opened[1]
        except FileNotFoundError:
            pass  # it has just been closed
    return memory


def words(file: Path) -> list[str]:
    return [os.fsdecode(word) for word in file.read_bytes().split(b"\0") if word]


def read(folder: Path) -> Process | None:
    """Returns the process, or None if it has ended or belongs to another user."""
    try:
        stat = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()  # field 3 of proc(5), and what follows
        known = (int(folder.name), stat[19], int(stat[1]), int(stat[3]))
        if stat[0] in "ZX":
            return Process(*known, runs=False)
        memory = memory_of(folder)
        mark = next((word.partition("=")[2] for word in words(folder / "environ") if word.startswith(f"{MARK}=")), None)
        command = tuple(words(folder / "cmdline"))  # last: once a process has no memory of its own, this is empty
        process = Process(*known, True, command, mark, memory) if command else Process(*known, runs=False)
        again = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return process if again[19] == process.started else None  # otherwise its id has gone to another in the meantime


def processes() -> Iterator[Process]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (process := read(folder)):
            yield process


def adopt_orphans() -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


@dataclass(frozen=True)
class Leftover:
    mark: str
    text: str


@dataclass
class Watch:
    """Knows the groups that live, and finds what others have left. It ends the processes that it finds."""

    patience: float  # seconds in which the processes of a group that has ended may end, too
    run: str  # how the marks of this soak begin
    living: dict[str, set[int]] = field(default_factory=dict)  # the processes that each group has started, by its mark
    owners: dict[int, str] = field(default_factory=dict)  # the mark of the group that had this memory first
    suspects: dict[tuple[int, str], float] = field(default_factory=dict)  # processes that may be left, since when
    misplaced: set[tuple] = field(default_factory=set)  # memory that may lie in a wrong process
    reported: set[tuple] = field(default_factory=set)

    def look(self) -> list[Leftover]:
        living, everyone = dict(self.living), list(processes())
        for process in everyone:
            if self._is_marked(process):
                self.owners.update({inode: process.mark for inode in process.memory if inode not in self.owners})
        return [*self._misplaced(everyone), *self._left([process for process in everyone if self._is_left(process, living)])]

    def _is_marked(self, process: Process) -> bool:
        return process.mark is not None and process.mark.startswith(f"{self.run}/")

    def _is_left(self, process: Process, living: dict[str, set[int]]) -> bool:
        if self._is_marked(process):
            return process.mark not in living
        # What the soak starts for a group has a session of its own. What it starts for itself has the soak's.
        is_child = process.parent == os.getpid() and process.session != os.getsid(0)
        return is_child and not any(process.pid in started for started in living.values())

    def _misplaced(self, everyone: list[Process]) -> list[Leftover]:
        before, self.misplaced, result = self.misplaced, set(), []
        for process in everyone:
            is_stranger = process.mark is None and process.parent == os.getpid()  # may have no memory of Copse, whoever's
            for inode, name in process.memory.items():
                owner, key = self.owners.get(inode, UNKNOWN if is_stranger else process.mark), (*process.key, inode)
                if owner == process.mark or key in self.reported:
                    continue
                if key not in before:  # a process that loads another program is seen without its mark for a moment
                    self.misplaced.add(key)
                    continue
                self.reported.add(key)
                result.append(Leftover(owner, f"its memory {name} lies in {process}, which is not of this group"))
        return result

    def is_sure(self) -> bool:
        """Tells whether all that is left has been found."""
        return not self.suspects and not self.misplaced

    def _left(self, stay: list[Process]) -> Iterator[Leftover]:
        now = time.monotonic()
        stay = [process for process in stay if process.key not in self.reported]
        self.suspects = {process.key: self.suspects.get(process.key, now) for process in stay}
        for process in stay:
            is_late = now - self.suspects[process.key] >= self.patience
            if not process.runs and (is_late or not self.living):
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process.pid, os.WNOHANG)  # nobody else asks how it has ended
            elif is_late:
                self.reported.add(process.key)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
                memory = ", ".join(sorted(set(process.memory.values()))) or "none"
                owner = process.mark or next((self.owners[inode] for inode in process.memory if inode in self.owners), UNKNOWN)
                yield Leftover(owner, f"{process} was left; memory of Copse in it: {memory}")
