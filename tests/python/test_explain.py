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
    files = paths.ROOT / "src/choose"
    assert len(COLLECTIVES) == (paths.ROOT / "src/algorithms/collectives.def").read_text().count("\nCOLLECTIVE(")
    for collective in COLLECTIVES:
        next_size = 0
        for answer in explained(collective, "-n", "5", "--reach", reach, *turns):
            assert answer["from"] == next_size
            next_size = (answer["to"] or 0) + 1
            if answer["rule"] is None:  # its calls need no rule where any buffer can be reached
                assert collective == "neighbor_alltoall"
                continue
            row = (files / answer["file"]).read_text().splitlines()[answer["rule"] - 1]
            assert row.startswith((f"RULE({collective}, ", f"ROW({collective}, ")) and f", {answer['algorithm']}, " in row
        assert answer["to"] is None or collective == "barrier"


def test_ranks_on_several_nodes_have_the_rows_of_a_recorded_cluster(explained):
    where = ("allgather", "-n", "32", "--nodes", "4", "--reach", "staged")
    assert {answer["file"] for answer in explained(*where)} == {"rules.def", "recorded/grace.def"}
    assert {answer["file"] for answer in explained(*where, "--machine", "juropa")} == {"rules.def", "recorded/juropa.def"}
    assert {answer["file"] for answer in explained(*where, "--turns")} == {"rules.def"}


def test_one_size_is_what_is_said_of_all(explained):
    for size in (0, 24, 25, 120, 121, 65536):
        (one,) = explained("scatter", str(size), "-n", "5", "--reach", "staged")
        (same,) = [a for a in explained("scatter", "-n", "5", "--reach", "staged") if a["from"] <= size <= (a["to"] or size)]
        assert {key: one[key] for key in same} == same


def test_calls_of_sizes_that_not_every_rank_knows(explained, native):
    (answer,) = explained("gather", "--ragged")
    assert answer["rule"] is None and answer["algorithm"] == "one_way" and answer["to"] is None
    letters, *longer = explained("alltoall", "--ragged", "--reach", "staged")
    assert letters["rule"] is None and letters["algorithm"] == "letters" and letters["to"] == 65536 // 8 - 4
    assert [answer["from"] for answer in longer] == [letters["to"] + 1, *(answer["to"] + 1 for answer in longer[:-1])]
    assert {answer["before"] for answer in longer} == {"letters, which tells the sizes"} and longer[-1]["to"] is None
    for size, answer in ((letters["to"], letters), (letters["to"] + 1, longer[0])):
        (one,) = explained("alltoall", str(size), "--ragged", "--reach", "staged")
        assert one["algorithm"] == answer["algorithm"] and one["before"] == answer["before"]
    for call in ("gather", "scatter", "alltoall"):
        (answer,) = explained(call, "--ragged", "--nodes", "2")
        assert answer["algorithm"] == "one_way" and answer["before"] is None and answer["to"] is None
        said = native("explain", call, "64", "--ragged", "--nodes", "2", "--reach", "staged", env={}).stdout
        assert re.search(r"^first +an allgather of the sizes", said, re.MULTILINE)
    (answer,) = explained("neighbor_alltoall")
    assert answer["rule"] is None and answer["algorithm"] == "one_way"


def test_calls_whose_buffers_are_known(explained):
    for option, case in (("--placed", "with places known"), ("--early", "with no wait before")):
        (answer,) = explained("broadcast", "4K", option)
        assert case in answer["case"]


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
        (["allgather", "--ragged"], "every rank knows all sizes"),
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
                     '{"collective": "broadcast", "run": "chain:slot", "because": "1.31 times as fast as the default"}]}')  # fmt: skip
    said = {}
    for size in ("64", "200"):
        said[size] = native("explain", "broadcast", size, "-n", "2", "--mpi", env={"COPSE_TUNING": str(table)}).stdout
    assert said["64"].startswith("mpi\n") and "table.json:2: up to 100 bytes" in said["64"]
    assert said["200"].startswith("chain:slot\n") and "table.json:3: all else" in said["200"]
    assert "measured" not in said["64"] and "whose own collective has no price" in said["64"]
    assert "measured   1.31 times as fast as the default\n" in said["200"]


def test_the_next_three_ways_have_prices(explained, native):
    (answer,) = explained("allreduce", "64K", "-n", "8", "--reach", "direct", "--machine", "grace")
    price = answer["price"]
    assert (price["machine"], price["run"]) == ("grace", f"{answer['algorithm']}:{answer['carrier']}") and price["ns"] > 0
    others = [way["run"] for way in price["next"]]
    assert len(set(others)) == 3 and price["run"] not in others
    assert [way["ns"] for way in price["next"]] == sorted(way["ns"] for way in price["next"])
    said = native("explain", "allreduce", "64K", "-n", "8", "--reach", "direct", "--machine", "grace").stdout
    assert "by price, on grace, 8 ranks in one region:" in said and all(f"\n{run} " in said for run in (price["run"], *others))


def test_it_advises_on_helpers(explained, native):
    where = ("-n", "16", "--reach", "direct", "--machine", "grace")
    (answer,) = explained("allreduce", "8", *where)
    advice = answer["price"]["helpers"]
    assert advice["helpers"] == 2 and advice["overhead_ns"] < advice["without_overhead_ns"]
    assert advice["pays_from_overlapping"] == pytest.approx(advice["helpers"] / 16)
    assert "They pay if such calls take more than" in native("explain", "allreduce", "8", *where).stdout
    assert "a rank's own work is" in native("explain", "reduce_scatter", "8", *where).stdout
    assert "helpers" not in native("explain", "allgather", "8", *where).stdout  # they do not serve it
    full = native("explain", "allreduce", "8", "-n", "8", "--machine", "juropa").stdout
    assert "helpers    none: each processor of the node has a rank." in full, full


def test_a_machine_says_how_its_ranks_sit_and_what_they_cost(explained, native):
    where = ("-n", "48", "--reach", "direct", "--machine", "ig")
    (answer,) = explained("allreduce", "64K", *where)
    assert answer["file"] == "recorded/ig.def"
    assert "on ig, 48 ranks in several regions" in native("explain", "allreduce", "64K", *where).stdout, "they fill all eight"
    rows = json.loads(native("price", "allreduce", "64K", "-n", "48", "--machine", "ig", "--json").stdout)
    cheapest = min(row["ns"] for row in rows if row["radix"] == 2)
    assert min(answer["price"]["ns"], answer["price"]["next"][0]["ns"]) == pytest.approx(cheapest, rel=1e-4)
    turns = native("explain", "broadcast", "4K", "-n", "20", "--machine", "zoot").stdout
    assert "with turns" in turns and "on zoot, 20 ranks in one region, taking turns" in turns


@pytest.mark.parametrize("arguments, said", [
    (["-n", "8"], "on epyc, 8 ranks in one region"),
    (["-n", "17"], "on grace, 17 ranks in one region"),
    (["-n", "17", "--numa"], "on epyc, 17 ranks in several regions"),
    (["-n", "20", "--turns"], "on epyc, 20 ranks in one region, taking turns"),
    (["-n", "24", "--nodes", "2"], "on epyc, 24 ranks on 2 nodes in one region of each"),
    (["-n", "65"], "price      none: so many ranks"),
])  # fmt: skip
def test_without_a_machine_a_usual_one_is_said(native, arguments, said):
    assert said in native("explain", "broadcast", "4K", *arguments).stdout


def test_a_price_that_a_machine_cannot_have_is_no_mistake(native, tmp_path):
    own = tmp_path / "own.json"
    own.write_text("""{"schema": "copse-machine/1", "name": "own", "title": "t", "source": [], "topology": "core:4 pu:1",
        "steps": {"call_ns": 0, "step_ns": 0, "wait_ns": 0, "turn_ns": 0}, "own": {"line_ns": 0},
        "levels": [{"level": "node", "flag_ns": 100, "line_ns": 0}], "memory": {"line_ns": 0}, "reduce_GBps": {"": 1}}""")
    done = native("explain", "broadcast", "1M", "-n", "4", "--machine", str(own))
    assert done.returncode == 0 and 'price      none: own: the machine\'s file does not say what the kernel' in done.stdout
    refused = native("explain", "broadcast", "1M", "--machine", "igg")
    assert refused.returncode == 2 and "did you mean 'ig'?" in refused.stderr
