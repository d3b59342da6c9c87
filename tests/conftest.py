"""Fixtures for all Python tests: the MPI flavours, and commands with a time limit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "faces" / "python"))

import drawing  # noqa: E402
from limited import run_limited  # noqa: E402

from copse import flavours, paths  # noqa: E402

STEP_SECONDS = 120
EVERY = "TESTS_EVERY"  # set by tools/test --every
DRAWN = pytest.StashKey[str]()
# Tests call a few times and then look at what Copse did, so it begins with the first call. tests/mpi/test_late.py takes other values.
os.environ["COPSE_JOIN"] = "1"


@pytest.hookimpl(trylast=True)  # after pytest has left out what -m and -k leave out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if EVERY not in os.environ:
        drawn, config.stash[DRAWN] = drawing.draw(items, quick=config.option.markexpr == "not full")  # what tools/test gives to -m
        config.hook.pytest_deselected(items=[*set(items).difference(drawn)])
        items[:] = drawn


@pytest.fixture(scope="session")
def every() -> bool:
    """Tells whether nothing is drawn or cut short."""
    return EVERY in os.environ


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if drawn := terminalreporter.config.stash.get(DRAWN, ""):
        terminalreporter.write_line(f"drawn: {drawn} (tools/test --every runs all)")


@pytest.fixture(params=flavours.NAMES)
def flavour(request: pytest.FixtureRequest) -> flavours.Flavour:
    """Returns each MPI flavour in turn. All of them belong to the set-up, so a missing one is a failure and not a skip.
    """
    return flavours.find(request.param)


@pytest.fixture
def run():
    """Runs a command and returns the completed process, with its output as text. Fails the test if the command hangs.
    """

    def run_command(command, *, env=None, timeout=STEP_SECONDS, input=None) -> subprocess.CompletedProcess[str]:
        done, late = run_limited(command, timeout, env=env, input=input)
        if late:
            pytest.fail(f"no end after {timeout} s: {' '.join(done.args)}\n{done.stdout}\n{done.stderr}")
        return done

    return run_command


@pytest.fixture
def copse(run):
    """Runs the copse command of this checkout as users do, without the caller's COPSE_ variables (but COPSE_JOIN)."""

    def run_copse(*arguments, env=None, **options) -> subprocess.CompletedProcess[str]:
        base = os.environ if env is None else env
        clean = {name: value for name, value in base.items() if not name.startswith("COPSE_") or name == "COPSE_JOIN"}
        return run([paths.ROOT / "tools" / "copse", *arguments], env=clean, **options)

    return run_copse


@pytest.fixture
def compile_mpi(run, tmp_path):
    """Compiles C source text with a flavour's mpicc and returns the program's path."""

    def compile_source(flavour: flavours.Flavour, source: str, name: str = "program", compiler=None) -> Path:
        file = tmp_path / f"{name}-{flavour.name}.c"
        file.write_text(source)
        program = file.with_suffix("")
        headers = Path(__file__).with_name("mpi")
        done = run([compiler or flavour.mpicc, f"-I{headers}", file, "-o", program], env=flavour.environment())
        assert done.returncode == 0, done.stderr
        return program

    return compile_source
