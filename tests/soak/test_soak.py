"""The soak still runs. An hour of it is run by hand (soak.py)."""

import sys
from pathlib import Path

import pytest


@pytest.mark.full
def test_a_short_soak_finds_no_defect(run):
    done = run([sys.executable, Path(__file__).with_name("soak.py"), "--minutes", "0.3", "--seed", "1"], timeout=300)
    assert done.returncode == 0 and ": 0 defects" in done.stdout, done.stdout + done.stderr
