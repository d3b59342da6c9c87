"""The places of things: in this checkout, or where Copse is installed.

In a checkout, all build results are under build/ (see tools/build). An installed package lies in lib/copse/python, and
what belongs to it in the folder above, lib/copse. In a wheel, that is the folder home of the package itself
(cmake/CopseInstall.cmake). Nothing there is ever written.
"""

import os
from pathlib import Path

_HERE = Path(__file__).resolve()
_HOMES = [home for home in (_HERE.parents[2], _HERE.parent / "home") if (home / "copse-native").exists()]
INSTALLED = bool(_HOMES)
ROOT = _HOMES[0] if INSTALLED else _HERE.parents[3]  # lib/copse or home, or the checkout
BUILD = ROOT / "build"
NATIVE = ROOT / "copse-native" if INSTALLED else BUILD / "bin" / "copse-native"
PRELOAD_FOLDER = ROOT if INSTALLED else BUILD / "lib"
MPI_FOLDER = BUILD / "mpi"  # the MPIs that tools/setup takes from PyPI; an installed command finds MPIs on PATH
RESULTS = Path("copse-results") if INSTALLED else BUILD  # of bench and tune, unless they are told another place


def cache() -> Path:
    """Returns the folder for what can be made again, such as compiled benchmarks.

    Of an installed command it is the user's, as in the XDG Base Directory Specification.
    """
    if not INSTALLED:
        return BUILD
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if given.startswith("/") else Path.home() / ".cache") / "copse"


def make(target: str) -> str:
    """Returns what to do if the result of `make <target>` is missing."""
    return "this installation is incomplete: install Copse again" if INSTALLED else f"run: make -C {ROOT} {target}"
