"""The preload libraries under every MPI flavour, with the MPI itself as the oracle (collectives.c)."""

import re
from pathlib import Path

import pytest
from collectives import BARE, EVERY, IMB_END, PARTS, PARTS_OVER_NODES, compile_with, passed

from copse import flavours, paths
from copse.trace import served_calls

IMB_QUICKLY = ["-msglog", "3:16", "-iter", "20"]
OF_MPI_4 = {"orders", "order-threads", "session-last"}  # Open MPI 4.1 has neither persistent collectives nor sessions
SELDOM = "were freed by all ranks at once"  # a complaint of the part "rare"
MATRIX_OF = {"matrix": ["world"]}  # parts for which one kind of communicator is enough
MPI4PY_SCRIPT = Path(__file__).with_name("every_call.py")


def skip_what_is_new(flavour, part):
    if flavour.name == "openmpi-debian" and part in OF_MPI_4:
        pytest.skip("Open MPI 4.1 is of MPI 3")


@pytest.fixture
def passes(launch):
    """Returns a function that runs a part, and asserts that it passes. What the MPI decides is compared with the MPI alone."""

    def run(flavour, ranks, part, *arguments, **options):
        done = launch(flavour, ranks, part, *arguments, **options)
        if SELDOM in done.stderr:
            bare = launch(flavour, ranks, part, *arguments, **{**options, "LD_PRELOAD": "", **BARE})
            assert SELDOM in bare.stderr, "without Copse they do:\n" + done.stderr
            pytest.skip(f"under {flavour.name}, ranks seldom free a communicator at once, with and without Copse")
        assert passed(done, part), done.stdout + done.stderr

    return run


@pytest.mark.parametrize("part", PARTS)
def test_part(passes, flavour, part):
    skip_what_is_new(flavour, part)
    few = MATRIX_OF.get(part, []) if flavour.name == "mpich-debian" else []  # its waiting ranks keep their processors
    passes(flavour, 3, part, *few)


@pytest.mark.parametrize("part", PARTS_OVER_NODES)
def test_over_two_nodes(passes, flavour, part):
    skip_what_is_new(flavour, part)
    passes(flavour, 4, part, *MATRIX_OF.get(part, []), COPSE_NODES="2")


def test_sizes_that_do_not_fit_over_two_nodes(launch, flavour):
    """Messages between nodes carry blocks of several ranks. Those whose sizes are right get what is theirs."""
    done = launch(flavour, 4, "truncated", COPSE_NODES="2")
    assert passed(done, "truncated"), done.stdout + done.stderr


@pytest.mark.parametrize("ranks", [3, 4])
def test_rare_where_intel_mpi_sends_messages_for_everything(passes, ranks):
    """MPICH behaves like this by itself on some processors. It then puts off the rest of the work on a freed
    communicator."""
    passes(flavours.find("impi"), ranks, "rare", I_MPI_COLL_INTRANODE="pt2pt", I_MPI_ADJUST_BARRIER="1")


def test_without_a_thread_calls_stand_still_while_ranks_compute(launch):
    """Shows that test_thread_of_copses_own can fail."""
    done = launch(flavours.find("mpich"), 3, "moved")
    assert passed(done, "moved"), done.stdout + done.stderr


@pytest.mark.parametrize("part", ["moved", "requests"])
def test_thread_of_copses_own(launch, flavour, part):
    done = launch(flavour, 3, part, COPSE_PROGRESS="thread")
    assert passed(done, part), done.stdout + done.stderr


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_thread_that_may_call_the_mpi(launch, name):
    """With MPI_THREAD_MULTIPLE the thread also serves calls between nodes."""
    for part in ("moved-threads", "waits-threads"):
        done = launch(flavours.find(name), 4, part, COPSE_PROGRESS="thread", COPSE_NODES="2")
        assert passed(done, part), done.stdout + done.stderr


@pytest.mark.parametrize("name", ["mpich", "impi", "openmpi"])
def test_requests_in_every_way_at_once(launch, name):
    flavour = flavours.find(name)
    preload = f"{flavour.preload}:{paths.PRELOAD_FOLDER / 'libcopse-heap.so'}"
    for part in ("requests", "orders"):
        done = launch(flavour, 4, part, LD_PRELOAD=preload, COPSE_CHECK="1", COPSE_NODES="2", COPSE_PROGRESS="thread")
        assert passed(done, part), done.stdout + done.stderr


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_persistent_calls_are_traced(launch, name):
    """The trace has all calls, also of requests that the program leaves to MPI_Finalize, and none is passed on."""
    done = launch(flavours.find(name), 2, "orders", COPSE_TRACE="1")
    assert passed(done, "orders") and "passed on" not in done.stderr, done.stdout + done.stderr
    broadcasts = re.findall(r"^copse: broadcast +\w+ (?:line|slot|get|put) +(\d+)", done.stderr, re.MULTILINE)
    assert sum(map(int, broadcasts)) > 2 * 1500, done.stderr


@pytest.mark.full
def test_elements_of_more_than_2_gib(launch, flavour):
    """MPI_Pack cannot take these elements: two ranks have 4 GiB between them."""
    done = launch(flavour, 2, "large", 2049, timeout=600)
    assert passed(done, "large"), done.stdout + done.stderr


ALLREDUCES = re.findall(r"^ALGORITHM\(allreduce, (\w+),", (paths.ROOT / "src/algorithms/registry.def").read_text(), re.MULTILINE)


@pytest.mark.full
@pytest.mark.drawn(15)
@pytest.mark.parametrize("ranks", [3, 4, 5])
@pytest.mark.parametrize("algorithm", ALLREDUCES)
def test_every_allreduce_gives_all_ranks_the_same_bits(launch, algorithm, ranks):
    apart = {
        "served": ("started-identical", {"COPSE_COLLECTIVE_PROCESSORS": "1"}),
        "delegated": ("identical", {"COPSE_NODES": "2"}),
    }
    part, more = apart.get(algorithm, ("identical", {}))
    done = launch(flavours.find("mpich"), ranks, part, COPSE_ALGORITHM=f"allreduce={algorithm}", COPSE_TRACE="1", **more)
    assert passed(done, part) and re.search(rf"^copse: allreduce +{algorithm} ", done.stderr, re.MULTILINE), done.stderr


@pytest.mark.full
@pytest.mark.parametrize("part", ["progress", "request-threads", "matrix"])
def test_more_with_a_thread_of_copses_own(launch, flavour, part):
    done = launch(flavour, 3, part, COPSE_PROGRESS="thread")
    assert passed(done, part), done.stdout + done.stderr


@pytest.mark.full
@pytest.mark.drawn(60)
@pytest.mark.parametrize("part", [*PARTS, "started-threads"])
@pytest.mark.parametrize("ranks", [2, 4, 5])
def test_part_with_other_ranks(passes, flavour, part, ranks):
    skip_what_is_new(flavour, part)
    passes(flavour, ranks, part, timeout=600)


def test_nothing_is_passed_on_needlessly(launch, flavour):
    """The other tests would also pass if Copse did nothing."""
    done = launch(flavour, 2, "matrix", "dup", COPSE_TRACE="1")
    assert passed(done, "matrix"), done.stderr
    for call in EVERY:
        assert re.search(rf"^copse: {call} +\w+ (line|slot|get|put)", done.stderr, re.MULTILINE), done.stderr
    assert "passed on" not in done.stderr


def test_shared_heap(launch, flavour):
    """All ranks of the node map the memory that MPI_Alloc_mem and malloc return."""
    heap = paths.PRELOAD_FOLDER / "libcopse-heap.so"
    preload = f"{flavour.preload}:{heap}"
    for part in ("memory", "derived", "matrix", "requests"):
        done = launch(flavour, 2, part, *MATRIX_OF.get(part, []), COPSE_TRACE="1", LD_PRELOAD=preload)
        assert passed(done, part), done.stdout + done.stderr
        assert "no direct reach" not in done.stderr, done.stderr


@pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=pytest.mark.full)])
def test_shared_heap_where_the_kernel_copies_nothing(launch, flavour, ranks):
    """Then buffers outside the heap are copied there and back. Those that can only be read are not written."""
    preload = f"{flavour.preload}:{paths.PRELOAD_FOLDER / 'libcopse-heap.so'}"
    for part in ("standard", "derived"):
        done = launch(flavour, ranks, part, LD_PRELOAD=preload, COPSE_REACH="direct", timeout=200)
        assert passed(done, part), done.stdout + done.stderr


def test_mpi4py(launch, flavour):
    done = launch(flavour, 3, program=[flavour.python, MPI4PY_SCRIPT], COPSE_TRACE="1")
    assert done.returncode == 0 and "fine" in done.stdout, done.stdout + done.stderr
    for call in EVERY:
        assert re.search(rf"^copse: {call} +\w+ (line|slot|get|put)", done.stderr, re.MULTILINE), done.stderr


@pytest.mark.parametrize("name", ["mpich", "impi", "openmpi"])
def test_copse_run_with_the_shared_heap(copse, name):
    """mpi4py and the Intel MPI Benchmarks, as users start them and as their makers built them."""
    flavour = flavours.find(name)
    programs = [("fine", [flavour.python, MPI4PY_SCRIPT])]
    if flavour.family is not flavours.OPEN_MPI:
        programs += [(IMB_END, [flavours.imb("IMB-MPI1"), *IMB_QUICKLY, "Bcast", "Reduce", "Allreduce", "Barrier"]),
                     (IMB_END, [flavours.imb("IMB-NBC"), *IMB_QUICKLY, "Ibcast", "Ireduce", "Iallreduce", "Ibarrier"])]  # fmt: skip
    for says, program in programs:
        done = copse("run", "--shared-heap", "--trace", *flavour.command(2, program), env=flavour.environment())
        assert done.returncode == 0 and says in done.stdout, done.stdout + done.stderr
        for call in ("barrier", "broadcast", "reduce", "allreduce"):
            assert re.search(rf"^copse: {call} +\w+ (line|slot|get|put)", done.stderr, re.MULTILINE), done.stderr
        assert "no direct reach" not in done.stderr, done.stderr


@pytest.mark.full
@pytest.mark.parametrize("options", [[], ["--shared-heap"], ["--collective-processors", "1"]], ids=["plain", "heap", "helper"])
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("program", ["IMB-MPI1", "IMB-NBC"])
@pytest.mark.parametrize("name", ["mpich", "impi"])
def test_intel_benchmarks_whole(copse, name, program, ranks, options):
    """The benchmarks run to their end, and none of their collective calls is passed on. A helper makes those that
    IMB-NBC starts. IMB-MPI1 starts none."""
    flavour = flavours.find(name)
    command = flavour.command(ranks, [flavours.imb(program), "-iter", "5", "-msglog", "3:18"], crowded=True)
    done = copse("run", *options, "--trace", *command, env=flavour.environment(), timeout=900)
    assert done.returncode == 0 and IMB_END in done.stdout, done.stdout + done.stderr
    assert "ran by" in done.stderr and "passed on" not in done.stderr, done.stderr
    served, has_served = {*served_calls(done.stderr)}, program == "IMB-NBC" and "--collective-processors" in options
    assert served >= {"barrier", "broadcast", "reduce", "allreduce"} if has_served else not served, done.stderr


@pytest.fixture(scope="session")
def standard_abi_program(tmp_path_factory):
    """Returns the test program compiled by MPICH's mpicc_abi, for both MPIs with the standard ABI."""
    mpich, program = flavours.find("mpich"), tmp_path_factory.mktemp("abi") / "collectives"
    return compile_with(mpich.mpicc.with_name("mpicc_abi"), program, mpich.environment())


def check_standard_abi(launch, program, name, part, ranks):
    # mpi_abi.h of Intel MPI 2021.18 defines MPI_ERRORS_RETURN differently from MPICH's, so errors end the program
    # there.
    variables = BARE if name == "impi" else {}
    done = launch(flavours.find(name), ranks, part, *MATRIX_OF.get(part, []), program=[program], preload=flavours.STANDARD_ABI_PRELOAD,
                  COPSE_TRACE="1", **variables)  # fmt: skip
    assert passed(done, part), done.stdout + done.stderr
    assert re.search(r"^copse: \w+ +\w+ (line|slot|get|put)", done.stderr, re.MULTILINE), done.stderr


@pytest.mark.parametrize("part", ["types", "communicators", "matrix", "requests"])
@pytest.mark.parametrize("name", ["mpich", "impi"])
def test_standard_abi(launch, standard_abi_program, name, part):
    check_standard_abi(launch, standard_abi_program, name, part, 2)


@pytest.mark.full
@pytest.mark.drawn(12)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", ["mpich", "impi"])
def test_standard_abi_with_every_part(launch, standard_abi_program, name, part):
    if name == "impi" and part in ("errors", "truncated", "standard"):
        pytest.skip("needs MPI_ERRORS_RETURN")
    check_standard_abi(launch, standard_abi_program, name, part, 3)
