"""What all kinds of groups have in common, and what a soak compiles for them."""

import os
import random
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from leftovers import MARK, processes

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "faces" / "python"), str(ROOT / "tests" / "mpi")]

from collectives import compile_with  # noqa: E402

from copse import flavours  # noqa: E402


@dataclass
class Workshop:
    folder: Path
    run: str  # how the marks of this soak begin
    mpis: list[flavours.Flavour] = field(default_factory=flavours.installed)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def rank(self) -> Path:
        """Returns the program rank.c."""
        library, program = ROOT / "build" / "lib", self.folder / "rank"
        with self.lock:
            if not program.exists():
                warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
                source, libraries = Path(__file__).with_name("rank.c"), [f"-L{library}", "-lcopse", f"-Wl,-rpath,{library}"]
                subprocess.run(["gcc", "-O2", *warnings, f"-I{ROOT / 'include'}", source, "-o", program, *libraries], check=True)
        return program

    def collectives(self, flavour: flavours.Flavour) -> Path:
        """Returns the program collectives.c for this MPI."""
        program = self.folder / f"collectives-{flavour.name}"
        with self.lock:
            return program if program.exists() else compile_with(flavour.mpicc, program, flavour.environment())


@dataclass(frozen=True)
class End:
    rank: int
    how: str
    text: str = ""


class Group:
    """Some ranks and what is done to them, all of it drawn from the group's number."""

    def __init__(self, kind: str, number: int, shop: Workshop):
        self.kind, self.number, self.shop = kind, number, shop
        self.draw = random.Random(number)
        self.foreign = self.draw.random() < 0.5 and os.geteuid() == 0  # its strangers belong to another user
        self.mark = f"{shop.run}/{kind}/{number}"
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("COPSE_")} | {MARK: self.mark}
        self.variables: dict[str, str] = {}
        self.started: set[int] = set()  # processes
        self.ends: list[End] = []
        self.notes: list[str] = []
        self.began = time.monotonic()

    def spawn(self, command: list, **options) -> subprocess.Popen:
        """Starts a process of this group, in a session of its own."""
        options = {"env": self.environment, "stdin": subprocess.DEVNULL, **options}
        process = subprocess.Popen([str(word) for word in command], start_new_session=True, **options)
        self.started.add(process.pid)
        return process

    def members(self) -> list:
        """Returns the group's processes that run now."""
        return [process for process in processes() if process.mark == self.mark]

    def pause(self, least: float, most: float) -> None:
        time.sleep(self.draw.uniform(least, most))

    def sockets(self) -> list[str]:
        """Returns what is left of the group's sockets."""
        return []

    def __str__(self) -> str:
        lasted = time.monotonic() - self.began
        return f"{self.kind}, number {self.number}: {self.ranks} ranks, {self.variables}, {lasted:.1f} s"


def stack_of(pid: int) -> str:
    if shutil.which("gdb") is None:
        return "(no gdb here)"
    done = subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 12"], capture_output=True, text=True)
    return "\n".join(line for line in done.stdout.splitlines() if line.startswith(("#", "Thread")))
