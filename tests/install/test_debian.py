"""The Debian packages: built as users build them, from the files that git has, looked at by lintian, unpacked, and run."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from copse import paths

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def packages(tmp_path_factory) -> Path:
    """Returns a folder with the packages, and with their files in root/. Building them takes as long as `make build`."""
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
    path = f"/usr/lib/ccache:{clean['PATH']}"
    done = subprocess.run(["dpkg-buildpackage", "-us", "-uc", "-b"], cwd=source, capture_output=True, text=True, timeout=3600,
                          env={**clean, "PATH": path, "DEB_BUILD_OPTIONS": f"parallel={len(os.sched_getaffinity(0))}"})  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, folder / "root"], check=True)
    return folder


def test_there_are_three_packages_and_lintian_is_content(packages, run):
    names = sorted(file.name.split("_")[0] for file in packages.glob("*.deb"))
    assert [name for name in names if not name.endswith("-dbgsym")] == ["copse", "libcopse-dev", "libcopse0"]
    done = run(["lintian", "--fail-on", "error,warning", *packages.glob("*.changes")])
    assert done.returncode == 0, done.stdout


def test_they_name_what_they_need(packages, run):
    def field(package: str, name: str) -> str:
        return run(["dpkg-deb", "-f", next(packages.glob(f"{package}_*.deb")), name]).stdout.strip()

    version = re.search(r"^project\(copse VERSION (\S+)", (paths.ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    assert field("copse", "Version") == version
    assert "libhwloc15" in field("libcopse0", "Depends") and "python3" in field("copse", "Depends")
    assert "mpi" not in field("copse", "Depends") and "libmimalloc" in field("copse", "Recommends")


def test_programs_run_on_them(packages, run):
    """debian/tests/programs is what autopkgtest runs on a machine that has the packages installed."""
    clean = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "ROOT": str(packages / "root")}
    done = run(["sh", paths.ROOT / "debian/tests/programs"], env=clean)
    assert done.returncode == 0 and "ran by" in done.stdout, done.stdout + done.stderr
