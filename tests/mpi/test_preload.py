"""The preload libraries under every MPI flavour, with the MPI itself as the oracle (collectives.c)."""

import re
from pathlib import Path

import pytest
from collectives import EVERY, SOURCES, passed

from copse import flavours, paths

PARTS = ["types", "derived", "moves", "sparse", "truncated", "operators", "communicators", "threads", "errors", "memory"]
MPI4PY_SCRIPT = Path(__file__).with_name("every_call.py")


@pytest.mark.parametrize("part", PARTS)
def test_part(launch, flavour, part):
    done = launch(flavour, 3, part)
    assert passed(done, part), done.stdout + done.stderr


@pytest.mark.parametrize("ranks", [2, 4])
def test_random_calls(launch, flavour, ranks):
    done = launch(flavour, ranks, "random", 20261121, 600)
    assert passed(done, "random"), done.stdout + done.stderr


@pytest.mark.parametrize("part", ["types", "derived", "moves", "operators", "communicators"])
def test_over_two_nodes(launch, flavour, part):
    done = launch(flavour, 4, part, COPSE_NODES="2")
    assert passed(done, part), done.stdout + done.stderr


@pytest.mark.full
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_ten_thousand_random_calls(launch, flavour, seed):
    done = launch(flavour, 4, "random", seed, 10_000, timeout=600)
    assert passed(done, "random"), done.stdout + done.stderr


@pytest.mark.full
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("ranks", [2, 4, 5])
def test_part_with_other_ranks(launch, flavour, part, ranks):
    done = launch(flavour, ranks, part)
    assert passed(done, part), done.stdout + done.stderr


def test_nothing_is_passed_on_needlessly(launch, flavour):
    """The other tests would pass as well if Copse did nothing."""
    done = launch(flavour, 2, "random", 7, 200, COPSE_TRACE="1")
    assert passed(done, "random"), done.stderr
    for call in EVERY:
        assert re.search(rf"^copse: {call} +\w+ (line|slot|get|put)", done.stderr, re.MULTILINE), done.stderr
    assert "passed on" not in done.stderr


def test_shared_heap(launch, flavour):
    """MPI_Alloc_mem and malloc hand out memory that all ranks of the node map."""
    heap = paths.PRELOAD_FOLDER / "libcopse-heap.so"
    preload = f"{flavour.preload}:{heap}"
    for part in ("memory", "operators", "derived", "moves"):
        done = launch(flavour, 2, part, COPSE_TRACE="1", LD_PRELOAD=preload)
        assert passed(done, part), done.stdout + done.stderr
        assert "no direct reach" not in done.stderr, done.stderr


def test_mpi4py(launch, flavour):
    done = launch(flavour, 3, program=[flavour.python, MPI4PY_SCRIPT], COPSE_TRACE="1")
    assert done.returncode == 0 and "fine" in done.stdout, done.stdout + done.stderr
    for call in EVERY:
        assert re.search(rf"^copse: {call} +\w+ (line|slot|get|put)", done.stderr, re.MULTILINE), done.stderr


@pytest.mark.parametrize("name", ["mpich", "impi", "openmpi"])
def test_copse_run_with_the_shared_heap(copse, name):
    """As users start it: mpi4py, and the Intel MPI Benchmarks as their makers built them."""
    flavour = flavours.find(name)
    programs = {"fine": [flavour.python, MPI4PY_SCRIPT]}
    if flavour.family is not flavours.OPEN_MPI:
        programs["# All processes entering MPI_Finalize"] = [
            flavours.imb(), "-msglog", "3:16", "-iter", "20", "Bcast", "Reduce", "Allreduce", "Barrier"]  # fmt: skip
    for says, program in programs.items():
        done = copse("run", "--shared-heap", "--trace", *flavour.command(2, program), env=flavour.environment())
        assert done.returncode == 0 and says in done.stdout, done.stdout + done.stderr
        for call in ("barrier", "broadcast", "reduce", "allreduce"):
            assert re.search(rf"^copse: {call} +\w+ (line|slot|get|put)", done.stderr, re.MULTILINE), done.stderr
        assert "no direct reach" not in done.stderr, done.stderr


@pytest.mark.parametrize("name", ["mpich", "impi"])
def test_standard_abi(launch, run, name, tmp_path):
    """A program compiled by MPICH's mpicc_abi, under both MPIs that speak the standard ABI."""
    mpich, flavour, program = flavours.find("mpich"), flavours.find(name), tmp_path / "collectives-abi"
    done = run([mpich.mpicc.with_name("mpicc_abi"), "-std=gnu11", *SOURCES, "-o", program, "-lpthread"],
               env=mpich.environment())  # fmt: skip
    assert done.returncode == 0, done.stderr
    for part in ("types", "communicators", "operators", "moves"):
        done = launch(flavour, 2, part, program=[program], preload=flavours.STANDARD_ABI_PRELOAD, COPSE_TRACE="1")
        assert passed(done, part), done.stdout + done.stderr
        call = "alltoall" if part == "moves" else "allreduce"
        assert re.search(rf"^copse: {call} +\w+ (line|slot|get|put)", done.stderr, re.MULTILINE), done.stderr
