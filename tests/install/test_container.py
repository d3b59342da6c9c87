"""The container recipe: an image is built from it with buildah, on a base that debootstrap has made, and runs an MPI program."""

import configparser
import os
import subprocess
from pathlib import Path

import pytest
from compiled import store

from copse import flavours, paths

pytestmark = [pytest.mark.full, pytest.mark.skipif(os.geteuid() != 0, reason="debootstrap needs root")]
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


def mounts(folder: Path) -> list[str]:
    """Returns options that give the image this machine's compiler cache, and its way to PyPI."""
    kept = store()
    kept.mkdir(parents=True, exist_ok=True)
    (folder / "ccache.conf").write_text("cache_dir = /ccache\n")
    pip = configparser.ConfigParser()
    pip.read("/etc/pip.conf")
    pip.read_dict({"global": {"cert": "/certificates.crt"}})
    with (folder / "pip.conf").open("w") as file:
        pip.write(file)
    where = {kept: "/ccache", folder / "ccache.conf": "/etc/ccache.conf", folder / "pip.conf": "/etc/pip.conf", CERTIFICATES: "/certificates.crt"}
    return [f"--volume={here}:{there}" for here, there in where.items()]


@pytest.fixture
def buildah(tmp_path):
    """Runs buildah on images and containers of its own."""

    def call(verb: str, *arguments, seconds: int = 300) -> str:
        isolation = ["--isolation", "chroot"] if verb in ("build", "run") else []
        command = ["buildah", "--root", tmp_path / "images", "--runroot", tmp_path / "run", verb, *isolation, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return done.stdout.strip() + done.stderr.strip() if verb == "run" else done.stdout.strip()

    yield call
    call("rm", "--all")
    call("rmi", "--all", "--force")


def test_an_image_runs_a_program(debian, buildah, copy_checkout, run, tmp_path):
    base = buildah("from", "scratch")
    buildah("add", base, debian, "/")
    buildah("commit", base, "localhost/debian")
    source = copy_checkout(tmp_path)
    recipe = source / "packaging/container/Containerfile"
    buildah("build", "--pull-never", "--build-arg", "BASE=localhost/debian", *mounts(tmp_path), "--tag", "copse", "--file", recipe, source, seconds=5400)

    flavour = flavours.find("mpich-debian")
    done = run([flavour.mpicc, "-O2", paths.ROOT / "examples/hello_allreduce.c", "-o", tmp_path / "hello"], env=flavour.environment())
    assert done.returncode == 0, done.stderr
    container = buildah("from", "copse")
    buildah("copy", container, tmp_path / "hello", "/hello")
    assert "ran by" in buildah("run", "--env", "COPSE_JOIN=1", container, "copse", "run", "--trace", "mpiexec", "-n", "2", "/hello")
    assert ", 0 do not work" in buildah("run", container, "sh", "-c", "copse doctor || true")
    assert not (Path(buildah("mount", container)) / "copse").exists()
