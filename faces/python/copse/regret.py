"""`copse bench --regret`: what the default choice costs. The regret of a cell is the time of the default over that of the fastest way
that Copse could be forced to. Over emulated nodes, the MPI's own collective is a way, too.

The fastest way is found first. Then it, the default and, if it is given, a table are measured anew, side by side, so that luck in the
race does not count as regret. The fastest of these has the regret 1, whatever it is. What is learned runs by itself, for longer, and is
compared with that.
"""

import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import bench, contest, files, native, quiet, readme, variables
from .bench_report import processor_name, size_text
from .cluster import Cluster
from .errors import CopseError

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
    for name, value in columns.items():
        for ranks, heap in dict.fromkeys((r.ranks, r.heap) for r in regrets):
            found = [value(r) for r in regrets if (r.ranks, r.heap) == (ranks, heap) and value(r) is not None]
            if found:
                where = f"{ranks} ranks, {'with' if heap else 'without'} the shared heap"
                console.print(f"regret, {name}, {where}: mean {statistics.geometric_mean(found):.3f}, worst {max(found):.2f}, {len(found)} cells", highlight=False)


def section(regrets: list[Regret], command: str, mpi: str) -> str:
    """Returns the text for docs/measurements.md."""
    lines = [f"Written by `{command}` on {time.strftime('%Y-%m-%d')}: {processor_name()}, {len(os.sched_getaffinity(0))} cores, {mpi}.", ""]
    lines += ["| ranks | | | mean | worst | cells |", "| ---: | --- | --- | ---: | ---: | ---: |"]
    for ranks, heap in dict.fromkeys((r.ranks, r.heap) for r in regrets):
        among = [r for r in regrets if (r.ranks, r.heap) == (ranks, heap)]
        for name, value in CHOICES.items():
            if found := [(value(r), r) for r in among if value(r) is not None]:
                worst, where = max(found, key=lambda pair: pair[0])
                lines.append(f"| {ranks} | {'with' if heap else 'without'} the heap | {name} | {statistics.geometric_mean([v for v, _ in found]):.3f} | "
                             f"{worst:.2f} ({where.call} {size_text(where.bytes)} {where.mode}) | {len(found)} |")  # fmt: skip
    return "\n".join(lines)


def require_table(table: Path) -> None:
    """Refuses a tuning table that ranks would refuse: they would pass every call on, and the bare MPI would be measured."""
    if not table.exists():
        raise CopseError(f"there is no {table}", "run: copse tune")
    native.query("explain", "broadcast", "8", "-n", "2", environment={**variables.without(), "COPSE_TUNING": str(table.absolute())})


def regret_command(operations: str, sizes: str, ranks: str, mode: str, against: str, heap: bool, quick: bool, table: Path | None,
                   learning: float, output: Path, into: Path | None, cluster: Cluster | None, cache: int,
                   patience: quiet.Patience | None) -> None:  # fmt: skip
    """The options are those of `copse bench`."""
    files.require_folder(output)
    contest.refuse_variables()
    flavour = bench.chosen_flavours(against)[0]
    sides = contest.sides_of(flavour, heap, cluster)
    calls = tuple(contest.COLLECTIVES) if operations in ("all", ",".join(bench.QUICK_OPERATIONS)) else bench.chosen_words(operations, bench.OPERATIONS, "operation")
    lengths = SIZES if sizes == ",".join(map(str, bench.SIZES)) else bench.chosen_numbers(sizes, "size", 8, suffixes=True)
    spots = contest.spots_of(calls, lengths)
    modes = bench.chosen_words(mode, bench.MODES, "mode")
    if table is not None:
        require_table(table)
    regrets: list[Regret] = []
    progress = Console(stderr=True)
    plain = quick or cluster is not None
    machine = "" if plain else contest.measured_machine(output / "regret.json", contest.Journal(None, {}), progress.print)
    with progress.status("") as status:
        for side in sides:
            for count in bench.chosen_numbers(ranks, "number of ranks", cluster.nodes if cluster else 1):
                regrets += measure(side, count, spots, modes, quick, table and table.absolute(), learning, status.update, cache, patience, machine)
    show(Console(width=None if sys.stdout.isatty() else 200), regrets)
    files.write(output / "regret.json", json.dumps([asdict(r) for r in regrets], indent=1) + "\n")
    if into is not None:
        text = section(regrets, readme.command_line(into), flavour.title)
        readme.write(into.parent / readme.CELLS, text, "regret")
