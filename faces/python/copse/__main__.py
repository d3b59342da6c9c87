"""The `copse` command. Each subcommand is a module of this package with a function <name>_command."""

import importlib.util
import os
import sys
from typing import Annotated

import typer
from typer.completion import completion_init

from . import native, variables
from .errors import USAGE_EXIT_CODE, CopseError

COMPLETE = "_COPSE_COMPLETE"  # a shell sets it to ask for completions (packaging/gather.py)

# The subcommands in the order of the help text, each with its settings for the argument parser.
PASS_THROUGH = {"ignore_unknown_options": True, "allow_interspersed_args": False}
PASS_ALL = {**PASS_THROUGH, "allow_extra_args": True, "help_option_names": []}
COMMANDS = {"run": PASS_THROUGH, "info": {}, "doctor": {}, "verify": PASS_ALL, "explain": PASS_ALL, "price": PASS_ALL, "bench": {}, "calibrate": {}, "tune": {}}


def make_app() -> typer.Typer:
    app = typer.Typer(no_args_is_help=True, add_completion=False, help="Collective communication for non-uniform memory.")

    def version(asked: bool) -> None:
        if asked:
            native.become("--version")

    @app.callback()
    def before_every_command(
        _: Annotated[bool, typer.Option("--version", callback=version, is_eager=True, help="show the version")] = False,
    ) -> None:
        variables.check(os.environ)

    for name, settings in COMMANDS.items():
        if importlib.util.find_spec(f"{__package__}.{name}"):
            module = importlib.import_module(f".{name}", __package__)
            app.command(name, context_settings=settings)(getattr(module, f"{name}_command"))
    return app


def main() -> None:
    if COMPLETE in os.environ:
        completion_init()  # for the shells' scripts, without typer's options that would write them into the user's files
    try:
        make_app()(prog_name="copse")
    except CopseError as error:
        print(f"copse: {error}", file=sys.stderr)
        sys.exit(USAGE_EXIT_CODE)


if __name__ == "__main__":
    main()
