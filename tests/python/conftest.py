"""The real copse-native, for tests that compare messages with what the code says."""

import subprocess

import pytest

from copse import paths


@pytest.fixture(scope="session")
def native_binary():
    """Returns build/bin/copse-native, with the shared heap beside it. Builds both if that has not been done."""
    heap = paths.NATIVE.resolve().parent.parent / "lib" / "libcopse-heap.so"
    if not (paths.NATIVE.exists() and heap.exists()):
        command = [paths.ROOT / "tools" / "build", "release", "--target", "copse-native", "copse_heap"]
        subprocess.run(command, check=True, timeout=900)
    return paths.NATIVE


@pytest.fixture
def native(run, native_binary):
    """Runs `copse-native <arguments>` and returns the completed process."""
    return lambda *arguments, **options: run([native_binary, *arguments], **options)
