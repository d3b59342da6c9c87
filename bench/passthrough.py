#!/usr/bin/env python3
"""What Copse's wrapper adds to a call that it passes on to the MPI, in nanoseconds (target: 15 at most).

bench/passthrough.c runs bare and with Copse preloaded in turn, several times; the figure is the difference of the
minima. COPSE_DISABLE=1 is set, so that calls on MPI_COMM_SELF are passed on too.

    build/venv/bin/python bench/passthrough.py [mpich impi openmpi ...]
"""

import csv
import subprocess
import sys
from pathlib import Path

from copse import flavours, paths, run
from copse.errors import CopseError

SOURCE = Path(__file__).with_suffix(".c")
ROUNDS = 7


def fastest_calls(flavour: flavours.Flavour, program: Path, variables: dict[str, str]) -> dict[str, float]:
    command = flavour.command(3, [program], variables=variables)
    done = subprocess.run(
        command, env=flavour.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )
    if done.returncode:
        raise CopseError(f"{' '.join(command)} failed: {done.stderr.strip()[-300:]}", "run: make build")
    return {row["call"]: float(row["ns"]) for row in csv.DictReader(done.stdout.splitlines())}


def main() -> None:
    print(f"{'flavour':16}{'call':18}{'bare ns':>9}{'copse ns':>10}{'added ns':>10}")
    for name in sys.argv[1:] or ["mpich", "impi", "openmpi"]:
        flavour = flavours.find(name)
        program = paths.BUILD / "bench" / "bin" / name / SOURCE.stem
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [flavour.mpicc, "-O2", "-std=gnu11", SOURCE, "-o", program], env=flavour.environment(), check=True
        )
        wrapped = {"LD_PRELOAD": run.preload_value([flavour.preload.name], None), "COPSE_DISABLE": "1"}
        best: list[dict[str, float]] = [{}, {}]
        for _ in range(ROUNDS):
            for side, variables in enumerate(({}, wrapped)):
                for call, ns in fastest_calls(flavour, program, variables).items():
                    best[side][call] = min(ns, best[side].get(call, ns))
        for call, bare in best[0].items():
            print(f"{name:16}{call:18}{bare:9.1f}{best[1][call]:10.1f}{best[1][call] - bare:10.1f}")


if __name__ == "__main__":
    try:
        main()
    except CopseError as error:
        sys.exit(f"passthrough: {error}")
