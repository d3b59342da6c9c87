#!/usr/bin/env python3
"""Measures how long Copse takes to measure a machine and to make a tuning table, each as a user runs it, beside the time that it may take.

On a busy machine it may take as much longer as others have of the processors. The exit code is 1 if something took longer. The table says
what others had. The files are thrown away.

    build/venv/bin/python bench/durations.py [--only calibrate,quick,whole] [--document]
"""

import argparse
import tempfile
from pathlib import Path

from copse import bench, paths, quiet, tables, variables
from copse.errors import run_script

DOCUMENT = paths.ROOT / "docs" / "tuning.md"
# What is run, and the seconds that it may take.
COMMANDS = {"calibrate": (["calibrate"], 20), "quick": (["tune", "--quick", "--busy"], 30), "whole": (["tune", "--busy"], 600)}
COLUMNS = ["command", "seconds", "may take", "others had"]
TIMEOUT = 6  # times what it may take


def allowed(seconds: float, others: float) -> float:
    """Returns the seconds that something may take while others have so much of the processors, from 0 to 1."""
    return seconds / (1 - min(others, 0.9))


def measured(arguments: list[str], may_take: float, folder: Path) -> tuple[float, float]:
    """Returns the seconds that a command takes, and the part of the processors that others had."""
    command = [str(paths.ROOT / "tools" / "copse"), *arguments, "--output", str(folder / f"{arguments[0]}.json")]
    before = quiet.Times.now()
    tables.completed(f"copse {' '.join(arguments)}", command, variables.without(), TIMEOUT * may_take)
    after = quiet.Times.now()
    return after.clock - before.clock, after.share_of_others_since(before)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(COMMANDS))
    options = tables.parsed(parser, DOCUMENT, "durations")
    table, late = tables.GrowingTable(COLUMNS), False
    for name in bench.chosen_words(options.only, tuple(COMMANDS), "command"):
        arguments, may_take = COMMANDS[name]
        with tempfile.TemporaryDirectory() as folder:
            seconds, others = measured(arguments, may_take, Path(folder))
        table.put([f"`copse {' '.join(arguments)}`", f"{seconds:.1f}", str(may_take), f"{others:.0%}"])
        late |= seconds > allowed(may_take, others)
    if options.document:
        table.write(DOCUMENT, options.marks)
    return int(late)


if __name__ == "__main__":
    run_script(main)
