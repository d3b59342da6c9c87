"""`copse bench --upc`: what UPC's synchronisation modes cost, operation by operation and size by size.

bench/upc_modes.c makes the calls. Its opening comment says what a figure is. The ratios compare the fastest batch of each mode.
"""

import csv
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import files, paths, quiet
from .errors import CopseError

PROGRAM = paths.BUILD / "release" / "bin" / "copse-upc-modes"
OPERATIONS = ("broadcast", "scatter", "gather", "gather_all", "exchange", "permute")
DEFAULT_OPERATIONS = ("broadcast", "exchange")
SIZES = (8, 512, 4096, 16384, 65536)
MODES = ("ALLSYNC", "MYSYNC", "NOSYNC")
TIMEOUT = 1800  # seconds

Cell = tuple[int, str, int]  # threads, operation, bytes
Times = dict[Cell, dict[str, float]]  # by mode: us of the fastest batch


def measure(operations: tuple[str, ...], sizes: tuple[int, ...], threads: int, batches: int) -> list[dict[str, str]]:
    """Returns the lines that the program prints, one for each batch."""
    if not PROGRAM.exists():
        raise CopseError(f"{PROGRAM.name} is not built", "it is for checkouts: make build there")
    command = [str(PROGRAM), ",".join(operations), ",".join(map(str, sizes)), str(batches)]
    done = subprocess.run(
        command, env=os.environ | {"COPSE_UPC_THREADS": str(threads)}, capture_output=True, text=True, timeout=TIMEOUT
    )
    if done.returncode:
        raise CopseError(f"{PROGRAM.name} failed: {done.stderr.strip()}", f"try: COPSE_UPC_THREADS={threads} {' '.join(command)}")
    return list(csv.DictReader(done.stdout.splitlines()))


def fastest(lines: list[dict[str, str]]) -> Times:
    """Returns the time of the fastest batch of every cell and mode."""
    times: Times = defaultdict(dict)
    for line in lines:
        cell = times[int(line["threads"]), line["operation"], int(line["bytes"])]
        cell[line["mode"]] = min(float(line["us"]), cell.get(line["mode"], float("inf")))
    return dict(times)


def table_of(times: Times) -> Table:
    """Returns the times, and how much more ALLSYNC and MYSYNC take than NOSYNC."""
    table = Table("threads", "operation", "bytes", *(f"{mode} us" for mode in MODES), "ALLSYNC : MYSYNC : NOSYNC")
    for (threads, operation, size), by_mode in times.items():
        ratios = " : ".join(f"{by_mode[mode] / by_mode['NOSYNC']:.2f}" for mode in MODES)
        table.add_row(str(threads), operation, str(size), *(f"{by_mode[mode]:.3f}" for mode in MODES), ratios)
    return table


def run(
    operations: tuple[str, ...], sizes: tuple[int, ...], threads: tuple[int, ...], batches: int, patience: quiet.Patience, output: Path
) -> None:
    """Measures, prints the table, and writes the batches to upc-modes.csv."""
    files.require_folder(output)
    lines, most = [], 0.0
    for count in threads:
        found, others = patience.undisturbed(lambda count=count: measure(operations, sizes, count, batches))
        lines += found
        most = max(most, others)
    written = output / "upc-modes.csv"
    with files.replaced(written) as new, new.open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0].keys())
        writer.writeheader()
        writer.writerows(lines)
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(table_of(fastest(lines)))
    console.print("us of a call: time between two barriers / calls between them; the fastest batch of each mode")
    console.print(f"written: {written}", soft_wrap=True)
    if most > quiet.LIMIT:
        console.print(f"[yellow]taken on a busy machine: others had up to {most:.0%} of the processors[/]", soft_wrap=True)
