"""Trouble around a program: mistakes of its user, an MPI that does not fit, ranks that die, refusals.

A mistake gives one line on standard error that names it and the remedy, and the program continues without Copse. A refusal
of the system costs speed but never changes results, and the trace says what was lost.
"""

import re
import subprocess
from pathlib import Path

import pytest
from collectives import BARE, ONE_OR_ALL, passed

from copse import flavours, paths

REFUSE, STARVE = (Path(__file__).with_name(name) for name in ("refuse.c", "starve.c"))
NOT_PERMITTED = 77


def lines_of_copse(done) -> list[str]:
    return [line for line in done.stderr.splitlines() if "copse:" in line]


@pytest.fixture(scope="session")
def refuse(tmp_path_factory):
    """Returns refuse.c as a prefix of a command: refuse(rank, what)."""
    program = tmp_path_factory.mktemp("refuse") / "refuse"
    subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", REFUSE, "-o", program], check=True, timeout=60)
    tried = subprocess.run([program, "all", "bind", "true"], capture_output=True, text=True, timeout=60)
    if tried.returncode == NOT_PERMITTED:
        pytest.skip(f"seccomp is not permitted here: {tried.stderr.strip()}")
    return lambda rank, what: [program, rank, what]


# Mistakes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "wrong", "right"),
    [
        ("mpich", "libcopse-mpi-openmpi.so", "libcopse-mpi-mpich.so"),
        ("openmpi", "libcopse-mpi-mpich.so", "libcopse-mpi-openmpi.so"),
        ("impi", "libcopse-mpi-abi.so", "libcopse-mpi-mpich.so"),
        ("openmpi-debian", "libcopse-mpi-abi.so", "libcopse-mpi-openmpi.so"),
    ],
)
def test_wrong_mpi(launch, name, wrong, right):
    done = launch(flavours.find(name), 2, "random", 1, 50, preload=wrong, **BARE)
    assert passed(done, "random"), done.stdout + done.stderr
    [line] = lines_of_copse(done)
    assert wrong in line and f"preload {right} instead" in line


def test_no_mpi(run, tmp_path):
    """A library that has MPI_ functions but no PMPI_ functions is not an MPI. Calls cannot be passed on to it."""
    library, program = tmp_path / "libfake.so", tmp_path / "program"
    (tmp_path / "fake.c").write_text("int MPI_Barrier(void *comm) { return comm != 0; }\n")
    (tmp_path / "program.c").write_text("int MPI_Barrier(void *comm);\nint main(void) { return MPI_Barrier(0); }\n")
    for command in (["-shared", "-fPIC", tmp_path / "fake.c", "-o", library],
                    [tmp_path / "program.c", library, "-o", program]):  # fmt: skip
        assert run(["gcc", *command]).returncode == 0
    done = run(["env", f"LD_PRELOAD={paths.PRELOAD_FOLDER / flavours.MPICH.preload}", program])
    assert done.returncode == 1
    [line] = lines_of_copse(done)
    assert "no MPI (PMPI_Init) is loaded" in line and "link the program with an MPI" in line


BROKEN_TOPOLOGY = "<topology"
MISTAKES = [
    ("COPSE_CHEK", "1", "COPSE_CHECK"),
    ("COPSE_ALGORITHM", "allreduce=tre", "known: exchange"),
    ("COPSE_ALGORITHM", "alreduce=tiled", "did you mean 'allreduce'?"),
    ("COPSE_FRAGMENT", "0", "expected none, halves, or a size in bytes"),
    ("COPSE_FRAGMENT", "99999999999999999999", "expected none, halves, or a size in bytes"),
    ("COPSE_TOPOLOGY", "/nonexistent/machine.xml", "check the path"),
    ("COPSE_TOPOLOGY", "{broken}", "lstopo machine.xml"),
    ("COPSE_TOPOLOGY", "numa:x", "expected an hwloc synthetic string"),
    ("COPSE_NODES", "0", "1 to 65536"),
]


@pytest.mark.parametrize(("variable", "value", "hint"), MISTAKES)
def test_bad_variable(launch, tmp_path, variable, value, hint):
    (tmp_path / "broken.xml").write_text(BROKEN_TOPOLOGY)
    value = value.format(broken=tmp_path / "broken.xml")
    done = launch(flavours.find("mpich"), 2, "random", 1, 50, **{variable: value}, **BARE)
    assert passed(done, "random"), done.stdout + done.stderr
    [line] = lines_of_copse(done)
    assert variable in line and hint in line and line.endswith("every call is passed on to the MPI")


def test_bad_variable_under_every_mpi(launch, flavour):
    done = launch(flavour, 2, "random", 1, 50, COPSE_TOPOLOGY="/nonexistent/machine.xml", **BARE)
    assert passed(done, "random"), done.stdout + done.stderr
    assert len(lines_of_copse(done)) == 1, done.stderr


def test_a_mistake_in_one_rank_only(launch, programs):
    """The rank with the mistake reports it, and all ranks pass their calls on."""
    flavour = flavours.find("mpich")
    script = '[ "$PMI_RANK" = 1 ] && export COPSE_FRAGMENT=0; exec "$0" "$@"'
    done = launch(flavour, 3, "random", 1, 50, program=["sh", "-c", script, programs(flavour)], **BARE)
    assert passed(done, "random"), done.stdout + done.stderr
    assert len(lines_of_copse(done)) == 1 and "COPSE_FRAGMENT=0" in done.stderr, done.stderr


def test_mistake_in_an_option_of_copse_run(copse, programs):
    flavour = flavours.find("mpich")
    launch = flavour.command(2, [programs(flavour), "random", "1", "50"], variables=BARE)
    done = copse("run", "--algorithm", "allreduce=tre", *launch, env=flavour.environment())
    assert done.returncode == 2 and done.stdout == "", done.stdout + done.stderr  # nothing was started
    [line] = lines_of_copse(done)
    assert "no allreduce algorithm is called 'tre' (known: " in line


def test_disabled(launch, flavour):
    done = launch(flavour, 2, "random", 1, 50, COPSE_DISABLE="1", **BARE)
    assert passed(done, "random") and not lines_of_copse(done), done.stderr


def test_disabled_on_one_rank_and_traced_on_another(launch, programs):
    """All ranks pass their calls on, and all are traced. Copse counts and times the calls and runs none."""
    flavour = flavours.find("openmpi")
    script = 'export "COPSE_$(test $OMPI_COMM_WORLD_RANK = 0 && echo DISABLE || echo TRACE)=1"; exec "$0" "$@"'
    done = launch(flavour, 2, "random", 1, 150, program=["sh", "-c", script, programs(flavour)], **BARE)
    assert passed(done, "random") and "ran by" not in done.stderr, done.stdout + done.stderr
    assert re.search(r"^copse: barrier +COPSE_DISABLE +\d+", done.stderr, re.MULTILINE), done.stderr
    [share] = re.findall(r"these calls took ([\d.]+) % of the ranks' time, which was 2 x [\d.]+ seconds", done.stderr)
    assert 0 < float(share) < 100


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_cancelled_thread(launch, name):
    """MPI does not define what happens. The program must still not abort, as it once did."""
    done = launch(flavours.find(name), 2, "cancelled-threads")
    assert passed(done, "cancelled-threads"), done.stdout + done.stderr


# The headers of an MPI before 4.0 do not declare these calls.
PERSISTENT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int main(void) {
  int (*init)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request *);
  int rank, class, sum = 0;
  MPI_Comm alone, between;
  MPI_Request request;
  *(void **)&init = dlsym(RTLD_DEFAULT, "MPI_Allreduce_init");
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
  MPI_Intercomm_create(alone, 0, MPI_COMM_WORLD, 1 - rank, 0, &between);
  MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
  MPI_Error_class(init(&rank, &sum, 1, MPI_INT, MPI_SUM, between, MPI_INFO_NULL, &request), &class);
  init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (class == MPI_ERR_OTHER && sum == 1) printf("rank %d is right\\n", rank), fflush(stdout);
  MPI_Request_free(&request);
  return MPI_Finalize();
}
"""


def test_persistent_calls_of_an_mpi_without_them(launch, compile_mpi):
    """Those that Copse does not serve are an error of the call."""
    flavour = flavours.find("openmpi-debian")
    done = launch(flavour, 2, program=[compile_mpi(flavour, PERSISTENT, "persistent")])
    assert done.returncode == 0 and done.stdout.count("is right") == 2, done.stdout + done.stderr
    assert "MPI_Allreduce_init: this MPI has no persistent collectives" in done.stderr, done.stderr


# COPSE_CHECK --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["collective", "root", "count", "operator", "block", "table", "pair", "persistent"])
def test_check_explains_a_mismatch(launch, flavour, what):
    done = launch(flavour, 3, "mismatch", what, COPSE_CHECK="1")
    assert done.returncode != 0
    [line] = lines_of_copse(done)
    if what in ("table", "pair"):  # blocks of different sizes
        assert "the ranks do not agree on the blocks of" in line and "rank 1" in line, line
    else:
        assert "rank 0 calls" in line and "rank 1 calls" in line


def test_check_explains_buffers_that_overlap(launch, flavour):
    done = launch(flavour, 3, "mismatch", "overlap", COPSE_CHECK="1")
    assert done.returncode != 0
    [line] = lines_of_copse(done)
    assert "this rank calls allreduce of 4 elements of 4 bytes, SUM of" in line
    assert "but the call of rank 1 was refused" in line
    assert "the send buffer and the receive buffer overlap by 4 bytes (of 16 and 16)" in line and "MPI_IN_PLACE" in line


def test_check_finds_nothing_in_a_right_program(launch, flavour):
    done = launch(flavour, 2, "random", 3, 100, COPSE_CHECK="1")
    assert passed(done, "random"), done.stdout + done.stderr


# Ranks that die -----------------------------------------------------------------------------------------------------


def left_behind() -> set[Path]:
    return {path for folder in ("/dev/shm", "/tmp") for path in Path(folder).glob("*copse*")}


AMID = [pytest.param(part, seed, marks=(pytest.mark.full, pytest.mark.drawn(30))) for part in ("killed-amid", "started-killed-amid",
        "persistent-killed-amid") for seed in range(3, 12)]  # fmt: skip


# Hides a death from the launcher until another rank has ended, too. Otherwise the launcher ends the other ranks, often before they
# can print.
UNTIL_TWO_HAVE_ENDED = """"$0" "$@"; : > "$ENDS/$$"; while [ $(ls "$ENDS" | wc -l) -lt 2 ]; do sleep 0.05; done"""


def ends(folder: Path) -> Path:
    (folder / "ends").mkdir()
    return folder / "ends"


@pytest.mark.parametrize(("part", "seed"), [("killed", 1), ("started-killed-amid", 2), *AMID])
def test_killed_rank(launch, programs, tmp_path, flavour, part, seed):
    """The other ranks say who has died."""
    before = left_behind()
    program = ["sh", "-c", UNTIL_TWO_HAVE_ENDED, programs(flavour)]
    done = launch(flavour, 3, part, seed, program=program, ENDS=str(ends(tmp_path)))
    assert done.returncode != 0
    assert re.search(r"copse: rank [012]: MPI_\w+ on a communicator of 3 ranks: .*rank [012] \(process \d+\) has ended "
                     "before it took its part", done.stderr), done.stderr  # fmt: skip
    assert left_behind() <= before


@pytest.mark.parametrize("part", ["killed", "killed-behind"])
def test_killed_rank_of_another_node(launch, programs, tmp_path, part):
    """The ranks of its node say so and end the program for all, also if none of them waits for it, but for a rank that does."""
    flavour = flavours.find("mpich")
    program = ["sh", "-c", UNTIL_TWO_HAVE_ENDED, programs(flavour)]
    done = launch(flavour, 4, part, program=program, ENDS=str(ends(tmp_path)), COPSE_NODES="2")
    assert done.returncode != 0
    assert re.search(r"copse: rank 2: .*rank 3 \(process \d+\) has ended before it took its part", done.stderr), done.stderr


@pytest.mark.parametrize(("ranks", "variables"), [(3, {}), (2, {"COPSE_NODES": "2"})], ids=["one node", "alone on its node"])
def test_killed_rank_that_the_launcher_sees(launch, flavour, ranks, variables):
    """If it was alone on its node, only the launcher can end the others."""
    before = left_behind()
    done = launch(flavour, ranks, "killed", timeout=60, **variables)
    assert done.returncode != 0 and (done.stdout + done.stderr).strip()
    assert left_behind() <= before


def test_abort(launch, flavour):
    """MPI_Abort ends the ranks that wait in Copse's calls."""
    done = launch(flavour, 3, "aborted")
    assert done.returncode != 0 and "aborted:" not in done.stdout, done.stdout + done.stderr


# Signals, and no memory ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["rounds", *(pytest.param(f"{form}-rounds", marks=pytest.mark.full)
                                              for form in ("started", "persistent"))])  # fmt: skip
@ONE_OR_ALL
def test_signals_interrupt_everything(launch, name, part):
    done = launch(flavours.find(name), 3, part, COLLECTIVES_SIGNALS="1")
    assert passed(done, part), done.stdout + done.stderr


# What Copse allocates before the MPI is initialised. Some launchers do not help when a rank ends there. Intel's lets
# the other ranks wait. MPICH's ends them, but may trip over their closed pipes and lose the rank's message.
IN_INIT = {"impi": 5, "mpich": 5, "mpich-debian": 5}


@pytest.mark.parametrize(
    ("part", "allocations"),
    [("rounds", 0), ("rounds", 300), ("started-rounds", 700),
     *(pytest.param(f"{form}rounds", n, marks=(pytest.mark.full, pytest.mark.drawn(60)))
       for form in ("", "started-", "persistent-") for n in range(10, 2400, 97))],
)  # fmt: skip
@ONE_OR_ALL
def test_no_memory(launch, run, tmp_path, name, part, allocations):
    """The program continues, or ends with a line that says why."""
    flavour, library = flavours.find(name), tmp_path / "libstarve.so"
    assert run(["gcc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", STARVE, "-o", library]).returncode == 0
    variables = {"STARVE_FOR_GOOD": "1"} if allocations % 2 else {}
    variables |= {"STARVE_AT": str(max(allocations, IN_INIT.get(name, 0))), "STARVE_SAYS": str(tmp_path / "starved")}
    done = launch(flavour, 3, part, LD_PRELOAD=f"{library}:{flavour.preload}", timeout=60, **variables)
    assert passed(done, part) or (done.returncode != 0 and re.search(
        "copse: .*no memory", done.stderr)), done.stdout + done.stderr  # fmt: skip
    if not (tmp_path / "starved").exists():
        assert allocations > 300
        pytest.skip(f"the program allocates less than {allocations} times")


# Refusals -----------------------------------------------------------------------------------------------------------

ORACLE_STAYS_AWAY = {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}  # MPICH 5 itself aborts if process_vm_readv is refused
NO_PINNING = {"I_MPI_PIN": "0"}


# Debian's MPICH then hangs in MPI_Finalize, in UCX.
@pytest.mark.parametrize("name", ["mpich", "impi", "openmpi", "openmpi-debian"])
def test_kernel_reach_refused_on_one_rank(launch, programs, refuse, name):
    flavour = flavours.find(name)
    program = [*refuse("1", "kernel"), programs(flavour)]
    done = launch(flavour, 3, "matrix", "world", program=program, COPSE_TRACE="1", **ORACLE_STAYS_AWAY)
    assert passed(done, "matrix"), done.stdout + done.stderr
    assert re.search(r"no kernel reach: the kernel's copy from rank \d failed on rank 1: process_vm_readv: Operation not permitted",
                     done.stderr), done.stderr  # fmt: skip
    assert re.search(r"^copse: allreduce +\w+ slot", done.stderr, re.MULTILINE), done.stderr


def test_binding_refused(launch, programs, refuse, flavour):
    program = [*refuse("all", "bind"), programs(flavour)]
    done = launch(flavour, 3, "random", 3, 100, program=program, COPSE_BIND="core", COPSE_TRACE="1", **NO_PINNING)
    assert passed(done, "random"), done.stdout + done.stderr
    assert "binding: not bound: the system refuses processor 0: Operation not permitted" in done.stderr, done.stderr


# With so little, MPICH itself dies of SIGBUS, and so does Intel MPI with its own shared memory.
@pytest.mark.parametrize(
    ("name", "variables"),
    [("openmpi", {}), ("openmpi-debian", {}), ("impi", {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp"})],
)
def test_small_shared_memory(run, programs, name, variables):
    flavour, small = flavours.find(name), "mount -t tmpfs -o size=1m,mode=1777 shm /dev/shm"
    tried = run(["unshare", "-m", "sh", "-c", small])
    if tried.returncode != 0:
        pytest.skip(f"no mount namespaces here: {tried.stderr.strip()}")
    variables = {"LD_PRELOAD": str(flavour.preload), "COPSE_TRACE": "1", **variables}
    command = flavour.command(3, [programs(flavour), "matrix", "world"], variables=variables)
    done = run(["unshare", "-m", "sh", "-c", f'{small} && exec "$0" "$@"', *command], env=flavour.environment())
    assert passed(done, "matrix"), done.stdout + done.stderr
    assert re.search(r"^copse: allreduce +\w+ (line|slot|get|put)", done.stderr, re.MULTILINE), done.stderr


def test_shared_heap_refused(launch):
    """The heap's own reason is printed once, and is in the trace."""
    flavour = flavours.find("mpich")
    preload = f"{flavour.preload}:{paths.PRELOAD_FOLDER / 'libcopse-heap.so'}"
    done = launch(flavour, 2, "random", 3, 50, LD_PRELOAD=preload, COPSE_TRACE="1", MIMALLOC_RESERVE_OS_MEMORY="1GiB")
    assert passed(done, "random"), done.stdout + done.stderr
    assert done.stderr.count("copse: rank 0 has no shared heap: MIMALLOC_RESERVE_* gives mimalloc") == 1, done.stderr
    assert "no direct reach: no shared heap: MIMALLOC_RESERVE_* gives mimalloc memory of its own" in done.stderr
