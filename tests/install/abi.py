"""The binary interface of libcopse.so as libabigail sees it, beside the one that was recorded when it was released.

    build/venv/bin/python tests/install/abi.py --write

records the present one, which is right only where functions were added (docs/compatibility.md). The interface is in faces/c
and faces/upc, so only these are compiled, with all debug information; what they call stays undefined.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(__file__).with_name("libcopse.abi")
WHAT = ("--drop-private-types", "--drop-undefined-syms", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed",
        "--exported-interfaces-only", "--type-id-style", "hash")  # fmt: skip


def record(folder: Path, headers: Path = ROOT / "include", exports: Path = ROOT / "faces/c/exports.map") -> Path:
    """Compiles the interface in `folder`, with these headers and this list of symbols, and returns the description of it."""
    library, description = folder / "libcopse.so", folder / "libcopse.abi"
    sources = sorted(source for face in ("c", "upc") for source in (ROOT / "faces" / face).glob("*.cpp"))
    objects = [folder / f"{source.parent.name}-{source.stem}.o" for source in sources]
    compile_one = [*filter(None, [shutil.which("ccache")]), "g++", "-std=c++20", "-g", "-O0", "-fPIC", "-fvisibility=hidden",
                   f"-ffile-prefix-map={ROOT}=.", f"-I{headers}", f"-I{ROOT}/src", "-c"]  # fmt: skip
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(lambda source, made: subprocess.run([*compile_one, source, "-o", made], check=True, timeout=300), sources, objects))
    link = ["g++", "-shared", *objects, "-Wl,-soname,libcopse.so.0", f"-Wl,--version-script={exports}", "-o", library]
    subprocess.run(link, check=True, timeout=60)
    subprocess.run(["abidw", "--headers-dir", headers / "copse", *WHAT, "--out-file", description, library], check=True, timeout=60)
    return description


def difference(old: Path, new: Path, *options: str) -> str:
    """Returns what abidiff says; empty if the two are the same interface. `--no-added-syms`: new functions do not count."""
    done = subprocess.run(["abidiff", *options, old, new], capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr if done.returncode else ""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        new = record(Path(folder))
        if sys.argv[1:] == ["--write"]:
            RECORDED.write_text(new.read_text())
            print(f"{RECORDED} written")
        else:
            print(difference(RECORDED, new) or "the interface is the recorded one")


if __name__ == "__main__":
    main()
