"""`copse run mpirun ...`: runs the user's own launcher command with Copse preloaded into the ranks. With --upc-threads, runs a
program for `<copse/upc.h>` itself.

The launcher replaces this process (exec), so the program keeps its standard streams and exit code. The launcher tells which
MPI is used; the program tells which of that MPI's two ABIs it uses. The preload is a launcher option, so that only the ranks
see it. A launcher that belongs to no MPI (a batch system's), whose MPI --flavour names, gets it through the environment.
A program for `<copse/upc.h>` is linked with no MPI. If an MPI's launcher starts it, that MPI is preloaded, too.
"""

from __future__ import annotations

import mmap
import os
import re
import shutil
import sys
from collections import namedtuple
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from . import flavours, native, paths, upc_libraries, variables
from .errors import CopseError

TYPE_CHECKING = False  # true for tools that read annotations; importing `typing` for the constant takes its time before each program
if TYPE_CHECKING:
    from typing import NoReturn

HEAP = "libcopse-heap.so"
EXAMPLE = "copse run mpirun -n 4 ./app"
UPC_EXAMPLE = "copse run --upc-threads 8 --upc-processes 2 ./app"
UPC_LIBRARY = "libcopse.so.0"


class Launcher(namedtuple("Launcher", "path family")):
    """An MPI launcher on this machine. `family` is None if the launcher belongs to no MPI that Copse knows."""


def identify_launcher(name: str) -> Launcher:
    """Finds `name` as a shell would, and tells to which MPI the launcher belongs.

    If there is exactly one libmpi beside it, that decides; otherwise its output for --version decides. The output cannot
    come first: Intel's mpirun is a script that runs and reports another MPICH's Hydra if its own folder is not on PATH.
    """
    if name.startswith("-"):
        raise CopseError(f"copse run has no option {name!r}", "copse run --help lists the options; the launcher's options follow its name")
    found = shutil.which(name)
    if not found:
        raise CopseError(f"launcher {name!r} was not found", f"give its path, or put its folder on PATH: {EXAMPLE}")
    resolved = Path(found).resolve()
    beside = flavours.family_in(resolved.parent.parent)
    if beside and resolved.name.startswith(("mpirun", "mpiexec", "prterun", "orterun")):
        return Launcher(Path(found), beside)
    printed = _version_text(found)
    for family in flavours.FAMILIES:
        if re.search(family.version_pattern, printed, re.DOTALL):
            return Launcher(Path(found), family)
    return Launcher(Path(found), None)


def _version_text(program: str) -> str:
    # Only a program with a launcher's name is run with --version. Any other might do its work whatever its arguments are.
    if not re.match(r"(mpi|orte|prte|hydra)", Path(program).resolve().name):
        return ""
    import subprocess

    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def string_in(program: Path, words: Sequence[str]) -> str | None:
    """Returns the first of the words that is a whole string in an executable, or None (also for an unreadable file)."""
    try:
        with program.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                return None
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return next((word for word in words if content.find(b"\0" + word.encode() + b"\0") >= 0), None)
    except OSError:
        return None


@cache
def linked_mpi(program: Path) -> str | None:
    """Returns the soname of an executable's libmpi, or None (for a script, an interpreter, or a program without MPI)."""
    classic = [soname for family in flavours.FAMILIES for soname in family.sonames]
    return string_in(program, [flavours.STANDARD_ABI_SONAME, *classic])


def brings_mpi(program: Path) -> bool:
    """Returns whether an executable contains an MPI of its own. Its calls then never leave it."""
    return string_in(program, ["PMPI_Init"]) is not None


def static_program(arguments: Sequence[str]) -> Path | None:
    """Returns the first of a launcher's arguments that is linked statically with its MPI."""
    found = (shutil.which(argument) for argument in arguments if not argument.startswith("-"))
    return next((Path(file) for file in found if file and linked_mpi(Path(file)) is None and brings_mpi(Path(file))), None)


def find_program(arguments: Sequence[str]) -> tuple[Path, str] | None:
    """Returns the first of a launcher's arguments that is an MPI executable, with the soname of its MPI."""
    for argument in arguments:
        found = None if argument.startswith("-") else shutil.which(argument)
        soname = linked_mpi(Path(found)) if found else None
        if soname:
            return Path(found), soname
    return None


def choose_preload(launcher: Launcher, family: flavours.Family, arguments: Sequence[str]) -> str:
    """Returns the name of the preload library for the program. Raises CopseError if launcher and program do not match."""
    program = find_program(arguments)
    if program is None:  # a script or mpi4py, which loads its MPI later
        standard = os.environ.get("MPI4PY_MPIABI") == "mpiabi"
        return flavours.STANDARD_ABI_PRELOAD if standard else family.preload
    path, soname = program
    if soname == flavours.STANDARD_ABI_SONAME:
        if family is flavours.OPEN_MPI:
            raise CopseError(
                f"{path} is linked with the MPI standard ABI ({soname}), which {launcher.path} ({family.title}) lacks",
                "start it with the mpirun of MPICH 5 or Intel MPI",
            )
        return flavours.STANDARD_ABI_PRELOAD
    owners = [owner for owner in flavours.FAMILIES if soname in owner.sonames]
    if family.preload not in {owner.preload for owner in owners}:
        raise CopseError(
            f"{path} is linked with {' or '.join(o.title for o in owners)} ({soname}), but {launcher.path} belongs to "
            f"{family.title}",
            f"start it with the mpirun of {' or '.join(o.title for o in owners)}, or recompile it",
        )
    return family.preload


def is_upc_program(arguments: Sequence[str]) -> bool:
    """Tells whether a launcher starts a program that is linked with Copse's C library, and with no MPI."""
    found = (shutil.which(argument) for argument in arguments if not argument.startswith("-"))
    return find_program(arguments) is None and any(file and string_in(Path(file), [UPC_LIBRARY]) for file in found)


def library_of(launcher: Launcher, family: flavours.Family) -> Path:
    """Returns the libmpi that belongs to a launcher: the one beside it, or else the one that the loader finds."""
    prefix = launcher.path.resolve().parent.parent
    beside = flavours.library_in([prefix / "lib", prefix / "lib64"], family)
    if found := beside or flavours.library_in(flavours.loader_folders(), family):
        return found
    raise CopseError(
        f"{launcher.path} belongs to {family.title}, whose {' or '.join(family.sonames)} was not found",
        "name a launcher whose library lies beside it",
    )


def preload_value(names: Sequence[str | Path], inherited: str | None) -> str:
    """Returns LD_PRELOAD for the ranks: Copse's libraries and others by their paths, then what the caller already preloads."""
    files = [paths.PRELOAD_FOLDER / name for name in names]
    for file in files:
        if not file.exists():
            raise CopseError(f"the preload library {file} is missing", paths.make("build"))
        if re.search(r"[\s:]", str(file)):
            raise CopseError(f"LD_PRELOAD cannot hold the path {file!r}", "move Copse to a path without space or colon")
    return ":".join([*map(str, files), *filter(None, [inherited])])


def launch_command(
    launcher: Launcher, arguments: Sequence[str], preload: str, environment: dict[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Returns the command and the environment that start the ranks with `preload`."""
    family = launcher.family
    if family is None:
        return [str(launcher.path), *arguments], {**environment, "LD_PRELOAD": preload}
    options = family.variable("LD_PRELOAD", preload)
    if family is not flavours.OPEN_MPI:
        return [str(launcher.path), *options, *arguments], environment
    # Hydra passes the whole environment to ranks on other nodes. Open MPI passes only what -x names. In Open MPI 4.1, -x
    # is an option of one program, so each program of a colon-separated command needs its own.
    for name, value in environment.items():
        if name.startswith(variables.PREFIX):
            options += family.variable(name, value)
    command = [str(launcher.path), *options]
    for argument in arguments:
        command += [argument, *options] if argument == ":" else [argument]
    return command, environment


def intel_environment(launcher: Launcher, environment: dict[str, str]) -> dict[str, str]:
    """Sets the variables by which Intel MPI's scripts find their parts, unless its vars.sh has set them."""
    if launcher.family is not flavours.INTEL or "I_MPI_ROOT" in environment:
        return environment
    prefix = launcher.path.resolve().parent.parent
    return {
        "FI_PROVIDER_PATH": str(prefix / "lib"),
        **environment,
        "I_MPI_ROOT": str(prefix),
        "PATH": f"{prefix / 'bin'}:{environment.get('PATH', os.defpath)}",
        "LD_LIBRARY_PATH": ":".join(filter(None, [str(prefix / "lib"), environment.get("LD_LIBRARY_PATH")])),
    }


FLAG_FIELDS = ("shared_heap", "trace", "quiet", "check")
DEFAULTS = {
    **dict.fromkeys(FLAG_FIELDS, False),
    "algorithm": None,
    "flavour": "auto",
    "upc_threads": None,
    "upc_processes": None,
    "upc_collectives": None,
    "collective_processors": None,
}
NUMBER_FIELDS = ("upc_threads", "upc_processes")
OPTIONS = {f"--{name.replace('_', '-')}": name for name in DEFAULTS}


class Options(namedtuple("Options", DEFAULTS, defaults=DEFAULTS.values())):
    """What the user asks of `copse run` before the launcher's name."""


def without_parser(arguments: Sequence[str]) -> tuple[list[str], Options] | None:
    """Returns command and options if those before the launcher are plain; None leaves all else, such as --help and mistakes, to the argument parser.

    Importing the parser takes longer than all else that this command does.
    """
    rest, chosen = list(arguments), {}
    while rest and rest[0].startswith("-"):
        option, joined, value = rest.pop(0).partition("=")
        name = OPTIONS.get(option)
        if name in FLAG_FIELDS and not joined:
            chosen[name] = True
            continue
        if not joined:
            value = rest.pop(0) if rest else "-"
        if name is None or name in FLAG_FIELDS or value.startswith("-") or (name in NUMBER_FIELDS and not value.isdecimal()):
            return None
        chosen[name] = int(value) if name in NUMBER_FIELDS else value
    return (rest, Options(**chosen)) if rest else None


def chosen_variables(options: Options) -> dict[str, str]:
    """Returns the variables that the options stand for."""
    chosen = {"COPSE_TRACE": "1"} if options.trace else {}
    if options.upc_collectives is not None:
        if options.algorithm is not None:
            raise CopseError("--upc-collectives and --algorithm both name algorithms", "leave out one of them")
        chosen |= upc_libraries.variables_of(options.upc_collectives)
    if options.quiet or "COPSE_QUIET" not in os.environ:
        chosen["COPSE_QUIET"] = "1" if options.quiet else "0"
    if options.check:
        chosen["COPSE_CHECK"] = "1"
    if options.algorithm is not None:
        chosen["COPSE_ALGORITHM"] = options.algorithm
    if options.upc_threads is not None:
        chosen["COPSE_UPC_THREADS"] = str(options.upc_threads)
    if options.collective_processors is not None:
        chosen["COPSE_COLLECTIVE_PROCESSORS"] = options.collective_processors
    if {options.algorithm, options.collective_processors, options.upc_threads, options.upc_collectives} != {None}:
        variables.check({**os.environ, **chosen})
    return chosen


def become(program: str, command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    native.restore_signals()
    try:
        os.execve(program, command, environment)
    except OSError as refused:
        raise CopseError(f"{program} cannot be started: {refused.strerror}", "is it a program for this machine, or a script whose first line names its interpreter?") from None


def start_upc(command: Sequence[str], options: Options) -> NoReturn:
    """Becomes a program that calls copse_upc_run, which reads how many threads it has from the environment."""
    if options.upc_threads is None:
        raise CopseError("--upc-processes needs --upc-threads", UPC_EXAMPLE)
    environment = {**os.environ, **chosen_variables(options)}
    if options.upc_processes is not None:
        environment["COPSE_UPC_PROCESSES"] = str(options.upc_processes)
    variables.check(environment)
    program = shutil.which(command[0])
    if program is None:
        raise CopseError(f"program {command[0]!r} was not found", f"give its path: {UPC_EXAMPLE}")
    become(program, command, environment)


AMONG_LAUNCHED = "out:"  # the value of COPSE_COLLECTIVE_PROCESSORS begins so if helpers are ranks that the launcher starts
LAUNCHER = re.compile(r"mpi(run|exec)|orterun|prterun|prun$|hydra|(srun|aprun|jsrun|ibrun|flux)$")


def starts_ranks(command: Sequence[str], flavour: str) -> bool:
    """Tells whether a launcher stands before the program. Other commands, such as numactl or gdb, may stand there, too."""
    if flavour != "auto" or any(LAUNCHER.match(Path(word).name) for word in command[:-1]):
        return True
    return shutil.which(command[0]) is not None and identify_launcher(command[0]).family is not None


def start(command: Sequence[str], options: Options) -> NoReturn:
    """Replaces this process by the launcher, whose ranks get Copse preloaded, or by a UPC program.

    Raises CopseError if that cannot work.
    """
    upc = is_upc_program(command[1:]) and starts_ranks(command, options.flavour)
    if upc and options.upc_processes is not None:
        raise CopseError("--upc-processes divides threads where no launcher does", "copse run --upc-threads 8 mpirun -n 4 ./app")
    if options.upc_processes is not None or (options.upc_threads is not None and not upc):
        start_upc(command, options)
    named, launcher = named_family(command[0], options.flavour)
    environment = {**intel_environment(launcher, dict(os.environ)), **chosen_variables(options)}

    if not options.quiet and (static := static_program(command[1:])):
        print(f"copse: {static} is linked statically with its MPI, whose calls Copse cannot take over: it runs without Copse; "
              "link it with the MPI's shared library", file=sys.stderr)  # fmt: skip
    names: list[str | Path] = [choose_preload(launcher, named, command[1:])]
    if environment.get("COPSE_COLLECTIVE_PROCESSORS", "").startswith(AMONG_LAUNCHED):
        names.insert(0, flavours.world_library_of(str(names[0])))
    names += [HEAP] if options.shared_heap else []
    names += [library_of(launcher, named)] if upc else []
    preload = preload_value(names, environment.get("LD_PRELOAD"))
    final, environment = launch_command(launcher, command[1:], preload, environment)
    become(final[0], final, environment)


def named_family(launcher_name: str, flavour: str) -> tuple[flavours.Family, Launcher]:
    """Returns the MPI that the launcher, or --flavour, names."""
    launcher = identify_launcher(launcher_name)
    if flavour != "auto":
        named = flavours.family_named(flavour)
        if launcher.family not in (None, named):
            raise CopseError(
                f"{launcher.path} belongs to {launcher.family.title}, not to {named.title}",
                "leave out --flavour, or use the other mpirun",
            )
        return named, launcher
    if launcher.family is None:
        raise CopseError(
            f"{launcher.path} is not an MPI launcher that Copse knows",
            f"put mpirun first ({EXAMPLE}), or name its MPI: --flavour mpich",
        )
    return launcher.family, launcher
