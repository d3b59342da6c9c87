"""Running a command that may hang: with a limit, its children killed with it, and a folder of its own for what it leaves."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence


def run_limited(
    command: Sequence[object], seconds: float, *, env: Mapping[str, str] | None = None, input: str | None = None
) -> tuple[subprocess.CompletedProcess[str], bool]:
    """What came of the command, with its output as text; and whether it had to be killed.

    Standard input is empty unless given: MPICH's mpiexec dies if it has something for a rank that has ended. And it must be
    given to a rank that reads: Open MPI 5 does not pass the end of an empty one on.
    TMPDIR is the command's own: Open MPI 5's mpiexec names a file there by its process number, and does not start where
    another that was killed has left one of that name ("The PMIx server's listener thread failed to start").
    """
    command = [str(part) for part in command]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
             "stdin": subprocess.DEVNULL if input is None else subprocess.PIPE}  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="run", ignore_cleanup_errors=True) as folder:
        variables = {**(os.environ if env is None else env), "TMPDIR": folder}
        with subprocess.Popen(
            command, env=variables, text=True, errors="replace", start_new_session=True, **pipes
        ) as process:
            late = False
            try:
                output, errors = process.communicate(input, timeout=seconds)
            except subprocess.TimeoutExpired:
                late = True
                os.killpg(process.pid, signal.SIGKILL)  # the ranks too, not the launcher alone
                output, errors = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, output, errors), late
