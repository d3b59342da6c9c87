"""`copse bench`: what it reads, what it computes, and one real measurement under every MPI that it compares by default.
"""

import csv
import dataclasses
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from copse import bench, bench_report, flavours, ft, native, overlap, paths, quiet, readme, regret, tables, upc_bench, upc_suite, upc_uoms
from copse.errors import CopseError

sys.path.insert(0, str(paths.ROOT / "bench"))
import busy  # noqa: E402
import communicators  # noqa: E402
import solvers  # noqa: E402

GRID = bench.Grid(operations=("barrier", "bcast"), sizes=(8, 4096), modes=("warm",), batches=1, launches=1)
OPERATIONS = ("barrier", "bcast", "allgather", "alltoallw")
IMB_OUTPUT = """
#----------------------------------------------------------------
# Benchmarking Barrier
# #processes = 2
#----------------------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         0.80         0.81         0.80
# Benchmarking Bcast
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8         1000         0.10         0.43         0.30
         4096         1000         0.90         1.62         1.10
        65536           -1         time-out.
# All processes entering MPI_Finalize
"""


class Printing:
    """A side that prints a given text."""

    def __init__(self, text):
        self.text = text

    def start(self, ranks, program):
        return self.text


def test_of_imb_the_slowest_rank_counts():
    readings = list(bench.measure_imb(Printing(IMB_OUTPUT), 2, GRID))
    assert readings == [
        ("barrier", 0, "warm", 0, 0.81, 0.0),
        ("bcast", 8, "warm", 0, 0.43, 0.0),
        ("bcast", 4096, "warm", 0, 1.62, 0.0),
    ]


def samples_of(side, *times, size=8, call="bcast"):
    return [bench_report.Sample("own", 2, side, 0, call, size, "warm", i, us) for i, us in enumerate(times)]


def sides():
    found = [flavours.find(name) for name in ("mpich", "openmpi")]
    return [*map(bench.Side, found), bench.Side(found[0], ("libcopse-mpi-mpich.so",))]


def test_ratios_are_of_the_best_peer():
    samples = samples_of("mpich", 4, 8, 9) + samples_of("openmpi", 6, 6, 6) + samples_of("mpich+copse", 2, 3, 4)
    rows = {row.side: row for row in bench_report.summarise(samples, sides())}
    copse = rows["mpich+copse"]
    assert (copse.min_us, copse.median_us) == (2, 3)
    assert (copse.ratio_min, copse.ratio_median) == (4 / 2, 6 / 3)  # mpich is best by minimum, openmpi by median
    assert rows["mpich"].ratio_min is None and rows["openmpi"].peer


def test_a_side_that_was_measured_more_often_has_no_more_luck():
    samples = samples_of("mpich", 4, 8) + samples_of("mpich+copse", 3, 5, 1)
    rows = {row.side: row for row in bench_report.summarise(samples, sides())}
    assert (rows["mpich+copse"].min_us, rows["mpich+copse"].batches, rows["mpich"].batches) == (3, 2, 2)
    again = [dataclasses.replace(sample, launch=1, us=sample.us - 2) for sample in samples if sample.side == "mpich+copse"]
    rows = {row.side: row for row in bench_report.summarise(samples + again, sides())}
    assert (rows["mpich+copse"].min_us, rows["mpich+copse"].median_us) == (1, 2)  # the first batch of each launch, 3 and 1


@pytest.mark.parametrize(("sizes", "mebibytes"), [({"l2": 1 << 20, "l3": 8 << 20}, 20), ({"l2": 1 << 20}, 4), ({}, 32)])
def test_cold_calls_must_miss_all_caches(monkeypatch, sizes, mebibytes):
    machine = {"counts": {"l2": 4, "l3": 2}, "cache_bytes": sizes}
    monkeypatch.setattr(bench.native, "query", lambda *_, **__: {"machine": machine})
    bench.caches.cache_clear()
    try:
        assert bench.caches() == mebibytes << 20
        assert bench.cache_to_miss(0) == mebibytes and bench.cache_to_miss(7) == 7
    finally:
        bench.caches.cache_clear()


def test_batches_of_another_state_of_the_machine_do_not_count():
    near, far = (bench_report.Sample("own", 2, "mpich", 0, "bcast", 8, "warm", i, us, ns) for i, (us, ns) in enumerate([(1, 50), (4, 400)]))
    alone = bench_report.Sample("own", 2, "mpich+copse", 0, "bcast", 8, "warm", 0, 1, 50)
    assert bench_report.of_one_state([near, far, alone], 380) == ([far, alone], False)  # that side has no other figure
    assert bench_report.of_one_state([near, far], 380) == ([far], True)
    assert bench_report.of_one_state([near, far], 0) == ([near, far], True)


def test_a_launch_in_another_state_of_the_machine_is_taken_again(monkeypatch):
    flags, said = iter([400, 400, 120, 110, *[400] * bench.TRIES, 110]), []

    def measure(side, ranks, grid, flag_ns):
        yield "bcast", 8, "warm", 0, 1.0, next(flags)

    monkeypatch.setitem(bench.PROGRAMS, "own", measure)
    monkeypatch.setattr(bench, "usual_flag", lambda side, ranks: 115)
    monkeypatch.setattr(quiet.Times, "now", lambda: quiet.Times(0, 0, processors=1))  # nobody disturbs
    one_launch = bench.Grid(("bcast",), (8,), ("warm",), batches=1, launches=1)
    kept = bench.take_samples("own", sides(), 2, one_launch, said.append, quiet.Patience(0, said.append))
    assert [s.flag_ns for s in kept] == [120, 110, *[400] * bench.TRIES]  # the third side finds no other state
    assert next(flags) == 110
    assert "try again" in said[-1]


def test_figures_of_a_busy_machine_are_taken_once(monkeypatch):
    flags = iter([400, 120, 110])
    monkeypatch.setitem(bench.PROGRAMS, "own", lambda side, ranks, grid, flag_ns: [("bcast", 8, "warm", 0, 1.0, next(flags))])
    monkeypatch.setattr(bench, "usual_flag", lambda side, ranks: pytest.fail("the state of a busy machine is of no use"))
    patience = quiet.Patience(0, print, limit=1)
    kept = bench.take_samples("own", sides(), 2, bench.Grid(("bcast",), (8,), ("warm",), 1, 1), print, patience)
    assert [s.flag_ns for s in kept] == [400, 120, 110]


def measured_beside(monkeypatch, shares, seconds):
    """Takes one launch of one side while others have these shares of the processors, in turn. A launch or a glance takes a second.

    Returns the samples that count, what was said, and the shares that were not looked at."""
    shares, said, clock = iter(shares), [], [0.0, 0.0]

    def look():
        return quiet.Times(clock[0], clock[1], processors=1)

    def pass_a_second(_seconds=1.0):
        clock[0] += 1
        clock[1] += next(shares)

    def measure(side, ranks, grid, flag_ns):
        pass_a_second()
        yield "bcast", 8, "warm", 0, 1.0, 0.0

    monkeypatch.setitem(bench.PROGRAMS, "own", measure)
    monkeypatch.setattr(bench, "usual_flag", lambda side, ranks: 0)
    monkeypatch.setattr(quiet.Times, "now", look)
    monkeypatch.setattr(quiet.time, "sleep", pass_a_second)
    patience = quiet.Patience(seconds, said.append, now=look)
    one_launch = bench.Grid(("bcast",), (8,), ("warm",), batches=1, launches=1)
    return bench.take_samples("own", sides()[:1], 2, one_launch, said.append, patience), said, [*shares]


def test_a_launch_beside_others_is_taken_again_when_they_are_quiet(monkeypatch):
    kept, said, left = measured_beside(monkeypatch, [0.5, 0.3, 0.2, 0.01, 0.02], 60)  # a launch, three glances, a launch
    assert [s.others for s in kept] == [pytest.approx(0.02)] and left == []
    assert any("others take 30%" in line for line in said) and "up to 50%" in said[-1]


def test_a_cell_that_was_always_disturbed_has_no_figure(monkeypatch):
    kept, said, left = measured_beside(monkeypatch, [0.5, 0.3, 0.4, 0.6], 2)  # patience ends with the second glance
    assert kept == [] and left == [0.6]
    assert "1 of 1 figures are missing" in said[-1] and "--patience" in said[-1] and "--busy" in said[-1]


def test_a_busy_program_is_seen():
    processors = len(os.sched_getaffinity(0))  # enough programs for a tenth of them
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(0, processors, 10)]
    try:
        before = quiet.Times.now()
        time.sleep(1)
        assert quiet.Times.now().share_of_others_since(before) > quiet.LIMIT
        said = []
        assert not quiet.Patience(1, said.append).wait() and "this machine is busy" in said[0]
    finally:
        for program in busy:
            program.kill()
            program.wait()


def test_programs_of_its_own_are_no_others(monkeypatch):
    def times():
        """Returns the processor time of all, and of others."""
        with monkeypatch.context() as nothing_is_own:
            nothing_is_own.setattr(quiet.resource, "getrusage", lambda _who: SimpleNamespace(ru_utime=0, ru_stime=0))
            everybody = quiet.Times.now().others
        return everybody, quiet.Times.now().others

    before = times()
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 1: pass"], check=True)
    everybody, others = (after - earlier for after, earlier in zip(times(), before, strict=True))
    assert everybody - others > 0.9


def test_a_wide_spread_is_told():
    rows = bench_report.summarise(samples_of("mpich", 1, 3, 3) + samples_of("openmpi", 6, 6, 7), sides())
    assert "in 1 of 2 figures" in bench_report.spread(rows) and "mpich" in bench_report.spread(rows)
    assert bench_report.spread(rows[1:]) == ""


def test_a_cell_that_no_peer_finished_has_no_ratio():
    rows = bench_report.summarise(samples_of("mpich+copse", 2), sides())
    assert [(row.ratio_min, row.peer) for row in rows] == [(None, False)]
    assert bench_report.geometric_means(rows) == []


def test_means_are_geometric_and_name_the_worst_cell():
    samples = samples_of("mpich", 8) + samples_of("mpich+copse", 1)
    samples += samples_of("mpich", 1, size=4096) + samples_of("mpich+copse", 2, size=4096)
    samples += samples_of("mpich", 3, call="gather") + samples_of("mpich+copse", 1, call="gather")
    rows = bench_report.summarise(samples, sides())
    means = {(m["operation"], m["mode"]): m for m in bench_report.geometric_means(rows)}
    bcast, every = means["bcast", "all"], means["all", "all"]
    assert bcast["ratio_min"] == pytest.approx(2)  # the mean of 8 and 0.5
    assert (bcast["worst"], bcast["worst_cell"], bcast["slower"]) == (0.5, "bcast 4 KiB warm", 1)
    assert every["ratio_min"] == pytest.approx(12 ** (1 / 3)) and every["cells"] == 3
    [verdict] = bench_report.verdicts(list(means.values()))
    assert verdict == "mpi_collectives, 2 ranks, best bare MPI / Copse: mpich+copse 2.29, slower in 1 of 3 cells"


def test_the_readme_gives_a_line_for_each_operation():
    samples = samples_of("mpich", 8) + samples_of("mpich+copse", 1)
    samples += samples_of("mpich", 1, size=4096) + samples_of("mpich+copse", 2, size=4096)
    result = {"mpi": {"mpich": "MPICH 5"}, "time": "2026-11-21T10", "machine": {"processor": "P", "usable_cores": 2, "kernel": "K"},
              "samples": [{"flag_ns": 0, "others": 0.0}, {"flag_ns": 120, "others": 0.4}]}  # fmt: skip
    text = readme.section(bench_report.summarise(samples, sides()), result, "bench --own")
    assert "others had up to 40% of its processors" in text
    assert "A flag took 120 ns" in text
    assert "| bcast | 2 | 2.00, worst 0.50 (4 KiB warm) | - |" in text
    assert "| bcast | 8 B | warm | 8.00 mpich | 1.00 (8.00) | - |" in text
    assert "- Copse: geometric mean 2.00 over 2 cells; 1 of them slower than 0.95, the worst 0.50." in text


def test_the_readme_compares_ways_to_choose(tmp_path):
    table, plain = tmp_path / "table.json", tmp_path / "plain.json"
    table.write_text('{"made": {"by": "copse tune", "on": "2026-11-30", "mpi": "MPICH 5", "seconds": 412}}')
    plain.write_text("{}")
    samples = samples_of("mpich", 8) + samples_of("mpich+copse untuned", 8.9) + samples_of("mpich+copse learning", 8.3) + samples_of("mpich+copse tuned", 4)
    rows = bench_report.summarise(samples + samples_of("mpich+copse+heap tuned", 2), sides())
    result = {"mpi": {"mpich": "MPICH 5"}, "time": "2026-11-21T10", "machine": {"processor": "P", "usable_cores": 2, "kernel": "K"},
              "samples": [{"flag_ns": 0, "others": 0.0}], "tables": [str(table), str(plain)], "learning": 4.0}  # fmt: skip
    text = readme.glance(rows, result, "bench --own")
    assert "| slower than 0.95 | slower than 0.97 |" in text
    assert "| 2 | Copse, untuned | 0.90 | 1 | 1 | 1 | 0.90 (bcast 8 B warm) |" in text
    assert "| 2 | Copse, learning | 0.96 | 1 | 0 | 1 | 0.96 (bcast 8 B warm) |" in text
    assert "| 2 | Copse with the shared heap, tuned | 4.00 | 1 | 0 | 0 | 4.00 (bcast 8 B warm) |" in text
    assert "three quarters of 4 s" in text and text.count("The table for") == 1 and "made by `copse tune` on 2026-11-30 in 412 s." in text
    text = readme.section(rows, result, "bench --own")
    assert "| bcast | 8 B | warm | 8.00 mpich | 8.90 (0.90) | - | 8.30 (0.96) | - | 4.00 (2.00) | 2.00 (4.00) |" in text
    assert "- Copse, learning: geometric mean 0.96 over 1 cells; 0 of them slower than 0.95, 1 of them slower than 0.97, the worst 0.96." in text


def test_each_mpi_has_its_own_table(monkeypatch, tmp_path):
    monkeypatch.setattr(regret, "require_table", lambda table: None)
    found, files = [flavours.find(name) for name in ("mpich", "openmpi")], []
    for name in ("mpich", "openmpi"):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps({"mpi": name}))
    assert bench.choices_of(found, [], 0) == {}
    choices = bench.choices_of(found, files, 2)
    assert [choice.name for choice in choices["mpich"]] == ["untuned", "learning", "tuned"] and choices["mpich"][1].seconds == 2
    tuned = {name: dict(of_flavour[2].variables) for name, of_flavour in choices.items()}
    assert tuned == {name: {"COPSE_LEARN": "0", "COPSE_TUNING": str(tmp_path / f"{name}.json")} for name in ("mpich", "openmpi")}
    with pytest.raises(CopseError, match="no table is for openmpi.*copse tune --mpi openmpi"):
        bench.choices_of(found, files[:1], 0)
    with pytest.raises(CopseError, match="are tables for the same MPI"):
        bench.choices_of(found, [*files, files[0]], 0)
    with pytest.raises(CopseError, match="openmpi.json is for openmpi, which is not compared"):
        bench.choices_of(found[:1], files, 0)
    names = [side.name for side in bench.make_sides(found[:1], False, None, choices)]
    assert names == ["mpich", "mpich+copse untuned", "mpich+copse learning", "mpich+copse tuned"]


def test_what_was_learned_counts_and_not_the_learning(monkeypatch):
    started = []

    def start(self, ranks, program, **ours):
        arguments = dict(zip(program[1::2], program[2::2], strict=True))
        started.append((arguments["--operations"], int(arguments["--batches"])))
        call, batches = arguments["--operations"].split(",")[-1], int(arguments["--batches"])
        rows = [f"{call},{size},warm,2,{batch},9,{batch}.5,0" for size in (8, 4096) for batch in range(batches)]
        return "\n".join(["# rings", "call,bytes,mode,ranks,batch,calls,us,flag_ns", *rows])

    monkeypatch.setattr(bench.Side, "start", start)
    monkeypatch.setattr(flavours.Flavour, "program", lambda *_: "program")
    monkeypatch.setattr(bench, "cache_to_miss", lambda asked: 1)
    side = bench.Side(flavours.find("mpich"), ("libcopse-mpi-mpich.so",), choice=bench.Choice("learning", (), 80 * bench.BATCH_SECONDS))
    readings = [reading for part in bench.parts_of(GRID, side) for reading in bench.measure_own(side, 2, part)]
    assert started == [("barrier", 80), ("bcast", 80)]
    assert [reading[3] for reading in readings] == 4 * list(range(60, 80))
    bare = bench.Side(side.flavour)
    assert bench.parts_of(GRID, bare) == [GRID]
    assert len([*bench.measure_own(bare, 2, GRID)]) == 2 and started[-1] == ("barrier,bcast", 1)


def test_sizes_and_times_read_well():
    assert bench.chosen_numbers("8,4K,1M", "size", 8, suffixes=True) == (8, 4096, 1 << 20)
    assert [bench_report.size_text(size) for size in (0, 8, 4096, 1 << 20)] == ["", "8 B", "4 KiB", "1 MiB"]
    assert [bench_report.time_text(us) for us in (0.0431, 1.5, 12.34, 4207.6)] == ["0.0431", "1.50", "12.3", "4208"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--operations", "bcst"], ["bcst", "bcast", "alltoallw"]),
        (["--sizes", "8,12"], ["12", "multiples of 8"]),
        (["--ranks", "0"], ["0", "2,8"]),
        (["--against", "lam"], ["lam", "openmpi"]),
        (["--imb", "--against", "openmpi"], ["MPICH", "--against"]),
        (["--imb", "--against", "mpich", "--operations", "gather,scan"], ["scan", "--own"]),
        (["--table", "tuning.json"], ["tuning.json", "copse tune"]),
        (["--regret", "--table", "a", "--table", "b"], ["one table", "--table a"]),
        (["--imb", "--against", "mpich", "--learning", "1"], ["--learning", "--own"]),
        (["--resume"], ["--resume", "--regret"]),
        (["--suite"], ["--suite", "--upc"]),
        (["--overlap", "--batches", "2"], ["--batches", "--overlap"]),
        (["--overlap", "--ranks", "1"], ["alone", "--ranks 2"]),
        (["--overlap", "--ranks", "2,3"], ["one number of ranks", "--ranks 2"]),
        (["--overlap", "--compute", "0"], ["no computation", "--compute 50"]),
        (["--overlap", "--document", "absent.md"], ["absent.md", "collective-processors.md"]),
        (["--document", "README.md"], ["--document", "--overlap"]),
        (["--upc", "--quick"], ["--quick", "--upc"]),
        (["--regret", "--launches", "2"], ["--launches", "--regret"]),
        (["--regret", "--against", "mpich,impi"], ["one MPI", "--against mpich"]),
        (["--output", "/dev/null"], ["/dev/null", "--output"]),
        (["--own", "--readme", "absent.md"], ["absent.md", "README.md"]),
    ],
)
def test_mistakes_are_named_with_their_remedy(copse, arguments, words):
    done = copse("bench", *arguments)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert all(word in done.stderr for word in words)


def test_what_was_measured_before_a_failure_is_kept():
    def parts():
        yield ["one"]
        yield ["two"]
        raise CopseError("three failed", "try again")

    samples, failure = bench.until_failure(parts())
    assert samples == ["one", "two"] and "three failed" in str(failure)
    assert bench.until_failure([["one"]]) == (["one"], None)


def test_a_failing_side_says_what_to_try():
    side = bench.Side(flavours.find("mpich"))
    with pytest.raises(CopseError, match="exit code 3.*try: .*mpiexec"):
        side.start(2, ["sh", "-c", "exit 3"])


@pytest.mark.parametrize(
    "operation, arguments, buffer, complaint",
    [
        ("bcast", "b, n, t, r, c", "b", "rank 1 of 2: element 63 is 65, expected 64"),
        ("alltoallv", "a, b, c, d, r, f, g, h, i", "r", "rank 0 of 2: element 63 is 65, expected 64"),
        ("reduce_scatter", "s, r, n, t, o, c", "r", "rank 0 of 2: element 63 is 193, expected 192"),
    ],
)
def test_wrong_data_ends_the_mpi_benchmark(run, compile_mpi, operation, arguments, buffer, complaint):
    mpi, call = flavours.find("mpich"), f"MPI_{operation.capitalize()}({arguments})"
    wrong = f"#define {call} ({call}, ((double*)({buffer}))[63] += 1)\n"
    program = compile_mpi(mpi, f'#include <mpi.h>\n{wrong}#include "{bench.SOURCE}"\n')
    command = [program, "--operations", operation, "--sizes", "512", "--batches", "1"]
    done = run(mpi.command(2, command), env=mpi.environment())
    assert done.returncode == 1
    assert f"{operation} of 512 bytes (warm) on {complaint}" in done.stderr


def test_every_operation_of_the_benchmark_runs_and_checks_its_data(run, compile_mpi):
    mpi = flavours.find("impi")
    program = compile_mpi(mpi, bench.SOURCE.read_text())
    command = [program, "--operations", ",".join(bench.OPERATIONS), "--sizes", "8,4104", "--seconds", "0.001", "--cache", "32"]
    done = run(mpi.command(3, [*command, "--batches", "1"]), env=mpi.environment())
    assert done.returncode == 0, done.stderr
    measured = {tuple(line.split(",")[:3]) for line in done.stdout.splitlines()}
    assert {(o, s, m) for o in bench.OPERATIONS[1:] for s in ("8", "4104") for m in bench.MODES} <= measured
    assert ("barrier", "0", "warm") in measured and len(bench.OPERATIONS) == 18


def test_every_mpi_is_measured_and_written(copse, tmp_path):
    table, cells = tmp_path / "README.md", tmp_path / "docs" / "measurements.md"
    begin, end = "<!-- peers:begin -->", "<!-- peers:end -->"
    cells.parent.mkdir()
    for document in table, cells:
        document.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
    done = copse("bench", "--own", "--quick", "--sizes", "8", "--ranks", "2", "--no-heap", "--cache", "32", "--busy",
                 "--operations", ",".join(OPERATIONS), "--output", tmp_path, "--readme", table)  # fmt: skip
    assert done.returncode == 0, done.stderr
    for document in table, cells:
        before, *lines, after = document.read_text().splitlines()
        assert (before, lines[0], lines[-1], after) == ("before", begin, end, "after") and "old" not in lines
        assert "--readme README.md`" in lines[1] and str(table) not in lines[1]
    assert re.search(rf"^\| 2 \| Copse \| [\d.]+ \| {2 * len(OPERATIONS) - 1} \| \d+ \| [\d.]+ \(\w+", table.read_text(), re.MULTILINE)
    assert {operation for operation in OPERATIONS if any(line.startswith(f"| {operation} | ") for line in lines)} == {*OPERATIONS}
    result = json.loads((tmp_path / "results.json").read_text())
    assert result["schema"] == bench_report.SCHEMA
    cells = {(row["side"], row["call"], row["mode"]) for row in result["summary"]}
    for name in bench.PEERS:
        assert {(name, "barrier", "warm")} | {
            (name, call, mode) for call in OPERATIONS[1:] for mode in bench.MODES
        } <= cells
    with (tmp_path / "samples.csv").open() as file:
        assert all(float(row["us"]) > 0 for row in csv.DictReader(file))
    for picture in ("mpi_collectives-2.png", "mpi_collectives-2-ratios.png"):
        assert (tmp_path / picture).stat().st_size > 1000
    assert {"allgather", "all"} <= {mean["operation"] for mean in result["geometric_means"]}


NEEDS_TWO = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a helper needs a processor of its own")


@NEEDS_TWO
def test_overlap_is_measured_for_every_way(copse, tmp_path):
    """The command itself fails if a helper makes no calls."""
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- overlap:begin -->\n<!-- overlap:end -->\nafter\n")
    done = copse("bench", "--overlap", "--quick", "--against", "mpich", "--compute", "5", "--output", tmp_path, "--document", page)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "overlap.json").read_text())["results"]["8"]
    threads = sorted({len(os.sched_getaffinity(0)) - 1, 2})
    of_library = [way.title for count in threads for way in overlap.ways_of_threads(count)]
    of_mpi = ["mpich", "mpich, its own thread", "mpich+copse", "mpich+copse, COPSE_PROGRESS=thread", "mpich+copse, a helper"]
    assert list(rows) == [*of_mpi, *of_library] and f"C library, {threads[0]} thread" in of_library[0]
    assert [title for title, row in rows.items() if row["helpers"]] == [title for title in rows if title.endswith("a helper")]
    for title, row in rows.items():
        assert row["latency_us"]["least"] <= row["latency_us"]["median"] and {*row["hidden"]} == {*overlap.WAYS}, title
        assert list(row["added_us"]) == ["0", "1", "2", "4", "5"] and row["added_us"]["5"] == row["overhead_us"]["wait"], title
        assert row["to_hide_us"] is None or 0 <= row["too_short_us"] < row["to_hide_us"] < 5, title
    before, _, about, *lines, _, after = page.read_text().splitlines()
    assert (before, after) == ("before", "after") and "--document page.md`" in about and "MPICH" in about
    assert [line.split(" | ")[1] for line in lines[3:]] == list(rows)


@NEEDS_TWO
def test_a_helper_hides_what_a_blocking_call_adds():
    """One thread, and one that serves it: 256 KiB are copied behind the computation, or after it."""
    ways = overlap.ways_of_threads(1)
    found = overlap.measure(ways, 256 << 10, [0.0, 100.0, 300.0], 2, lambda _: None)
    alone, helped = (found[way.title] for way in ways)
    assert helped["hidden"]["wait"] > helped["hidden"]["blocking"], found
    assert helped["hidden"]["wait"] > alone["hidden"]["wait"], found


def test_only_a_bare_mpi_may_fail(monkeypatch):
    """It is started again, and the table says how often. What fails again and again ends the measurement, as Copse does at once."""
    bare, *_, ours = overlap.ways_of(flavours.find("mpich"), 2)
    outcomes = iter([CopseError("killed", "")] * 2 + [{}] + [CopseError("killed", "")] * overlap.TRIES + [CopseError("wrong", "")])

    def launch(*_):
        if isinstance(outcome := next(outcomes), CopseError):
            raise outcome
        return outcome

    monkeypatch.setattr(overlap, "launch", launch)
    assert overlap.launch_again(bare, 8, [0.0]) == ({}, 2)
    with pytest.raises(CopseError, match="killed"):
        overlap.launch_again(bare, 8, [0.0])
    with pytest.raises(CopseError, match="wrong"):
        overlap.launch_again(ours, 8, [0.0])
    assert next(outcomes, None) is None
    assert overlap.name_of("mpich", {"failed_launches": 0}) == "mpich" and "(1 launch failed)" in overlap.name_of("mpich", {"failed_launches": 1})


def test_the_computation_that_hides_a_call():
    assert overlap.sweep(5) == [0, 1, 2, 4, 5] and overlap.sweep(1) == [0, 1] and overlap.sweep(0.5) == [0, 0.5]
    falling = {0.0: [3.0], 1.0: [2.0], 2.0: [1.1], 4.0: [1.0], 5.0: [1.05]}
    assert overlap.time_to_hide(falling) == (2, 1)  # 0.1 is less than 5 % of 3
    assert overlap.time_to_hide({**falling, 5.0: [0.1]}) == (None, 4)  # it still falls
    assert overlap.time_to_hide({time: [3.0] for time in falling}) == (None, 5)  # nothing is hidden
    assert overlap.time_to_hide({0.0: [-0.2], 1.0: [-0.3], 2.0: [-0.3]}) == (1, 0)  # noise may be below 0
    scattered = {0.0: [9.0, 9.0, 9.0], 1.0: [3.0, 2.0, 9.0], 2.0: [1.0, 1.0, 9.0], 4.0: [1.0, 1.0, 1.0]}
    assert overlap.time_to_hide(scattered) == (2, 1)
    assert overlap.time_to_hide({**scattered, 1.0: [1.2, 2.4, 3.6]}) == (1, 0)  # launches differ by as much


def test_a_program_that_no_helper_serves_is_told():
    """Blocking conjugate gradients start no call, pipelined ones do. A rank alone has no helper."""
    flavour, [side] = flavours.find("mpich"), [side for side in solvers.sides_of() if "helper" in side.title]
    solvers.require_served(flavour, side, 2, "cg-pipelined", 8)
    with pytest.raises(CopseError, match="helpers made none of its calls .1 on each node"):
        solvers.require_served(flavour, side, 2, "cg", 8)
    with pytest.raises(CopseError, match="helpers made none of its calls .none for a rank that is alone"):
        solvers.require_served(flavour, side, 1, "cg-pipelined", 8)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [("0 0 8 10 1 0", "RANKS(1-256)"), ("1 2 8 10 1 0", "HELPERS(0-1)"), ("1 1 8", "MICROSECONDS...")],
)
def test_the_c_librarys_program_says_what_it_needs(arguments, complaint):
    done = subprocess.run([tables.built(overlap.THREADS), *arguments.split()], capture_output=True, text=True, timeout=20)
    assert done.returncode == 2 and complaint in done.stderr


UPC_LINES = [
    {"operation": "exchange", "bytes": "8", "threads": "2", "mode": mode, "batch": str(batch), "us": str(us)}
    for mode, times in {"ALLSYNC": (4, 3), "MYSYNC": (2, 2.5), "NOSYNC": (1, 1.5)}.items()
    for batch, us in enumerate(times)
]


def test_the_fastest_batch_of_each_mode_counts():
    times = upc_bench.fastest(UPC_LINES)
    assert times == {(2, "exchange", 8): {"ALLSYNC": 3, "MYSYNC": 2, "NOSYNC": 1}}
    assert list(upc_bench.table_of(times).columns[-1].cells) == ["3.00 : 2.00 : 1.00"]


def test_upcs_modes_are_measured_and_written(copse, tmp_path):
    command = ["bench", "--upc", "--operations", "broadcast,permute", "--sizes", "8,4K", "--ranks", "3", "--batches", "1", "--busy"]
    printed = copse(*command, "--output", str(tmp_path)).stdout
    assert "ALLSYNC : MYSYNC : NOSYNC" in printed
    with (tmp_path / "upc-modes.csv").open() as file:
        cells = {(row["operation"], row["bytes"], row["mode"]) for row in csv.DictReader(file)}
    assert len(cells) == 2 * 2 * len(upc_bench.MODES)


UOMS_OUTPUT = """
#---------------------------------------------------
# Benchmarking upc_all_exchange
# #threads = 2, ALLSYNC, warm
#      #bytes #repetitions    t_min[usec]    t_max[usec]    t_avg[usec]  BW[MB/sec]
       16384         1000          4.000         11.800          8.000         100.00
       65536          511          6.000       2099.775          9.000         100.00
# Benchmarking upc_all_reduceD, UPC_ADD
       16384         1000          2.000          4.000          3.000         100.00
"""


def test_the_suite_compares_all_sides_with_the_choice():
    found = upc_suite.read(UOMS_OUTPUT)
    assert found == {("exchange", 16384): (4, 8), ("exchange", 65536): (6, 9), ("reduceD", 16384): (2, 3)}
    times = upc_suite.Times()
    for least in (5, 4):  # the fastest launch counts
        times.add(upc_suite.OWN, 2, {("exchange", 16384): (least, 8)})
    times.add(upc_suite.AGAIN, 2, {("exchange", 16384): (4.4, 8)})
    times.add("BCOL", 2, {("exchange", 16384): (8, 9)})
    times.add(upc_suite.SHMEM, 2, {("exchange", 16384): (2, 3)})
    assert times.ratios("BCOL") == [2] and times.ratios(upc_suite.SHMEM) == [0.5] and times.ratios("PROP") == []
    assert times.best_of_others((2, "exchange", 16384)) == 0.5
    assert upc_suite.summary(times, (upc_suite.OWN, upc_suite.AGAIN, "BCOL", upc_suite.SHMEM))[-1].endswith("1 of 1 cells below 1, 1 below 1.10")
    assert upc_suite.geometric_mean([2, 8]) == pytest.approx(4)


def test_the_suite_runs_upcs_and_openshmems_collectives(copse, tmp_path):
    done = copse("bench", "--upc", "--suite", "--sizes", "1K,2K", "--ranks", "2", "--launches", "1", "--busy", "--output", str(tmp_path))
    assert "best of the others : NUMACol:" in done.stdout, done.stdout + done.stderr
    rows = json.loads((tmp_path / "upc-suite.json").read_text())["results"]
    assert {row["side"] for row in rows} == set(upc_suite.SIDES)
    assert {(row["operation"], row["bytes"]) for row in rows if row["side"] == "PROP"} == {(o, n) for o in upc_suite.OPERATIONS for n in (1024, 2048)}
    assert (tmp_path / "upc-suite.png").exists()


def uoms(*arguments, threads=2):
    environment = {**os.environ, "COPSE_UPC_THREADS": str(threads)}
    return subprocess.run([paths.BUILD / "release/bin/copse-uoms", *arguments], env=environment, capture_output=True, text=True, timeout=100)


def test_uoms_runs_every_operation():
    names = uoms("-list").stdout.split()
    assert len(names) > 40
    for options in ((), ("-off_cache", "-warmup", "-sync_mode", "MYSYNC", "-reduce_op", "UPC_XOR")):
        done = uoms("-minsize", "64", "-maxsize", "128", "-time", "0.01", *options, threads=3)
        assert done.returncode == 0, done.stderr
        left_out = re.findall(r"^# (\S+): left out, because UPC_XOR is not for floating types", done.stdout, re.MULTILINE)
        assert re.findall(r"^# Benchmarking ([^\s,]+)", done.stdout, re.MULTILINE) == [name for name in names if name not in left_out]
        assert len(left_out) == (6 if options else 0)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["-minsize", "many"], "-minsize is 'many'; required: a number of bytes"), (["-operations", "upc_all_sort"], "an operation is 'upc_all_sort'"),
     (["-sync_mode"], "-sync_mode is ''; required: ALLSYNC, MYSYNC or NOSYNC"), (["-msglen", "/no/such/file"], "a file that can be read"),
     (["-reduce_op", "UPC_SUB"], "-reduce_op is 'UPC_SUB'"), (["-fast"], "there is no option -fast")],
)  # fmt: skip
def test_uoms_says_what_it_does_not_understand(arguments, complaint):
    done = uoms(*arguments)
    assert done.returncode == 2 and complaint in done.stderr


def test_uoms_reads_names_and_sizes_from_files(tmp_path):
    (tmp_path / "names").write_text("# a comment\nupc_barrier\nupc_all_gather\n")
    (tmp_path / "sizes").write_text("24\n7\n")
    printed = uoms("-input", tmp_path / "names", "-msglen", tmp_path / "sizes").stdout
    assert re.findall(r"^# Benchmarking (\S+)", printed, re.MULTILINE) == ["upc_all_gather", "upc_barrier"]
    assert re.findall(r"^ +(\d+) +1000 ", printed, re.MULTILINE)[:2] == ["24", "7"]


def test_uoms_is_drawn(copse, tmp_path):
    options = "-operations upc_all_gather,upc_barrier,upc_memput -maxsize 64 -time 0.05"
    printed = copse("bench", "--upc", "--uoms", options, "--ranks", "2,3", "--busy", "--output", str(tmp_path)).stdout
    assert re.findall(r"# Benchmarking (\S+)", printed) == 2 * ["upc_all_gather", "upc_memput", "upc_barrier"]
    assert "Bandwidth: size / t_min, where size = THREADS * bytes" in printed
    sized = upc_uoms.read((tmp_path / "uoms-3.txt").read_text())
    assert {name: [row.bytes for row in rows] for name, rows in sized.items()} == {name: [4, 8, 16, 32, 64] for name in ("upc_all_gather", "upc_memput")}
    assert all(rate == pytest.approx(3 * size / us, rel=0.05, abs=0.02) for size, us, _, rate in sized["upc_all_gather"])
    assert (tmp_path / "uoms.png").exists()


@pytest.mark.full
def test_upc_is_measured_over_emulated_nodes(copse, tmp_path):
    common = ["--ranks", "4", "--nodes", "2", "--busy", "--output", str(tmp_path)]
    done = copse("bench", "--upc", "--sizes", "8", "--batches", "1", *common)
    if "no emulated nodes" in done.stderr:
        pytest.skip(done.stderr)
    assert "NOSYNC us" in done.stdout and (tmp_path / "upc-modes.png").exists(), done.stdout + done.stderr
    names = set(uoms("-list").stdout.split())
    printed = copse("bench", "--upc", "--uoms", "-maxsize 8 -time 0.2", *common).stdout
    assert set(re.findall(r"^# Benchmarking ([^\s,]+)", printed, re.MULTILINE)) == names
    done = copse("bench", "--upc", *common, "--ranks", "3")
    assert done.returncode != 0 and "'3' is not a number of threads" in done.stderr


def test_ft_gives_the_published_sums_in_every_way(copse, tmp_path):
    done = copse("bench", "--ft", "S", "--ranks", "2", "--against", "mpich", "--quick", "--busy", "--output", str(tmp_path))
    assert "all sums are as published" in done.stdout, done.stdout + done.stderr
    ways = {row["way"]: row for row in json.loads((tmp_path / "ft.json").read_text())["results"]}
    assert {*ft.UPC_WAYS, "UPC, NUMACol, processes", "OpenMP", "mpich", "mpich+copse", "mpich+copse+heap"} == set(ways)
    assert all(len(row["seconds"]) == ft.RUNS["S"] and row["mops"] > 0 for row in ways.values())
    assert (tmp_path / "ft.png").exists()


def test_ft_refuses_threads_that_do_not_divide_the_array(copse):
    done = copse("bench", "--ft", "S", "--ranks", "3", "--against", "mpich", "--quick", "--busy")
    assert done.returncode != 0 and "3 threads cannot share class S: they must divide 64 and 64" in done.stderr


class Moments:
    """A clock that goes on by a second at each look, while others take what is said, and 0 afterwards."""

    def __init__(self, *others):
        self.clock, self.taken, self.others = 0.0, 0.0, list(others)

    def __call__(self):
        self.clock += 1
        self.taken += self.others.pop(0) if self.others else 0
        return quiet.Times(self.clock, self.taken, 2)


def test_a_disturbed_call_is_made_again(monkeypatch):
    monkeypatch.setattr(quiet.time, "sleep", lambda _: None)
    calls = []
    patience = quiet.Patience(3, lambda _: None, now=Moments(0, 1))  # a call is two looks, and so is a glance
    assert patience.undisturbed(lambda: calls.append(len(calls)) or len(calls)) == (2, 0)
    impatient = quiet.Patience(0, lambda _: None, now=Moments(0, 1))
    assert impatient.undisturbed(lambda: "done") == ("done", 0.5)


def test_busy_machines_are_measured():
    """Without a quota where the system lets us set none, and without sibling hardware threads where there are none; that is said."""
    command = [sys.executable, paths.ROOT / "bench/busy.py", "--against", "mpich", "--ranks", "2", "--seconds", "0.05", "--rounds", "1",
               "--patience", "0", "--situations", "bound, one,all on one processor,moved,quota of 1.5,threads"]  # fmt: skip
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(paths.ROOT / "faces/python")}, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()]
    titles = {row[2] for row in rows[2:]}
    assert {"bound, one busy program", "all on one processor", "moved to one processor"} <= titles, done.stdout
    for situation in ("quota of 1.5 processors", "sibling hardware threads"):
        assert situation in titles or f"left out: {situation}:" in done.stderr, done.stderr
    assert all(len(row) == len(rows[0]) and float(row[3]) > 0 and float(row[4]) > 0 for row in rows[2:])
    shared = [row for row in rows[2:] if row[2].endswith("one processor")]
    assert len(shared) == 2 and all(float(row[7]) < busy.SHARED_US for row in shared), shared  # by the median, as other tests run beside


def test_lives_of_communicators_are_measured():
    """Every kind at every number of calls, and the number from which Copse is ahead."""
    command = [sys.executable, paths.ROOT / "bench/communicators.py", "--ranks", "4", "--calls", "1,70", "--launches", "1", "--rounds", "3",
               "--patience", "0", "openmpi"]  # fmt: skip
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(paths.ROOT / "faces/python")}, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()][2:]
    assert [row[2] for row in rows] == ["first", "dup", "halves", "halves-doubles", "grid"]
    for row in rows:
        one, many = float(row[3]), float(row[4])
        assert row[5] == ("1" if one <= 1 >= many else "70" if many <= 1 else "-"), row


def rows_of(script: str, *options: str) -> list[list[str]]:
    """Runs a script of bench/ that prints a table, and returns the table without its head."""
    environment = os.environ | {"PYTHONPATH": str(paths.ROOT / "faces/python")}
    done = subprocess.run([sys.executable, paths.ROOT / "bench" / script, *options], env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:]]


def test_very_many_communicators_are_measured():
    rows = rows_of("communicators.py", "--many", "--lives", "300", "--ranks", "2", "--launches", "1", "--patience", "0", "openmpi")
    assert [row[2:4] for row in rows] == [[kind, "300"] for kind in communicators.MANY]
    assert all(float(row[6]) > 0 and int(row[8]) < 4096 and int(row[10]) < 8 for row in rows), rows  # memory and files stay as they are


def test_starts_are_measured():
    none, openmpi = rows_of("startup.py", "--rounds", "2", "none", "openmpi")
    assert none[1] == "1" and none[7:] == ["-", "-"] and openmpi[1] == "2"
    assert all(float(figure) > 0 for figure in (none[2], none[3], none[5], *openmpi[2:4], openmpi[5], openmpi[7])), (none, openmpi)
    assert math.isfinite(float(openmpi[8]))  # after two rounds, other tests may have taken more than `copse run` adds


def test_short_programs_are_measured():
    rows = rows_of("startup.py", "--short-program", "--ranks", "4", "--rounds", "1", "--communicators", "5", "--patience", "0", "mpich")
    assert [row[1:3] for row in rows] == [["4", "integers"], ["4", "doubles"]]
    assert all(float(figure) > 0 for row in rows for figure in (*row[3:7], *row[9:])), rows


def test_two_builds_are_compared():
    """A build against itself, with the shared heap and without."""
    few = ["--ranks", "2", "--operations", "barrier,bcast", "--sizes", "8,4K", "--mode", "warm", "--launches", "1", "--batches", "2", "--busy"]
    printed = rows_of("builds.py", str(paths.PRELOAD_FOLDER), *few)
    rows = [row for row in printed if len(row) == 3]
    assert [row[0] for row in rows] == ["all", "barrier", "bcast"] and sum(" of 3 cells (" in row[0] for row in printed) == 2, printed
    for cell in (cell for row in rows for cell in row[1:]):
        by_minimum, by_median, worst = (float(word.removeprefix("worst ")) for word in cell.split(", "))
        assert min(by_minimum, by_median, worst) > 0 and worst <= by_minimum + 0.01, rows


@pytest.mark.parametrize("script", ["busy.py", "communicators.py", "durations.py", "memory.py", "persistent.py", "programs.py", "solvers.py", "startup.py"])
def test_a_document_without_the_marks_is_refused_before_measuring(script):
    command = [sys.executable, paths.ROOT / "bench" / script, "--document", "--marks", "absent"]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(paths.ROOT / "faces/python")}, capture_output=True, text=True, timeout=100)
    assert done.returncode == 1 and done.stdout == "" and "<!-- absent:begin -->" in done.stderr, done.stdout + done.stderr


def test_solvers_give_the_same_with_helpers():
    """By whomever allreduces are made, no bit changes: with two ranks there is one order of a sum. The script fails if its helper makes
    no call of a method that starts some."""
    assert {*solvers.STARTING} == {"cg-pipelined", "pop-started"}
    options = ("--against", "mpich", "--ranks", "2", "--side", "8", "--rounds", "1", "--methods")
    rows = [row for method in solvers.METHODS for row in rows_of("solvers.py", *options, method)]
    sides = [(row[2], row[3]) for row in rows]
    assert sides == [(method, side.title) for method in solvers.METHODS for side in solvers.sides_of()]
    assert {row[-1] for row in rows} == {"the same bits"}
    served = {row[2]: row[-2] for row in rows if row[3] == solvers.HELPED}
    assert {row[-2] for row in rows if row[3] != solvers.HELPED} == {""}
    assert [served[method] for method in solvers.METHODS if method not in solvers.STARTING] == ["starts none"] * 2
    assert all(int(served[method]) > 10 for method in solvers.STARTING), served


def test_solvers_are_summed_up():
    """By the largest and the least quotient. The document has the lines that its own table gives."""
    times = {("bare", "1"): 9, ("Copse", "1"): 8, ("Copse, a helper", "1"): 10, ("bare", "2"): 7, ("Copse", "2"): 5}
    rows = [{"MPI": "M", "method": method, "side": side, "processors of the ranks": processors, "ms, least": f"{factor * time:.2f}",
             "ms, median": f"{2 * time:.2f}"} for method, factor in (("a", 1), ("b", 3)) for (side, processors), time in times.items()]  # fmt: skip
    rows[2]["ms, least"] = "4.00"
    (line,) = solvers.summaries(rows)
    assert "take 0.50 to 1.25 times as long as without it on the same processors (by the medians, 1.25 to 1.25)" in line
    assert "on all processors, they take 0.50 to 1.25 times as long as with it." in line
    block = solvers.DOCUMENT.read_text().split("<!-- solvers:begin -->")[1].split("<!-- solvers:end -->")[0].splitlines()
    heading, _, *cells = ([cell.strip() for cell in row.strip("|").split("|")] for row in block if row.startswith("|"))
    assert len(cells) == 3 * len(solvers.METHODS) * len(solvers.sides_of())
    assert [line for line in block if line.startswith("- ")] == solvers.summaries([dict(zip(heading, row, strict=True)) for row in cells])


def test_upc_is_summed_up():
    rows = rows_of("upc.py", "--ranks", "2", "--sizes", "1K", "--launches", "1", "--batches", "1", "--ft", "S", "--patience", "0")
    assert [row[2] for row in rows if row[1] == "exchange" and row[-1].count(" : ") == 2] == ["8 B", "512 B", "4 KiB", "16 KiB", "64 KiB"]
    libraries = {row[1]: row[2:] for row in rows if row[1] in upc_suite.OPERATIONS and " : " not in row[-1]}
    assert set(libraries) == set(upc_suite.OPERATIONS)
    assert all(float(ratio) > 0 for row in libraries.values() for ratio in row if ratio)
    assert {*ft.UPC_WAYS, "OpenMP"} <= {row[2] for row in rows if row[0] == "S"}


def test_memory_is_measured():
    rows = rows_of("memory.py", "--ranks", "3", "--communicators", "1,2", "openmpi")
    assert [row[1:3] for row in rows] == [["3", "1"], ["3", "2"]]
    assert all(float(row[3]) > 1 and float(row[8]) < 32 and 0 < float(row[9]) < 8 for row in rows), rows


def test_persistent_calls_are_measured():
    rows = rows_of("persistent.py", "--ranks", "2", "--calls", "20", "--launches", "1", "mpich")
    assert [row[1:4] for row in rows] == [["2", "20", side] for side in ("bare", "Copse", "Copse, one order")]
    assert all(float(figure) > 0 for row in rows for figure in row[4:7]), rows
    bare, lanes, one_order = (float(row[7]) for row in rows)
    assert one_order < lanes < bare + 32, rows  # a lane is memory, a page of it for each rank at least


@pytest.mark.full
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind")
def test_instructions_are_counted():
    rows = rows_of("instructions.py", "--calls", "gather", "--sizes", "8", "--launches", "1", "--before", str(paths.PRELOAD_FOLDER))
    assert [row[:3] for row in rows] == [["gather", "8 B", "0"], ["gather", "8 B", "1"]]
    assert all(200 < float(figure) < 10000 for row in rows for figure in row[3:5]), rows
    assert all(0.3 < float(row[5]) < 3 for row in rows), rows  # waits count, too


def test_first_calls_are_measured():
    rows = rows_of("first_calls.py", "--ranks", "2", "--launches", "1", "--before", str(paths.PRELOAD_FOLDER), "mpich")
    assert [row[1:4] for row in rows] == [["2", side, "128"] for side in ("bare", "Copse", "before")]
    assert all(float(figure) > 0 for row in rows for figure in row[4:]), rows
