"""`copse price ...`: what a call would cost on a machine, by every algorithm. The native helper does the work."""

import typer

from . import native


def price_command(context: typer.Context) -> None:
    """Price every algorithm that could run a call on a machine, and show where the time goes. Arguments go to the walker."""
    native.become("price", *context.args)
