"""Finds the processes that a test has started, by a variable in their environment or by their program, and waits for their end."""

import time
from collections.abc import Callable
from pathlib import Path


def until(condition: Callable[[], object], seconds: float = 20) -> object:
    """Returns what the condition gives, once that is true or the time is over."""
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def processes(wanted: Callable[[Path], bool]) -> list[Path]:
    """Returns the folders in /proc of the processes that are wanted."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and wanted(entry):
                found.append(entry)
        except OSError:  # it has ended, or is another user's
            pass
    return found


def running(program: Path) -> list[Path]:
    """Returns the folders in /proc of the processes that run this program."""
    return processes(lambda entry: (entry / "exe").resolve() == program)


def marked(name: str, value: str) -> list[Path]:
    """Returns the folders in /proc of the processes that have this variable."""
    return processes(lambda entry: f"{name}={value}".encode() in (entry / "environ").read_bytes().split(b"\0"))
