"""`copse run`: recognises the launcher, preloads the right library into the ranks and nothing else, and refuses clearly.

The preload libraries here are stand-ins. When loaded, they print their names and the name of the process.
"""

import math
import os
import signal
import subprocess
import sys
import time

import pytest

from copse import flavours, paths, variables
from copse import run as copse_run
from copse.errors import CopseError

STAND_IN = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
__attribute__((constructor)) static void say(void) {
  fprintf(stderr, "loaded %s in %s\n", NAME, program_invocation_short_name);
}
"""
LIBRARIES = [flavours.MPICH.preload, flavours.OPEN_MPI.preload, flavours.STANDARD_ABI_PRELOAD, copse_run.HEAP]

HELLO = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
  int rank, size;
  char line[100] = "";
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0 && fgets(line, sizeof line, stdin)) line[strcspn(line, "\n")] = 0;
  printf("rank %d of %d trace=%s read '%s'\n", rank, size, getenv("COPSE_TRACE"), line);
  fflush(stdout);
  MPI_Finalize();
  return rank == 0 ? 7 : 0;
}
"""


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory):
    folder = tmp_path_factory.mktemp("preload")
    source = folder / "stand_in.c"
    source.write_text(STAND_IN)
    for name in LIBRARIES:
        subprocess.run(
            ["gcc", "-shared", "-fPIC", f'-DNAME="{name}"', source, "-o", folder / name], check=True, timeout=60
        )
    return folder


@pytest.fixture
def copse_with_stand_ins(run, stand_ins):
    """Runs `copse <arguments>` with the stand-ins in place of the real preload libraries."""
    code = (
        "import sys; from pathlib import Path; from copse import paths, __main__; "
        f"paths.PRELOAD_FOLDER = Path({str(stand_ins)!r}); sys.argv[0] = 'copse'; __main__.main()"
    )

    def call(*arguments, env=None, **options):
        base = dict(os.environ if env is None else env)
        base["PYTHONPATH"] = str(paths.ROOT / "faces" / "python")
        return run([sys.executable, "-c", code, *arguments], env=base, **options)

    return call


def _loaded(done):
    return sorted(line for line in done.stderr.splitlines() if line.startswith("loaded "))


def test_ranks_alone_are_preloaded_and_the_program_keeps_its_streams_and_exit_code(
    flavour, compile_mpi, copse_with_stand_ins
):
    program = compile_mpi(flavour, HELLO, "hello")
    launch = flavour.command(2, [program])
    done = copse_with_stand_ins("run", "--trace", *launch, env=flavour.environment(), input="typed in\n")
    assert _loaded(done) == [f"loaded {flavour.family.preload} in {program.name}"] * 2, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "rank 0 of 2 trace=1 read 'typed in'",
        "rank 1 of 2 trace=1 read ''",
    ]
    assert done.returncode == 7


@pytest.mark.quick(flavour=len(flavours.NAMES))  # Open MPI 4.1 has a rule of its own
def test_every_program_of_a_colon_command_is_preloaded(flavour, compile_mpi, copse_with_stand_ins):
    program = compile_mpi(flavour, HELLO, "hello")
    launch = [*flavour.command(1, [program]), ":", "-n", "1", program]
    done = copse_with_stand_ins("run", *launch, env=flavour.environment(), input="\n")
    assert _loaded(done) == [f"loaded {flavour.family.preload} in {program.name}"] * 2, done.stderr


def test_shared_heap_and_the_callers_own_preload_are_added(compile_mpi, copse_with_stand_ins, stand_ins):
    flavour = flavours.find("mpich")
    program = compile_mpi(flavour, HELLO, "hello")
    own = stand_ins / flavours.OPEN_MPI.preload  # any library serves as the caller's own
    done = copse_with_stand_ins(
        "run", "--shared-heap", *flavour.command(1, [program]),
        env={**flavour.environment(), "LD_PRELOAD": str(own)},
    )  # fmt: skip
    in_program = {line for line in _loaded(done) if line.endswith(f" in {program.name}")}
    expected = [flavours.MPICH.preload, copse_run.HEAP, flavours.OPEN_MPI.preload]
    assert in_program == {f"loaded {name} in {program.name}" for name in expected}


@pytest.mark.parametrize("name", ["mpich", "impi"])
def test_program_of_the_standard_abi_gets_its_own_library(name, compile_mpi, copse_with_stand_ins):
    mpich, flavour = flavours.find("mpich"), flavours.find(name)
    program = compile_mpi(mpich, HELLO, "hello-abi", compiler=mpich.mpicc.with_name("mpicc_abi"))
    done = copse_with_stand_ins(
        "run", *flavour.command(1, [program]), env=flavour.environment()
    )
    assert _loaded(done) == [f"loaded {flavours.STANDARD_ABI_PRELOAD} in {program.name}"], done.stderr


def test_intel_mpirun_works_without_its_variables_set(compile_mpi, copse_with_stand_ins):
    flavour = flavours.find("impi")
    program = compile_mpi(flavour, HELLO, "hello")
    mpirun = flavour.mpiexec.with_name("mpirun")
    done = copse_with_stand_ins("run", mpirun, "-n", "2", program)
    assert _loaded(done) == [f"loaded {flavour.family.preload} in {program.name}"] * 2, done.stderr


def test_a_launcher_of_no_mpi_hands_the_preload_over_in_the_environment(copse_with_stand_ins):
    done = copse_with_stand_ins("run", "--flavour", "openmpi", "env", "true")
    assert done.returncode == 0
    assert _loaded(done) == [f"loaded {flavours.OPEN_MPI.preload} in {name}" for name in ("env", "true")]


@pytest.mark.quick(flavour=len(flavours.NAMES))  # starts nothing
def test_launcher_is_recognised_by_its_folder(flavour):
    assert copse_run.identify_launcher(str(flavour.mpiexec)).family is flavour.family


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["no-such-mpirun", "-n", "2", "a"], "launcher 'no-such-mpirun' was not found; give its path"),
        (["ls", "-l"], "is not an MPI launcher that Copse knows; put mpirun first"),
        (["--flavour", "lam", "mpiexec.mpich", "a"], "there is no MPI flavour 'lam'; use one of: "),
        (["--flavour", "mpich", "mpiexec.openmpi", "a"], "belongs to Open MPI, not to MPICH; leave out --flavour"),
    ],
)
def test_wrong_launchers_are_named_in_one_line(copse, arguments, message):
    done = copse("run", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("copse: ") and message in done.stderr and done.stderr.count("\n") == 1


def test_program_of_another_mpi_is_refused(compile_mpi, copse_with_stand_ins):
    program = compile_mpi(flavours.find("mpich"), HELLO, "hello")
    done = copse_with_stand_ins("run", "mpiexec.openmpi", "-n", "2", program)
    assert done.returncode == 2
    assert "is linked with Intel MPI or MPICH (libmpi.so.12), but" in done.stderr
    assert "belongs to Open MPI; start it with the mpirun of Intel MPI or MPICH" in done.stderr
    assert done.stderr.count("\n") == 1


def test_missing_preload_library_says_how_to_build_it(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "PRELOAD_FOLDER", tmp_path)
    with pytest.raises(CopseError, match=f"{tmp_path}/libcopse-mpi-abi.so is missing; run: make"):
        copse_run.preload_value(["libcopse-mpi-abi.so"], None)


def test_what_is_no_program_is_not_read_whole(tmp_path):
    data = tmp_path / "data"
    with data.open("wb") as file:
        file.truncate(1 << 40)
    for path in (data, tmp_path / "absent"):
        assert copse_run.linked_mpi(path) is None and not copse_run.brings_mpi(path)


def test_plain_options_before_the_launcher_need_no_parser():
    options = copse_run.Options(shared_heap=True, trace=True)
    assert copse_run.without_parser(["--trace", "--shared-heap", "mpirun", "-n", "2", "--trace"]) == (["mpirun", "-n", "2", "--trace"], options)
    assert copse_run.without_parser(["mpirun"]) == (["mpirun"], copse_run.Options())
    valued = copse_run.Options(flavour="mpich", algorithm="bcast=flat;reduce=flat", upc_threads=8)
    assert copse_run.without_parser(["--flavour", "mpich", "--algorithm=bcast=flat;reduce=flat", "--upc-threads", "8", "app"]) == (["app"], valued)
    for rest in ([], ["--trace"], ["--", "mpirun"], ["--help"], ["--flavour"], ["--flavour", "mpich"], ["--flavour", "--trace", "mpirun"],
                 ["--trace=yes", "mpirun"], ["--upc-threads", "many", "app"], ["--unknown", "mpirun"]):  # fmt: skip
        assert copse_run.without_parser(rest) is None, rest


@pytest.mark.parametrize(("options", "parsed"), [([], False), (["--check"], False), (["--flavour", "mpich"], False), (["--"], True)])
def test_the_parser_is_imported_only_where_it_is_needed(run, options, parsed):
    flavour = flavours.find("mpich")
    code = (
        "import os, sys; from copse import __main__; "
        "os.execve = lambda *_: sys.exit(40 + ('typer' in sys.modules)); __main__.main()"
    )
    environment = {**flavour.environment(), "PYTHONPATH": str(paths.ROOT / "faces" / "python")}
    done = run([sys.executable, "-c", code, "run", *options, flavour.mpiexec, "-n", "1", "true"], env=environment)
    assert done.returncode == 40 + parsed, done.stderr


SLOW_MODULES = {"dataclasses", "difflib", "hashlib", "inspect", "json", "rich", "subprocess", "tempfile", "typer", "typing"}


@pytest.fixture
def launcher(tmp_path):
    """Returns a launcher that ends at once. It belongs to Open MPI, because that library lies beside it."""
    for folder in ("bin", "lib"):
        (tmp_path / folder).mkdir()
    (tmp_path / "lib" / "libmpi.so.40").touch()
    script = tmp_path / "bin" / "mpirun"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    return script


def test_what_takes_long_to_import_is_left_out(run, launcher):
    code = (
        "import os, sys; before = set(sys.modules); from copse import __main__; "
        "os.execve = lambda *_: sys.exit(' '.join(set(sys.modules) - before)); __main__.main()"
    )
    environment = {**variables.without(), "PYTHONPATH": str(paths.ROOT / "faces" / "python")}
    done = run([sys.executable, "-c", code, "run", "--trace", launcher, "-n", "2", "true"], env=environment)
    imported = set(done.stderr.split())
    assert "copse.run" in imported and imported & SLOW_MODULES == set(), done.stderr


OWN_SECONDS = 0.05  # what `copse run` itself may add
STARTS_OF_PYTHON = 5  # or that, on a machine so slow or busy that Python alone takes long
TURNS_LEAST, TURNS_MOST = 5, 60


def test_copse_run_adds_little_time(launcher):
    """The least of several times counts, because other tests may run beside this one."""
    launch = [launcher, "-n", "2", "true"]
    commands = {"python": [sys.executable, "-I", "-c", ""], "bare": launch, "copse": [paths.ROOT / "tools" / "copse", "run", *launch]}
    least = dict.fromkeys(commands, math.inf)
    environment = variables.without()
    for turn in range(TURNS_MOST):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, env=environment, check=True, timeout=60)
            least[name] = min(least[name], time.perf_counter() - start)
        added, most = least["copse"] - least["bare"], max(OWN_SECONDS, STARTS_OF_PYTHON * least["python"])
        if turn >= TURNS_LEAST and added < most:
            break
    assert added < most, least


UPC_PROGRAM = r"""
#include <copse/upc.h>
#include <stdio.h>
static int program(int argc, char **argv) {
  upc_shared sum = upc_all_alloc(1, sizeof(int)), mine = upc_all_alloc((size_t)THREADS, sizeof(int));
  UPC_AT(int, 1, mine, MYTHREAD) = MYTHREAD + 1;
  upc_all_reduceI(sum, mine, UPC_ADD, (size_t)THREADS, 1, NULL, 0);
  if (MYTHREAD == 0) printf("%d threads, sum %d, argument %s\n", THREADS, UPC_AT(int, 1, sum, 0), argv[argc - 1]);
  return MYTHREAD == 1 ? 3 : 0;
}
int main(int argc, char **argv) { return copse_upc_run(argc, argv, program); }
"""


@pytest.fixture(scope="module")
def upc_program(tmp_path_factory):
    source = tmp_path_factory.mktemp("upc") / "program.c"
    source.write_text(UPC_PROGRAM)
    library = paths.ROOT / "build" / "lib"
    done = subprocess.run(
        ["gcc", "-std=c11", "-I", paths.ROOT / "include", source, "-o", source.with_suffix(""), "-L", library, "-lcopse", f"-Wl,-rpath,{library}"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return source.with_suffix("")


@pytest.mark.parametrize("wrapper", [[], ["nice", "-n", "1"]])
@pytest.mark.parametrize("processes", [[], ["--upc-processes", "2"], ["--upc-processes", "3", "--check"]])
def test_upc_programs_run_as_threads_and_as_processes(copse, upc_program, processes, wrapper):
    done = copse("run", "--upc-threads", "3", *processes, *wrapper, upc_program, "--word")
    assert (done.returncode, done.stdout, done.stderr) == (3, "3 threads, sum 6, argument --word\n", "")


@pytest.mark.parametrize(("word", "algorithm"), [("prop", "gather=prop"), ("bcol", "alltoall=bruck"), ("ref-push", "alltoall=pairwise:put"), ("numacol", None)])
def test_the_libraries_of_the_papers_can_be_chosen(copse, word, algorithm):
    """Each forces its own algorithms. PROP's threads have cores of their own."""
    printed = copse("run", "--upc-threads", "3", "--upc-collectives", word, "env").stdout
    chosen = dict(line.split("=", 1) for line in printed.splitlines() if line.startswith("COPSE_"))
    assert chosen.get("COPSE_BIND") == ("core" if word == "prop" else None)
    assert (algorithm is None) == ("COPSE_ALGORITHM" not in chosen)
    assert algorithm is None or algorithm in chosen["COPSE_ALGORITHM"].split(";")


@pytest.mark.parametrize("name", ["PIPE", "XFSZ"])
def test_signals_that_python_ignores_end_the_program(copse, name):
    done = copse("run", "--upc-threads", "1", "sh", "-c", f"kill -s {name} $$; echo survived")
    assert (done.returncode, done.stdout) == (-getattr(signal, f"SIG{name}"), "")


def test_what_the_system_cannot_start_is_explained(copse, tmp_path):
    script = tmp_path / "script"
    script.write_text("true\n")  # no line that names an interpreter
    script.chmod(0o755)
    for arguments in (["--upc-threads", "2", script], ["--flavour", "mpich", script, "-n", "2", "a"]):
        done = copse("run", *arguments)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
        assert f"{script} cannot be started: Exec format error" in done.stderr


def test_wrong_upc_commands_are_explained(copse, upc_program):
    mpiexec = flavours.find("mpich").mpiexec
    for options, message in (
        (["--upc-threads", "4", "--upc-processes", "2", mpiexec, "-n", "2", upc_program], "--upc-processes divides threads where no launcher does"),
        (["--upc-threads", "4", "nice", mpiexec, "-n", "2", upc_program], "nice is not an MPI launcher that Copse knows"),
        (["--upc-processes", "2", upc_program], "--upc-processes needs --upc-threads"),
        (["--upc-threads", "2", "--upc-collectives", "gasnet", upc_program], "'gasnet' is no library that Copse knows"),
        (["--upc-threads", "2", "--upc-collectives", "prop", "--algorithm", "barrier=flat", upc_program], "both name algorithms"),
        (["--upc-threads", "0", upc_program], "COPSE_UPC_THREADS=0: expected a number of threads, 1 to 4096"),
        (["--upc-threads", "2", "./absent"], "program './absent' was not found"),
        (["--upc-threads", "2", "--upc-processes", "3", upc_program], "COPSE_UPC_PROCESSES is 3; required: at most COPSE_UPC_THREADS, which is 2"),
    ):
        done = copse("run", *options)
        assert done.returncode != 0 and message in done.stderr, done.stderr
