"""Reports the samples of `copse bench`: figures and ratios for each cell, means for each operation, tables, plots, and
files for other programs."""

import csv
import json
import math
import os
import platform
import re
import statistics
import subprocess
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import files, paths, plots, quiet

SCHEMA = 4  # of results.json, samples.csv and summary.csv
PROGRAM_TITLES = {"own": "mpi_collectives", "imb": "IMB-MPI1"}
PANELS_ACROSS = 6
CHOICE_MARKERS = {"learning": "x", "tuned": "+"}  # of sides that are named after what chooses (bench.Choice)
WIDE = 2  # a median so many times the minimum is told
SLOWER = 0.95  # a ratio below this is slower, one above its inverse is faster; what lies between is noise


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
    flag_ns: float = 0  # time of a flag from rank 0 to rank 1 and back; 0: not measured
    others: float = 0  # the part of the processors' time that went to others during the launch


@dataclass(frozen=True)
class Row:
    """One side's figures for one cell of the grid, in microseconds. A ratio is the best peer's figure over this side's."""

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


def place(s: Sample) -> tuple:
    return s.side, s.call, s.bytes, s.mode


def of_one_state(samples: list[Sample], flag_ns: float, limit: float = quiet.LIMIT) -> tuple[list[Sample], bool]:
    """Returns the samples that were taken while a flag took about `flag_ns`, and whether every side and cell has one.

    For a side and cell without such a sample, returns all its samples, but none at which others took more than `limit`.
    """

    def fits(s: Sample) -> bool:
        return not s.flag_ns or not flag_ns or 1 / 1.5 < s.flag_ns / flag_ns < 1.5

    undisturbed = [s for s in samples if s.others <= limit]
    fitting = set(map(place, filter(fits, undisturbed)))
    kept = [s for s in undisturbed if fits(s) or place(s) not in fitting]
    return kept, all(map(fits, kept)) and set(map(place, kept)) == set(map(place, samples))


def summarise(samples: list[Sample], sides: list) -> list[Row]:
    """Returns a row for each cell and side. Operations and modes keep the order in which they were measured. Of each side of a cell as many
    batches count, because the least of many is less: the first ones of each launch, not all of the first launch."""
    cells: dict[tuple, dict[str, list[tuple[int, float]]]] = {}
    order = {name: place for place, name in enumerate(dict.fromkeys(word for s in samples for word in (s.call, s.mode)))}
    for s in sorted(samples, key=lambda s: (s.program, s.ranks, order[s.call], s.bytes, order[s.mode])):
        cells.setdefault((s.program, s.ranks, s.call, s.bytes, s.mode), {}).setdefault(s.side, []).append((s.batch, s.us))
    peers = {side.name for side in sides if side.peer}
    rows = []
    for cell, by_side in cells.items():
        fewest = min(map(len, by_side.values()))
        counted = {name: [us for _, us in sorted(batches, key=lambda batch: batch[0])[:fewest]] for name, batches in by_side.items()}
        figures = {name: (min(times), statistics.median(times)) for name, times in counted.items()}
        theirs = [figure for name, figure in figures.items() if name in peers]  # empty if IMB gave up on all of them
        for name, own in figures.items():
            compared = theirs and name not in peers
            ratios = [min(their[i] for their in theirs) / own[i] if compared else None for i in (0, 1)]
            rows.append(Row(*cell, name, name in peers, *own, fewest, *ratios))
    return rows


def geometric_means(rows: list[Row]) -> list[dict]:
    """Returns the means of the ratios and the worst cell for each program, number of ranks and side with Copse.

    There is a mean for every operation, for every mode, and for all cells ("all").
    """
    result = []
    compared = [r for r in rows if r.ratio_min is not None]
    for program, ranks, side in dict.fromkeys((r.program, r.ranks, r.side) for r in compared):
        ours = [r for r in compared if (r.program, r.ranks, r.side) == (program, ranks, side)]
        groups = [(call, "all") for call in dict.fromkeys(r.call for r in ours)]
        groups += [("all", mode) for mode in (*dict.fromkeys(r.mode for r in ours), "all")]
        for call, mode in groups:
            chosen = [r for r in ours if call in (r.call, "all") and mode in (r.mode, "all")]
            worst = min(chosen, key=lambda r: r.ratio_min)
            result.append(
                {
                    "program": program,
                    "ranks": ranks,
                    "side": side,
                    "operation": call,
                    "mode": mode,
                    "cells": len(chosen),
                    "slower": sum(r.ratio_min < SLOWER for r in chosen),
                    "ratio_min": statistics.geometric_mean(r.ratio_min for r in chosen),
                    "ratio_median": statistics.geometric_mean(r.ratio_median for r in chosen),
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
    colour = "green" if ratio > 1 / SLOWER else "red" if ratio < SLOWER else "yellow"
    return f"[{colour}]{ratio:.2f}[/]"


def show(console: Console, rows: list[Row]) -> None:
    for program, ranks, chosen in of_each_program(rows):
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
    show_means(console, geometric_means(rows))


def show_means(console: Console, means: list[dict]) -> None:
    for program, ranks in dict.fromkeys((m["program"], m["ranks"]) for m in means):
        chosen = [m for m in means if (m["program"], m["ranks"]) == (program, ranks)]
        table = Table(
            title=f"{PROGRAM_TITLES[program]}, {ranks} ranks: geometric means of best peer / Copse",
            caption=f"by minimum | by median; slower: cells below {SLOWER} by minimum; the worst of them or of all",
            title_justify="left",
            caption_justify="left",
        )
        for heading in ("operation", "mode", "side", "cells", "mean", "slower", "worst cell"):
            table.add_column(heading, justify="right" if heading in ("cells", "slower") else "left")
        previous = None
        for call, mode in dict.fromkeys((m["operation"], m["mode"]) for m in chosen):
            if previous not in (None, call) and "all" in (call, mode):
                table.add_section()
            previous = call
            for m in chosen:
                if (m["operation"], m["mode"]) == (call, mode):
                    table.add_row(
                        *(call, mode, m["side"], str(m["cells"])),
                        f"{ratio_text(m['ratio_min'])} | {ratio_text(m['ratio_median'])}",
                        *(str(m["slower"] or ""), f"{ratio_text(m['worst'])} {m['worst_cell']}"),
                    )
        console.print(table)


def verdicts(means: list[dict]) -> list[str]:
    """Returns a line for each program and number of ranks that says how Copse did over all cells."""
    lines: dict[str, list[str]] = {}
    for m in means:
        if (m["operation"], m["mode"]) != ("all", "all"):
            continue
        slower = f", slower in {m['slower']} of {m['cells']} cells" if m["slower"] else ""
        line = lines.setdefault(f"{PROGRAM_TITLES[m['program']]}, {m['ranks']} ranks, best bare MPI / Copse", [])
        line.append(f"{m['side']} {m['ratio_min']:.2f}{slower}")
    return [f"{where}: {'; '.join(sides)}" for where, sides in lines.items()]


def spread(rows: list[Row]) -> str:
    """Returns a line about the cells whose batches differ much, or an empty text."""
    wide = [r for r in rows if r.median_us > WIDE * r.min_us]
    if not wide:
        return ""
    worst = max(wide, key=lambda r: r.median_us / r.min_us)
    where = f"{worst.side}, {worst.ranks} ranks, {worst.call} {size_text(worst.bytes)} {worst.mode}"
    return f"in {len(wide)} of {len(rows)} figures the median is more than {WIDE} times the minimum (most: {where}); measure it with more --launches"


def of_each_program(rows: list[Row]):
    for program, ranks in dict.fromkeys((r.program, r.ranks) for r in rows):
        yield program, ranks, [r for r in rows if (r.program, r.ranks) == (program, ranks)]


def draw(rows: list[Row], folder: Path) -> list[Path]:
    """Draws, for each program and number of ranks, the minimum time over the size, and the ratios of all operations."""
    pyplot = plots.pyplot()
    files = []
    for program, ranks, chosen in of_each_program(rows):
        for draw_figure, name, title in (
            (draw_times, "", "minimum time (dashed: bare MPI)"),
            (draw_ratios, "-ratios", "geometric mean of best bare MPI / Copse, by minimum"),
        ):
            figure = draw_figure(pyplot, chosen)
            if figure is None:
                continue
            figure.suptitle(f"{PROGRAM_TITLES[program]}, {ranks} ranks: {title}")
            figure.tight_layout()
            files.append(folder / f"{PROGRAM_TITLES[program]}-{ranks}{name}.png")
            figure.savefig(files[-1], dpi=110)
            pyplot.close(figure)
    return files


def draw_times(pyplot, rows: list[Row]):
    """Draws operations from left to right and modes from top to bottom, in as many bands as the operations need."""
    names = list(dict.fromkeys(r.side for r in rows))
    colours = {flavour: f"C{i}" for i, flavour in enumerate(dict.fromkeys(n.split("+")[0] for n in names))}
    calls, modes = (list(dict.fromkeys(values)) for values in zip(*((r.call, r.mode) for r in rows), strict=True))
    across = min(len(calls), PANELS_ACROSS)
    bands = [calls[i : i + across] for i in range(0, len(calls), across)]
    down = len(modes) * len(bands)
    figure, axes = pyplot.subplots(down, across, figsize=(4.2 * across, 3.4 * down), squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    plotted = []
    for row, (band, mode) in enumerate((band, mode) for band in bands for mode in modes):
        for axis, call in zip(axes[row], band, strict=False):
            shown = [r for r in rows if (r.call, r.mode) == (call, mode)]
            if not shown:  # a barrier has no buffers and therefore only one mode
                continue
            axis.set_axis_on()
            for name in names:
                points = sorted((r.bytes, r.min_us) for r in shown if r.side == name)
                if not points:
                    continue
                style = {0: "--", 1: "-", 2: ":"}[name.count("+")]
                settings = {"color": colours[name.split("+")[0]], "label": name, "marker": CHOICE_MARKERS.get(name.partition(" ")[2], ".")}
                if call == "barrier":
                    axis.bar(name.replace("+", "\n+"), points[0][1], fill=style == "-", color=settings["color"])
                else:
                    axis.plot(*zip(*points, strict=True), style, **settings)
            if call == "barrier":
                axis.set(title="barrier", ylabel="us a call")
                axis.tick_params(axis="x", labelsize=6)
            else:
                axis.set(title=f"{call} {mode}", xscale="log", yscale="log", xlabel="bytes", ylabel="us a call")
                axis.grid(alpha=0.3)
                plotted.append(axis)
    if plotted:
        plotted[0].legend(fontsize=7)
    return figure


def draw_ratios(pyplot, rows: list[Row]):
    """Draws a bar for each operation and side with Copse, with a tick at its worst cell. Returns None without a comparison."""
    means = [m for m in geometric_means(rows) if m["mode"] == "all"]
    if not means:
        return None
    calls, sides = (list(dict.fromkeys(m[key] for m in means)) for key in ("operation", "side"))
    figure, axis = pyplot.subplots(figsize=(7, 1.5 + 0.14 * len(calls) * (len(sides) + 1)))
    height = 1 / (len(sides) + 1)
    for place, side in enumerate(sides):
        own = [m for m in means if m["side"] == side]
        at = [calls.index(m["operation"]) + place * height for m in own]
        axis.barh(at, [m["ratio_min"] for m in own], height, label=side)
        axis.plot([m["worst"] for m in own], at, "k|", markersize=4)
    axis.axvline(1, color="black", linewidth=0.8)
    axis.set_yticks([i + (len(sides) - 1) * height / 2 for i in range(len(calls))], calls)
    axis.invert_yaxis()
    axis.set(xscale="log", xlabel="above 1 Copse is faster; |: the worst cell")
    axis.legend(fontsize=7)
    return figure


def processor_name() -> str:
    model = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    return model[1] if model else platform.machine()


def commit() -> str:
    """Names the checkout's commit, and says if there are changes. Empty where there is no git."""
    try:
        done = subprocess.run(["git", "-C", paths.ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    except OSError:
        return ""
    return f", commit {done.stdout.strip()}" if done.returncode == 0 else ""


def write(folder: Path, grid, sides: list, samples: list[Sample], rows: list[Row]) -> list[Path]:
    """Writes everything to results.json, and the samples and rows also to samples.csv and summary.csv for other programs."""
    result = {
        "schema": SCHEMA,
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machine": {
            "processor": processor_name(),
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
    written = [folder / "results.json", folder / "samples.csv", folder / "summary.csv"]
    files.write(written[0], json.dumps(result, indent=1) + "\n")
    for file, records in zip(written[1:], (result["samples"], result["summary"]), strict=True):
        write_csv(file, records[0].keys(), records)
    return written


def write_csv(file: Path, columns: Iterable[str], records: Iterable[dict]) -> None:
    with files.replaced(file) as new, new.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(columns))
        writer.writeheader()
        writer.writerows(records)
