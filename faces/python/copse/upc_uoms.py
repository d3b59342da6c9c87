"""`copse bench --upc --uoms`: the operations, options and output of UOMS, with plots of latency and aggregated bandwidth.

bench/uoms.c measures and says in each heading how it computes the bandwidth. This keeps its output, and draws it.
"""

import re
import shlex
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from . import files, plots, quiet
from .cluster import Cluster
from .upc_bench import output_of

PROGRAM = "copse-uoms"
HEADING = re.compile(r"# Benchmarking ([^\s,]+)")
ROW = re.compile(r" *(\d+) +\d+ +([\d.]+) +[\d.]+ +([\d.]+)(?: +([\d.]+))?$")


class Row(NamedTuple):
    bytes: int
    least_us: float
    mean_us: float
    rate: float | None  # MB/s


Sized = dict[str, list[Row]]  # by operation


def read(text: str) -> Sized:
    """Returns what the program printed of operations that have sizes."""
    found: Sized = defaultdict(list)
    operation = ""
    for line in text.splitlines():
        if heading := HEADING.match(line):
            operation = heading[1]
        elif row := ROW.match(line):
            found[operation].append(Row(int(row[1]), float(row[2]), float(row[3]), float(row[4]) if row[4] else None))
    return dict(found)


def draw(by_threads: dict[int, Sized], file: Path) -> None:
    """Draws latency and bandwidth of each operation by size, with a line for each number of threads."""

    def pictures(operation: str) -> list[plots.BySize]:
        rows = {f"{threads} threads": sized.get(operation, []) for threads, sized in by_threads.items()}
        latency = plots.BySize(operation, "us, fastest iteration", {label: [(row.bytes, row.least_us) for row in found] for label, found in rows.items()})
        rates = {label: [(row.bytes, row.rate) for row in found if row.rate] for label, found in rows.items()}
        return [latency, plots.BySize(operation, "MB/s, aggregated", rates)] if any(rates.values()) else [latency]

    plots.draw_by_size([pictures(operation) for operation in dict.fromkeys(name for sized in by_threads.values() for name in sized)], file)


def uoms_command(options: str, thread_counts: tuple[int, ...], patience: quiet.Patience, output: Path, cluster: Cluster | None = None) -> None:
    console = Console()
    output.mkdir(parents=True, exist_ok=True)
    by_threads: dict[int, Sized] = {}
    written: list[Path] = []
    most = 0.0
    for threads in thread_counts:
        text, others = patience.undisturbed(lambda threads=threads: output_of(PROGRAM, shlex.split(options), threads, cluster))
        most = max(most, others)
        console.print(text, markup=False, highlight=False, soft_wrap=True)
        by_threads[threads] = read(text)
        written.append(output / f"uoms-{threads}.txt")
        files.write(written[-1], text)
    if plots.can_draw() and any(by_threads.values()):
        draw(by_threads, output / "uoms.png")
        written.append(output / "uoms.png")
    console.print("written: " + ", ".join(map(str, written)), soft_wrap=True)
    if most > quiet.LIMIT:
        console.print(f"[yellow]taken on a busy machine: others had up to {most:.0%} of the processors[/]", soft_wrap=True)
