"""What tests need of the release build, and how another build in a test finds in ccache what that has compiled (cmake/ccache.cmake)."""

import subprocess
from pathlib import Path

# What `make install` installs, and what the documents' commands use of it.
TARGETS = ("copse", "copse_heap", "copse_mpi_mpich", "copse_mpi_openmpi", "copse_mpi_abi", "copse_world_mpich",
           "copse_world_openmpi", "copse_world_abi", "copse-native")  # fmt: skip
COMPILERS = {"CC": "gcc", "CXX": "g++"}  # those of the preset: ccache tells compilers apart by their names


def store() -> Path:
    """Returns the folder of this machine's compiler cache."""
    return Path(subprocess.run(["ccache", "--get-config", "cache_dir"], capture_output=True, text=True, check=True).stdout.strip())
