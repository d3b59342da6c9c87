"""The preload libraries over several nodes, which tests/tools/cluster emulates. Each node has its own network, host name,
process ids and /dev/shm. Debian's MPICH 4.0 is left out, because it hangs in MPI_Finalize over several nodes even without
Copse."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from collectives import EVERY, passed

from copse import flavours, paths

TOOLS = Path(__file__).parents[1] / "tools" / "cluster"
NODES = ["n0", "n1", "n2", "n3"]
RANKS_PER_NODE = 2
NOT_PERMITTED = 77
FLAVOURS = ["mpich", "impi", "openmpi"]


@pytest.fixture(scope="session")
def nodes(tmp_path_factory):
    """Starts the nodes and returns the folder that keeps their state."""
    folder = tmp_path_factory.mktemp("nodes")
    environment = {**os.environ, "NODES_DIR": str(folder)}

    def call(*arguments):
        with (folder / "call.log").open("w+") as log:  # not a pipe, which the nodes' processes would keep open
            code = subprocess.run([TOOLS / "nodes.sh", *arguments], env=environment, stdout=log, stderr=log,
                                  stdin=subprocess.DEVNULL, timeout=60).returncode  # fmt: skip
            log.seek(0)
            return code, log.read()

    try:
        code, text = call("up", str(len(NODES)))
        if code == NOT_PERMITTED:
            pytest.skip(f"namespaces are not permitted here: {text.strip()}")
        assert code == 0, text
        yield folder
    finally:
        call("down")


def over_nodes(flavour: flavours.Flavour, in_turn: int) -> list[str | Path]:
    """Returns the launcher with its options, up to the variables. `in_turn` is the number of ranks that a node gets in
    turn."""
    agent, names = TOOLS / "agent.sh", ",".join(NODES)
    ranks = ["-n", len(NODES) * RANKS_PER_NODE]
    if flavour.family is flavours.OPEN_MPI:
        assert in_turn == RANKS_PER_NODE
        hosts = ",".join(f"{name}:{RANKS_PER_NODE}" for name in NODES)
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return [flavour.mpiexec, *root, "--prtemca", "plm_ssh_agent", agent, "--prtemca", "prte_if_include", "eth0",
                "--mca", "btl_tcp_if_include", "eth0", "--host", hosts, *ranks]  # fmt: skip
    option = "-bootstrap" if flavour.family is flavours.INTEL else "-launcher"
    return [flavour.mpiexec, option, "ssh", f"{option}-exec", agent, "-iface", "eth0", "-hosts", names,
            "-ppn", in_turn, *ranks]  # fmt: skip


@pytest.fixture
def launch_over_nodes(run, programs, nodes):
    def launch(flavour, *arguments, in_turn=RANKS_PER_NODE, timeout=100, **variables):
        environment = {**flavour.environment(), "NODES_DIR": str(nodes)}
        if flavour.family is flavours.INTEL:
            environment |= {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0"}
        options = []
        for name, value in {"LD_PRELOAD": str(flavour.preload), "COPSE_TRACE": "1", "COPSE_JOIN": "1", **variables}.items():
            options += flavour.family.variable(name, value)
        # With --oversubscribe, Open MPI fills the first node before it uses the next.
        yielding = [option for option in flavour.family.yielding if option != "--oversubscribe"]
        command = [TOOLS / "nodes.sh", "on", "head", *over_nodes(flavour, in_turn), *yielding, *options,
                   programs(flavour), *arguments]  # fmt: skip
        return run(command, env=environment, timeout=timeout)

    return launch


def ran_over_the_wire(done, *calls: str) -> bool:
    ran = all(re.search(rf"^copse: {call} +\w+ (line|slot|get|put)", done.stderr, re.MULTILINE) for call in calls)
    return ran and f"over {len(NODES)} nodes, joined by the MPI's own messages" in done.stderr


def test_a_few_calls(launch_over_nodes):
    done = launch_over_nodes(flavours.find("mpich"), "random", 5, 300)
    assert passed(done, "random"), done.stdout + done.stderr
    assert ran_over_the_wire(done, *EVERY), done.stderr


@pytest.mark.full
@pytest.mark.parametrize("name", FLAVOURS)
@pytest.mark.parametrize("part", ["types", "derived", "matrix", "communicators", "threads"])
def test_part(launch_over_nodes, name, part):
    done = launch_over_nodes(flavours.find(name), part, timeout=300)
    assert passed(done, part), done.stdout + done.stderr
    assert ran_over_the_wire(done, {"derived": "broadcast", "matrix": "alltoall"}.get(part, "allreduce")), done.stderr


@pytest.mark.full
@pytest.mark.parametrize("name", FLAVOURS)
def test_random_calls(launch_over_nodes, name):
    done = launch_over_nodes(flavours.find(name), "random", 20261121, 200, 5, timeout=300)
    assert passed(done, "random"), done.stdout + done.stderr
    assert ran_over_the_wire(done, *EVERY), done.stderr


@pytest.mark.full
@pytest.mark.parametrize("name", ["mpich", "impi"])
def test_ranks_dealt_out_to_the_nodes(launch_over_nodes, name):
    """Ranks 0 and 4 share a node. With user operators that do not commute, the order of ranks still counts."""
    for part, *arguments in (("matrix", "world"), ("random", 11, 300)):
        done = launch_over_nodes(flavours.find(name), part, *arguments, in_turn=1, timeout=300)
        assert passed(done, part), done.stdout + done.stderr
        assert ran_over_the_wire(done, "allreduce"), done.stderr


@pytest.mark.full
@pytest.mark.parametrize("name", FLAVOURS)
def test_shared_heap(launch_over_nodes, name):
    flavour = flavours.find(name)
    preload = f"{flavour.preload}:{paths.PRELOAD_FOLDER / 'libcopse-heap.so'}"
    done = launch_over_nodes(flavour, "random", 3, 300, LD_PRELOAD=preload, timeout=300)
    assert passed(done, "random"), done.stdout + done.stderr
    assert ran_over_the_wire(done, "allreduce") and "no direct reach" not in done.stderr, done.stderr
