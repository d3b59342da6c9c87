"""bench/programs.py: real programs have the same results with Copse, and differences and missing programs are reported.
"""

import sys

import pytest

from copse import flavours, paths
from copse.trace import served_calls

sys.path.insert(0, str(paths.ROOT / "bench"))
import program_cases  # noqa: E402
import programs  # noqa: E402

CASES = {case.name: case for case in program_cases.CASES}
BLOCKING = {"HPCC", "LAMMPS melt", "LAMMPS salt"}  # they start no collectives, so that a helper has nothing to do


def test_differences_are_found():
    bare = {"energy": [1.0, -200.0], "checks": [0.0]}
    assert programs.difference(bare, bare)[0] == 0
    apart, name = programs.difference(bare, {"energy": [1.0, -200.1], "checks": [0.0]})
    assert apart == pytest.approx(0.1 / 200.1) and name == "energy"
    assert programs.difference(bare, {"energy": [1.0, -200.0], "checks": [0.5]}) == (0.5, "checks")
    for worse in ({"energy": [1.0], "checks": [0.0]}, {"energy": [1.0, -200.0]}, {**bare, "checks": [float("nan")]}):
        assert programs.difference(bare, worse)[0] == float("inf")
    assert programs.Side(apart=(0.1, "energy")).verdict(1e-3).startswith("DIFFERENT: energy by 0.1")


def test_what_is_missing_is_named(run):
    """With an empty PATH no program is installed."""
    command = [sys.executable, paths.ROOT / "bench" / "programs.py", "--programs", "hpcc,lammps"]
    done = run(command, env={"PATH": "/nonexistent"})
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert "apt-get install hpcc" in done.stderr and done.stderr.count("apt-get install lammps") == 1


@pytest.mark.full
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", CASES)
def test_results_are_the_same(name, ranks, tmp_path):
    case = CASES[name]
    if case.missing:
        pytest.skip(f"the package {case.package} is not installed")
    for flavour in map(flavours.find, case.mpis):
        measured = programs.Measurement(case, flavour, ranks)
        measured.sides[programs.HELPED] = programs.Side()
        measured.run(tmp_path, rounds=1, small=True)
        assert not measured.different, [side.verdict(case.tolerance) for side in measured.sides.values()]
        for side in measured.sides.values():
            assert sum(side.readings[0].calls.values()) > 0
        assert measured.sides["Copse"].readings[0].calls["ran"] > 0
        trace = measured.sides[programs.HELPED].readings[0].launch.errors
        assert "copse: helpers: 1 on each node" in trace, trace
        assert name not in BLOCKING or not served_calls(trace), trace
