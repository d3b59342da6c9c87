"""A program that was linked with an earlier libcopse.so of the same soname runs with this one."""

import shutil

import abi
import pytest

from copse import paths


def test_the_interface_is_the_recorded_one(tmp_path):
    new = abi.record(tmp_path)
    broken = abi.difference(abi.RECORDED, new, "--no-added-syms")
    assert broken == "", f"programs that are linked with libcopse.so would break:\n{broken}\nundo it, or see docs/compatibility.md"
    added = abi.difference(abi.RECORDED, new)
    assert added == "", f"the interface has grown:\n{added}\nif that is meant, run: build/venv/bin/python tests/install/abi.py --write"


@pytest.mark.full
@pytest.mark.parametrize("file, old, new", [
    ("collectives.h", "int root", "long root"),
    ("copse.h", "COPSE_ERROR_LOST = 5", "COPSE_ERROR_LOST = 9"),
    ("exports.map", "copse_barrier; ", ""),
    ("exports.map", "COPSE_0.2 {", "COPSE_0.9 {"),
])  # fmt: skip
def test_a_break_is_noticed(tmp_path, file, old, new):
    headers, exports = tmp_path / "include", tmp_path / "exports.map"
    shutil.copytree(paths.ROOT / "include", headers)
    shutil.copy(paths.ROOT / "faces/c/exports.map", exports)
    changed = exports if file == exports.name else headers / "copse" / file
    text = changed.read_text()
    assert old in text
    changed.write_text(text.replace(old, new))
    assert abi.difference(abi.RECORDED, abi.record(tmp_path, headers, exports), "--no-added-syms") != ""
