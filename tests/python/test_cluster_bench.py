"""`copse bench --cluster`: what it reads, in which order it measures, how it goes on, what it says, and one real measurement."""

import csv
import inspect
import re
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from copse import bench, bench_options, cluster_bench, cluster_report, contest, flavours, paths
from copse.cluster import Cluster, NotPermitted
from copse.bench_report import Sample
from copse.cluster_report import Batch, Link, Setting
from copse.errors import CopseError

GRID = bench.Grid(operations=("barrier", "bcast"), sizes=(8,), modes=("warm",), batches=2, launches=2)
SLOW, FREE = Setting(4, 2, Link(1000, 0)), Setting(2, 4, Link(0, 50))
LONG = 8 << 20


def test_links_and_shapes_are_read():
    assert cluster_report.links_of("1000,10000:50,0") == [Link(1000, 0), Link(10000, 50), Link(0, 0)]
    assert cluster_report.shapes_of("4x2,2x4,4x2") == [(4, 2), (2, 4)]
    names = [setting.name for setting in cluster_report.settings_of("10000:50,0", "4x2,2x1")]
    assert names == ["4 nodes of 2, 10 Gbit/s and 50 us", "4 nodes of 2, no limit", "2 nodes of 1, 10 Gbit/s and 50 us", "2 nodes of 1, no limit"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--links", "1G"], ["'1G'", "Mbit/s"]),
        (["--links", "1000:2000000"], ["1000:2000000", "a second"]),
        (["--shapes", "1x4"], ["'1x4'", "two nodes"]),
        (["--shapes", "4"], ["'4'", "4x2,2x4"]),
        (["--nodes", "4"], ["--nodes", "--cluster"]),
        (["--document", "absent.md"], ["absent.md", "docs/cluster.md"]),
    ],
)
def test_mistakes_are_named(copse, arguments, words):
    done = copse("bench", "--cluster", *arguments)
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1
    assert all(word in done.stderr for word in words), done.stderr


def test_a_document_without_the_marks_is_refused_before_measuring(copse, tmp_path):
    (page := tmp_path / "page.md").write_text("no marks\n")
    done = copse("bench", "--cluster", "--output", tmp_path, "--document", page)
    assert done.returncode == 2 and "<!-- cluster:begin -->" in done.stderr and not (tmp_path / "cluster.unfinished").exists(), done.stderr


def test_mpis_that_do_not_run_over_nodes_are_refused():
    with pytest.raises(CopseError, match="mpich-debian does not run over emulated nodes.*mpich, impi, openmpi"):
        cluster_bench.sides_of([SimpleNamespace(name="mpich-debian")])


def test_the_page_says_what_is_measured():
    page = " ".join((paths.ROOT / "docs/cluster.md").read_text().split())
    given = inspect.signature(bench_options.bench_command).parameters
    (four, two), links = cluster_report.shapes_of(given["shapes"].default), cluster_report.links_of(given["links"].default)
    sizes = [cluster_report.size_text(size) for size in (min(cluster_bench.SIZES), max(cluster_bench.SIZES))]
    assert f"of {sizes[0]} to {sizes[1]}, over {four[0]} nodes of {four[1]} ranks and over {two[0]} nodes of {two[1]}," in page
    assert [link.name for link in links] == ["1 Gbit/s", "10 Gbit/s and 50 us", "no limit"]
    assert "on links of 1 Gbit/s, of 10 Gbit/s with 50 us of delay, and without a limit." in page
    bucket = re.search(r"tbf .* burst (\d+)kb", (paths.ROOT / "bench/cluster/nodes.sh").read_text())[1]
    assert f"A limit is a token bucket of {bucket} KiB." in page


def test_a_measurement_goes_on_only_where_nothing_has_changed(monkeypatch):
    """Neither the variables of Copse and the MPIs, nor what makes the links."""
    sides = cluster_bench.sides_of([flavours.find("mpich")])
    heads = [cluster_bench.head_of(GRID, [SLOW], sides)]
    assert cluster_bench.head_of(GRID, [SLOW], sides) == heads[0]
    heads += [cluster_bench.head_of(GRID, [FREE], sides), cluster_bench.head_of(replace(GRID, batches=9), [SLOW], sides)]
    for variable in ("COPSE_LEARN", "MPIR_CVAR_BCAST_COMPOSITION", "I_MPI_PIN"):
        with monkeypatch.context() as changed:
            changed.setenv(variable, "0")
            heads.append(cluster_bench.head_of(GRID, [SLOW], sides))
    monkeypatch.setattr(cluster_bench.cluster, "tools_digest", lambda: "others")
    heads.append(cluster_bench.head_of(GRID, [SLOW], sides))
    assert all(heads.count(head) == 1 for head in heads), heads


def test_bytes_that_do_not_come_back_are_an_error(monkeypatch, tmp_path):
    """A node that does not answer is no link without a delay."""
    tools = tmp_path / "nodes.sh"
    tools.write_text('#!/bin/sh\n[ "$2" = n0 ] && exec sh -c "echo 1; exec sleep 60"\necho 70.5\n')
    tools.chmod(0o700)
    monkeypatch.setattr("copse.cluster._NODES", tools)
    with pytest.raises(CopseError, match="of 100 bytes from n1 to n0, 1 came back"):
        Cluster(tmp_path, 2).round_trips()


def test_every_mpi_has_settings_for_nodes():
    """Launcher options, each with its value. Only a bare side gets them, and its name says so."""
    for family in flavours.FAMILIES:
        words = list(family.hierarchical)
        assert words and all(word in ("-genv", "--mca") for word in words[::3]) and len(words) % 3 == 0, family.name
    sides = cluster_bench.sides_of([flavours.find("mpich")])
    assert [side.name for side in sides] == ["mpich", "mpich hierarchical", "mpich+copse"]
    assert [side.peer for side in sides] == [True, True, False] and [side.hierarchical for side in sides] == [False, True, False]


@pytest.mark.quick(name=len(bench.PEERS))  # starts nothing
@pytest.mark.parametrize("name", bench.PEERS)
def test_the_mpis_know_these_settings(name):
    """An MPI would ignore a variable that it does not know. Open MPI puts the names of its own together. In a library, a 0 ends a name."""
    flavour = flavours.find(name)
    library = flavour.libmpi.resolve().read_bytes()
    for variable in flavour.family.hierarchical[1::3]:
        assert variable.removeprefix("coll_han_").encode() + b"\0" in library, variable
    assert b"MPIR_CVAR_BCAST_COMPOSITIO\0" not in library and b"bcast_up_modul\0" not in library


class Named:
    """A side without an MPI."""

    def __init__(self, name):
        self.name, self.peer = name, "+" not in name


SIDES = [Named("mpich"), Named("mpich hierarchical"), Named("mpich+copse"), Named("impi+copse")]


def test_launches_alternate_between_the_sides():
    grid = replace(GRID, operations=tuple(f"call{n}" for n in range(cluster_bench.TOGETHER + 1)))
    launches = cluster_bench.launches_of([SLOW, FREE], SIDES[:2], grid)
    order = [(launch.setting, len(launch.operations), launch.number, launch.side.name) for launch in launches]
    group = [(0, "mpich"), (0, "mpich hierarchical"), (1, "mpich hierarchical"), (1, "mpich")]
    assert order == [(setting, size, *turn) for setting in (SLOW, FREE) for size in (cluster_bench.TOGETHER, 1) for turn in group]
    assert len({launch.name for launch in launches}) == len(launches)


READING = ["bcast", 8, "warm", 0, 3.0, 100.0, 60.0]


@pytest.fixture
def journal(tmp_path):
    """Returns a function that opens the same journal again."""
    return lambda: contest.Journal(tmp_path / "cluster.unfinished", {"the": "same"})


def test_an_interrupted_measurement_goes_on(monkeypatch, journal):
    launches = cluster_bench.launches_of([SLOW], SIDES[:2], GRID)
    ran, said = [], []

    def run(launch, grid):
        if len(ran) == 1:
            raise KeyboardInterrupt
        ran.append(launch.name)
        return [READING]

    monkeypatch.setattr(cluster_bench.Launch, "run", run)
    monkeypatch.setattr(cluster_bench, "round_trip", lambda setting: [70.0])
    with pytest.raises(KeyboardInterrupt):
        list(cluster_bench.take(launches, GRID, journal(), said.append, float("inf")))
    assert ran == [launches[0].name]
    monkeypatch.setattr(cluster_bench.Launch, "run", lambda launch, grid: ran.append(launch.name) or [READING])
    found = list(cluster_bench.take(launches, GRID, journal(), said.append, float("inf")))
    assert ran == [launch.name for launch in launches]
    assert found == [[Batch(SLOW, Sample(SLOW.name, SLOW.ranks, launch.side.name, launch.number, *READING[:5]), *READING[5:])] for launch in launches]
    assert journal().known[cluster_bench.trip_name(SLOW)] == [70.0]


def test_what_is_known_is_taken_when_the_time_is_over(monkeypatch, journal):
    launches = cluster_bench.launches_of([SLOW], SIDES[:2], GRID)
    monkeypatch.setattr(cluster_bench, "round_trip", lambda setting: [70.0])
    monkeypatch.setattr(cluster_bench.Launch, "run", lambda launch, grid: [READING])
    assert len(list(cluster_bench.take(launches[:3], GRID, journal(), lambda _: None, float("inf")))) == 3
    assert len(list(cluster_bench.take(launches, GRID, journal(), lambda _: None, time.monotonic()))) == 3


def test_only_a_bare_mpi_may_fail(monkeypatch):
    """It is started again some times, and then left out. Where nodes are not permitted, nobody tries again."""
    bare, *_, ours = cluster_bench.launches_of([SLOW], [SIDES[0], SIDES[2]], replace(GRID, launches=1))
    outcomes, said = [], []

    def run(launch, grid):
        if isinstance(outcome := outcomes.pop(0), Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(cluster_bench.Launch, "run", run)
    outcomes[:] = [CopseError("killed", ""), [READING]]
    assert bare.run_again(GRID, said.append) == [READING] and "failed 1 of" in said[0] and "killed" in said[0]
    outcomes[:] = [CopseError("killed", "")] * cluster_bench.TRIES
    assert bare.run_again(GRID, said.append) == [] and outcomes == []
    for launch, error in ((ours, CopseError("wrong", "")), (bare, NotPermitted("no nodes", ""))):
        outcomes[:] = [error, [READING]]
        with pytest.raises(type(error)):
            launch.run_again(GRID, said.append)


def batches_of(setting, call, size, *times, wire=0.0):
    """Returns two batches of each of SIDES."""
    return [Batch(setting, Sample(setting.name, setting.ranks, side.name, 0, call, size, "warm", number, us * (1 + number)), 3 * wire, wire)
            for side, us in zip(SIDES, times, strict=True) for number in range(2)]  # fmt: skip


BATCHES = [
    *batches_of(SLOW, "barrier", 0, 8, 9, 4, 5),
    *batches_of(SLOW, "bcast", LONG, 112000, 118000, 75000, 70000, wire=LONG),
    *batches_of(FREE, "barrier", 0, 3, 2, 4, 5),
]


def test_the_peer_is_the_fastest_bare_side():
    cells = cluster_report.cells_of(cluster_report.rows_of(BATCHES, SIDES))
    found = {(cell.setting, cell.name): (cell.peer, cell.ours, cell.ratio) for cell in cells}
    assert found == {
        (SLOW.name, "barrier"): ("mpich", "mpich+copse", 2),
        (SLOW.name, "bcast 8 MiB"): ("mpich", "impi+copse", pytest.approx(1.6)),
        (FREE.name, "barrier"): ("mpich hierarchical", "mpich+copse", 0.5),
    }


def test_the_tables_say_what_was_measured():
    text = cluster_report.text_of(BATCHES, SIDES, {SLOW.name: 73.3})
    for line in (
        "| 4 nodes of 2, 1 Gbit/s | 2 | 1.79 | 1.79 | 0 | 1.60 (bcast 8 MiB) | 73 us |",
        "| 2 nodes of 4, no limit and 50 us | 1 | 0.50 | 0.50 | 1 | 0.50 (barrier) | - |",
        "| all | 3 | 1.17 | 1.17 | 1 | 0.50 (barrier) |  |",
        "Copse under each MPI, beside the same bare ones: mpich+copse 1.14, impi+copse 1.01.",
        "| barrier | 2.00, 2.00 | 0.50, 0.50 |",
        "| bcast | 1.60, 1.60 | - |",
        "| 4 nodes of 2, 1 Gbit/s | 67.1 ms | 1.04 | 1.67 |",  # 8 MiB at 1 Gbit/s
        "| 4 nodes of 2, 1 Gbit/s | bcast | 24.0, 8.0 | 24.0, 8.0 |",
        "| 2 nodes of 4, no limit and 50 us | barrier |  |  | 2.00 (mpich hierarchical) | 4.00 (mpich+copse) | 0.50 |",
    ):
        assert line in text.splitlines(), f"{line}\n{text}"
    assert "failed" not in text and "1 launch, mpich." in cluster_report.text_of(BATCHES, SIDES, {}, ["1 launch, mpich"])
    assert "No cell is below 0.95." in cluster_report.text_of(BATCHES[:8], SIDES, {})


def test_bare_sides_alone_give_no_table():
    bare = [batch for batch in BATCHES if "+" not in batch.sample.side]
    assert cluster_report.text_of(bare, SIDES, {}) == "No cell has figures of a bare MPI and of Copse."


@pytest.mark.full
def test_nodes_are_measured_and_written(copse, tmp_path):
    """In two pieces, the first of which ends at once. The interfaces count what crosses the links. A node has more ranks than this machine has
    processors, if these are two."""
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- cluster:begin -->\nold\n<!-- cluster:end -->\nafter\n")
    command = ["bench", "--cluster", "--links", "0:200", "--shapes", "2x3", "--operations", "barrier,bcast", "--sizes", "8,1M",
               "--against", "mpich,openmpi", "--launches", "1", "--batches", "1", "--output", tmp_path, "--document", page]  # fmt: skip
    done = copse(*command, "--minutes", "0.05", timeout=300)
    if "no emulated nodes" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0 and "launches are left" in done.stderr and "old" in page.read_text(), done.stdout + done.stderr
    done = copse(*command, timeout=300)
    assert done.returncode == 0 and f"1 of 6: {Setting(2, 3, Link(0, 200)).name}" not in done.stderr, done.stdout + done.stderr
    with (tmp_path / "cluster.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["side"] for row in rows} == {f"{name}{what}" for name in ("mpich", "openmpi") for what in ("", " hierarchical", "+copse")}
    assert {(row["call"], row["bytes"]) for row in rows} == {("barrier", "0"), ("bcast", "8"), ("bcast", str(1 << 20))}
    long = [row for row in rows if row["bytes"] == str(1 << 20)]
    assert all(1 << 20 <= float(row["most"]) <= float(row["wire"]) for row in long), rows
    assert all(float(row["wire"]) < 1.2 * (1 << 20) for row in long if "+" in row["side"]), rows
    assert all(float(row["us"]) > 200 for row in rows if row["call"] == "barrier"), rows  # a message there takes so long
    before, _, about, *_, after = page.read_text().splitlines()
    assert (before, after) == ("before", "after") and "--document page.md" in about and "MPICH" in about and "Open MPI" in about
    assert not (tmp_path / "cluster.unfinished").exists()
