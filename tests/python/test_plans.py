"""Golden plans and programs. The diff of a change shows what it does to them.

`copse-native verify` prints them, and tests/data/plans holds them. After an intended change, write them anew:
GOLDEN=write build/venv/bin/python -m pytest tests/python/test_plans.py
"""

import os

import pytest

from copse import paths

FOLDER = paths.ROOT / "tests" / "data" / "plans"
# One plan for each way in which values travel: in lines, in slots with portions and lags, read, put (into scratches, too), riding,
# and in blocks. One has a last fragment that differs.
PLANS = [
    ("barrier", "dissemination", "line", 3),
    ("broadcast", "hierarchical_flat", "get", 3),
    ("reduce", "flat", "put", 3),
    ("reduce", "tiled", "put", 3),
    ("allreduce", "exchange", "line", 2),
    ("allreduce", "ring", "slot", 3),
    ("allreduce", "tiled", "slot", 2),
    ("gather", "one_way", "put", 3),
    ("gather", "pull_ring", "get", 3),
    ("scatter", "one_way", "get", 3),
    ("scatter", "push_ring", "put", 3),
    ("scatter", "token_ring", "get", 3),
    ("allgather", "bruck", "slot", 3),
    ("allgather", "hierarchical_pipelined", "slot", 3),
    ("alltoall", "pairwise", "slot", 3),
    ("alltoall", "letters", "slot", 3),
    ("permute", "direct", "slot", 3),
]
# The last number is that of nodes: a collective of the wire's own, whole messages, and messages of several parts.
OVER_NODES = [
    ("allreduce", "delegated", "slot", 6, 3),
    ("broadcast", "node_chain", "slot", 6, 3),
    ("alltoall", "hierarchical", "slot", 4, 2),
    ("neighbor_alltoall", "hierarchical", "slot", 6, 2),
]
# What the engine makes of some steps only. Each stands in some golden program.
SPECIAL = ["; and posts", "; takes addresses", "; plain", "; block", "; leaves", "; last", "; begins", "; lag ", " portion ", " if ", " unless ",
           ", rides: ", ", sent ", ", got ", "whole scratch.", ", shared scratch", " message ", "delegate ", "loop last", "loop but last",
           "run_whole\n", "run_steps for stand-ins", "several fragments"]  # fmt: skip


def compare(native, plan, form, name, *options):
    collective, algorithm, carrier, ranks = plan
    printed = native("verify", f"--{form}", "--collective", collective, "--algorithm", algorithm, "--carrier", carrier,
                     "--ranks", str(ranks), *options).stdout  # fmt: skip
    file = FOLDER / f"{collective}-{algorithm}-{carrier}-{name}.{form}.txt"
    if os.environ.get("GOLDEN") == "write":
        file.write_text(printed)
    assert printed == file.read_text(), "if the change is meant, write the files anew: see the docstring of this test"


@pytest.mark.parametrize("form", ["text", "program"])
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: "-".join(map(str, plan)))
def test_plan_is_as_it_was(native, plan, form):
    compare(native, plan, form, plan[-1])


@pytest.mark.parametrize("form", ["text", "program"])
@pytest.mark.parametrize("plan", OVER_NODES, ids=lambda plan: "-".join(map(str, plan)))
def test_plan_over_nodes_is_as_it_was(native, plan, form):
    *plan, nodes = plan
    compare(native, plan, form, f"{plan[-1]}-on-{nodes}-nodes", "--nodes", str(nodes))


def test_every_special_case_is_in_a_program():
    programs = "".join(file.read_text() for file in FOLDER.glob("*.program.txt"))
    assert [case for case in SPECIAL if case not in programs] == []


@pytest.mark.parametrize(
    ("collective", "carrier"), [("broadcast", "get"), ("scatter", "get"), ("gather", "put"), ("allgather", "get"), ("alltoall", "get")]
)
def test_a_plan_without_synchronisation_only_copies(native, collective, carrier):
    chosen = ["verify", "--text", "--collective", collective, "--algorithm", "flat", "--carrier", carrier, "--ranks", "3"]
    strict, relaxed = native(*chosen).stdout, native(*chosen, "--nosync", "both").stdout
    kinds = {line.split()[0] for line in relaxed.splitlines() if line.startswith("  ")}
    assert kinds == {"copy", "done"}
    assert "await" in strict and "publish" in strict
