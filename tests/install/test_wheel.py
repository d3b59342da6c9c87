"""The wheel: built as `pip wheel .` does, installed in an empty virtual environment, run with the MPIs of PyPI."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from compiled import COMPILERS

from copse import flavours, paths

pytestmark = pytest.mark.full
TOOLS = paths.ROOT / "build" / "wheel-tools" / "bin"  # make setup
sys.path.insert(0, str(paths.ROOT / "packaging"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    assert TOOLS.exists(), "run: make setup"
    folder = tmp_path_factory.mktemp("wheel")
    command = [TOOLS / "pip", "wheel", "--no-build-isolation", "--no-deps", "--disable-pip-version-check", "-w", folder, paths.ROOT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000, env={**os.environ, **COMPILERS, "CMAKE_BUILD_PARALLEL_LEVEL": "2"})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def command(wheel, tmp_path_factory) -> Path:
    """Returns the command of a virtual environment that has the wheel, and what it requires, in the versions of build/venv."""
    from gather import closure

    folder = tmp_path_factory.mktemp("environment")
    wanted = {distribution.name.lower().replace("_", "-") for distribution in closure(("typer", "rich"))}
    entries = re.split(r"\n(?=\S)", (paths.ROOT / "tools/requirements/copse.txt").read_text())
    (folder / "list.txt").write_text("\n".join(e for e in entries if e.split("==")[0].lower().replace("_", "-") in wanted) + "\n")
    subprocess.run(["/usr/bin/python3", "-m", "venv", folder / "venv"], check=True)
    install = [folder / "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--require-hashes", "--only-binary", ":all:", "-r", folder / "list.txt"], check=True, timeout=600)
    subprocess.run([*install, "--no-index", wheel], check=True, timeout=600)
    return folder / "venv/bin/copse"


def test_it_holds_the_command_and_what_it_needs(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    home = {f"copse/home/{family.preload}" for family in flavours.FAMILIES} | {f"copse/home/{flavours.STANDARD_ABI_PRELOAD}"}
    home |= {flavours.world_library_of(preload) for preload in home}
    home |= {"copse/home/copse-native", "copse/home/libcopse-heap.so", "copse/home/bench/mpi_collectives.c"}
    home |= {"copse/home/bench/overlap.c", "copse/home/bench/cluster/agent.sh", "copse/home/bench/cluster/nodes.sh"}
    assert {name for name in names if name.startswith("copse/home/")} == home
    assert {f"copse/{file.name}" for file in (paths.ROOT / "faces/python/copse").glob("*.py")} <= names
    assert any(name.endswith("licenses/docs/third-party.md") for name in names)
    assert wheel.name.startswith("copse-") and "-py3-none-linux_" in wheel.name


@pytest.mark.parametrize("name", ["mpich", "impi", "openmpi"])
def test_it_runs_a_program(command, name, run, tmp_path):
    flavour = flavours.find(name)
    program = tmp_path / "hello"
    done = run([flavour.mpicc, "-O2", paths.ROOT / "examples/hello_allreduce.c", "-o", program], env=flavour.environment())
    assert done.returncode == 0, done.stderr
    clean = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "COPSE_JOIN": "1"}
    done = run([command, "run", "--trace", "--shared-heap", *flavour.command(2, [program])], env=flavour.environment(clean))
    assert done.returncode == 0 and "ran by" in done.stderr, done.stdout + done.stderr


def test_it_knows_its_version_and_its_heap(command, wheel, run):
    done = run([command, "--version"])
    assert done.stdout == f"copse {wheel.name.split('-')[1]}\n", done.stderr
    report = json.loads(run([command, "info", "--json"]).stdout)
    assert all(row["works"] for row in report["reaches"]), report["reaches"]


def test_it_runs_with_the_oldest_packages_that_it_permits(wheel, run, tmp_path):
    permitted = tomllib.loads((paths.ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    oldest = [f"{requirement.replace('>=', '==')}.*" for requirement in permitted]
    subprocess.run(["/usr/bin/python3", "-m", "venv", tmp_path], check=True)
    install = [tmp_path / "bin/pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--only-binary", ":all:", wheel, *oldest], check=True, timeout=600)
    for words in (["--help"], ["run", "--help"], ["info"], ["explain", "allreduce", "64K", "-n", "2"]):
        done = run([tmp_path / "bin/copse", *words], env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
        assert done.returncode == 0 and done.stderr == "", done.stderr


def test_what_keeps_it_from_every_linux_is_known(wheel, run, tmp_path):
    """It needs the glibc of the machine that built it, and no library that not every Linux has (PEP 600)."""
    done = run([TOOLS / "auditwheel", "show", wheel])
    assert re.search(r'platform\s+tag\s+to\s+"manylinux_2_\d+_\w+"', done.stdout), done.stdout + done.stderr
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    listed = run(["readelf", "-d", *(file for file in (tmp_path / "copse/home").iterdir() if file.is_file())]).stdout
    everywhere = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
    assert set(re.findall(r"\(NEEDED\).*\[(\S+)\]", listed)) - everywhere == set()
