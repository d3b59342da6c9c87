"""`copse info`: the machine, the MPIs found, the reaches that work here and why not the others, the variables."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from . import flavours, native, variables


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_cell, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {_cell(item)}" for key, item in value.items())
    return "" if value is None else str(value)


def _rows_table(title: str, rows: list[dict[str, Any]]) -> Table:
    """A table whose columns are the keys of the first row."""
    table = Table(title=title, title_justify="left")
    for column in rows[0] if rows else []:
        table.add_column(column.replace("_", " "), overflow="fold")
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    return table


def _pairs_table(title: str, pairs: dict[str, Any]) -> Table:
    table = Table(title=title, title_justify="left", show_header=False)
    for key, value in pairs.items():
        table.add_row(key.replace("_", " "), _cell(value))
    return table


def show(console: Console, report: dict[str, Any]) -> None:
    """Prints a report section by section: a list of rows as a table, an object as pairs, single values together."""
    single = {key: value for key, value in report.items() if not isinstance(value, (dict, list))}
    if single:
        console.print(_pairs_table("copse", single))
    for key, value in report.items():
        if isinstance(value, dict):
            console.print(_pairs_table(key.replace("_", " "), value))
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            console.print(_rows_table(key.replace("_", " "), value))
        elif isinstance(value, list):
            console.print(_pairs_table(key.replace("_", " "), {key: value}))


def flavour_rows() -> list[dict[str, Any]]:
    return [
        {
            "name": flavour.name,
            "version": flavour.title,
            "library": str(flavour.libmpi),
            "preload": flavour.preload.name,
            "preload_built": flavour.preload.exists(),
            "standard_abi": flavour.standard_abi is not None,
        }
        for flavour in flavours.installed()
    ]


def info_command(
    env: Annotated[bool, typer.Option("--env", help="only the COPSE_ variables")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="as JSON, for scripts")] = False,
) -> None:
    """Show the machine, the MPIs, what works here, and the variables."""
    report = {"variables": variables.table()} if env else {**native.query("info"), "mpi": flavour_rows()}
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        show(Console(), report)
