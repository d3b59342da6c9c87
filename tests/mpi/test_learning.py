"""Learning while running: other ways are tried in the program's own calls, and nothing but the speed changes."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from collectives import BARE, ONE_OR_ALL, passed

from copse import flavours

PARTS = ["types", "matrix", "communicators", "requests", "orders", "errors"]
HERE = Path(__file__).parent


@ONE_OR_ALL
@pytest.mark.parametrize("part", PARTS)
def test_results_are_right_whatever_is_tried(launch, name, part):
    done = launch(flavours.find(name), 3, part, COPSE_LEARN="eagerly", **BARE)
    assert passed(done, part), done.stdout + done.stderr


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Returns a function that compiles a program of this folder by a flavour's mpicc."""
    folder = tmp_path_factory.mktemp("learning")

    def compiled(flavour, name):
        program = folder / f"{name}-{flavour.name}"
        source = HERE / f"{name}.c"
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
def test_a_program_whose_best_algorithm_changes_is_followed(launch, compiled, name, ranks):
    flavour = flavours.find(name)
    followed = False
    for _ in range(TRIES):
        done = launch(flavour, ranks, "2000", program=[compiled(flavour, "learning")], COPSE_LEARN="eagerly", COPSE_TRACE="1")
        assert done.returncode == 0, done.stdout + done.stderr
        copies = kernel_copies(done)
        # At its most eager, Copse tries slower ways in up to half of all calls.
        followed = copies["slow"] < 60 < copies["fast"] and copies["slow again"] < 60
        if followed:
            break
    assert followed, done.stdout + done.stderr
    line = r"^copse: learned: broadcast from \d+ bytes( to \d+| on): .* -> .*, [\d.]+ -> [\d.]+ us, before call \d+$"
    assert re.search(line, done.stderr, re.MULTILINE), done.stderr


SUMS = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  double third = 1.0 / 3, sum = 0;
  MPI_Init(&argc, &argv);
  const double begin = MPI_Wtime();
  for (int goes_on = 1; goes_on; MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD)) {
    for (int i = 0; i < 10000; ++i) MPI_Allreduce(&third, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    goes_on = MPI_Wtime() - begin < atof(argv[1]);
  }
  if (sum > 0.99) puts("right");
  return MPI_Finalize();
}
"""


@pytest.mark.parametrize("learn", ["1", "reordering"])
def test_other_bits_are_tried_only_if_the_user_wants_that(launch, compile_mpi, learn):
    """The trace says which ways were tried, and how long they took. On a busy machine more time may be needed until one is tried."""
    flavour = flavours.find("mpich")
    program, others = compile_mpi(flavour, SUMS, "sums"), False
    for attempt in range(TRIES):
        done = launch(flavour, 3, str(6 << attempt), program=[program], COPSE_LEARN=learn, COPSE_TRACE="1", COPSE_JOIN="1", timeout=240)
        assert done.returncode == 0 and done.stdout.count("right") == 3, done.stdout + done.stderr
        tried = r"^copse: tried: allreduce from \d+ bytes to \d+ on 3 ranks: (.+) takes [\d.]+ us(.*)$"
        lines = re.findall(tried, done.stderr, re.MULTILINE)
        ways = {way for kept, rest in lines for way in (kept, *re.findall(r", (.+?) [\d.]+ times as long", rest))}
        others = "the MPI's own" in ways or len({way.split()[0] for way in ways}) > 1
        for cost in re.findall(r"^copse: trying took ([\d.]+) % of the time in calls on 3 ranks", done.stderr, re.MULTILINE):
            assert float(cost) < 3, done.stderr
        if learn == "1" or others:
            break
    assert others == (learn == "reordering"), done.stderr


@ONE_OR_ALL
def test_what_was_learned_is_written_for_the_next_run(launch, compiled, name, tmp_path):
    flavour, table = flavours.find(name), tmp_path / "learned.json"
    row = None
    for _ in range(TRIES):  # of a program that ends while the kernel's copy takes no time; on a busy machine another way may win
        done = launch(flavour, 2, "2000", "2", program=[compiled(flavour, "learning")], COPSE_LEARN="eagerly", COPSE_LEARNED=str(table))
        assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
        rows = json.loads(table.read_text())["rows"] if table.exists() else []
        row = next((row for row in rows if row["collective"] == "broadcast" and ":" in row["run"]), None)
        if row is not None:
            break
    assert row is not None, table.read_text() if table.exists() else "no table"
    assert row["ranks"] == [2, 2] and row["bytes"][0] <= 1 << 20 and re.fullmatch(r"learned: [\d.]+ us; by the rules, [\d.]+ us", row["because"])
    assert list(tmp_path.iterdir()) == [table]
    done = launch(flavour, 2, "100", "1", program=[compiled(flavour, "learning")], COPSE_TUNING=str(table), COPSE_TRACE="1", COPSE_LEARN="0")
    assert re.search(rf"broadcast +{row['run'].split(':')[0]} {row['run'].split(':')[1]} ", done.stderr), done.stderr


@pytest.mark.parametrize("ranks", [3, pytest.param(5, marks=pytest.mark.full)])
def test_what_integers_let_it_learn_changes_no_other_sums(launch, compiled, tmp_path, ranks):
    """A table's row holds for all types."""
    flavour, table = flavours.find("mpich"), tmp_path / "learned.json"
    program = [compiled(flavour, "integer_sums")]
    before = launch(flavour, ranks, "0", program=program, COPSE_LEARN="0")
    assert before.returncode == 0, before.stderr
    learned = False
    for _ in range(2 * TRIES):
        done = launch(flavour, ranks, "20000", program=program, COPSE_LEARN="eagerly", COPSE_LEARNED=str(table), COPSE_TRACE="1")
        assert done.returncode == 0, done.stderr
        learned = learned or "copse: learned: allreduce" in done.stderr  # another way than that of the rules
        if table.exists():
            after = launch(flavour, ranks, "0", program=program, COPSE_TUNING=str(table), COPSE_LEARN="0")
            assert (after.returncode, after.stdout) == (0, before.stdout), after.stderr + table.read_text()
        if learned:
            break
    if not learned:
        pytest.skip("no way is faster than that of the rules here")


def test_a_file_that_cannot_hold_what_was_learned_is_named(launch, compiled, tmp_path):
    flavour, table = flavours.find("mpich"), tmp_path / "learned.json"
    table.write_text("notes")
    at_the_end = f"\ncopse: COPSE_LEARNED={table}:1: "
    for _ in range(5 * TRIES):  # of a program in which nothing may be faster than the rules
        done = launch(flavour, 2, "2000", "2", program=[compiled(flavour, "learning")], COPSE_LEARN="eagerly", COPSE_LEARNED=str(table))
        assert done.returncode == 0 and table.read_text() == "notes"
        if at_the_end in done.stderr:
            break
    assert at_the_end in done.stderr, done.stderr


@pytest.mark.parametrize("wrong", ["notes", "folder"])
def test_a_place_for_what_will_be_learned_is_looked_at_early(launch, compiled, tmp_path, wrong):
    """It is named at the start, before anything is learned in vain."""
    flavour, table = flavours.find("mpich"), tmp_path / "learned.json" if wrong == "notes" else tmp_path / "none" / "learned.json"
    if wrong == "notes":
        table.write_text("notes")
    done = launch(flavour, 2, "20", "2", program=[compiled(flavour, "learning")], COPSE_LEARNED=str(table))
    assert done.returncode == 0 and f"COPSE_LEARNED={table}: " in done.stderr, done.stderr
    assert ("this is not JSON" if wrong == "notes" else "no file can be made in its folder") in done.stderr
    assert wrong != "notes" or table.read_text() == "notes"


def test_a_program_with_few_calls_is_left_alone(launch, compiled):
    flavour = flavours.find("mpich")
    done = launch(flavour, 3, "60", program=[compiled(flavour, "learning")], COPSE_LEARN="1", COPSE_TRACE="1")
    assert done.returncode == 0 and "learned" not in done.stderr, done.stdout + done.stderr
    assert len(set(kernel_copies(done).values())) == 1, done.stdout


@ONE_OR_ALL
@pytest.mark.parametrize("ranks", [2, 3])
def test_bits_that_depend_on_the_order_stay(launch, compiled, name, ranks):
    flavour = flavours.find(name)
    done = launch(flavour, ranks, "100", program=[compiled(flavour, "same_bits")], COPSE_LEARN="eagerly")
    assert done.returncode == 0 and done.stdout.startswith("0 calls"), done.stdout + done.stderr


@ONE_OR_ALL
@pytest.mark.parametrize("ints", [1, 3000])
def test_a_rank_whose_call_is_refused_does_not_leave_the_others_in_the_mpi(launch, compiled, name, ints):
    flavour = flavours.find(name)
    done = launch(flavour, 2, "3000", str(ints), program=[compiled(flavour, "refused_often")], COPSE_LEARN="eagerly")
    assert done.returncode == 0 and "at least 81 errors" in done.stdout, done.stdout + done.stderr


def test_ranks_that_refuse_calls_stay_in_step(launch):
    for part in ("errors", "truncated"):
        done = launch(flavours.find("mpich"), 4, part, COPSE_LEARN="eagerly", **BARE)
        assert passed(done, part), done.stdout + done.stderr
