"""Errors that only one rank meets, with error handlers that return (errors.c, faults.c, refused.c, stale.c)."""

import re
import subprocess
from pathlib import Path

import pytest

from copse import flavours

ERRORS, FAULTS, REFUSED, STALE = (Path(__file__).with_name(name) for name in ("errors.c", "faults.c", "refused.c", "stale.c"))
STRICT = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]
THROWER = '#include <stdexcept>\nextern "C" void throw_it() { throw std::runtime_error("thrown"); }\n'


def compile_by(flavour, *arguments):
    command = [flavour.mpicc, *STRICT, *arguments]
    done = subprocess.run(command, env=flavour.environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def errors(tmp_path_factory):
    """Returns errors.c and faults.c compiled by each flavour's mpicc, at first use."""
    folder, made = tmp_path_factory.mktemp("errors"), {}

    def compiled(flavour):
        if flavour.name not in made:
            program, library = folder / f"errors-{flavour.name}", folder / f"libfaults-{flavour.name}.so"
            compile_by(flavour, ERRORS, "-o", program, "-ldl")
            compile_by(flavour, "-shared", "-fPIC", FAULTS, "-o", library, "-ldl")
            made[flavour.name] = program, library
        return made[flavour.name]

    return compiled


@pytest.fixture
def launch_errors(launch, errors):
    """Runs one part on so many ranks. The part passes if it says so."""

    def run(flavour, ranks, part, *arguments, faulty=False, **variables):
        program, faults = errors(flavour)
        preload = f"{flavour.preload}:{faults}" if faulty else str(flavour.preload)
        done = launch(flavour, ranks, part, *arguments, program=[program], LD_PRELOAD=preload, **variables)
        assert done.returncode == 0 and re.search(rf"^{part}: passed", done.stdout, re.MULTILINE), done.stdout + done.stderr

    return run


def test_an_exchange_that_fails_in_one_half_leaves_nothing_of_the_other(launch_errors, flavour):
    launch_errors(flavour, 2, "sendrecv")


def test_an_exchange_whose_message_cannot_be_sent_takes_none(launch_errors, flavour):
    launch_errors(flavour, 2, "not-sent", faulty=True)


def test_a_message_between_nodes_that_cannot_be_sent_ends_the_program(launch, errors, flavour):
    program, faults = errors(flavour)
    preload = f"{flavour.preload}:{faults}"
    done = launch(flavour, 4, "not-sent-between-nodes", program=[program], LD_PRELOAD=preload, COPSE_NODES="2")
    assert done.returncode != 0 and "passed" not in done.stdout, done.stdout + done.stderr
    assert re.search("copse: rank 0: MPI_Allreduce .*a message between nodes failed", done.stderr), done.stderr


def test_what_the_mpi_cannot_do_for_a_call_is_the_calls_error(launch_errors, run, tmp_path, flavour):
    source, thrower = tmp_path / "thrower.cpp", tmp_path / "libthrower.so"
    source.write_text(THROWER)
    assert run(["g++", "-shared", "-fPIC", source, "-o", thrower]).returncode == 0
    launch_errors(flavour, 3, "faults", thrower, faulty=True)


@pytest.mark.parametrize("part", ["attribute", "type-attribute"])
def test_an_attribute_that_one_rank_cannot_set(launch_errors, flavour, part):
    launch_errors(flavour, 3, part, faulty=True)


def test_a_rank_that_cannot_learn_of_the_end_keeps_all_ranks_out(launch, errors, flavour):
    program, faults = errors(flavour)
    done = launch(flavour, 3, "end", program=[program], LD_PRELOAD=f"{flavour.preload}:{faults}", COPSE_TRACE="1")
    assert done.returncode == 0 and re.search("^end: passed", done.stdout, re.MULTILINE), done.stdout + done.stderr
    assert "learn of MPI_Finalize; every call is passed on to the MPI" in done.stderr and "ran by" not in done.stderr, done.stderr


def test_calls_after_main(launch_errors, flavour):
    """The calls are in destructors that run after those of thread-local objects."""
    launch_errors(flavour, 2, "late")


@pytest.mark.parametrize("variables", [{}, {"COPSE_NODES": "2"}], ids=["one node", "two nodes"])
def test_ranks_whose_buffers_overlap_stay_in_step(launch_errors, flavour, variables):
    launch_errors(flavour, 4, "overlap", **variables)


@pytest.mark.parametrize(
    "variables", [{}, {"COPSE_NODES": "2"}, {"COPSE_JOIN": "pays"}], ids=["one node", "two nodes", "the default COPSE_JOIN"]
)
@pytest.mark.parametrize("part", ["exscan", "alias"])
def test_an_exscan_whose_output_is_its_input(launch_errors, flavour, part, variables):
    """That is right on rank 0, where the output means nothing, and wrong on the others."""
    launch_errors(flavour, 4, part, **variables)


@pytest.fixture(scope="session")
def refused(tmp_path_factory):
    """Returns refused.c compiled by each flavour's mpicc, at first use."""
    folder, made = tmp_path_factory.mktemp("refused"), {}

    def compiled(flavour):
        if flavour.name not in made:
            made[flavour.name] = folder / f"refused-{flavour.name}"
            compile_by(flavour, REFUSED, "-o", made[flavour.name])
        return made[flavour.name]

    return compiled


@pytest.mark.parametrize("variables", [{}, {"COPSE_LEARN": "eagerly"}], ids=["plain", "learning"])
@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_ranks_that_give_what_mpi_does_not_allow_stay_in_step(launch, refused, flavour, ranks, variables):
    done = launch(flavour, ranks, str(ranks), "100", program=[refused(flavour)], LD_PRELOAD=str(flavour.preload), **variables)
    ended = re.search(r"passed: (\d+) ended with an error beside a rank that refused, (\d+) as they should", done.stdout)
    assert done.returncode == 0 and ended, done.stdout + done.stderr
    assert int(ended[1]) > 0 and int(ended[2]) > 0, ended[0]


STALE_BY = [pytest.param(name, marks=() if name == "mpich" else pytest.mark.full) for name in flavours.NAMES]


@pytest.mark.parametrize("name", STALE_BY)
def test_what_a_refusing_rank_left_comes_to_no_other_communicator(launch, compile_mpi, name):
    flavour = flavours.find(name)
    program = compile_mpi(flavour, STALE.read_text(), "stale")
    done = launch(flavour, 2, program=[program], COPSE_NODES="2", LD_PRELOAD=str(flavour.preload), timeout=60)
    assert done.returncode == 0 and "stale: right" in done.stdout, done.stdout + done.stderr
