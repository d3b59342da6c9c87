"""Ranks of MPI_COMM_WORLD that are helpers and never enter the program (COPSE_COLLECTIVE_PROCESSORS=out:...)."""

import importlib.machinery
import importlib.util
import platform
import re
import subprocess
import uuid
from pathlib import Path

import pytest
from collectives import SPAWNS, passed
from marked import marked, until

from copse import flavours, paths

SOURCE = Path(__file__).with_name("outside.c")
MARK = "TEST_OF_OUTSIDE"
SERVED = ("barrier", "broadcast", "reduce", "allreduce", "reduce_scatter")
WITH_SESSIONS = ("mpich", "impi", "openmpi")


def preloads(flavour) -> str:
    return f"{flavour.world_library}:{flavour.preload}"


@pytest.fixture
def start(run, compile_mpi):
    """Runs outside.c on so many launched ranks, of which some are helpers."""

    def started(flavour, launched, ranks, what, helpers="out:1", **variables):
        program = compile_mpi(flavour, SOURCE.read_text(), "outside")
        variables = {"LD_PRELOAD": preloads(flavour), "COPSE_TRACE": "1", "COPSE_COLLECTIVE_PROCESSORS": helpers, **variables}
        command = flavour.command(launched, [program, ranks, what], crowded=True, variables=variables)
        return run(command, env=flavour.environment(), timeout=100)

    return started


def is_right(done, what: str, ranks: int) -> bool:
    lines = re.findall(rf"^outside {what}: [1-9]\d* checks, {ranks} ranks$", done.stdout, re.MULTILINE)
    return done.returncode == 0 and len(lines) == ranks


def complaints(done) -> list[str]:
    return sorted(re.findall(r"^rank \d+: .+ is wrong$", done.stderr, re.MULTILINE))


@pytest.mark.parametrize(("launched", "helpers", "ranks"), [(3, "out:1", 2), *(pytest.param(*case, marks=pytest.mark.full) for case in [(4, "out:2", 2), (5, "out:1/2", 3), (2, "out:1", 1), (4, "out:9", 1)])])
def test_the_program_does_not_notice(start, flavour, launched, helpers, ranks):
    done = start(flavour, launched, ranks, "all", helpers)
    if not is_right(done, "all", ranks):  # some MPIs do not do all that MPI says
        bare = start(flavour, ranks, ranks, "all", "0", LD_PRELOAD="")
        assert (done.returncode, complaints(done)) == (bare.returncode, complaints(bare)) and complaints(bare), done.stdout + done.stderr
    if ranks > 1:
        assert re.search(r"^copse: allreduce +served ", done.stderr, re.MULTILINE), done.stderr
        assert re.search(rf"^copse: helpers: {launched - ranks} of the {launched} ranks", done.stderr, re.MULTILINE), done.stderr


@pytest.mark.parametrize("name", WITH_SESSIONS)
@pytest.mark.parametrize("what", ["session", "session-and-world"])
def test_sessions(start, name, what):
    done = start(flavours.find(name), 3, 2, what)
    assert is_right(done, what, 2), done.stdout + done.stderr


@pytest.mark.parametrize("name", ["mpich", pytest.param("impi", marks=pytest.mark.full), pytest.param("openmpi", marks=pytest.mark.full)])
def test_spawned_ranks_are_all_there(start, name):
    done = start(flavours.find(name), 3, 2, "spawn", **SPAWNS.get(name, {}))
    assert is_right(done, "spawn", 2), done.stdout + done.stderr


def test_abort(start, flavour):
    """All processes end, helpers, too."""
    mark = uuid.uuid4().hex
    done = start(flavour, 3, 2, "abort", **{MARK: mark})
    assert done.returncode == 7, done.stdout + done.stderr
    assert until(lambda: marked(MARK, mark) == [], 20), marked(MARK, mark)


@pytest.mark.parametrize("name", WITH_SESSIONS)
def test_what_is_never_freed(start, name):
    done = start(flavours.find(name), 3, 2, "leak")
    assert is_right(done, "leak", 2), done.stdout + done.stderr
    assert re.search(r"^copse: allreduce +served ", done.stderr, re.MULTILINE), done.stderr


@pytest.mark.parametrize("part", ["requests", *(pytest.param(part, marks=pytest.mark.full) for part in ("standard", "matrix", "communicators", "progress", "errors", "derived"))])
def test_part(launch, flavour, part):
    few = ["world"] if part == "matrix" else []
    done = launch(flavour, 4, part, *few, LD_PRELOAD=preloads(flavour), COPSE_COLLECTIVE_PROCESSORS="out:1", COPSE_TRACE="1", timeout=200)
    assert passed(done, part) and "helpers: 1 of the 4 ranks" in done.stderr, done.stdout + done.stderr
    assert part != "requests" or re.search(r"^copse: allreduce +served ", done.stderr, re.MULTILINE), done.stderr


@pytest.mark.parametrize("name", ["mpich", *(pytest.param(name, marks=pytest.mark.full) for name in ("impi", "openmpi", "openmpi-debian"))])
def test_over_nodes(launch, name):
    """Helpers of several nodes send messages to one another, and the ranks only post and wait."""
    flavour = flavours.find(name)
    done = launch(flavour, 6, "requests", LD_PRELOAD=preloads(flavour), COPSE_COLLECTIVE_PROCESSORS="out:1", COPSE_NODES="2", COPSE_TRACE="1", timeout=200)
    assert passed(done, "requests"), done.stdout + done.stderr
    for call in SERVED:
        assert re.search(rf"^copse: {call} +served ", done.stderr, re.MULTILINE), f"{call} was not served\n{done.stderr}"


def test_parts_of_the_world_over_nodes(start):
    """A part of a node's ranks is no several nodes, although COPSE_NODES divides every communicator."""
    done = start(flavours.find("mpich"), 6, 4, "all", COPSE_NODES="2")
    assert is_right(done, "all", 4), done.stdout + done.stderr


def test_by_copse_run(run, compile_mpi):
    flavour = flavours.find("mpich")
    program = compile_mpi(flavour, SOURCE.read_text(), "outside")
    command = [paths.ROOT / "tools/copse", "run", "--trace", "--collective-processors", "out:1/2", flavour.mpiexec, "-n", "3", program, "2", "all"]
    done = run(command, env=flavour.environment(), timeout=100)
    assert is_right(done, "all", 2), done.stdout + done.stderr


def test_without_the_library_that_stands_before(launch):
    """All ranks would count on ranks that never come. So Copse does nothing, and says what to do."""
    done = launch(flavours.find("mpich"), 2, "random", 1, 20, COPSE_COLLECTIVE_PROCESSORS="out:1", COLLECTIVES_BARE="1")
    assert passed(done, "random"), done.stdout + done.stderr
    assert "needs libcopse-world-mpich.so preloaded" in done.stderr and "copse run" in done.stderr, done.stderr


def test_libraries_in_the_wrong_order(start):
    """The library that replaces MPI_COMM_WORLD must come first."""
    flavour = flavours.find("mpich")
    done = start(flavour, 3, 3, "all", LD_PRELOAD=f"{flavour.preload}:{flavour.world_library}")
    assert is_right(done, "all", 3) and "preloaded before" in done.stderr, done.stdout + done.stderr


def test_disabled(start):
    """Then the program has all its ranks."""
    done = start(flavours.find("mpich"), 3, 3, "all", COPSE_DISABLE="1")
    assert is_right(done, "all", 3), done.stdout + done.stderr


def generator():
    if platform.machine() != "x86_64":
        pytest.skip("the table is made from the headers of all MPIs, and Intel's is only for x86-64")
    loader = importlib.machinery.SourceFileLoader("world_calls", str(paths.ROOT / "tools" / "world-calls"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("world_calls", loader))
    loader.exec_module(module)
    return module


def test_the_table_has_every_call_of_the_headers():
    calls = generator()
    assert calls.OUTPUT.read_text() == calls.table(), "tools/world-calls writes it anew"


@pytest.mark.parametrize("interface", ["mpich", "openmpi", "abi"])
def test_the_table_has_every_call_of_copse(interface):
    """mpi4py looks which calls a library exports, and makes them: large-count ones under Open MPI, too."""
    library = paths.PRELOAD_FOLDER / f"libcopse-mpi-{interface}.so"
    exported = set(re.findall(r" T MPI(_\w+)", subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout))
    takes_communicator = generator().of_interface(generator().HEADERS["abi"])
    assert len(exported) > 100
    assert {f"MPI{name}" for name in exported & takes_communicator.keys()} <= {name for name, _, _ in rows(interface)}


def rows(interface: str) -> list[tuple[str, int, int]]:
    """Returns name, number of arguments, and which are communicators, of each function that the table has for a binary interface."""
    found, counts = [], False
    for line in generator().OUTPUT.read_text().splitlines():
        if line.startswith("#if"):
            counts = f"COPSE_MPI_{interface.upper()})" in line
        elif counts and (row := re.fullmatch(r"WORLD_CALL\((\w+), (\d+), (\d+)\)", line)):
            found.append((f"MPI{row[1]}", int(row[2]), int(row[3])))
    return found


@pytest.mark.parametrize("interface", ["mpich", "openmpi", "abi"])
def test_every_call_gets_the_communicator(run, tmp_path, interface):
    """Beneath the library stand functions that know what they must get: in each argument that is a communicator, the other one."""
    table = rows(interface)
    assert len(table) > 150
    both = [(prefix + name, count, bits) for name, count, bits in table for prefix in ("", "P")]
    beneath, above = tmp_path / "beneath.c", tmp_path / "above.c"
    parameters = {count: ", ".join(f"uintptr_t a{i}" for i in range(count)) for count in range(1, 13)}
    beneath.write_text('#include <stdint.h>\nstatic _Bool no(const void *address) { return 0; }\n'
                       'struct { uintptr_t stands_in, mpis; const int *members; int count; void *function; _Bool (*is_in_mpi)(const void *); } view = {222, 111, 0, 0, 0, no};\n'
                       "void *copse_world_view(void) { return &view; }\n" + "".join(
        f"int {name}({parameters[count]}) {{ return " + " && ".join(f"a{i} == {222 if bits >> i & 1 else 111 if i % 2 else 300 + i}" for i in range(count)) + " ? 42 : 1; }\n"
        for name, count, bits in both))  # fmt: skip
    above.write_text("#include <stdint.h>\n#include <stdio.h>\nint main(void) {\n  int wrong = 0;\n" + "".join(
        f"  {{ int {name}({parameters[count]}); wrong += {name}(" + ", ".join("111" if bits >> i & 1 or i % 2 else str(300 + i) for i in range(count)) + f') != 42 && puts("{name}"); }}\n'
        for name, count, bits in both) + "  return wrong != 0;\n}\n")  # fmt: skip
    library = paths.PRELOAD_FOLDER / flavours.world_library_of(f"libcopse-mpi-{interface}.so")
    fake, program = tmp_path / "libbeneath.so", tmp_path / "above"
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", beneath, "-o", fake], check=True)
    subprocess.run(["gcc", "-w", above, "-Wl,--no-as-needed", library, fake, "-o", program, f"-Wl,-rpath,{tmp_path}:{library.parent}"], check=True)
    done = run([program], timeout=60)
    assert done.returncode == 0, f"not given the other communicator: {done.stdout}"
