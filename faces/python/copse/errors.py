"""What a user did wrong, said in one line: the mistake, then the remedy."""

import sys
from collections.abc import Callable
from pathlib import Path

USAGE_EXIT_CODE = 2


class CopseError(Exception):
    """A mistake that the user can mend. The command prints it as one line and ends with exit code 2."""

    def __init__(self, mistake: str, remedy: str):
        super().__init__(f"{mistake}; {remedy}")


def run_script(main: Callable[[], int | None]) -> None:
    """Ends a script with what its main() returns; or, after a mistake of its user, with that as one line and exit code 1."""
    try:
        sys.exit(main())
    except CopseError as error:
        sys.exit(f"{Path(sys.argv[0]).stem}: {error}")
