#!/usr/bin/env python3
"""Counts the lines of C and C++ by room, at several commits, as a table of Markdown: lines that are neither blank nor a comment alone.

build/venv/bin/python bench/lines.py 0cf28f0 HEAD
"""

import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("include/copse", "faces/", "src/")
COMMENT = re.compile(r"\s*(//|/\*|\*(\s|/|$))")


def git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True, text=True).stdout


def lines_by_room(commit: str) -> Counter[str]:
    lines: Counter[str] = Counter()
    for path in git("ls-tree", "-r", "--name-only", commit).splitlines():
        if path.startswith(ROOMS) and Path(path).suffix in (".c", ".cpp", ".h", ".hpp", ".def"):
            text = git("show", f"{commit}:{path}")
            room = "/".join(path.split("/")[:2])
            lines[room] += sum(bool(line.strip()) and not COMMENT.match(line) for line in text.splitlines())
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commits", nargs="+", help="as git names them")
    columns = {commit: lines_by_room(commit) for commit in parser.parse_args().commits}
    rooms = sorted({room for lines in columns.values() for room in lines})
    print("| room |", " | ".join(columns), "|")
    print("| --- |" + " --- |" * len(columns))
    for room in rooms:
        print(f"| `{room}` |", " | ".join(str(lines[room]) for lines in columns.values()), "|")
    print("| all |", " | ".join(str(lines.total()) for lines in columns.values()), "|")
    return 0


if __name__ == "__main__":
    sys.exit(main())
