"""Draws at random which cases of a test run, so that a run stays short.

A quick run (make test) takes two MPIs for each test that has several. A full run takes all of them, and a share of the longest tests.
"""

import random

import pytest

from copse import flavours

MPIS_OF_A_QUICK_RUN = 2


def test_of(item: pytest.Item) -> str:
    return item.nodeid.removesuffix(f"[{item.callspec.id}]") if hasattr(item, "callspec") else item.nodeid


def draw_of(item: pytest.Item, quick: bool) -> tuple[tuple[str, str], int] | None:
    """Returns among which cases an item is drawn, and how many of these run. Returns None for an item that runs anyway.

    drawn(n) leaves n cases of a test. In a quick run, quick(name=n) leaves n values of the parameter `name`, for each combination of
    the other parameters. Without that mark, a quick run leaves two MPIs.
    """
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    mpis = {name: MPIS_OF_A_QUICK_RUN for name in ("flavour", "name") if parameters.get(name) in flavours.NAMES}
    mark = item.get_closest_marker("quick")
    assert mark is None or (len(mark.kwargs) == 1 and not mark.args), f"{item.nodeid}: write quick(name=n)"
    if quick and (few := mark.kwargs if mark else mpis):
        [(name, count)] = few.items()
        assert name in parameters, f"{item.nodeid} has no parameter {name}"
        return (test_of(item), repr([parameters[other] for other in parameters if other != name])), count
    if mark := item.get_closest_marker("drawn"):
        return (test_of(item), ""), mark.args[0]
    return None


def draw(items: list[pytest.Item], quick: bool) -> tuple[list[pytest.Item], str]:
    """Returns the items that run, in their order, and what to say about it. If a case is asked for by its name, it is the only one, and runs."""
    draws: dict[tuple[tuple[str, str], int], list[pytest.Item]] = {}
    for item in items:
        if among := draw_of(item, quick):
            draws.setdefault(among, []).append(item)
    drawn: set[str] = set()
    tests: dict[str, list[str]] = {}  # the names of all cases of each test that is drawn from
    for ((test, _), count), cases in draws.items():
        names = [case.nodeid for case in cases]
        drawn |= set(random.sample(names, min(count, len(names))))
        tests.setdefault(test, []).extend(names)
    left_out = {name for names in tests.values() for name in names} - drawn
    return [item for item in items if item.nodeid not in left_out], summary(tests, left_out, quick)


def summary(tests: dict[str, list[str]], left_out: set[str], quick: bool) -> str:
    """Says what was drawn. A quick run draws from so many tests that only the numbers are said."""
    parts = {test: [name for name in names if name not in left_out] for test, names in tests.items() if left_out & set(names)}
    if quick and parts:
        return f"{sum(map(len, parts.values()))} of {sum(len(tests[test]) for test in parts)} cases of {len(parts)} test{'s' * (len(parts) > 1)}"
    one_or_count = {test: part[0] if len(part) == 1 else f"{len(part)} cases of {test}" for test, part in parts.items()}
    return ", ".join(f"{said} of {len(tests[test])}" for test, said in one_or_count.items())
