"""Copse beside other tools and in odd programs: it is not seen, and sees what it should.

A profiler (profiler.c) may be preloaded before Copse or behind it: both count the calls. Debuggers work on ranks; programs
that never call MPI, that fork, or that are linked statically, run as ever under `copse run`.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from copse import flavours, paths

PROFILER = Path(__file__).with_name("profiler.c")
HEAP = paths.PRELOAD_FOLDER / "libcopse-heap.so"
CALLS = {"allreduce": 7, "broadcast": 5, "barrier": 3}
RANKS = 2

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int rank, ranks, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  long *many = calloc(10000, sizeof *many);
  for (int i = 0; i < 7; ++i) {
    long in = rank + i, out = 0;
    MPI_Allreduce(&in, &out, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    wrong += out != ranks * i + (long)ranks * (ranks - 1) / 2;
    if (i >= 5) continue;
    if (rank == i % ranks) many[9999] = i;
    MPI_Bcast(many, 10000, MPI_LONG, i % ranks, MPI_COMM_WORLD);
    wrong += many[9999] != i;
    if (i >= 3) continue;
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc == 1) continue;
    const pid_t child = fork();
    if (child == 0) {
      many[9999] = -1;
      free(malloc(1 << 20));
      exec: execlp("true", "true", (char *)NULL);
      goto exec;
    }
    int status = 1;
    waitpid(child, &status, 0);
    wrong += status != 0 || system("true") != 0;
  }
  if (wrong == 0) printf("rank %d is right\\n", rank);
  fflush(stdout);
  free(many);
  return MPI_Finalize();
}
"""


def all_right(done) -> bool:
    return done.returncode == 0 and len(re.findall(r"^rank \d is right$", done.stdout, re.MULTILINE)) == RANKS


def ran(done, call: str) -> int:
    """Calls on all ranks that Copse's trace says it ran."""
    rows = re.findall(rf"^copse: {call} +\w+ (?:line|slot|get|put).*?  +(\d+) ", done.stderr, re.MULTILINE)
    return sum(map(int, rows))


@pytest.mark.parametrize("profiler_comes", ["before", "behind"])
def test_profiler(launch, compile_mpi, tmp_path, flavour, profiler_comes):
    program, profiler = compile_mpi(flavour, PROGRAM), tmp_path / "libprofiler.so"
    subprocess.run([flavour.mpicc, "-O2", "-shared", "-fPIC", PROFILER, "-o", profiler], env=flavour.environment(),
                   check=True, timeout=60)  # fmt: skip
    order = [profiler, flavour.preload] if profiler_comes == "before" else [flavour.preload, profiler]
    done = launch(flavour, RANKS, program=[program], LD_PRELOAD=":".join(map(str, order)), COPSE_TRACE="1")
    assert all_right(done), done.stdout + done.stderr
    assert "profiler: 7 allreduces, 5 broadcasts, 3 barriers" in done.stdout
    assert {call: ran(done, call) for call in CALLS} == {call: times * RANKS for call, times in CALLS.items()}, done.stderr


@pytest.mark.parametrize("heap", [[], ["--shared-heap"]])
def test_a_program_that_forks(copse, compile_mpi, flavour, heap):
    program = compile_mpi(flavour, PROGRAM)
    done = copse("run", "--trace", *heap, *flavour.command(RANKS, [program, "fork"]), env=flavour.environment())
    assert all_right(done), done.stdout + done.stderr
    assert ran(done, "allreduce") == CALLS["allreduce"] * RANKS, done.stderr


@pytest.mark.parametrize("options", [[], ["-static"]])
def test_a_program_without_mpi(run, copse, tmp_path, options):
    """Says the same on both streams, with the same exit code, as without Copse."""
    program, source = tmp_path / "program", tmp_path / "program.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("out"); fputs("err\\n", stderr); return 3; }\n')
    assert run(["gcc", *options, source, "-o", program]).returncode == 0
    flavour = flavours.find("mpich")
    command = flavour.command(1, [program])
    bare = run(command, env=flavour.environment())
    ours = copse("run", "--trace", "--shared-heap", *command, env=flavour.environment())
    assert (ours.returncode, ours.stdout, ours.stderr) == (bare.returncode, bare.stdout, bare.stderr) and "out" in ours.stdout


@pytest.mark.parametrize(
    "tool",
    [
        ["gdb", "-q", "-batch", "-ex", "run", "-ex", "info inferiors", "--args"],
        # A search for leaks would read all of the heap's addresses.
        pytest.param(["valgrind", "-q", "--leak-check=no"], marks=pytest.mark.full),
    ],
    ids=lambda tool: tool[0],
)
@pytest.mark.parametrize("heap", [False, True])
def test_under_a_debugger(launch, compile_mpi, tool, heap):
    if shutil.which(tool[0]) is None:
        pytest.skip(f"{tool[0]} is not installed")
    flavour = flavours.find("mpich")
    preload = f"{flavour.preload}:{HEAP}" if heap else str(flavour.preload)
    done = launch(flavour, RANKS, program=[*tool, compile_mpi(flavour, PROGRAM)], LD_PRELOAD=preload, COPSE_TRACE="1")
    assert all_right(done), done.stdout + done.stderr
    assert ran(done, "allreduce") == CALLS["allreduce"] * RANKS, done.stderr
    assert re.search(r"^==.*copse", done.stdout + done.stderr, re.MULTILINE) is None, done.stderr  # valgrind's complaints
