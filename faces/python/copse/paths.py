"""The places of things in this checkout. All build results are under build/ (see tools/build)."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build"
NATIVE = BUILD / "bin" / "copse-native"
PRELOAD_FOLDER = BUILD / "lib"
MPI_FOLDER = BUILD / "mpi"
