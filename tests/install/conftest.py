"""What several tests of this folder install, and where: builds, packages, and a fresh Debian 12."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from compiled import TARGETS

from copse import paths


@pytest.fixture(scope="session")
def built() -> None:
    """Makes sure that the release build is there."""
    subprocess.run([paths.ROOT / "tools" / "build", "release", "--target", *TARGETS], check=True, timeout=3000)


@pytest.fixture(scope="session")
def copy_checkout() -> Callable[[Path], Path]:
    """Copies the files that git has into a new folder, and links what `make setup` has made."""

    def copy(folder: Path) -> Path:
        source = folder / "copse"
        listed = subprocess.run(["git", "-C", paths.ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
        for name in filter(None, listed.split("\0")):
            if (paths.ROOT / name).is_file():
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(paths.ROOT / name, source / name)
        (source / "build").mkdir()
        for name in ("venv", "mpi"):
            (source / "build" / name).symlink_to((paths.BUILD / name).resolve())
        return source

    return copy


@pytest.fixture(scope="session")
def clean() -> dict[str, str]:
    """Returns this process's variables, without those of Copse and Python."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("COPSE_", "PYTHON"))}


@pytest.fixture(scope="session")
def packages(copy_checkout, clean, tmp_path_factory) -> Path:
    """Returns a folder with the Debian packages, made as users make them. That takes as long as `make build`."""
    source = copy_checkout(tmp_path_factory.mktemp("debian"))
    variables = {**clean, "DEB_BUILD_OPTIONS": f"parallel={len(os.sched_getaffinity(0))}"}
    done = subprocess.run(["dpkg-buildpackage", "-us", "-uc", "-b"], cwd=source, capture_output=True, text=True, timeout=3600, env=variables)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return source.parent


@pytest.fixture(scope="session")
def debian(tmp_path_factory) -> Path:
    """Returns a fresh Debian 12 without any package that it can do without, as an archive."""
    folder = tmp_path_factory.mktemp("fresh")
    for command in (["debootstrap", "--variant=minbase", "bookworm", folder / "root"], ["tar", "-cf", folder / "root.tar", "-C", folder / "root", "."]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    shutil.rmtree(folder / "root")
    return folder / "root.tar"
