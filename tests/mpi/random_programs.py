"""Runs random MPI programs, each from its seed (programs.c). Checks their results and compares them with the bare MPI.

    build/venv/bin/python tests/mpi/random_programs.py --minutes 30 --mpi mpich,openmpi --ranks 2,3,4
    build/venv/bin/python tests/mpi/random_programs.py --minutes 30 --nodes 3 --ranks 1,2

With --nodes they run over emulated nodes (copse.cluster), and --ranks are those of a node.

The runs alternate between the MPIs, the numbers of ranks and the ways of running Copse. A failure is reported with its seed
and the least number of steps with which it still fails. Programs on which the bare MPI fails too do not count.
"""

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "faces" / "python"), str(Path(__file__).resolve().parents[1])]

import collectives  # noqa: E402
from limited import run_limited  # noqa: E402

from copse import flavours, native, paths  # noqa: E402
from copse.cluster import Cluster, launch  # noqa: E402

MODES: dict[str, dict[str, str]] = {
    "plain": {},
    "heap": {},
    "nodes": {"COPSE_NODES": "2"},
    "check": {"COPSE_CHECK": "1"},
    "thread": {"COPSE_PROGRESS": "thread"},
    "learn": {"COPSE_LEARN": "eagerly"},
    "helpers": {"COPSE_COLLECTIVE_PROCESSORS": "1/2"},
    "late": {"COPSE_JOIN": "9", **collectives.BARE},  # the MPI makes the first calls
}
EVERYWHERE = ("delegated", "multi_lane")  # algorithms that are forced for all collectives that have them
OVER_NODES = ("plain", "heap", "check", "thread", "learn", "late", *EVERYWHERE)  # the modes of emulated nodes
NODE_NAMES = ("mpich", "impi", "openmpi")  # Debian's MPICH hangs in MPI_Finalize over nodes; its Open MPI is not tested there
PROGRAMS, STEPS = 8, 200  # of a launch; a start takes as long as a few programs
LAUNCH_SECONDS = 300
BARE_AGAIN = 3  # launches of the bare MPI before a failure counts


def forced_everywhere(algorithm: str) -> dict[str, str]:
    """Returns the variable that forces an algorithm for all collectives that have it."""
    collectives = [row["collective"] for row in native.query("algorithms") if row["algorithm"] == algorithm]
    return {"COPSE_ALGORITHM": ";".join(f"{collective}={algorithm}" for collective in collectives)}


@dataclass(frozen=True)
class Run:
    """One launch of a flavour's program, with Copse in one of the modes, or bare. On a cluster, `ranks` are those of a node."""

    flavour: flavours.Flavour
    program: Path
    ranks: int
    mode: str | None
    cluster: Cluster | None = None

    @property
    def name(self) -> str:
        over = f" on each of {self.cluster.nodes} nodes" if self.cluster else ""
        return f"{self.flavour.name}, {self.ranks} ranks{over}, {self.mode}"

    def variables(self) -> dict[str, str]:
        if self.mode is None:
            return collectives.BARE
        libraries = [self.flavour.preload] + [paths.PRELOAD_FOLDER / "libcopse-heap.so"] * (self.mode == "heap")
        return {"LD_PRELOAD": ":".join(map(str, libraries)), "COPSE_JOIN": "1", **(forced_everywhere(self.mode) if self.mode in EVERYWHERE else MODES[self.mode])}

    def digests(self, seed: int, steps: int, programs: int) -> tuple[dict[int, str], str]:
        """Returns the result of each program up to the first that fails, by seed, and what was printed about that one.
        """
        program, variables = [self.program, "random", str(seed), str(steps), str(programs)], self.variables()
        ranks = self.ranks * (self.cluster.nodes if self.cluster else 1)
        command, environment = launch(self.flavour, ranks, program, self.cluster, variables, crowded=True)
        done, late = run_limited(command, LAUNCH_SECONDS, env=environment)
        output = done.stdout + done.stderr + (f"\nno end after {LAUNCH_SECONDS} s" if late else "")
        found = {int(number): digest for number, digest in re.findall(r"^program (\d+): (\w+)$", output, re.MULTILINE)}
        fine = done.returncode == 0 and len(found) == programs
        return found, "" if fine else output[-3000:]


@dataclass
class Tally:
    programs: int = 0
    not_compared: list[str] = field(default_factory=list)  # the bare MPI failed
    failures: list[str] = field(default_factory=list)


def least_steps(run: Run, seed: int, steps: int) -> int:
    """Bisects the number of steps. A program's first steps do not depend on their number."""
    works = 0
    while steps - works > 1:
        middle = (works + steps) // 2
        if run.digests(seed, middle, 1)[1]:
            steps = middle
        else:
            works = middle
    return steps


def compare(run: Run, seed: int, tally: Tally, shrink: bool) -> None:
    bare, name = replace(run, mode=None), run.name
    got, said = run.digests(seed, STEPS, PROGRAMS)
    expected, complaint = bare.digests(seed, STEPS, PROGRAMS)
    tally.programs += len(got.keys() & expected.keys())
    for number, digest in got.items():
        if expected.get(number, digest) != digest:
            tally.failures.append(f"{name}: program {number} differs from the bare MPI's")
    if complaint:
        tally.not_compared.append(f"{name}: program {seed + len(expected)}")
    if not said:
        return
    failed = seed + len(got)
    if len(got) == PROGRAMS and not complaint:
        tally.failures.append(f"{name}: programs {seed} to {failed - 1} were right, and then the end was not:\n{said}")
        return
    # The bare MPI has stopped at that one, too. Intel MPI does so on some programs, but not in every launch.
    if len(expected) == len(got) or any(bare.digests(failed, STEPS, 1)[1] for _ in range(BARE_AGAIN)):
        tally.not_compared.append(f"{name}: program {failed}")
        return
    steps = least_steps(run, failed, STEPS) if shrink else STEPS
    tally.failures.append(f"{name}: program {failed}, {steps} steps:\n{said}")


def runs(flavour_names: list[str], ranks: list[int], modes: list[str], folder: Path, cluster: Cluster | None) -> Iterator[Run]:
    made: dict[str, Path] = {}
    for turn in count():
        name, mode = flavour_names[turn % len(flavour_names)], modes[turn // len(flavour_names) % len(modes)]
        flavour = flavours.find(name)
        if name not in made:
            made[name] = collectives.compile_with(flavour.mpicc, folder / name, flavour.environment())
        yield Run(flavour, made[name], ranks[turn % len(ranks)], mode, cluster)


def run_for(
    seconds: float,
    flavour_names: list[str],
    ranks: list[int],
    modes: list[str],
    seed: int,
    shrink: bool = True,
    cluster: Cluster | None = None,
) -> Tally:
    tally, start = Tally(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for turn, run in enumerate(runs(flavour_names, ranks, modes, Path(folder), cluster)):
            if turn > 0 and time.monotonic() - start > seconds:
                return tally
            compare(run, seed + turn * PROGRAMS, tally, shrink)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--mpi", help="which, separated by commas")
    parser.add_argument("--ranks", default="2,3,4")
    parser.add_argument("--mode", help=f"of {', '.join(MODES)}; over nodes, of {', '.join(OVER_NODES)}")
    parser.add_argument("--nodes", type=int, default=1, help="emulated")
    chosen = parser.parse_args()
    ranks = [int(number) for number in chosen.ranks.split(",")]

    def run_over(cluster: Cluster | None) -> Tally:
        names, modes = (NODE_NAMES, OVER_NODES) if cluster else (flavours.NAMES, MODES)
        return run_for(60 * chosen.minutes, chosen.mpi.split(",") if chosen.mpi else list(names), ranks,
                       chosen.mode.split(",") if chosen.mode else list(modes), chosen.seed, cluster=cluster)  # fmt: skip

    if chosen.nodes > 1:
        with tempfile.TemporaryDirectory() as folder, Cluster(Path(folder), chosen.nodes) as cluster:
            tally = run_over(cluster)
    else:
        tally = run_over(None)
    for failure in tally.failures:
        print(failure)
    for skipped in tally.not_compared:
        print(f"the bare MPI fails too: {skipped}")
    print(f"{tally.programs} programs of {STEPS} steps, {len(tally.failures)} failures, {len(tally.not_compared)} left out")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
