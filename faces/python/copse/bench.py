"""`copse bench`: measures the installed MPIs, bare and with Copse, over the same grid of calls and sizes.

A side is one MPI: bare (a peer), with Copse preloaded, or with Copse and the shared heap. With tuning tables, or with time to learn, there
is a side for each way to choose: by Copse's rules alone, after learning, and by a table. All sides of a comparison run
the same program with the same launcher options and number of ranks. The launches alternate between the sides (A B C,
C B A, ...), so that a disturbance of the machine affects all of them. A side's figures for a cell (call, size, mode) are
the minimum and the median over the batches of all its launches. The ratio is the best peer's figure over Copse's. If it is
above 1, Copse is faster than every MPI in the comparison. bench_report.py reports the figures.

The processors of a virtual machine may be near one another at one time and far apart at another. Our own program measures
that by a flag that goes from rank 0 to rank 1 and back. The state that was usual at the start is the reference, and batches
that were taken in another state do not count. Nor does a launch count while others take more than a twentieth of the processors
(quiet.py): it is taken again once they are quiet, and a cell that was always disturbed has no figure.
"""

import contextlib
import csv
import itertools
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from . import files, flavours, native, paths, plots, quiet, readme, run, variables
from .bench_report import (
    PROGRAM_TITLES,
    Sample,
    draw,
    geometric_means,
    of_one_state,
    place,
    show,
    spread,
    summarise,
    verdicts,
    write,
)
from .cluster import Cluster, launch
from .errors import CopseError

SOURCE = paths.ROOT / "bench" / "mpi_collectives.c"
OPERATIONS = tuple(re.findall(r'^    \{"(\w+)", \{', SOURCE.read_text(), re.MULTILINE))  # the names in its table
QUICK_OPERATIONS = ("barrier", "bcast", "reduce", "allreduce")
# The operations whose sizes have the same meaning in the Intel MPI Benchmarks. (Their reduce_scatter counts all blocks.)
IMB_OPERATIONS = (*QUICK_OPERATIONS, "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv")
MODES = ("warm", "cold")
SIZES = (8, 512, 4096, 32768, 262144, 1048576, 4194304)
PEERS = ("mpich", "impi", "openmpi")
UNPUBLISHED = {"COPSE_JOIN", "COPSE_QUIET"}  # these are set anyhow, or change nothing that --readme and --document publish
LAUNCH_TIMEOUT = 1800  # seconds
WATCH_SECONDS = 8  # to find the usual state of the machine
TRIES = 6  # of a launch that still has cells without a batch in the usual state
BATCH_SECONDS = 0.01  # of our own program, unless it is told


@dataclass(frozen=True)
class Grid:
    operations: tuple[str, ...]
    sizes: tuple[int, ...]  # bytes of a block: what one rank gives or gets; in all-to-alls, what one sends to another
    modes: tuple[str, ...]
    batches: int  # in one launch
    launches: int  # of each side
    cache: int = 0  # MiB that the rings of cold calls must exceed; 0 is what the machine says
    nodes: int = 1  # emulated
    rate: int = 0  # Mbit/s that a node may send; 0 is no limit
    delay: int = 0  # us that a message between nodes takes longer


@dataclass(frozen=True)
class Choice:
    """How Copse chooses what makes a call."""

    name: str = ""  # a word; empty: as it does by default
    variables: tuple[tuple[str, str], ...] = ()
    seconds: float = 0  # that each cell runs; its last quarter counts, when Copse has learned


@dataclass(frozen=True)
class Side:
    flavour: flavours.Flavour
    preload: tuple[str, ...] = ()  # file names in build/lib; empty: the bare MPI
    cluster: Cluster | None = None  # the emulated nodes on which it runs; None: this machine
    _: KW_ONLY
    hierarchical: bool = False  # over nodes, the MPI is told to use ways that know of them
    seconds: int = LAUNCH_TIMEOUT  # after which a launch has failed
    choice: Choice = Choice()

    @property
    def peer(self) -> bool:
        return not self.preload

    @property
    def name(self) -> str:
        if self.peer:
            return self.flavour.name + (" hierarchical" if self.hierarchical else "")
        return f"{self.flavour.name}+copse{'+heap' if run.HEAP in self.preload else ''} {self.choice.name}".strip()

    def preloaded(self) -> str:
        """Returns LD_PRELOAD for the ranks, or an empty text."""
        return run.preload_value(self.preload, None)

    def start(self, ranks: int, program: list[str], **ours: str) -> str:
        """Runs `program` to its end and returns what it printed. `ours` are variables for Copse, which makes all calls unless these
        say something else."""
        ours = {"COPSE_JOIN": "1", **dict(self.choice.variables), **ours}
        variables = {"LD_PRELOAD": preloaded, **ours} if (preloaded := self.preloaded()) else {}
        pinned = ranks <= len(os.sched_getaffinity(0))
        options = self.flavour.family.hierarchical if self.hierarchical else ()
        command, environment = launch(self.flavour, ranks, program, self.cluster, variables, options, pinned=pinned)
        job = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            printed, complaints = job.communicate(timeout=self.seconds)
        except BaseException as stopped:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
            if not isinstance(stopped, subprocess.TimeoutExpired):
                raise
            raise CopseError(f"{self.name} did not end within {self.seconds} s", f"try: {' '.join(command)}") from None
        if job.returncode:
            last = [line for line in (complaints + printed).splitlines() if line.strip()][-3:]
            raise CopseError(
                f"{self.name} failed with exit code {job.returncode} ({' / '.join(last)})", f"try: {' '.join(command)}"
            )
        return printed


Reading = tuple[str, int, str, int, float, float]  # call, bytes, mode, batch, us of the call, ns of the flag or 0


def usual_flag(side: Side, ranks: int) -> float:
    """Returns the usual time (ns) of a flag from rank 0 to rank 1 and back; 0 if there are more ranks than processors."""
    printed = side.start(ranks, [str(side.flavour.program(SOURCE)), "--watch", str(WATCH_SECONDS)])
    return statistics.median(map(float, printed.split()))


def rows_of_own(side: Side, ranks: int, grid: Grid, *more: str) -> Iterator[dict[str, str]]:
    """Runs bench/mpi_collectives.c, compiled with the side's own mpicc when the source is newer, and returns what it prints of each batch.
    `more` are options of the program."""
    sizes = ",".join(map(str, grid.sizes))
    program = [str(side.flavour.program(SOURCE)), "--operations", ",".join(grid.operations), "--sizes", sizes, "--modes", ",".join(grid.modes)]
    program += ["--batches", str(grid.batches), "--seconds", str(BATCH_SECONDS), "--cache", str(cache_to_miss(grid.cache)), *more]
    return csv.DictReader(line for line in side.start(ranks, program).splitlines() if not line.startswith("#"))


def measure_own(side: Side, ranks: int, grid: Grid, flag_ns: float = 0) -> Iterator[Reading]:
    """Runs the repository's own program. Of a side that learns, the last quarter of each cell's batches counts."""
    if learning := side.choice.seconds > 0:
        grid = replace(grid, batches=max(4 * grid.batches, math.ceil(side.choice.seconds / BATCH_SECONDS)))
        flag_ns = 0  # no batch is repeated; there are enough in every state
    rows = rows_of_own(side, ranks, grid, "--flag-ns", str(flag_ns))
    for row in last_quarters(rows) if learning else rows:
        yield row["call"], int(row["bytes"]), row["mode"], int(row["batch"]), float(row["us"]), float(row["flag_ns"])


def last_quarters(rows: Iterable[dict[str, str]]) -> Iterator[dict[str, str]]:
    """Yields the last quarter of the batches of each cell."""
    for _, of_cell in itertools.groupby(rows, key=lambda row: (row["call"], row["bytes"], row["mode"])):
        batches = [*of_cell]
        yield from batches[len(batches) * 3 // 4 :]


@cache
def caches() -> int:
    """Returns the bytes of all second and third caches of the processors that may be used, or 32 MiB if they are not known."""
    machine = native.query("info", environment=variables.without())["machine"]
    return sum(machine["counts"][level] * machine["cache_bytes"].get(level, 0) for level in ("l2", "l3")) or 32 << 20


def cache_to_miss(asked: int) -> int:
    """Returns the MiB of cache that cold calls must miss: as many as were asked for, or all if that is 0."""
    return asked or caches() >> 20


def measure_imb(side: Side, ranks: int, grid: Grid, flag_ns: float = 0) -> Iterator[Reading]:
    """Runs IMB-MPI1 as its makers built it, once for each mode, and takes the time of the slowest rank (t_max).

    IMB has no batches, so a launch counts as one. It gives up on a cell after two seconds ("time-out"); the side then has no
    figure for that cell.
    """
    off_cache = max(1, 2 * cache_to_miss(grid.cache) // ranks)
    for mode in grid.modes:
        calls = [call for call in grid.operations if call != "barrier" or mode == grid.modes[0]]
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
                yield call, 0 if call == "barrier" else int(words[0]), mode, 0, float(words[-2]), 0.0


PROGRAMS = {"own": measure_own, "imb": measure_imb}


@contextlib.contextmanager
def emulated(nodes: int, rate: int, delay: int = 0) -> Iterator[Cluster | None]:
    """Yields so many emulated nodes; None for one node, which is this machine."""
    if nodes == 1:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="copse-nodes-") as folder, Cluster(Path(folder), nodes, rate, delay) as cluster:
        yield cluster


Choices = Mapping[str, list[Choice]]  # by the flavour's name


def make_sides(found: list[flavours.Flavour], heap: bool, cluster: Cluster | None = None, choices: Choices | None = None) -> list[Side]:
    sides = []
    for flavour in found:
        sides.append(Side(flavour, (), cluster))
        preloads = [(flavour.preload.name,)] if flavour.preload.exists() else []
        if preloads and heap and (paths.PRELOAD_FOLDER / run.HEAP).exists():
            preloads.append((flavour.preload.name, run.HEAP))
        sides += [Side(flavour, preload, cluster, choice=choice) for preload in preloads for choice in (choices or {}).get(flavour.name, [Choice()])]
    return sides


def choices_of(found: list[flavours.Flavour], tables: list[Path], learning: float) -> Choices:
    """Returns the ways to choose that are compared, if there are tables or seconds in which to learn. Then nothing is learned in the others."""
    if not tables and not learning:
        return {}
    from .regret import require_table  # which needs this module

    of_mpi: dict[str, Path] = {}
    for table in tables:
        require_table(table)
        mpi = json.loads(table.read_text()).get("mpi", "")
        if mpi in of_mpi:
            raise CopseError(f"{of_mpi[mpi]} and {table} are tables for the same MPI", "leave out one of them")
        of_mpi[mpi] = table.absolute()
    result, used = {}, set()
    for flavour in found:
        choices = [Choice("untuned", (("COPSE_LEARN", "0"),))]
        if learning:
            choices.append(Choice("learning", (("COPSE_LEARN", "1"),), learning))
        table = of_mpi.get(flavour.family.name, of_mpi.get(""))
        if table:
            used.add(table)
            choices.append(Choice("tuned", (("COPSE_LEARN", "0"), ("COPSE_TUNING", str(table)))))
        elif tables:
            raise CopseError(f"no table is for {flavour.name}", f"run: copse tune --mpi {flavour.name} --output FILE, and add: --table FILE")
        result[flavour.name] = choices
    for mpi, table in of_mpi.items():
        if table not in used:
            raise CopseError(f"{table} is for {mpi or 'MPIs without a table of their own'}, which is not compared", "leave it out, or add its MPI: --against")
    return result


def take_launch(program: str, side: Side, ranks: int, grid: Grid, flag_ns: float, launch: int, patience: quiet.Patience) -> list[Sample]:
    """Runs a side once, and again while cells have no batch that counts. Returns all batches."""
    taken: list[Sample] = []
    for _ in range(TRIES):
        before = quiet.Times.now()
        readings = list(PROGRAMS[program](side, ranks, grid, flag_ns))
        others = quiet.Times.now().share_of_others_since(before)
        if not readings:
            raise CopseError(f"{side.name} printed no figures", "check the sizes and operations asked for")
        taken += [Sample(program, ranks, side.name, launch, *reading, others) for reading in readings]
        if of_one_state(taken, flag_ns, patience.limit)[1] or (others > patience.limit and not patience.wait()):
            break
    return taken


def parts_of(grid: Grid, side: Side) -> list[Grid]:
    """Returns what a side measures in a launch. Cells that learn take long, so then an operation has a launch of its own, which must end in
    time (LAUNCH_TIMEOUT)."""
    return [replace(grid, operations=(each,)) for each in grid.operations] if side.choice.seconds else [grid]


def take_samples(program: str, sides: list[Side], ranks: int, grid: Grid, say, patience: quiet.Patience) -> list[Sample]:
    """Returns the batches that count. A cell of a side may have none."""
    samples = []
    flag_ns = usual_flag(sides[0], ranks) if program == "own" and not sides[0].cluster else 0
    for launch in range(grid.launches):
        for side in sides if launch % 2 == 0 else sides[::-1]:
            say(f"{PROGRAM_TITLES[program]}, {ranks} ranks, launch {launch + 1} of {grid.launches}: {side.name}")
            for part in parts_of(grid, side):
                samples += take_launch(program, side, ranks, part, flag_ns, launch, patience)
    disturbed = [s for s in samples if s.others > patience.limit]
    kept, of_one = of_one_state(samples, flag_ns, patience.limit)
    if other_state := len(samples) - len(disturbed) - len(kept):
        say(f"left out: {other_state} of {len(samples)} batches, because a flag did not take about {flag_ns:.0f} ns")
    if disturbed:
        worst = max(s.others for s in disturbed)
        say(f"left out: {len(disturbed)} of {len(samples)} batches, because others took up to {worst:.0%} of the processors")
    cells = set(map(place, samples))
    if missing := len(cells - set(map(place, kept))):
        say(
            f"[yellow]{missing} of {len(cells)} figures are missing, because this machine was busy[/]: end what runs beside, wait longer "
            "(--patience 600), or take the figures as they are (--busy)"
        )
    elif not of_one:
        say(f"[yellow]some cells compare different states of this machine: try again[/] (a flag usually took {flag_ns:.0f} ns)")
    return kept


def chosen_words(text: str, known: tuple[str, ...], what: str) -> tuple[str, ...]:
    words = tuple(filter(None, text.split(",")))
    for word in words:
        if word not in known:
            raise CopseError(f"there is no {what} {word!r}", f"use, separated by commas: {', '.join(known)}")
    if not words:
        raise CopseError(f"no {what} given", f"use, separated by commas: {', '.join(known)}")
    return words


def chosen_flavours(text: str) -> list[flavours.Flavour]:
    if text != "all":
        return [flavours.find(name) for name in chosen_words(text, flavours.NAMES, "MPI flavour")]
    found = flavours.installed()
    if not found:
        raise CopseError("no MPI was found", f"{flavours.MISSING} (copse info lists the MPIs that it finds)")
    return found


def chosen_numbers(text: str, what: str, multiple: int, suffixes: bool = False) -> tuple[int, ...]:
    numbers = []
    for word in text.split(","):
        found = re.fullmatch(r"(\d+)([KM]?)", word)
        value = int(found[1]) * {"": 1, "K": 1 << 10, "M": 1 << 20}[found[2]] if found else 0
        if value <= 0 or value % multiple or (found[2] and not suffixes):
            raise CopseError(f"{word!r} is not a {what}", "use e.g. 8,4K,1M (multiples of 8)" if suffixes else "use e.g. 2,8")
        numbers.append(value)
    return tuple(numbers)


# What is measured instead if one of these options is given, and which other options that has.
INSTEAD = {
    "regret": {"operations", "sizes", "ranks", "mode", "cache", "against", "heap", "nodes", "rate", "delay", "patience", "busy", "quick", "table", "learning", "resume", "into"},
    "cluster": {"operations", "sizes", "mode", "cache", "against", "batches", "launches", "links", "shapes", "minutes", "document"},
    "overlap": {"sizes", "ranks", "against", "launches", "quick", "compute", "document"},
    "ft": {"ranks", "against", "heap", "launches", "patience", "busy", "quick"},
    "suite": {"upc", "sizes", "ranks", "launches", "patience", "busy"},
    "uoms": {"upc", "ranks", "patience", "busy", "nodes", "rate", "delay"},
    "upc": {"operations", "sizes", "ranks", "batches", "patience", "busy", "nodes", "rate", "delay"},
}
ONLY_WITH = {
    "resume": ("regret",), "compute": ("overlap",), "document": ("overlap", "cluster"), "suite": ("upc",), "uoms": ("upc",),
    "rate": ("nodes",), "delay": ("nodes",), "links": ("cluster",), "shapes": ("cluster",), "minutes": ("cluster",),
}  # fmt: skip


def is_given(context: typer.Context, name: str) -> bool:
    """Tells whether the user has given an option."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def refuse_idle_options(context: typer.Context) -> None:
    """Refuses options that would change nothing."""
    given = {name for name in context.params if is_given(context, name)}
    for name in given & set(ONLY_WITH):
        if not given & set(ONLY_WITH[name]):
            needed = " or ".join(f"--{other}" for other in ONLY_WITH[name])
            raise CopseError(f"--{name} is only for {needed}", f"add {needed}, or leave out --{name}")
    instead = next((name for name in INSTEAD if name in given), None)
    for name in sorted(given - {"output", instead}) if instead else ():
        if name not in INSTEAD[instead]:
            parameter = next(parameter for parameter in context.command.params if parameter.name == name)
            option = (parameter.opts if context.params[name] is not False else parameter.secondary_opts)[0]
            raise CopseError(f"{option} changes nothing with --{instead}", f"leave out {option}")


def until_failure(parts: Iterable[list[Sample]]) -> tuple[list[Sample], CopseError | None]:
    """Returns what all parts have measured. If one fails, returns what those before it have measured, and the failure."""
    samples: list[Sample] = []
    try:
        for part in parts:
            samples += part
    except CopseError as failure:
        return samples, failure
    return samples, None


def bench_command(
    context: typer.Context,
    operations: Annotated[
        str, typer.Option(help=f"separated by commas, from {', '.join(OPERATIONS)}; or all")
    ] = ",".join(QUICK_OPERATIONS),
    sizes: Annotated[
        str,
        typer.Option(help="bytes of a block (K and M allowed): what a rank gives or gets; in an alltoall, what it sends to each other rank"),
    ] = ",".join(map(str, SIZES)),
    ranks: Annotated[str, typer.Option(help="numbers of ranks; each is a separate comparison")] = "2,8",
    mode: Annotated[str, typer.Option(help="warm: always the same buffers; cold: each call takes the next buffer of a large ring")] = ",".join(MODES),
    cache: Annotated[
        int, typer.Option(min=0, help="MiB of cache that cold calls must miss; 0 is all second and third caches, which in a virtual machine may be far too much")
    ] = 0,
    against: Annotated[str, typer.Option(help="the MPIs to measure, bare and with Copse; all: those that are installed")] = "all" if paths.INSTALLED else ",".join(PEERS),
    imb: Annotated[
        bool | None,
        typer.Option(
            "--imb/--own",
            help="IMB-MPI1 (MPICH's ABI), or the repository's own program; by default IMB-MPI1 if it runs and has all "
            "operations, else the own program",
        ),
    ] = None,
    heap: Annotated[bool, typer.Option(help="measure the shared heap too")] = True,
    batches: Annotated[int, typer.Option(min=1, help="batches of each cell in a launch (own program)")] = 3,
    launches: Annotated[int, typer.Option(min=1, help="launches of each side, in turn")] = 3,
    nodes: Annotated[int, typer.Option(min=1, help="measure over so many emulated nodes, which share the ranks evenly (needs root or a user namespace)")] = 1,
    rate: Annotated[int, typer.Option(min=0, help="with --nodes: what a node may send, in Mbit/s; 0 is no limit")] = 0,
    delay: Annotated[int, typer.Option(min=0, max=1000000, help="with --nodes: by how many microseconds a message between nodes takes longer (in a checkout)")] = 0,
    patience: Annotated[float, typer.Option(min=0, help="seconds to wait, in all, while others use the processors; cells that were always disturbed get no figure")] = 60,
    busy: Annotated[bool, typer.Option("--busy", help="take figures although others use the processors")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="a quick look: one batch, one launch, and few sizes unless --sizes is given")] = False,
    output: Annotated[Path, typer.Option(help="folder for tables and plots")] = paths.RESULTS / "bench",
    regret: Annotated[bool, typer.Option("--regret", help="measure what Copse's choice costs instead: its time over that of the fastest way that could be forced")] = False,
    upc: Annotated[bool, typer.Option("--upc", help="measure UPC's synchronisation modes instead; --ranks are numbers of UPC threads (in a checkout)")] = False,
    suite: Annotated[bool, typer.Option("--suite", help="with --upc: measure the UPC libraries of the papers and OpenSHMEM side by side")] = False,
    uoms: Annotated[str | None, typer.Option("--uoms", metavar="OPTIONS", help="with --upc: run the operations of UOMS with these options of its own, and draw them: --uoms '-maxsize 65536'")] = None,
    ft: Annotated[str | None, typer.Option("--ft", metavar="CLASSES", help="measure the NAS kernel FT instead, of the classes S, W, A: --ft S,W (in a checkout)")] = None,
    table: Annotated[list[Path] | None, typer.Option(help="compare what this tuning table chooses, too; give one for each MPI")] = None,
    learning: Annotated[float, typer.Option(min=0, help="let each cell run for so many seconds with learning, and compare that, too")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="with --regret: leave out the cells that --output has, of the same build, MPI, table, --learning and --quick")] = False,
    overlap: Annotated[bool, typer.Option("--overlap", help="measure instead how much of an allreduce hides behind computation, with helpers and without")] = False,
    compute: Annotated[float, typer.Option(min=0, help="with --overlap: the most microseconds of computation in an iteration; shorter ones are measured, too")] = 50,
    document: Annotated[Path | None, typer.Option(help="with --overlap or --cluster: write the result between the marks of this document, docs/collective-processors.md or docs/cluster.md")] = None,
    cluster: Annotated[bool, typer.Option("--cluster", help="measure over emulated nodes instead, on several links and in several shapes, beside each MPI's own hierarchical settings; if interrupted, the same command goes on where it was")] = False,
    links: Annotated[str, typer.Option(help="with --cluster: what a node may send, in Mbit/s (0 is no limit), and after a colon by how many microseconds a message takes longer")] = "1000,10000:50,0",
    shapes: Annotated[str, typer.Option(help="with --cluster: nodes x ranks of each")] = "4x2,2x4",
    minutes: Annotated[float, typer.Option(min=0, help="with --cluster: stop after so many minutes, and go on next time; 0 is no limit")] = 0,
    into: Annotated[
        Path | None, typer.Option("--readme", help="write the result between the marks of this README.md and of the docs/measurements.md beside it (needs --own)")
    ] = None,
) -> None:
    """Measure MPIs side by side, bare and with Copse. Writes a table, results.json, CSV files and plots."""
    refuse_idle_options(context)
    files.require_folder(output)
    for page, name in ((into, "README.md"), (document, "docs/cluster.md" if cluster else "docs/collective-processors.md")):
        if page is not None and not page.is_file():
            raise CopseError(f"there is no {page}", f"give the {name} of a checkout")
        if page is not None:
            variables.refuse(UNPUBLISHED, "changes what is measured, and the text would not say so")
    progress = Console(stderr=True)
    # The programs on emulated nodes are no children of this one, so they would count as others.
    patient = quiet.Patience(0 if busy else patience, progress.print, limit=1 if busy or nodes > 1 else quiet.LIMIT)
    if nodes > 1 and (overlap or suite or ft is not None):
        raise CopseError("only the MPI's calls, UPC's modes and operations, and the regret are measured over emulated nodes", "leave out --nodes")
    if nodes > 1 and ranks == "2,8":
        ranks = str(2 * nodes)
    for number in (signal.SIGTERM, signal.SIGHUP):  # so that a running side, and emulated nodes, are ended too
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, lambda received, _: sys.exit(128 + received))
    if cluster:
        from .cluster_bench import SIZES as MORE_SIZES, cluster_command

        every = operations == "all" or not is_given(context, "operations")
        calls = OPERATIONS if every else chosen_words(operations, OPERATIONS, "operation")
        lengths = chosen_numbers(sizes, "size", 8, suffixes=True) if is_given(context, "sizes") else MORE_SIZES
        modes = chosen_words(mode, MODES, "mode") if is_given(context, "mode") else MODES[:1]
        grid = Grid(calls, lengths, modes, batches, launches if is_given(context, "launches") else 2, cache)
        return cluster_command(grid, chosen_flavours(against), links, shapes, minutes, output, document)
    if regret:
        from .regret import regret_command  # which needs this module

        if is_given(context, "against") and "," in against:
            raise CopseError("the regret is measured with one MPI at a time", f"use: --against {against.split(',')[0]}")
        if len(table or []) > 1:
            raise CopseError("the regret is measured with one table at a time", f"use: --table {table[0]}")
        with emulated(nodes, rate, delay) as here:
            return regret_command(
                operations, sizes, ranks, mode, against, heap, quick, table[0] if table else None, learning, output, into, here, cache,
                None if busy or nodes > 1 else patient, resume,
            )  # fmt: skip
    if overlap:
        from .overlap import overlap_command

        few = "8" if sizes == ",".join(map(str, SIZES)) else sizes
        counts = (2,) if ranks == "2,8" else chosen_numbers(ranks, "number of ranks", 1)
        bytes_of = chosen_numbers(few, "size", 8, suffixes=True)
        return overlap_command(chosen_flavours(against), counts, bytes_of, compute, 1 if quick else launches, output, document)
    if ft is not None:
        from .ft import CLASSES, ft_command

        counts = chosen_numbers(ranks, "number of threads", 1)
        return ft_command(chosen_words(ft, CLASSES, "class"), counts, chosen_flavours(against), heap, 1 if quick else launches, patient, output)
    if upc:
        from . import upc_bench, upc_suite, upc_uoms  # which need no MPI

        thread_counts = chosen_numbers(ranks, "number of threads", nodes)
        if suite:
            few = "16K,64K,1M" if sizes == ",".join(map(str, SIZES)) else sizes
            return upc_suite.suite_command(chosen_numbers(few, "size", 8, suffixes=True), thread_counts, launches, patient, output)
        if uoms is not None:
            with emulated(nodes, rate, delay) as here:
                return upc_uoms.uoms_command(uoms, thread_counts, patient, output, here)
        chosen = upc_bench.DEFAULT_OPERATIONS if operations == ",".join(QUICK_OPERATIONS) else chosen_words(operations, upc_bench.OPERATIONS, "operation")
        of_upc = upc_bench.SIZES if sizes == ",".join(map(str, SIZES)) else chosen_numbers(sizes, "size", 8, suffixes=True)
        with emulated(nodes, rate, delay) as here:
            return upc_bench.run(chosen, of_upc, thread_counts, batches, patient, output, here)
    if into is not None and nodes > 1:
        raise CopseError("the README's table is about one node", "leave out --nodes, or --readme")
    if into is not None and imb is not False:
        raise CopseError("the README's table compares all MPIs on one program", "add: --own")
    if quick:
        batches, launches = 1, 1
        sizes = "8,4K,1M" if sizes == ",".join(map(str, SIZES)) else sizes
    grid = Grid(
        OPERATIONS if operations == "all" else chosen_words(operations, OPERATIONS, "operation"),
        chosen_numbers(sizes, "size", 8, suffixes=True),
        chosen_words(mode, MODES, "mode"),
        batches,
        launches,
        cache,
        nodes,
        rate,
        delay,
    )
    rank_counts = chosen_numbers(ranks, "number of ranks", nodes)
    found = chosen_flavours(against)
    choices = choices_of(found, table or [], learning)
    if nodes > 1 or choices:
        if imb:
            raise CopseError("over emulated nodes, and with --table or --learning, only the repository's own program is measured", "use: --own")
        imb = False
    runs_imb = {f.name for f in found if f.family is not flavours.OPEN_MPI}
    if imb and len(runs_imb) < len(found):
        raise CopseError("IMB-MPI1 runs under MPICH's ABI only", f"add: --against {','.join(runs_imb) or 'mpich,impi'}")
    not_imb = [operation for operation in grid.operations if operation not in IMB_OPERATIONS]
    if imb and not_imb:
        raise CopseError(f"IMB-MPI1 has no {not_imb[0]} with sizes of that meaning", "use: --own")
    use_imb = runs_imb if imb or (imb is None and not not_imb and flavours.has_imb()) else set()
    plan = {"imb": [f for f in found if f.name in use_imb], "own": [f for f in found if f.name not in use_imb]}

    console = Console(width=None if sys.stdout.isatty() else 200)
    missing = sorted({f.preload.name for f in found if not f.preload.exists()})
    if missing:
        progress.print(f"[yellow]not built, so their MPIs only run bare: {', '.join(missing)}[/]")

    output.mkdir(parents=True, exist_ok=True)
    patient.wait()
    all_sides = make_sides(found, heap, None, choices)
    with emulated(nodes, rate, delay) as here:
        samples, failure = until_failure(
            take_samples(program, make_sides(members, heap, here, choices), count, grid, progress.print, patient)
            for program, members in plan.items() for count in (rank_counts if members else ())
        )  # fmt: skip
    if failure and not samples:
        raise failure
    if not samples:
        raise CopseError("nothing was measured, because this machine was busy all the time", "end what runs beside, or add: --patience 600, or --busy")
    rows = summarise(samples, all_sides)
    show(console, rows)
    written = write(output, grid, all_sides, samples, rows)
    if plots.can_draw():
        written += draw(rows, output)
    else:
        progress.print(f"[yellow]no plots: {plots.WITHOUT}; {plots.REMEDY}[/]", soft_wrap=True)
    if into is not None and failure is None:
        result = json.loads((output / "results.json").read_text()) | {"tables": list(map(str, table or [])), "learning": learning}
        command = readme.command_line(into)
        readme.write(into, readme.glance(rows, result, command))
        readme.write(into.parent / readme.CELLS, readme.section(rows, result, command))
    console.print("written: " + ", ".join(str(file) for file in written), soft_wrap=True)
    if (others := max(s.others for s in samples)) > quiet.LIMIT:
        console.print(f"[yellow]taken on a busy machine: others had up to {others:.0%} of the processors[/]", soft_wrap=True)
    if line := spread(rows):
        console.print(line, soft_wrap=True)
    for line in verdicts(geometric_means(rows)):
        console.print(line, soft_wrap=True, highlight=False)
    if failure:
        raise failure
