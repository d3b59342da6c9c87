"""Dedicated collective processors: helper processes that make the started and persistent calls of a program (docs/collective-processors.md)."""

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from collectives import IMB_END, passed
from marked import marked, until

from copse import flavours, paths
from copse.trace import served_calls

SERVED = ("barrier", "broadcast", "reduce", "allreduce", "reduce_scatter")
SERVED_PERSISTENT = Path(__file__).with_name("served.c")


MARK = "TEST_OF_HELPERS"  # in the environment of a test's programs and their helpers: other tests may run beside this one


def helpers() -> set[int]:
    """Returns the ids of all helper processes of this test."""
    return {int(process.name) for process in marked(MARK, os.environ[MARK]) if is_helper(process)}


def ranks_of(program: Path) -> set[int]:
    """Returns the ids of all ranks of a program, with those that were launched as helpers."""
    return {int(process.name) for process in marked(MARK, os.environ[MARK]) if words_of(process)[:1] == [str(program)]}


def is_helper(process: Path) -> bool:
    words = words_of(process)
    return len(words) > 2 and Path(words[0]).name == "copse-native" and words[1] == "serve"


def words_of(process: Path) -> list[str]:
    """Returns the command of a process. It is empty if the process has ended."""
    try:
        return os.fsdecode((process / "cmdline").read_bytes()).split("\0")
    except OSError:
        return []


@contextmanager
def running(flavour, ranks: int, program: list, **variables: str) -> Iterator[tuple[subprocess.Popen, list[int]]]:
    """Starts a program that has a helper. At the end, kills its session and every process that has been added to the list."""
    variables = {"LD_PRELOAD": str(flavour.preload), "COPSE_JOIN": "1", "COPSE_COLLECTIVE_PROCESSORS": "1", **variables}
    command = flavour.command(ranks, program, variables=variables)
    process = subprocess.Popen(command, env=flavour.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    others: list[int] = []
    try:
        yield process, others
    finally:
        for pid in (-process.pid, *others):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        process.wait()


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch):
    monkeypatch.setenv(MARK, uuid.uuid4().hex)
    yield
    assert until(lambda: not helpers()), f"helpers that were not let go: {helpers()}"


@pytest.mark.parametrize(("part", "processors"), [
    ("requests", "1"), ("standard", "1/2"),
    *[pytest.param(part, processors, marks=pytest.mark.full) for part in ("requests", "standard", "matrix", "communicators", "progress")
      for processors in ("1", "1/2", "3")]])  # fmt: skip
def test_part(launch, flavour, part, processors):
    few = ["world"] if part == "matrix" else []
    done = launch(flavour, 3, part, *few, COPSE_COLLECTIVE_PROCESSORS=processors, COPSE_TRACE="1", timeout=200)
    assert passed(done, part), done.stdout + done.stderr
    number = 2 if processors == "1/2" else int(processors)
    assert re.search(rf"^copse: helpers: {number} on each node", done.stderr, re.MULTILINE), done.stderr
    if part == "requests":
        for call in SERVED:
            assert re.search(rf"^copse: {call} +served ", done.stderr, re.MULTILINE), f"{call} was not served\n{done.stderr}"


@pytest.mark.parametrize("ranks", [2, 3])
def test_persistent_calls(launch, compile_mpi, flavour, ranks):
    """Helpers serve a few at a time, in whatever order each rank starts them. The others run as before."""
    program = compile_mpi(flavour, SERVED_PERSISTENT.read_text(), "served")
    done = launch(flavour, ranks, program=[program], COPSE_COLLECTIVE_PROCESSORS="1", COPSE_TRACE="1", timeout=200)
    assert done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr
    if "nothing" not in done.stdout:
        for call in SERVED:
            calls = re.findall(rf"^copse: {call} +served +\w+ +(\d+) ", done.stderr, re.MULTILINE)
            served = 4 if call == "barrier" else 3  # helpers serve the first 16 requests
            assert sum(map(int, calls)) == served * 30 * ranks, done.stderr
        assert re.search(r"^copse: allreduce +(?!served)\w+ (line|slot|get|kernel)", done.stderr, re.MULTILINE), done.stderr


def test_several_started_calls(launch, compile_mpi, flavour):
    """Helpers make the calls that a rank has started one after the other, while that rank makes none."""
    program = compile_mpi(flavour, SERVED_PERSISTENT.read_text(), "served")
    done = launch(flavour, 3, "started", program=[program], COPSE_COLLECTIVE_PROCESSORS="1", timeout=200)
    assert done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.full
def test_calls_that_ranks_must_help_with(launch, flavour):
    """Helpers reach no buffers, so that long calls need the ranks, also while one of them disconnects."""
    done = launch(flavour, 3, "standard", COPSE_COLLECTIVE_PROCESSORS="1", COPSE_REACH="staged", timeout=200)
    assert passed(done, "standard"), done.stdout + done.stderr


def test_several_nodes_are_not_served(launch):
    done = launch(flavours.find("mpich"), 4, "requests", COPSE_COLLECTIVE_PROCESSORS="1", COPSE_NODES="2", COPSE_TRACE="1")
    assert passed(done, "requests") and "served" not in done.stderr, done.stdout + done.stderr


def test_processors_that_may_be_used(launch):
    """A helper never lands where no process of the job may run, and the trace says where it is."""
    highest = max(os.sched_getaffinity(0))
    done = launch(flavours.find("mpich"), 2, "requests", COPSE_COLLECTIVE_PROCESSORS=f"cpus:{highest},1000", COPSE_TRACE="1")
    assert passed(done, "requests"), done.stdout + done.stderr
    assert "processor 1000 may not be used here" in done.stderr, done.stderr
    assert f"2 on each node; here on processor {highest}, any processor" in done.stderr, done.stderr


@pytest.mark.parametrize("name", ["mpich", pytest.param("impi", marks=pytest.mark.full)])
def test_intel_benchmarks_are_served(copse, name):
    """As their makers built them. Their blocking calls run as before."""
    flavour = flavours.find(name)
    program = [flavours.imb("IMB-NBC"), "-iter", "20", "-msglog", "3:16", "Ibcast", "Ireduce", "Iallreduce", "Ibarrier"]
    command = flavour.command(2, program, crowded=True)
    done = copse("run", "--collective-processors", "1", "--trace", *command, env=flavour.environment())
    assert done.returncode == 0 and IMB_END in done.stdout, done.stdout + done.stderr
    assert {*served_calls(done.stderr)} >= {"barrier", "broadcast", "reduce", "allreduce"}, done.stderr
    assert re.search(r"^copse: barrier +(?!served)\w+ (line|slot|get|put)", done.stderr, re.MULTILINE), done.stderr


def test_an_operator_of_the_program_runs_as_without_helpers(run, compile_mpi):
    """It cannot leave its process. The trace says so, and the next call is served."""
    flavour = flavours.find("mpich")
    program = compile_mpi(flavour, OPERATOR, "operator")
    variables = {"LD_PRELOAD": str(flavour.preload), "COPSE_TRACE": "1", "COPSE_COLLECTIVE_PROCESSORS": "1"}
    done = run(flavour.command(2, [program], variables=variables), env=flavour.environment())
    assert done.returncode == 0 and done.stdout.count("sums 20 and 10") == 2, done.stdout + done.stderr
    note = "copse: helpers: MPI_Iallreduce with an operator of the program runs as without them (2 times)"
    assert note in done.stderr.splitlines() and served_calls(done.stderr) == {"allreduce": 2}, done.stderr
    by_ranks = re.findall(r"^copse: allreduce +(?!served)\w+ (?:line|slot|get|put)\b.*? {2,}(\d+) ", done.stderr, re.MULTILINE)
    assert sum(map(int, by_ranks)) == 2, done.stderr


OPERATOR = """#include <mpi.h>
#include <stdio.h>
static void twice_the_sum(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int *)inout)[i] = 2 * (((int *)in)[i] + ((int *)inout)[i]);
}
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int mine = 5, of_operator = 0, sum = 0;
  MPI_Op operator;
  MPI_Request request;
  MPI_Op_create(twice_the_sum, 1, &operator);
  MPI_Iallreduce(&mine, &of_operator, 1, MPI_INT, operator, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  printf("sums %d and %d\\n", of_operator, sum);
  MPI_Op_free(&operator);
  return MPI_Finalize();
}
"""


def test_a_rank_alone_has_none(launch):
    done = launch(flavours.find("mpich"), 1, "random", 1, 20, COPSE_COLLECTIVE_PROCESSORS="1", COPSE_TRACE="1")
    assert passed(done, "random") and "none for a rank that is alone" in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("wrong", ["cpus:", "1/0", "65"])
def test_what_is_no_number_of_helpers(launch, wrong):
    done = launch(flavours.find("mpich"), 2, "random", 1, 20, COPSE_COLLECTIVE_PROCESSORS=wrong, COLLECTIVES_BARE="1")
    assert passed(done, "random"), done.stdout + done.stderr
    assert "expected a number of helpers up to 64, a ratio such as 1/8, processors such as cpus:6,7, or" in done.stderr


def test_ranks_that_do_not_agree_have_none(run, programs):
    """Ranks with different variables are not served, and do not wait for one another."""
    flavour = flavours.find("mpich")
    program = [programs(flavour), "random", "1", "20"]
    ours = ["env", f"LD_PRELOAD={flavour.preload}"]
    [launcher, *_] = flavour.command(1, program)
    done = run([launcher, "-n", "1", *ours, "COPSE_COLLECTIVE_PROCESSORS=1", *program, ":", "-n", "1", *ours, *program],
               env={**flavour.environment(), "COLLECTIVES_BARE": "1", "COPSE_TRACE": "1"}, timeout=100)  # fmt: skip
    assert passed(done, "random"), done.stdout + done.stderr
    assert "has other COPSE_ variables than rank 0" in done.stderr and "served" not in done.stderr, done.stderr


OTHER_VICTIMS = [pytest.param(victim, marks=pytest.mark.full) for victim in ("stopped helper", "rank", "launcher")]


@pytest.mark.parametrize("victim", ["helper", *OTHER_VICTIMS])
def test_killed(endless, flavour, victim):
    """Whoever is killed, the program ends, and no helper stays behind."""
    with running(flavour, 2, [endless(flavour)]) as (process, ranks):
        for _ in range(2):
            ranks.append(int(process.stdout.readline().split()[1]))
        [helper] = helpers()
        pid = {"rank": ranks[1], "launcher": process.pid}.get(victim, helper)
        os.kill(pid, signal.SIGSTOP if victim == "stopped helper" else signal.SIGKILL)
        if victim != "launcher":
            said, _ = process.communicate(timeout=60)
            assert process.returncode != 0
            if "helper" in victim:
                assert "rank 2" in said and "ended" in said, said
        assert until(lambda: not helpers())


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.full)])
def test_a_launched_helper_that_is_gone(endless, flavour, how):
    """The program ends, as if one of its ranks had been killed, and nothing stays behind."""
    program, preload = endless(flavour), f"{flavour.world_library}:{flavour.preload}"
    with running(flavour, 3, [program], LD_PRELOAD=preload, COPSE_COLLECTIVE_PROCESSORS="out:1") as (process, ranks):
        for _ in range(2):
            ranks.append(int(process.stdout.readline().split()[1]))
        [helper] = ranks_of(program) - {*ranks}
        ranks.append(helper)
        os.kill(helper, how)
        process.communicate(timeout=60)
        assert process.returncode != 0
        assert until(lambda: not ranks_of(program))


SUMS = """
import array, os, sys, time
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Barrier()
if world.rank == 0:
    print("ready", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
for i in range(20):
    one, sums = array.array("i", [world.rank + i]), array.array("i", [0])
    world.Iallreduce([one, MPI.INT], [sums, MPI.INT]).Wait()
    assert sums[0] == 1 + 2 * i, (i, sums[0])
print("right", flush=True)
"""


@pytest.mark.full
def test_a_starved_helper(tmp_path):
    """Others keep all processors busy, and the helper has the least priority. The calls wait for it, and come to their end."""
    flavour, go = flavours.find("mpich"), tmp_path / "go"
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    try:
        with running(flavour, 2, [flavour.python, "-c", SUMS, go], COPSE_TRACE="1") as (process, _):
            assert process.stdout.readline() == "ready\n"
            [helper] = helpers()
            os.setpriority(os.PRIO_PROCESS, helper, 19)
            go.touch()
            said, _ = process.communicate(timeout=100)
    finally:
        for each in busy:
            each.kill()
            each.wait()
    assert process.returncode == 0 and len(re.findall("^right$", said, re.MULTILINE)) == 2, said
    assert re.search(r"^copse: allreduce +served line +40 ", said, re.MULTILINE), said


MANY_COMMUNICATORS = """
import os, sys, time
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Barrier()
if world.rank == 0:
    print("ready", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
begin = time.monotonic()
for _ in range(4):
    one = world.Dup()
    one.Barrier()
    request = one.Ibarrier()
    request.Wait()
    one.Free()
print(f"took {time.monotonic() - begin:.1f}", flush=True)
"""


@pytest.mark.full
def test_many_communicators_at_once(run):
    """A desk holds few letters. Whoever comes when it is full waits a little."""
    flavour = flavours.find("mpich")
    program = """
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Barrier()
pair = world.Split(world.rank // 2, world.rank)
pair.Barrier()
pair.Ibarrier().Wait()
"""
    variables = {"LD_PRELOAD": str(flavour.preload), "COPSE_JOIN": "1", "COPSE_COLLECTIVE_PROCESSORS": "1", "COPSE_TRACE": "1"}
    done = run(flavour.command(32, [flavour.python, "-c", program], variables=variables), env=flavour.environment(), timeout=200)
    assert done.returncode == 0 and "served" in done.stderr, done.stderr
    assert "serve no communicator" not in done.stderr, done.stderr


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.full)])
def test_communicators_do_not_wait_for_a_helper_that_is_gone(tmp_path, how):
    """Of a helper that stands still, one communicator finds that out."""
    flavour, go = flavours.find("mpich"), tmp_path / "go"
    with running(flavour, 2, [flavour.python, "-c", MANY_COMMUNICATORS, go]) as (process, others):
        assert process.stdout.readline() == "ready\n"
        [helper] = helpers()
        others.append(helper)
        os.kill(helper, how)
        go.touch()
        said, _ = process.communicate(timeout=100)
        assert until(lambda: not helpers()), "a helper outlives the program"
    assert process.returncode == 0, said
    most = 35  # seconds; if each of the four waited for the helper, 40
    assert [float(took) < most for took in re.findall(r"took ([\d.]+)", said)] == [True, True], said


def test_the_papers_interface(run, tmp_path):
    """DCP_Iallreduce and DCP_Wait, as `copse run` serves them."""
    flavour = flavours.find("mpich")
    source, program = tmp_path / "dcp.c", tmp_path / "dcp"
    source.write_text("""#include <mpi.h>
#include <copse/dcp.h>
#include <stdio.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  double mine = 1, sum = 0;
  MPI_Request request;
  DCP_IAllreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  DCP_Wait(&request, MPI_STATUS_IGNORE);
  printf("sum %g\\n", sum);
  return MPI_Finalize();
}
""")
    assert run([flavour.mpicc, "-I", paths.ROOT / "include", source, "-o", program], env=flavour.environment()).returncode == 0
    command = flavour.command(3, [program], variables={"LD_PRELOAD": str(flavour.preload), "COPSE_TRACE": "1", "COPSE_COLLECTIVE_PROCESSORS": "1"})
    done = run(command, env=flavour.environment())
    assert done.stdout.count("sum 3") == 3 and re.search(r"^copse: allreduce +served line +3 ", done.stderr, re.MULTILINE), done.stdout + done.stderr
