"""The `copse` command. Each subcommand is a function <name>_command, in the module of its name or in that of MODULES.

`copse run` stands before other people's programs, so what it does not need is not imported.
"""

import os
import sys
from collections.abc import Iterable
from functools import cache

from . import native, run, variables
from .errors import USAGE_EXIT_CODE, CopseError

COMPLETE = "_COPSE_COMPLETE"  # a shell sets it to ask for completions (packaging/gather.py)

# The subcommands in the order of the help text, each with its settings for the argument parser.
PASS_THROUGH = {"ignore_unknown_options": True, "allow_interspersed_args": False}
PASS_ALL = {**PASS_THROUGH, "allow_extra_args": True, "help_option_names": []}
COMMANDS = {"run": PASS_THROUGH, "info": {}, "doctor": {}, "verify": PASS_ALL, "explain": PASS_ALL, "price": PASS_ALL, "bench": {}, "calibrate": {}, "tune": {}}
MODULES = {"run": "run_options", "bench": "bench_options"}  # where that is not the subcommand's name


def make_app(names: Iterable[str] = COMMANDS) -> "typer.Typer":
    """Returns the argument parser of these subcommands."""
    import importlib.util
    from typing import Annotated

    import typer

    app = typer.Typer(no_args_is_help=True, add_completion=False, help="Collective communication for non-uniform memory.")

    def version(asked: bool) -> None:
        if asked:
            native.become("--version")

    @app.callback()
    def before_every_command(
        _: Annotated[bool, typer.Option("--version", callback=version, is_eager=True, help="show the version")] = False,
    ) -> None:
        variables.check(os.environ)

    for name in names:
        module_name = MODULES.get(name, name)
        if importlib.util.find_spec(f"{__package__}.{module_name}"):
            module = importlib.import_module(f".{module_name}", __package__)
            app.command(name, context_settings=COMMANDS[name])(getattr(module, f"{name}_command"))
    return app


@cache
def find_packages() -> None:
    """Makes installed packages known, unless Python has done that at its start. The command's scripts start it without them (-S)."""
    if sys.flags.no_site:
        import site

        site.main()


def main() -> None:
    arguments = sys.argv[1:]
    if COMPLETE in os.environ:
        find_packages()
        from typer.completion import completion_init

        completion_init()  # for the shells' scripts, without typer's options that would write them into the user's files
    try:
        if arguments[:1] == ["run"] and (plain := run.without_parser(arguments[1:])):
            variables.check(os.environ)
            run.start(*plain)
        find_packages()
        make_app([name for name in arguments[:1] if name in COMMANDS] or COMMANDS)(prog_name="copse")
    except CopseError as error:
        print(f"copse: {error}", file=sys.stderr)
        sys.exit(USAGE_EXIT_CODE)


if __name__ == "__main__":
    main()
