"""Everything that set-up installs is pinned and checked by its hash."""

import re
import subprocess

import pytest

from copse import paths

LISTS = paths.ROOT / "tools" / "requirements"
WANTED = sorted(LISTS.glob("*.in"))


def packages(text: str) -> list[str]:
    return re.findall(r"^[A-Za-z][\w.-]*==\S+", text, re.MULTILINE)


@pytest.mark.parametrize("wanted", WANTED, ids=lambda path: path.stem)
def test_lists_are_pinned_with_hashes(wanted):
    """tools/pins has been run since the last change."""
    pinned = wanted.with_suffix(".txt").read_text()
    assert set(packages(wanted.read_text())) <= set(packages(pinned)), f"run: build/venv/bin/python tools/pins {wanted.stem}"
    for entry in pinned.replace("\\\n", " ").splitlines():
        if "==" in entry:
            assert re.fullmatch(r"[\w.-]+==[\w.]+( +--hash=sha256:[0-9a-f]{64})+", entry), entry


def test_another_file_is_refused(tmp_path):
    """The command of set-up refuses a package with a wrong hash."""
    options = re.search(r"pip\" (install .*?) -r ", (paths.ROOT / "tools" / "setup").read_text())[1].split()
    assert "--require-hashes" in options
    package = tmp_path / "copse_fake-1.0-py3-none-any.whl"
    package.write_bytes(b"not what was expected")
    listed = tmp_path / "list.txt"
    listed.write_text(f"copse-fake @ {package.as_uri()} --hash=sha256:{'0' * 64}\n")
    pip = paths.ROOT / "build" / "venv" / "bin" / "pip"
    done = subprocess.run([pip, *options, "--no-index", "--target", tmp_path, "-r", listed], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "DO NOT MATCH THE HASHES" in done.stderr, done.stdout + done.stderr
