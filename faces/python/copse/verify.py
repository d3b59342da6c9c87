"""`copse verify ...`: the plan checker, in the native helper."""

import typer

from . import native


def verify_command(context: typer.Context) -> None:
    """Prove plans right for all ranks together: data, deadlock, conflicting accesses. Arguments go to the checker."""
    native.become("verify", *context.args)
