"""Fixtures of the tests of the MPI face: the test program under each flavour, and its launch with the preload."""

import subprocess
from pathlib import Path

import collectives
import pytest

from copse import flavours, paths


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """Returns collectives.c compiled by each flavour's mpicc, at first use."""
    folder, made = tmp_path_factory.mktemp("collectives"), {}

    def program(flavour: flavours.Flavour) -> Path:
        if flavour.name not in made:
            made[flavour.name] = collectives.compile_with(
                flavour.mpicc, folder / flavour.name, flavour.environment()
            )
        return made[flavour.name]

    return program


@pytest.fixture(scope="session")
def endless(tmp_path_factory):
    """Returns endless.c compiled by each flavour's mpicc, at first use."""
    made = {}

    def program(flavour: flavours.Flavour) -> Path:
        if flavour.name not in made:
            made[flavour.name] = tmp_path_factory.mktemp("endless") / flavour.name
            subprocess.run([flavour.mpicc, "-O1", Path(__file__).with_name("endless.c"), "-o", made[flavour.name]], env=flavour.environment(), check=True, timeout=120)
        return made[flavour.name]

    return program


@pytest.fixture
def launch(run, programs):
    def launch_part(flavour, ranks, *arguments, preload=None, program=None, timeout=100, **variables):
        preload = flavour.preload if preload is None else paths.PRELOAD_FOLDER / preload
        assert preload.exists(), f"{preload} is missing; run make build"
        command = flavour.command(
            ranks, [*(program or [programs(flavour)]), *arguments], variables={"LD_PRELOAD": str(preload), **variables}
        )
        return run(command, env=flavour.environment(), timeout=timeout)

    return launch_part


@pytest.fixture
def run_part(launch, compile_mpi):
    """Returns a function that runs a part of a program of this folder, checks that all ranks are right, and returns the trace."""

    def run(source: Path, name: str, ranks: int, part: str, **variables: str) -> str:
        flavour = flavours.find(name)
        compiled = compile_mpi(flavour, source.read_text(), source.stem)
        variables = {"COPSE_TRACE": "1", "COPSE_JOIN": "1", **variables}
        done = launch(flavour, ranks, part, program=[compiled], **variables)
        assert done.returncode == 0 and done.stdout.count("is right") == ranks, done.stdout + done.stderr
        return done.stderr

    return run


@pytest.fixture
def other_world(tmp_path):
    """Returns a function that makes a program for MPI_Comm_spawn to start, and the variables of those who spawn it.

    The case says on which side Copse is: "both", "bare children", "bare parents" or "disabled children".
    """

    def make(flavour: flavours.Flavour, program: Path, case: str) -> tuple[Path, dict[str, str]]:
        children = tmp_path / "children.sh"
        setting = {"bare children": "unset LD_PRELOAD", "disabled children": "export COPSE_DISABLE=1"}.get(
            case, f"export LD_PRELOAD={flavour.preload}"
        )
        children.write_text(f'#!/bin/sh\n{setting}\nexec "{program}"\n')
        children.chmod(0o755)
        preload = {} if case == "bare parents" else {"LD_PRELOAD": str(flavour.preload)}
        return children, {**preload, **collectives.SPAWNS.get(flavour.name, {})}

    return make
