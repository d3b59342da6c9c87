"""The Debian packages: built as users build them, from the files that git has, looked at by lintian, unpacked, and run."""

import re
import subprocess

import pytest

from copse import paths

pytestmark = pytest.mark.full


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


def test_programs_run_on_them(packages, run, tmp_path):
    """debian/tests/programs is what autopkgtest runs on a machine that has the packages installed."""
    for package in packages.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, tmp_path], check=True)
    clean = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "ROOT": str(tmp_path)}
    done = run(["sh", paths.ROOT / "debian/tests/programs"], env=clean)
    assert done.returncode == 0 and "ran by" in done.stdout, done.stdout + done.stderr
