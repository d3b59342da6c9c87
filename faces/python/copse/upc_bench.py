"""`copse bench --upc`: what UPC's synchronisation modes cost, operation by operation and size by size.

bench/upc_modes.c makes the calls. Its opening comment says what a figure is. The ratios compare the fastest batch of each mode. On
emulated nodes, MPICH starts the processes, each of which is a thread of UPC's.
"""

import csv
import os
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import files, flavours, plots, quiet
from .cluster import Cluster
from .errors import CopseError
from .tables import built

PROGRAM = "copse-upc-modes"
OPERATIONS = ("broadcast", "scatter", "gather", "gather_all", "exchange", "permute")
DEFAULT_OPERATIONS = ("broadcast", "exchange")
SIZES = (8, 512, 4096, 16384, 65536)
MODES = ("ALLSYNC", "MYSYNC", "NOSYNC")
TIMEOUT = 1800  # seconds

Cell = tuple[int, str, int]  # threads, operation, bytes
Times = dict[Cell, dict[str, float]]  # by mode: us of the fastest batch


def output_of(program: str, arguments: Sequence[str], threads: int, cluster: Cluster | None = None) -> str:
    """Returns what a program for `<copse/upc.h>` prints, on one node or on all of the cluster's."""
    command = [str(built(program)), *arguments]
    environment: Mapping[str, str] = os.environ | {"COPSE_UPC_THREADS": str(threads)}
    hint = f"try: COPSE_UPC_THREADS={threads} {shlex.join(command)}"
    if cluster is not None:
        mpi = flavours.find("mpich")
        preload = {"LD_PRELOAD": f"{mpi.preload}:{mpi.libmpi}"}
        command = [str(word) for word in cluster.command(mpi, threads // len(cluster.names), command, variables=preload)]
        environment, hint = cluster.environment(mpi), "copse doctor says what is wrong with an MPI"
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode:
        raise CopseError(f"{program} failed: {done.stderr.strip()[-400:]}", hint)
    return done.stdout


def measure(operations: tuple[str, ...], sizes: tuple[int, ...], threads: int, batches: int, cluster: Cluster | None = None) -> list[dict[str, str]]:
    """Returns the lines that the program prints, one for each batch."""
    arguments = [",".join(operations), ",".join(map(str, sizes)), str(batches)]
    return list(csv.DictReader(output_of(PROGRAM, arguments, threads, cluster).splitlines()))


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


def draw(times: Times, file: Path) -> None:
    """Draws a picture for each operation and number of threads: us by size, a line for each mode."""
    thread_counts, operations = sorted({cell[0] for cell in times}), list(dict.fromkeys(cell[1] for cell in times))

    def picture(operation: str, threads: int) -> plots.BySize:
        cells = {size: by_mode for (count, name, size), by_mode in times.items() if (count, name) == (threads, operation)}
        return plots.BySize(f"{operation}, {threads} threads", "us", {mode: [(size, cells[size][mode]) for size in cells] for mode in MODES})

    plots.draw_by_size([[picture(operation, threads) for threads in thread_counts] for operation in operations], file)


def run(
    operations: tuple[str, ...], sizes: tuple[int, ...], threads: tuple[int, ...], batches: int, patience: quiet.Patience, output: Path,
    cluster: Cluster | None = None,
) -> None:  # fmt: skip
    """Measures, prints the table, writes the batches to upc-modes.csv, and draws upc-modes.png."""
    files.require_folder(output)
    lines, most = [], 0.0
    for count in threads:
        found, others = patience.undisturbed(lambda count=count: measure(operations, sizes, count, batches, cluster))
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
    all_written = [written]
    if plots.can_draw():
        draw(fastest(lines), output / "upc-modes.png")
        all_written.append(output / "upc-modes.png")
    console.print("written: " + ", ".join(map(str, all_written)), soft_wrap=True)
    if most > quiet.LIMIT:
        console.print(f"[yellow]taken on a busy machine: others had up to {most:.0%} of the processors[/]", soft_wrap=True)
