"""`copse calibrate`: measures this machine and writes its file, for `copse price --machine`. With --check it also compares prices on
that file with calls that run here. The native helper measures."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from . import files, info, native, readme
from .errors import CopseError
from .tables import line_of, origin

KINDS = {False: "ranks with a processor each", True: "ranks that take turns"}
AIMS = {False: 0.15, True: 0.25}  # of the median error
MARKS = "model"  # of the document


def run_native(title: str, *arguments: str) -> str:
    """Runs `copse-native calibrate` with a progress bar, and returns what it prints."""
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    command = [*native.command("calibrate"), *arguments, "--progress"]
    complaint = ""
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=1.0)
        with tempfile.TemporaryFile("w+") as printed:
            with subprocess.Popen(command, stdout=printed, stderr=subprocess.PIPE, text=True) as child:
                try:
                    for line in child.stderr or ():
                        fraction, _, what = line.strip().partition(" ")
                        try:
                            progress.update(task, completed=float(fraction), description=what)
                        except ValueError:
                            complaint = complaint or line.strip()  # the first one names the cause
                except BaseException:
                    child.terminate()
                    raise
            printed.seek(0)
            text = printed.read()
    if child.returncode != 0:
        said = complaint.removeprefix("copse-native calibrate: ") or f"copse-native calibrate ended with {child.returncode}"
        raise CopseError(said, "correct that and try again")
    return text


def show_machine(console: Console, machine: dict[str, Any]) -> None:
    """Shows the numbers that decide most, each with how sure it is."""
    spread = machine["spread"]

    def cell(value: float, unit: str, place: str) -> str:
        return f"{value:.4g} {unit}" + (f" (± {100 * spread[place]:.0f} %)" if place in spread else "")

    rows: list[list[Any]] = []
    for index, level in enumerate(machine["levels"]):
        place = f"levels[{index}]."
        rows.append([level["level"], cell(level["flag_ns"], "ns", place + "flag_ns"), cell(level["line_ns"], "ns", place + "line_ns"),
                     cell(level["reader_GBps"], "GB/s", place + "reader_GBps")])  # fmt: skip
    for name in ("own", "memory"):
        stream = machine[name]
        rows.append([name, "", cell(stream["line_ns"], "ns", f"{name}.line_ns"), cell(stream["reader_GBps"], "GB/s", f"{name}.reader_GBps")])
    console.print(info.make_table(machine["title"], ["between", "flag", "line", "one reader"], rows))
    for source in machine["source"]:
        console.print(source, highlight=False, markup=False, soft_wrap=True)


def median_errors(cells: list[dict[str, Any]]) -> dict[bool, float]:
    """Returns the median relative error of the cells in which ranks take turns, and of the other cells."""
    errors: dict[bool, list[float]] = {}
    for cell in cells:
        errors.setdefault(cell["turns"], []).append(abs(cell["error"]))
    return {turns: statistics.median(those) for turns, those in errors.items()}


def show_check(console: Console, cells: list[dict[str, Any]]) -> None:
    rows: list[list[Any]] = [
        [f"{cell['ranks']} {cell['kind']}", cell["collective"], info.size_text(cell["bytes"]), cell["run"], f"{cell['predicted_ns'] / 1e3:.3f}",
         f"{cell['measured_ns'] / 1e3:.3f}", f"{100 * cell['spread']:.0f} %", f"{100 * cell['error']:+.0f} %"]
        for cell in cells
    ]  # fmt: skip
    columns = ["ranks", "collective", "size", "run", "predicted µs", "measured µs", "spread", "error"]
    console.print(info.make_table("Prices and measurements", columns, rows))
    for turns, error in median_errors(cells).items():
        console.print(f"median error of {KINDS[turns]}: {100 * error:.1f} % (aim: {100 * AIMS[turns]:.0f} %)", highlight=False)


def error_text(cells: list[dict[str, Any]]) -> str:
    """Returns the median and the largest error of these cells."""
    errors = [abs(cell["error"]) for cell in cells]
    return f"{100 * statistics.median(errors):.1f} % ({100 * max(errors):.0f} %)" if errors else "-"


def document_text(cells: list[dict[str, Any]]) -> list[str]:
    """Returns the lines of a document's table: the errors in each situation, beside the goal."""
    collectives = list(dict.fromkeys(cell["collective"] for cell in cells))
    groups: dict[str, list[dict[str, Any]]] = {}
    for cell in cells:
        groups.setdefault(f"{cell['ranks']} {cell['kind']}", []).append(cell)
    for cell in sorted(cells, key=lambda cell: cell["turns"]):
        groups.setdefault(f"all {KINDS[cell['turns']]}", []).append(cell)
    lines = [line_of(["ranks", *collectives, "all", "goal"]), line_of(["---", *["---:"] * (len(collectives) + 2)])]
    for title, among in groups.items():
        texts = [error_text([cell for cell in among if cell["collective"] == collective]) for collective in collectives]
        lines.append(line_of([title, *texts, error_text(among), f"{100 * AIMS[among[0]['turns']]:.0f} %"]))
    return lines


def write_document(document: Path, cells: list[dict[str, Any]], taken: str) -> None:
    """Writes the comparison between the document's marks. `taken`: how the machine was measured."""
    sizes = sorted({cell["bytes"] for cell in cells})
    about = f"{origin(readme.command_line(document))} {taken} The median error of the prices, and the largest one in brackets, from "
    about += f"{info.size_text(sizes[0])} to {info.size_text(sizes[-1])}."
    if others := sum(cell["other_state"] for cell in cells):
        about += f" In {others} of {len(cells)} cells, the caches were not as near as when the machine was measured."
    readme.write(document, "\n".join([about, "", *document_text(cells)]), MARKS)


def calibrate_command(
    output: Annotated[Path, typer.Option(help="the machine's file to write")] = Path("machine.json"),
    seconds: Annotated[int, typer.Option(min=1, max=600, help="start no new round of measurements after this many seconds")] = 10,
    check: Annotated[bool, typer.Option("--check", help="then compare prices on the file with calls that run here")] = False,
    machine: Annotated[str, typer.Option(help="with --check: compare with this machine (a name or a file), and measure none")] = "",
    ranks: Annotated[str, typer.Option(help="with --check: numbers of ranks")] = "2,8",
    sizes: Annotated[str, typer.Option(help="with --check: bytes of the message or block (K and M allowed)")] = "8,64,512,4K,32K,256K,1M,4M",
    collectives: Annotated[str, typer.Option(help="with --check")] = "broadcast,reduce,allreduce,allgather,alltoall",
    as_json: Annotated[bool, typer.Option("--json", help="print the file, or the comparison, as JSON")] = False,
    document: Annotated[Path | None, typer.Option(help="with --check: write the errors between the marks of this document, docs/machines.md")] = None,
) -> None:
    """Measure this machine, and write a file for `copse price --machine`. Takes about ten seconds."""
    for name, given in (("--machine", machine), ("--document", document)):
        if given and not check:
            raise CopseError(f"{name} is only for a comparison", "add: --check")
    if document is not None and not document.is_file():
        raise CopseError(f"there is no {document}", "give the docs/machines.md of a checkout")
    if document is not None:
        readme.marks(document, MARKS)
    console = Console(width=None if sys.stdout.isatty() else 160)
    taken = f"Prices are those of `{machine}`."
    if not machine:
        files.require_place(output, "copse-machine/", "a machine's file")
        begin = time.monotonic()
        text = run_native("measuring this machine", "--seconds", str(seconds))
        took = f"{time.monotonic() - begin:.1f} s"
        taken = f"The machine was measured just before, in {took}."
        found = json.loads(text)
        files.write(output, text)
        if not as_json:
            show_machine(console, found)
            console.print(f"measured in {took}; written: {output}; try: copse price allreduce 64K -n 8 --machine {machine_argument(output)}", soft_wrap=True, highlight=False)
        elif not check:
            print(text, end="")
    if not check:
        return
    of = machine or machine_argument(output)
    cells = json.loads(
        run_native("comparing", "--check", of, "--ranks", ranks, "--sizes", sizes, "--collectives", collectives, "--json")
    )  # fmt: skip
    if as_json:
        print(json.dumps({"cells": cells, "median_error": {KINDS[turns]: error for turns, error in median_errors(cells).items()}}, indent=1))
    else:
        show_check(console, cells)
    if document is not None and cells:
        write_document(document, cells, taken)


def machine_argument(path: Path) -> str:
    """Returns the file as an argument of --machine, which takes a word without a slash or .json for a recorded name."""
    return str(path) if "/" in str(path) or path.suffix == ".json" else f"./{path}"
