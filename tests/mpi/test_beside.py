"""Copse beside other tools and in unusual programs. They do not notice it, and it sees what it should.

A profiler (profiler.c) may be preloaded before Copse or behind it, and both count the calls. Debuggers work on ranks. Programs
that never call MPI, that fork, or that are linked statically run as usual under `copse run`.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from collectives import ONE_OR_ALL

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
    """Returns the number of calls, over all ranks, that Copse ran according to its trace."""
    rows = re.findall(rf"^copse: {call} +\w+ (?:line|slot|get|put).*?  +(\d+) ", done.stderr, re.MULTILINE)
    return sum(map(int, rows))


@pytest.mark.parametrize("profiler_comes", ["before", "behind", pytest.param("in the program", marks=pytest.mark.full)])
def test_profiler(launch, compile_mpi, tmp_path, flavour, profiler_comes):
    """The profiler is in the program, where Score-P's compiler wrapper links it."""
    inside = profiler_comes == "in the program"
    program = compile_mpi(flavour, PROGRAM + (PROFILER.read_text() if inside else ""))
    profiler = tmp_path / "libprofiler.so"
    subprocess.run([flavour.mpicc, "-O2", "-shared", "-fPIC", PROFILER, "-o", profiler], env=flavour.environment(),
                   check=True, timeout=60)  # fmt: skip
    order = {"before": [profiler, flavour.preload], "behind": [flavour.preload, profiler]}.get(
        profiler_comes, [flavour.preload]
    )
    done = launch(flavour, RANKS, program=[program], LD_PRELOAD=":".join(map(str, order)), COPSE_TRACE="1")
    assert all_right(done), done.stdout + done.stderr
    assert "profiler: 7 allreduces, 5 broadcasts, 3 barriers" in done.stdout
    assert {call: ran(done, call) for call in CALLS} == {call: times * RANKS for call, times in CALLS.items()}, done.stderr


@pytest.mark.parametrize("library", sorted({family.preload for family in flavours.FAMILIES} | {flavours.STANDARD_ABI_PRELOAD}))
def test_every_name_has_its_shift(run, library):
    """Calls both MPI_Name and PMPI_Name."""
    listed = run(["nm", "-D", "--defined-only", paths.PRELOAD_FOLDER / library])
    names = set(re.findall(r" T (P?MPI_\w+)", listed.stdout))
    assert len(names) > 200 and {f"P{name}" for name in names if name.startswith("MPI_")} == {
        name for name in names if name.startswith("PMPI_")
    }


@pytest.mark.parametrize("heap", [[], ["--shared-heap"]])
def test_a_program_that_forks(copse, compile_mpi, flavour, heap):
    program = compile_mpi(flavour, PROGRAM)
    done = copse("run", "--trace", *heap, *flavour.command(RANKS, [program, "fork"]), env=flavour.environment())
    assert all_right(done), done.stdout + done.stderr
    assert ran(done, "allreduce") == CALLS["allreduce"] * RANKS, done.stderr


LATE = """
#include <mpi.h>
#include <stdio.h>
void use_library(void) {}
__attribute__((destructor)) static void end(void) {
  int rank, one = 1, sum = 0;
  MPI_Comm world;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Bcast(&sum, 1, MPI_INT, 0, world);
  MPI_Comm_free(&world);
  if (sum == 2) printf("rank %d is right\\n", rank);
  fflush(stdout);
  MPI_Finalize();
}
"""
EARLY = """
#include <mpi.h>
void use_library(void);
int main(int argc, char **argv) {
  int one = 1, sum = 0;
  MPI_Comm copy;
  use_library();
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy);
  return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
"""


def test_a_library_that_finalises_in_its_destructor(launch, run, tmp_path, flavour):
    """The call comes after the point where Copse's own destructors would have run."""
    source, library, program = tmp_path / "late.c", tmp_path / "liblate.so", tmp_path / "early"
    source.write_text(LATE)
    done = run([flavour.mpicc, "-shared", "-fPIC", source, "-o", library], env=flavour.environment())
    assert done.returncode == 0, done.stderr
    source.write_text(EARLY)
    done = run([flavour.mpicc, source, library, f"-Wl,-rpath,{tmp_path}", "-o", program], env=flavour.environment())
    assert done.returncode == 0, done.stderr
    done = launch(flavour, RANKS, program=[program], COPSE_TRACE="1")
    assert all_right(done) and ran(done, "allreduce") == 3 * RANKS, done.stdout + done.stderr


@pytest.mark.parametrize("options", [[], ["-static"]])
def test_a_program_without_mpi(run, copse, tmp_path, options):
    """The program prints the same on both streams and has the same exit code as without Copse."""
    program, source = tmp_path / "program", tmp_path / "program.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("out"); fputs("err\\n", stderr); return 3; }\n')
    assert run(["gcc", *options, source, "-o", program]).returncode == 0
    flavour = flavours.find("mpich")
    command = flavour.command(1, [program])
    bare = run(command, env=flavour.environment())
    ours = copse("run", "--trace", "--shared-heap", *command, env=flavour.environment())
    assert (ours.returncode, ours.stdout, ours.stderr) == (bare.returncode, bare.stdout, bare.stderr) and "out" in ours.stdout


def test_a_program_linked_statically_with_its_mpi(run, copse, tmp_path):
    """Copse says that it cannot help, and the program runs."""
    flavour, source, program = flavours.find("mpich-debian"), tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    libraries = run(["pkg-config", "--static", "--libs", "mpich"]).stdout.replace("-lmpich", "-l:libmpich.a").split()
    done = run([flavour.mpicc, "-c", source, "-o", source.with_suffix(".o")], env=flavour.environment())
    assert done.returncode == 0, done.stderr
    done = run(["gcc", source.with_suffix(".o"), *libraries, "-o", program])
    assert done.returncode == 0, done.stderr
    done = copse("run", "--trace", *flavour.command(RANKS, [program]), env=flavour.environment())
    assert all_right(done) and done.stderr.count("copse: ") == 1, done.stdout + done.stderr
    assert f"{program} is linked statically with its MPI" in done.stderr


GDB = ["gdb", "-q", "-batch", "-ex", "set breakpoint pending on", "-ex", "tbreak MPI_Allreduce", "-ex", "run",
       "-ex", "backtrace", "-ex", "continue", "--args"]  # fmt: skip
VALGRIND = ["valgrind", "-q", "--leak-check=no"]  # the search for leaks would read the heap's whole address range


@pytest.mark.parametrize("tool", [GDB, pytest.param(VALGRIND, marks=pytest.mark.full)], ids=lambda tool: tool[0])
@pytest.mark.parametrize("heap", [False, True])
def test_under_a_debugger(launch, compile_mpi, tool, heap):
    """GDB stops in a collective and goes on. Valgrind finds no error in Copse, whose kernel reach works under it too.
    """
    if shutil.which(tool[0]) is None:
        pytest.skip(f"{tool[0]} is not installed")
    flavour = flavours.find("mpich")
    preload = f"{flavour.preload}:{HEAP}" if heap else str(flavour.preload)
    done = launch(flavour, RANKS, program=[*tool, compile_mpi(flavour, PROGRAM)], LD_PRELOAD=preload, COPSE_TRACE="1",
                  COPSE_ALGORITHM="bcast=flat:get", timeout=400)  # fmt: skip
    assert all_right(done), done.stdout + done.stderr
    assert ran(done, "allreduce") == CALLS["allreduce"] * RANKS, done.stderr
    assert re.search(r"^copse: broadcast +flat get", done.stderr, re.MULTILINE), done.stderr
    # Complaints of Valgrind about Copse, or about what Copse called. Other complaints come from within the MPI.
    assert re.search(r"^==\d+== +at .*(\n==\d+== +by .*)?copse", done.stdout + done.stderr, re.MULTILINE) is None, done.stderr
    assert tool is not GDB or re.search(r"hit Temporary breakpoint 1\b", done.stdout), done.stdout


@pytest.mark.parametrize("whose", ["of all ranks", "of each rank"])
@ONE_OR_ALL
def test_in_a_user_namespace(run, compile_mpi, name, whose):
    """Ranks in separate namespaces may be unable to reach each other's memory. Then all calls are passed on, and the
    trace says why, or one line without it."""
    alone = ["unshare", "-U", "-r"]
    tried = run([*alone, "true"])
    if tried.returncode != 0:
        pytest.skip(f"no user namespaces here: {tried.stderr.strip()}")
    flavour = flavours.find(name)
    each = whose == "of each rank"
    program = [*(alone if each else []), compile_mpi(flavour, PROGRAM)]
    fixed = {"LD_PRELOAD": str(flavour.preload), "MPIR_CVAR_CH4_CMA_ENABLE": "0"}  # without the latter, MPICH aborts

    def command(**variables):
        return flavour.command(RANKS, program, variables={**fixed, **variables})

    done = run([*([] if each else alone), *command(COPSE_TRACE="1")], env=flavour.environment())
    assert all_right(done), done.stdout + done.stderr
    if each:
        assert ran(done, "allreduce") == 0 and "could not open or map the common memory" in done.stderr, done.stderr
        for quiet, lines in (("0", 1), ("1", 0), ("", 0)):
            done = run(command(COPSE_QUIET=quiet), env=flavour.environment())
            said = re.findall(r"^.*copse: calls on a communicator of all .* ranks are passed on to the MPI: .*could not open or map the common memory.*$", done.stderr, re.MULTILINE)
            assert all_right(done) and len(said) == done.stderr.count("copse: ") == lines, done.stdout + done.stderr
    else:
        assert ran(done, "allreduce") == CALLS["allreduce"] * RANKS, done.stderr
