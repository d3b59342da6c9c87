"""bench/programs.py: real programs have the same results with Copse, and differences and missing programs are reported.
"""

import sys
from types import SimpleNamespace

import pytest

from copse import flavours, paths
from copse.errors import CopseError

sys.path.insert(0, str(paths.ROOT / "bench"))
import program_cases  # noqa: E402
import programs  # noqa: E402
import share  # noqa: E402

CASES = {case.name: case for case in (*program_cases.CASES, *program_cases.CALLING_ALL)}
BLOCKING = {"HPCC", "LAMMPS melt", "LAMMPS salt", "IMB-MPI1"}  # they start no collectives, so that a helper has nothing to do
IMB_OUTPUT = """
# Benchmarking Bcast
# #processes = 2
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0          100         0.10         0.43         0.30
            8          100         0.90         1.62         1.10

# Benchmarking Ibarrier
# #processes = 2
#----------------------------------------------------------------
 #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]
          100         3.20         1.81         0.80        10.50

# All processes entering MPI_Finalize
"""


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


def test_of_benchmarks_only_what_has_run_is_compared(tmp_path):
    found = program_cases.imb_results(tmp_path, IMB_OUTPUT)
    assert found == {"Bcast": [0, 100, 8, 100], "Ibarrier": [100]}
    slower = IMB_OUTPUT.replace("1.62", "99.99").replace("3.20", "42.00")
    assert programs.difference(found, program_cases.imb_results(tmp_path, slower))[0] == 0
    without_a_row = IMB_OUTPUT.replace("8          100         0.90         1.62         1.10", "8           -1        time-out.")
    assert programs.difference(found, program_cases.imb_results(tmp_path, without_a_row)) == (float("inf"), "Bcast")
    with pytest.raises(CopseError, match="did not come to their end"):
        program_cases.imb_results(tmp_path, IMB_OUTPUT.replace("MPI_Finalize", ""))


def test_of_tests_it_counts_which_pass_on_each_rank(tmp_path):
    for rank, outcome in enumerate(("ok", "skipped")):
        (tmp_path / str(rank)).write_text(f"17\na\tbegun\t\na\tok\t\nb\tbegun\t\nb\t{outcome}\twhy\nend\n")
    assert program_cases.mpi4py_results(tmp_path, "") == {"a": [1, 1], "b": [1, 0]}
    (tmp_path / "1").write_text("17\na\tbegun\t\n")
    with pytest.raises(CopseError, match="did not come to their end"):
        program_cases.mpi4py_results(tmp_path, "")


def test_the_table_has_the_calls_that_helpers_made():
    """A column more, and a figure in it for the side that has a helper."""
    flavour = SimpleNamespace(title="an MPI")
    measured = programs.Measurement(CASES["k-means"], flavour, 2, programs.HELPED_SIDES)
    for title, side in measured.sides.items():
        served = "copse: allreduce  served line      60         8 ...\n" if title == programs.HELPED else ""
        launch = share.Launch(1.0, "", served)
        side.walls, side.readings = [1.0, 3.0], [share.Reading(launch, 1.0, 10.0, {"ran": 150, "passed": 50})]
    rows = [dict(zip(programs.columns(programs.HELPED_SIDES), row, strict=True)) for row in measured.rows()]
    assert [row["side"] for row in rows] == [*programs.HELPED_SIDES]
    assert [row["by helpers"] for row in rows] == ["", "", "30"] and [row["calls"] for row in rows] == ["100", "75%", "75%"]
    assert {row["s, minimum / median"] for row in rows} == {"1.00 / 2.00"} and {row["results"] for row in rows} == {programs.SAME}
    plain = programs.Measurement(CASES["k-means"], flavour, 2)
    assert [*plain.sides] == [*programs.SIDES] and len(programs.columns(programs.SIDES)) == len(rows[0]) - 1


def test_with_a_helper_there_are_more_programs(run):
    command = [sys.executable, paths.ROOT / "bench" / "programs.py", "--programs", "nothing"]
    for more, is_there in (([], False), (["--helper"], True)):
        done = run([*command, *more], env={"PATH": "/nonexistent"})
        assert done.returncode != 0 and ("IMB-NBC, mpi4py's tests" in done.stderr) == is_there, done.stderr


@pytest.mark.full
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", CASES)
def test_results_are_the_same(name, ranks, tmp_path):
    """A helper makes calls of those programs that start some: without any, this is an error."""
    case = CASES[name]
    if case.missing:
        pytest.skip(f"the package {case.package} is not installed")
    for flavour in map(flavours.find, case.mpis):
        measured = programs.Measurement(case, flavour, ranks, (*programs.SIDES, programs.HELPED))
        measured.run(tmp_path, rounds=1, small=True)
        assert not measured.different, [side.verdict(case.tolerance) for side in measured.sides.values()]
        for side in measured.sides.values():
            assert sum(side.readings[0].calls.values()) > 0
        assert measured.sides[programs.COPSE].readings[0].calls["ran"] > 0
        helped = measured.sides[programs.HELPED]
        assert "copse: helpers: 1 on each node" in helped.readings[0].launch.errors, helped.readings[0].launch.errors
        assert not (name in BLOCKING and helped.served), helped.readings[0].launch.errors
