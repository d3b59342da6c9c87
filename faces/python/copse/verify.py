"""`copse verify ...`: runs the plan checker in the native helper."""

import typer

from . import native


def verify_command(context: typer.Context) -> None:
    """Prove that plans are right for all ranks together: data, deadlocks, conflicts. Arguments go to the checker."""
    native.become("verify", *context.args)
