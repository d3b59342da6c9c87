#!/usr/bin/env python3
"""Compares two builds of Copse over the same grid of calls and sizes, to show what a change gains or costs.

The launches alternate between the two builds, as in `copse bench`. A ratio is the time of the earlier build over that of the
present one. If it is above 1, the change made it faster. The present build runs twice in each turn. How far its two halves differ says
what is noise. The earlier build is a copy of a build's `lib` folder.

    cp -a build/release/lib build/before; (change, make build)
    build/venv/bin/python bench/builds.py build/before [--ranks 2,8] [--operations all] [--sizes 8,4K,64K,1M] [--against mpich]

With --document, the script writes its table into docs/measurements.md. If it is interrupted, the same command goes on where it was.
"""

import argparse
import json
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path

from rich.console import Console

from copse import bench, contest, flavours, paths, quiet, run, tables
from copse.bench_report import SLOWER, Row, Sample, geometric_means, size_text, summarise
from copse.errors import CopseError, run_script

UNFINISHED = paths.BUILD / "builds.unfinished"
DOCUMENT = paths.ROOT / "docs/measurements.md"
PATIENCE = 600  # seconds to wait for a quiet machine
EARLIER, AGAIN = "before", "again"


@dataclass(frozen=True)
class Build(bench.Side):
    """An MPI with the libraries of one build. `against` names it if the present build is compared with it."""

    folder: Path = paths.PRELOAD_FOLDER
    against: str = ""
    older: bool = False  # one of the builds has neither COPSE_JOIN nor COPSE_LEARN

    @property
    def peer(self) -> bool:
        return bool(self.against)

    @property
    def name(self) -> str:
        return self.against or super().name

    def start(self, ranks: int, program: list[str], **ours: str) -> str:
        """A build that does not know a variable takes it for a mistake and passes all calls on."""
        if self.older and self.against == EARLIER:
            return super().start(ranks, ["env", "-u", "COPSE_JOIN", *program], **ours)
        return super().start(ranks, program, **({"COPSE_LEARN": "0"} if self.older else {}), **ours)

    def preloaded(self) -> str:
        return ":".join(str(self.folder / name) for name in self.preload)


@dataclass(frozen=True)
class Column:
    """The present build against the earlier one, and against itself, with one number of ranks, with the shared heap or without."""

    title: str
    rows: list[Row]
    noise: list[Row]

    @staticmethod
    def lost(rows: list[Row]) -> list[Row]:
        return [row for row in rows if row.ratio_min is not None and max(row.ratio_min, row.ratio_median) < SLOWER]

    def means(self) -> dict[str, str]:
        """Returns what the table says of each call, and of all."""
        found = {mean["operation"]: mean for mean in geometric_means(self.rows) if mean["mode"] == "all"}
        return {call: f"{mean['ratio_min']:.2f}, {mean['ratio_median']:.2f}, worst {mean['worst']:.2f}" for call, mean in found.items()}

    def summary(self) -> str:
        """Says how many cells are slower, and which ones these are."""
        lost, cells = self.lost(self.rows), [row for row in self.rows if row.ratio_min is not None]
        names = "; ".join(f"{row.call} {size_text(row.bytes)} {row.mode} {row.ratio_min:.2f}, {row.ratio_median:.2f}" for row in lost)
        return f"{self.title}: {len(lost)} of {len(cells)} cells ({len(self.lost(self.noise))} against itself){': ' + names if lost else ''}."


def compare(flavour: flavours.Flavour, preload: tuple[str, ...], options: argparse.Namespace, ranks: int, grid: bench.Grid, journal: contest.Journal) -> Column:
    """Measures call by call, because the processors of a virtual machine may be near or far from one another for a minute only."""
    say = Console(stderr=True).print
    before = Build(flavour, preload, folder=options.before.resolve(), against=EARLIER, older=options.older)
    present, again = (Build(flavour, preload, against=name, older=options.older) for name in ("", AGAIN))
    patience = quiet.Patience(0, say, limit=1) if options.busy else quiet.Patience(PATIENCE, say)
    title, samples = f"{ranks} ranks{', shared heap' if run.HEAP in preload else ''}", []
    for call in grid.operations:
        def measure(part: bench.Grid = replace(grid, operations=(call,))) -> list:
            taken = bench.take_samples("own", [before, present, again], ranks, part, say, patience)
            if not taken:  # which the journal must not keep
                raise CopseError("nothing can be compared, because this machine was busy all the time", "end what runs beside, and go on by the same command")
            return list(map(astuple, taken))

        samples += [Sample(*of_sample) for of_sample in journal.launch(f"{title}, {call}", measure)]

    def rows(other: Build) -> list[Row]:
        return summarise([sample for sample in samples if sample.side in (other.name, present.name)], [other, present])

    return Column(title, rows(before), rows(again))


def head_of(flavour: flavours.Flavour, options: argparse.Namespace, grid: bench.Grid) -> dict:
    """Returns what must be equal for a measurement to be continued."""
    now, before = contest.libraries_of(flavour), contest.libraries_of(flavour, options.before)
    if missing := sorted(now.keys() - before.keys()):
        raise CopseError(f"{options.before / missing[0]} is missing", "give the lib folder of a build that has it")
    head = {"grid": asdict(grid), "mpi": flavour.title, "before": before, "now": now, "older": options.older, "busy": options.busy}
    return json.loads(json.dumps(head))


def show(flavour: flavours.Flavour, calls: Iterable[str], columns: list[Column], options: argparse.Namespace) -> None:
    """Prints the table, and writes it if that is asked for."""
    table = tables.GrowingTable([flavour.title, *(column.title for column in columns)])
    means = [column.means() for column in columns]
    for call in ("all", *calls):
        if any(call in of_column for of_column in means):
            table.put([call, *(of_column.get(call, "-") for of_column in means)])
    about = [f"Below {SLOWER} by the minimum and by the median:", "", *(f"- {column.summary()}" for column in columns)]
    print("\n".join(about))
    if options.document:
        table.write(DOCUMENT, options.marks, about)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="the lib folder of the other build")
    parser.add_argument("--ranks", default="2,8")
    parser.add_argument("--operations", default="all")
    parser.add_argument("--sizes", default="8,4K,64K,1M")
    parser.add_argument("--mode", default=",".join(bench.MODES))
    parser.add_argument("--against", default="mpich", help="the MPI to run under")
    parser.add_argument("--batches", type=int, default=3)
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--older", action="store_true", help="the other build has neither COPSE_JOIN nor COPSE_LEARN: it begins at once and never learns")
    parser.add_argument("--cache", type=int, default=0, help="MiB that the buffers of cold calls must exceed (default: what the machine says)")
    parser.add_argument("--busy", action="store_true", help="take figures as they are, although others use the processors, and whatever the caches do")
    options = tables.parsed(parser, DOCUMENT, "builds")
    chosen = bench.OPERATIONS if options.operations == "all" else bench.chosen_words(options.operations, bench.OPERATIONS, "operation")
    sizes = bench.chosen_numbers(options.sizes, "size", 8, suffixes=True)
    grid = bench.Grid(chosen, sizes, bench.chosen_words(options.mode, bench.MODES, "mode"), options.batches, options.launches, options.cache)
    flavour = flavours.find(options.against)
    preloads = ((flavour.preload.name,), (flavour.preload.name, run.HEAP))
    counts = bench.chosen_numbers(options.ranks, "number of ranks", 1)
    journal = contest.Journal(UNFINISHED, head_of(flavour, options, grid))
    columns = [compare(flavour, preload, options, ranks, grid, journal) for ranks in counts for preload in preloads]
    show(flavour, chosen, columns, options)
    journal.end()


if __name__ == "__main__":
    run_script(main)
