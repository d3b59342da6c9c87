"""The MPI examples print the same on the bare MPI and under `copse run`, and Copse has really run them."""

import re
import sys

import pytest

from copse import flavours, paths

EXAMPLES = paths.ROOT / "examples"


def ran(trace: str, call: str) -> int:
    """Returns how many calls Copse has made itself. Those that it passed on have no carrier in the trace."""
    return sum(map(int, re.findall(rf"^copse: {call} +\w+ (?:line|slot|get|put) +(\d+)", trace, re.MULTILINE)))


@pytest.fixture
def both_ways(run, copse):
    """Runs a program of 2 ranks, bare and with Copse. Returns both outputs and the trace."""

    def call(flavour, *program):
        command = flavour.command(2, program)
        bare = run(command, env=flavour.environment())
        assert bare.returncode == 0, bare.stderr
        ours = copse("run", "--trace", *command, env=flavour.environment())
        assert ours.returncode == 0, ours.stderr
        return bare.stdout, ours.stdout, ours.stderr

    return call


def test_hello(compile_mpi, both_ways):
    flavour = flavours.find("mpich")
    program = compile_mpi(flavour, (EXAMPLES / "hello_allreduce.c").read_text())
    bare, ours, trace = both_ways(flavour, program)
    assert bare.startswith("2 ranks: sum 1, ") and ours.startswith("2 ranks: sum 1, ")
    assert ran(trace, "allreduce") == 20000, trace


def test_gradient_descent(compile_mpi, both_ways):
    flavour = flavours.find("openmpi")
    program = compile_mpi(flavour, (EXAMPLES / "gradient_descent.c").read_text())
    bare, ours, trace = both_ways(flavour, program)
    assert re.match(r"2 ranks: 20000 steps, mean square error \de-1\d, ", bare) and ours.split(", ")[:2] == bare.split(", ")[:2]
    assert ran(trace, "allreduce") > 0, trace


@pytest.mark.parametrize("name", ["mpich", "impi", "openmpi"])
def test_kmeans(both_ways, name):
    flavour = flavours.find(name)
    bare, ours, trace = both_ways(flavour, flavour.python, EXAMPLES / "kmeans.py")
    assert bare == ours and "2 ranks: centres within 0.0" in bare and "sums of the centres: " in bare
    assert ran(trace, "broadcast") > 0 and ran(trace, "allreduce") > 0, trace


def test_share_of_the_time(run):
    """Runs bench/share.py, which measures the share of time in collective calls, on one round of k-means."""
    flavour = flavours.find("mpich")
    command = flavour.command(2, [flavour.python, EXAMPLES / "kmeans.py"])
    done = run([sys.executable, paths.ROOT / "bench" / "share.py", "--rounds", "1", *command], env=flavour.environment())
    shares = re.findall(r"^(\w+) .* s, of which in collective calls .* s a rank: +([\d.]+) %$", done.stdout, re.MULTILINE)
    assert [side for side, _ in shares] == ["bare", "Copse"], done.stdout + done.stderr
    assert all(0 < float(percent) < 100 for _, percent in shares)
