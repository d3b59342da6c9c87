"""`copse tune` and `copse bench --regret`: what they decide from times, what is left when they are interrupted, and one real run of each."""

import csv
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from copse import bench, bench_report, calibrate, contest, flavours, native, paths, readme, regret, tune, variables
from copse.errors import CopseError

sys.path.insert(0, str(paths.ROOT / "bench"))
import durations  # noqa: E402

BCAST, WARM = contest.Spot("bcast", 4096), "warm"
FAST, SLOW = contest.Way("flat:slot"), contest.Way("chain:slot:4", 1024)
MPI = contest.Way(contest.MPI)
MACHINE = '{"schema": "copse-machine/1"}'


def a_contest(say=lambda _: None, journal=None, spots=(BCAST,)):
    side = bench.Side(flavours.find("mpich"), ("libcopse-mpi-mpich.so",))
    return contest.Contest(side, 2, list(spots), (WARM,), journal or contest.Journal(None, {}), say)


def times_of(spot=BCAST, **us):
    """Returns the times of the default and of the ways that are given, in one cell."""
    times = contest.Times()
    for way, values in us.items():
        for value in values:
            times.add({"default": contest.DEFAULT, "fast": FAST, "slow": SLOW, "mpi": MPI}[way], (spot, WARM), value)
    return times


@pytest.mark.parametrize("sizes", [[8], [8, 64], [8, 4096, 65536, 1048576]])
def test_ranges_leave_no_gap(sizes):
    found = tune.ranges(sizes, 0, None)
    assert list(found) == sizes and found[sizes[0]][0] == 0 and found[sizes[-1]][1] is None
    for value, after in zip(sizes, sizes[1:], strict=False):
        assert found[value][0] <= value <= found[value][1] == found[after][0] - 1
        assert found[value][1] == math.isqrt(value * after)


def test_no_row_holds_on_both_sides_of_a_line():
    """Messages that fit in a line go in other ways than those that do not."""
    assert tune.ranges([8, 512, 4096], 0, None, split=120) == {8: [0, 120], 512: [121, 1448], 4096: [1449, None]}


@pytest.mark.parametrize(("sizes", "bounds"), [([8, 512], (0, 2048)), ([120], (0, 480)), ([200, 4096], (121, 16384)), ([4096], (1024, 16384))])
def test_rows_hold_only_near_what_was_measured(sizes, bounds):
    assert tune.bounds_of(sizes) == bounds


def test_longer_messages_than_a_line_go_in_other_ways():
    """`tune.LINE` is the payload of a line, as the library says."""
    carriers = [native.query("explain", "allreduce", str(size), "-n", "2", environment=variables.without())[0]["carrier"] for size in (tune.LINE, tune.LINE + 1)]
    assert carriers[0] == "line" != carriers[1]


def test_a_row_needs_a_clear_gain():
    race = a_contest()
    race.times = times_of(default=[1.0, 1.1], fast=[0.98, 1.09], mpi=[2.0])
    assert tune.won_in(race) == []
    race.times = times_of(default=[1.0, 1.1], fast=[0.5, 0.6], mpi=[2.0])
    [won] = tune.won_in(race)
    assert won.way == FAST and won.gain == pytest.approx((1.0 + 1.05) / (0.5 + 0.55))


def test_the_mpi_may_win():
    race = a_contest()
    race.times = times_of(default=[1.0], fast=[0.9], mpi=[0.3])
    rows = tune.rows_of(race, [4096], [2, 4], turns=False)
    assert [(row["run"], row["bytes"], row["ranks"], row["turns"]) for row in rows] == [("mpi", [1024, 16384], [2, 4], False)]


def test_a_row_must_not_slow_down_another_form_of_the_call():
    plain, form = contest.Spot("allgather", 4096), contest.Spot("allgatherv", 4096)
    race = a_contest(spots=[plain])
    for us, rows in ((1.0, 1), (1.0 / tune.LOSS + 0.01, 0)):
        race.times = times_of(plain, default=[1.0], fast=[0.5])
        race.times.merge(times_of(form, default=[1.0], fast=[us]))
        assert len(tune.won_in(race)) == rows


def test_winners_are_measured_with_all_forms_that_follow_their_rows(monkeypatch):
    race, launched = a_contest(spots=[contest.Spot("allgather", 4096), contest.Spot("gather", 4096)]), []

    def launch(self, name, ways, *_, **__):
        launched.append((name, ways))
        return contest.Times()

    monkeypatch.setattr(contest.Contest, "launch", launch)
    monkeypatch.setattr(contest.Contest, "race", lambda *_, **__: None)
    monkeypatch.setattr(contest.Contest, "winner", lambda *_: FAST)
    tune.tune_for(race, quick=True)
    assert {(tuple(spot.call for spot in ways), *set(ways.values())) for _, ways in launched} == {
        (("allgather", "allgatherv", "gather"), FAST), (("allgather", "allgatherv", "gather"), contest.DEFAULT)}  # fmt: skip


def test_all_operations_but_those_among_neighbours_are_raced():
    assert set(bench.OPERATIONS) - set(contest.COLLECTIVES) == {"neighbor_alltoall"}
    assert [contest.PLAIN[its] for its in ("gather", "alltoall", "reduce_scatter")] == ["gather", "alltoall", "reduce_scatter_block"]
    assert [spot.call for spot in contest.Spot("alltoall", 8).followers(FAST)] == ["alltoall", "alltoallv", "alltoallw"]
    assert [spot.call for spot in contest.Spot("alltoall", 8).followers(MPI)] == ["alltoall"]  # no row leaves the others to the MPI
    assert [spot.call for spot in contest.Spot("reduce_scatter_block", 8).followers(MPI)] == ["reduce_scatter_block", "reduce_scatter"]
    with pytest.raises(CopseError, match="neighbor_alltoall"):
        contest.spots_of(["neighbor_alltoall"], [8])


def packed(**ways):
    """Packs the ways of these calls of 4 KiB, and returns the calls of each launch by way."""
    return [{spot.call: str(way) for spot, way in launch.items()} for launch in contest.packed({contest.Spot(call, 4096): among for call, among in ways.items()})]


def test_forms_of_a_call_share_a_launch_only_if_they_go_the_same_way():
    default = contest.DEFAULT
    assert packed(bcast=[default, FAST, SLOW], allgather=[default, FAST]) == [
        {"bcast": "", "allgather": ""}, {"bcast": "flat:slot", "allgather": "flat:slot"}, {"bcast": "chain:slot:4/1024"}]  # fmt: skip
    assert packed(allgather=[default, FAST], allgatherv=[default, FAST]) == [
        {"allgather": "", "allgatherv": ""}, {"allgather": "flat:slot", "allgatherv": "flat:slot"}]  # fmt: skip
    assert packed(allgather=[FAST], allgatherv=[SLOW]) == [{"allgather": "flat:slot"}, {"allgatherv": "chain:slot:4/1024"}]


def test_what_is_forced_holds_for_all_calls_and_sizes_of_a_launch():
    forced = contest.Way("flat:get", forced=True)
    assert packed(gather=[contest.DEFAULT, FAST], gatherv=[contest.DEFAULT, forced], scatterv=[contest.DEFAULT, forced]) == [
        {"gather": "", "gatherv": "", "scatterv": ""}, {"gather": "flat:slot", "scatterv": "flat:get"}, {"gatherv": "flat:get"}]  # fmt: skip
    short, long = contest.Spot("gatherv", 4096), contest.Spot("gatherv", 65536)
    assert contest.packed({short: [forced], long: [forced]}) == [{short: forced, long: forced}]
    assert len(contest.packed({short: [forced], long: [contest.Way("flat:slot", forced=True)]})) == 2


def test_a_launch_makes_only_the_calls_that_it_races(monkeypatch):
    started = []

    def start(self, ranks, program, **ours):
        table = json.loads(pathlib.Path(ours["COPSE_TUNING"]).read_text())
        started.append((program[program.index("--operations") + 1], [row["run"] for row in table["rows"]], ours.get("COPSE_ALGORITHM")))
        return "call,bytes,mode,ranks,batch,calls,us,flag_ns\n"

    monkeypatch.setattr(bench.Side, "start", start)
    monkeypatch.setattr(flavours.Flavour, "program", lambda *_: "program")
    monkeypatch.setattr(bench, "cache_to_miss", lambda asked: 1)
    race = a_contest(spots=[BCAST, contest.Spot("gatherv", 4096)])
    race.launch("row", {BCAST: FAST}, 1, 0.001)
    race.launch("forced", {BCAST: contest.DEFAULT, contest.Spot("gatherv", 4096): contest.Way("flat:get", forced=True)}, 1, 0.001)
    assert started == [("bcast", ["flat:slot"], None), ("bcast,gatherv", [], "gather=flat:get")]


def test_calls_that_ask_no_table_are_forced(monkeypatch):
    monkeypatch.setattr(contest, "candidates", lambda spot, *_: [contest.Way(f"{spot.call}:get"), contest.Way(f"{spot.call}:get", 4096), FAST])
    monkeypatch.setattr(contest, "chosen", lambda *_: FAST)
    race = a_contest()
    assert race._ways(contest.Spot("allgatherv", 4096), 3) == [contest.Way("allgather:get"), contest.Way("allgather:get", 4096)]
    assert race._ways(contest.Spot("gatherv", 4096), 3) == [contest.Way("gather:get", forced=True), contest.Way("flat:slot", forced=True)]


def test_ways_far_behind_leave_the_race_and_the_default_stays():
    race = a_contest()
    race.times = times_of(default=[3.0], fast=[1.0], slow=[1.6])
    each = contest.Round(1, 1, 0.001, 1.5, 5)
    assert race._best(BCAST, [contest.DEFAULT, FAST, SLOW], each) == [contest.DEFAULT, FAST]


def test_a_radix_and_a_fragment_reach_the_row():
    row = contest.row_of(BCAST, SLOW, (0, 8191))
    assert row == {"collective": "broadcast", "bytes": [0, 8191], "run": "chain:slot:4", "fragment": 1024}
    assert str(SLOW) == "chain:slot:4/1024"


def test_an_interrupted_contest_goes_on_where_it_was(tmp_path):
    path, head = tmp_path / "t.json.unfinished", {"machine": "m", "sizes": [8]}
    first = contest.Journal(path, head)
    assert first.launch("one", lambda: [["bcast", 8, "warm", 1.5]]) == [["bcast", 8, "warm", 1.5]]
    with path.open("a") as file:
        file.write('{"launch": "two", "rea')  # cut off in the middle of a line
    again = contest.Journal(path, head)
    assert again.launch("one", lambda: pytest.fail("this was measured before")) == [["bcast", 8, "warm", 1.5]]
    assert again.launch("two", lambda: [["bcast", 8, "warm", 2.5]]) == [["bcast", 8, "warm", 2.5]]
    assert len(path.read_text().splitlines()) == 3
    assert contest.Journal(path, {**head, "sizes": [16]}).known == {}  # another question: nothing of it counts
    again.end()
    assert not path.exists()


def test_the_journal_knows_which_ways_were_measured(monkeypatch):
    race, measured = a_contest(), []

    def measure(self, ways, *_):
        measured.append(dict(ways))
        return [["bcast", 4096, "warm", 1.0]]

    monkeypatch.setattr(contest.Contest, "_measure", measure)
    for way in (FAST, SLOW, FAST):
        race.launch("round 0.0.1", {BCAST: way}, 1, 0.001)
    assert measured == [{BCAST: FAST}, {BCAST: SLOW}]


def test_only_what_was_asked_for_has_samples(monkeypatch):
    """Otherwise the default would have more of them than its rivals, and win by luck."""
    race, other = a_contest(), contest.Spot("bcast", 64)
    monkeypatch.setattr(contest.Contest, "_measure", lambda *_: [["bcast", 4096, "warm", 1.0], ["bcast", 64, "warm", 2.0]])
    assert race.launch("one", {BCAST: FAST}, 1, 0.001).us == {(BCAST, WARM): {FAST: [1.0]}}
    race.spots.append(other)
    assert race.launch("all", race.defaults, 1, 0.001).us == {(spot, WARM): {contest.DEFAULT: [us]} for spot, us in ((BCAST, 1.0), (other, 2.0))}
    race.confirm({BCAST: FAST, other: contest.DEFAULT}, 2, 1, 0.001)
    assert {way: len(us) for ways in race.times.us.values() for way, us in ways.items()} == {FAST: 2, contest.DEFAULT: 2}


def test_what_depends_on_where_ranks_sit_is_not_left_out(monkeypatch):
    monkeypatch.setattr(contest, "numa_regions", lambda: 1)
    assert contest.chosen(BCAST, 2, "direct") is not None
    monkeypatch.setattr(contest, "numa_regions", lambda: 2)
    assert contest.chosen(BCAST, 2, "direct") is None


@pytest.fixture
def no_candidates_known():
    contest.candidates.cache_clear()
    yield
    contest.candidates.cache_clear()


def test_ways_are_priced_on_this_machine(monkeypatch, tmp_path, no_candidates_known):
    asked, measured = [], []

    def query(*arguments, **_):
        asked.append(arguments)
        return [{"algorithm": "flat", "carrier": carrier, "radix": 2, "fragment_bytes": 0, "ns": ns} for carrier, ns in (("slot", 10), ("get", 40))]

    def run_native(*arguments):
        measured.append(arguments)
        return MACHINE

    monkeypatch.setattr(contest.native, "query", query)
    monkeypatch.setattr(contest.calibrate, "run_native", run_native)
    table, journal = tmp_path / "t.json", tmp_path / "journal"
    machine = contest.measured_machine(table, contest.Journal(journal, {}), print)
    assert (tmp_path / "t-machine.json").read_text() == MACHINE and machine == str(tmp_path / "t-machine.json")
    assert contest.candidates(BCAST, 2, "direct", 1, machine) == [FAST], "by prices of this machine, the other way is too far behind"
    assert machine in asked[-1]
    assert contest.candidates(BCAST, 3, "direct") == [FAST, contest.Way("flat:get")] and contest.PRICED_ON in asked[-1]
    assert contest.measured_machine(table, contest.Journal(journal, {}), print) == machine and len(measured) == 1, "an interrupted run goes on"
    assert contest.measured_machine(table, contest.Journal(journal, {"other": 1}), print) == machine and len(measured) == 2


def test_a_machine_that_cannot_be_measured_is_no_reason_to_stop(monkeypatch, tmp_path):
    def run_native(*_):
        raise CopseError("no second processor", "try again")

    said = []
    monkeypatch.setattr(contest.calibrate, "run_native", run_native)
    assert contest.measured_machine(tmp_path / "t.json", contest.Journal(None, {}), said.append) == ""
    assert len(said) == 1 and "no second processor" in said[0]


def test_cells_learn_for_as_long_as_was_asked(monkeypatch):
    asked = []

    def measure(self, ways, batches, seconds, ours):
        asked.append((batches * seconds, seconds, ours["COPSE_LEARN"]))
        return [["bcast", 4096, "warm", float(us)] for us in range(batches)]

    monkeypatch.setattr(contest.Contest, "_measure", measure)
    for seconds in (1, 30):
        times = regret._learned(a_contest(), seconds)
        whole, batch, learns = asked.pop()
        assert whole == pytest.approx(seconds) and batch <= regret.LEARN_SECONDS and learns == "1"
        last = times.us[BCAST, WARM][contest.DEFAULT]
        assert min(last) > 0 and len(last) == math.ceil(seconds / batch / 4)


def test_a_table_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "table.json"
    contest.write_table(path, [{"collective": "barrier", "run": "mpi"}], machine="here")
    before = path.read_text()
    assert json.loads(before)["rows"] == [{"collective": "barrier", "run": "mpi"}]
    with pytest.raises(TypeError):
        contest.write_table(path, [{"collective": object()}])
    assert path.read_text() == before and list(tmp_path.iterdir()) == [path]


def test_what_is_no_slower_than_the_best_has_no_regret():
    cell = regret.Regret(2, 1, False, "bcast", 4096, "warm", "flat:slot", best_us=2.0, default_us=3.0, tuned_us=1.9, learned_us=None)
    assert [value(cell) for value in regret.CHOICES.values()] == [1.5, 1.0, None]


def test_the_default_and_a_table_are_judged_alike(monkeypatch):
    """Whichever side is the fastest has the regret 1, also if it runs what the other runs. What was not raced has no regret."""
    unraced = contest.Spot("bcast", 64)
    us = {"winners": 2.0, "default": 1.2, "tuned": 1.0}

    def launch(self, name, ways, *_, **__):
        times = contest.Times()
        for spot in ways:
            times.add(ways[spot], (spot, WARM), next(value for word, value in us.items() if word in name))
        return times

    monkeypatch.setattr(contest.Contest, "launch", launch)
    monkeypatch.setattr(contest.Contest, "race", lambda self, *_, **__: self.times.merge(times_of(fast=[1.0], default=[1.1])))
    [cell] = regret.measure(a_contest().side, 2, [BCAST, unraced], (WARM,), True, pathlib.Path("table.json"), 0, print)
    assert cell.bytes == BCAST.bytes and cell.best == "the table" and cell.best_us == 1.0
    assert [value(cell) for value in regret.CHOICES.values()] == [1.2, 1.0, None]


def a_cell(heap, size, us, mode=WARM, tuned=None):
    return regret.Regret(2, 1, heap, "bcast", size, mode, "flat:slot", 1.0, us, tuned, None)


SETTINGS = regret.Settings("0f0f", "MPICH", "a processor", 2, False, False, "", 0.0, 32, 0, 0)
PART = {"commit": ", commit 1", "on": "2026-11-30", "command": "copse bench --regret --mode cold"}


def test_regret_is_told_for_each_situation():
    part = regret.part_of("copse bench --regret")
    cells = [a_cell(False, 8, 1.0), a_cell(False, 64, 4.0), a_cell(True, 8, 1.0)]
    text = regret.section([regret.stored(SETTINGS, part, cell) for cell in cells], part, "MPICH", " The table is old.")
    assert "| 2 | without the heap | default | 2.000 | 1.15 | 4.00 (bcast 64 B warm) | 2 |" in text
    assert "| 2 | with the heap | default | 1.000 | 1.15 | 1.00 (bcast 8 B warm) | 1 |" in text
    assert " MPICH. The table is old.\n" in text


def test_parts_of_the_same_settings_make_one_table(tmp_path):
    store, now = tmp_path / "regret.csv", regret.part_of("copse bench --regret --mode warm")
    tuned = regret.Settings(**{**vars(SETTINGS), "table": "1234"})
    regret.keep(store, [regret.stored(SETTINGS, PART, a_cell(False, 8, 4.0, "cold")), regret.stored(tuned, PART, a_cell(False, 8, 9.0))])
    regret.keep(store, [regret.stored(SETTINGS, now, a_cell(False, 8, us)) for us in (3.0, 2.0)])  # the later one counts
    lines = regret.alike(regret.lines_in(store), SETTINGS)
    assert [regret.cell_of(line) for line in lines] == [a_cell(False, 8, 4.0, "cold"), a_cell(False, 8, 2.0)]
    assert [regret.cell_of(line) for line in regret.alike(regret.lines_in(store), tuned)] == [a_cell(False, 8, 9.0)]
    text = regret.section(lines, now, "MPICH", "")
    assert "Parts of it were measured by `copse bench --regret --mode cold` on 2026-11-30, commit 1.\n" in text and "| 2.828 |" in text
    store.write_text("buy,milk\n")
    with pytest.raises(CopseError, match="other columns"):
        regret.lines_in(store)


def test_a_resumed_part_measures_what_is_missing():
    side, barrier, longer = SimpleNamespace(preload=("libcopse-mpi-mpich.so",)), contest.Spot("barrier", 0), contest.Spot("bcast", 65536)
    known = [a_cell(False, 4096, 1.0), a_cell(False, 4096, 1.0, "cold"), a_cell(False, 65536, 1.0), regret.Regret(2, 1, False, "barrier", 0, WARM, "", 1, 1, None, None)]
    spots = [barrier, BCAST, longer]
    assert regret.missing(known, side, 2, spots, bench.MODES) == [longer]
    assert regret.missing(known, side, 2, spots, (WARM,)) == []
    assert regret.missing(known, side, 8, spots, bench.MODES) == spots


def copse(*arguments, **options):
    command = [paths.ROOT / "build/bin/copse", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)


def test_a_real_table_can_be_used(tmp_path, native):
    table = tmp_path / "table.json"
    done = copse("tune", "--quick", "--ranks", "2", "--calls", "bcast,barrier", "--sizes", "4K,64K", "--busy", "--output", table)
    assert done.returncode == 0, done.stderr
    made = json.loads(table.read_text())
    assert made["schema"] == contest.SCHEMA and made["mpi"] == "mpich"
    for row in made["rows"]:
        assert row["collective"] in ("broadcast", "barrier") and "times as fast as the default" in row["because"]
    explained = native("explain", "broadcast", "4K", "-n", "2", env={"COPSE_TUNING": str(table), "PATH": "/usr/bin"})
    assert explained.returncode == 0, explained.stdout + explained.stderr
    assert list(tmp_path.iterdir()) == [table]


def test_a_tuning_that_is_stopped_leaves_no_table(tmp_path):
    table = tmp_path / "table.json"
    command = [paths.ROOT / "build/bin/copse", "tune", "--ranks", "2", "--calls", "bcast", "--sizes", "4K", "--busy", "--output", table]
    job = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    unfinished = tmp_path / "table.json.unfinished"
    end = time.monotonic() + 120
    while job.poll() is None and time.monotonic() < end and not (unfinished.exists() and len(unfinished.read_text().splitlines()) > 1):
        time.sleep(0.05)
    job.send_signal(signal.SIGTERM)
    assert job.wait(60) != 0
    assert not table.exists() and len(unfinished.read_text().splitlines()) > 1


@pytest.mark.parametrize(("processors", "counts"), [(1, [2, 8]), (2, [2, 8]), (16, [2, 8, 16, 64]), (48, [2, 8, 32, 48]), (256, [2, 8, 32, 64])])
def test_the_numbers_of_ranks_on_any_machine(processors, counts):
    assert tune.rank_counts(processors, quick=False) == counts


def test_what_does_not_fit_in_memory_is_left_out(run):
    """The benchmark leaves a cell out if it is asked to, and the race then has no times there."""
    flavour = flavours.find("mpich")
    program = [flavour.program(bench.SOURCE), "--operations", "alltoall", "--sizes", "8", "--cache", "100000000", "--batches", "1", "--seconds", "0.001"]
    refused, fitting = (run(flavour.command(2, [*program, *more]), env=flavour.environment()) for more in ([], ["--fitting"]))
    assert refused.returncode != 0 and "more than half of this machine's memory" in refused.stderr, refused.stderr
    rows = [line.split(",")[:3] for line in fitting.stdout.splitlines() if line.startswith("alltoall")]
    assert fitting.returncode == 0 and rows == [["alltoall", "8", "warm"]], fitting.stdout + fitting.stderr


def test_wrong_words_are_told(tmp_path):
    assert "there is no call 'alltoallw'" in copse("tune", "--calls", "alltoallw").stderr
    assert "one rank has nothing to choose" in copse("tune", "--ranks", "1").stderr
    assert "run: copse tune" in copse("bench", "--regret", "--table", tmp_path / "none.json").stderr
    assert f"{tmp_path} is a folder" in copse("tune", "--output", tmp_path).stderr
    (tmp_path / "notes").write_text("buy milk")
    assert "is not a tuning table" in copse("tune", "--output", tmp_path / "notes").stderr
    assert (tmp_path / "notes").read_text() == "buy milk"
    assert "unset COPSE_ALGORITHM" in copse("tune", env={**os.environ, "COPSE_ALGORITHM": "bcast=flat"}).stderr


def test_a_table_that_ranks_would_refuse_is_not_compared(tmp_path):
    notes, foreign = tmp_path / "notes.txt", tmp_path / "foreign.json"
    notes.write_text("buy milk")
    contest.write_table(foreign, [{"collective": "barrier", "run": "tree:line"}], machine="a machine of dreams")
    assert "this is not JSON" in copse("bench", "--regret", "--table", notes).stderr
    assert "made for another machine" in copse("bench", "--regret", "--table", foreign).stderr


def test_a_real_regret(tmp_path):
    arguments = ["--regret", "--quick", "--operations", "bcast", "--sizes", "4K", "--ranks", "2", "--mode", "warm", "--against", "mpich", "--busy", "--output", tmp_path]
    done = copse("bench", *arguments)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "regret.csv").open(newline="") as file:
        cells = [regret.cell_of(line) for line in csv.DictReader(file)]
    assert {(cell.call, cell.bytes, cell.mode, cell.heap) for cell in cells} == {("bcast", 4096, "warm", heap) for heap in (False, True)}
    assert all(cell.default_us > 0 and cell.best_us <= cell.default_us for cell in cells)
    assert "regret, default, 2 ranks, without the shared heap: mean" in done.stdout
    again = copse("bench", *arguments, "--resume")
    assert again.returncode == 0 and "0 cells in" in again.stderr and again.stdout == done.stdout, again.stderr


def test_calls_of_unknown_sizes_are_raced(tmp_path):
    """Those that no row of a table decides about run by each algorithm that can be forced, and give right data."""
    calls = ["gatherv", "allgatherv", "alltoallv", "reduce_scatter"]
    arguments = ["--regret", "--quick", "--operations", ",".join(calls), "--sizes", "4K", "--ranks", "2", "--mode", "warm", "--against", "mpich", "--no-heap", "--busy"]
    done = copse("bench", *arguments, "--output", tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "regret.csv").open(newline="") as file:
        assert {line["call"] for line in csv.DictReader(file)} == {*calls}


@pytest.mark.full
@pytest.mark.parametrize("name", durations.COMMANDS)
def test_measuring_and_tuning_end_in_time(name):
    """Others on this machine may stretch the time by what they take of the processors (bench/durations.py)."""
    environment = os.environ | {"PYTHONPATH": str(paths.ROOT / "faces/python")}
    command = [sys.executable, paths.ROOT / "bench/durations.py", "--only", name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60 + durations.TIMEOUT * durations.COMMANDS[name][1])
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_documents_say_what_counts():
    tuning, measurements, machines = (" ".join((paths.ROOT / "docs" / name).read_text().split()) for name in ("tuning.md", "measurements.md", "machines.md"))
    assert f"at least {100 * (tune.GAIN - 1):.0f} % faster" in tuning and f"more than {100 * (1 - tune.LOSS):.0f} % slower" in tuning
    goals = regret.GOALS
    assert f"{goals['default']:.2f} for the default without learning, {goals['learned']:.2f} after learning, and {goals['tuned']:.2f} with a table" in measurements
    assert f"at most {regret.WORST_GOAL}." in measurements
    assert f"slower than {readme.TUNED_GOAL} of the fastest bare MPI with a table, and none slower than {bench_report.SLOWER} after learning" in measurements
    assert f"below {100 * calibrate.AIMS[False]:.0f} %, and below {100 * calibrate.AIMS[True]:.0f} % where ranks take turns" in machines


def test_a_busy_machine_may_take_longer():
    assert durations.allowed(20, 0) == 20 and durations.allowed(20, 0.5) == 40 and durations.allowed(20, 1) < 1000
