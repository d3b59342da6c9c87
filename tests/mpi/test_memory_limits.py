"""Copse under a limit on memory. It serves the communicators for which there is room, and leaves the others to the MPI."""

import os
import re
from pathlib import Path

import pytest
from collectives import ONE_OR_ALL
from marked import until

from copse import flavours, paths

PROGRAM = paths.ROOT / "bench" / "memory.c"
FOLDER = Path("/sys/fs/cgroup")
KILOBYTES_BEFORE = 4096  # for a communicator to be made there must be so much left
RANKS = 2


@pytest.fixture
def calls(run, compile_mpi):
    """Returns a function that runs memory.c and returns the trace: calls(flavour's name, communicators, variables...)."""

    def run_program(name: str, communicators: int, *, before: tuple[str, ...] = (), **variables: str) -> str:
        flavour = flavours.find(name)
        program = compile_mpi(flavour, PROGRAM.read_text(), "memory")
        variables = {"LD_PRELOAD": str(flavour.preload), "COPSE_JOIN": "1", "COPSE_TRACE": "1", **variables}
        command = flavour.command(RANKS, [program, str(communicators)], crowded=True, variables=variables)
        done = run([*before, *command], env=flavour.environment())
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stderr

    return run_program


@ONE_OR_ALL
def test_no_more_common_memory_than_the_user_allows(calls, name):
    trace = calls(name, 65, COPSE_MEMORY="4M")
    held = int(re.search(r"no rank has more than (\d+) KiB of common memory", trace)[1])
    assert 0 < held <= 4 * 1024, trace
    assert re.search(r"^copse: allreduce +COPSE_MEMORY allows rank \d less than 4 MiB more", trace, re.MULTILINE), trace
    assert "ran by" in trace, trace
    assert "COPSE_MEMORY allows" not in calls(name, 65, COPSE_MEMORY="1G")


@pytest.fixture
def cgroup():
    """Makes a cgroup whose memory can be limited, of whichever version this machine has. Yields its folder and two files' names."""
    for parent, most, peak in ((FOLDER / "memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"), (FOLDER, "memory.max", "memory.peak")):
        folder = parent / f"copse-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        if all((folder / file).exists() for file in (most, peak, "cgroup.procs")):
            break
        folder.rmdir()
    else:
        pytest.skip("this user cannot make a cgroup that limits memory")
    yield folder, most, peak
    until(lambda: not (folder / "cgroup.procs").read_text(), 20)  # a launcher's proxies end after it
    folder.rmdir()


def test_a_cgroup_that_leaves_too_little(calls, cgroup):
    """The limit is what the same program needs bare, and a bit. A limit with room for Copse makes no difference."""
    folder, most, peak = cgroup
    inside = ("sh", "-c", f'echo $$ > {folder / "cgroup.procs"} && exec "$@"', "sh")
    calls("mpich", 1, COPSE_DISABLE="1")  # so that the files are in memory already, and count for no run inside
    calls("mpich", 1, before=inside, COPSE_DISABLE="1")
    needed = int((folder / peak).read_text())
    why = r"^copse: allreduce +a cgroup of rank \d allows less than 4 MiB more for each rank of the node"
    for more, passed_on in ((KILOBYTES_BEFORE, True), (64 * 1024, False)):
        (folder / most).write_text(str(needed + more * 1024))
        assert bool(re.search(why, calls("mpich", 1, before=inside), re.MULTILINE)) == passed_on
