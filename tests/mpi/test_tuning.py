"""Tuning tables in MPI programs: their rows run, calls that the MPI makes best are passed on, and wrong tables are refused."""

import json
import re
from pathlib import Path

import pytest
from collectives import BARE, ONE_OR_ALL, passed

from copse import flavours

# Every second size class of some collectives goes to the MPI. The rest runs what no built-in rule would choose.
ROWS = [
    *({"collective": collective, "bytes": [size, 4 * size - 1], "run": "mpi"}
      for collective in ("allreduce", "broadcast", "alltoall", "gather") for size in (4, 64, 1024, 16384)),
    {"collective": "allreduce", "run": "rabenseifner:slot"},
    {"collective": "broadcast", "run": "chain:slot", "fragment": 4096},
    {"collective": "alltoall", "run": "bruck:slot"},
    {"collective": "barrier", "run": "mpi"},
]  # fmt: skip


@pytest.fixture
def table(tmp_path):
    """Writes a table and returns its path."""

    def write(rows, mpi=""):
        path = tmp_path / "table.json"
        lines = ",\n".join(json.dumps(row) for row in rows)
        path.write_text(f'{{"schema": "copse-tuning/1", "machine": "any", "mpi": "{mpi}",\n"rows": [\n{lines}\n]}}\n')
        return str(path)

    return write


@ONE_OR_ALL
@pytest.mark.parametrize("part", ["types", "matrix", "requests"])
def test_calls_go_both_ways(launch, table, name, part):
    done = launch(flavours.find(name), 3, part, COPSE_TUNING=table(ROWS), COPSE_TRACE="1", **BARE)
    assert passed(done, part), done.stdout + done.stderr
    if part != "matrix":
        return
    passed_on, ran = done.stderr.split("passed on to the MPI because")[1], done.stderr.split("passed on to the MPI because")[0]
    for collective in ("allreduce", "broadcast", "alltoall", "gather", "barrier"):
        assert re.search(rf"{collective}\s+the MPI is faster, says the tuning table or what was learned", passed_on), done.stderr
    for collective, algorithm in (("allreduce", "rabenseifner slot"), ("broadcast", "chain slot"), ("alltoall", "bruck slot")):
        assert re.search(rf"{collective}\s+{algorithm}", ran), done.stderr


@pytest.mark.parametrize("name", ["mpich", "impi", "openmpi"])
def test_what_another_mpi_runs_best(launch, table, name):
    """Rows that leave calls to the MPI are for the MPI that was measured."""
    for of in (name, "mpich" if name == "openmpi" else "openmpi"):
        done = launch(flavours.find(name), 2, "types", COPSE_TUNING=table(ROWS, of), COPSE_TRACE="1", **BARE)
        assert passed(done, "types"), done.stdout + done.stderr
        assert ("the MPI is faster, says the tuning table" in done.stderr) == (of == name), done.stderr
        assert (f"made with {of}, and this is {name}" in done.stderr) == (of != name), done.stderr


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('{"schema": "copse-tuning/1", "machine": "Cray-1", "rows": []}', 'was made for another machine, "Cray-1"; this is "'),
        ('{"schema": "copse-tuning/1", "machine": "any",\n"rows": [{"collective": "gather", "run": "ring:slot"}]}',
         "table.json:2: no gather algorithm is called 'ring'"),
        ('{"schema": "copse-tuning/1", "machine": "any",\n"rows": [', "it may be cut off"),
    ],
)  # fmt: skip
def test_a_wrong_table_is_refused_once_and_the_program_runs(launch, tmp_path, content, complaint):
    path = tmp_path / "table.json"
    path.write_text(content)
    done = launch(flavours.find("mpich"), 3, "types", COPSE_TUNING=str(path), **BARE)
    assert passed(done, "types"), done.stdout + done.stderr
    assert done.stderr.count(complaint) == 1, done.stderr


@ONE_OR_ALL
@pytest.mark.parametrize("theirs", ["the same", "others", "none"])
def test_ranks_with_different_tables_find_out(launch, programs, table, tmp_path, name, theirs):
    """They would take different ways, and hang. So the MPI makes all calls. On each node, a file of one name may have other rows."""
    flavour = flavours.find(name)
    mine = Path(table(ROWS))
    folder = tmp_path / "of-rank-1"
    folder.mkdir()
    (folder / mine.name).write_text(mine.read_text().replace("rabenseifner", "ring") if theirs == "others" else mine.read_text())
    enter = f"cd {folder}" + ("; unset COPSE_TUNING" if theirs == "none" else "")
    script = f'cd {mine.parent}; [ "$PMI_RANK$OMPI_COMM_WORLD_RANK" = 1 ] && {{ {enter}; }}; exec "$0" "$@"'
    done = launch(flavour, 3, "types", program=["sh", "-c", script, programs(flavour)], COPSE_TUNING=mine.name, COPSE_TRACE="1", COPSE_QUIET="0", **BARE)
    assert passed(done, "types"), done.stdout + done.stderr
    said = done.stderr.count("are passed on to the MPI: rank 1 has other COPSE_ variables than rank 0; give all ranks the same environment")
    assert (said, "rabenseifner slot" in done.stderr) == ((0, True) if theirs == "the same" else (1, False)), done.stderr
