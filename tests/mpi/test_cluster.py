"""The preload libraries over several nodes, which copse.cluster emulates. Each node has its own network, host name,
process ids and /dev/shm. Debian's MPICH 4.0 is left out, because it hangs in MPI_Finalize over several nodes even without
Copse."""

import hashlib
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import mpi4py_suite
import pytest
import random_programs
from collectives import EVERY, IMB_END, passed
from marked import running, until

from copse import flavours, paths
from copse.cluster import Cluster, NotPermitted

NEIGHBOURS = Path(__file__).with_name("neighbors.c")
NODES = 4
RANKS_PER_NODE = 2
FLAVOURS = random_programs.NODE_NAMES


@pytest.fixture(scope="session")
def nodes(tmp_path_factory):
    """Starts the nodes and returns them."""
    try:
        with Cluster(tmp_path_factory.mktemp("nodes"), NODES) as cluster:
            yield cluster
    except NotPermitted as error:
        pytest.skip(f"namespaces are not permitted here: {error}")


@pytest.fixture
def launch_over_nodes(run, programs, nodes):
    def launch(flavour, *arguments, program=None, in_turn=RANKS_PER_NODE, timeout=100, **variables):
        ours = {"LD_PRELOAD": str(flavour.preload), "COPSE_TRACE": "1", "COPSE_JOIN": "1", **variables}
        command = nodes.command(flavour, RANKS_PER_NODE, [program or programs(flavour), *arguments], in_turn=in_turn, variables=ours)
        return run(command, env=nodes.environment(flavour), timeout=timeout)

    return launch


def ran_over_the_wire(done, *calls: str) -> bool:
    ran = all(re.search(rf"^copse: {call} +\w+ (line|slot|get|put)", done.stderr, re.MULTILINE) for call in calls)
    return ran and f"over {NODES} nodes, joined by the MPI's own messages" in done.stderr


@pytest.mark.full
@pytest.mark.parametrize("name", FLAVOURS)
def test_helpers_of_several_nodes(run, programs, nodes, name):
    """Of three ranks on each node, one is a helper. The helpers send messages to one another."""
    flavour = flavours.find(name)
    preload = f"{flavour.world_library}:{flavour.preload}"
    variables = {"LD_PRELOAD": preload, "COPSE_TRACE": "1", "COPSE_JOIN": "1", "COPSE_COLLECTIVE_PROCESSORS": "out:1"}
    for part in ("requests", "progress"):
        command = nodes.command(flavour, 3, [programs(flavour), part], variables=variables)
        done = run(command, env=nodes.environment(flavour), timeout=300)
        assert passed(done, part), done.stdout + done.stderr
        if part == "requests":
            for call in ("barrier", "broadcast", "reduce", "allreduce", "reduce_scatter"):
                assert re.search(rf"^copse: {call} +served ", done.stderr, re.MULTILINE), f"{call} was not served\n{done.stderr}"


def test_a_few_calls(launch_over_nodes):
    done = launch_over_nodes(flavours.find("mpich"), "random", 5, 300)
    assert passed(done, "random"), done.stdout + done.stderr
    assert ran_over_the_wire(done, *EVERY), done.stderr
    for call, carrier in (("gather", "put"), ("scatter", "get"), ("alltoall", "get")):  # those whose sizes only two ranks know
        assert re.search(rf"^copse: {call} +one_way {carrier} ", done.stderr, re.MULTILINE), done.stderr


# Broadcasts of 8 MiB. Prints the least time of one in seconds, by the slowest rank.
BROADCASTS = """
import sys
from mpi4py import MPI
world, data = MPI.COMM_WORLD, bytearray(8 << 20)
least = 1e9
for _ in range(int(sys.argv[1])):
    world.Barrier()
    begin = MPI.Wtime()
    world.Bcast(data)
    least = min(least, world.allreduce(MPI.Wtime() - begin, MPI.MAX))
if world.rank == 0:
    print(least)
"""
LARGE = 8 << 20


def bytes_of_broadcasts(cluster, flavour, run, more: int = 8) -> tuple[dict[str, float], float]:
    """Returns what each node sends over its link for a broadcast of 8 MiB, and the least time of one."""
    sent, least = {}, 0.0
    for times in (2, 2 + more):  # the difference is without what the start of the ranks takes
        before = cluster.sent()
        variables = {"LD_PRELOAD": str(flavour.preload), "COPSE_JOIN": "1"}
        command = cluster.command(flavour, RANKS_PER_NODE, [flavour.python, "-c", BROADCASTS, str(times)], variables=variables)
        done = run(command, env=cluster.environment(flavour), timeout=200)
        assert done.returncode == 0, done.stderr
        least = float(done.stdout.split()[-1])
        after = cluster.sent()
        sent[times] = {name: after[name] - before[name] for name in after}
    return {name: (sent[2 + more][name] - sent[2][name]) / more for name in sent[2]}, least


def test_a_large_broadcast_crosses_each_link_once(nodes, run):
    sent, _ = bytes_of_broadcasts(nodes, flavours.find("mpich"), run)
    assert all(each < 1.1 * LARGE for each in sent.values()), sent
    assert (NODES - 1) * LARGE <= sum(sent.values()) < (NODES - 1) * 1.1 * LARGE, sent


@pytest.mark.full
@pytest.mark.parametrize("name", ["mpich", "impi"])  # Open MPI takes 1.3 times as long
def test_a_large_broadcast_takes_little_longer_than_its_link(run, tmp_path, name):
    """A link carries each byte once, and the nodes' parts of the broadcast go on meanwhile."""
    rate = 1000  # Mbit/s
    try:
        with Cluster(tmp_path, NODES, rate) as cluster:
            _, seconds = bytes_of_broadcasts(cluster, flavours.find(name), run)
    except NotPermitted as error:
        pytest.skip(f"namespaces are not permitted here: {error}")
    link = LARGE * 8 / (rate * 1e6)
    assert seconds < 1.15 * link, f"{seconds:.4f} s, and {link:.4f} s on the link"


# Sends what it reads to n0, and prints the sum of what comes back.
BACK = """
import hashlib, socket, sys, threading
end = socket.create_connection((sys.argv[1], int(sys.argv[2])))
threading.Thread(target=lambda: (end.sendall(sys.stdin.buffer.read()), end.shutdown(socket.SHUT_WR))).start()
print(hashlib.sha256(b"".join(iter(lambda: end.recv(1 << 20), b""))).hexdigest())
"""
ECHO = """
import socket
listening = socket.create_server(("", 0))
print(listening.getsockname()[1], flush=True)
end = listening.accept()[0]
while some := end.recv(1 << 20):
    end.sendall(some)
"""


@pytest.mark.parametrize("rate", [0, 10000])
def test_a_delay_is_added_to_each_message(tmp_path, rate):
    """There and back, a byte takes twice the delay, and not much longer. A bucket for the rate, and many frames at a time, change no byte."""
    delay, patience = 2000, 20000  # us
    data = random.Random(rate).randbytes(LARGE)
    try:
        with Cluster(tmp_path, 2, rate, delay) as cluster:
            trips = cluster.round_trips()
            before = cluster.sent()
            with cluster.python_on("n0", ECHO) as echo, cluster.python_on("n1", BACK, "n0", echo.stdout.readline().decode().strip()) as back:
                came_back = back.communicate(data, timeout=60)[0].decode().strip()
            after = cluster.sent()
    except NotPermitted as error:
        pytest.skip(f"namespaces are not permitted here: {error}")
    assert len(trips) == 100 and 2 * delay <= min(trips) <= 2 * delay + patience, trips
    assert came_back == hashlib.sha256(data).hexdigest()
    assert all(LARGE < after[name] - before[name] < 1.2 * LARGE for name in after), (before, after)


def has_ended(process: int) -> bool:
    try:
        return "State:\tZ" in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_delay_ends_with_its_nodes(tmp_path):
    """The program that makes it holds the nodes' networks. It ends with the first node, also if nothing else ends it."""
    try:
        with Cluster(tmp_path, 2, delay=100):
            program, first = (int((tmp_path / f"{name}.pid").read_text()) for name in ("delay", "head"))
            assert not has_ended(program)
            os.kill(first, signal.SIGKILL)
            assert until(lambda: has_ended(program), 20)
    except NotPermitted as error:
        pytest.skip(f"namespaces are not permitted here: {error}")


@pytest.mark.parametrize("name", ["mpich", *(pytest.param(name, marks=pytest.mark.full) for name in ("impi", "openmpi"))])
def test_a_node_that_is_cut_off(endless, tmp_path, name):
    """The ranks on both sides of the cut end, and say why. The launcher is stopped, so that it is not the one that ends them."""
    flavour, limit, ranks = flavours.find(name), 3, NODES * RANKS_PER_NODE
    program, said = Path(endless(flavour)).resolve(), tmp_path / "said"
    shell = ["sh", "-c", f"exec {program} 2>{tmp_path}/$(uname -n).$$"]
    variables = {"COPSE_JOIN": "1", "COPSE_NODE_TIMEOUT": str(limit), "LD_PRELOAD": str(flavour.preload)}

    def notice() -> set[str]:
        return {file.stem for file in tmp_path.glob("n*.*") if re.search(r"copse: rank \d: .* no longer answers", file.read_text())}

    try:
        with said.open("w") as output, Cluster(tmp_path / "nodes", NODES) as cluster:
            command = cluster.command(flavour, RANKS_PER_NODE, shell, variables=variables)
            launcher = subprocess.Popen(command, env={**os.environ, **cluster.environment(flavour)}, stdin=subprocess.DEVNULL,
                                        stdout=output, stderr=output, start_new_session=True)  # fmt: skip
            try:
                assert until(lambda: said.read_text().count("process ") == ranks, 60), said.read_text()
                time.sleep(2)  # so that the ranks have called the nodes
                assert len(running(program)) == ranks
                os.killpg(launcher.pid, signal.SIGSTOP)
                *here, there = cluster.names
                cluster.cut_off(there)
                assert until(lambda: not running(program), limit + 30), running(program)
                assert there in notice() and notice() & set(here), notice()
            finally:
                os.killpg(launcher.pid, signal.SIGKILL)
                launcher.wait()
    except NotPermitted as error:
        pytest.skip(f"namespaces are not permitted here: {error}")


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
def test_neighbours(launch_over_nodes, compile_mpi, name):
    flavour = flavours.find(name)
    program = compile_mpi(flavour, NEIGHBOURS.read_text(), "neighbors")
    for part in ("grid", "graph", "nested"):
        done = launch_over_nodes(flavour, part, program=program, timeout=300)
        assert done.returncode == 0 and done.stdout.count("is right") == NODES * RANKS_PER_NODE, done.stdout + done.stderr
        assert re.search(r"^copse: neighbor_alltoall +one_way get", done.stderr, re.MULTILINE), done.stderr


@pytest.mark.full
@pytest.mark.parametrize("benchmark", ["IMB-MPI1", "IMB-NBC"])
@pytest.mark.parametrize("name", ["mpich", "impi"])
def test_intel_benchmarks(launch_over_nodes, name, benchmark):
    """As their makers built them: for the ABI of MPICH."""
    flavour = flavours.find(name)
    done = launch_over_nodes(flavour, "-iter", "3", "-msglog", "3:16", program=flavours.imb(benchmark), timeout=900)
    assert done.returncode == 0 and IMB_END in done.stdout, done.stdout + done.stderr
    assert ran_over_the_wire(done, "barrier", "broadcast", "reduce", "allreduce"), done.stderr


@pytest.mark.full
@pytest.mark.drawn(1)  # a case takes ten minutes
@pytest.mark.parametrize("name", FLAVOURS)
def test_mpi4py(nodes, name, tmp_path):
    """The collective part of mpi4py's tests has the same results with and without Copse."""
    suite = mpi4py_suite.Suite(flavours.find(name), NODES * RANKS_PER_NODE, records=tmp_path, cluster=nodes)
    [found] = mpi4py_suite.compare(suite, ("plain",), trusting=True)
    assert [found.explain(test) for test in found.different] == []
    # A start that hangs does not come to print how many calls Copse has run. MPICH itself hangs on a graph now and then.
    hung = any(mpi4py_suite.HUNG in ranks for ranks in found.ours.outcomes.values())
    assert len(found.ours.outcomes) > 600 and found.ours.calls > (0 if hung else 40_000)


@pytest.mark.full
def test_random_programs(nodes, every):
    """Three MPIs, one and two ranks on each node. `tools/test --every` takes half an hour."""
    tally = random_programs.run_for(
        1800 if every else 120, list(random_programs.NODE_NAMES), [1, 2], list(random_programs.OVER_NODES), 20261127, cluster=nodes
    )
    assert tally.failures == [], "\n\n".join(tally.failures)
    assert tally.programs >= random_programs.PROGRAMS, tally.not_compared




def delegates(trace: str) -> bool:
    return all(re.search(rf"^copse: {call} +delegated ", trace, re.MULTILINE) for call in ("barrier", "broadcast", "reduce", "allreduce"))


def test_the_mpi_among_the_leaders(launch_over_nodes):
    """The leaders of the nodes use the MPI's own collectives."""
    done = launch_over_nodes(flavours.find("mpich"), "random", 7, 200, **random_programs.forced_everywhere("delegated"))
    assert passed(done, "random") and delegates(done.stderr), done.stdout + done.stderr


@pytest.mark.full
@pytest.mark.parametrize("fragment", ["none", "1K"])
@pytest.mark.parametrize("name", FLAVOURS)
def test_the_mpi_among_the_leaders_with_every_part(launch_over_nodes, name, fragment):
    ours = {**random_programs.forced_everywhere("delegated"), "COPSE_FRAGMENT": fragment}
    trace = ""
    for part, *arguments in (("types",), ("communicators",), ("random", 20261127, 200)):
        done = launch_over_nodes(flavours.find(name), part, *arguments, timeout=300, **ours)
        assert passed(done, part), done.stdout + done.stderr
        trace += done.stderr
    assert delegates(trace), trace


@pytest.mark.full
@pytest.mark.parametrize("name", FLAVOURS)
def test_shared_heap(launch_over_nodes, name):
    flavour = flavours.find(name)
    preload = f"{flavour.preload}:{paths.PRELOAD_FOLDER / 'libcopse-heap.so'}"
    done = launch_over_nodes(flavour, "random", 3, 300, LD_PRELOAD=preload, timeout=300)
    assert passed(done, "random"), done.stdout + done.stderr
    assert ran_over_the_wire(done, "allreduce") and "no direct reach" not in done.stderr, done.stderr
