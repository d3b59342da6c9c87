"""`copse bench --ft`: the NAS kernel FT, whose time goes into transforms and into one exchange after each of them.

The exchange is what differs (UPC evaluation 4.5, Figure 5): UPC's by several algorithms, MPI_Alltoall of several MPIs, and OpenMP's
threads, which share the array and exchange nothing. bench/ft/ has the programs. Launches alternate between the ways. The figures
are the least and the median over the runs of all launches; operations are counted as the NAS benchmarks do.
"""

import json
import os
import shlex
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import bench, files, flavours, paths, plots, quiet, variables
from .bench_report import processor_name
from .errors import CopseError
from .tables import built, output_of
from .upc_libraries import LIBRARIES, OWN

SOURCE = paths.ROOT / "bench" / "ft" / "ft_mpi.c"
CLASSES = ("S", "W", "A")
UPC_WAYS = {f"UPC, {title}": chosen for title, chosen in LIBRARIES.items()}
RUNS = {"S": 20, "W": 20, "A": 3}  # in a launch
TIMEOUT = 600  # seconds of a launch


@dataclass(frozen=True)
class Way:
    title: str
    command: tuple[str, ...]  # to which the class and the number of runs are appended
    environment: dict[str, str]


@dataclass
class Result:
    """The seconds of all runs, and which part of them each exchange took."""

    seconds: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    mops: float = 0  # of the fastest run

    def add(self, run: dict) -> None:
        self.seconds.append(run["seconds"])
        self.shares.append(run["exchange_seconds"] / run["seconds"])
        self.mops = max(self.mops, run["mops"])


def ways_of(threads: int, found: list[flavours.Flavour], heap: bool) -> list[Way]:
    upc = str(built("copse-ft-upc"))
    clean = variables.without()
    of_upc = clean | {"COPSE_UPC_THREADS": str(threads)}
    ways = [Way(title, (upc,), of_upc | chosen) for title, chosen in UPC_WAYS.items()]
    ways.insert(1, Way(f"UPC, {OWN}, processes", (upc,), of_upc | {"COPSE_UPC_PROCESSES": str(threads)}))
    ways.append(Way("OpenMP", (str(built("copse-ft-openmp")),), clean | {"OMP_NUM_THREADS": str(threads)}))
    for side in bench.make_sides(found, heap):
        program = side.flavour.program(SOURCE, "-lfftw3", "-lm")
        ours = {"LD_PRELOAD": preloaded, "COPSE_JOIN": "1"} if (preloaded := side.preloaded()) else {}
        ways.append(Way(side.name, tuple(side.flavour.command(threads, [program], variables=ours)), side.flavour.environment(clean)))
    return ways


def launch(way: Way, threads: int, of_class: str, runs: int) -> list[dict]:
    """Returns what the program says of each run."""
    counts = [of_class, str(threads), str(runs)] if way.title == "OpenMP" else [of_class, str(runs)]
    command = [*way.command, *counts]
    output = output_of(f"{way.title}, class {of_class},", command, way.environment, TIMEOUT)
    results = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    if len(results) != runs or not all(result["verified"] for result in results):
        raise CopseError(f"{way.title}: class {of_class} has wrong or missing results: {output.strip()[-300:]}", f"try: {shlex.join(command)}")
    return results


def measure(ways: list[Way], threads: int, of_class: str, launches: int, patience: quiet.Patience,
            say: Callable[[str], None]) -> tuple[dict[str, Result], float]:  # fmt: skip
    """Returns the results, and the largest share of the processors that others had during a launch."""
    results, most = {way.title: Result() for way in ways}, 0.0
    for turn in range(launches):
        say(f"class {of_class}, {threads} threads, launch {turn + 1} of {launches}")
        for way in ways:
            runs, others = patience.undisturbed(lambda way=way: launch(way, threads, of_class, RUNS[of_class]))
            most = max(most, others)
            for run in runs:
                results[way.title].add(run)
    return results, most


def table_of(results: dict[str, Result], of_class: str, threads: int) -> Table:
    table = Table(title=f"FT, class {of_class}, {threads} threads or ranks, {len(os.sched_getaffinity(0))} processors ({processor_name()})")
    for heading in ("", "ms, least", "ms, median", "Mop/s", "in the exchange"):
        table.add_column(heading, justify="left" if not heading else "right")
    for title, result in results.items():
        table.add_row(title, f"{1e3 * min(result.seconds):.2f}", f"{1e3 * statistics.median(result.seconds):.2f}", f"{result.mops:.0f}",
                      f"{statistics.median(result.shares):.0%}")  # fmt: skip
    return table


def draw(results: dict[tuple[str, int], dict[str, Result]], file: Path) -> None:
    """Draws the operations a second of all ways, as Figure 5 does: one picture for each class, by the number of threads."""
    pyplot = plots.pyplot()
    classes = sorted({of_class for of_class, _ in results}, key=CLASSES.index)
    figure, axes = pyplot.subplots(1, len(classes), figsize=(7 * len(classes), 5), squeeze=False)
    for axis, of_class in zip(axes[0], classes, strict=True):
        cells = {threads: by_way for (name, threads), by_way in results.items() if name == of_class}
        titles = list(next(iter(cells.values())))
        width = 0.8 / len(cells)
        for i, (threads, by_way) in enumerate(sorted(cells.items())):
            places = [row + (i - (len(cells) - 1) / 2) * width for row in range(len(titles))]
            axis.barh(places, [by_way[title].mops for title in titles], width, label=f"{threads} threads")
        axis.set_yticks(range(len(titles)), titles)
        axis.invert_yaxis()
        axis.set_xlabel("Mop/s, fastest run")
        axis.set_title(f"FT, class {of_class}")
        axis.legend()
    figure.tight_layout()
    with files.replaced(file) as new:
        figure.savefig(new)
    pyplot.close(figure)


def ft_command(
    classes: tuple[str, ...], thread_counts: tuple[int, ...], found: list[flavours.Flavour], heap: bool, launches: int,
    patience: quiet.Patience, output: Path,
) -> None:  # fmt: skip
    console, progress = Console(width=None if sys.stdout.isatty() else 200), Console(stderr=True)
    output.mkdir(parents=True, exist_ok=True)
    results: dict[tuple[str, int], dict[str, Result]] = {}
    others = 0.0
    for threads in thread_counts:
        ways = ways_of(threads, found, heap)
        for of_class in classes:
            results[of_class, threads], most = measure(ways, threads, of_class, launches, patience, progress.print)
            others = max(others, most)
            console.print(table_of(results[of_class, threads], of_class, threads))
    record = [
        {"class": of_class, "threads": threads, "way": title, "seconds": result.seconds, "exchange_shares": result.shares, "mops": result.mops}
        for (of_class, threads), by_way in results.items() for title, result in by_way.items()
    ]  # fmt: skip
    files.write(output / "ft.json", json.dumps({"processor": processor_name(), "others": others, "results": record}, indent=1) + "\n")
    written = [output / "ft.json"]
    if plots.can_draw():
        draw(results, output / "ft.png")
        written.append(output / "ft.png")
    console.print("all sums are as published; written: " + ", ".join(map(str, written)), soft_wrap=True)
    if others > quiet.LIMIT:
        console.print(f"[yellow]taken on a busy machine: others had up to {others:.0%} of the processors[/]", soft_wrap=True)
