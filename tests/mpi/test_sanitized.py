"""The MPI face under AddressSanitizer and UndefinedBehaviorSanitizer. `tools/test --full --step asan` builds it and runs these tests.

The sanitizers see the code of Copse and the memory of the whole process. They do not look for leaks, because the MPIs have many.
"""

import re
import subprocess
from pathlib import Path

import pytest
from collectives import PARTS, PARTS_OVER_NODES, passed

from copse import flavours, paths

LIBRARIES = paths.BUILD / "asan" / "lib"
CASES = [
    *(("1", part) for part in PARTS if part != "large"),  # gigabytes of memory, and as many of shadow
    *(("2", part) for part in [*PARTS_OVER_NODES, "truncated"]),
]
REFUSED = Path(__file__).with_name("refused.c")
TOO_SHORT = """
#include <mpi.h>
#include <stdlib.h>
int main(void) {
  MPI_Init(NULL, NULL);
  char* const buffer = malloc(4000);
  MPI_Bcast(buffer, 4096, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not LIBRARIES.is_dir(), reason="tools/test --full --step asan builds what this needs"),
]


@pytest.fixture(scope="session")
def runtime():
    return subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def sanitized(launch, runtime):
    def run(flavour, ranks, *arguments, **options):
        assert (LIBRARIES / flavour.preload.name).exists()
        preload = f"{runtime}:{LIBRARIES / flavour.preload.name}"
        return launch(flavour, ranks, *arguments, timeout=300, LD_PRELOAD=preload, ASAN_OPTIONS="detect_leaks=0:abort_on_error=1", **options)

    return run


def test_a_buffer_that_is_too_short_is_found(sanitized, compile_mpi):
    """Shows that the other tests can fail."""
    flavour = flavours.find("mpich")
    done = sanitized(flavour, 2, program=[compile_mpi(flavour, TOO_SHORT)])
    assert done.returncode != 0 and "heap-buffer-overflow" in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize(("nodes", "part"), CASES)
def test_part(sanitized, nodes, part):
    done = sanitized(flavours.find("mpich"), 4, part, COPSE_NODES=nodes)
    assert passed(done, part), done.stdout + done.stderr


@pytest.mark.parametrize("variables", [{}, {"COPSE_LEARN": "eagerly"}], ids=["plain", "learning"])
def test_refused(sanitized, compile_mpi, variables):
    flavour = flavours.find("mpich")
    done = sanitized(flavour, 3, "7", "200", program=[compile_mpi(flavour, REFUSED.read_text(), "refused")], **variables)
    assert done.returncode == 0 and re.search(r"passed: \d+ ended", done.stdout), done.stdout + done.stderr
