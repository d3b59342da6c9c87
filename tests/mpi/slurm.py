"""Slurm, as Debian packages it (tools/slurm), on the emulated nodes of copse.cluster: its daemons, and commands that use them."""

import os
import secrets
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from copse import paths
from copse.cluster import Cluster

ROOT = paths.BUILD / "slurm"
LIBRARIES = ROOT / "usr/lib/x86_64-linux-gnu"
PLUGINS = LIBRARIES / "slurm-wlm"
PMI2 = LIBRARIES / "libpmi2.so.0"
COMMANDS = ROOT / "usr/bin"
AGENT = paths.ROOT / "bench/cluster/agent.sh"
NODES = paths.ROOT / "bench/cluster/nodes.sh"
PROCESSORS = 2  # of a node, by what Slurm is told

CONFIGURATION = """ClusterName=emulated
SlurmctldHost=head
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
PluginDir={plugins}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
NodeName={nodes} CPUs={processors} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=60
"""


@dataclass
class Slurm:
    """Runs while the context is entered. `folder` keeps its configuration, sockets and logs."""

    cluster: Cluster
    folder: Path
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        search = ":".join(filter(None, [str(LIBRARIES), str(PLUGINS), os.environ.get("LD_LIBRARY_PATH")]))
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), "NODES_DIR": str(self.cluster.folder),
                            "LD_LIBRARY_PATH": search, "PATH": f"{COMMANDS}:{os.environ['PATH']}"}  # fmt: skip

    def __enter__(self) -> "Slurm":
        (self.folder / "state").mkdir(parents=True)
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            user=os.environ.get("USER", "root"), folder=self.folder, plugins=PLUGINS, nodes=",".join(self.cluster.names), processors=PROCESSORS))  # fmt: skip
        key = self.folder / "munge.key"
        key.touch(0o400)
        os.chmod(key, 0o600)
        key.write_bytes(secrets.token_bytes(128))
        os.chmod(key, 0o400)
        try:
            self.start_daemons()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start_daemons(self) -> None:
        own = {name: self.folder / f"munge.{name}" for name in ("key", "socket", "pid", "log", "seed")}
        self.call([ROOT / "usr/sbin/munged", "--force", "--num-threads=2", f"--key-file={own['key']}", f"--socket={own['socket']}",
                   f"--pid-file={own['pid']}", f"--log-file={own['log']}", f"--seed-file={own['seed']}"])  # fmt: skip
        self.call([ROOT / "usr/sbin/slurmctld-wlm"])
        for name in self.cluster.names:
            (self.folder / name).mkdir()
            daemon = f"{ROOT}/usr/sbin/slurmd-wlm -N {name} -d {ROOT}/usr/sbin/slurmstepd-wlm"
            variables = " ".join(f"{key}='{self.environment[key]}'" for key in ("SLURM_CONF", "LD_LIBRARY_PATH"))
            subprocess.run([AGENT, name, f"{variables} {daemon}"], env=self.environment, check=True, timeout=60)
        end = time.monotonic() + 60
        while "idle" not in (states := self.call(["sinfo", "-h", "-o", "%T %D"])) or len(states.splitlines()) > 1:
            assert time.monotonic() < end, f"the nodes do not come up: {states}\n{self.logs()}"
            time.sleep(0.2)

    def stop(self) -> None:
        """Ends the daemons on the head. Those on the nodes end with the nodes."""
        for name in ("slurmctld.pid", "munge.pid"):
            if (file := self.folder / name).exists():
                subprocess.run(["kill", file.read_text().strip()], check=False)

    def logs(self) -> str:
        return "".join(f"{log.name}: {log.read_text()[-1500:]}\n" for log in sorted(self.folder.glob("*.log")))

    def command(self, command: Sequence[str | Path]) -> list[str]:
        """Returns the command that runs `command` where users log in."""
        return [str(NODES), "on", "head", *map(str, command)]

    def call(self, command: Sequence[str | Path], variables: Mapping[str, str] | None = None) -> str:
        """Runs a short command where users log in and returns what it prints."""
        done = subprocess.run(self.command(command), env={**self.environment, **(variables or {})}, capture_output=True, text=True,
                              check=False, timeout=60)  # fmt: skip
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}\n{self.logs()}"
        return done.stdout
