#!/usr/bin/env python3
"""Types the commands of docs/first-steps.md into a fresh Debian 12, as a new user would, and says how long each took.

The system is made by debootstrap and entered by chroot, so this needs root. It has no compiler cache. The user may call sudo.

    build/venv/bin/python tests/install/walk.py [--document]
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "faces" / "python"))
sys.path.insert(0, str(HERE.parent / "documents"))

from blocks import COMMANDS, items  # noqa: E402

from copse import paths, readme  # noqa: E402
from copse.errors import CopseError, run_script  # noqa: E402

PAGE = paths.ROOT / "docs/first-steps.md"
HOME = "/srv/user"
USUAL = ["sudo", "ca-certificates"]  # which every installed Debian has
HOST_FILES = ("/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")  # how this machine reaches PyPI


def call(*command: object, seconds: int = 1200) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=seconds)
    if done.returncode != 0:
        raise CopseError(f"{command[0]} failed", f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def make_system(root: Path) -> None:
    """Makes a Debian 12 with a user, who has a copy of what git has of this checkout."""
    call("debootstrap", "--variant=minbase", "bookworm", root)
    inside = ["chroot", root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y", "--no-install-recommends"]
    call(*inside, "update")
    call(*inside, "install", *USUAL)
    call("chroot", root, "useradd", "--create-home", "--home-dir", HOME, "--shell", "/bin/bash", "user")
    (root / "etc/sudoers.d/user").write_text("user ALL=(ALL) NOPASSWD: ALL\n")
    for name in HOST_FILES:
        if Path(name).exists():
            shutil.copy(name, root / name[1:])
    home = root / HOME[1:]
    archive = root / "tmp/copse.tar"
    call("git", "-C", paths.ROOT, "archive", "--prefix=copse/", "-o", archive, "HEAD")
    call("tar", "-xf", archive, "-C", home)
    (home / "state").write_text(f"cd {HOME}/copse\n")
    call("chroot", root, "chown", "-R", "user:user", HOME)


TYPED = """set -e
. $HOME/state
{}
declare -px > $HOME/state
printf "cd %q\\n" "$PWD" >> $HOME/state
"""


def types(root: Path, command: str) -> tuple[float, str]:
    """Types a command in the system, which has processes and mounts of its own. Returns the seconds, and what it says."""
    (root / "tmp/typed").write_text(TYPED.format(command))
    mounts = f"mount -t tmpfs tmpfs {root}/dev/shm && mount -t proc proc {root}/proc && mount -t sysfs -o ro sysfs {root}/sys"
    line = f"{mounts} && exec chroot {root} runuser -u user -- env -i HOME={HOME} USER=user PATH=/usr/local/bin:/usr/bin:/bin bash /tmp/typed"
    start = time.monotonic()
    said = call("unshare", "--mount", "--pid", "--fork", "sh", "-c", line, seconds=5400)
    return time.monotonic() - start, said


def walk() -> list[tuple[str, float, str]]:
    steps = [item.text for item in items(PAGE, PAGE.name) if item.language == COMMANDS and "tests/install/walk.py" not in item.text]
    rows = []
    with tempfile.TemporaryDirectory(prefix="walk") as folder:
        root = Path(folder) / "root"
        root.mkdir(mode=0o755)
        Path(folder).chmod(0o755)
        make_system(root)
        for step in steps:
            seconds, said = types(root, step)
            lines = [line for line in said.splitlines() if re.match(r"\d+ ranks: ", line)]
            rows.append((step, seconds, lines[0] if lines else ""))
            print(f"{seconds:8.1f} s  {step}  {rows[-1][2]}", flush=True)
    return rows


def table(rows: list[tuple[str, float, str]]) -> str:
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())[1]
    total = sum(seconds for _, seconds, _ in rows)
    head = f"Written on {date.today()}: {cpu}, {len(os.sched_getaffinity(0))} cores, Linux {platform.release()}, Debian 12 with its own MPI. In all {total / 60:.0f} minutes."
    lines = [head, "", "| typed | seconds | the program says |", "| --- | ---: | --- |"]
    return "\n".join(lines + [f"| `{step}` | {seconds:.1f} | {said} |" for step, seconds, said in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--document", action="store_true", help=f"write the table into {PAGE.relative_to(paths.ROOT)}")
    options = parser.parse_args()
    rows = walk()
    if options.document:
        readme.write(PAGE, table(rows), "walk")


if __name__ == "__main__":
    run_script(main)
