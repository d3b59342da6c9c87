"""`copse price`: every algorithm has one, the cheapest comes first, and mistakes are refused."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from copse import files, paths, price


def test_the_cheapest_comes_first_and_its_parts_add_up(native):
    found = json.loads(native("price", "allreduce", "64KiB", "-n", "48", "--machine", "ig", "--json").stdout)
    assert len(found) > 50 and found == sorted(found, key=lambda row: row["ns"])
    for row in found:
        assert sum(share["ns"] for share in row["shares"]) == pytest.approx(row["ns"], rel=1e-3), row


def test_hmpis_equations_stand_beside_the_price(native):
    """HMPI 3.4, figure 24: on the Westmere, tiles win from 16 KB on. The equations are for sockets that have the same number of ranks."""

    def equations(*arguments: str) -> dict[str, float]:
        _, _, table = native("price", *arguments, "--machine", "westmere").stdout.partition("HMPI's equations for ")
        rows = re.findall(r"^(5|6, 7|11) .*?([0-9.]+) (ns|us) +[0-9.]+ .s +\w+:\w+$", table, re.MULTILINE)
        return {equation: float(time) * (1 if unit == "ns" else 1000) for equation, time, unit in rows}

    for size, tiles_win in (("1KiB", False), ("8KiB", False), ("64KiB", True)):
        found = equations("allreduce", size)
        assert list(found) == ["5", "6, 7", "11"]
        assert (found["11"] < found["5"]) == tiles_win, size
    assert equations("allreduce", "64KiB", "-n", "11") == equations("broadcast", "64KiB") == {}


def test_a_machine_of_ones_own(native, tmp_path):
    machines = {row["name"] for row in json.loads(native("price", "--machines", "--json").stdout)}
    assert {"ig", "zoot", "westmere", "magny-cours", "juropa", "superdome", "epyc", "xeon-max", "grace"} <= machines
    own = tmp_path / "own.json"
    own.write_text("""{"schema": "copse-machine/1", "name": "own", "title": "t", "source": [], "topology": "core:4 pu:1",
        "steps": {"call_ns": 0, "step_ns": 0, "wait_ns": 0, "turn_ns": 0}, "own": {"line_ns": 0},
        "levels": [{"level": "node", "flag_ns": 100, "line_ns": 0}], "memory": {"line_ns": 0}, "reduce_GBps": {"": 1}}""")
    done = native("price", "barrier", "--machine", str(own), "--algorithm", "flat", "--calls", "1")
    assert "flat:line" in done.stdout and "300.0 ns" in done.stdout, "three words, fetched one after the other"


@pytest.fixture
def combines(tmp_path):
    """Writes a machine on which only reductions take time, at rates by operator and type. Returns its path."""
    rates = {"": 1, "sum:double": 8, "max": 0.5, "max:float": 4}
    level = {"level": "node", "flag_ns": 0, "line_ns": 0}
    steps = dict.fromkeys(("call_ns", "step_ns", "wait_ns", "turn_ns"), 0)
    own = tmp_path / "combines.json"
    own.write_text(json.dumps({"schema": "copse-machine/1", "name": "own", "title": "t", "source": [], "topology": "core:2 pu:1", "steps": steps,
                               "own": {"line_ns": 0}, "levels": [level], "memory": {"line_ns": 0}, "reduce_GBps": rates}))  # fmt: skip
    return str(own)


@pytest.mark.parametrize(
    ("of", "rate"),
    [([], 8), (["--operation", "max", "--type", "float"], 4), (["--operation", "max"], 0.5), (["--type", "float"], 1), (["--operation", "band", "--type", "byte"], 1)],
)
def test_reductions_have_the_rate_of_their_operator_and_type(native, combines, of, rate):
    """The first line of a fragment has no rate, only a latency. Tiles halve the work."""
    asked = ["--machine", combines, *of]
    rows = json.loads(native("price", "reduce", "32K", *asked, "--calls", "1", "--json").stdout)
    assert min(row["ns"] for row in rows if row["algorithm"] == "flat") == pytest.approx(32768 / rate, rel=5e-3)
    assert f" at {rate:g} GB/s" in native("price", "reduce", "32K", *asked).stdout
    (found,) = json.loads(native("price", "--winners", "reduce", *asked).stdout)
    (winner,) = [winner for winner in found["winners"] if winner["bytes"] == 32768]
    assert winner["ns"] == pytest.approx(16384 / rate, rel=5e-3)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["allreduce", "64K", "--machine", "westmore"], "did you mean 'westmere'?"),
        (["allredce", "64K"], "did you mean 'allreduce'?"),
        (["allreduce", "64K", "--machine", "none.json"], "none.json: the file cannot be read"),
        (["allreduce", "64K", "--algorithm", "none"], "no algorithm called 'none'"),
        (["allreduce", "64K", "--ranks", "4", "--nodes", "5"], "more nodes than ranks"),
        (["allreduce"], "expected a collective and a size"),
        ([], "or --plot FILE.png for who wins where on all recorded machines"),
        (["allreduce", "64K", "--operation", "sun"], "did you mean 'sum'?"),
        (["allreduce", "64K", "--type", "flot"], "did you mean 'float'?"),
        (["allreduce", "64K", "--operation", "land", "--type", "float"], "the operator land is not defined for float"),
        (["allreduce", "12", "--type", "double"], "the size is no multiple of 8"),
        (["broadcast", "64K", "--operation", "max"], "for collectives that reduce; broadcast does not"),
        (["--winners", "allreduce", "--nodes", "2"], "--nodes changes nothing with --winners"),
        (["reduce_scatter", "8", "--collective-processors", "--ranks", "16384"], "helpers do not serve 16384 ranks"),
    ],
)
def test_mistakes_are_refused(native, arguments, complaint):
    done = native("price", *arguments)
    assert done.returncode == 2 and complaint in done.stderr, done.stderr


def test_the_winners_are_the_cheapest(native):
    (found,) = json.loads(native("price", "--winners", "broadcast", "--machine", "zoot").stdout)
    assert (found["machine"], found["ranks"], found["blocks"]) == ("zoot", 16, False)
    sizes = [winner["bytes"] for winner in found["winners"]]
    assert sizes[0] == 8 and sizes[-1] == 4 << 20 and sizes == sorted(sizes)
    (winner,) = [winner for winner in found["winners"] if winner["bytes"] == 32768]
    rows = json.loads(native("price", "broadcast", "32768", "--machine", "zoot", "--calls", "1", "--json").stdout)
    assert winner["ns"] == pytest.approx(min(row["ns"] for row in rows if row["radix"] == 2 and row["fragment_bytes"] != 16384), rel=1e-4)


def test_the_winners_know_all_machines_and_every_collective(native):
    machines = [row["name"] for row in json.loads(native("price", "--machines", "--json").stdout)]
    found = json.loads(native("price", "--winners", "barrier", "exscan", "--ranks", "2").stdout)
    assert [(row["machine"], row["collective"]) for row in found] == [(name, call) for name in machines for call in ("barrier", "exscan")]
    for row in found:
        assert [winner["bytes"] for winner in row["winners"]][:2] == ([0] if row["collective"] == "barrier" else [8, 32])
        assert all(winner["ns"] > 0 for winner in row["winners"]), row
    (wide,) = json.loads(native("price", "--winners", "exscan", "--machine", "zoot", "--ranks", "2", "--type", "complex_double").stdout)
    assert wide["winners"][0]["bytes"] == 32, "8 bytes are half an element"
    (strict,) = json.loads(native("price", "--winners", "allreduce", "--machine", "zoot", "--ranks", "5", "--strict").stdout)
    (any_order,) = json.loads(native("price", "--winners", "allreduce", "--machine", "zoot", "--ranks", "5").stdout)
    assert strict["winners"] != any_order["winners"]


def test_recorded_rows_are_what_the_price_finds(native):
    """`copse-native price --rows --machine zoot > src/choose/recorded/zoot.def` makes them anew, in a minute. Here are those of few ranks."""
    rows = (paths.ROOT / "src/choose/recorded/zoot.def").read_text().splitlines()
    found = native("price", "--rows", "--machine", "zoot", "--ranks", "4").stdout.splitlines()
    assert len(found) > 10 and found == [row for row in rows if ", 3, 5, " in row or not row.startswith("ROW")]


def test_who_wins_where_is_drawn(copse, native, tmp_path):
    picture = tmp_path / "new" / "winners.png"
    done = copse("price", "--plot", picture, "broadcast", "allreduce", "--ranks", "2")
    assert done.returncode == 0, done.stderr
    assert f"for {2 * len(json.loads(native('price', '--machines', '--json').stdout))} machines and collectives" in done.stdout, "all recorded ones"
    assert picture.read_bytes().startswith(b"\x89PNG") and [file.name for file in picture.parent.iterdir()] == ["winners.png"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["--plot"], "--plot needs the name of a picture"), (["--plot", "allreduce"], "--plot needs"), (["--plot", "x.png", "allredce"], "did you mean 'allreduce'?")],
)
def test_a_picture_that_cannot_be_drawn_is_refused(copse, tmp_path, arguments, complaint):
    done = copse("price", *arguments)
    assert done.returncode == 2 and complaint in done.stderr, done.stderr


def test_every_winner_has_its_own_colour():
    names = [f"a{i}" for i in range(12)]
    colours = price.colours_of([{"winners": [{"algorithm": name} for name in names]}])
    assert len(set(colours.values())) == len(names)


WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from copse import files
n = 0
while True:
    n += 1
    with files.replaced(Path(sys.argv[2])) as new:
        with new.open("w") as out:
            for part in range(200):
                out.write(f"{n}\\n")
                out.flush()
            if n == 2:
                print("writes", flush=True)
"""


def test_an_interrupted_writer_leaves_a_whole_file(tmp_path):
    file = tmp_path / "table.json"
    for milliseconds in range(1, 41, 3):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, paths.ROOT / "faces" / "python", file], stdout=subprocess.PIPE, text=True)
        assert writer.stdout.readline() == "writes\n"
        with pytest.raises(subprocess.TimeoutExpired):
            writer.wait(milliseconds / 1000)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        lines = file.read_text().splitlines()
        assert len(lines) == 200 and len(set(lines)) == 1, milliseconds


def test_a_writer_that_fails_changes_nothing(tmp_path):
    file = tmp_path / "table.json"
    file.write_text("old")
    with pytest.raises(KeyboardInterrupt), files.replaced(file) as new:
        new.write_text("ne")
        raise KeyboardInterrupt
    assert file.read_text() == "old" and os.listdir(tmp_path) == ["table.json"]
