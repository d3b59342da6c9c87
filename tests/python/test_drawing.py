"""Which cases of a test are drawn (tests/drawing.py)."""

from collections import Counter
from itertools import product
from types import SimpleNamespace

import drawing
import pytest

from copse import flavours


def cases(test: str, mark=None, **parameters: list) -> list:
    """Returns what pytest collects of a test with these parameters and this mark."""
    found = []
    for values in product(*parameters.values()):
        of_case = dict(zip(parameters, values, strict=True))
        found.append(SimpleNamespace(nodeid=f"{test}[{values}]", callspec=SimpleNamespace(params=of_case, id=str(values)),
                                     get_closest_marker=lambda name: mark if mark and mark.name == name else None))  # fmt: skip
    return found


def counts(items: list, name: str) -> Counter:
    return Counter(item.callspec.params[name] for item in items)


@pytest.mark.parametrize("parameter", ["flavour", "name"])
def test_two_mpis_for_each_part_of_a_quick_run(parameter):
    of_test = cases("test", part=["a", "b"], **{parameter: list(flavours.NAMES)})
    drawn, said = drawing.draw(of_test, quick=True)
    assert counts(drawn, "part") == {"a": 2, "b": 2} and set(counts(drawn, parameter).values()) <= {1, 2}
    assert said == "4 of 10 cases of 1 test"
    assert drawing.draw(of_test, quick=False) == (of_test, "")


def test_another_parameter_is_drawn_where_the_mark_says_so():
    of_test = cases("test", pytest.mark.quick(way=2).mark, way=["a", "b", "c"], name=["mpich", "impi", "openmpi"])
    assert counts(drawing.draw(of_test, quick=True)[0], "name") == {"mpich": 2, "impi": 2, "openmpi": 2}
    for mark, complaint in ((pytest.mark.quick(wya=2), "has no parameter wya"), (pytest.mark.quick(2), r"write quick\(name=n\)")):
        with pytest.raises(AssertionError, match=complaint):
            drawing.draw(cases("test", mark.mark, way=["a", "b"]), quick=True)


def test_a_share_of_the_longest_tests_of_a_full_run():
    of_test = cases("test", pytest.mark.drawn(3).mark, seed=list(range(8)), flavour=list(flavours.NAMES))
    others = cases("other", name=["x", "y", "z"])
    drawn, said = drawing.draw([*of_test, *others], quick=False)
    assert len(drawn) == 6 and drawn[3:] == others and said == f"3 cases of test of {len(of_test)}"


def test_every_case_is_drawn_some_day():
    of_test = cases("test", flavour=list(flavours.NAMES))
    seen = {item.nodeid for _ in range(200) for item in drawing.draw(of_test, quick=True)[0]}
    assert len(seen) == len(of_test)


def test_a_case_that_is_asked_for_by_its_name_runs():
    [case] = cases("test", flavour=["mpich"])
    assert drawing.draw([case], quick=True) == ([case], "")
