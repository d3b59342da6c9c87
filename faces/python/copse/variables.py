"""The COPSE_* variables. The native code's table lists them, and they are checked before anything is started."""

import os
from collections.abc import Collection, Mapping, Sequence

from . import native
from .errors import CopseError

PREFIX = "COPSE_"


def without() -> dict[str, str]:
    """Returns this process's environment without the COPSE_* variables."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}


def table() -> list[dict[str, str]]:
    """Returns a row for each variable: `name`, `values`, `default`, `meaning`, as the native code defines them.

    The helper does not see the caller's COPSE_* variables, so that a wrong one cannot stop it.
    """
    return native.query("env", environment=without())


def refuse(harmless: Collection[str], why: str) -> None:
    """Raises CopseError if this process has a COPSE_* variable that is not among the harmless ones. `why` says what it would do."""
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in harmless:
            raise CopseError(f"{name} is set, which {why}", f"unset {name} and try again")


def check(environment: Mapping[str, str]) -> None:
    """Raises CopseError if `environment` has an unknown COPSE_ variable, or one with a wrong value."""
    used = sorted(name for name in environment if name.startswith(PREFIX))
    if not used:
        return
    try:
        native.query("env", environment=dict(environment))
    except CopseError:
        refuse_unknown(used)
        raise


def refuse_unknown(used: Sequence[str]) -> None:
    """Raises CopseError if one of these is not a variable of Copse."""
    import difflib

    known = [row["name"] for row in table()]
    for name in used:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)  # high, because all names share "COPSE_"
            meant = f"did you mean {near[0]}? " if near else ""
            raise CopseError(
                f"{name} is not a variable of Copse", f"{meant}copse info --env lists all; unset {name} to go on without it"
            )
