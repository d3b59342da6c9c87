"""Which of all ways is the fastest? Ways are raced against one another in the benchmark's calls: all of them briefly, the best of them
again and longer, until few are left. `copse tune` makes a table of the winners. `copse bench --regret` compares them with the
default.

A launch of the benchmark runs one way for each call and size, by a tuning table made for that launch. So as many launches as a call
has ways race the ways of all calls and sizes at once. Calls about which no row of a table decides are forced, in launches of their own.
"""

import csv
import json
import math
import os
import statistics
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from . import bench, calibrate, files, flavours, native, paths, quiet, run, variables
from .cluster import Cluster
from .errors import CopseError

SCHEMA = "copse-tuning/1"
# The benchmark's calls but those among neighbours, and the collectives whose rows choose their algorithms.
COLLECTIVES = {"barrier": "barrier", "bcast": "broadcast", "reduce": "reduce", "allreduce": "allreduce", "gather": "gather", "gatherv": "gather",
               "scatter": "scatter", "scatterv": "scatter", "allgather": "allgather", "allgatherv": "allgather", "alltoall": "alltoall",
               "alltoallv": "alltoall", "alltoallw": "alltoall", "reduce_scatter_block": "reduce_scatter", "reduce_scatter": "reduce_scatter",
               "scan": "scan", "exscan": "exscan"}  # fmt: skip
# The first of each collective's calls. The others are forms of it, which follow the same rows.
PLAIN = {collective: next(call for call, its in COLLECTIVES.items() if its == collective) for collective in dict.fromkeys(COLLECTIVES.values())}
RAGGED = {"gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw"}  # no row leaves them to the MPI
UNTOLD = RAGGED - {"allgatherv"}  # two ranks know each size
ONE_WAY = {"gatherv", "scatterv"}  # on one node, they go one way and ask no table (docs/decisions/one-way.md)
MPI = "mpi"  # the MPI's own collective
FAR_BY_PRICE = 5  # times the cheapest price on a recorded machine: such ways are not raced
FAR_BY_OWN_PRICE = 3  # the same on a file of this machine, on which prices are surer
MOST_WAYS = 14  # of a call and size
PRICED_ON, CLUSTER_PRICED_ON = "epyc", "juropa"
CALIBRATING = 10  # seconds
PRICED_RANKS = 16  # of a node; the price of every way for more ranks takes minutes
# The races set these themselves, or they change nothing that is measured.
HARMLESS = {f"COPSE_{name}" for name in ("TUNING", "LEARN", "LEARNED", "JOIN", "QUIET")}


@dataclass(frozen=True)
class Way:
    run: str  # algorithm:carrier[:radix], or "mpi"
    fragment: int = 0  # bytes; 0: not cut, but for slots
    forced: bool = False  # by COPSE_ALGORITHM, for all sizes of a launch, and cut as Copse chooses; else by a row

    def __str__(self) -> str:
        return self.run + (f"/{self.fragment}" if self.fragment else "")


def way_of(row: Mapping) -> Way:
    """Returns the way that a row of `price` or `explain` is about."""
    radix = "" if row["radix"] == 2 else f":{row['radix']}"
    return Way(f"{row['algorithm']}:{row['carrier']}{radix}", row["fragment_bytes"])


DEFAULT = Way("")  # no row: what Copse chooses by itself


@dataclass(frozen=True)
class Spot:
    """A call of the benchmark and its size; the size of a barrier is 0."""

    call: str
    bytes: int

    @property
    def collective(self) -> str:
        return COLLECTIVES[self.call]

    @property
    def plain(self) -> "Spot":
        return Spot(PLAIN[self.collective], self.bytes)

    def followers(self, way: Way) -> list["Spot"]:
        """Returns this one and the other forms of its call that would run this way, too, if a row of a table says so."""
        others = RAGGED if way.run == MPI else ONE_WAY  # which such a row does not decide about
        alike = (call for call, its in COLLECTIVES.items() if its == self.collective and call not in others)
        return [self, *(Spot(call, self.bytes) for call in alike if call != self.call)]


Cell = tuple[Spot, str]  # in the mode warm or cold
Ways = Mapping[Spot, Way]


@dataclass(frozen=True)
class Round:
    """How often and how long each way runs in a round. Ways that took at most `within` times the least time go on to the next round."""

    launches: int
    batches: int
    seconds: float  # of a batch
    within: float
    most: int  # ways that go on to the next round


QUICK = (Round(1, 1, 0.001, 1.3, 2),)
WHOLE = (Round(1, 1, 0.003, 1.5, 5), Round(2, 3, 0.004, 1.2, 3), Round(3, 3, 0.005, 1.1, 2))


@dataclass
class Times:
    """What was measured: the microseconds of the batches of each cell, by way."""

    us: dict[Cell, dict[Way, list[float]]] = field(default_factory=dict)

    def add(self, way: Way, cell: Cell, us: float) -> None:
        self.us.setdefault(cell, {}).setdefault(way, []).append(us)

    def merge(self, more: "Times") -> None:
        for cell, ways in more.us.items():
            for way, us in ways.items():
                self.us.setdefault(cell, {}).setdefault(way, []).extend(us)

    def of(self, cell: Cell, way: Way) -> float:
        """Returns the time of a way: the mean of its least and its median time."""
        times = self.us.get(cell, {}).get(way)
        return (min(times) + statistics.median(times)) / 2 if times else math.inf


@cache
def kernel_reaches() -> bool:
    return any(way["reach"] == "kernel" and way["works"] for way in native.query("info")["reaches"])


@cache
def numa_regions() -> int:
    return native.query("info")["machine"]["counts"]["numa"]


def refuse_variables() -> None:
    """Refuses variables of the user that would decide what is raced."""
    variables.refuse(HARMLESS, "changes what all ways do")


def question(spot: Spot) -> list[str]:
    return [spot.collective, *([] if spot.call == "barrier" else [str(spot.bytes)])]


@cache
def candidates(spot: Spot, ranks: int, reach: str, nodes: int = 1, machine: str = "", far: int = FAR_BY_OWN_PRICE) -> list[Way]:
    """Returns the ways that can run a call, cheapest first by the price of warm calls on `machine`, a file of this one. Without such a file,
    prices are those of a recorded machine whose ranks have a core each. Ways of more than `far` times the cheapest price, or FAR_BY_PRICE on a
    recorded machine, are left out. Of ways with the same price on the same carrier there is one."""
    far = far if machine else FAR_BY_PRICE
    machine = machine or (PRICED_ON if nodes == 1 else CLUSTER_PRICED_ON)
    ranks = min(ranks, nodes * PRICED_RANKS)
    priced = native.query("price", *question(spot), "-n", str(ranks), "--nodes", str(nodes), "--reach", reach, "--machine", machine, "--top", "100000")
    ways: dict[tuple, Way] = {}
    for row in priced:
        if row["ns"] > far * priced[0]["ns"]:
            break
        ways.setdefault((row["carrier"], row["ns"]), way_of(row))
    return list(ways.values())


def chosen(spot: Spot, ranks: int, reach: str, nodes: int = 1) -> Way | None:
    """Returns what Copse chooses by itself, or None if that depends on where the ranks sit or on what they measure when a communicator is
    made. Ranks of emulated nodes take turns (cluster.py)."""
    turns = ["--turns"] if nodes > 1 or ranks > len(os.sched_getaffinity(0)) else []
    if numa_regions() > 1 or (ranks > 2 and not turns):  # rows by price are for ranks that do not take turns
        return None
    plain = variables.without()
    ways = set()
    for more in ([], ["--dear-kernel"]):
        [found] = native.query("explain", *question(spot), "-n", str(ranks), "--nodes", str(nodes), "--reach", reach, *turns, *more, environment=plain)
        ways.add(way_of(found))
    return ways.pop() if len(ways) == 1 else None


def write_table(path: Path, rows: Iterable[dict], machine: str = "any", **members: object) -> None:
    """Writes a tuning table. The file is there as a whole or not at all, whenever this is interrupted."""
    head = {"schema": SCHEMA, "machine": machine, **members}
    text = json.dumps(head, indent=1)[:-2] + ',\n "rows": [\n  ' + ",\n  ".join(map(json.dumps, rows)) + "\n ]\n}\n"
    files.write(path, text)


def row_of(spot: Spot, way: Way, sizes: tuple[int, int | None]) -> dict:
    row = {"collective": spot.collective, "bytes": list(sizes), "run": way.run}
    return row | ({"fragment": way.fragment} if way.fragment else {})


def packed(left: Mapping[Spot, Iterable[Way]]) -> list[dict[Spot, Way]]:
    """Divides the ways of all spots among launches. In each, a spot has one way. Calls of one collective then follow the same row, and what is
    forced holds for all of them, and for all sizes."""
    launches: list[tuple[dict[Spot, Way], dict[tuple, Way]]] = []  # the ways, and what they decide
    for spot, ways in left.items():
        for way in ways:
            forced, row = (way, DEFAULT) if way.forced else (DEFAULT, way)
            decides = {(spot.collective,): forced, (spot.collective, spot.bytes): row}
            for among, decided in launches:
                if spot not in among and all(decided.get(what, how) == how for what, how in decides.items()):
                    break
            else:
                launches.append((among := {}, decided := {}))
            among[spot] = way
            decided |= decides
    return [among for among, _ in launches]


@dataclass
class Journal:
    """Keeps what launches have measured in a file, so that an interrupted contest goes on where it was."""

    path: Path | None
    head: dict
    known: dict[str, list] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is None:
            return
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        entries = [entry for entry in map(_parsed, lines) if entry is not None]
        if entries and entries[0] == self.head:
            self.known = {entry["launch"]: entry["readings"] for entry in entries[1:]}
        known = ({"launch": name, "readings": readings} for name, readings in self.known.items())
        files.write(self.path, "".join(json.dumps(entry) + "\n" for entry in (self.head, *known)))

    def launch(self, name: str, measure: Callable[[], list]) -> list:
        if name not in self.known:
            self.known[name] = measure()
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps({"launch": name, "readings": self.known[name]}) + "\n")
        return self.known[name]

    def end(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _parsed(line: str) -> dict | None:
    try:
        return json.loads(line)
    except ValueError:  # cut off when this was interrupted
        return None


@dataclass
class Contest:
    """The ways of one situation: an MPI, a number of ranks, with or without the shared heap."""

    side: bench.Side
    ranks: int
    spots: list[Spot]
    modes: tuple[str, ...]
    journal: Journal
    say: Callable[[str], None]
    times: Times = field(default_factory=Times)
    cache: int = 0  # MiB that the rings of cold calls must exceed; 0 is what the machine says
    patience: quiet.Patience | None = None  # None: measure on a busy machine, too
    machine: str = ""  # the file of this machine, for prices; without one they are those of a recorded machine

    @property
    def heap(self) -> bool:
        return run.HEAP in self.side.preload

    @property
    def reach(self) -> str:
        """How ranks reach one another's buffers."""
        return "direct" if self.heap else "kernel" if kernel_reaches() else "staged"

    @property
    def nodes(self) -> int:
        return self.side.cluster.nodes if self.side.cluster else 1

    @property
    def name(self) -> str:
        over = f" on {self.nodes} nodes" if self.nodes > 1 else ""
        return f"{self.side.name}, {self.ranks} ranks{over}"

    def launch(self, name: str, ways: Ways, batches: int, seconds: float, **ours: str) -> Times:
        """Runs the benchmark once, each of these spots by its way. Where the program also makes these calls with other sizes, that does not
        count, so that no way has more samples than others. The journal knows a launch by its name and all that it measures."""
        measured = repr((sorted(map(str, ways.items())), batches, seconds, sorted(ours.items())))
        digest = files.digest(measured.encode())
        readings = self.journal.launch(f"{self.name}: {name}: {digest}", lambda: self._measure(ways, batches, seconds, ours))
        times = Times()
        for call, size, mode, us in readings:
            if (spot := Spot(call, size)) in ways:
                times.add(ways[spot], (spot, mode), us)
        return times

    @property
    def defaults(self) -> Ways:
        """What launch() needs to run all spots by default."""
        return dict.fromkeys(self.spots, DEFAULT)

    def _measure(self, ways: Ways, batches: int, seconds: float, ours: Mapping[str, str]) -> list:
        calls, sizes = dict.fromkeys(spot.call for spot in ways), sorted({spot.bytes for spot in ways} - {0}) or [8]
        program = [str(self.side.flavour.program(bench.SOURCE)), "--operations", ",".join(calls), "--sizes", ",".join(map(str, sizes))]
        program += ["--modes", ",".join(self.modes), "--batches", str(batches), "--seconds", str(seconds)]
        program += ["--cache", str(bench.cache_to_miss(self.cache)), "--fitting"]
        forced = {spot.collective: way.run for spot, way in ways.items() if way.forced}
        if forced:
            ours = {"COPSE_ALGORITHM": ";".join(f"{collective}={run}" for collective, run in forced.items()), **ours}
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "contest.json"
            write_table(table, [row_of(spot, way, (spot.bytes, spot.bytes)) for spot, way in ways.items() if way != DEFAULT and not way.forced])

            def start() -> str:
                return self.side.start(self.ranks, program, **{"COPSE_TUNING": str(table), "COPSE_LEARN": "0", **ours})

            printed = self.patience.undisturbed(start)[0] if self.patience else start()
        rows = csv.DictReader(line for line in printed.splitlines() if not line.startswith("#"))
        return [(row["call"], int(row["bytes"]), row["mode"], float(row["us"])) for row in rows]

    def cells(self, spot: Spot) -> list[Cell]:
        return [(spot, mode) for mode in self.modes if (spot, mode) in self.times.us]

    def race(self, rounds: tuple[Round, ...], with_mpi: bool, most_ways: int = MOST_WAYS, far: int = FAR_BY_OWN_PRICE) -> None:
        """Races all ways, the default among them, but not the dearest (candidates). Afterwards `times` holds what was measured in the last
        round."""
        left = {}
        for spot in self.spots:
            others = [DEFAULT, Way(MPI)] if with_mpi and spot.call not in RAGGED else [DEFAULT]
            left[spot] = others + self._ways(spot, far)[:most_ways]
        for number, each in enumerate(rounds):
            self.times = Times()
            heats = packed(left)
            for launch in range(each.launches):
                for heat, ways in enumerate(heats):
                    done, all_of_them = launch * len(heats) + heat + 1, each.launches * len(heats)
                    self.say(f"{self.name}: round {number + 1} of {len(rounds)}, launch {done} of {all_of_them}")
                    self.times.merge(self.launch(f"round {number}.{launch}.{heat}", ways, each.batches, each.seconds))
            left = {spot: self._best(spot, among, each) for spot, among in left.items()}

    def _ways(self, spot: Spot, far: int) -> list[Way]:
        """Returns the ways beside the default, cheapest first. They are priced as those of the call's plain form."""
        ways = candidates(spot.plain, self.ranks, self.reach, self.nodes, self.machine, far)
        if spot.call in UNTOLD:  # a table decides about these over several nodes only, or not about all sizes
            return ways if self.nodes > 1 else list(dict.fromkeys(Way(way.run, forced=True) for way in ways))
        same = chosen(spot, self.ranks, self.reach, self.nodes)
        return [way for way in ways if way != same]

    def _best(self, spot: Spot, among: list[Way], each: Round) -> list[Way]:
        """Returns the ways that are near the best one in some mode."""
        kept = []
        for cell in self.cells(spot):
            least = min(self.times.of(cell, way) for way in among)
            near = sorted((way for way in among if self.times.of(cell, way) <= each.within * least), key=lambda way: self.times.of(cell, way))
            kept += near[: each.most]
        return list(dict.fromkeys([DEFAULT, *kept]))

    def winner(self, cells: list[Cell]) -> Way:
        """Returns the way that is fastest over these cells in the mean, or the default if no cell was measured."""
        cells = [cell for cell in cells if cell in self.times.us]
        if not cells:
            return DEFAULT
        known = set.intersection(*(set(self.times.us[cell]) for cell in cells))
        return min(known, key=lambda way: math.prod(self.times.of(cell, way) for cell in cells), default=DEFAULT)

    def confirm(self, winners: Ways, launches: int, batches: int, seconds: float) -> None:
        """Measures the winners and the default anew, side by side, so that luck in the race does not count. Afterwards `times` holds
        that."""
        self.times = Times()
        heats = packed({spot: [way] for spot, way in winners.items() if way != DEFAULT})
        for launch in range(launches):
            self.say(f"{self.name}: the fastest ways and the default, launch {launch + 1} of {launches}")
            for heat, ways in enumerate(heats):
                self.times.merge(self.launch(f"confirm {launch} winners {heat}", ways, batches, seconds))
            self.times.merge(self.launch(f"confirm {launch} default", dict.fromkeys(winners, DEFAULT), batches, seconds))


def measured_machine(output: Path, journal: Journal, say: Callable[[str], None]) -> str:
    """Writes the file of this machine beside the table, and returns its name. If a run was interrupted, its measurement counts. Returns an
    empty text if the machine cannot be measured."""
    path = output.with_name(f"{output.stem}-machine.json")
    try:
        files.require_place(path, "copse-machine/", "a machine's file")
        [text] = journal.launch("this machine", lambda: [calibrate.run_native("measuring this machine", "--seconds", str(CALIBRATING))])
        files.write(path, text)
    except CopseError as error:
        say(f"this machine was not measured ({error}); ways are priced on a recorded machine")
        return ""
    return calibrate.machine_argument(path)


def digests_of(preloads: Iterable[str], folder: Path = paths.PRELOAD_FOLDER) -> dict[str, str]:
    """Returns the digests of those of these preload libraries that are built, by name."""
    there = (folder / name for name in preloads)
    return {file.name: files.digest(file.read_bytes()) for file in there if file.exists()}


def libraries_of(flavour: flavours.Flavour, folder: Path = paths.PRELOAD_FOLDER) -> dict[str, str]:
    """Returns the digests of the libraries that are preloaded under this MPI, by name: those of this build, or those in another's folder."""
    return digests_of((flavour.preload.name, run.HEAP), folder)


def sides_of(flavour: flavours.Flavour, heap: bool, cluster: Cluster | None = None) -> list[bench.Side]:
    """Returns the flavour with Copse and, if it is wanted and built, with the shared heap, too."""
    if not flavour.preload.exists():
        raise CopseError(f"{flavour.preload.name} is not built", paths.make("build"))
    return [side for side in bench.make_sides([flavour], heap, cluster) if not side.peer]


def spots_of(calls: Iterable[str], sizes: Iterable[int]) -> list[Spot]:
    sizes = list(sizes)
    for call in calls:
        if call not in COLLECTIVES:
            raise CopseError(f"no rows can be raced for {call}", f"use: {', '.join(COLLECTIVES)}")
    return [Spot(call, size) for call in calls for size in ([0] if call == "barrier" else sizes)]
