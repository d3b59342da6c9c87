"""What documents say about the code agrees with the code."""

import re
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

from copse import paths

SRC = paths.ROOT / "src"
FACES = paths.ROOT / "faces"
TOOL = paths.ROOT / "tools" / "docs"
ARCHITECTURE = paths.ROOT / "docs" / "architecture.md"
DECISION_WORDS_MAX = 300
LONGER = {"shared-heap.md", "security.md"}  # a design note, and a table


@pytest.fixture
def docs(run, native_binary):
    return lambda *arguments: run([sys.executable, TOOL, "--native", native_binary, *arguments])


def test_generated_parts_are_up_to_date(docs):
    done = docs("--check")
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_a_stale_part_is_found_and_mended(docs, tmp_path):
    page = tmp_path / "page.md"
    fresh = (paths.ROOT / "docs" / "environment.md").read_text()
    stale = fresh.replace("| `COPSE_TRACE` |", "| `COPSE_TRACES` |")
    page.write_text(stale)
    done = docs("--check", page)
    assert done.returncode == 1 and "run: tools/docs" in done.stdout and page.read_text() == stale
    assert docs(page).returncode == 0
    assert page.read_text() == fresh


def test_the_c_library_page_names_every_call():
    header = (paths.ROOT / "include" / "copse" / "collectives.h").read_text()
    calls = re.findall(r"^COPSE_COLLECTIVE\((\w+),", header, re.MULTILINE)
    page = (paths.ROOT / "docs" / "c-library.md").read_text()
    rows = [row.split("|")[1] for row in page.splitlines() if row.startswith("| `")][1:]
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(calls)
    header = (paths.ROOT / "include" / "copse" / "copse.h").read_text()
    assert set(re.findall(r"COPSE_ERROR_\w+", page)) <= set(re.findall(r"^  (COPSE_ERROR_\w+) =", header, re.MULTILINE))


@pytest.fixture(scope="module")
def house():
    """Loads tools/docs as a module, because it knows the rooms."""
    loader = SourceFileLoader("docs", str(TOOL))
    module = module_from_spec(spec_from_loader("docs", loader))
    loader.exec_module(module)
    return module


def test_every_folder_is_a_room(house):
    with_sources = {path.parent for floor in (SRC, FACES) for path in floor.rglob("*.cpp")}
    assert [folder for folder in with_sources if not house.room_of(folder / "any.cpp")] == []
    assert all(house.sources(folder) for folder, _ in house.rooms().values())
    listed = re.search(r"foreach\(room (.+?)\)", (SRC / "CMakeLists.txt").read_text())[1].split()
    assert [room for room in house.rooms() if (SRC / room).is_dir()] == listed


def going_up(order: list[str], arrows: dict[str, dict[str, list[str]]]) -> list[str]:
    """Returns the includes of rooms that do not lie below, and of one face by another. Without these, rooms form no
    cycle."""
    return [
        place
        for room, uses in arrows.items()
        for other, places in uses.items()
        if order.index(other) > order.index(room) or other.startswith("faces/")
        for place in places
    ]


def test_rooms_include_only_rooms_below_them(house):
    assert going_up(list(house.rooms()), house.arrows()) == []
    assert going_up(["plan", "engine", "faces/c"], {"plan": {"engine": ["here"]}, "engine": {"plan": ["fine"]}}) == ["here"]
    assert going_up(["faces/c", "faces/mpi"], {"faces/mpi": {"faces/c": ["there"]}}) == ["there"]
    arrows = house.arrows()
    assert "topology" in arrows["shape"] and "heap" in arrows["communicator"] and "communicator" in arrows["faces/c"]


def circle(uses: dict[str, set[str]]) -> list[str]:
    """Returns what remains after removing, again and again, everything that needs nothing else that remains, or that nothing else
    needs."""
    left = {name: needs - {name} for name, needs in uses.items()}
    while free := [name for name, needs in left.items() if not needs & left.keys() or not any(name in other for other in left.values())]:
        for name in free:
            del left[name]
    return sorted(left)


def part_of(file: Path) -> str:
    """A .hpp and its .cpp are one part. A list of rows is a part by itself."""
    return file.name if file.suffix == ".def" else file.stem


def parts_of(house, folder: Path) -> dict[str, set[str]]:
    """Returns what each part of a folder includes of the other parts there."""
    parts: dict[str, set[str]] = {}
    for source in house.sources(folder):
        needs = {part_of(file) for file in house.included(source) if file.parent == folder}
        parts.setdefault(part_of(source), set()).update(needs)
    return parts


def test_parts_of_a_face_include_one_another_in_one_direction(house):
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"c"}}) == [] and circle({"a": {"b"}, "b": {"a"}, "c": {"a"}}) == ["a", "b"]
    assert {face.name: found for face in FACES.iterdir() if (found := circle(parts_of(house, face)))} == {}


def test_parts_of_a_room_include_one_another_in_one_direction(house):
    rooms = {path.parent for path in (paths.ROOT / "src").rglob("*.hpp")}
    assert {room.name: found for room in rooms if (found := circle(parts_of(house, room)))} == {}


def rows_of_the_standard() -> list[list[str]]:
    text = (paths.ROOT / "docs" / "standard.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("| ")]
    return [row for row in rows if row[0] not in ("§", "---")]


def missing(row: list[str]) -> list[str]:
    """Returns what the last two cells of a row name although it does not exist."""
    return [
        name
        for cell, folders, defined in ((row[2], ("faces/mpi", "src"), r"\b{}\b"), (row[3], ("tests/mpi", "tests"), DEFINED))
        for name in re.findall(r"`([^`]+)`", cell)
        if not names_something(name, folders, defined)
    ]


DEFINED = r"(?:def {0}|\b{0}\([^;]*?\) \{{|^TEST\w*\(\w+, {0}\))"  # a test, or a function that tests call


def names_something(name: str, folders: tuple[str, ...], defined: str) -> bool:
    if name.startswith("COPSE_"):
        return f"`{name}`" in (paths.ROOT / "docs" / "environment.md").read_text()
    file, _, word = name.partition("::")
    found = [paths.ROOT / folder / file for folder in folders if (paths.ROOT / folder / file).is_file()]
    return any(re.search(defined.format(word), path.read_text(), re.MULTILINE) for path in found) if word else bool(found)


def test_the_standard_names_what_exists():
    rows = rows_of_the_standard()
    assert len(rows) >= 150 and {len(row) for row in rows} == {4}
    assert {tuple(row): missing(row) for row in rows if missing(row)} == {}
    assert [row for row in rows if not row[2] or not re.match(r"`\S+::\w+`|none: ", row[3])] == []


@pytest.mark.parametrize("kept, shown, wrong", [
    ("`moves.cpp::gather`", "`rare.c::part_rare`", []),
    ("`moves.cpp::gathers`, `absent.cpp`", "`kernels/copy_test.cpp::LongLengths`", ["moves.cpp::gathers", "absent.cpp"]),
    ("the MPI", "`rare.c::MPI_Barrier`, `test_preload.py::part`", ["rare.c::MPI_Barrier", "test_preload.py::part"]),
    ("(`COPSE_CHECK`, `COPSE_CHEK`)", "none: no reason", ["COPSE_CHEK"]),
])  # fmt: skip
def test_what_the_standard_names_wrongly_is_found(kept, shown, wrong):
    assert missing(["", "", kept, shown]) == wrong


def test_decisions_are_short():
    words = {}
    for note in (paths.ROOT / "docs" / "decisions").glob("*.md"):
        if note.name not in LONGER:
            words[note.name] = len(re.sub(r"^\|[-| ]+$|\|", " ", note.read_text(), flags=re.MULTILINE).split())
    assert len(words) >= 7 and {name: n for name, n in words.items() if n > DECISION_WORDS_MAX} == {}


CHANGELOG_WORDS_MAX = 400  # of a version: two minutes


def test_the_changelog_is_short_and_begins_with_this_version():
    version = re.search(r"^project\(copse VERSION (\S+)", (paths.ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    for document in ("CHANGELOG.md", "docs/changes.md"):
        parts = re.split(r"^## ", (paths.ROOT / document).read_text(), flags=re.MULTILINE)[1:]
        assert parts[0].split()[0] == version, document
        if document == "CHANGELOG.md":
            assert [part.split()[0] for part in parts if len(part.split()) > CHANGELOG_WORDS_MAX] == []


def test_commands_in_the_documents_exist():
    """Every `copse <command>` in the documents names a command of the command line."""
    from copse import __main__

    known = {*__main__.COMMANDS}
    for document in [paths.ROOT / "README.md", *(paths.ROOT / "docs").rglob("*.md")]:
        used = set(re.findall(r"(?:`|/|^    )copse (\w+)", document.read_text(), re.MULTILINE))
        assert used <= known, document


def test_the_example_in_the_readme_compiles_and_runs(run, tmp_path):
    """Checks the C program of the README against the headers, and runs it if the library has been built."""
    text = (paths.ROOT / "README.md").read_text()
    program = re.search(r"```c\n(.*?)```", text, re.DOTALL)[1]
    source = tmp_path / "sum.c"
    source.write_text(program)
    include = ["-I", paths.ROOT / "include"]
    done = run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", *include, "-c", source, "-o", tmp_path / "sum.o"])
    assert done.returncode == 0, done.stderr
    library = paths.BUILD / "lib"
    if not (library / "libcopse.so").exists():
        subprocess.run([paths.ROOT / "tools" / "build", "release", "--target", "copse"], check=True, timeout=900)
    done = run(["gcc", tmp_path / "sum.o", "-L", library, f"-Wl,-rpath,{library}", "-lcopse", "-o", tmp_path / "sum"])
    assert done.returncode == 0, done.stderr
    name = f"readme-{tmp_path.name}"
    ranks = [
        subprocess.Popen([tmp_path / "sum", name, str(rank), "3"], stdout=subprocess.PIPE, text=True)
        for rank in range(3)
    ]
    said = [rank.communicate(timeout=60)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0, 0]
    assert said == [f"rank {rank} of 3: 6\n" for rank in range(3)]


NAME_OF_TEST = re.compile(r"`([A-Z]\w+\.[A-Z]\w+|test_\w+\.py::test_\w+)`")  # of GoogleTest, or of pytest


@pytest.mark.parametrize(("document", "before"), [("decisions/security.md", "## What each may do"), ("findings.md", "# What an")])
def test_tables_of_tests_name_some_that_exist(document, before):
    table = (paths.ROOT / "docs" / document).read_text().split(before)[1].split("\n## ")[0]
    rows = [row for row in table.splitlines() if row.startswith("| ")][2:]
    named = {row: NAME_OF_TEST.findall(row.rstrip(" |").split("|")[-1]) for row in rows}
    assert len(rows) > 15 and [row for row in rows if not named[row]] == []
    text = "\n".join(source.read_text() for source in (paths.ROOT / "tests").rglob("*.cpp"))
    existing = {".".join(pair) for pair in re.findall(r"^TEST(?:_[FP])?\((\w+), (\w+)\)", text, re.MULTILINE)}
    folders = ("tests/c", "tests/mpi", "tests/python")
    others = {name for names in named.values() for name in names} - existing
    assert [name for name in sorted(others) if not names_something(name, folders, DEFINED)] == []


def test_the_guide_names_every_verb_of_the_builder():
    header = (paths.ROOT / "src/plan/builder.hpp").read_text()
    public = header[header.index("class Builder {") : header.index(" private:", header.index("class Builder {"))]
    verbs = set(re.findall(r"^  (?:\[\[nodiscard\]\] )?(?:static )?(?:void|bool|Operand|Plan) (\w+)\(", public, re.MULTILINE))
    guide = (paths.ROOT / "docs/adding-an-algorithm.md").read_text()
    assert len(verbs) > 30
    assert [verb for verb in sorted(verbs) if f"`{verb}`" not in guide] == []
