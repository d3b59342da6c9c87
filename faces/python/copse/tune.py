"""`copse tune`: makes a tuning table for this machine and one MPI.

Every way that could run a call is raced against the default and against the MPI's own collective (contest.py). The table has a row
where another way is faster by more than noise, and none elsewhere. The row also holds for sizes and numbers of ranks near those that
were measured, up to the geometric mean with the next ones. Below and above all measured sizes, it holds for up to a factor of 4, and down
to 0 bytes if the smallest of these sizes travels in a line. A row is for all forms of a call, such as allgather and allgatherv. The plain one
is raced; the others are measured once with the winner, so that a row that slows one of them down is left out.
"""

import math
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from . import bench, contest, files, flavours, native, paths, quiet
from .bench_report import size_text
from .errors import CopseError

SIZES = "8,512,4K,32K,256K,1M"
QUICK_SIZES = "4K,64K,1M"
GAIN = 1.04  # a way that is faster by less than this gets no row
LOSS = 0.93  # a way that makes another form of the call slower than this gets no row
QUICK_WAYS = 5
AROUND = 4  # a row holds for sizes that are smaller or larger than all measured ones by at most this factor
LINE = 120  # bytes that travel in a signal's own line; longer messages go in other ways
MOST_RANKS = 64  # unless the user asks for more: the table's rows hold for up to twice as many
CONFIRMING = {True: (2, 2, 0.002), False: (3, 3, 0.005)}  # if quick or not: launches, batches of each, seconds of a batch


@dataclass(frozen=True)
class Won:
    """A way that is faster than the default, in one situation."""

    spot: contest.Spot
    way: contest.Way
    gain: float  # geometric mean over the modes


def gain_of(race: contest.Contest, spot: contest.Spot, way: contest.Way) -> float:
    """Returns how many times faster than the default a way is, in the mean over the modes; 1 if that was not measured."""
    gains = [race.times.of(cell, contest.DEFAULT) / race.times.of(cell, way) for cell in race.cells(spot)]
    return math.prod(gains) ** (1 / len(gains)) if gains else 1


def won_in(race: contest.Contest) -> list[Won]:
    """Returns where another way than the default is clearly faster, by the times that the race holds."""
    result = []
    for spot in race.spots:
        way = race.winner(race.cells(spot))
        if way == contest.DEFAULT or (gain := gain_of(race, spot, way)) < GAIN:
            continue
        if all(gain_of(race, form, way) >= LOSS for form in spot.followers(way)):
            result.append(Won(spot, way, gain))
    return result


def tune_for(race: contest.Contest, quick: bool) -> None:
    """Races all ways, and measures the winners once more, with all calls that would follow their rows. Afterwards the race holds that."""
    race.race(contest.QUICK if quick else contest.WHOLE, with_mpi=True, most_ways=QUICK_WAYS if quick else contest.MOST_WAYS)
    winners = {spot: race.winner(race.cells(spot)) for spot in race.spots}
    race.confirm({form: way for spot, way in winners.items() for form in spot.followers(way)}, *CONFIRMING[quick])


def ranges(values: list[int], first: int, last: int | None, split: int = 0) -> dict[int, list[int | None]]:
    """Returns, for each value, the range up to the geometric means with its neighbours. Where `split` lies between two neighbours, the first
    range ends there. All ranges together go from first to last."""
    result: dict[int, list[int | None]] = {}
    begin = first
    for value, after in zip(values, [*values[1:], None], strict=True):
        end = last if after is None else split if value <= split < after else math.isqrt(value * after)
        result[value] = [begin, end]
        begin = 0 if end is None else end + 1
    return result


def rank_counts(processors: int, quick: bool) -> list[int]:
    """Returns the numbers of ranks to measure, unless the user says: 2, 8, 32, ..., all processors, and four times as many. Leaves out
    what is above MOST_RANKS."""
    most = min(max(2, processors), MOST_RANKS)
    return [most] if quick else [*(n for n in (2 * 4**i for i in range(8)) if n < most), most, *([4 * most] if 4 * most <= MOST_RANKS else [])]


def bounds_of(sizes: list[int]) -> tuple[int, int]:
    """Returns the least and the largest size for which rows may hold, if these sizes were measured, in ascending order."""
    return 0 if sizes[0] <= LINE else max(LINE + 1, sizes[0] // AROUND), AROUND * sizes[-1]


def rows_of(race: contest.Contest, sizes: list[int], ranks: list[int | None], turns: bool) -> list[dict]:
    bytes_of = ranges(sizes, *bounds_of(sizes), split=LINE)
    rows: list[dict] = []
    for won in won_in(race):
        around = (0, None) if won.spot.call == "barrier" else tuple(bytes_of[won.spot.bytes])
        row = contest.row_of(won.spot, won.way, around)
        row |= {"ranks": ranks, "reach": race.reach, "turns": turns, "nodes": False}
        row["because"] = f"{won.gain:.2f} times as fast as the default at {size_text(won.spot.bytes)}"
        rows.append(row)
    return rows


def tune_command(
    mpi: Annotated[str, typer.Option(help=f"the MPI that the table is for: {', '.join(flavours.NAMES)}")] = "mpich",
    ranks: Annotated[str, typer.Option(help="numbers of ranks; by default 2, 8, 32, ..., as many as there are processors, and four times as many, up to 64")] = "",
    calls: Annotated[str, typer.Option(help=f"separated by commas, from {', '.join(contest.PLAIN.values())}; or all")] = "all",
    sizes: Annotated[str, typer.Option(help=f"bytes of a message, or of a block (K and M allowed); by default {SIZES}")] = "",
    heap: Annotated[bool, typer.Option(help="tune for the shared heap, too")] = True,
    quick: Annotated[bool, typer.Option("--quick", help="in under half a minute: fewer sizes and ways, and no more ranks than processors")] = False,
    patience: Annotated[float, typer.Option(min=0, help="seconds to wait, in all, while others use the processors")] = 60,
    busy: Annotated[bool, typer.Option("--busy", help="race although others use the processors")] = False,
    output: Annotated[Path, typer.Option(help="the table; use it by COPSE_TUNING=FILE")] = paths.RESULTS / "tuning.json",
) -> None:
    """Race all algorithms on this machine, and write a tuning table. If interrupted, the same command goes on where it was."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    files.require_place(output, "copse-tuning/", "a tuning table")
    contest.refuse_variables()
    flavour = flavours.find(mpi)
    sides = contest.sides_of(flavour, heap)
    processors = len(os.sched_getaffinity(0))
    counts = sorted(set(bench.chosen_numbers(ranks, "number of ranks", 1))) if ranks else rank_counts(processors, quick)
    if min(counts) < 2:
        raise CopseError("one rank has nothing to choose", "use e.g. --ranks 2,8")
    lengths = sorted(set(bench.chosen_numbers(sizes or (QUICK_SIZES if quick else SIZES), "size", 8, suffixes=True)))
    spots = contest.spots_of(contest.PLAIN.values() if calls == "all" else bench.chosen_words(calls, tuple(contest.PLAIN.values()), "call"), lengths)
    about = native.query("info")
    kind, libraries = about["kind"], contest.libraries_of(flavour)
    head = {"copse": about["version"], "machine": kind, "processors": sorted(os.sched_getaffinity(0)), "mpi": flavour.title,
            "ranks": counts, "calls": calls, "sizes": lengths, "quick": quick, "libraries": libraries}  # fmt: skip
    journal = contest.Journal(output.with_name(output.name + ".unfinished"), head)
    progress = Console(stderr=True)
    waiting = None if busy else quiet.Patience(patience, progress.print)
    begin, resumed = time.monotonic(), bool(journal.known)
    machine = "" if quick else contest.measured_machine(output, journal, progress.print)
    rows: list[dict] = []
    with progress.status("") as status:
        for side in sides:
            for count in counts:
                alike = sorted(n for n in counts if (n > processors) == (count > processors))
                race = contest.Contest(side, count, spots, ("warm", "cold"), journal, status.update, patience=waiting, machine=machine)
                tune_for(race, quick)
                rows += rows_of(race, lengths, ranges(alike, max(2, alike[0] // 2), 2 * alike[-1])[count], count > processors)
    seconds = round(time.monotonic() - begin)
    made: dict[str, object] = {"by": f"copse tune{' --quick' if quick else ''}", "version": about["version"], "on": time.strftime("%Y-%m-%d"), "mpi": flavour.title}
    if not resumed:
        made["seconds"] = seconds
    contest.write_table(output, rows, machine=kind, mpi=flavour.family.name, made=made)
    journal.end()
    for row in rows:
        cut = f" in fragments of {size_text(row['fragment'])}" if 'fragment' in row else ""
        progress.print(f"{row['collective']} {row['bytes']} on {row['ranks']} ranks, {row['reach']}: {row['run']}{cut}, {row['because']}", highlight=False)
    rest = " since it was resumed" if resumed else ""
    progress.print(f"{len(rows)} rows in {seconds} s{rest}: {output}", highlight=False, soft_wrap=True)
    progress.print(f"to use them: COPSE_TUNING={output} copse run mpirun ...", highlight=False, soft_wrap=True)
