"""Compiles the program `collectives`, and tells from its output whether one of its parts has passed."""

import re
import subprocess
from pathlib import Path

import pytest

SOURCES = [
    Path(__file__).with_name(f"{name}.c")
    for name in ("collectives", "handlers", "moves", "orders", "programs", "rare", "reductions", "requests", "rooms", "rounds", "standard", "trials")
]
BARE = {"COLLECTIVES_BARE": "1"}  # for runs where Copse passes every call on: leaves out what the MPIs get wrong
SPAWNS = {"impi": {"I_MPI_SPAWN": "on"}}  # otherwise Intel MPI crashes when it spawns
ONE_OR_ALL = pytest.mark.parametrize(  # MPIs: one in the quick set, three in the full set
    "name", ["mpich", *(pytest.param(name, marks=pytest.mark.full) for name in ("impi", "openmpi"))]
)
PARTS = ["types", "derived", "matrix", "sparse", "large", "truncated", "communicators", "threads", "errors", "memory", "requests",
         "progress", "waits", "request-threads", "orders", "order-threads", "rare", "type-threads", "standard",
         "session-last"]  # fmt: skip
PARTS_OVER_NODES = ["types", "derived", "matrix", "communicators", "requests", "orders", "progress", "rare"]
IMB_END = "# All processes entering MPI_Finalize"  # the last line of the Intel MPI Benchmarks
# The names that Copse's trace uses.
EVERY = ("barrier", "broadcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "reduce_scatter", "scan",
         "exscan")  # fmt: skip


def compile_with(mpicc: Path, program: Path, environment: dict[str, str]) -> Path:
    command = [mpicc, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", *SOURCES, "-o", program, "-lpthread"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return program


def passed(done: subprocess.CompletedProcess, part: str) -> bool:
    return done.returncode == 0 and re.search(rf"^{part}: [1-9]\d* checks", done.stdout, re.MULTILINE) is not None
