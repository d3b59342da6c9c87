"""`copse bench --cluster`: Copse between emulated nodes, beside the best of the MPIs.

A setting is a shape (so many nodes with so many ranks each) and a link (what a node may send, and how much longer a message takes). In each
one, all sides make the same calls: each MPI bare, bare with its own hierarchical settings (flavours.py), and with Copse. Operations go
in groups, because a start takes a second or two. The launches of a group follow one another: A B C, C B A. Each launch has nodes of its
own, so it finds nothing that another one has left there.

A file beside the results keeps what each launch has measured. If this is interrupted, or stopped by --minutes, the same command goes on
where it was. What was measured with other options, variables, libraries or links does not count, and begins anew. A bare MPI that fails is
started again some times, and then left out of that launch. Copse may not fail.
"""

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.console import Console

from . import bench, cluster, cluster_report, contest, files, flavours, paths, readme
from .bench_report import Sample, write_csv
from .cluster import NotPermitted
from .cluster_report import Batch, Setting
from .errors import CopseError
from .tables import origin

SIZES = (8, 512, 4096, 32768, 262144, 1 << 20, 8 << 20)
TOGETHER = 6  # operations of a launch
TRIES = 3  # of a bare MPI
# Of a batch. In a short one, the bucket of a link's limit (80 KiB) lets a few calls pass that the link could not carry so fast.
BATCH_SECONDS = 0.05
LAUNCH_SECONDS = 600  # after which a launch has failed; it takes a minute on links of 1 Gbit/s


def sides_of(found: list[flavours.Flavour]) -> list[bench.Side]:
    sides = []
    for flavour in found:
        if flavour.name not in bench.PEERS:  # Debian's MPICH hangs in MPI_Finalize over nodes; its Open MPI has other options for them
            raise CopseError(f"{flavour.name} does not run over emulated nodes", f"use, separated by commas: {', '.join(bench.PEERS)}")
        if not flavour.preload.exists():
            raise CopseError(f"{flavour.preload.name} is not built", paths.make("build"))
        bare = bench.Side(flavour, seconds=LAUNCH_SECONDS)
        sides += [bare, replace(bare, hierarchical=True), replace(bare, preload=(flavour.preload.name,))]
    return sides


@dataclass(frozen=True)
class Launch:
    setting: Setting
    operations: tuple[str, ...]
    number: int
    side: bench.Side

    @property
    def name(self) -> str:
        return f"{self.setting.name}: {','.join(self.operations)}, launch {self.number + 1}, {self.side.name}"

    def run(self, grid: bench.Grid) -> list[list]:
        """Returns, of each batch, the call, bytes, mode, number and us of its sample, and what a Batch has after it."""
        setting = self.setting
        with bench.emulated(setting.nodes, setting.link.rate, setting.link.delay) as nodes:
            mine, side = replace(grid, operations=self.operations), replace(self.side, cluster=nodes)
            rows = list(bench.rows_of_own(side, setting.ranks, mine, "--wire", str(setting.ranks_of_node), "--seconds", str(BATCH_SECONDS)))
        if not rows:
            raise CopseError(f"{self.name}: no figures were printed", "check the sizes and operations asked for")
        return [[row["call"], int(row["bytes"]), row["mode"], int(row["batch"]), *(float(row[name]) for name in ("us", "wire", "most"))] for row in rows]

    def batch(self, call: str, size: int, mode: str, number: int, us: float, wire: float, most: float) -> Batch:
        """Returns what run() has read."""
        return Batch(self.setting, Sample(self.setting.name, self.setting.ranks, self.side.name, self.number, call, size, mode, number, us), wire, most)

    def run_again(self, grid: bench.Grid, say: Callable[[str], None]) -> list[list]:
        """Runs a bare MPI until it does not fail. Returns an empty list if it always does."""
        for attempt in itertools.count(1):
            try:
                return self.run(grid)
            except NotPermitted:
                raise
            except CopseError as error:
                if not self.side.peer:
                    raise
                say(f"failed {attempt} of {TRIES} times: {error}")
                if attempt == TRIES:
                    return []


def launches_of(settings: list[Setting], sides: list[bench.Side], grid: bench.Grid) -> list[Launch]:
    """Returns all launches in the order in which they are made."""
    groups = [grid.operations[i : i + TOGETHER] for i in range(0, len(grid.operations), TOGETHER)]
    places = itertools.product(settings, groups, range(grid.launches))
    return [Launch(setting, group, number, side) for setting, group, number in places for side in (sides if number % 2 == 0 else sides[::-1])]


def round_trip(setting: Setting) -> list[float]:
    with bench.emulated(setting.nodes, setting.link.rate, setting.link.delay) as nodes:
        return [nodes.round_trip()]


def trip_name(setting: Setting) -> str:
    return f"{setting.name}: a byte there and back"


def take(launches: list[Launch], grid: bench.Grid, journal: contest.Journal, say: Callable[[str], None], until: float) -> Iterator[list[Batch]]:
    """Yields the batches of each launch, until a moment of the clock. What the journal knows is not measured again."""
    for place, launch in enumerate(launches):
        if launch.name not in journal.known and time.monotonic() >= until:
            return
        if trip_name(launch.setting) not in journal.known:
            journal.launch(trip_name(launch.setting), lambda launch=launch: round_trip(launch.setting))
        if launch.name not in journal.known:
            say(f"{place + 1} of {len(launches)}: {launch.name}")
        readings = journal.launch(launch.name, lambda launch=launch: launch.run_again(grid, say))
        yield [launch.batch(*reading) for reading in readings]


MEASURED = ("side", "launch", "call", "bytes", "mode", "batch", "us")  # what of a sample says something here


def write_batches(file: Path, batches: list[Batch]) -> None:
    rows = [{**asdict(b.setting.link), "nodes": b.setting.nodes, "ranks_of_node": b.setting.ranks_of_node,
             **{name: getattr(b.sample, name) for name in MEASURED}, "wire": b.wire, "most": b.most} for b in batches]  # fmt: skip
    write_csv(file, rows[0].keys(), rows)


# How the names of variables begin that may change what Copse, an MPI or its network does.
SETTING_VARIABLES = ("COPSE_", "MPICH_", "MPIR_", "HYDRA_", "I_MPI_", "FI_", "OMPI_", "PRTE_", "PMIX_", "UCX_")


def head_of(grid: bench.Grid, settings: list[Setting], sides: list[bench.Side]) -> dict:
    """Returns what must be equal for measurements to be continued."""
    libraries = contest.digests_of(name for side in sides for name in side.preload)
    head = {"grid": asdict(grid), "settings": [setting.name for setting in settings], "mpi": [side.flavour.title for side in sides],
            "processors": sorted(os.sched_getaffinity(0)), "libraries": libraries, "program": files.digest(bench.SOURCE.read_bytes()),
            "options": [[side.flavour.family.yielding, side.flavour.family.hierarchical] for side in sides], "nodes": cluster.tools_digest(),
            "variables": {name: value for name, value in sorted(os.environ.items()) if name.startswith(SETTING_VARIABLES)}}  # fmt: skip
    return json.loads(json.dumps(head))


def about(document: Path, grid: bench.Grid, sides: list[bench.Side]) -> str:
    mpis = ", ".join(dict.fromkeys(side.flavour.title for side in sides))
    return f"{origin(readme.command_line(document))} {mpis}; {grid.launches} launches of each side, {grid.batches} batches of a cell in each."


def cluster_command(grid: bench.Grid, found: list[flavours.Flavour], links: str, shapes: str, minutes: float, output: Path, document: Path | None) -> None:
    """The options are those of `copse bench`. A document without the marks is refused before anything is measured."""
    if document is not None:
        readme.marks(document, "cluster")
    settings, sides, progress = cluster_report.settings_of(links, shapes), sides_of(found), Console(stderr=True)
    journal = contest.Journal(output / "cluster.unfinished", head_of(grid, settings, sides))
    launches = launches_of(settings, sides, grid)
    until = time.monotonic() + 60 * minutes if minutes else float("inf")
    batches, failure = bench.until_failure(take(launches, grid, journal, progress.print, until))
    left = [launch for launch in launches if launch.name not in journal.known]
    if failure and not batches:
        raise failure
    if not batches:
        raise CopseError("nothing was measured", "use a larger --minutes")
    write_batches(output / "cluster.csv", batches)
    trips = {setting.name: journal.known[trip_name(setting)][0] for setting in settings if trip_name(setting) in journal.known}
    text = cluster_report.text_of(batches, sides, trips, [launch.name for launch in launches if journal.known.get(launch.name) == []])
    print(text, flush=True)
    progress.print(f"written: {output / 'cluster.csv'}", soft_wrap=True)
    if failure:
        raise failure
    if left:
        progress.print(f"{len(left)} of {len(launches)} launches are left: the same command goes on with them", soft_wrap=True)
        return
    if document is not None:
        readme.write(document, f"{about(document, grid, sides)}\n\n{text}", "cluster")
    journal.end()
