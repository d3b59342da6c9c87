"""`copse explain ...`: what would run, and by which rule, in the native helper."""

import typer

from . import native


def explain_command(context: typer.Context) -> None:
    """Say which algorithm a call would get, how it would be cut, and why. Arguments go to the chooser."""
    native.become("explain", *context.args)
