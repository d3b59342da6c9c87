"""Every MPI flavour starts ranks in its own environment, pinned as requested, and is what it says it is."""

import os

import pytest

from copse import flavours
from copse.errors import CopseError

WHO = """
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
line = f"{world.rank} of {world.size} on {sorted(os.sched_getaffinity(0))} {os.environ.get('GREETING')}"
version = MPI.Get_library_version().split(chr(10))[0].split(',')[0]
for text in world.gather(line) or []:
    print(text)
if world.rank == 0:
    print(version)
"""

VERSION_SAID = {
    "mpich": "MPICH Version",
    "impi": "Intel(R) MPI Library",
    "openmpi": "Open MPI v",
}


def test_mpi4py_runs_pinned_on_its_own_library(flavour, run):
    command = flavour.command(2, [flavour.python, "-c", WHO], pinned=True, variables={"GREETING": "hello"})
    done = run(command, env=flavour.environment())
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(" on ")[0] for line in lines[:2]] == ["0 of 2", "1 of 2"]
    cores = [line.split(" on ")[1] for line in lines[:2]]
    assert cores[0] != cores[1]
    assert all(core.endswith("] hello") and "," not in core for core in cores)
    assert VERSION_SAID[flavour.family.name] in lines[2]
    assert flavour.version in lines[2]


def test_ranks_are_pinned_to_cores_before_their_second_processors(monkeypatch):
    siblings = {0: {0, 1}, 1: {0, 1}, 2: {2, 3}, 3: {2, 3}, 4: {4}}
    monkeypatch.setattr(flavours, "siblings_of", siblings.get)
    monkeypatch.setattr(flavours.os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 4})
    assert flavours.processors_by_core() == [0, 2, 4, 1, 3]
    monkeypatch.setattr(flavours.os, "sched_getaffinity", lambda _: {1, 2, 3})
    assert flavours.processors_by_core() == [1, 2, 3]


def test_open_mpi_counts_hardware_threads_where_ranks_outnumber_cores(monkeypatch):
    monkeypatch.setattr(flavours, "siblings_of", {0: {0, 1}, 1: {0, 1}, 2: {2, 3}, 3: {2, 3}}.get)
    monkeypatch.setattr(flavours.os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    assert flavours.number_of_cores() == 2
    assert flavours.OPEN_MPI.pinning(2) == ["--bind-to", "core", "--map-by", "core"]
    assert "--use-hwthread-cpus" in flavours.OPEN_MPI.pinning(3)


def test_the_processors_of_a_core_are_read():
    processor = min(os.sched_getaffinity(0))
    assert processor in flavours.siblings_of(processor)
    assert flavours.siblings_of(123456) == {123456}


def test_compiled_program_runs_oversubscribed(flavour, run, compile_mpi):
    program = compile_mpi(
        flavour,
        """
        #include <mpi.h>
        #include <stdio.h>
        int main(void) {
          int rank, total;
          MPI_Init(NULL, NULL);
          MPI_Comm_rank(MPI_COMM_WORLD, &rank);
          MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
          if (rank == 0) printf("%d\\n", total);
          MPI_Finalize();
        }
        """,
    )
    done = run(flavour.command(4, [program]), env=flavour.environment())
    assert (done.returncode, done.stdout) == (0, "6\n"), done.stderr


@pytest.mark.quick(flavour=len(flavours.NAMES))  # two of them could have no such ABI
def test_intel_benchmarks_run_on_every_flavour_of_their_abi(flavour, run):
    if flavour.family is flavours.OPEN_MPI:
        assert flavour.libmpi.name not in flavours.INTEL.sonames  # it has another ABI and need not run
        return
    done = run(flavour.command(2, [flavours.imb(), "-iter", "5", "Barrier"]), env=flavour.environment())
    assert done.returncode == 0, done.stderr
    assert "# Benchmarking Barrier" in done.stdout


def test_unknown_flavour_is_an_error_that_lists_the_known():
    with pytest.raises(CopseError, match="no MPI flavour 'lam'; use one of: mpich, impi, openmpi"):
        flavours.find("lam")
