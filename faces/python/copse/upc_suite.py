"""`copse bench --upc --suite`: UPC's collectives by the algorithms of the libraries that the papers compare, and OpenSHMEM's.

bench/uoms.c makes UPC's calls, with ALLSYNC on both sides as UOMS does, and bench/oshmem.c makes OpenSHMEM's under Debian's Open
MPI. Each side is launched in turn, and every second time in the opposite order. A figure is the time of the fastest iteration of all
launches, beside the median of the launches' means. A ratio is another side's time over that of NUMACol, which is Copse's own choice:
above 1, the choice is faster. The choice is a side a second time, so that the table shows what is only noise.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import geometric_mean

from rich.console import Console
from rich.table import Table

from . import files, paths, plots, quiet, upc_uoms, variables
from .bench_report import processor_name, size_text
from .errors import CopseError
from .tables import built
from .upc_libraries import LIBRARIES, OWN

SHMEM_SOURCE = paths.ROOT / "bench" / "oshmem.c"
OPERATIONS = ("broadcast", "scatter", "gather", "gather_all", "exchange", "permute", "reduceD")
AGAIN, SHMEM = f"{OWN} again", "OpenSHMEM"
# The choice is launched a second time, as if it were another side. What that shows is noise.
SIDES = {OWN: LIBRARIES[OWN], AGAIN: LIBRARIES[OWN], **LIBRARIES, SHMEM: {}}
TIMEOUT = 900  # seconds of a launch

Cell = tuple[int, str, int]  # threads, operation, bytes


def read(text: str) -> dict[tuple[str, int], tuple[float, float]]:
    """Returns the least and the mean time in us of each operation and size that a program printed."""
    return {(name.removeprefix("upc_all_"), row.bytes): (row.least_us, row.mean_us) for name, rows in upc_uoms.read(text).items() for row in rows}


def shmem_program() -> Path | None:
    """Returns OpenSHMEM's program, compiled. None if there is no oshcc here, which Debian's libopenmpi-dev has."""
    if shutil.which("oshcc") is None or shutil.which("oshrun") is None:
        return None
    program = paths.cache() / "bench" / "bin" / "oshmem"
    if not program.exists() or program.stat().st_mtime < SHMEM_SOURCE.stat().st_mtime:
        with files.replaced(program, 0o777) as new:
            command = ["oshcc", "-std=gnu11", "-O3", "-march=native", "-fopenmp-simd", SHMEM_SOURCE, "-o", new]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise CopseError(f"oshcc cannot compile {SHMEM_SOURCE.name}: {done.stderr}", "apt install libopenmpi-dev")
    return program


def programs() -> dict[str, Path]:
    """Returns the program of each side, without OpenSHMEM's if it is not here."""
    found = dict.fromkeys((side for side in SIDES if side != SHMEM), built(upc_uoms.PROGRAM))
    if shmem := shmem_program():
        found[SHMEM] = shmem
    return found


def launch(side: str, program: Path, threads: int, sizes: Sequence[int]) -> dict[tuple[str, int], tuple[float, float]]:
    clean = variables.without()
    if side == SHMEM:
        crowded = threads > len(os.sched_getaffinity(0))
        options = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--bind-to", "none"] if crowded else []
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        command = ["oshrun", "-quiet", *root, *options, "-n", str(threads), str(program), ",".join(map(str, sizes))]
        expected = 4 * len(sizes)
    else:
        names = ",".join(f"upc_all_{operation}" for operation in OPERATIONS)
        lengths = paths.cache() / "bench" / "sizes"
        files.write(lengths, "".join(f"{size}\n" for size in sizes))
        command = [str(program), "-warmup", "-operations", names, "-msglen", str(lengths)]
        clean |= {"COPSE_UPC_THREADS": str(threads)} | SIDES[side]
        expected = len(OPERATIONS) * len(sizes)
    done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=TIMEOUT)
    found = read(done.stdout)
    # OpenSHMEM's program ends without shmem_finalize, which crashes, so its launcher reports a failure.
    if len(found) != expected or (done.returncode and side != SHMEM):
        raise CopseError(f"{side} failed ({(done.stderr + done.stdout).strip()[-300:]})", f"try: {shlex.join(command)}")
    return found


class Times:
    """The times of all sides in us, cell by cell."""

    def __init__(self) -> None:
        self.least: dict[Cell, dict[str, float]] = defaultdict(dict)
        self.means: dict[Cell, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, side: str, threads: int, found: dict[tuple[str, int], tuple[float, float]]) -> None:
        for (operation, size), (least, mean) in found.items():
            cell = threads, operation, size
            self.least[cell][side] = min(least, self.least[cell].get(side, least))
            self.means[cell][side].append(mean)

    def ratios(self, side: str) -> list[float]:
        return [by_side[side] / by_side[OWN] for by_side in self.least.values() if side in by_side]

    def best_of_others(self, cell: Cell) -> float:
        return min(value for side, value in self.least[cell].items() if side not in (OWN, AGAIN)) / self.least[cell][OWN]


def summary(times: Times, sides: Sequence[str]) -> list[str]:
    """Returns a line for each other side, and one for the best of them: the ratios over all cells.

    The last line says how many cells are lower than all those of the choice against itself.
    """

    def line(title: str, ratios: list[float]) -> str:
        return f"{title} : {OWN}: {geometric_mean(ratios):.2f} in the geometric mean, {min(ratios):.2f} at least"

    best = [times.best_of_others(cell) for cell in times.least]
    noise = min(times.ratios(AGAIN), default=1.0)
    below = f"; {sum(each < 1 for each in best)} of {len(best)} cells below 1, {sum(each < noise for each in best)} below {noise:.2f}"
    return [*(line(side, times.ratios(side)) for side in sides if side != OWN), line("best of the others", best) + below]


def table_of(times: Times, sides: Sequence[str]) -> Table:
    table = Table("threads", "operation", "bytes", *(f"{side} us" for side in sides), f"best of the others : {OWN}")
    for cell in sorted(times.least, key=lambda cell: (cell[0], OPERATIONS.index(cell[1]), cell[2])):
        by_side = times.least[cell]
        row = [f"{by_side[side]:.2f}" if side in by_side else "" for side in sides]
        table.add_row(str(cell[0]), cell[1], size_text(cell[2]), *row, f"{times.best_of_others(cell):.2f}")
    return table


def draw(times: Times, sides: Sequence[str], file: Path) -> None:
    """Draws a picture for each operation and number of threads: us by size, a line for each side."""
    thread_counts = sorted({cell[0] for cell in times.least})

    def picture(operation: str, threads: int) -> plots.BySize:
        cells = {size: by_side for (count, name, size), by_side in times.least.items() if (count, name) == (threads, operation)}
        lines = {side: [(size, by_side[side]) for size, by_side in cells.items() if side in by_side] for side in sides}
        return plots.BySize(f"{operation}, {threads} threads", "us", lines)

    plots.draw_by_size([[picture(operation, threads) for threads in thread_counts] for operation in OPERATIONS], file)


def measure(programs: dict[str, Path], sizes: Sequence[int], thread_counts: Sequence[int], launches: int, patience: quiet.Patience,
            say: Callable[[str], None]) -> tuple[Times, float]:  # fmt: skip
    """Returns the times, and the largest share of the processors that others had during a launch."""
    times, most = Times(), 0.0
    for threads in thread_counts:
        for turn in range(launches):
            for side, program in list(programs.items())[:: -1 if turn % 2 else 1]:
                say(f"{threads} threads, launch {turn + 1} of {launches}: {side}")
                if side == SHMEM:  # its ranks end as no children of this process, so they would count as others
                    patience.wait()
                    times.add(side, threads, launch(side, program, threads, sizes))
                    continue
                found, others = patience.undisturbed(lambda side=side, program=program, threads=threads: launch(side, program, threads, sizes))
                times.add(side, threads, found)
                most = max(most, others)
    return times, most


def suite_command(sizes: tuple[int, ...], thread_counts: tuple[int, ...], launches: int, patience: quiet.Patience, output: Path) -> None:
    console, progress = Console(width=None if sys.stdout.isatty() else 200), Console(stderr=True)
    found = programs()
    if SHMEM not in found:
        progress.print("[yellow]without OpenSHMEM, which is not here[/] (on Debian: apt install libopenmpi-dev openmpi-bin)")
    output.mkdir(parents=True, exist_ok=True)
    times, others = measure(found, sizes, thread_counts, launches, patience, progress.print)
    console.print(table_of(times, list(found)))
    for line in summary(times, list(found)):
        console.print(line)
    record = [
        {"threads": threads, "operation": operation, "bytes": size, "side": side, "least_us": least, "mean_us": times.means[threads, operation, size][side]}
        for (threads, operation, size), by_side in times.least.items() for side, least in by_side.items()
    ]  # fmt: skip
    files.write(output / "upc-suite.json", json.dumps({"processor": processor_name(), "others": others, "results": record}, indent=1) + "\n")
    written = [output / "upc-suite.json"]
    if plots.can_draw():
        draw(times, list(found), output / "upc-suite.png")
        written.append(output / "upc-suite.png")
    console.print("written: " + ", ".join(map(str, written)), soft_wrap=True)
    if others > quiet.LIMIT:
        console.print(f"[yellow]taken on a busy machine: others had up to {others:.0%} of the processors[/]", soft_wrap=True)
