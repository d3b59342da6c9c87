"""Everything that set-up installs is pinned and checked by its hash."""

import re
import shlex
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


@pytest.mark.parametrize(
    ("command", "package"), [("install", "copse_fake-1.0-py3-none-any.whl"), ("download", "copse_fake-1.0.tar.gz")]
)
def test_another_file_is_refused(tmp_path, command, package):
    """The commands of set-up, one for environments and one for sources, refuse a package with a wrong hash."""
    [options] = re.findall(rf"/bin/pip\"? ({command} .*?) -r ", (paths.ROOT / "tools" / "setup").read_text().replace("\\\n", ""))
    assert "--require-hashes" in options
    options = shlex.split(options.replace("$folder", str(tmp_path / "made")))
    file = tmp_path / package
    file.write_bytes(b"not what was expected")
    listed = tmp_path / "list.txt"
    listed.write_text(f"copse-fake @ {file.as_uri()} --hash=sha256:{'0' * 64}\n")
    pip = paths.ROOT / "build" / "venv" / "bin" / "pip"
    target = ["--target", tmp_path / "made"] if command == "install" else []
    done = subprocess.run([pip, *options, "--no-index", *target, "-r", listed], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "DO NOT MATCH THE HASHES" in done.stderr, done.stdout + done.stderr
