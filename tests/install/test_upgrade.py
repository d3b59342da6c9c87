"""Another version of Copse goes over the installed one, and the first one back over it, while programs of both are running.

The other version is this one with a new number, a function more in the C library, and other files. It is really built.
"""

import os
import re
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from copse import flavours, paths

pytestmark = pytest.mark.full
LATER = "0.9.0"

MPI_PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
/* Calls until the file has gone, then makes communicators and calls on them. */
int main(int argc, char **argv) {
  int rank, ranks, one = 1, sum = 0, there = 1;
  long calls = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  while (there) {
    if (rank == 0) there = access(argv[1], F_OK) == 0;
    MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != ranks) return 1;
    if (++calls == 1000 && rank == 0) { printf("under way\n"); fflush(stdout); }
    usleep(100);
  }
  for (int i = 0; i < 3; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    if (sum != ranks) return 1;
  }
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
"""

C_PROGRAM = r"""
#include <copse/copse.h>
#include <stdio.h>
#include <unistd.h>
#include <stdlib.h>
/* One of two ranks that call until the file has gone, and then meet once more. */
int main(int argc, char **argv) {
  copse_comm *comm;
  int one = 1, sum = 0, there = 1;
  if (copse_comm_join(argv[2], atoi(argv[3]), 2, 60.0, &comm) != COPSE_OK) return 1;
  while (there) {
    there = access(argv[1], F_OK) == 0;
    if (copse_broadcast(comm, &there, sizeof there, 0) != COPSE_OK) return 1;
    usleep(100);
  }
  copse_comm_free(comm);
  if (copse_comm_join(argv[2], atoi(argv[3]), 2, 60.0, &comm) != COPSE_OK) return 1;
  if (copse_allreduce(comm, &one, &sum, 1, COPSE_INT32, COPSE_SUM) != COPSE_OK) return 1;
  copse_comm_free(comm);
  printf("right\n");
  return sum == 2 ? 0 : 1;
}
"""


def edit(file: Path, pattern: str, new: str) -> None:
    text, number = re.subn(pattern, new, file.read_text(), count=1)
    assert number == 1, (file, pattern)
    file.write_text(text)


@pytest.fixture(scope="module")
def later(copy_checkout, clean, tmp_path_factory) -> Path:
    """Returns the build folder of a later version."""
    source = copy_checkout(tmp_path_factory.mktemp("later"))
    edit(source / "CMakeLists.txt", r"(project\(copse VERSION )[\d.]+", rf"\g<1>{LATER}")
    edit(source / "include/copse/copse.h", r"(#define COPSE_VERSION_MINOR )\d+", r"\g<1>9")
    edit(source / "faces/c/exports.map", r"(?ms)^(COPSE_[\d.]+) \{.*\};\n\Z", r"\g<0>COPSE_0.9 { copse_later; } \g<1>;\n")
    with (source / "faces/c/communicators.cpp").open("a") as file:
        file.write('\nextern "C" __attribute__((visibility("default"))) int copse_later() { return 9; }\n')
    (source / "examples/kmeans.py").rename(source / "examples/later.py")  # a file comes, and one goes
    build = source / "build/release"
    configure = ["cmake", "--preset", "release", "-DBUILD_TESTING=OFF"]
    for command in (configure, ["cmake", "--build", build]):
        done = subprocess.run(command, cwd=source, env=clean, capture_output=True, text=True, timeout=3000)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return build


class Running:
    """Programs that run until their file goes: under the MPI by the installed `copse run`, and with the C library."""

    def __init__(self, prefix: Path, folder: Path, name: str) -> None:
        self.stop = folder / f"{name}.file"
        self.stop.write_text("")
        flavour = flavours.find("mpich")
        clean = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "COPSE_JOIN": "1", "LD_LIBRARY_PATH": str(prefix / "lib")}
        command = flavour.command(2, [folder / "mpi", self.stop])
        options = ["--trace", "--shared-heap", "--collective-processors", "1"]
        self.commands = [[prefix / "bin/copse", "run", *options, *command]]
        self.commands += [[folder / "c", self.stop, f"{name}-{os.getpid()}", str(rank)] for rank in range(2)]
        self.processes = [
            subprocess.Popen(command, env=flavour.environment(clean), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for command in self.commands
        ]
        assert self.processes[0].stdout.readline() == "under way\n"

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        """Ends programs that still run because the test has failed."""
        self.stop.unlink(missing_ok=True)
        for process in self.processes:
            process.kill()

    def end(self) -> None:
        self.stop.unlink()
        said = [process.communicate(timeout=120)[0] for process in self.processes]
        assert [process.returncode for process in self.processes] == [0, 0, 0], said
        assert all("right\n" in text for text in said) and re.search(r"^copse: allreduce +[a-z_ ]+ (line|slot|get|put)", said[0], re.MULTILINE), said


def install(build: Path, prefix: Path) -> None:
    done = subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--strip"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_versions_change_under_running_programs(built, later, run, tmp_path):
    prefix, release = tmp_path / "prefix", paths.BUILD / "release"

    def version() -> str:
        return run([prefix / "bin/copse", "--version"], env={"PATH": os.environ["PATH"]}).stdout.split()[1]

    def has(name: str) -> bool:
        return (prefix / "share/doc/copse/examples" / name).exists()

    install(release, prefix)
    (tmp_path / "mpi.c").write_text(MPI_PROGRAM)
    (tmp_path / "c.c").write_text(C_PROGRAM)
    flavour = flavours.find("mpich")
    for command in ([flavour.mpicc, tmp_path / "mpi.c", "-o", tmp_path / "mpi"],
                    ["gcc", tmp_path / "c.c", f"-I{prefix}/include", f"-L{prefix}/lib", "-lcopse", "-o", tmp_path / "c"]):  # fmt: skip
        done = run(command, env=flavour.environment())
        assert done.returncode == 0, done.stderr

    before = version()
    with ExitStack() as running:
        programs = running.enter_context(Running(prefix, tmp_path, "upgraded"))
        install(later, prefix)
        assert version() == LATER and has("later.py") and not has("kmeans.py")
        programs_of_the_later_one = running.enter_context(Running(prefix, tmp_path, "of-the-later-one"))
        programs.end()
        install(release, prefix)
        assert version() == before and has("kmeans.py") and not has("later.py")
        programs_of_the_first_again = running.enter_context(Running(prefix, tmp_path, "again"))
        programs_of_the_later_one.end()
        programs_of_the_first_again.end()


def test_a_program_of_the_later_version_says_what_it_lacks_in_the_earlier_one(built, later, run, tmp_path):
    install(later, tmp_path / "later")
    install(paths.BUILD / "release", tmp_path / "first")
    (tmp_path / "p.c").write_text("int copse_later(void); int main(void) { return copse_later() == 9 ? 0 : 1; }\n")
    done = run(["gcc", tmp_path / "p.c", f"-L{tmp_path}/later/lib", "-lcopse", "-o", tmp_path / "p"])
    assert done.returncode == 0, done.stderr
    assert run([tmp_path / "p"], env={"LD_LIBRARY_PATH": str(tmp_path / "later/lib")}).returncode == 0
    done = run([tmp_path / "p"], env={"LD_LIBRARY_PATH": str(tmp_path / "first/lib")})
    assert done.returncode != 0 and "version `COPSE_0.9' not found" in done.stderr, done.stderr
