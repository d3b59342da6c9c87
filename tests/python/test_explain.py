"""Compares `copse explain` with the rows that it quotes."""

import json
import re

import pytest

from copse import paths

COLLECTIVES = re.findall(r"^RULE\((\w+), any, any, 0, 0, ", (paths.ROOT / "src/choose/rules.def").read_text(), re.MULTILINE)


@pytest.fixture
def explained(native):
    """Returns the answer of `explain <arguments>` as data."""

    def call(*arguments, **environment):
        done = native("explain", *arguments, "--json", env=environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


@pytest.mark.parametrize("reach", ["staged", "kernel", "direct"])
@pytest.mark.parametrize("turns", [[], ["--turns"]])
def test_every_size_is_answered_once_and_by_a_row_that_says_so(explained, reach, turns):
    rows = (paths.ROOT / "src/choose/rules.def").read_text().splitlines()
    assert len(COLLECTIVES) == (paths.ROOT / "src/algorithms/collectives.def").read_text().count("\nCOLLECTIVE(")
    for collective in COLLECTIVES:
        next_size = 0
        for answer in explained(collective, "-n", "5", "--reach", reach, *turns):
            assert answer["from"] == next_size
            row = rows[answer["rule"] - 1]
            assert row.startswith(f"RULE({collective}, ") and f", {answer['algorithm']}, " in row
            next_size = (answer["to"] or 0) + 1
        assert answer["to"] is None or collective == "barrier"


def test_one_size_is_what_is_said_of_all(explained):
    for size in (0, 24, 25, 120, 121, 65536):
        (one,) = explained("scatter", str(size), "-n", "5", "--reach", "staged")
        (same,) = [a for a in explained("scatter", "-n", "5", "--reach", "staged") if a["from"] <= size <= (a["to"] or size)]
        assert {key: one[key] for key in same} == same


def test_the_users_word_counts(explained):
    (answer,) = explained("bcast", "64KiB", COPSE_ALGORITHM="bcast=chain:slot", COPSE_FRAGMENT="4K")
    assert answer["forced"] and (answer["algorithm"], answer["carrier"], answer["fragment_count"]) == ("chain", "slot", 4096)


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["allredcue"], "did you mean 'allreduce'?"),
        (["allreduce", "64Q"], "'64Q' is not a number"),
        (["allreduce", "8", "--element", "3"], "not a multiple of the element size"),
        (["allreduce", "--reach", "kernal"], "did you mean 'kernel'?"),
        (["allreduce", "-n", "1"], "'1' is not a number from 2"),
        ([], "expected a collective"),
    ],
)
def test_a_mistake_is_named(native, arguments, said):
    done = native("explain", *arguments, env={})
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and said in done.stderr


def test_people_read_it_from_the_copse_command(copse):
    done = copse("explain", "allreduce", "64K", "-n", "8")
    assert done.returncode == 0 and re.match(r"\w+:\w+\nfragments +\d", done.stdout), done.stderr
    assert re.search(r"^because +rules\.def:\d+: ", done.stdout, re.MULTILINE)



def test_a_row_of_a_table_is_named(native, tmp_path):
    table = tmp_path / "table.json"
    table.write_text('{"schema": "copse-tuning/1", "machine": "any", "rows": [\n'
                     '{"collective": "broadcast", "bytes": [0, 100], "run": "mpi"},\n'
                     '{"collective": "broadcast", "run": "chain:slot"}]}')  # fmt: skip
    said = {}
    for size in ("64", "200"):
        said[size] = native("explain", "broadcast", size, "-n", "2", "--mpi", env={"COPSE_TUNING": str(table)}).stdout
    assert said["64"].startswith("mpi\n") and "table.json:2: up to 100 bytes" in said["64"]
    assert said["200"].startswith("chain:slot\n") and "table.json:3: all else" in said["200"]
