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
