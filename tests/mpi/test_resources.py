"""Programs that use much of something (resources.c). Memory and files stay small, and the time is near the bare MPI's.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from collectives import ONE_OR_ALL

from copse import flavours, paths
from copse.info import ROOM_OF_RANK
from copse.run import HEAP, preload_value

SOURCE = Path(__file__).with_name("resources.c")
LIVES = paths.ROOT / "bench" / "communicators.c"
MEMORY = paths.ROOT / "bench" / "memory.c"
RANKS = 2
KILOBYTES = 48 * 1024  # what a rank may grow by whatever it does; pages of peers in the shared heap count as well
KILOBYTES_MORE = ROOM_OF_RANK >> 10  # of a rank with 65 communicators, as `copse info` says
KILOBYTES_OF_A_COMMUNICATOR = 64  # one with calls on it
KILOBYTES_OF_A_PERSISTENT_CALL = 64
SECONDS_OF_A_COMMUNICATOR = 0.01
HEAP_OR_NOT = pytest.mark.parametrize("heap", [False, True], ids=["plain", "heap"])


@dataclass(frozen=True)
class Row:
    what: str
    seconds: float
    kilobytes: int
    files: int


@pytest.fixture
def ask(run, compile_mpi):
    """Returns a function that runs resources.c and reads its output: ask(flavour's name, what, n)."""

    def ask_program(name: str, what: str, n: int, *, bare=False, heap=False, **more: str) -> list[Row]:
        flavour = flavours.find(name)
        libraries = [flavour.preload.name, *([HEAP] if heap else [])]
        variables = {} if bare else {"LD_PRELOAD": preload_value(libraries, None), **more}
        program = compile_mpi(flavour, SOURCE.read_text(), "resources")
        done = run(flavour.command(RANKS, [program, what, n], crowded=True, variables=variables),
                   env=flavour.environment(), timeout=600)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        lines = [line.split(",") for line in done.stdout.split()]
        return [Row(what, float(seconds), int(kilobytes), int(files)) for what, _, seconds, kilobytes, files in lines]

    return ask_program


@pytest.mark.parametrize("name", ["mpich", "impi", "openmpi"])
def test_hundreds_of_communicators_over_nodes(run, compile_mpi, name):
    """They share what the MPI has few of, and their messages do not meet."""
    flavour = flavours.find(name)
    program = compile_mpi(flavour, SOURCE.with_name("wires.c").read_text(), "wires")
    variables = {"LD_PRELOAD": str(flavour.preload), "COPSE_JOIN": "1", "COPSE_NODES": "2", "COPSE_TRACE": "1"}
    done = run(flavour.command(4, [program], crowded=True, variables=variables), env=flavour.environment())
    assert done.returncode == 0 and re.search(r"^wires: \d+ checks$", done.stdout, re.MULTILINE), done.stdout + done.stderr
    assert "passed on" not in done.stderr, done.stderr
    made = sum(int(n) for n in re.findall(r"a communicator over 2 nodes, joined by the MPI's own messages \((\d+) times\)", done.stderr))
    assert made >= 4 * 300, done.stderr


def check_live(rows: list[Row], n: int) -> None:
    first, freed, second, _ = rows
    assert first.what == "used" and freed.what == "freed"
    assert first.kilobytes < n * KILOBYTES_OF_A_COMMUNICATOR + KILOBYTES and {row.files for row in rows} == {0}, rows
    assert second.kilobytes < first.kilobytes * 1.2 + 1024, rows  # the memory of the first round is reused


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_communicators(ask, name):
    [pairs] = ask(name, "pairs", 2000)
    assert pairs.kilobytes < KILOBYTES and pairs.files == 0, pairs
    check_live(ask(name, "used", 300), 300)


@pytest.mark.parametrize("ranks", [2, 8])
@pytest.mark.parametrize("name", ["mpich", "impi", "openmpi"])
def test_memory_of_many_communicators(run, compile_mpi, name, ranks):
    """Those that were not called lately keep no pages of lines and slots, and what calls compute in is shared."""
    flavour = flavours.find(name)
    program = compile_mpi(flavour, MEMORY.read_text(), "memory")

    def kilobytes(variables: dict[str, str]) -> int:
        done = run(flavour.command(ranks, [program, "65"], crowded=True, variables=variables), env=flavour.environment())
        assert done.returncode == 0, done.stdout + done.stderr
        return int(done.stdout.split()[0])

    bare, ours = kilobytes({}), kilobytes({"LD_PRELOAD": str(flavour.preload), "COPSE_JOIN": "1"})
    assert ours < bare + KILOBYTES_MORE, (bare, ours)


MAPPED = """
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char** argv) {
  char line[512];
  int one = 1, sum;
  MPI_Init(&argc, &argv);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  FILE* const maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps))
    if (strstr(line, ".so") && (strstr(line, "copse") || strstr(line, "hwloc") || strstr(line, "X11"))) printf("%s", strchr(line, '/'));
  return MPI_Finalize();
}
"""


def test_the_mpi_keeps_its_own_hwloc(run, compile_mpi):
    """No library of Copse brings another hwloc before it. The system's would load plugins, and with them X11, into each rank."""
    flavour = flavours.find("openmpi")
    program = compile_mpi(flavour, MAPPED, "mapped")

    def libraries(variables: dict[str, str]) -> set[str]:
        done = run(flavour.command(2, [program], crowded=True, variables=variables), env=flavour.environment())
        assert done.returncode == 0, done.stdout + done.stderr
        return set(done.stdout.split("\n"))

    bare, ours = libraries({}), libraries({"LD_PRELOAD": str(flavour.preload), "COPSE_JOIN": "1"})
    assert any("hwloc" in library for library in bare), bare
    assert {Path(library).name for library in ours - bare} == {flavour.preload.name}, ours - bare


@ONE_OR_ALL
@pytest.mark.parametrize("kind", ["dup", "halves", "grid"])
def test_communicators_of_the_same_ranks(run, compile_mpi, name, kind):
    """Each kind is made anew once, and then among its kin, even if none of them is left."""
    rounds, ranks, made = 10, 4, 2 if kind == "grid" else 1
    flavour = flavours.find(name)
    program = compile_mpi(flavour, LIVES.read_text(), "lives")
    variables = {"LD_PRELOAD": str(flavour.preload), "COPSE_JOIN": "1", "COPSE_TRACE": "1"}
    done = run(flavour.command(ranks, [program, kind, str(rounds), "3"], crowded=True, variables=variables), env=flavour.environment())
    assert done.returncode == 0, done.stdout + done.stderr
    found = {what: int(times) for what, times in re.findall(r"start: communicators: ([^:]+): (\d+) times", done.stderr)}
    assert found["a plot of common memory"] == ranks * made * (rounds + (1 if kind == "dup" else 0)), done.stderr


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_persistent_calls(ask, name):
    """Thousands are alive at once, and the memory of freed ones is reused."""
    first, run, second, again = ask(name, "kept", 1000)
    assert first.what == second.what == "initialised" and {row.files for row in (run, again)} == {0}, (first, again)
    assert run.kilobytes < 1000 * KILOBYTES_OF_A_PERSISTENT_CALL, run
    assert again.kilobytes < run.kilobytes * 1.2 + 1024, (run, again)
    [renewed] = ask(name, "renewed", 3000)
    assert renewed.kilobytes < 4096 and renewed.files == 0, renewed


@pytest.mark.full
def test_many_live_communicators_over_two_nodes(ask):
    """MPICH has 2048 in all. Copse may take some for its own messages, but not one for each of the program's
    communicators."""
    check_live(ask("mpich", "used", 1300, COPSE_NODES="2"), 1300)


@HEAP_OR_NOT
def test_fresh_buffers(ask, heap):
    [buffers] = ask("openmpi", "buffers", 2000, heap=heap)
    assert buffers.kilobytes < KILOBYTES and buffers.files == 0, buffers


@HEAP_OR_NOT
@ONE_OR_ALL
def test_buffers_that_come_back_elsewhere(ask, name, heap):
    """No rank relies on what it knew about an address before."""
    [buffers] = ask(name, "remapped", 1000, heap=heap)
    assert buffers.kilobytes < KILOBYTES and buffers.files == 0, buffers


@pytest.mark.full
@pytest.mark.parametrize("name", ["mpich", "impi", "openmpi"])
def test_a_hundred_thousand_pairs(ask, name):
    [bare], [ours] = ask(name, "pairs", 100_000, bare=True), ask(name, "pairs", 100_000)
    assert ours.kilobytes < bare.kilobytes + KILOBYTES and ours.files == 0, (bare, ours)
    assert ours.seconds < 3 * bare.seconds + 1000 * SECONDS_OF_A_COMMUNICATOR, (bare, ours)  # 1000 of them have a call


@pytest.mark.full
@pytest.mark.parametrize(("name", "n"), [("mpich", 1900), ("openmpi", 10_000)])
@pytest.mark.parametrize("what", ["unused", "used"])
def test_many_live_communicators(ask, name, n, what):
    """MPICH itself stops at about two thousand, and Intel MPI's barriers stop earlier."""
    bare, ours = ask(name, what, n, bare=True), ask(name, what, n)
    if what == "used":
        check_live(ours, n)
    else:
        assert ours[0].kilobytes < bare[0].kilobytes + KILOBYTES, (bare, ours)
    used = n if what == "used" else 0
    assert ours[0].seconds < 3 * bare[0].seconds + used * SECONDS_OF_A_COMMUNICATOR + 1, (bare, ours)


@pytest.mark.full
@HEAP_OR_NOT
@pytest.mark.parametrize("name", ["mpich", "impi", "openmpi"])
def test_a_hundred_thousand_fresh_buffers(ask, name, heap):
    [ours] = ask(name, "buffers", 100_000, heap=heap)
    assert ours.kilobytes < KILOBYTES and ours.files == 0, ours
