"""`copse bench --regret`: what the default choice costs. The regret of a cell is the time of the default over that of the fastest way
that Copse could be forced to. Over emulated nodes, the MPI's own collective is a way, too.

The fastest way is found first. Then it, the default and, if it is given, a table are measured anew, side by side, so that luck in the
race does not count as regret. The fastest of these has the regret 1, whatever it is. What is learned runs by itself, for longer, and is
compared with that.

All calls take hours, so they can be measured in parts: some operations, sizes, modes, numbers of ranks or ways to reach buffers at a time.
regret.csv keeps the cells. Those that were measured with the same settings make one table.
"""

import csv
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import bench, contest, files, native, quiet, readme, run, variables
from .bench_asked import Asked
from .bench_report import commit, processor_name, size_text, write_csv
from .cluster import Cluster
from .errors import CopseError
from .tables import line_of, origin

FINAL = contest.Round(5, 4, 0.006, 1, 1)
LEARN_BATCHES, LEARN_SECONDS = 40, 0.25  # of a cell that learns: at least so many batches, of so many seconds at most
SIZES = (4096, 65536, 1048576)
MOST_WAYS = 30  # that are raced; the best way must be among them, so there are more than `copse tune` has time for


@dataclass(frozen=True)
class Regret:
    ranks: int
    nodes: int  # emulated ones; 1: this machine
    heap: bool
    call: str
    bytes: int
    mode: str
    best: str
    best_us: float
    default_us: float
    tuned_us: float | None
    learned_us: float | None

    def of(self, us: float | None) -> float | None:
        return None if us is None else max(1.0, us / self.best_us)


CHOICES = {"default": lambda r: r.of(r.default_us), "tuned": lambda r: r.of(r.tuned_us), "learned": lambda r: r.of(r.learned_us)}
GOALS = {"default": 1.15, "tuned": 1.05, "learned": 1.10}  # of the geometric mean
WORST_GOAL = 1.3


@dataclass(frozen=True)
class Settings:
    """What all cells of one table have in common."""

    build: str  # the digests of what is preloaded
    mpi: str
    processor: str
    processors: int
    quick: bool
    busy: bool
    table: str  # the digest of the tuning table; empty: none
    learning: float  # seconds
    cache: int
    rate: int  # of emulated nodes
    delay: int


Stored = dict[str, str]  # a line of regret.csv
SETTINGS = [field.name for field in fields(Settings)]
PLACE = ["ranks", "nodes", "heap", "call", "bytes", "mode"]  # of a cell
STORED = [*SETTINGS, "commit", "on", "command", *(field.name for field in fields(Regret))]


def part_of(command: str) -> Stored:
    """Returns what regret.csv says about a part: how, when and from which commit it was measured."""
    return {"commit": commit(), "on": time.strftime("%Y-%m-%d"), "command": command}


def stored(settings: Settings, part: Stored, cell: Regret) -> Stored:
    values = asdict(settings) | part | asdict(cell)
    return {name: "" if values[name] is None else str(values[name]) for name in STORED}


def cell_of(line: Stored) -> Regret:
    figures = [float(line[name]) if line[name] else None for name in ("best_us", "default_us", "tuned_us", "learned_us")]
    return Regret(int(line["ranks"]), int(line["nodes"]), line["heap"] == "True", line["call"], int(line["bytes"]), line["mode"], line["best"], *figures)


def lines_in(file: Path) -> list[Stored]:
    """Returns what was measured so far."""
    if not file.exists():
        return []
    with file.open(newline="") as text:
        reader = csv.DictReader(text)
        if reader.fieldnames != STORED:
            raise CopseError(f"{file} has other columns than the cells of this version", "move it away, or choose another: --output FOLDER")
        return list(reader)


def keep(file: Path, new: Iterable[Stored]) -> None:
    """Puts cells into the file. They replace those of the same place and settings."""
    lines = {tuple(line[name] for name in (*SETTINGS, *PLACE)): line for line in (*lines_in(file), *new)}
    write_csv(file, STORED, lines.values())


def alike(lines: Iterable[Stored], settings: Settings) -> list[Stored]:
    """Returns the cells that were measured with these settings, in the order of a table."""
    wanted = {name: str(value) for name, value in asdict(settings).items()}
    found = [line for line in lines if all(line[name] == value for name, value in wanted.items())]
    calls = list(contest.COLLECTIVES)
    return sorted(found, key=lambda line: (int(line["nodes"]), int(line["ranks"]), line["heap"], calls.index(line["call"]), int(line["bytes"]), line["mode"]))


def measure(side: bench.Side, ranks: int, spots: list[contest.Spot], modes: tuple[str, ...], quick: bool, table: Path | None,
            learning: float, say: Callable[[str], None], cache: int = 0, patience: quiet.Patience | None = None, machine: str = "") -> list[Regret]:  # fmt: skip
    """Finds the regret of all cells. `table`: a tuning table to compare, too. `learning`: seconds that learning gets for each cell; 0: it
    is not compared. `machine`: the file of this machine, on which ways are priced; without it, ways are priced on a recorded one."""
    def contest_of(modes: tuple[str, ...]) -> contest.Contest:
        return contest.Contest(side, ranks, spots, modes, contest.Journal(None, {}), say, cache=cache, patience=patience, machine=machine)

    contests = contest_of(modes)
    most_ways = contest.MOST_WAYS if quick else MOST_WAYS
    contests.race(contest.QUICK if quick else contest.WHOLE, with_mpi=side.cluster is not None, most_ways=most_ways, far=contest.FAR_BY_PRICE)
    final, tuned, learned = contest.Times(), contest.Times(), contest.Times()
    winners = {mode: {spot: contests.winner([(spot, mode)]) for spot in spots} for mode in modes}
    for _ in range(2 if quick else FINAL.launches):
        for mode in modes:
            only = contest_of((mode,))
            only.confirm(winners[mode], 1, FINAL.batches, FINAL.seconds)
            final.merge(only.times)
            if table is not None:
                tuned.merge(only.launch("tuned", only.defaults, FINAL.batches, FINAL.seconds, COPSE_TUNING=str(table)))
    if learning:
        say(f"{contests.name}: learning")
        learned = _learned(contests, learning)
    result = []
    for spot in spots:
        for mode in modes:
            cell = (spot, mode)
            if cell not in final.us or cell not in contests.times.us:  # what was not raced has no best way
                continue
            winner = winners[mode][spot]
            times_of = {str(winner) or "default": final.of(cell, winner), "default": final.of(cell, contest.DEFAULT), "the table": tuned.of(cell, contest.DEFAULT)}
            best = min(times_of, key=times_of.get)
            others = [None if math.isinf(us := times.of(cell, contest.DEFAULT)) else us for times in (tuned, learned)]
            result.append(Regret(ranks, contests.nodes, contests.heap, spot.call, spot.bytes, mode, best, times_of[best], times_of["default"], *others))
    return result


def _learned(contests: contest.Contest, seconds: float) -> contest.Times:
    """Returns the last quarter of the batches of cells that have run for so long. Each mode of a call has a launch of its own, which must
    end in time (bench.LAUNCH_TIMEOUT)."""
    batches = max(LEARN_BATCHES, math.ceil(seconds / LEARN_SECONDS))
    times = contest.Times()
    for spot in contests.spots:
        for mode in contests.modes:
            alone = replace(contests, spots=[spot], modes=(mode,), times=contest.Times())
            times.merge(alone.launch(f"learning {spot.call} {spot.bytes} {mode}", alone.defaults, batches, seconds / batches, COPSE_LEARN="1"))
    last = contest.Times()
    for cell, ways in times.us.items():
        for way, us in ways.items():
            for each in us[-batches // 4 :]:
                last.add(way, cell, each)
    return last


def show(console: Console, regrets: list[Regret]) -> None:
    columns = {name: value for name, value in CHOICES.items() if any(value(r) is not None for r in regrets)}
    table = Table("ranks", "heap", "call", "bytes", "mode", "fastest", "us", *columns)
    for r in sorted(regrets, key=lambda r: -r.of(r.default_us)):
        figures = [f"{value(r):.2f}" if value(r) is not None else "" for value in columns.values()]
        table.add_row(str(r.ranks), "yes" if r.heap else "no", r.call, size_text(r.bytes), r.mode, r.best, f"{r.best_us:.2f}", *figures)
    console.print(table)
    for s in summaries(regrets):
        where = f"{s.ranks} ranks, {'with' if s.heap else 'without'} the shared heap"
        console.print(f"regret, {s.choice}, {where}: mean {s.mean:.3f} (goal: {GOALS[s.choice]:.2f}), worst {s.worst:.2f}, {s.cells} cells", highlight=False)


@dataclass(frozen=True)
class Summary:
    """The regret of one choice in one situation."""

    nodes: int
    ranks: int
    heap: bool
    choice: str
    mean: float
    worst: float
    where: Regret  # the worst
    cells: int


def summaries(regrets: list[Regret]) -> list[Summary]:
    result = []
    for nodes, ranks, heap in dict.fromkeys((r.nodes, r.ranks, r.heap) for r in regrets):
        among = [r for r in regrets if (r.nodes, r.ranks, r.heap) == (nodes, ranks, heap)]
        for choice, value in CHOICES.items():
            if found := [(value(r), r) for r in among if value(r) is not None]:
                worst, where = max(found, key=lambda pair: pair[0])
                mean = statistics.geometric_mean([regret for regret, _ in found])
                result.append(Summary(nodes, ranks, heap, choice, mean, worst, where, len(found)))
    return result


def section(lines: list[Stored], part: Stored, mpi: str, about: str) -> str:
    """Returns the text for docs/measurements.md. `part` is the last one, and `about` what else there is to say."""
    others = dict.fromkeys(f"`{line['command']}` on {line['on']}{line['commit']}" for line in lines if any(line[name] != value for name, value in part.items()))
    parts = f" Parts of it were measured by {'; '.join(others)}." if others else ""
    text = [f"{origin(part['command'])} {mpi}.{parts}{about}", ""]
    text += [line_of(["ranks", "", "", "mean", "its goal", f"worst (goal: {WORST_GOAL})", "cells"]), "| ---: | --- | --- | ---: | ---: | ---: | ---: |"]
    for s in summaries([cell_of(line) for line in lines]):
        ranks = f"{s.ranks} on {s.nodes} nodes" if s.nodes > 1 else str(s.ranks)
        worst = f"{s.worst:.2f} ({' '.join(filter(None, (s.where.call, size_text(s.where.bytes), s.where.mode)))})"
        text.append(line_of([ranks, f"{'with' if s.heap else 'without'} the heap", s.choice, f"{s.mean:.3f}", f"{GOALS[s.choice]:.2f}", worst, str(s.cells)]))
    return "\n".join(text)


def require_table(table: Path) -> None:
    """Refuses a tuning table that ranks would refuse: they would pass every call on, and the bare MPI would be measured."""
    if not table.exists():
        raise CopseError(f"there is no {table}", "run: copse tune")
    native.query("explain", "broadcast", "8", "-n", "2", environment={**variables.without(), "COPSE_TUNING": str(table.absolute())})


def spots_of(asked: Asked) -> list[contest.Spot]:
    """Returns what the options of `copse bench` ask for. By default that is everything."""
    every = asked.operations == "all" or not asked.gives("operations")
    calls = tuple(contest.COLLECTIVES) if every else asked.words("operations", bench.OPERATIONS, "operation")
    return contest.spots_of(calls, asked.sizes_or(SIZES))


def missing(known: Iterable[Regret], side: bench.Side, ranks: int, spots: list[contest.Spot], modes: tuple[str, ...]) -> list[contest.Spot]:
    """Returns the spots of which a mode is not known. A barrier has only one."""
    there = {(cell.call, cell.bytes, cell.mode) for cell in known if (cell.ranks, cell.heap) == (ranks, run.HEAP in side.preload)}

    def is_known(spot: contest.Spot) -> bool:
        having = [(spot.call, spot.bytes, mode) in there for mode in (bench.MODES if spot.call == "barrier" else modes)]
        return any(having) if spot.call == "barrier" else all(having)

    return [spot for spot in spots if not is_known(spot)]


def regret_command(asked: Asked, table: Path | None, cluster: Cluster | None, patience: quiet.Patience | None) -> None:
    """`asked` has the options of `copse bench`."""
    contest.refuse_variables()
    flavour = asked.found()[0]
    sides = contest.sides_of(flavour, asked.heap, cluster)
    spots, modes = spots_of(asked), asked.words("mode", bench.MODES, "mode")
    counts, quick, learning, into = asked.counts(), asked.quick, asked.learning, asked.into
    if table is not None:
        require_table(table)
    build = " ".join(contest.libraries_of(flavour).values())
    settings = Settings(build, flavour.title, processor_name(), len(os.sched_getaffinity(0)), quick, patience is None,
                        files.digest(table.read_bytes()) if table else "", learning, bench.cache_to_miss(asked.cache), *((cluster.rate, cluster.delay) if cluster else (0, 0)))  # fmt: skip
    store, part = asked.output / "regret.csv", part_of(readme.command_line(into or Path("README.md")))
    lines_in(store)  # refuses another kind of file before anything is measured
    nodes, plain = (cluster.nodes if cluster else 1), quick or cluster is not None
    machine = "" if plain else contest.measured_machine(store, contest.Journal(None, {}), asked.progress.print)
    with asked.progress.status("") as status:
        for side in sides:
            for count in counts:
                known = [cell for cell in map(cell_of, alike(lines_in(store), settings)) if cell.nodes == nodes] if asked.resume else []
                left = missing(known, side, count, spots, modes)
                begin = time.monotonic()
                cells = measure(side, count, left, modes, quick, table and table.absolute(), learning, status.update, asked.cache, patience, machine) if left else []
                keep(store, [stored(settings, part, cell) for cell in cells])
                asked.progress.print(f"{side.name}, {count} ranks: {len(cells)} cells in {time.monotonic() - begin:.0f} s", highlight=False)
    lines = alike(lines_in(store), settings)
    chosen = {(spot.call, spot.bytes) for spot in spots}
    cells = [cell for cell in map(cell_of, lines) if (cell.call, cell.bytes) in chosen and cell.nodes == nodes and cell.ranks in counts and cell.mode in modes]
    show(Console(width=None if sys.stdout.isatty() else 200), [cell for cell in cells if asked.heap or not cell.heap])
    if into is not None:
        about = readme.about_table(table) if table else ""
        readme.write(into.parent / readme.CELLS, section(lines, part, flavour.title, about), "regret")
