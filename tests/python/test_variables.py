"""A COPSE_ variable that does not exist is named together with its nearest neighbour, before anything is started."""

import pytest

from copse import paths, variables
from copse.errors import CopseError

FAKE_TABLE = '[{"name": "COPSE_TRACE"}, {"name": "COPSE_CHECK"}, {"name": "COPSE_FRAGMENT"}]'


@pytest.fixture
def fake_native(tmp_path, monkeypatch):
    """A stand-in for copse-native that lists three variables, and refuses to run with any COPSE_ variable set."""
    script = tmp_path / "copse-native"
    script.write_text(
        f"#!/bin/sh\nenv | grep -q ^COPSE_ && exit 3\n[ \"$*\" = 'env --json' ] || exit 4\necho '{FAKE_TABLE}'\n"
    )
    script.chmod(0o755)
    monkeypatch.setattr(paths, "NATIVE", script)
    return script


def test_known_variables_and_others_pass(fake_native):
    variables.check({"COPSE_TRACE": "1", "HOME": "/", "COPSE_FRAGMENT": "4096"})


def test_unknown_variable_names_the_nearest(fake_native, monkeypatch):
    monkeypatch.setenv("COPSE_TRACES", "1")
    with pytest.raises(CopseError, match="COPSE_TRACES is not a variable of Copse; did you mean COPSE_TRACE?"):
        variables.check({"COPSE_TRACES": "1"})


def test_failing_helper_is_reported(fake_native):
    fake_native.write_text("#!/bin/sh\necho broken table >&2\nexit 1\n")
    with pytest.raises(CopseError, match="copse-native env failed: broken table"):
        variables.table()


def test_missing_helper_says_how_to_build_it(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "NATIVE", tmp_path / "absent")
    with pytest.raises(CopseError, match="has not been built; run: make"):
        variables.table()
