"""UPC programs that an MPI's launcher starts: on one node, on nodes that are pretended (COPSE_NODES) and on emulated ones. They are
linked with no MPI; copse run preloads that of the launcher."""

import re
import subprocess
from pathlib import Path

import pytest

from copse import flavours, paths
from copse.cluster import Cluster, NotPermitted

SOURCE = Path(__file__).with_name("upc.c")
HEAP = {"COPSE_UPC_HEAP": "8M"}
# Open MPI's one-sided component for UCX says this where UCX has no device.
NOISE = re.compile(r"^\[.*osc_ucx_component.*\n ?\n", re.MULTILINE)
FLAVOURS = ["mpich", *(pytest.param(name, marks=pytest.mark.full) for name in ("impi", "openmpi"))]


@pytest.fixture(scope="session")
def upc_program(tmp_path_factory):
    program, library = tmp_path_factory.mktemp("upc") / "upc", paths.ROOT / "build" / "lib"
    command = ["gcc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-I", paths.ROOT / "include", SOURCE, "-o", program,
               "-L", library, "-lcopse", f"-Wl,-rpath,{library}"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return program


@pytest.fixture
def copse_run(run):
    """Runs copse run with variables for the program."""
    return lambda *arguments, env, timeout: run([paths.ROOT / "tools" / "copse", "run", *arguments], env=env, timeout=timeout)


@pytest.fixture
def launch(copse_run, upc_program):
    def launch_upc(name, ranks, part="run", threads=None, timeout=120, **variables):
        flavour = flavours.find(name)
        command = flavour.command(ranks, [upc_program, part], crowded=True)
        options = [] if threads is None else ["--upc-threads", str(threads)]
        return copse_run(*options, *command, env={**flavour.environment(), **HEAP, **variables}, timeout=timeout)

    return launch_upc


def check(done, threads: int, reached: int, code: int = 0) -> None:
    assert done.returncode == code, done.stdout + done.stderr
    assert f"{threads} threads, right; thread 0 reaches {reached} of them" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("name", FLAVOURS)
def test_processes_of_one_node(launch, name):
    check(launch(name, 3), 3, 3)


@pytest.mark.parametrize("name", FLAVOURS)
def test_threads_in_processes_of_two_nodes(launch, name):
    done = launch(name, 3, threads=5, COPSE_NODES="2")
    check(done, 5, 3)
    assert NOISE.sub("", done.stderr) == "", done.stderr


def test_the_first_result_that_is_not_0(launch):
    check(launch("mpich", 3, "result", COPSE_NODES="3"), 3, 1, code=4)


def test_one_thread_ends_all(launch):
    done = launch("mpich", 3, "exit", COPSE_NODES="3")
    assert done.returncode == 5, done.stdout + done.stderr


def test_mistakes_are_explained(launch):
    done = launch("mpich", 2, "mistake", COPSE_CHECK="1", COPSE_NODES="2")
    assert done.returncode != 0 and "upc_all_broadcast: dst is null; required: a pointer to shared memory" in done.stderr, done.stderr
    done = launch("mpich", 3, threads=2)
    assert done.returncode != 0 and "COPSE_UPC_THREADS is 2; required: at least the number of the MPI's processes, which is 3" in done.stderr
    done = launch("mpich", 2, COPSE_UPC_PROCESSES="2")
    assert done.returncode != 0 and "COPSE_UPC_PROCESSES is 2; required: 1, because the MPI has started 2 processes" in done.stderr


TESTS = ["arrays", "blocks", "movements", "pointers", "reductions", "semaphores", "synchronisation", "teams", "values"]
QUICK = {"arrays", "pointers", "semaphores", "synchronisation"}


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("test", [pytest.param(test, marks=[] if test in QUICK else pytest.mark.full) for test in TESTS])
def test_against_the_definitions(copse_run, test, nodes):
    """The tests of tests/upc, in processes of MPICH. Two nodes have three processes, one of them alone on its node."""
    flavour = flavours.find("mpich")
    command = flavour.command(3, [paths.ROOT / "build" / "release" / "tests" / f"upc_{test}_test"], crowded=True)
    variables = {"TEST_LAUNCHED": "3", "COPSE_NODES": str(nodes)}
    done = copse_run(*command, env={**flavour.environment(), **variables}, timeout=900)
    assert done.returncode == 0 and done.stdout.count("[  PASSED  ]") == 3, done.stdout + done.stderr


@pytest.mark.full
@pytest.mark.parametrize(("name", "in_turn"), [("mpich", 2), ("mpich", 1), ("impi", 2), ("impi", 1), ("openmpi", 2)])
def test_emulated_nodes(run, upc_program, tmp_path, name, in_turn):
    """Two threads on each of three nodes: neighbours together, or threads dealt out to the nodes. Open MPI's one-sided operations
    hang between nodes, so that a program on it is refused."""
    flavour = flavours.find(name)
    preload = {"LD_PRELOAD": f"{flavour.preload}:{flavour.libmpi}", **HEAP}
    try:
        with Cluster(tmp_path, 3) as cluster:
            command = cluster.command(flavour, 2, [upc_program, "run"], in_turn=in_turn, variables=preload)
            done = run(command, env=cluster.environment(flavour), timeout=200)
    except NotPermitted as error:
        pytest.skip(f"namespaces are not permitted here: {error}")
    if name == "openmpi":
        assert done.returncode != 0 and "UPC threads on several nodes: MPI_Win_flush of Open MPI 5.0.11 hangs" in done.stderr, done.stderr
    else:
        check(done, 6, 2)
