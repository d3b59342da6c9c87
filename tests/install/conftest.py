"""What the tests of this folder install: the release build."""

import subprocess

import pytest

from copse import paths

TARGETS = ("copse", "copse_heap", "copse_mpi_mpich", "copse_mpi_openmpi", "copse_mpi_abi", "copse-native")


@pytest.fixture(scope="session")
def built() -> None:
    """Makes sure that the release build is there."""
    subprocess.run([paths.ROOT / "tools" / "build", "release", "--target", *TARGETS], check=True, timeout=3000)
