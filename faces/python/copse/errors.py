"""What a user did wrong, said in one line: the mistake, then the remedy."""

USAGE_EXIT_CODE = 2


class CopseError(Exception):
    """A mistake that the user can mend. The command prints it as one line and ends with exit code 2."""

    def __init__(self, mistake: str, remedy: str):
        super().__init__(f"{mistake}; {remedy}")
