"""The soak still runs, and finds what is planted. An hour of it is run by hand (soak.py)."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from leftovers import processes
from ranks import End, after_death, after_restart

SOAK = Path(__file__).with_name("soak.py")


@pytest.mark.full
def test_one_group_of_every_kind_shows_no_defect(run, tmp_path):
    done = run([sys.executable, SOAK, "--minutes", "0", "--seed", "1", "--json", tmp_path / "counts"], timeout=300)
    assert done.returncode == 0 and ": 0 defects" in done.stdout, done.stdout + done.stderr
    counts = json.loads((tmp_path / "counts").read_text())
    assert len(counts["kinds"]) > 10 and all(kind["groups"] == 1 and kind["ends"] for kind in counts["kinds"].values()), counts
    may_be_left_out = set() if os.geteuid() == 0 else {"reused"}
    assert counts["left_out"].keys() <= may_be_left_out, counts


def planted_memory(soak: subprocess.Popen) -> int:
    """Opens the memory that a group of the kind `planted` leaves to this soak. Waits for it while the soak runs."""
    while soak.poll() is None:
        for process in processes():
            if process.parent == soak.pid and "copse-planted" in process.memory.values():
                folder = Path(f"/proc/{process.pid}/fd")
                return os.open(next(file for file in folder.iterdir() if "copse-planted" in os.readlink(file)), os.O_RDONLY)
        time.sleep(0.05)
    pytest.fail(f"no memory was planted: {soak.communicate()}")


@pytest.mark.full
def test_what_is_planted_is_found(tmp_path):
    """The group leaves a process with memory, and another without the group's mark. And this process has the memory, too."""
    options = ["--minutes", "0", "--only", "planted", "--seed", "2", "--patience", "5"]
    command = [sys.executable, SOAK, *options, "--json", tmp_path / "counts"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as soak:
        memory = planted_memory(soak)
        try:
            said, _ = soak.communicate(timeout=100)
        finally:
            os.close(memory)
            soak.kill()
    assert soak.returncode == 1, said
    defects = json.loads((tmp_path / "counts").read_text())["defects"]
    of_group = [defect["text"] for defect in defects if (defect["kind"], defect["number"]) == ("planted", 2)]
    left = [text for text in of_group if "(sleep 1000) was left; memory of Copse in it: copse-planted" in text]
    misplaced = [text for text in of_group if "its memory copse-planted lies in process" in text]
    assert len(left) == 2 and any(f"in process {os.getpid()} " in text for text in misplaced), said


LOST = End(1, "lost", "rank 0 (process 1) has ended before it took its part")


@pytest.mark.parametrize(("victim", "survivor", "made", "good"), [
    ("killed", LOST, 16, True),
    ("killed", LOST, -1, True),
    ("killed", End(1, "not met"), -1, True),
    ("killed", End(1, "not met"), 96, True),  # the round may have been over
    ("killed", End(1, "not met"), 48, False),
    ("killed", End(1, "lost", "rank 0 has given up"), 48, False),
    ("killed", End(1, "right"), 96, False),
    ("killed", End(1, "hung"), -1, False),
    ("right", LOST, 16, False),
])  # fmt: skip
def test_the_ends_after_a_death(victim, survivor, made, good):
    assert (after_death([End(0, victim), survivor], 0, made, calls=100) == []) == good


@pytest.mark.parametrize(("first", "again", "others", "perhaps_done", "good"), [
    ("killed", "right", {"right"}, False, True),
    ("killed", "right", {"right", "lost"}, False, False),
    ("killed", "not met", {"lost", "not met"}, False, True),
    ("killed", "not met", {"right", "lost"}, True, True),
    ("killed", "not met", {"right"}, False, False),
    ("killed", "lost", {"lost"}, False, False),
    ("right", "not met", {"right"}, True, True),
    ("right", "right", {"right"}, True, False),
])  # fmt: skip
def test_the_ends_after_a_restart(first, again, others, perhaps_done, good):
    assert (after_restart(first, again, others, perhaps_done) == []) == good
