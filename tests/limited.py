"""Runs a command that may hang: with a time limit, with its children killed too, and with a temporary folder of its own."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence


def run_limited(
    command: Sequence[object], seconds: float, *, env: Mapping[str, str] | None = None, input: str | None = None
) -> tuple[subprocess.CompletedProcess[str], bool]:
    """Runs the command. Returns the completed process, with its output as text, and whether it had to be killed.

    Standard input is empty unless given, because MPICH's mpiexec dies if it has input for a rank that has ended. It must be
    given to a rank that reads, because Open MPI 5 does not pass on the end of an empty input.
    The command has its own TMPDIR. Open MPI 5's mpiexec names a file there by its process number. If another mpiexec that
    was killed has left a file of that name, it does not start ("The PMIx server's listener thread failed to start").
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
                os.killpg(process.pid, signal.SIGKILL)  # the ranks too, not only the launcher
                output, errors = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, output, errors), late
