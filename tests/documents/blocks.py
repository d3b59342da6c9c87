"""Finds what a reader would type or copy: the commands and the examples of a document, in their order."""

import re
from dataclasses import dataclass
from pathlib import Path

COMMANDS = ""  # an indented block: a command a line, or a program in Python
INDENT = "    "


@dataclass(frozen=True)
class Item:
    """One command, or one whole example. The first line, without the comment behind it, is its name."""

    document: str
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        return self.text.splitlines()[0]


def readable(path: Path) -> list[str]:
    """Returns the lines of a document. Of a program, these are its opening comment."""
    text = path.read_text()
    if path.suffix == ".py":
        return re.match(r'"""(.*?)"""', text, re.DOTALL)[1].splitlines()
    if path.suffix in (".c", ".cpp"):
        opening = re.match(r"(?:(?:/\*| \*|//).*\n)*", text)[0]
        return [re.sub(r"^(?:/\*| \*/?|//) ?", "", line) for line in opening.splitlines()]
    return text.splitlines()


def command(line: str) -> str:
    return re.sub(r"\s+# .*", "", line.strip())


def items(path: Path, document: str) -> list[Item]:
    """Returns the items of a document. Left out is what tools/docs writes, because another test compares that with the code.
    """
    found: list[Item] = []
    lines = readable(path)
    generated, at = False, 0
    while at < len(lines):
        start, line = at, lines[at]
        at += 1
        if line.startswith(("<!-- generated:", "<!-- peers:begin")):
            generated = True
        elif line.startswith(("<!-- end", "<!-- peers:end")):
            generated = False
        elif line.startswith("```"):
            while not lines[at].startswith("```"):
                at += 1
            if not generated:
                found.append(Item(document, start + 1, line[3:].strip(), "\n".join(lines[start + 1 : at])))
            at += 1
        elif line.startswith(INDENT) and not lines[start - 1].strip():
            while at < len(lines) and lines[at].startswith(INDENT):
                at += 1
            block = [text.removeprefix(INDENT) for text in lines[start:at]]
            if re.match(r"(?:from|import) \w", block[0]):
                found.append(Item(document, start + 1, "python", "\n".join(block)))
            else:
                found += [Item(document, start + 1 + n, COMMANDS, command(text)) for n, text in enumerate(block)]
    return found
