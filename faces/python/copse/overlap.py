"""`copse bench --overlap`: how much of an allreduce hides behind computation (CDCP V, Figure 5).

All sides compute on the same processors, and one processor is left free: for the helper, or for the MPI's own threads. The ranks
of an MPI are --ranks processes. Those of the C library are threads: as many as there are processors for them, and as many as an MPI
has. Each launch measures the ways of bench/overlap.c side by side, for computations from 0 to --compute microseconds. It counts by
the fastest rounds. What is shown is the least and the median over the launches.

- latency: what start and wait take if nothing is computed between them (V.B).
- overhead: what the calls add to an iteration with the longest computation. If that is long enough, this is the paper's lower
  bound.
- of the processor: what start and wait add there to the processor time of a rank. By the clock, ranks that take turns on a
  processor wait for one another, too.
- hidden: 1 - overhead / latency of start and wait, with no call between them. What both calls take themselves is not hidden: it is
  a part of the paper's overhead, because it "cannot be overlapped" (V.B). The share is negative if the calls add more than they
  take alone.
- to hide it: the shortest computation for which start and wait add no more than they ever do (V.C). What is more by 5 % of the
  latency, or by the scatter of the launches, counts as no more. "> 50" says that 50 us are not enough.
"""

import json
import os
import re
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import files, flavours, paths, readme
from .bench_report import processor_name, size_text
from .errors import CopseError
from .tables import built, completed, line_of, origin, require_served

SOURCE = paths.ROOT / "bench" / "overlap.c"
THREADS = "copse-overlap"  # its program for the C library, in a checkout
WAYS = ("blocking", "test", "wait")
CALLS, ROUNDS = 1000, 3  # of a launch
# The variables that give an MPI threads of its own, and the one that lists the processor of each rank's thread. Open MPI 5 has no
# such variable: btl_tcp_progress_thread is for TCP alone, and no release of it has opal_async_progress (open-mpi/ompi#13088).
OWN_THREADS = {"mpich": ({"MPIR_CVAR_ASYNC_PROGRESS": "1"}, "MPIR_CVAR_PROGRESS_THREAD_AFFINITY"),
               "impi": ({"I_MPI_ASYNC_PROGRESS": "1"}, "I_MPI_ASYNC_PROGRESS_PIN")}  # fmt: skip
LINE = re.compile(r"^(\w+) behind (\S+) us: (-?[\d.]+) us, ([\d.]+) us of the processor$", re.MULTILINE)
TIMEOUT = 300  # seconds of a launch
TRIES = 10  # of a launch of a bare MPI: with threads of its own, Intel MPI 2021.18 is killed now and then
MARGIN = 0.05  # of the latency
COLUMNS = ("latency", "overhead: blocking", "with tests", "wait only", "of the processor", "hidden", "to hide it")


@dataclass(frozen=True)
class Way:
    """A side: an MPI, bare or with Copse, or the C library."""

    title: str
    ranks: int
    flavour: flavours.Flavour | None = None  # None: the C library
    variables: dict[str, str] = field(default_factory=dict, hash=False)  # of an MPI's ranks
    pins: str = ""  # the variable that binds the MPI's own threads
    helpers: int = 0

    def command(self, arguments: list[str], **more: str) -> list[str]:
        """Returns the command that runs bench/overlap.c with these arguments, and more variables for an MPI's ranks."""
        if self.flavour is None:
            return [str(built(THREADS)), str(self.ranks), str(self.helpers), *arguments]
        *shared, free = map(str, sorted(os.sched_getaffinity(0)))
        pins = {self.pins: ",".join([free] * self.ranks)} if self.pins else {}
        program = [str(self.flavour.program(SOURCE)), *arguments]
        variables = {**self.variables, **pins, **more}
        command = self.flavour.command(self.ranks, program, crowded=self.ranks > len(shared), variables=variables)
        return ["taskset", "-c", ",".join(shared), *command]

    @property
    def is_bare(self) -> bool:
        return self.flavour is not None and "LD_PRELOAD" not in self.variables

    @property
    def environment(self) -> dict[str, str]:
        return self.flavour.environment() if self.flavour else dict(os.environ)

    @property
    def turns(self) -> int:
        """The number of ranks that share a processor."""
        return -(-self.ranks // (len(os.sched_getaffinity(0)) - 1))


def ways_of(flavour: flavours.Flavour, ranks: int) -> list[Way]:
    ways = [Way(flavour.name, ranks, flavour)]
    if own := OWN_THREADS.get(flavour.name):
        variables, pins = own
        ways.append(Way(f"{flavour.name}, its own thread", ranks, flavour, variables, pins))
    if flavour.preload.exists():
        copse = {"LD_PRELOAD": str(flavour.preload), "COPSE_JOIN": "1"}
        thread, helper = {**copse, "COPSE_PROGRESS": "thread"}, {**copse, "COPSE_COLLECTIVE_PROCESSORS": "1"}
        ways.append(Way(f"{flavour.name}+copse", ranks, flavour, copse))
        ways.append(Way(f"{flavour.name}+copse, COPSE_PROGRESS=thread", ranks, flavour, thread))
        ways.append(Way(f"{flavour.name}+copse, a helper", ranks, flavour, helper, helpers=1))
    return ways


def ways_of_threads(ranks: int) -> list[Way]:
    """Returns the sides of the C library with so many threads as ranks."""
    title = f"C library, {ranks} thread{'s' * (ranks > 1)}"
    return [Way(title, ranks), Way(f"{title}, a helper", ranks, helpers=1)]


def all_ways(found: list[flavours.Flavour], ranks: int) -> list[Way]:
    if ranks < 2:
        raise CopseError("an MPI's rank that is alone gets no helper", "use --ranks 2 or more")
    of_mpis = [way for flavour in found for way in ways_of(flavour, ranks)]
    counts = () if paths.INSTALLED else sorted({len(os.sched_getaffinity(0)) - 1, ranks})
    return [*of_mpis, *(way for count in counts for way in ways_of_threads(count))]


def sweep(compute: float) -> list[float]:
    """Returns the computations to measure, in microseconds: 0, 1, 2, 4, ... and the longest one."""
    times, time = [0.0], 1.0
    while time < compute:
        times.append(time)
        time *= 2
    return [*times, compute]


# What the calls of a launch add to an iteration, by their way and the computation: microseconds by the clock, and of the processor.
Added = dict[str, dict[float, tuple[float, float]]]


def launch(way: Way, size: int, times: list[float]) -> Added:
    command = way.command(list(map(str, (size, CALLS, ROUNDS, *times))))
    printed = completed(way.title, command, way.environment, TIMEOUT).stdout
    rounds: dict[tuple[str, float], list[tuple[float, float]]] = {}
    for name, time, clock, processor in LINE.findall(printed):
        rounds.setdefault((name, float(time)), []).append((float(clock), float(processor)))
    least = {key: tuple(map(min, zip(*pairs, strict=True))) for key, pairs in rounds.items()}

    def added(name: str, time: float) -> tuple[float, float]:
        (clock, processor), (idle, used) = least[name, time], least["none", time]
        # Without calls, ranks that share a processor do not compute in step. So what they use of it counts.
        return clock - (idle if way.turns == 1 else way.turns * used), processor - used

    try:
        return {name: {time: added(name, time) for time in times} for name in WAYS}
    except KeyError as missing:
        raise CopseError(f"{way.title} has printed no figures for {missing}", f"try: {' '.join(command)}") from None


def launch_again(way: Way, size: int, times: list[float]) -> tuple[Added, int]:
    """Launches a bare MPI until it does not fail. Returns also how often it has failed. Copse may not fail."""
    failures = 0
    while True:
        try:
            return launch(way, size, times), failures
        except CopseError:
            failures += 1
            if not way.is_bare or failures == TRIES:
                raise


def spread(values: list[float]) -> dict[str, float]:
    return {"least": min(values), "median": statistics.median(values)}


def time_to_hide(added: dict[float, list[float]]) -> tuple[float | None, float]:
    """Returns the shortest computation that hides all that can be hidden, and the longest one below it, which does not.

    `added` has what start and wait add in each launch, by computation. With no computation, that is their latency. The first result
    is None if computation changes nothing, and if only the longest one is enough: a longer one might hide more.
    """
    middle = {time: statistics.median(values) for time, values in added.items()}
    scatter = {time: statistics.median(abs(value - middle[time]) for value in values) for time, values in added.items()}
    best = min(middle, key=middle.__getitem__)
    enough = [time for time in middle if middle[time] - middle[best] <= MARGIN * abs(middle[0]) + scatter[time] + scatter[best]]
    if 0 in enough:
        return None, max(middle)
    first = min(enough)
    before = max(time for time in middle if time < first)
    return (None if first == max(middle) else first), before


def row_of(way: Way, launches: list[Added]) -> dict:
    times = list(launches[0]["wait"])
    longest = times[-1]

    def hidden(name: str) -> float | None:
        pairs = [(found[name][longest][0], found["wait"][0][0]) for found in launches]
        shares = [1 - overhead / latency for overhead, latency in pairs if latency > 0]
        return statistics.median(shares) if shares else None

    added = {time: [found["wait"][time][0] for found in launches] for time in times}
    enough, too_short = time_to_hide(added)
    return {
        "ranks": way.ranks,
        "helpers": way.helpers,
        "latency_us": spread(added[0]),
        "overhead_us": {name: spread([found[name][longest][0] for found in launches]) for name in WAYS},
        "processor_us": {name: spread([found[name][longest][1] for found in launches]) for name in WAYS},
        "hidden": {name: hidden(name) for name in WAYS},
        "to_hide_us": enough,
        "too_short_us": too_short,
        "added_us": {f"{time:g}": spread(values) for time, values in added.items()},
    }


def measure(ways: list[Way], size: int, times: list[float], launches: int, say) -> dict[str, dict]:
    for way in ways:
        if way.helpers and way.flavour:  # the C library's program looks for itself
            traced = way.command([str(size), "100", "1", "0"], COPSE_TRACE="1")
            require_served(way.title, traced, way.environment, TIMEOUT)
    found: dict[str, list[Added]] = {way.title: [] for way in ways}
    failed: dict[str, int] = dict.fromkeys(found, 0)
    for turn in range(launches):
        for way in ways:
            say(f"{way.title}, {size_text(size)}, {turn + 1} of {launches}")
            added, failures = launch_again(way, size, times)
            found[way.title].append(added)
            failed[way.title] += failures
    return {way.title: {**row_of(way, found[way.title]), "failed_launches": failed[way.title]} for way in ways}


def name_of(title: str, row: dict) -> str:
    failed = row["failed_launches"]
    return f"{title} ({failed} launch{'es' * (failed > 1)} failed)" if failed else title


def cells_of(row: dict) -> list[str]:
    """Returns the cells below COLUMNS: microseconds as least / median."""
    figures = [row["latency_us"], *(row["overhead_us"][name] for name in WAYS), row["processor_us"]["wait"]]
    hidden, enough = row["hidden"]["wait"], row["to_hide_us"]
    return [
        *(f"{figure['least']:.2f} / {figure['median']:.2f}" for figure in figures),
        "none" if hidden is None else f"{hidden:.0%}",
        f"> {row['too_short_us']:g}" if enough is None else f"{enough:g}",
    ]


def show(results: dict[int, dict], ranks: int, compute: float, console: Console) -> None:
    where = f"{ranks} ranks of an MPI on {len(os.sched_getaffinity(0)) - 1} processor(s) of {processor_name()}, one processor free"
    for size, rows in results.items():
        table = Table(title=f"allreduce of {size_text(size)} behind {compute:g} us of computation: us, least / median; {where}")
        for heading in ("", *COLUMNS):
            table.add_column(heading, justify="left" if not heading else "right")
        for title, row in rows.items():
            table.add_row(name_of(title, row), *cells_of(row))
        console.print(table)


def text_of(results: dict[int, dict], about: str) -> str:
    """Returns what a document says."""
    lines = [about, "", line_of(["bytes", "side", *COLUMNS]), line_of(["---"] * (2 + len(COLUMNS)))]
    lines += [line_of([str(size), name_of(title, row), *cells_of(row)]) for size, rows in results.items() for title, row in rows.items()]
    return "\n".join(lines)


def overlap_command(
    found: list[flavours.Flavour], ranks: tuple[int, ...], sizes: tuple[int, ...], compute: float, launches: int, output: Path,
    document: Path | None,
) -> None:  # fmt: skip
    if len(os.sched_getaffinity(0)) < 2:
        raise CopseError("there is only one processor here", "helpers need one of their own")
    if len(ranks) > 1:
        raise CopseError("overlap is measured with one number of ranks at a time", f"use: --ranks {ranks[0]}")
    if compute <= 0:
        raise CopseError("nothing hides behind no computation", "use e.g. --compute 50")
    progress, console = Console(stderr=True), Console(width=None if sys.stdout.isatty() else 200)
    ways = all_ways(found, ranks[0])
    if paths.INSTALLED:
        progress.print("[yellow]without the C library, whose program is for checkouts[/]")
    results = {size: measure(ways, size, sweep(compute), launches, progress.print) for size in sizes}
    show(results, ranks[0], compute, console)
    written = {"ranks": ranks[0], "compute_us": compute, "launches": launches, "results": results}
    files.write(output / "overlap.json", json.dumps(written, indent=1) + "\n")
    if document is not None:
        mpis = ", ".join(flavour.title for flavour in found)
        about = f"{origin(readme.command_line(document))} {mpis}: {ranks[0]} ranks. They share all processors but one. "
        about += f"Figures: us behind {compute:g} us of computation, least / median over {launches} launches."
        readme.write(document, text_of(results, about), "overlap")
    console.print(f"{output / 'overlap.json'}")
