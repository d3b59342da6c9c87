"""The native helper, `copse-native`, which shows what the C++ code knows about itself. Queries it, or runs it instead."""

from __future__ import annotations

import os
import signal

from . import paths
from .errors import CopseError

TYPE_CHECKING = False  # true for tools that read annotations (run.py)
if TYPE_CHECKING:
    from typing import Any, NoReturn


def _require() -> str:
    if not os.access(paths.NATIVE, os.X_OK):
        raise CopseError(f"{paths.NATIVE} has not been built", paths.make("build"))
    return str(paths.NATIVE)


def command(*arguments: str) -> list[str]:
    """Returns the command line of `copse-native <arguments>`."""
    return [_require(), *arguments]


def query(*arguments: str, environment: dict[str, str] | None = None) -> Any:
    """Returns the JSON that `copse-native <arguments> --json` prints."""
    import json
    import subprocess

    done = subprocess.run([*command(*arguments), "--json"], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        name = f"copse-native {arguments[0]}"
        said = done.stderr.strip().removeprefix(f"{name}: ") or f"{name} ended with {done.returncode} and no message"
        raise CopseError(said, "correct that and try again")
    return json.loads(done.stdout)


def restore_signals() -> None:
    """Undoes what Python does to signals at its start. A program that replaces this process would inherit it."""
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)


def become(*arguments: str) -> NoReturn:
    """Replaces this process by `copse-native <arguments>`, whose output and exit code become the command's."""
    native = _require()
    restore_signals()
    os.execv(native, [native, *arguments])
