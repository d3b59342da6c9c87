"""Fixtures of the tests of the MPI face: the test program under each flavour, and its launch with the preload."""

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
