"""A COPSE_ variable that does not exist is named together with its nearest neighbour, before anything is started."""

import os
import re
import subprocess

import pytest

from copse import paths, variables
from copse.errors import CopseError

FAKE_TABLE = '[{"name": "COPSE_TRACE"}, {"name": "COPSE_CHECK"}, {"name": "COPSE_FRAGMENT"}]'


@pytest.fixture
def fake_native(tmp_path, monkeypatch):
    """A stand-in for copse-native. It lists three variables, and refuses to do so while another one is set."""
    script = tmp_path / "copse-native"
    script.write_text(
        "#!/bin/sh\nenv | grep ^COPSE_ | grep -qvE '^COPSE_(TRACE|CHECK|FRAGMENT)=' && exit 2\n"
        f"[ \"$*\" = 'env --json' ] || exit 4\necho '{FAKE_TABLE}'\n"
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


def test_a_name_that_is_far_from_all_gets_no_suggestion(fake_native):
    with pytest.raises(CopseError, match="COPSE_FOO is not a variable of Copse; copse info --env lists all"):
        variables.check({"COPSE_FOO": "1"})


def test_an_impossible_value_is_refused(native_binary):
    variables.check({"COPSE_REACH": "kernel", "COPSE_HEAP_BYTES": "2G", "COPSE_HEAP_HUGE": "0"})
    for name, value in (("REACH", "foo"), ("HEAP_BYTES", "1M"), ("HEAP_BYTES", "plenty"), ("MEMORY", "1M"), ("HEAP_HUGE", "7"), ("TOPOLOGY", "igg"),
                        ("JOIN", "0"), ("JOIN", "soon"), ("JOIN", "-1")):  # fmt: skip
        with pytest.raises(CopseError, match=f"COPSE_{name}"):
            variables.check({f"COPSE_{name}": value})


def test_examples_in_help_and_errors_are_right(native):
    helped = subprocess.run([paths.ROOT / "build/bin/copse", "run", "--help"], capture_output=True, text=True, timeout=60)
    refused = native("env", env={**os.environ, "COPSE_ALGORITHM": "tiled"})
    for text in (helped.stdout, refused.stderr):
        [example] = re.findall(r"allreduce=\w+", text)
        variables.check({"COPSE_ALGORITHM": example})


def test_failing_helper_is_reported(fake_native):
    fake_native.write_text("#!/bin/sh\necho broken table >&2\nexit 1\n")
    with pytest.raises(CopseError, match="broken table; correct that and try again"):
        variables.table()


def test_missing_helper_says_how_to_build_it(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "NATIVE", tmp_path / "absent")
    with pytest.raises(CopseError, match="has not been built; run: make"):
        variables.table()
