"""Learning while running: other ways are tried in the program's own calls, and nothing but the speed changes."""

import re
import subprocess
from pathlib import Path

import pytest
from collectives import BARE, ONE_OR_ALL, passed

from copse import flavours

PARTS = ["types", "matrix", "communicators", "requests", "orders", "errors"]
PROGRAM, SAME_BITS = (Path(__file__).with_name(name) for name in ("learning.c", "same_bits.c"))


@ONE_OR_ALL
@pytest.mark.parametrize("part", PARTS)
def test_results_are_right_whatever_is_tried(launch, name, part):
    done = launch(flavours.find(name), 3, part, COPSE_LEARN="eagerly", **BARE)
    assert passed(done, part), done.stdout + done.stderr


@pytest.fixture(scope="session")
def changing(tmp_path_factory):
    """Returns learning.c, or another program, compiled by a flavour's mpicc."""
    folder = tmp_path_factory.mktemp("learning")

    def compiled(flavour, source=PROGRAM):
        program = folder / f"{source.stem}-{flavour.name}"
        command = [flavour.mpicc, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-rdynamic", source, "-o", program]
        done = subprocess.run(command, env=flavour.environment(), capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return program

    return compiled


TRIES = 3  # of a program whose times other tests disturb, because they take its processors


def kernel_copies(done):
    """Returns how many of the last 100 calls of each phase moved their data by the kernel's copy."""
    return {match[1]: int(match[2]) for match in re.finditer(r"^([a-z ]+): (\d+) of 100 calls", done.stdout, re.MULTILINE)}


@ONE_OR_ALL
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_program_whose_best_algorithm_changes_is_followed(launch, changing, name, ranks):
    flavour = flavours.find(name)
    followed = False
    for _ in range(TRIES):
        done = launch(flavour, ranks, "2000", program=[changing(flavour)], COPSE_LEARN="eagerly", COPSE_TRACE="1")
        assert done.returncode == 0, done.stdout + done.stderr
        copies = kernel_copies(done)
        # At its most eager, Copse tries slower ways in up to half of all calls.
        followed = copies["slow"] < 60 < copies["fast"] and copies["slow again"] < 60
        if followed:
            break
    assert followed, done.stdout + done.stderr
    line = r"^copse: learned: broadcast from \d+ bytes( to \d+| on): .* -> .*, [\d.]+ -> [\d.]+ us, before call \d+$"
    assert re.search(line, done.stderr, re.MULTILINE), done.stderr


def test_bits_stay_the_same(launch, changing):
    """Between two ranks, too, the bits of a result may depend on the order: MAX of 0 and -0, a sum of two NaNs."""
    flavour = flavours.find("mpich")
    done = launch(flavour, 2, "300", program=[changing(flavour, SAME_BITS)], COPSE_LEARN="eagerly")
    assert done.returncode == 0 and "\n0 calls gave other bits" in "\n" + done.stdout, done.stdout + done.stderr


def test_a_program_with_few_calls_is_left_alone(launch, changing):
    flavour = flavours.find("mpich")
    done = launch(flavour, 3, "60", program=[changing(flavour)], COPSE_LEARN="1", COPSE_TRACE="1")
    assert done.returncode == 0 and "learned" not in done.stderr, done.stdout + done.stderr
    assert len(set(kernel_copies(done).values())) == 1, done.stdout


def test_ranks_that_refuse_calls_stay_in_step(launch):
    for part in ("errors", "truncated"):
        done = launch(flavours.find("mpich"), 4, part, COPSE_LEARN="eagerly", **BARE)
        assert passed(done, part), done.stdout + done.stderr
