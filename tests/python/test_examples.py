"""The MPI examples say the same on the bare MPI and under `copse run`, and Copse has really run them."""

import pytest

from copse import flavours, paths

EXAMPLES = paths.ROOT / "examples"


@pytest.fixture
def both_ways(run, copse):
    """Runs a program of 2 ranks on MPICH, bare and with Copse; what it printed both times, and the trace."""

    def call(*program):
        flavour = flavours.find("mpich")
        command = flavour.command(2, program)
        bare = run(command, env=flavour.environment())
        assert bare.returncode == 0, bare.stderr
        ours = copse("run", "--trace", *command, env=flavour.environment())
        assert ours.returncode == 0, ours.stderr
        return bare.stdout, ours.stdout, ours.stderr

    return call


def test_hello(compile_mpi, both_ways):
    program = compile_mpi(flavours.find("mpich"), (EXAMPLES / "hello_allreduce.c").read_text())
    bare, ours, trace = both_ways(program)
    assert bare.startswith("2 ranks: sum 1, ") and ours.startswith("2 ranks: sum 1, ")
    assert "copse: allreduce" in trace and " 20000 " in trace


def test_kmeans(both_ways):
    bare, ours, trace = both_ways(flavours.find("mpich").python, EXAMPLES / "kmeans.py")
    assert bare == ours and "2 ranks: centres within 0.0" in bare
    assert "copse: broadcast" in trace and "copse: allreduce" in trace
