"""Golden plans and programs: what a change does to them stands in its diff.

They are printed by `copse-native verify` into tests/data/plans. After a change that is meant, write them anew:
GOLDEN=write build/venv/bin/python -m pytest tests/python/test_plans.py
"""

import os

import pytest

from copse import paths

FOLDER = paths.ROOT / "tests" / "data" / "plans"
# One of each way in which values travel: in lines, in slots with portions and lags, read, put, riding, and in blocks.
PLANS = [
    ("barrier", "dissemination", "line", 3),
    ("broadcast", "hierarchical_flat", "get", 3),
    ("reduce", "tiled", "put", 3),
    ("allreduce", "exchange", "line", 2),
    ("allreduce", "ring", "slot", 3),
    ("allreduce", "tiled", "slot", 2),
    ("gather", "one_way", "put", 3),
    ("gather", "pull_ring", "get", 3),
    ("scatter", "one_way", "get", 3),
    ("scatter", "push_ring", "put", 3),
    ("allgather", "bruck", "slot", 3),
    ("allgather", "hierarchical_pipelined", "slot", 3),
    ("alltoall", "pairwise", "slot", 3),
    ("permute", "direct", "slot", 3),
]


@pytest.mark.parametrize("form", ["text", "program"])
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: "-".join(map(str, plan)))
def test_plan_is_as_it_was(native, plan, form):
    collective, algorithm, carrier, ranks = plan
    printed = native("verify", f"--{form}", "--collective", collective, "--algorithm", algorithm, "--carrier", carrier,
                     "--ranks", str(ranks)).stdout  # fmt: skip
    file = FOLDER / f"{collective}-{algorithm}-{carrier}-{ranks}.{form}.txt"
    if os.environ.get("GOLDEN") == "write":
        file.write_text(printed)
    assert printed == file.read_text(), "if the change is meant, write the files anew: see the docstring of this test"
