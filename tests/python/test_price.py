"""`copse price`: every algorithm has one, the cheapest comes first, and mistakes are refused."""

import json

import pytest


def test_the_cheapest_comes_first_and_its_parts_add_up(native):
    found = json.loads(native("price", "allreduce", "64KiB", "-n", "48", "--machine", "ig", "--json").stdout)
    assert len(found) > 50 and found == sorted(found, key=lambda row: row["ns"])
    for row in found:
        assert sum(share["ns"] for share in row["shares"]) == pytest.approx(row["ns"], rel=1e-3), row


def test_a_machine_of_ones_own(native, tmp_path):
    machines = {row["name"] for row in json.loads(native("price", "--machines", "--json").stdout)}
    assert {"ig", "zoot", "westmere", "magny-cours", "juropa", "superdome", "epyc", "xeon-max", "grace"} <= machines
    own = tmp_path / "own.json"
    own.write_text("""{"schema": "copse-machine/1", "name": "own", "title": "t", "source": [], "topology": "core:4 pu:1",
        "steps": {"call_ns": 0, "step_ns": 0, "wait_ns": 0, "turn_ns": 0}, "own": {"line_ns": 0},
        "levels": [{"level": "node", "flag_ns": 100, "line_ns": 0}], "memory": {"line_ns": 0}, "reduce_GBps": {"": 1}}""")
    done = native("price", "barrier", "--machine", str(own), "--algorithm", "flat", "--calls", "1")
    assert "flat:line" in done.stdout and "300.0 ns" in done.stdout, "three words, fetched one after the other"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["allreduce", "64K", "--machine", "westmore"], "did you mean 'westmere'?"),
        (["allredce", "64K"], "did you mean 'allreduce'?"),
        (["allreduce", "64K", "--machine", "none.json"], "none.json: the file cannot be read"),
        (["allreduce", "64K", "--algorithm", "none"], "no algorithm called 'none'"),
        (["allreduce", "64K", "--ranks", "4", "--nodes", "5"], "more nodes than ranks"),
        (["allreduce"], "expected a collective and a size"),
    ],
)
def test_mistakes_are_refused(native, arguments, complaint):
    done = native("price", *arguments)
    assert done.returncode == 2 and complaint in done.stderr, done.stderr
