"""Writes files so that they are there as a whole or not at all."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import CopseError


def digest(contents: bytes) -> str:
    """Identifies contents, of a file for instance."""
    return hashlib.sha256(contents).hexdigest()[:12]


def require_place(file: Path, schema: str = "", what: str = "") -> None:
    """Refuses a file that cannot be written, before anything is measured for it. With a schema, it replaces no other kind of file."""
    if os.path.isdir(file):
        raise CopseError(f"{file} is a folder", "name a file")
    require_folder(file.parent)
    if schema and file.exists():
        try:
            head = file.read_bytes()[:4096].decode(errors="replace")
        except OSError as error:
            raise CopseError(f"{file} cannot be read: {error.strerror}", "choose another: --output FILE") from error
        if schema not in head:
            raise CopseError(f"{file} is there, and is not {what}", "choose another: --output FILE")


def require_folder(folder: Path) -> None:
    """Refuses a folder in which no file can be made. A folder that is not there is fine if it can be made."""
    there = next(place for place in (folder, *folder.absolute().parents) if os.path.exists(place))
    if not os.path.isdir(there) or not os.access(there, os.W_OK | os.X_OK):
        raise CopseError(f"{there} is not a folder that can be written to", "choose another: --output")


@contextmanager
def replaced(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """Gives the path of a new file beside `path`, and puts that file in its place at the end, with `mode` less the umask.

    Whenever this is interrupted, `path` is as it was before. If the block raises an exception, the new file is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    try:
        yield Path(name)
        os.fsync(descriptor)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, mode & ~mask)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def write(path: Path, text: str) -> None:
    with replaced(path) as new:
        new.write_text(text)
