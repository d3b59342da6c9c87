"""Processes that meet by name, one of them with a libcopse.so that was built from other sources."""

import os
import subprocess

from copse import paths

PROGRAM = """
#include <copse/copse.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  copse_comm *comm = NULL;
  int one = 1, sum = 0;
  if (argc != 3 || copse_comm_join(argv[1], atoi(argv[2]), 2, 5, &comm) != COPSE_OK) {
    puts(copse_comm_message(NULL));
    return 1;
  }
  copse_allreduce(comm, &one, &sum, 1, COPSE_INT32, COPSE_SUM);
  printf("sum %d\\n", sum);
  copse_comm_free(comm);
  return 0;
}
"""


def test_libraries_from_other_sources(run, tmp_path):
    source, program = tmp_path / "join.c", tmp_path / "join"
    source.write_text(PROGRAM)
    library = paths.PRELOAD_FOLDER / "libcopse.so"
    done = run(["cc", f"-I{paths.ROOT / 'include'}", source, f"-L{library.parent}", "-lcopse", "-o", program])
    assert done.returncode == 0, done.stderr
    other = tmp_path / "other"
    other.mkdir()
    data = bytearray(library.resolve().read_bytes())
    at = data.index(b"copse-sources:") + 20
    data[at] = ord("0") if data[at] != ord("0") else ord("1")
    (other / library.resolve().name).write_bytes(data)
    (other / "libcopse.so.0").write_bytes(data)

    def meet(name, *folders):
        ranks = [
            subprocess.Popen([program, f"{name}-{os.getpid()}", str(rank)], stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "LD_LIBRARY_PATH": str(folder)})
            for rank, folder in enumerate(folders)
        ]  # fmt: skip
        try:
            return [rank.communicate(timeout=60)[0].strip() for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()

    assert meet("same", library.parent, library.parent) == ["sum 2", "sum 2"]
    said = meet("other", library.parent, other)
    assert "rank 0 runs another build of Copse" in said[1], said
    assert "turned away" in said[0] and "another build" in said[0], said
