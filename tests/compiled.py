"""How another build in a test finds in ccache what the release build has compiled (cmake/ccache.cmake)."""

import subprocess
from pathlib import Path

COMPILERS = {"CC": "gcc", "CXX": "g++"}  # those of the preset: ccache tells compilers apart by their names


def store() -> Path:
    """Returns the folder of this machine's compiler cache."""
    return Path(subprocess.run(["ccache", "--get-config", "cache_dir"], capture_output=True, text=True, check=True).stdout.strip())
