"""The calls on a communicator before Copse begins there, and the change from the MPI's calls to Copse's (late.c)."""

import re
from pathlib import Path

import pytest

from copse import flavours

SOURCE = Path(__file__).with_name("late.c")
TOO_EARLY = "have not yet cost as much as Copse's start"
MPIS = pytest.mark.parametrize("name", ["mpich", "impi", "openmpi"])


@pytest.fixture
def late(launch, compile_mpi):
    """Returns a function that runs a part of late.c, checks that all ranks are right, and returns what was printed as the trace."""

    def run_part(name: str, ranks: int, *arguments, program=(), **variables: str) -> str:
        flavour = flavours.find(name)
        compiled = compile_mpi(flavour, SOURCE.read_text(), "late")
        done = launch(flavour, ranks, *arguments, program=[*program, compiled], **{"COPSE_TRACE": "1", **variables})
        assert done.returncode == 0 and done.stdout.count("is right") == ranks, done.stdout + done.stderr
        return done.stderr

    return run_part


def ran(trace: str) -> int:
    return sum(map(int, re.findall(r"^copse: \w+ +\w+ (?:line|slot|get|put) +(\d+)", trace, re.MULTILINE)))


def passed_on(trace: str, why: str = TOO_EARLY) -> int:
    return sum(map(int, re.findall(rf"^copse: \w+ +[^\n]*{re.escape(why)}[^\n]*? {{2,}}(\d+) ", trace, re.MULTILINE)))


@MPIS
@pytest.mark.parametrize("first", [2, 7, 50])
def test_change_at_a_call(late, name, first):
    """The calls before the Nth are the MPI's, and all others are Copse's: on a dup, on two halves, and on the world."""
    calls, ranks = 90, 4
    trace = late(name, ranks, "switched", calls, COPSE_JOIN=str(first))
    # The trace's own calls are not counted. Every rank is in a dup, a half and the world.
    assert passed_on(trace) == 3 * ranks * (first - 1), trace
    assert ran(trace) == 3 * ranks * (calls - first + 1), trace


@MPIS
def test_few_calls_are_not_worth_a_start(late, name):
    trace = late(name, 3, "switched", 50, COPSE_JOIN="pays")
    assert ran(trace) == 0 and passed_on(trace) > 0 and "start: communicators" not in trace, trace


@MPIS
def test_begins_by_itself_where_calls_cost_much(late, name):
    trace = late(name, 2, "dear", 30000, COPSE_JOIN="pays")
    assert ran(trace) > 0 and passed_on(trace) >= 2 * 63, trace
    assert re.search(r"^copse: start: looks: \d+ times", trace, re.MULTILINE), trace


@MPIS
@pytest.mark.parametrize("first", ["2", "4", "11"])
def test_started_calls_that_are_pending(late, name, first):
    """Ranks wait for calls of the MPI's in different orders while Copse begins."""
    assert ran(late(name, 3, "mixed", 12, COPSE_JOIN=first)) > 0


@MPIS
@pytest.mark.parametrize("join", ["pays", "40"])
def test_reductions_that_round_are_not_changed_under_way(late, name, join):
    """Copse makes the first one, and so all of them."""
    trace = late(name, 4, "bits", 60, COPSE_JOIN=join)
    assert ran(trace) == 4 * 3 * 60 - 4 * 2 and passed_on(trace) == 0, trace


@MPIS
def test_started_reductions_that_round_stay_with_the_mpi(late, name):
    trace = late(name, 4, "started-bits", 60, COPSE_JOIN="20")
    assert passed_on(trace) + passed_on(trace, "the first of these started reductions were the MPI's") >= 4 * 60, trace
    assert ran(trace) > 0, trace


def test_all_ranks_agree_on_who_rounds(launch, compile_mpi):
    """One rank starts a reduction before MPI_Init, which no other rank can know."""
    flavour = flavours.find("mpich")
    program = compile_mpi(flavour, SOURCE.with_name("rounded.c").read_text(), "rounded")
    done = launch(flavour, 3, program=[program], timeout=60)
    assert done.returncode == 0 and "rounded: right" in done.stdout, done.stdout + done.stderr


@MPIS
def test_sums_on_two_ranks_may_change(late, name):
    """Two numbers have one sum, so these wait as other calls do."""
    trace = late(name, 2, "bits", 60, COPSE_JOIN="40")
    assert passed_on(trace) == 2 * 39 and ran(trace) > 0, trace


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_persistent_calls_begin_at_once(late, name):
    trace = late(name, 3, "persistent", 20, COPSE_JOIN="pays")
    assert ran(trace) == 3 * 20 and passed_on(trace) == 0, trace


TRACED = pytest.mark.parametrize("trace", ["0", "1"])  # without a trace, Copse keeps nothing for a communicator of one rank


@TRACED
@MPIS
@pytest.mark.parametrize("join", ["1", "4", "pays"])
def test_handles_that_come_back(late, name, join, trace):
    """If a rank took such a communicator for another one, its call would be the MPI's, and the other ranks would wait for ever."""
    late(name, 3, "reused", 500, COPSE_JOIN=join, COPSE_TRACE=trace)


@pytest.mark.parametrize(("name", "join"), [("mpich", "1"), ("openmpi", "1"), ("openmpi", "8"), ("openmpi", "pays")])
def test_mistakes_of_all_ranks_are_counted(late, name, join):
    """MPICH's own calls crash on these arguments."""
    late(name, 3, "mistaken", 30, COPSE_JOIN=join)


@MPIS
@pytest.mark.parametrize("join", ["10", "pays"])
def test_threads(late, name, join):
    late(name, 2, "threads", COPSE_JOIN=join)


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_ranks_with_different_variables(late, name):
    """The least of what the ranks want counts."""
    script = '[ "$PMI_RANK$OMPI_COMM_WORLD_RANK" = 1 ] && export COPSE_JOIN=5; exec "$0" "$@"'
    trace = late(name, 4, "switched", 20, program=["sh", "-c", script], COPSE_JOIN="9")
    assert passed_on(trace) == 3 * 4 * 4, trace


@pytest.mark.parametrize("variable", ["COPSE_CHECK=1", "COPSE_ALGORITHM=allreduce=tiled", "COPSE_NODES=2", "COPSE_PROGRESS=thread"])
def test_who_wants_something_of_copse_gets_it_at_once(late, variable):
    name, value = variable.split("=", 1)
    assert passed_on(late("mpich", 4, "switched", 10, COPSE_JOIN="pays", **{name: value})) == 0


@TRACED
@MPIS
def test_communicators_of_one_rank_need_no_memory(late, name, trace):
    late(name, 2, "alone", 20_000, COPSE_JOIN="1", COPSE_TRACE=trace)


@pytest.mark.full
@TRACED
@MPIS
def test_a_million_communicators_of_one_rank(late, name, trace):
    late(name, 2, "alone", 1_000_000, COPSE_TRACE=trace)
