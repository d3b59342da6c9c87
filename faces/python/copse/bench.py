"""`copse bench`: the MPIs at hand, bare and with Copse, side by side over the same grid of calls and sizes.

A side is one MPI, bare (a peer) or with Copse preloaded, the latter also with the shared heap. All sides of one
comparison run the same program with the same launcher options, on as many ranks; launches go round the sides (A B C,
A B C, ...), so that a disturbance of the machine hits all alike. A side's figures for a cell (call, size, mode) are
minimum and median over the batches of all its launches; the ratio is the best peer's figure over Copse's: above 1,
Copse is faster than every MPI in the comparison.
"""

import csv
import json
import math
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from . import flavours, paths, readme, run
from .errors import CopseError

SCHEMA = 1  # of results.json, samples.csv and summary.csv
SOURCE = paths.ROOT / "bench" / "mpi_collectives.c"
CALLS = ("barrier", "bcast", "reduce", "allreduce")
MODES = ("warm", "cold")
SIZES = (8, 512, 4096, 32768, 262144, 1048576, 4194304)
PEERS = ("mpich", "impi", "openmpi")
LAUNCH_TIMEOUT = 600  # seconds


@dataclass(frozen=True)
class Grid:
    calls: tuple[str, ...]
    sizes: tuple[int, ...]
    modes: tuple[str, ...]
    batches: int  # in one launch
    launches: int  # of each side


@dataclass(frozen=True)
class Side:
    flavour: flavours.Flavour
    preload: tuple[str, ...] = ()  # file names in build/lib; none: the bare MPI

    @property
    def peer(self) -> bool:
        return not self.preload

    @property
    def name(self) -> str:
        if self.peer:
            return self.flavour.name
        return f"{self.flavour.name}+copse" + ("+heap" if run.HEAP in self.preload else "")

    def start(self, ranks: int, program: list[str]) -> str:
        """Runs `program` to its end and returns what it printed."""
        variables = {} if self.peer else {"LD_PRELOAD": run.preload_value(self.preload, None)}
        pinned = ranks <= len(os.sched_getaffinity(0))
        command = self.flavour.command(ranks, program, pinned=pinned, variables=variables)
        job = subprocess.Popen(
            command,
            env=self.flavour.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            printed, complaints = job.communicate(timeout=LAUNCH_TIMEOUT)
        except BaseException as stopped:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
            if not isinstance(stopped, subprocess.TimeoutExpired):
                raise
            raise CopseError(f"{self.name} did not end within {LAUNCH_TIMEOUT} s", f"try: {' '.join(command)}") from None
        if job.returncode:
            last = [line for line in (complaints + printed).splitlines() if line.strip()][-3:]
            raise CopseError(
                f"{self.name} failed with exit code {job.returncode} ({' / '.join(last)})", f"try: {' '.join(command)}"
            )
        return printed


@dataclass(frozen=True)
class Sample:
    program: str
    ranks: int
    side: str
    launch: int
    call: str
    bytes: int
    mode: str
    batch: int
    us: float


@dataclass(frozen=True)
class Row:
    """One side's figures for one cell of the grid, in microseconds; ratios are the best peer's over this side's."""

    program: str
    ranks: int
    call: str
    bytes: int
    mode: str
    side: str
    peer: bool
    min_us: float
    median_us: float
    batches: int
    ratio_min: float | None
    ratio_median: float | None

    @property
    def cell(self) -> tuple[str, int, str]:
        return self.call, self.bytes, self.mode


Reading = tuple[str, int, str, int, float]  # call, bytes, mode, batch, microseconds


def measure_own(side: Side, ranks: int, grid: Grid) -> Iterator[Reading]:
    """bench/mpi_collectives.c, compiled with the side's own mpicc when the source is newer."""
    program = paths.BUILD / "bench" / "bin" / side.flavour.name / SOURCE.stem
    if not program.exists() or program.stat().st_mtime < SOURCE.stat().st_mtime:
        program.parent.mkdir(parents=True, exist_ok=True)
        command = [side.flavour.mpicc, "-O2", "-std=gnu11", SOURCE, "-o", program]
        done = subprocess.run(command, env=side.flavour.environment(), capture_output=True, text=True)
        if done.returncode:
            raise CopseError(f"{side.flavour.mpicc} cannot compile {SOURCE.name}: {done.stderr}", "run: make setup")
    sizes = ",".join(map(str, grid.sizes))
    arguments = ["--calls", ",".join(grid.calls), "--sizes", sizes, "--modes", ",".join(grid.modes)]
    printed = side.start(ranks, [str(program), *arguments, "--batches", str(grid.batches)])
    for row in csv.DictReader(line for line in printed.splitlines() if not line.startswith("#")):
        yield row["call"], int(row["bytes"]), row["mode"], int(row["batch"]), float(row["us"])


def last_level_cache() -> int:
    """Its bytes; 32 MiB where the kernel does not tell."""
    text = subprocess.run(["getconf", "LEVEL3_CACHE_SIZE"], capture_output=True, text=True).stdout.strip()
    return int(text) if text.isdigit() and int(text) else 32 << 20


def measure_imb(side: Side, ranks: int, grid: Grid) -> Iterator[Reading]:
    """IMB-MPI1 as its makers built it, a run for each mode; of its times that of the slowest rank (t_max).

    It knows no batches: a launch is one. A cell that takes it more than two seconds it gives up ("time-out"): that side has no figure there."""
    off_cache = max(1, 2 * last_level_cache() // ranks >> 20)
    for mode in grid.modes:
        calls = [call for call in grid.calls if call != "barrier" or mode == grid.modes[0]]
        command = [str(flavours.imb()), *map(str.capitalize, calls), "-npmin", str(ranks), "-zero_size", "off"]
        command += ["-msgsize", ",".join(map(str, grid.sizes)), "-red_data_type", "double"]
        command += ["-iter", "300,20", "-time", "2"]  # at most 300 calls and 20 MB of a size
        if mode == "cold":
            command += ["-off_cache", str(off_cache), "-mem", "1"]
        call = None
        for line in side.start(ranks, command).splitlines() if calls else ():
            if heading := re.match(r"# Benchmarking (\w+)", line):
                call = heading[1].lower()
            elif call and re.fullmatch(r"[\d.\s]+", line) and (words := line.split()):
                yield call, 0 if call == "barrier" else int(words[0]), mode, 0, float(words[-2])


PROGRAMS = {"own": measure_own, "imb": measure_imb}
PROGRAM_TITLES = {"own": "mpi_collectives", "imb": "IMB-MPI1"}


def make_sides(found: list[flavours.Flavour], heap: bool) -> list[Side]:
    sides = []
    for flavour in found:
        sides.append(Side(flavour))
        if flavour.preload.exists():
            sides.append(Side(flavour, (flavour.preload.name,)))
            if heap and (paths.PRELOAD_FOLDER / run.HEAP).exists():
                sides.append(Side(flavour, (flavour.preload.name, run.HEAP)))
    return sides


def take_samples(program: str, sides: list[Side], ranks: int, grid: Grid, say) -> list[Sample]:
    samples = []
    for launch in range(grid.launches):
        for side in sides:
            say(f"{PROGRAM_TITLES[program]}, {ranks} ranks, launch {launch + 1} of {grid.launches}: {side.name}")
            readings = list(PROGRAMS[program](side, ranks, grid))
            if not readings:
                raise CopseError(f"{side.name} printed no figures", "check the sizes and calls asked for")
            samples += [Sample(program, ranks, side.name, launch, *reading) for reading in readings]
    return samples


def summarise(samples: list[Sample], sides: list[Side]) -> list[Row]:
    cells: dict[tuple, dict[str, list[float]]] = {}
    order = {name: place for place, name in enumerate((*CALLS, *MODES))}
    for s in sorted(samples, key=lambda s: (s.program, s.ranks, order[s.call], s.bytes, order[s.mode])):
        cells.setdefault((s.program, s.ranks, s.call, s.bytes, s.mode), {}).setdefault(s.side, []).append(s.us)
    peers = {side.name for side in sides if side.peer}
    rows = []
    for cell, by_side in cells.items():
        figures = {name: (min(times), statistics.median(times)) for name, times in by_side.items()}
        theirs = [figure for name, figure in figures.items() if name in peers]  # none if IMB gave up on all of them
        for name, own in figures.items():
            compared = theirs and name not in peers
            ratios = [min(their[i] for their in theirs) / own[i] if compared else None for i in (0, 1)]
            rows.append(Row(*cell, name, name in peers, *own, len(by_side[name]), *ratios))
    return rows


def geometric_means(rows: list[Row]) -> list[dict]:
    """For each program, number of ranks, Copse side and mode: the means of the ratios, and the worst cell."""
    result = []
    compared = [r for r in rows if r.ratio_min is not None]
    for program, ranks, side in dict.fromkeys((r.program, r.ranks, r.side) for r in compared):
        ours = [r for r in compared if (r.program, r.ranks, r.side) == (program, ranks, side)]
        for mode in (*dict.fromkeys(r.mode for r in ours), "all"):
            chosen = [r for r in ours if mode in (r.mode, "all")]
            worst = min(chosen, key=lambda r: r.ratio_min)
            result.append(
                {
                    "program": program,
                    "ranks": ranks,
                    "side": side,
                    "mode": mode,
                    "cells": len(chosen),
                    "ratio_min": math.exp(statistics.fmean(math.log(r.ratio_min) for r in chosen)),
                    "ratio_median": math.exp(statistics.fmean(math.log(r.ratio_median) for r in chosen)),
                    "worst": worst.ratio_min,
                    "worst_cell": f"{worst.call} {size_text(worst.bytes)} {worst.mode}".strip(),
                }
            )
    return result


def size_text(size: int) -> str:
    if size == 0:
        return ""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def time_text(us: float) -> str:
    return f"{us:.{max(0, 2 - math.floor(math.log10(us)))}f}" if us > 0 else "0"


def ratio_text(ratio: float) -> str:
    colour = "green" if ratio >= 1.05 else "red" if ratio < 0.95 else "yellow"
    return f"[{colour}]{ratio:.2f}[/]"


def show(console: Console, rows: list[Row]) -> None:
    for program, ranks in dict.fromkeys((r.program, r.ranks) for r in rows):
        chosen = [r for r in rows if (r.program, r.ranks) == (program, ranks)]
        names = list(dict.fromkeys(r.side for r in chosen))
        peers = {r.side for r in chosen if r.peer}
        placement = "pinned" if ranks <= len(os.sched_getaffinity(0)) else "more ranks than cores, peers yielding"
        table = Table(
            title=f"{PROGRAM_TITLES[program]}, {ranks} ranks ({placement})",
            caption="us a call: minimum | median of the batches" + ("; x: best peer / Copse" if len(names) > len(peers) else ""),
            title_justify="left",
            caption_justify="left",
        )
        table.add_column("call")
        table.add_column("size", justify="right")
        table.add_column("mode")
        for name in names:
            table.add_column(f"{name}\nus" + ("" if name in peers else " x ratio"), justify="right")
        previous = None
        for cell in dict.fromkeys(r.cell for r in chosen):
            call, size, mode = cell
            if previous not in (None, call):
                table.add_section()
            previous = call
            texts = []
            of_side = {r.side: r for r in chosen if r.cell == cell}
            best = min((r.min_us for r in of_side.values() if r.peer), default=None)
            for name in names:
                r = of_side.get(name)
                text = f"{time_text(r.min_us)} | {time_text(r.median_us)}" if r else "-"
                if r and r.ratio_min is not None:
                    text += f" x {ratio_text(r.ratio_min)} | {ratio_text(r.ratio_median)}"
                elif r and r.peer and r.min_us == best:
                    text = f"[bold]{text}[/]"
                texts.append(text)
            table.add_row(call, size_text(size), mode if size else "", *texts)
        console.print(table)
    means = geometric_means(rows)
    if not means:
        return
    table = Table(title="Geometric means of best peer / Copse", title_justify="left")
    for heading in ("program", "ranks", "side", "mode", "cells", "by minimum", "by median", "worst cell"):
        table.add_column(heading, justify="right" if heading in ("ranks", "cells") else "left")
    for m in means:
        table.add_row(
            *(PROGRAM_TITLES[m["program"]], str(m["ranks"]), m["side"], m["mode"], str(m["cells"])),
            *(ratio_text(m["ratio_min"]), ratio_text(m["ratio_median"])),
            f"{ratio_text(m['worst'])} {m['worst_cell']}",
        )
    console.print(table)


def draw(rows: list[Row], folder: Path) -> list[Path]:
    """One picture for each program and number of ranks: minimum time over size, calls across, modes down."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    files = []
    for program, ranks in dict.fromkeys((r.program, r.ranks) for r in rows):
        chosen = [r for r in rows if (r.program, r.ranks) == (program, ranks)]
        names = list(dict.fromkeys(r.side for r in chosen))
        colours = {flavour: f"C{i}" for i, flavour in enumerate(dict.fromkeys(n.split("+")[0] for n in names))}
        calls, modes = (list(dict.fromkeys(values)) for values in zip(*((r.call, r.mode) for r in chosen), strict=True))
        figure, axes = pyplot.subplots(
            len(modes), len(calls), figsize=(4.2 * len(calls), 3.4 * len(modes)), squeeze=False
        )
        panels = [(call, mode) for mode in modes for call in calls]
        for axis, panel in zip(axes.flat, panels, strict=True):
            shown = [r for r in chosen if (r.call, r.mode) == panel]
            if not shown:  # a barrier has no buffers: one mode only
                axis.set_axis_off()
                continue
            for name in names:
                points = sorted((r.bytes, r.min_us) for r in shown if r.side == name)
                if not points:
                    continue
                style = {0: "--", 1: "-", 2: ":"}[name.count("+")]
                settings = {"color": colours[name.split("+")[0]], "label": name}
                if panel[0] == "barrier":
                    axis.bar(name.replace("+", "\n+"), points[0][1], fill=style == "-", color=settings["color"])
                else:
                    axis.plot(*zip(*points, strict=True), style, marker=".", **settings)
            if panel[0] == "barrier":
                axis.set(title="barrier", ylabel="us a call")
                axis.tick_params(axis="x", labelsize=6)
            else:
                axis.set(title=" ".join(panel), xscale="log", yscale="log", xlabel="bytes", ylabel="us a call")
                axis.grid(alpha=0.3)
        plotted = [axis for axis, panel in zip(axes.flat, panels, strict=True) if panel[0] != "barrier"]
        if plotted:
            plotted[0].legend(fontsize=7)
        figure.suptitle(f"{PROGRAM_TITLES[program]}, {ranks} ranks: minimum time (dashed: bare MPI)")
        figure.tight_layout()
        files.append(folder / f"{PROGRAM_TITLES[program]}-{ranks}.png")
        figure.savefig(files[-1], dpi=110)
        pyplot.close(figure)
    return files


def write(folder: Path, grid: Grid, sides: list[Side], samples: list[Sample], rows: list[Row]) -> list[Path]:
    """results.json holds all; samples.csv and summary.csv the same samples and rows for other programs."""
    model = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    result = {
        "schema": SCHEMA,
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machine": {
            "processor": model[1] if model else platform.machine(),
            "usable_cores": len(os.sched_getaffinity(0)),
            "kernel": platform.release(),
            "load": os.getloadavg()[0],
        },
        "mpi": {side.flavour.name: side.flavour.title for side in sides},
        "grid": asdict(grid),
        "samples": [asdict(s) for s in samples],
        "summary": [asdict(r) for r in rows],
        "geometric_means": geometric_means(rows),
    }
    files = [folder / "results.json", folder / "samples.csv", folder / "summary.csv"]
    files[0].write_text(json.dumps(result, indent=1) + "\n")
    for file, records in zip(files[1:], (result["samples"], result["summary"]), strict=True):
        with file.open("w", newline="") as out:
            writer = csv.DictWriter(out, records[0].keys())
            writer.writeheader()
            writer.writerows(records)
    return files


def chosen_words(text: str, known: tuple[str, ...], what: str) -> tuple[str, ...]:
    words = tuple(filter(None, text.split(",")))
    for word in words:
        if word not in known:
            raise CopseError(f"there is no {what} {word!r}", f"use, separated by commas: {', '.join(known)}")
    if not words:
        raise CopseError(f"no {what} given", f"use, separated by commas: {', '.join(known)}")
    return words


def chosen_numbers(text: str, what: str, multiple: int, suffixes: bool = False) -> tuple[int, ...]:
    numbers = []
    for word in text.split(","):
        found = re.fullmatch(r"(\d+)([KM]?)", word)
        value = int(found[1]) * {"": 1, "K": 1 << 10, "M": 1 << 20}[found[2]] if found else 0
        if value <= 0 or value % multiple or (found[2] and not suffixes):
            raise CopseError(f"{word!r} is not a {what}", "use e.g. 8,4K,1M (multiples of 8)" if suffixes else "use e.g. 2,8")
        numbers.append(value)
    return tuple(numbers)


def bench_command(
    calls: Annotated[str, typer.Option(help="which calls, separated by commas")] = ",".join(CALLS),
    sizes: Annotated[str, typer.Option(help="message sizes in bytes, K and M allowed")] = ",".join(map(str, SIZES)),
    ranks: Annotated[str, typer.Option(help="numbers of ranks, each a comparison of its own")] = "2,8",
    mode: Annotated[str, typer.Option(help="warm: the same buffers; cold: the next of a large ring")] = ",".join(MODES),
    against: Annotated[str, typer.Option(help="the MPIs to measure, bare and with Copse")] = ",".join(PEERS),
    imb: Annotated[
        bool | None,
        typer.Option(
            "--imb/--own",
            help="IMB-MPI1 (MPICH's ABI), or the repository's own program; without either IMB-MPI1 where it runs, "
            "the own program for the others",
        ),
    ] = None,
    heap: Annotated[bool, typer.Option(help="measure the shared heap too")] = True,
    batches: Annotated[int, typer.Option(min=1, help="batches of each cell in a launch (own program)")] = 3,
    launches: Annotated[int, typer.Option(min=1, help="launches of each side, in turn")] = 3,
    quick: Annotated[bool, typer.Option("--quick", help="a glance: one batch, one launch, and few sizes unless --sizes")] = False,
    output: Annotated[Path, typer.Option(help="folder for tables and plots")] = paths.BUILD / "bench",
    into_readme: Annotated[bool, typer.Option("--readme", help="write the result into README.md (takes --own)")] = False,
) -> None:
    """Measure MPIs side by side, bare and with Copse: a table, results.json, CSV files and plots."""
    if into_readme and imb is not False:
        raise CopseError("the README's table compares all MPIs on one program", "add: --own")
    if quick:
        batches, launches = 1, 1
        sizes = "8,4K,1M" if sizes == ",".join(map(str, SIZES)) else sizes
    grid = Grid(
        chosen_words(calls, CALLS, "call"),
        chosen_numbers(sizes, "size", 8, suffixes=True),
        chosen_words(mode, MODES, "mode"),
        batches,
        launches,
    )
    rank_counts = chosen_numbers(ranks, "number of ranks", 1)
    found = [flavours.find(name) for name in chosen_words(against, flavours.NAMES, "MPI flavour")]
    runs_imb = {f.name for f in found if f.family is not flavours.OPEN_MPI}
    if imb and len(runs_imb) < len(found):
        raise CopseError("IMB-MPI1 runs under MPICH's ABI only", f"add: --against {','.join(runs_imb) or 'mpich,impi'}")
    use_imb = runs_imb if imb is None or imb else set()
    plan = {"imb": [f for f in found if f.name in use_imb], "own": [f for f in found if f.name not in use_imb]}

    console = Console(width=None if sys.stdout.isatty() else 200)
    progress = Console(stderr=True)
    missing = sorted({f.preload.name for f in found if not f.preload.exists()})
    if missing:
        progress.print(f"[yellow]not built, so their MPIs run bare only: {', '.join(missing)}[/]")
    if os.getloadavg()[0] > 0.5:
        progress.print(f"[yellow]this machine is busy (load {os.getloadavg()[0]:.1f}): times will be disturbed[/]")

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that a running side ends as well
    output.mkdir(parents=True, exist_ok=True)
    all_sides = make_sides(found, heap)
    samples: list[Sample] = []
    for program, members in plan.items():
        for count in rank_counts if members else ():
            samples += take_samples(program, make_sides(members, heap), count, grid, progress.print)
    rows = summarise(samples, all_sides)
    show(console, rows)
    files = write(output, grid, all_sides, samples, rows) + draw(rows, output)
    if into_readme:
        result = json.loads((output / "results.json").read_text())
        command = "build/bin/copse bench " + " ".join(sys.argv[2:])
        readme.write(paths.ROOT / "README.md", readme.section(rows, result, command, size_text))
    console.print("written: " + ", ".join(str(file) for file in files), soft_wrap=True)
