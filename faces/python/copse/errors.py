"""Mistakes of the user. One line names the mistake and then the remedy."""

import sys
from collections.abc import Callable
from pathlib import Path

USAGE_EXIT_CODE = 2


class CopseError(Exception):
    """A mistake that the user can correct. The command prints it as one line and ends with exit code 2."""

    def __init__(self, mistake: str, remedy: str):
        super().__init__(f"{mistake}; {remedy}")


def run_script(main: Callable[[], int | None]) -> None:
    """Ends a script with the result of its main(). After a mistake of the user, prints it as one line and exits with 1."""
    try:
        sys.exit(main())
    except CopseError as error:
        sys.exit(f"{Path(sys.argv[0]).stem}: {error}")
