#!/usr/bin/env python3
"""Compares two builds of Copse over the same grid of calls and sizes, to show what a change gains or costs.

The launches alternate between the two builds, as in `copse bench`. A ratio is the time of the earlier build over that of the
present one. If it is above 1, the change made it faster. The earlier build is a copy of a build's `lib` folder.

    cp -a build/release/lib /tmp/before; (change, make build)
    build/venv/bin/python bench/builds.py /tmp/before [--ranks 2,8] [--operations all] [--sizes 8,4K,64K,1M] [--against mpich]
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from copse import bench, flavours, paths, quiet, run
from copse.bench_report import Row, geometric_means, ratio_text, size_text, summarise, time_text
from copse.errors import CopseError, run_script

PATIENCE = 600  # seconds to wait for a quiet machine
LOST = 0.95  # a cell whose ratios by minimum and by median are both below this is listed


@dataclass(frozen=True)
class Build(bench.Side):
    """An MPI with the libraries of one build."""

    folder: Path = paths.PRELOAD_FOLDER
    older: bool = False

    @property
    def peer(self) -> bool:
        return self.folder != paths.PRELOAD_FOLDER

    @property
    def name(self) -> str:
        return super().name if not self.peer else "before"

    def start(self, ranks: int, program: list[str], **ours: str) -> str:
        """A build that does not know a variable takes it for a mistake and passes all calls on."""
        if self.older and self.peer:
            return super().start(ranks, ["env", "-u", "COPSE_JOIN", *program], **ours)
        return super().start(ranks, program, **({"COPSE_LEARN": "0"} if self.older else {}), **ours)

    def preloaded(self) -> str:
        return ":".join(str(self.folder / name) for name in self.preload)


def compare(console: Console, flavour: flavours.Flavour, preload: tuple[str, ...], before: Path, older: bool, ranks: int,
            grid: bench.Grid) -> list[Row]:  # fmt: skip
    say = Console(stderr=True).print
    sides = [Build(flavour, preload, folder=before, older=older), Build(flavour, preload, older=older)]
    rows = summarise(bench.take_samples("own", sides, ranks, grid, say, quiet.Patience(PATIENCE, say)), sides)
    means = [mean for mean in geometric_means(rows) if mean["mode"] == "all"]
    if not means:
        raise CopseError("nothing can be compared, because this machine was busy all the time", "end what runs beside")
    table = Table("call", "cells", "by minimum", "by median", "worst", title=f"{sides[1].name}, {ranks} ranks: geometric means")
    for mean in means:
        table.add_row(str(mean["operation"]), str(mean["cells"]), f"{mean['ratio_min']:.3f}", f"{mean['ratio_median']:.3f}",
                      f"{mean['worst']:.2f} ({mean['worst_cell']})")  # fmt: skip
    console.print(table)
    return rows


def show_lost(console: Console, rows: list[Row]) -> None:
    lost = [row for row in rows if row.ratio_min is not None and max(row.ratio_min, row.ratio_median) < LOST]
    table = Table("ranks", "side", "call", "size", "mode", "us (min)", "by minimum", "by median", title=f"below {LOST}")
    for row in lost:
        table.add_row(str(row.ranks), row.side, row.call, size_text(row.bytes), row.mode, time_text(row.min_us),
                      ratio_text(row.ratio_min), ratio_text(row.ratio_median))  # fmt: skip
    console.print(table if lost else f"no cell below {LOST}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="the lib folder of the other build")
    parser.add_argument("--ranks", default="2,8")
    parser.add_argument("--operations", default="all")
    parser.add_argument("--sizes", default="8,4K,64K,1M")
    parser.add_argument("--mode", default=",".join(bench.MODES))
    parser.add_argument("--against", default="mpich", help="the MPIs to run under")
    parser.add_argument("--batches", type=int, default=3)
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--older", action="store_true", help="the other build has neither COPSE_JOIN nor COPSE_LEARN: it begins at once and never learns")
    parser.add_argument("--cache", type=int, default=0, help="MiB that the buffers of cold calls must exceed (default: what the machine says)")
    options = parser.parse_args()
    chosen = bench.OPERATIONS if options.operations == "all" else bench.chosen_words(options.operations, bench.OPERATIONS, "operation")
    sizes = bench.chosen_numbers(options.sizes, "size", 8, suffixes=True)
    modes = bench.chosen_words(options.mode, bench.MODES, "mode")
    grid = bench.Grid(chosen, sizes, modes, options.batches, options.launches, options.cache)
    console = Console(width=None if sys.stdout.isatty() else 160)
    rows = []
    for name in bench.chosen_words(options.against, flavours.NAMES, "MPI flavour"):
        flavour = flavours.find(name)
        for count in bench.chosen_numbers(options.ranks, "number of ranks", 1):
            for preload in ((flavour.preload.name,), (flavour.preload.name, run.HEAP)):
                rows += compare(console, flavour, preload, options.before.resolve(), options.older, count, grid)
    show_lost(console, rows)


if __name__ == "__main__":
    run_script(main)
