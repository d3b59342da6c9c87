"""The COPSE_* variables: listed by the native code's own table, and checked before anything is started."""

import difflib
import os
from collections.abc import Mapping

from . import native
from .errors import CopseError

PREFIX = "COPSE_"


def table() -> list[dict[str, str]]:
    """One row a variable: `name`, `values`, `default`, `meaning`, as the native code defines them.

    The COPSE_* variables of the caller are kept from the helper, so that a wrong one cannot stop it from listing the
    right ones.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    return native.query("env", environment=clean)


def check(environment: Mapping[str, str]) -> None:
    """Raises CopseError if `environment` holds a COPSE_ variable that Copse does not know, or a value that it cannot take."""
    used = sorted(name for name in environment if name.startswith(PREFIX))
    if not used:
        return
    known = [row["name"] for row in table()]
    for name in used:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)  # "COPSE_" alone makes half of it alike
            meant = f"did you mean {near[0]}? " if near else ""
            raise CopseError(
                f"{name} is not a variable of Copse", f"{meant}copse info --env lists all; unset {name} to go on without it"
            )
    native.query("env", environment=dict(environment))
