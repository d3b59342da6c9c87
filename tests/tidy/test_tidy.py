"""The rules of this repository that a machine can check. Each is checked here, on every file that git tracks."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

ROOT = Path(__file__).resolve().parents[2]
THIS = Path(__file__).resolve()
LINES_OF_CODE_MAX = 800

TRACKED = [
    path
    for name in subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    if name and (path := ROOT / name).is_file()
]
CODE_SUFFIXES = {".c", ".cpp", ".h", ".hpp", ".def", ".py", ".sh", ".cmake"}
CODE = [
    path
    for path in TRACKED
    if path.suffix in CODE_SUFFIXES or path.name in ("CMakeLists.txt", "Makefile") or path.parent.name == "tools"
]
SOURCES = [path for path in CODE if path.name != "CMakeLists.txt"]
DOCUMENTS = [path for path in TRACKED if path.suffix == ".md"]


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def found(pattern: str, files: list[Path]) -> list[str]:
    """Returns every place where the pattern occurs, as file:line: text."""
    compiled = re.compile(pattern)
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files
        if path != THIS
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if compiled.search(line)
    ]


MACHINE_PATH = r"(?<![\w.\-}/)])/(work|home|root|opt|Users|mnt)/\w"
REGISTRY_HOST = r"(pypi\.org|pythonhosted\.org|deb\.debian\.org|security\.debian\.org|anaconda\.org|registry\.npmjs)"
UNFINISHED = r"\b(TODO|FIXME|XXX|HACK)\b"


def test_the_patterns_find_what_they_forbid():
    assert re.search(MACHINE_PATH, 'open("/home/someone/data")') and re.search(MACHINE_PATH, "see /work/main")
    assert not re.search(MACHINE_PATH, "at work/home/ and ../work/x, see src/opt/")
    assert re.search(REGISTRY_HOST, "pip install --index-url https://pypi.org/simple")
    assert re.search(UNFINISHED, "// TODO: later") and not re.search(UNFINISHED, "METHODOLOGY TODOS")


@pytest.mark.parametrize(
    "rule, pattern",
    [
        ("no path of one machine", MACHINE_PATH),
        ("no host of a package registry", REGISTRY_HOST),
        ("nothing left unfinished in place", UNFINISHED),
        ("no conflict marker", r"^(<<<<<<<|>>>>>>>) "),
    ],
)
def test_forbidden_text(rule, pattern):
    assert found(pattern, TRACKED) == [], rule


def test_files_stay_readable():
    """A file that holds two ideas is two files."""
    long = {
        str(path.relative_to(ROOT)): lines
        for path in CODE
        if (lines := sum(1 for line in text_of(path).splitlines() if line.strip())) > LINES_OF_CODE_MAX
    }
    assert long == {}, f"more than {LINES_OF_CODE_MAX} lines that are not blank"


LAYOUT = ROOT / ".clang-format"
LINE_MAX = int(re.search(r"^ColumnLimit: (\d+)", LAYOUT.read_text(), re.MULTILINE)[1])
FORMATTER = Path(sys.executable).with_name("clang-format")


def badly_laid_out(files: list[Path]) -> list[str]:
    """Returns the lines of C and C++ that clang-format would change, and those that are too long. It leaves comments and long texts alone."""
    formatted = [str(path) for path in files if path.suffix != ".def"]  # a list of macro calls is no C++
    done = subprocess.run([FORMATTER, f"--style=file:{LAYOUT}", "--dry-run", "-Werror", *formatted], capture_output=True, text=True)
    wrong = re.findall(r"^(\S+:\d+):\d+: error", done.stderr, re.MULTILINE)
    assert bool(wrong) == (done.returncode != 0), done.stderr
    return wrong + [f"{path}:{number}" for path in files for number, line in enumerate(text_of(path).splitlines(), 1) if len(line) > LINE_MAX]


def test_every_file_has_the_layout():
    """`build/venv/bin/clang-format -i FILE` makes it."""
    files = [path for path in CODE if path.suffix in (".c", ".cpp", ".h", ".hpp", ".def")]
    assert len(files) > 400 and badly_laid_out(files) == []


def test_a_wrong_layout_is_noticed(tmp_path):
    source = tmp_path / "wrong.cpp"
    source.write_text(f"int f() {{ return 1; }}\nint  g();\n// {'long' * 40}\n")
    assert badly_laid_out([source]) == [f"{source}:2", f"{source}:3"]


FUNCTION_LINES_MAX, FIELDS_MAX = 60, 12
CPP = Parser(Language(tree_sitter_cpp.language()))


def nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from nodes(child)


def comment_above(node: Node) -> str:
    """The comment that ends on the line before a function or class, or before the template or declaration that it is in."""
    while node.parent and node.parent.type in ("template_declaration", "declaration", "field_declaration", "linkage_specification"):
        node = node.parent
    text, before, line = "", node.prev_sibling, node.start_point[0]
    while before and before.type == "comment" and before.end_point[0] == line - 1:
        text, line, before = before.text.decode() + "\n" + text, before.start_point[0], before.prev_sibling
    return text


def fields_of(body: Node) -> int:
    """The fields of a class. If a field's own class is declared with it, that class's fields count instead."""

    def weight(member: Node) -> int:
        declared = member.child_by_field_name("type")
        inside = declared.child_by_field_name("body") if declared.type in ("struct_specifier", "class_specifier") else None
        return fields_of(inside) if inside else 1

    return sum(
        weight(member)
        for member in body.children
        if member.type == "field_declaration" and not any(part.text == b"static" for part in member.children)
        for name in member.children_by_field_name("declarator")
        if not any(part.type == "function_declarator" for part in nodes(name))
    )


def oversized(source: bytes) -> list[str]:
    """Functions and classes over the limits whose comment does not say why, by a sentence that begins `Long:` or `Many fields:`."""
    found = []
    for node in nodes(CPP.parse(source).root_node):
        lines, fields = node.end_point[0] - node.start_point[0] + 1, 0
        name = node.child_by_field_name("declarator" if node.type == "function_definition" else "name")
        if node.type in ("class_specifier", "struct_specifier") and (body := node.child_by_field_name("body")):
            fields = fields_of(body)
        too_long = node.type == "function_definition" and lines > FUNCTION_LINES_MAX and "Long: " not in comment_above(node)
        if too_long or (fields > FIELDS_MAX and "Many fields: " not in comment_above(node)):
            size = f"{fields} fields" if fields else f"{lines} lines"
            found.append(f"{name.text.decode().split('(')[0] if name else '?'}: {size}")
    return found


def test_limits_are_noticed():
    fields = "".join(f"int f{i} = {i}; " for i in range(FIELDS_MAX + 1))
    body = "\n" * FUNCTION_LINES_MAX
    assert oversized(f"struct S {{ {fields} int g(); static int h; }};".encode()) == [f"S: {FIELDS_MAX + 1} fields"]
    assert oversized(f"struct S {{ struct {{ {fields} }} inside; }};".encode())[0] == f"S: {FIELDS_MAX + 1} fields"
    assert oversized(f"// A row.\n// Many fields: it is one.\nstruct S {{ {fields} }};".encode()) == []
    assert oversized(f"template <class T>\nint f(T t) {{{body}}}".encode()) == [f"f: {FUNCTION_LINES_MAX + 1} lines"]
    assert oversized(f"// Long: it must be.\ntemplate <class T>\nint f(T t) {{{body}}}".encode()) == []


def test_functions_are_short_and_classes_small():
    files = [path for path in CODE if path.suffix in (".cpp", ".hpp") and path.relative_to(ROOT).parts[0] in ("src", "faces")]
    assert len(files) > 200
    assert {str(path.relative_to(ROOT)): large for path in files if (large := oversized(path.read_bytes()))} == {}


COMMENT_STARTS = ("//", "/*", "#", '"""', 'r"""')
NOT_YET_A_COMMENT = ("#!", "#pragma", "#include", "#if", "#define")


def opens_with_a_comment(text: str) -> bool:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    while lines and (lines[0].startswith("#!") or lines[0] == "#pragma once"):
        lines.pop(0)
    return not lines or (lines[0].startswith(COMMENT_STARTS) and not lines[0].startswith(NOT_YET_A_COMMENT))


def test_opening_comments_are_recognised():
    assert opens_with_a_comment("#!/bin/sh\n# Does it.\n") and opens_with_a_comment("#pragma once\n\n// A tree.\n")
    assert not opens_with_a_comment("#include <x>\n// late\n") and not opens_with_a_comment("import os\n")


def test_every_source_opens_by_saying_what_it_is():
    silent = [str(path.relative_to(ROOT)) for path in SOURCES if not opens_with_a_comment(text_of(path))]
    assert silent == []


BORROWED_SUBJECT = re.compile(r"(//|/\*+) *(The same( for| with|[,.])|Returns the same|Like the |(Of|That of|Those of) )")


def borrowed_subjects(text: str) -> list[str]:
    """Returns the lines with which comments begin whose subject stands in the comment before. A reader of one function sees no other."""
    lines = [line.strip() for line in text.splitlines()]
    begins = [line for before, line in zip(["", *lines], lines) if not before.startswith("//")]
    return [line for line in begins if BORROWED_SUBJECT.match(line)]


def test_a_borrowed_subject_is_noticed():
    assert borrowed_subjects("// Adds.\nint f();\n  // The same for a pair.\nint g();\n/* Like the above. */\nint h();\n// Of rank 0.\nint i();\n") == [
        "// The same for a pair.",
        "/* Like the above. */",
        "// Of rank 0.",
    ]
    assert borrowed_subjects("// Returns a sum.\n// Returns the same on all ranks.\nint f();\n// The same plans run again.\nint g();\n") == []


def test_every_comment_names_its_subject():
    files = [path for path in CODE if path.suffix in (".c", ".cpp", ".h", ".hpp", ".def")]
    assert {str(path.relative_to(ROOT)): lines for path in files if (lines := borrowed_subjects(text_of(path)))} == {}


def algorithm_files() -> list[Path]:
    """Returns one file for each row of the registry."""
    rows = re.findall(r"^ALGORITHM\((\w+), (\w+),", text_of(ROOT / "src/algorithms/registry.def"), re.MULTILINE)
    return [ROOT / "src/algorithms" / f"{collective}_{name}.cpp" for collective, name in rows]


def lacks_its_note(text: str) -> bool:
    """Tells whether the opening comment lacks what the algorithm is, what it costs, or when it wins. The documents
    quote it."""
    comment = re.match(r"(?://.*\n)*", text)[0]
    return not re.match(r"// \w+, [^\n]+\n(?://(?! Cost:| Wins:).*\n)*// Cost: \S.*\n(?://.*\n)*// Wins: \S", comment)


def test_every_algorithm_says_what_it_costs_and_when_it_wins():
    assert not lacks_its_note("// reduce, x: it\n// goes on.\n// Cost: a + b\n// and c\n// Wins: always\n\nint x;\n")
    assert lacks_its_note("// reduce, x: it\n// Wins: always\n") and lacks_its_note("// Cost: a\n// Wins: always\n")
    assert lacks_its_note("// reduce, x: it\n// Cost: a\n\n// Wins: late\n")
    files = algorithm_files()
    assert len(files) > 40
    assert [file.name for file in files if not file.exists() or lacks_its_note(text_of(file))] == []


def broken_links(document: Path) -> list[str]:
    """Returns the relative links of a document whose target does not exist."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text_of(document), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", prose)
    local = [target.split("#")[0] for target in targets if not re.match(r"[a-z]+:|#", target)]
    return [f"{document.name}: {target}" for target in local if not (document.parent / target).exists()]


def test_links_of_documents_lead_somewhere(tmp_path):
    planted = tmp_path / "a.md"
    planted.write_text("[this](a.md), [that](absent.md#x), [far](https://example.org/), `[code](none)`")
    assert broken_links(planted) == ["a.md: absent.md"]
    assert [link for document in DOCUMENTS for link in broken_links(document)] == []


def test_every_page_of_the_docs_is_in_their_index():
    index = text_of(ROOT / "docs" / "README.md")
    pages = [path.relative_to(ROOT / "docs") for path in DOCUMENTS if (ROOT / "docs") in path.parents]
    assert [str(page) for page in pages if page.name != "README.md" and f"({page})" not in index] == []


MODEL_ORDERS = ROOT / "tests/models/src/orders.rs"
MODELLED_ROOMS = ("src/engine", "src/communicator")
NOT_MODELLED = {
    "src/communicator/card.cpp",  # one number of the process, on which no other data depends
    "src/communicator/helper.cpp",  # its threads hand communicators over under a lock
}


def modelled_accesses(table: str) -> list[tuple[str, str, str]]:
    """Returns file, order and text of each access in the models' table."""
    rows = re.findall(r'Access \{ site: [\w:]+, file: "([^"]+)", order: (\w+),.*?text: "([^"]+)" \}', table, re.DOTALL)
    assert len(rows) == table.count("Access { site:")
    return rows


def unlike_the_models(rows: list[tuple[str, str, str]], sources: dict[str, str]) -> list[str]:
    wrong = [f"{file}: no longer has: {text}" for file, _, text in rows if text not in sources.get(file, "")]
    wrong += [f"the models have {order} for: {text}" for _, order, text in rows if f"memory_order_{order.lower()}" not in text]
    for file, source in sources.items():
        lines = [line.strip() for line in source.splitlines() if "memory_order_" in line]
        known = [text for its, _, text in rows if its == file]
        wrong += [f"{file}: not in {MODEL_ORDERS.name}: {line}" for line in lines if not any(text in line for text in known)]
    return wrong


def test_the_models_have_the_orders_of_the_source():
    """A change to an access on which the protocol rests is also a change to its model (tests/models, `tools/test --step
    models`)."""
    sources = {
        name: text_of(path)
        for path in SOURCES
        if (name := str(path.relative_to(ROOT))).startswith(MODELLED_ROOMS) and name not in NOT_MODELLED
    }
    rows = modelled_accesses(text_of(MODEL_ORDERS))
    assert unlike_the_models(rows, sources) == []
    line = "src/engine/signal/line.hpp"
    weaker = {**sources, line: sources[line].replace("memory_order_acquire", "memory_order_relaxed")}
    assert len(unlike_the_models(rows, weaker)) > 1
