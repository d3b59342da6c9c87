"""`copse explain ...`: shows what would run, and by which rule. The native helper does the work."""

import typer

from . import native


def explain_command(context: typer.Context) -> None:
    """Say which algorithm a call would get, how it would be cut, and why. Arguments go to the chooser."""
    native.become("explain", *context.args)
