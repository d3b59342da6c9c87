"""`copse bench --overlap`: how much of an allreduce hides behind computation (CDCP V, Figure 5).

All sides compute on the same processors, and one processor is left free: for the helper, or for the MPI's own thread. Each side's
modes are measured in turn, again and again, and the least and the median time count.
"""

import json
import os
import re
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import files, flavours, paths
from .bench_report import processor_name, size_text
from .errors import CopseError

SOURCE = paths.ROOT / "bench" / "overlap.c"
MODES = ("none", "blocking", "test", "wait")
LATENCY = ("wait", 0)  # without computation
# The variables that give an MPI threads of its own, and the one that lists the processor of each rank's thread.
OWN_THREADS = {"mpich": ({"MPIR_CVAR_ASYNC_PROGRESS": "1"}, "MPIR_CVAR_PROGRESS_THREAD_AFFINITY"),
               "impi": ({"I_MPI_ASYNC_PROGRESS": "1"}, "I_MPI_ASYNC_PROGRESS_PIN")}  # fmt: skip
TIMEOUT = 120  # seconds of a launch


@dataclass(frozen=True)
class Way:
    """A way of making the calls: an MPI, bare or with Copse, and variables."""

    flavour: flavours.Flavour
    title: str
    preload: bool = False
    variables: dict[str, str] = field(default_factory=dict, hash=False)
    pins: str = ""  # the variable that binds the MPI's own threads


def ways_of(flavour: flavours.Flavour) -> list[Way]:
    ways = [Way(flavour, f"{flavour.name}")]
    if thread := OWN_THREADS.get(flavour.name):
        variables, pins = thread
        ways.append(Way(flavour, f"{flavour.name}, its own thread", variables=variables, pins=pins))
    if flavour.preload.exists():
        ways += [Way(flavour, f"{flavour.name}+copse", True), Way(flavour, f"{flavour.name}+copse, COPSE_PROGRESS=thread", True, {"COPSE_PROGRESS": "thread"})]
        ways.append(Way(flavour, f"{flavour.name}+copse, a helper", True, {"COPSE_COLLECTIVE_PROCESSORS": "1"}))
    return ways


def launch(way: Way, ranks: int, mode: str, size: int, compute: float, calls: int) -> tuple[float, float]:
    """Returns the microseconds of an iteration by the clock, and those of the processor."""
    processors = sorted(os.sched_getaffinity(0))
    free = {way.pins: ",".join([str(processors[-1])] * ranks)} if way.pins else {}
    variables = {**way.variables, **free, **({"LD_PRELOAD": str(way.flavour.preload), "COPSE_JOIN": "1"} if way.preload else {})}
    program = [str(way.flavour.program(SOURCE)), mode, str(size), str(compute), str(calls)]
    command = ["taskset", "-c", ",".join(map(str, processors[:-1])), *way.flavour.command(ranks, program, crowded=ranks >= len(processors), variables=variables)]
    done = subprocess.run(command, env=way.flavour.environment(), capture_output=True, text=True, timeout=TIMEOUT)
    found = re.search(r": ([\d.]+) us, ([\d.]+) us of the processor", done.stdout)
    if done.returncode or not found:
        raise CopseError(f"{way.title} failed ({(done.stderr + done.stdout).strip()[-300:]})", f"try: {' '.join(map(str, command))}")
    return float(found[1]), float(found[2])


def measure(ways: list[Way], ranks: int, size: int, compute: float, calls: int, launches: int, say) -> dict[str, dict]:
    taken: dict[tuple[str, str, float], list[tuple[float, float]]] = {}
    for turn in range(launches):
        for way in ways:
            say(f"{way.title}, {size_text(size)}, {turn + 1} of {launches}")
            for mode, time in [*((mode, compute) for mode in MODES), LATENCY]:
                taken.setdefault((way.title, mode, time), []).append(launch(way, ranks, mode, size, time, calls))
    result = {}
    for way in ways:
        def of(mode: str, time: float, which: int, title: str = way.title) -> tuple[float, float]:
            values = [both[which] for both in taken[title, mode, time]]
            return min(values), statistics.median(values)

        idle, idle_processor = of("none", compute, 0)[0], of("none", compute, 1)[0]
        latency = of(*LATENCY, 0)[0]
        over = {mode: max(0.0, of(mode, compute, 0)[0] - idle) for mode in MODES[1:]}
        result[way.title] = {
            "latency_us": latency,
            "overhead_us": over,
            "processor_us": {mode: max(0.0, of(mode, compute, 1)[0] - idle_processor) for mode in MODES[1:]},
            "hidden": max(0.0, min(1.0, 1 - over["wait"] / latency)) if latency else 0.0,
            "median_us": {mode: of(mode, compute, 0)[1] - of("none", compute, 0)[1] for mode in MODES[1:]},
        }
    return result


def overlap_command(found: list[flavours.Flavour], ranks: int, sizes: tuple[int, ...], compute: float, launches: int, output: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        raise CopseError("there is only one processor here", "helpers need one of their own")
    progress, console = Console(stderr=True), Console(width=None if sys.stdout.isatty() else 200)
    ways = [way for flavour in found for way in ways_of(flavour)]
    files.require_folder(output)
    results = {}
    for size in sizes:
        results[size] = measure(ways, ranks, size, compute, 1000, launches, progress.print)
        table = Table(title=f"allreduce of {size_text(size)} behind {compute:g} us of computation, {ranks} ranks on {len(os.sched_getaffinity(0)) - 1} "
                            f"processor(s) of {processor_name()}, one processor free")  # fmt: skip
        for heading in ("", "latency", "overhead: blocking", "with tests", "wait only", "of the processor", "hidden"):
            table.add_column(heading, justify="left" if not heading else "right")
        for title, row in results[size].items():
            over = row["overhead_us"]
            table.add_row(title, f"{row['latency_us']:.2f} us", *(f"{over[mode]:.2f} us" for mode in MODES[1:]), f"{row['processor_us']['wait']:.2f} us", f"{row['hidden']:.0%}")
        console.print(table)
    files.write(output / "overlap.json", json.dumps({"ranks": ranks, "compute_us": compute, "results": results}, indent=1) + "\n")
    console.print(f"{output / 'overlap.json'}")
