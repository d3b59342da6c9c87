"""Memory that a program gives back leaves the shared heap, whatever the MPI does to hear about it (returns.c)."""

from pathlib import Path

SOURCE = Path(__file__).with_name("returns.c")


def test_memory_returns(copse, compile_mpi, flavour):
    program = compile_mpi(flavour, SOURCE.read_text(), "returns")
    done = copse("run", "--shared-heap", "--trace", *flavour.command(2, [program], crowded=True), env=flavour.environment())
    assert done.returncode == 0 and done.stdout == "returned\n", done.stdout + done.stderr
    assert "no direct reach" not in done.stderr, done.stderr
