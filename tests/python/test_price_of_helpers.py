"""`copse price --collective-processors`: when helpers pay."""

import json

import pytest


@pytest.fixture
def priced(native):
    """Returns the prices of a call of so many ranks, with and without helpers, by the ranks for each helper."""

    def rows(size: str, ranks: int, collective: str = "allreduce") -> dict[int, dict]:
        asked = native("price", collective, size, "--collective-processors", "--machine", "juropa", "--ranks", str(ranks), "--json")
        return {row["ranks"] // row["helpers"]: row for row in json.loads(asked.stdout) if row["ranks"] == ranks}

    return rows


def test_break_even_follows_the_papers_rule(priced):
    """CDCP V.E. Calls that overlap pay from the ratio on. Those that do not must first get faster: allreduces do not, reduce-scatters do."""
    rows = [row for collective in ("allreduce", "reduce_scatter") for row in priced("8", 64, collective).values()]
    for row in rows:
        ratio, gain = row["helpers"] / row["ranks"], 1 - row["with"]["latency_ns"] / row["without"]["latency_ns"]
        assert row["pays_from_overlapping"] == pytest.approx(ratio, abs=1e-6)
        assert row["pays_from_waiting"] == (pytest.approx(ratio / gain, rel=1e-3) if gain > 0 else None), row
    assert [row["pays_from_waiting"] for row in rows[:6]] == [None] * 6 and all(row["pays_from_waiting"] for row in rows[7:])
