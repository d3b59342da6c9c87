"""`copse price --collective-processors`: it has the shapes of the paper's Figures 7 to 11 (CDCP V.D and V.E), or the document says why not.

docs/collective-processors.md has the figures, which tools/docs writes, and says in words what is checked here.
"""

import itertools
import json

import pytest

RANKS = (16, 32, 64, 128, 256, 512)
SIZES = ("8", "32", "64", "128", "256", "512", "1K")
RATIO = 4  # ranks for each helper in Figures 7 to 9


@pytest.fixture
def priced(native):
    """Returns the prices of a call of so many ranks, with and without helpers, by the ranks for each helper."""

    def rows(size: str, ranks: int, collective: str = "allreduce") -> dict[int, dict]:
        asked = native("price", collective, size, "--collective-processors", "--machine", "juropa", "--ranks", str(ranks), "--json")
        return {row["ranks"] // row["helpers"]: row for row in json.loads(asked.stdout) if row["ranks"] == ranks}

    return rows


@pytest.fixture
def over_all_ranks(native):
    """Returns the price of an allreduce that knows nothing of nodes, as the paper's blocking one."""

    def price(size: str, ranks: int) -> float:
        where = ("--machine", "juropa", "--ranks", str(ranks), "--nodes", str(ranks // 8), "--algorithm", "recursive_doubling")
        return json.loads(native("price", "allreduce", size, *where, "--json").stdout)[0]["ns"]

    return price


def grow(values: list[float]) -> bool:
    return all(one < other for one, other in itertools.pairwise(values))


def own_work(rows: list[dict], side: str) -> list[float]:
    return [row[side]["overhead_ns"] for row in rows]


def test_a_ranks_own_work_does_not_grow_with_the_ranks(priced):
    """Figure 7. Without helpers it grows to three times and more, and with them it is a tenth at most."""
    for size in ("8", "128"):
        rows = [priced(size, ranks)[RATIO] for ranks in RANKS]
        without, helped = own_work(rows, "without"), own_work(rows, "with")
        assert max(helped) < 1.05 * min(helped) and grow(without) and without[-1] > 3 * without[0]
        assert all(one < other / 8 for one, other in zip(helped, without, strict=True)), size
        assert helped[-1] < without[-1] / 10


def test_a_ranks_own_work_grows_with_the_size(priced):
    """Figure 8: and yet it stays below a tenth of that without helpers."""
    rows = [priced(size, RANKS[-1])[RATIO] for size in SIZES]
    without, helped = own_work(rows, "without"), own_work(rows, "with")
    assert helped == sorted(helped) and helped[0] < helped[-1]
    assert all(one < other / 10 for one, other in zip(helped, without, strict=True))


def test_a_rank_gives_all_blocks_in_one_post(priced):
    rows = [row for ranks in RANKS for row in priced("8", ranks, "reduce_scatter").values()]
    assert all(row["with"]["overhead_ns"] < row["without"]["overhead_ns"] / 5 for row in rows)


@pytest.mark.parametrize("size", ["8", "128"])
def test_latency_grows_with_the_ranks(priced, over_all_ranks, size):
    """Figure 9. Helpers are faster than an allreduce that knows nothing of nodes, and slower than Copse's own, which does."""
    rows = {ranks: priced(size, ranks)[RATIO] for ranks in RANKS}
    helped, own = ([row[side]["latency_ns"] for row in rows.values()] for side in ("with", "without"))
    blind = [over_all_ranks(size, ranks) for ranks in RANKS]
    assert grow(helped) and grow(own) and grow(blind)
    assert all(one < other for one, other in zip(own, helped, strict=True))
    assert helped[0] < 1.03 * blind[0] and all(one < 1.01 * other for one, other in zip(helped[1:], blind[1:], strict=True))
    from_64_on = [1 - one / other for one, other in zip(helped[2:], blind[2:], strict=True)]
    assert all(0.05 < gain < 0.15 for gain in from_64_on), "about as much for all numbers of ranks, but not the paper's 30 %"


def test_latency_grows_with_the_size(priced):
    """Figure 11."""
    rows = [priced(size, RANKS[-1])[RATIO] for size in SIZES]
    assert grow([row["with"]["latency_ns"] for row in rows]) and grow([row["without"]["latency_ns"] for row in rows])


@pytest.mark.parametrize("size", ["8", "128", "1K"])
def test_more_helpers_are_faster_up_to_a_point(priced, size):
    """Figure 10: with few helpers all wait for these, and with many these have many rounds."""
    best = 4
    latencies = {ratio: row["with"]["latency_ns"] for ratio, row in priced(size, 512).items()}
    assert list(latencies) == [512, 256, 128, 64, 32, 16, 8, 4, 2]
    at = list(latencies).index(best)
    assert grow([*latencies.values()][at::-1]) and grow([*latencies.values()][at:])
    assert latencies[512] > 10 * latencies[best]


def test_break_even_follows_the_papers_rule(priced):
    """CDCP V.E. Calls that overlap pay from the ratio on. Those that do not must first get faster: allreduces do not, reduce-scatters do."""
    rows = [row for collective in ("allreduce", "reduce_scatter") for row in priced("8", 64, collective).values()]
    for row in rows:
        ratio, gain = row["helpers"] / row["ranks"], 1 - row["with"]["latency_ns"] / row["without"]["latency_ns"]
        assert row["pays_from_overlapping"] == pytest.approx(ratio, abs=1e-6)
        assert row["pays_from_waiting"] == (pytest.approx(ratio / gain, rel=1e-3) if gain > 0 else None), row
    assert [row["pays_from_waiting"] for row in rows[:6]] == [None] * 6 and all(row["pays_from_waiting"] for row in rows[7:])
