"""Random programs under every MPI: for a short while in the quick set, for ten minutes in the full one, and for half an hour with
`tools/test --every`."""

import random

import pytest
import random_programs

from copse import flavours


def check(tally: random_programs.Tally) -> None:
    """Asks for the programs of one launch. How many more there are is a matter of the machine's speed."""
    assert tally.failures == [], "\n\n".join(tally.failures)
    assert tally.programs >= random_programs.PROGRAMS, tally.not_compared


def test_random_programs():
    """Uses MPIs whose own calls, which the programs also make, have not been seen to fail."""
    check(random_programs.run_for(120, ["mpich", "openmpi"], [2, 3, 4], list(random_programs.MODES), 20261122, False))


def test_a_program_is_made_by_its_seed_alone(programs):
    """A program does not depend on those before it. Otherwise a failure could not be repeated or compared with the bare
    MPI."""
    flavour = flavours.find("openmpi")
    run = random_programs.Run(flavour, programs(flavour), 2, "plain")
    (both, said), (alone, of_one) = run.digests(700349, 200, 2), run.digests(700350, 200, 1)
    assert both.get(700350) == alone[700350], said + of_one


@pytest.mark.full
def test_random_programs_for_long(every):
    seed = 1 if every else random.randrange(1 << 20)  # a failure names the seeds of its programs
    check(random_programs.run_for(1800 if every else 600, list(flavours.NAMES), [2, 3, 4, 5], list(random_programs.MODES), seed))
