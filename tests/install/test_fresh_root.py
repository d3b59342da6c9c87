"""Copse on a fresh Debian 12 that has neither checkout nor build folder: a root file system made by debootstrap, entered by chroot."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from copse import paths

pytestmark = [pytest.mark.full, pytest.mark.skipif(os.geteuid() != 0, reason="debootstrap and chroot need root")]
PACKAGES = ("python3", "mpich", "libmpich-dev", "openmpi-bin", "libopenmpi-dev", "gcc", "libc6-dev", "pkg-config", "cmake", "make", "libhwloc15", "libmimalloc2.0")


@pytest.fixture(scope="module")
def root(debian, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    folder.chmod(0o755)
    apt = ["chroot", folder, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y", "--no-install-recommends"]
    for command in (["tar", "-xpf", debian, "-C", folder], [*apt, "update"], [*apt, "install", *PACKAGES]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    subprocess.run(["chroot", folder, "useradd", "--create-home", "user"], check=True)
    return folder


@pytest.fixture
def beside(root, run):
    """Runs a command where that system has processes and mounts of its own."""

    def call(command: str, **options):
        mounts = f"mount -t tmpfs tmpfs {root}/dev/shm && mount -t proc proc {root}/proc && mount -t sysfs -o ro sysfs {root}/sys"
        clean = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        done = run(["unshare", "--mount", "--pid", "--fork", "sh", "-c", f"{mounts} && exec env TMPDIR=/tmp {command}"], env=clean, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return call


@pytest.fixture
def inside(root, beside):
    """Runs a shell script in that system, as root or as an ordinary user."""
    return lambda script, user="user": beside(f"chroot {root} runuser -u {user} -- env HOME=/tmp sh -euc '{script}'")


def entries(root: Path) -> set[str]:
    """Returns what lies in the folders of the system that installations write into."""
    return {str(path.relative_to(root)) for folder in ("usr", "etc", "opt") for path in (root / folder).rglob("*")} - {"etc/ld.so.cache"}


PURGE = "dpkg --purge copse libcopse-dev libcopse0 copse-dbgsym libcopse0-dbgsym"
PROGRAMS = """
cd $(mktemp -d)
examples=/EXAMPLES
for mpi in mpich openmpi; do
  mpicc.$mpi -O2 $examples/hello_allreduce.c -o hello
  COPSE_JOIN=1 copse run --trace mpiexec.$mpi $([ $mpi = mpich ] || echo --oversubscribe) -n 2 ./hello
done
gcc $examples/threads.c $(pkg-config --cflags --libs copse) -lpthread -o threads && ./threads
printf "project(it C)\\nfind_package(Copse 0.2 REQUIRED)\\nadd_executable(it $examples/threads.c)\\ntarget_link_libraries(it Copse::copse pthread)\\n" > CMakeLists.txt
cmake -S . -B build -Wno-dev && cmake --build build && build/it
copse doctor || true
"""


def all_ran(said: str) -> bool:
    return len(re.findall(r"ran by \(algorithm", said)) == 2 and said.count("4 threads, ") == 2 and ", 0 do not work" in said


def test_installed_used_and_removed(built, root, inside):
    before = entries(root)
    done = subprocess.run(["make", "-s", "-C", paths.ROOT, "install", f"DESTDIR={root}"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    inside("ldconfig", "root")
    said = inside(PROGRAMS.replace("/EXAMPLES", "/usr/local/share/doc/copse/examples"))
    assert all_ran(said), said
    inside("cmake -P /usr/local/share/copse/uninstall.cmake", "root")
    left = entries(root) - before  # folders of /usr/local belong to the system
    assert [name for name in left if not (root / name).is_dir() or "opse" in name] == []


def test_packages_installed_used_and_removed(packages, root, inside):
    before = entries(root)
    (root / "packages").mkdir()
    for package in packages.glob("*.deb"):
        (root / "packages" / package.name).write_bytes(package.read_bytes())
    inside("dpkg -i /packages/*.deb", "root")
    said = inside(PROGRAMS.replace("/EXAMPLES", "/usr/share/doc/copse/examples"))
    assert all_ran(said), said
    inside(f"{PURGE}; rm -r /packages", "root")
    assert entries(root) - before == set()


def test_autopkgtest_is_content(packages, copy_checkout, root, beside, inside, tmp_path):
    """It installs the packages and what debian/tests asks for, and runs that."""
    said = beside(f"autopkgtest --no-built-binaries {' '.join(map(str, packages.glob('*.deb')))} {copy_checkout(tmp_path)} -- chroot {root}", timeout=600)
    inside(PURGE, "root")
    assert re.search(r"^programs +PASS", said, re.MULTILINE), said
