"""Writes files so that they are there as a whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
