"""`copse bench`: measures the installed MPIs, bare and with Copse, over the same grid of calls and sizes.

A side is one MPI: bare (a peer), with Copse preloaded, or with Copse and the shared heap. With tuning tables, or with time to learn, there
is a side for each way to choose: by Copse's rules alone, after learning, and by a table. All sides of a comparison run
the same program with the same launcher options and number of ranks. The launches alternate between the sides (A B C,
C B A, ...), so that a disturbance of the machine affects all of them. A side's figures for a cell (call, size, mode) are
the minimum and the median over the batches of all its launches. The ratio is the best peer's figure over Copse's. If it is
above 1, Copse is faster than every MPI in the comparison. bench_report.py reports the figures,
and bench_options.py has the command.

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
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache
from pathlib import Path

from . import flavours, native, paths, quiet, run, variables
from .bench_report import PROGRAM_TITLES, Sample, of_one_state, place
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
    """Returns the batches that count. A cell of a side may have none. With --busy, batches count in whatever state the machine was."""
    samples = []
    flag_ns = usual_flag(sides[0], ranks) if program == "own" and not sides[0].cluster and not patience.takes_all else 0
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


def until_failure(parts: Iterable[list[Sample]]) -> tuple[list[Sample], CopseError | None]:
    """Returns what all parts have measured. If one fails, returns what those before it have measured, and the failure."""
    samples: list[Sample] = []
    try:
        for part in parts:
            samples += part
    except CopseError as failure:
        return samples, failure
    return samples, None
