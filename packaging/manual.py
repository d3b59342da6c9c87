"""The manual pages, written from the command line as typer knows it and from the table of variables.

copse(1) lists the commands, copse-<command>(1) each one's options, and copse(7) the variables. A command that hands its
arguments to copse-native has the text that it prints for --help. The pages are in roff, with the macros of man(7).
"""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from typer.core import TyperArgument, TyperCommand, TyperGroup

FOR_MORE = "The documents lie in share/doc/copse; docs/troubleshooting.md there goes by symptom."
LIBRARY = "the C library, <copse/copse.h>"


def plain(text: str) -> str:
    """Returns text that roff prints as it is: with its backslashes, hyphens, and lines that begin with a dot or quote."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def bold(text: str) -> str:
    return f"\\fB{plain(text)}\\fR"


def head(name: str, section: int, version: str, summary: str) -> str:
    return f'.TH "{name.upper()}" "{section}" "" "Copse {version}" "Copse"\n.SH NAME\n{plain(name)} \\- {plain(summary)}\n'


def items(pairs: Iterable[tuple[str, str]]) -> str:
    """Returns a list of terms, which are roff already, with their explanations, which are not."""
    return "".join(f".TP\n{term}\n{plain(meaning)}\n" for term, meaning in pairs)


def see_also(names: Iterable[str]) -> str:
    return ".SH SEE ALSO\n" + ",\n".join(f".BR {plain(name)} ({section})" for name, section in (n.split(".") for n in names)).replace(" (", " (") + "\n"


def sentence(text: str | None) -> str:
    return " ".join((text or "").split())


def summary_of(command: TyperCommand) -> str:
    first = sentence(re.split(r"(?<=[.])\s|\n\n", (command.help or "").strip())[0])
    return (first[:1].lower() + first[1:]).rstrip(".")


def takes_all(command: TyperCommand) -> bool:
    return not command.params


def options_of(command: TyperCommand) -> str:
    context = command.make_context(command.name, [], resilient_parsing=True)
    pairs = []
    for parameter in command.params:
        if isinstance(parameter, TyperArgument):
            pairs.append((bold(parameter.metavar or parameter.name.upper()), sentence(parameter.help)))
        elif record := parameter.get_help_record(context):
            pairs.append((bold(sentence(record[0])), sentence(record[1])))
    return items(pairs)


def native_help(command: list[str]) -> str:
    done = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
    return done.stdout.replace("copse-native ", "copse ")


def page(command: TyperCommand, version: str, native: Path) -> str:
    name = f"copse-{command.name}"
    text = head(name, 1, version, summary_of(command))
    context = command.make_context(command.name, [], resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    text += f".SH SYNOPSIS\n{bold(f'copse {command.name}')} {plain(usage or '[OPTIONS]')}\n"
    paragraphs = [sentence(part) for part in (command.help or "").split("\n\n")]
    text += ".SH DESCRIPTION\n" + "\n.PP\n".join(map(plain, paragraphs)) + "\n"
    if takes_all(command):
        said = native_help([str(native), command.name])
        text += f".PP\n.nf\n{plain(said.rstrip())}\n.fi\n"
    else:
        text += ".SH OPTIONS\n" + options_of(command)
    text += ".SH ENVIRONMENT\nThe variables of\n.BR copse (7).\n"
    return text + EXIT + see_also(["copse.1", "copse.7"])


EXIT = """.SH EXIT STATUS
2 where the command line, a variable or a file is wrong; the message names the mistake and the remedy. Otherwise 0, or what the
started program returned.
"""


def overview(group: TyperGroup, version: str) -> str:
    text = head("copse", 1, version, "collective communication for machines whose memory is not uniform")
    text += f".SH SYNOPSIS\n{bold('copse')} COMMAND [ARGUMENTS]\n"
    text += (
        ".SH DESCRIPTION\nCopse runs the collectives of an unmodified MPI program on its own engine:\n.PP\n.nf\n"
        f"    {bold('copse run mpirun -n 4 ./app')}\n.fi\n.PP\n"
        f"{plain(f'Threads and processes without MPI call {LIBRARY}. {FOR_MORE}')}\n.SH COMMANDS\n"
    )
    commands = group.commands.values()
    text += items((bold(command.name), f"{sentence(command.help)} See copse-{command.name}(1).") for command in commands)
    text += ".SH OPTIONS\n" + options_of(group)
    return text + EXIT + see_also([*(f"copse-{command.name}.1" for command in commands), "copse.7"])


def variables_page(version: str, rows: list[dict[str, str]]) -> str:
    text = head("copse", 7, version, "the environment variables of Copse")
    text += (
        ".SH DESCRIPTION\n" + plain("An unknown variable that begins with COPSE_, or a wrong value, is a mistake: copse and the C library "
        "refuse it, and in an MPI program rank 0 says so once and every call is passed on to the MPI. A variable that is empty counts "
        "as not set. All ranks must have the same ones.") + "\n.SH VARIABLES\n"
    )  # fmt: skip
    text += items(
        (f"{bold(row['name'])}={plain(row['values'])}", f"{row['meaning']}. Default: {row['default']}.") for row in rows
    )
    return text + see_also(["copse.1", "copse-run.1"])


def write(folder: Path, group: TyperGroup, version: str, rows: list[dict[str, str]], native: Path) -> None:
    """Writes all pages below `folder` (man1, man7). `rows` is the table of variables, as `copse info --env --json` has it."""
    pages: dict[str, str] = {"man1/copse.1": overview(group, version), "man7/copse.7": variables_page(version, rows)}
    for command in group.commands.values():
        pages[f"man1/copse-{command.name}.1"] = page(command, version, native)
    for name, text in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
