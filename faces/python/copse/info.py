"""`copse info`: shows the machine, the MPIs, and which reaches work here and why others do not. Can also show the
variables or the algorithms."""

import json
import os
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from . import flavours, native, variables
from .errors import CopseError

ROOM_OF_RANK = 4 << 20  # bytes that Copse may cost a rank (src/communicator/memory_room.hpp, docs/memory.md)


def add_row(table: Table, *cells: str | Text) -> None:
    """Adds texts literally: the brackets of BYTES[K|M] are not markup."""
    table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))


def make_table(title: str, columns: list[str], rows: list[list[str | Text]]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        add_row(table, *row)
    return table


def yes_no(value: bool) -> Text:
    return Text("yes", "green") if value else Text("no", "red")


def size_text(size: int | None) -> str:
    if size is None:
        return "?"
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} B"


def ranges_text(numbers: list[int]) -> str:
    """Returns, for instance, "0-3,8": the notation of the kernel and of taskset for lists of processors."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


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


def memory_to_expect(report: dict[str, Any]) -> dict[str, Any]:
    """Returns how much more memory ranks need with Copse, in bytes: one, and as many as there are processors. `limit` is the user's word."""
    ranks = len(report["process"]["processors"])
    return {"rank_bytes": ROOM_OF_RANK, "node_bytes": ranks * ROOM_OF_RANK, "limit": os.environ.get("COPSE_MEMORY")}


def show_machine(console: Console, machine: dict[str, Any]) -> None:
    regions = machine["regions"]
    if len(regions) < 2:
        return
    numbers: dict[int, list[int]] = {}
    for processor in machine["processors"]:
        numbers.setdefault(processor["numa"], []).append(processor["number"])
    distances = machine["distances"]
    rows = [
        [str(index), ranges_text(numbers.get(index, [])), size_text(region["memory_bytes"])]
        + ([" ".join(map(str, distances[index]))] if distances else [])
        for index, region in enumerate(regions)
    ]
    columns = ["region", "processors", "memory", *(["distances"] if distances else [])]
    console.print(make_table("NUMA regions", columns, rows))


def show(console: Console, report: dict[str, Any]) -> None:
    process, pages, binding = report["process"], report["huge_pages"], report["binding"]
    place = ", ".join(f"{level} {number}" for level, number in process["place"].items())
    facts = Table(show_header=False)
    add_row(facts, "Copse", report["version"])
    add_row(facts, "machine", report["summary"])
    add_row(facts, "kind, as tuning tables name it", report["kind"])
    add_row(facts, "most like", f"{report['like']}, whose rules by price ranks on all cores get" if report["like"] else "no recorded machine")
    add_row(facts, "this process", f"processors {ranges_text(process['processors'])} ({place})")
    if near := report["machine"]["by_network"]:
        add_row(facts, "network", f"next to processors {ranges_text(near)}; a rank there speaks for its node")
    add_row(facts, "waiting", f"from {process['oversubscribed_from']} ranks a node on, a waiting rank yields at once")
    add_row(facts, "huge pages", f"private memory {pages['private'] or '?'}, shared memory {pages['shared'] or '?'}")
    memory = report["memory"]
    limit = f"COPSE_MEMORY={memory['limit']}" if memory["limit"] else "no limit (COPSE_MEMORY sets one)"
    each, node = size_text(memory["rank_bytes"]), size_text(memory["node_bytes"])
    add_row(facts, "memory", f"about {each} more for each rank, as its share of common memory, {node} with a rank on each processor; page tables not counted; {limit}")
    allowed = "allowed" if binding["allowed"] else f"refused: {binding['why_not']}"
    add_row(facts, "binding", f"COPSE_BIND={binding['policy']}; {allowed}")
    given = [f"{name}={value}" for name, value in report["variables_set"].items()]
    add_row(facts, "variables set", ", ".join(given) or "none (copse info --env lists them)")
    console.print(facts)
    show_machine(console, report["machine"])
    rows = [
        [row["reach"], row["by"], yes_no(row["works"]), yes_no(row["allowed"]), row["why_not"]]
        for row in report["reaches"]
    ]
    console.print(make_table("How ranks reach one another's memory", ["reach", "by", "works", "allowed", "why not"], rows))
    rows = [
        [row["name"], row["version"], row["preload"], yes_no(row["preload_built"]), yes_no(row["standard_abi"])]
        for row in report["mpi"]
    ]
    console.print(make_table("MPIs", ["name", "version", "preload library", "built", "standard ABI"], rows))


def show_variables(console: Console, rows: list[dict[str, str]]) -> None:
    columns = ["name", "values", "default", "meaning"]
    console.print(make_table("Variables", columns, [[row[column] for column in columns] for row in rows]))


def show_algorithms(console: Console, rows: list[dict[str, Any]]) -> None:
    columns = ["collective", "algorithm", "carriers", "rank order", "fragments", "what", "after"]
    table = make_table("Algorithms", columns, [])
    previous = None
    for row in rows:
        if previous not in (None, row["collective"]):
            table.add_section()
        previous = row["collective"]
        order, fragments = yes_no(row["keeps_order"]), yes_no(row["fragments"])
        carriers = " ".join(row["carriers"])
        add_row(table, row["collective"], row["algorithm"], carriers, order, fragments, row["summary"], row["source"])
    console.print(table)


def info_command(
    env: Annotated[bool, typer.Option("--env", help="only the COPSE_ variables")] = False,
    algorithms: Annotated[bool, typer.Option("--algorithms", help="only the algorithms")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="as JSON, for scripts")] = False,
) -> None:
    """Show the machine, the MPIs and what works here, or the variables, or the algorithms."""
    if env and algorithms:
        raise CopseError("--env and --algorithms are different reports", "choose one of them")
    if env:
        report: Any = {"variables": variables.table()}
    elif algorithms:
        report = {"algorithms": native.query("algorithms")}
    else:
        given = {name: value for name, value in sorted(os.environ.items()) if name.startswith(variables.PREFIX)}
        found = native.query("info")
        report = {**found, "variables_set": given, "memory": memory_to_expect(found), "mpi": flavour_rows()}
    console = Console()
    if as_json:
        print(json.dumps(report, indent=2))
    elif env:
        show_variables(console, report["variables"])
    elif algorithms:
        show_algorithms(console, report["algorithms"])
    else:
        show(console, report)
