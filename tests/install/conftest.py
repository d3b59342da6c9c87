"""Builds that several tests of this folder install: the release build, and the Debian packages of it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from copse import paths

TARGETS = ("copse", "copse_heap", "copse_mpi_mpich", "copse_mpi_openmpi", "copse_mpi_abi", "copse-native")


@pytest.fixture(scope="session")
def built() -> None:
    """Makes sure that the release build is there."""
    subprocess.run([paths.ROOT / "tools" / "build", "release", "--target", *TARGETS], check=True, timeout=3000)


@pytest.fixture(scope="session")
def packages(tmp_path_factory) -> Path:
    """Returns a folder with the Debian packages, made as users make them, from the files that git has.

    Making them takes as long as `make build`.
    """
    folder = tmp_path_factory.mktemp("debian")
    source = folder / "copse"
    listed = subprocess.run(["git", "-C", paths.ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (paths.ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(paths.ROOT / name, source / name)
    (source / "build").mkdir()
    for name in ("venv", "mpi"):
        (source / "build" / name).symlink_to((paths.BUILD / name).resolve())
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("COPSE_", "PYTHON"))}
    clean |= {"PATH": f"/usr/lib/ccache:{clean['PATH']}", "DEB_BUILD_OPTIONS": f"parallel={len(os.sched_getaffinity(0))}"}
    done = subprocess.run(["dpkg-buildpackage", "-us", "-uc", "-b"], cwd=source, capture_output=True, text=True, timeout=3600, env=clean)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return folder
