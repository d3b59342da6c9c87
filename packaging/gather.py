"""Gathers what an installation takes from the copse command itself, in one folder that is laid out like a prefix.

That is the Python package with all packages that it imports (compiled, so that nothing is written where it is installed),
the script bin/copse, the manual pages and the shell completion. cmake/CopseInstall.cmake runs this when Copse is installed,
with the Python whose packages it takes (why: docs/decisions/installing.md).
"""

import argparse
import compileall
import importlib
import importlib.metadata
import py_compile
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import manual
import typer
from packaging.requirements import Requirement
from typer.completion import get_completion_script

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PACKAGE = ROOT / "faces" / "python" / "copse"
IMPORTED = ("typer", "rich")  # what copse imports for all but a plain `copse run`; matplotlib is optional (copse/plots.py)
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
MAIN = f'''"""Runs the copse command of the folder that holds this file."""

import sys

if sys.version_info[:2] != {sys.version_info[:2]}:
    sys.exit(f"copse: its packages are for Python {PYTHON}, not for {{sys.executable}}; run it by bin/copse")

from copse.__main__ import main  # noqa: E402

main()
'''
COMPLETION = {
    "bash": "bash-completion/completions/copse",
    "zsh": "zsh/site-functions/_copse",
    "fish": "fish/vendor_completions.d/copse.fish",
}


def closure(names: tuple[str, ...]) -> list[importlib.metadata.Distribution]:
    """Returns the distributions of these names and all that they require here."""
    found: dict[str, importlib.metadata.Distribution] = {}
    waiting = list(names)
    while waiting:
        distribution = importlib.metadata.distribution(waiting.pop())
        if distribution.name in found:
            continue
        found[distribution.name] = distribution
        for text in distribution.requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return [found[name] for name in sorted(found)]


def copy_distribution(distribution: importlib.metadata.Distribution, folder: Path) -> None:
    """Copies the modules and the metadata (with the licences) of a distribution, without its scripts and compiled files."""
    for file in distribution.files or ():
        if ".." not in file.parts and "__pycache__" not in file.parts and file.name != "direct_url.json":
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.locate(), target)


def copy_python(folder: Path) -> None:
    for distribution in closure(IMPORTED):
        copy_distribution(distribution, folder)
    shutil.copytree(PACKAGE, folder / "copse", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "__main__.py").write_text(MAIN)


def compile_python(folder: Path) -> None:
    # "Unchecked": Python takes them whatever the times of the files are, which packaging changes.
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    if not compileall.compile_dir(folder, quiet=1, stripdir=str(folder.parent), invalidation_mode=mode):
        raise SystemExit(f"gather.py: a file below {folder} cannot be compiled")


@contextmanager
def as_installed(home: Path, native: Path) -> Iterator[ModuleType]:
    """Gives the gathered copse.__main__, which believes that it is installed, so that it names the places of such a one."""
    beside = {home / "copse-native": native.resolve(), home / "bench": ROOT / "bench"}
    for link, target in beside.items():
        link.symlink_to(target)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(home / "python"))
    yield importlib.import_module("copse.__main__")
    for link in beside:
        link.unlink()


def gather_completion(share: Path, variable: str) -> None:
    for shell, name in COMPLETION.items():
        script = get_completion_script(prog_name="copse", complete_var=variable, shell=shell)
        if shell == "zsh":  # zsh runs the file at the first use, and must then complete as well
            script += "\n_copse_completion"
        file = share / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(script.strip() + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--native", type=Path, required=True, help="the built copse-native")
    parser.add_argument("--home", required=True, help="folder of copse-native and the preload libraries, from the prefix")
    parser.add_argument("--home-from-bin", required=True, help="the same, from the folder of the command")
    parser.add_argument("--share", required=True, help="folder of data, from the prefix")
    parser.add_argument("--bin", required=True, help="folder of the command, from the prefix")
    parser.add_argument("--version", required=True)
    parser.add_argument("folder", type=Path, help="where to gather; what was there is deleted")
    options = parser.parse_args()
    if not options.native.exists():
        raise SystemExit(f"gather.py: {options.native} has not been built; build first")
    try:
        shutil.rmtree(options.folder)
    except FileNotFoundError:
        pass
    except OSError as refused:
        raise SystemExit(f"gather.py: {options.folder} cannot be replaced ({refused.strerror}); did another user install? remove it") from None
    share, home = options.folder / options.share, options.folder / options.home
    copy_python(home / "python")
    with as_installed(home, options.native) as copse:
        command = typer.main.get_command(copse.make_app())
        manual.write(share / "man", command, options.version, copse.variables.table(), options.native)
        gather_completion(share, copse.COMPLETE)
    compile_python(home / "python")
    script = options.folder / options.bin / "copse"
    script.parent.mkdir(parents=True)
    text = (HERE / "copse.in").read_text().replace("@HOME_FROM_BIN@", options.home_from_bin).replace("@PYTHON@", PYTHON)
    script.write_text(text)
    for path in options.folder.rglob("*"):  # the checkout may be for its owner alone
        path.chmod(0o755 if path.is_dir() or path == script else 0o644)


if __name__ == "__main__":
    main()
