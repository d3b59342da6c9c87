"""Emulated nodes on this machine, for tests and measurements (bench/cluster/nodes.sh).

Each node has its own network, host name, process ids and /dev/shm. Links of a given rate and delay join the nodes. Needs root, or a
user namespace, and iproute2.

    with Cluster(folder, nodes=4, rate=1000, delay=50) as cluster:
        subprocess.run(cluster.command(flavour, 2, ["./app"]), env=cluster.environment(flavour))
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from . import files, flavours, paths
from .errors import CopseError

_TOOLS = paths.ROOT / "bench" / "cluster"
_NODES, _AGENT = _TOOLS / "nodes.sh", _TOOLS / "agent.sh"
_NOT_PERMITTED = 77
_DELAY = "copse-delay"  # bench/cluster/delay.c, in a checkout
_TRIPS = 100
# A node answers each byte that comes. Another one sends some, and says how many microseconds each took there and back.
_ANSWER = """
import socket, sys
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end.bind(("", 0))
print(end.getsockname()[1], flush=True)
while True:
    end.sendto(*end.recvfrom(1))
"""
_ASK = """
import socket, sys, time
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end.settimeout(5)
end.connect((sys.argv[1], int(sys.argv[2])))
for _ in range(int(sys.argv[3])):
    begin = time.perf_counter()
    end.send(b"?")
    end.recv(1)
    print(1e6 * (time.perf_counter() - begin))
"""


class NotPermitted(CopseError):
    """This machine allows no namespaces."""


@dataclass(frozen=True)
class Cluster:
    """Nodes n0, n1, ..., which exist while the context is entered. `folder` keeps their state. `rate` is what a node may send, in
    Mbit/s; 0 is no limit. Each message takes at least `delay` microseconds longer."""

    folder: Path
    nodes: int
    rate: int = 0
    delay: int = 0

    @property
    def names(self) -> list[str]:
        return [f"n{number}" for number in range(self.nodes)]

    def __enter__(self) -> "Cluster":
        late = [str(self.delay), str(_delay_program())] if self.delay else []
        try:
            self._call("up", str(self.nodes), *late)
            if self.rate:
                self._call("rate", str(self.rate))
        except BaseException:
            self._call("down")
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._call("down")

    def cut_off(self, name: str) -> None:
        """Takes a node out of the network, as if its cable were pulled out of the switch. Not for links with a delay."""
        self._call("cut_off", name)

    def _call(self, *arguments: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "call.log").open("w+") as log:  # not a pipe, which the nodes' processes would keep open
            code = subprocess.run([_NODES, *arguments], env={**os.environ, "NODES_DIR": str(self.folder)}, stdout=log, stderr=log,
                                  stdin=subprocess.DEVNULL, timeout=60).returncode  # fmt: skip
            log.seek(0)
            said = log.read().strip()
        if code:
            error = NotPermitted if code == _NOT_PERMITTED else CopseError
            raise error(f"no emulated nodes: {said or f'nodes.sh ended with {code}'}", "run as root, with Debian's iproute2 installed")

    def environment(self, flavour: flavours.Flavour) -> dict[str, str]:
        result = {**flavour.environment(), "NODES_DIR": str(self.folder)}
        return result | ({"FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0", "I_MPI_PIN": "0"} if flavour.family is flavours.INTEL else {})

    def command(
        self,
        flavour: flavours.Flavour,
        ranks_per_node: int,
        program: Sequence[str | Path],
        *,
        in_turn: int | None = None,
        options: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Returns the command that runs `program` on all nodes. Start it with environment().

        A node gets `in_turn` ranks in turn, by default all of its ranks. `options` are the launcher's. The MPI's own yielding is on, and
        Copse's, because all nodes share this machine's processors and none of them knows of the others. For the same reason, Open MPI binds
        no rank, nor does Intel MPI (environment()). Otherwise it would put rank 0 of each node on the same core, and refuse more ranks of a node than there are cores.
        """
        ranks, in_turn = ["-n", str(self.nodes * ranks_per_node)], in_turn or ranks_per_node
        command = [str(_NODES), "on", "head", str(flavour.mpiexec)]
        if flavour.family is flavours.OPEN_MPI:
            if in_turn != ranks_per_node:
                raise CopseError("Open MPI's ranks are dealt out to emulated nodes by node only", "leave in_turn out")
            hosts = ",".join(f"{name}:{ranks_per_node}" for name in self.names)
            command += ["--allow-run-as-root"] if os.geteuid() == 0 else []
            command += ["--prtemca", "plm_ssh_agent", str(_AGENT), "--prtemca", "prte_if_include", "eth0",
                        "--mca", "btl_tcp_if_include", "eth0", "--bind-to", "none", "--host", hosts, *ranks]  # fmt: skip
        else:
            option = "-bootstrap" if flavour.family is flavours.INTEL else "-launcher"
            command += [option, "ssh", f"{option}-exec", str(_AGENT), "-iface", "eth0", "-hosts", ",".join(self.names),
                        "-ppn", str(in_turn), *ranks]  # fmt: skip
        # With --oversubscribe, Open MPI fills the first node before it uses the next.
        command += [option for option in flavour.family.yielding if option != "--oversubscribe"]
        command += options
        for name, value in {"COPSE_WAIT": "yield", **(variables or {})}.items():
            command += flavour.family.variable(name, value)
        return [*command, *map(str, program)]

    @contextmanager
    def python_on(self, node: str, program: str, *arguments: object) -> Iterator[subprocess.Popen[bytes]]:
        """Starts a program in Python on a node, and kills it at the end if it still runs."""
        command = [_NODES, "on", node, sys.executable, "-c", program, *map(str, arguments)]
        started = subprocess.Popen(command, env={**os.environ, "NODES_DIR": str(self.folder)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            yield started
        finally:
            started.kill()
            started.communicate()

    def round_trips(self) -> list[float]:
        """Returns the microseconds that a byte takes from n1 to n0 and back, of several trips."""
        patience = 60 + 2e-6 * self.delay * _TRIPS
        with self.python_on("n0", _ANSWER) as answering:
            port = answering.stdout.readline().decode().strip()
            with self.python_on("n1", _ASK, self.names[0], port, _TRIPS) as asking:
                try:
                    trips = [float(line) for line in asking.communicate(timeout=patience)[0].split()]
                except subprocess.TimeoutExpired:
                    trips = []
        if len(trips) < _TRIPS:
            raise CopseError(f"of {_TRIPS} bytes from n1 to n0, {len(trips)} came back", "try again, on a machine with less other work")
        return trips

    def round_trip(self) -> float:
        """Returns the usual one of the round trips."""
        return statistics.median(self.round_trips())

    def sent(self) -> dict[str, int]:
        """Returns the bytes that each node has sent over its link so far."""
        result = {}
        for name in self.names:
            shown = subprocess.run([_NODES, "on", name, "ip", "-s", "-json", "link", "show", "eth0"],
                                   env={**os.environ, "NODES_DIR": str(self.folder)}, capture_output=True, text=True, check=True, timeout=60)  # fmt: skip
            result[name] = json.loads(shown.stdout)[0]["stats64"]["tx"]["bytes"]
        return result


def launch(
    flavour: flavours.Flavour,
    ranks: int,
    program: Sequence[str | Path],
    cluster: Cluster | None,
    variables: Mapping[str, str],
    options: Sequence[str] = (),
    **here: bool,
) -> tuple[list[str], dict[str, str]]:
    """Returns the command that runs `program` by so many ranks in all, and its environment: on this machine, or on emulated nodes, among
    which the ranks are divided evenly. `options` are the launcher's for nodes, `here` those of Flavour.command for this machine."""
    if cluster is None:
        return flavour.command(ranks, program, variables=variables, **here), flavour.environment()
    return cluster.command(flavour, ranks // cluster.nodes, program, options=options, variables=variables), cluster.environment(flavour)


def tools_digest() -> str:
    """Identifies the scripts and programs that make nodes and links."""
    return files.digest(b"".join(file.read_bytes() for file in sorted(_TOOLS.iterdir()) if file.is_file()))


def _delay_program() -> Path:
    from .tables import built  # which needs this module

    return built(_DELAY)
