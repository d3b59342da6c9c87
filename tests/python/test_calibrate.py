"""`copse calibrate`: the file that it writes is a machine's, whole or not there, and comes in time."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from copse import calibrate, paths

SECONDS_MOST = 20  # of a calibration; a busy machine may need longer for the rounds that it must have
BUSY = 4
SHORT = ["--seconds", "1"]


@pytest.fixture(scope="module")
def calibrated(native_binary, tmp_path_factory):
    """Returns the file of one short calibration, which ended in time, and what was printed."""
    file = tmp_path_factory.mktemp("calibrated") / "here.json"
    done = subprocess.run([paths.ROOT / "tools" / "copse", "calibrate", *SHORT, "--output", file], capture_output=True, text=True, timeout=SECONDS_MOST * BUSY)
    assert done.returncode == 0, done.stderr
    return file, done.stdout


def test_the_file_is_a_machine_that_was_measured(calibrated):
    file, printed = calibrated
    machine = json.loads(file.read_text())
    assert machine["schema"] == "copse-machine/1" and machine["measured"] is True
    assert machine["levels"][-1]["level"] == "node"
    assert any("measured by copse calibrate" in source for source in machine["source"])
    for place in ("steps.call_ns", "steps.turn_ns", "own.line_ns", "memory.reader_GBps", "reduce_GBps.sum:double", "reduce_GBps.max:float"):
        assert 0 <= machine["spread"][place] < 1000, place
    if len(os.sched_getaffinity(0)) > 1:
        assert "levels[0].flag_ns" in machine["spread"]
        assert 1 < machine["levels"][0]["flag_ns"] < 1e6
        assert any("caches" in source for source in machine["source"])
    assert 1 < machine["steps"]["turn_ns"] < 1e7
    assert machine["memory"]["shared_GBps"] >= machine["memory"]["reader_GBps"]
    assert "written:" in printed and "copse price" in printed and re.search(r"^measured in \d+\.\d s; ", printed, re.MULTILINE)


def test_nothing_else_is_left_beside_it(calibrated):
    file, _ = calibrated
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_calls_are_priced_on_it(native, calibrated):
    file, _ = calibrated
    rows = json.loads(native("price", "allreduce", "64K", "-n", "2", "--machine", str(file), "--reach", "staged", "--json").stdout)
    assert rows and all(0 < row["ns"] < 1e9 for row in rows)
    for ranks in ("2", "8"):
        assert native("price", "broadcast", "8", "-n", ranks, "--machine", str(file)).returncode == 0


def measures(command: int) -> bool:
    """Tells whether the native helper that this command has started has worked for a tenth of a second."""
    for entry in Path("/proc").iterdir():
        try:
            name, fields = re.fullmatch(r"\d+ \((.*)\) (.*)", (entry / "stat").read_text().strip()).groups()
        except (AttributeError, OSError):
            continue
        words = fields.split()
        if name == "copse-native" and int(words[1]) == command and int(words[11]) >= 10:
            return True
    return False


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_killed_in_the_middle_it_leaves_nothing(native_binary, tmp_path, how):
    file = tmp_path / "here.json"
    child = subprocess.Popen(
        [paths.ROOT / "tools" / "copse", "calibrate", "--seconds", "30", "--output", file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # a shell's background jobs ignore it
    )  # fmt: skip
    end = time.monotonic() + 30
    while not measures(child.pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert measures(child.pid)
    child.send_signal(how)
    child.wait(timeout=30)
    assert list(tmp_path.iterdir()) == []


def test_a_comparison_says_how_far_prices_are_off(copse, calibrated):
    file, _ = calibrated
    arguments = ["calibrate", "--check", "--machine", str(file), "--ranks", "2", "--sizes", "8,64K", "--collectives", "broadcast,allreduce"]
    found = json.loads(copse(*arguments, "--json").stdout)
    cells = found["cells"]
    assert len(cells) == 8 and {cell["kind"] for cell in cells} == {"threads", "processes"}
    for cell in cells:
        assert cell["measured_ns"] > 0 and cell["error"] == pytest.approx(cell["predicted_ns"] / cell["measured_ns"] - 1, abs=0.01)
    assert len(found["median_error"]) in (1, 2)
    assert "median error" in copse(*arguments).stdout


def a_cell(ranks, kind, collective, error, turns=False):
    return {"ranks": ranks, "kind": kind, "collective": collective, "bytes": 8, "error": error, "turns": turns, "other_state": turns}


def test_a_document_has_the_errors_beside_the_goal(tmp_path):
    page = tmp_path / "machines.md"
    page.write_text("before\n<!-- model:begin -->\nold\n<!-- model:end -->\nafter\n")
    cells = [a_cell(2, "threads", "broadcast", error) for error in (0.1, -0.3, 0.2)]
    cells += [a_cell(2, "threads", "reduce", 0.4), a_cell(8, "processes", "reduce", -0.05, True)]
    calibrate.write_document(page, cells, "Measured by hand.")
    before, _, about, _, *lines, _, after = page.read_text().splitlines()
    assert (before, after) == ("before", "after") and "Measured by hand." in about and "In 1 of 5 cells" in about
    assert lines == [
        "| ranks | broadcast | reduce | all | goal |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| 2 threads | 20.0 % (30 %) | 40.0 % (40 %) | 25.0 % (40 %) | 15 % |",
        "| 8 processes | - | 5.0 % (5 %) | 5.0 % (5 %) | 25 % |",
        "| all ranks with a processor each | 20.0 % (30 %) | 40.0 % (40 %) | 25.0 % (40 %) | 15 % |",
        "| all ranks that take turns | - | 5.0 % (5 %) | 5.0 % (5 %) | 25 % |",
    ]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--output", "/dev/null/here.json"], "that can be written to"),
        (["--output", "."], "is a folder"),
        (["--machine", "epyc"], "add: --check"),
        (["--document", "machines.md"], "--document is only for a comparison"),
        (["--check", "--machine", "epyc", "--document", "absent.md"], "there is no absent.md"),
        (["--check", "--machine", "epycc"], "did you mean 'epyc'?"),
        (["--check", "--machine", "epyc", "--sizes", "7"], "'7' is not a number from 8"),
        (["--check", "--machine", "epyc", "--sizes", "12"], "not a multiple of 8"),
        (["--check", "--machine", "epyc", "--sizes", "8,,16"], "commas between them"),
        (["--check", "--machine", "epyc", "--ranks", "1"], "'1' is not a number from 2"),
        (["--check", "--machine", "epyc", "--collectives", "allredce"], "did you mean 'allreduce'?"),
    ],
)
def test_mistakes_are_refused(copse, native_binary, tmp_path, arguments, complaint):
    done = copse("calibrate", *arguments)
    assert done.returncode == 2 and complaint in " ".join(done.stderr.split()), done.stderr


def test_where_the_kernel_copies_nothing(run, native_binary, tmp_path):
    """As under a seccomp filter, or Yama. The file then says nothing about such copies."""
    refuse, machine = tmp_path / "refuse", tmp_path / "machine.json"
    source = paths.ROOT / "tests" / "mpi" / "refuse.c"
    assert run(["gcc", source, "-o", refuse]).returncode == 0
    done = run([refuse, "all", "kernel", paths.ROOT / "tools" / "copse", "calibrate", "--seconds", "1", "--output", machine])
    if done.returncode == 77:
        pytest.skip(f"seccomp is not permitted here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert "kernel" not in json.loads(machine.read_text())


def test_other_files_are_not_overwritten(copse, native_binary, tmp_path):
    other = tmp_path / "notes.json"
    other.write_text('{"my": "notes"}')
    done = copse("calibrate", "--output", str(other))
    assert done.returncode == 2 and "is not a machine's file" in " ".join(done.stderr.split())
    assert other.read_text() == '{"my": "notes"}'
