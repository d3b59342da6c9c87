"""Copse installed as a user installs it, in a prefix that is then moved: run, linked with, replaced under a running program, removed."""

import json
import os
import re
import stat
import subprocess
import time
from pathlib import Path

import pytest

from copse import __main__, flavours, paths

FORMER_PLACE = "a_place_that_copse_has_left"
PREFIX_MODE = 0o2775  # as that of /usr/local


def make(goal: str, prefix: Path, destdir: str = "") -> None:
    command = ["make", "-s", "-C", paths.ROOT, goal, f"PREFIX={prefix}", f"DESTDIR={destdir}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


@pytest.fixture(scope="session")
def installed(built, tmp_path_factory) -> Path:
    """Returns a prefix in which Copse was installed, and which was moved afterwards."""
    folder = tmp_path_factory.mktemp("installed")
    (folder / FORMER_PLACE).mkdir()
    (folder / FORMER_PLACE).chmod(PREFIX_MODE)
    habit = os.umask(0o077)
    make("install", folder / FORMER_PLACE)
    os.umask(habit)
    (folder / FORMER_PLACE).rename(folder / "here")
    return folder / "here"


@pytest.fixture
def command(installed, run):
    """Runs the installed command with little else: no home, no variables of Python or of this checkout."""

    def call(*arguments, env=None, **options):
        clean = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **(env or {})}
        return run([installed / "bin" / "copse", *arguments], env=clean, **options)

    return call


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """Returns the C program of the README, as a file."""
    file = tmp_path_factory.mktemp("source") / "sum.c"
    file.write_text(re.search(r"```c\n(.*?)```", (paths.ROOT / "README.md").read_text(), re.DOTALL)[1])
    return file


def sums(program: Path, name: str) -> list[str]:
    """Starts two ranks of the README's program, and returns what they print."""
    ranks = [subprocess.Popen([program, name, str(rank), "2"], stdout=subprocess.PIPE, text=True) for rank in range(2)]
    return [rank.communicate(timeout=60)[0] for rank in ranks]


SUMS = ["rank 0 of 2: 3\n", "rank 1 of 2: 3\n"]


def test_no_file_names_the_checkout_or_the_former_place(installed):
    forbidden = [str(paths.ROOT).encode(), FORMER_PLACE.encode()]
    named = {path for path in installed.rglob("*") if path.is_file() and any(word in path.read_bytes() for word in forbidden)}
    assert named == set()
    assert all(not path.is_symlink() or not path.readlink().is_absolute() for path in installed.rglob("*"))


def test_the_prefix_keeps_its_permissions(installed):
    assert stat.S_IMODE(installed.stat().st_mode) == PREFIX_MODE


def test_everybody_may_read_it(installed):
    closed = [path for path in installed.rglob("*") if path.stat().st_mode & 0o444 != 0o444 or (path.is_dir() and path.stat().st_mode & 0o111 != 0o111)]
    assert closed == []
    assert (installed / "bin/copse").stat().st_mode & 0o111 == 0o111 == (installed / "lib/copse/copse-native").stat().st_mode & 0o111


def test_every_command_has_its_page_and_nothing_is_missing(installed):
    found = files_in(installed)
    pages = {f"share/man/man1/copse-{name}.1" for name in __main__.COMMANDS} | {"share/man/man1/copse.1", "share/man/man7/copse.7"}
    assert {name for name in found if name.startswith("share/man/")} == pages
    headers = {f"include/copse/{header.name}" for header in (paths.ROOT / "include/copse").iterdir()}
    assert {name for name in found if name.startswith("include/")} == headers
    preloads = {f"lib/copse/{family.preload}" for family in flavours.FAMILIES} | {f"lib/copse/{flavours.STANDARD_ABI_PRELOAD}"}
    preloads |= {flavours.world_library_of(preload) for preload in preloads}
    assert preloads <= found and "lib/copse/libcopse-heap.so" in found
    for package in ("typer", "rich"):  # with their licences
        assert any(re.fullmatch(rf"lib/copse/python/{package}-.*LICENSE", name) for name in found), package
    assert found == set((installed / "share/copse/manifest.txt").read_text().split("\n")[:-1])


def test_the_pages_are_sound_and_tell_what_the_command_knows(installed, run, command):
    pages = sorted((installed / "share/man").rglob("*.[17]"))
    done = run(["groff", "-man", "-ww", "-z", "-Tutf8", *pages])
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    shown = {page.stem + page.suffix: run(["man", "-l", page], env={**os.environ, "MANWIDTH": "1000"}).stdout for page in pages}
    for row in json.loads(command("info", "--env", "--json").stdout)["variables"]:
        assert re.search(rf"^ +{row['name']}=", shown["copse.7"], re.MULTILINE), row["name"]
    for option in ("--trace", "--shared-heap", "--algorithm CALL=NAME;..."):
        assert option in shown["copse-run.1"]
    assert "--mutants" in shown["copse-verify.1"] and "copse-results" in shown["copse-bench.1"]


def test_the_version_is_one(installed, command):
    version = re.search(r"^project\(copse VERSION (\S+)", (paths.ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    major, minor, _ = version.split(".")
    header = (installed / "include/copse/copse.h").read_text()
    assert re.findall(r"#define COPSE_VERSION_M\w+ (\d+)", header) == [major, minor]
    assert command("--version").stdout == f"copse {version}\n"
    assert (installed / "lib/libcopse.so").resolve().name == f"libcopse.so.{version}"
    assert f"Version: {version}\n" in (installed / "lib/pkgconfig/copse.pc").read_text()


def test_nothing_is_written_where_it_is_installed(installed, command):
    before = files_in(installed)
    report = json.loads(command("info", "--json").stdout)
    assert files_in(installed) == before
    reaches = {row["by"]: row["works"] for row in report["reaches"]}
    assert reaches["shared heap: libcopse-heap.so"], report["reaches"]
    assert [row["name"] for row in report["mpi"] if row["name"].endswith("-debian")] == ["mpich-debian", "openmpi-debian"]
    assert all(row["preload_built"] for row in report["mpi"])


def test_it_finds_an_mpi_on_the_path(command):
    flavour = flavours.find("mpich")
    path = f"{flavour.mpiexec.parent}:{os.environ['PATH']}"
    report = json.loads(command("info", "--json", env={"PATH": path}).stdout)
    assert flavour.title in [row["version"] for row in report["mpi"] if row["name"] == "mpich"]


def test_an_mpi_program_runs_on_it(installed, command, flavour, run, tmp_path):
    example = installed / "share/doc/copse/examples/hello_allreduce.c"
    program = tmp_path / "hello"
    done = run([flavour.mpicc, "-O2", example, "-o", program], env=flavour.environment())
    assert done.returncode == 0, done.stderr
    done = command("run", "--trace", *flavour.command(2, [program]), env=flavour.environment({"PATH": os.environ["PATH"], "HOME": "/nonexistent", "COPSE_JOIN": "1"}))
    assert done.returncode == 0, done.stderr
    assert re.search(r"allreduce", done.stderr) and "ran by" in done.stderr, done.stderr


def test_a_c_program_is_linked_through_pkg_config(installed, source, run, tmp_path):
    asked = {**os.environ, "PKG_CONFIG_PATH": str(installed / "lib/pkgconfig")}
    flags = run(["pkg-config", "--cflags", "--libs", "copse"], env=asked).stdout.split()
    folder = run(["pkg-config", "--variable=libdir", "copse"], env=asked).stdout.strip()
    done = run(["gcc", source, *flags, f"-Wl,-rpath,{folder}", "-o", tmp_path / "sum"])
    assert done.returncode == 0, done.stderr
    assert "[libcopse.so.0]" in run(["readelf", "-d", tmp_path / "sum"]).stdout
    assert sums(tmp_path / "sum", f"pkg-{os.getpid()}") == SUMS


PROJECT = """cmake_minimum_required(VERSION 3.20)
project(sum C)
find_package(Copse {version} REQUIRED)
add_executable(sum {source})
target_link_libraries(sum PRIVATE Copse::copse)
message(STATUS "the command is ${{Copse_COMMAND}}")
"""


def configured(run, folder: Path, source: Path, installed: Path, version: str):
    (folder / "CMakeLists.txt").write_text(PROJECT.format(version=version, source=source))
    return run(["cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={installed}"])


def test_a_c_program_is_linked_through_cmake(installed, source, run, tmp_path):
    done = configured(run, tmp_path, source, installed, "0.2")
    assert done.returncode == 0, done.stderr
    assert f"the command is {installed}/bin/copse" in done.stdout
    done = run(["cmake", "--build", tmp_path / "build"])
    assert done.returncode == 0, done.stdout
    assert sums(tmp_path / "build/sum", f"cmake-{os.getpid()}") == SUMS


@pytest.mark.parametrize("version", ["0.3", "1.0"])
def test_cmake_refuses_a_later_version(installed, source, run, tmp_path, version):
    done = configured(run, tmp_path, source, installed, version)
    assert done.returncode != 0 and "Copse" in done.stderr and "compatible" in done.stderr


def test_the_shell_completes_commands_and_options(installed, run):
    script = (
        "source share/bash-completion/completions/copse; "
        'ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _copse_completion bin/copse; echo "${COMPREPLY[@]}"; }; '
        "ask copse ve; ask copse run --sh"
    )
    done = run(["bash", "-c", f"cd {installed}; {script}"])
    assert done.stdout.split("\n")[:2] == ["verify", "--shared-heap"], done.stdout + done.stderr
    for shell in ("zsh/site-functions/_copse", "fish/vendor_completions.d/copse.fish"):
        assert "copse" in (installed / "share" / shell).read_text().splitlines()[0]


MODULES = "/usr/share/modules/init/bash"  # of Debian's environment-modules


def test_an_environment_module_shows_the_way(installed, source, run, tmp_path):
    script = (
        f"source {MODULES} && module use {installed}/share/modulefiles && module load copse && copse --version && "
        f"gcc {source} $(pkg-config --cflags --libs copse) -o {tmp_path}/sum && {tmp_path}/sum module-{os.getpid()} 0 1 && "
        "module unload copse && ! command -v copse"
    )
    done = run(["bash", "-c", script], env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"copse [\d.]+\nrank 0 of 1: 1\n", done.stdout), done.stdout


def test_without_its_python_the_command_says_what_it_needs(installed, tmp_path, run):
    text = (installed / "bin/copse").read_text()
    version = re.search(r"python(3\.\d+)", text)[1]
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin/copse"
    script.write_text(text.replace(version, "3.999"))
    done = run(["sh", script, "info"])
    assert done.returncode == 2 and "there is no python3.999" in done.stderr and done.stderr.count("\n") == 1


def test_replaced_under_a_running_program_then_removed(built, source, run, tmp_path):
    """An installation goes over another one while a rank runs, which then meets a rank of the new one. At last, nothing is left but
    what was there before."""
    prefix = tmp_path / "prefix"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/other").write_text("not Copse's")
    make("install", prefix)
    library, stale = prefix / "lib/libcopse.so", prefix / "lib/copse/of_an_older_version"
    patient = tmp_path / "sum.c"
    patient.write_text(source.read_text().replace("10.0", "300.0"))  # seconds; on a busy machine, the installation takes its time
    done = run(["gcc", patient, f"-I{prefix}/include", f"-L{prefix}/lib", "-lcopse", f"-Wl,-rpath,{prefix}/lib", "-o", tmp_path / "sum"])
    assert done.returncode == 0, done.stderr
    stale.write_text("")
    with (prefix / "share/copse/manifest.txt").open("a") as manifest:
        manifest.write(f"{stale.relative_to(prefix)}\n")
    inode = library.stat().st_ino
    os.utime(library, (0, 0))  # so that it is not taken for up to date
    name = f"replaced-{os.getpid()}"
    first = subprocess.Popen([tmp_path / "sum", name, "0", "2"], stdout=subprocess.PIPE, text=True)
    try:
        maps = Path(f"/proc/{first.pid}/maps")
        while not re.search(rf" {inode} +/.*libcopse", maps.read_text()):
            assert first.poll() is None
            time.sleep(0.01)
        make("install", prefix)
        assert library.stat().st_ino != inode and not stale.exists()
        second = subprocess.run([tmp_path / "sum", name, "1", "2"], capture_output=True, text=True, timeout=60)
        assert [first.communicate(timeout=60)[0], second.stdout] == SUMS
    finally:
        first.kill()
    make("uninstall", prefix)
    assert [str(path.relative_to(prefix)) for path in prefix.rglob("*")] == ["bin", "bin/other"]


@pytest.mark.full
def test_destdir_goes_before_the_prefix(built, tmp_path):
    make("install", Path("/usr"), str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["usr"] and (tmp_path / "usr/bin/copse").exists()
    make("uninstall", Path("/usr"), str(tmp_path))
    assert files_in(tmp_path) == set()
    assert not (tmp_path / "usr/lib/copse").exists() and (tmp_path / "usr/bin").is_dir()  # those of a system stay


@pytest.mark.full
def test_bench_compiles_its_program_for_the_user_and_writes_where_he_is(installed, run, tmp_path):
    flavour = flavours.find("mpich")
    clean = {"PATH": f"{flavour.mpiexec.parent}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": "/nonexistent"}
    line = f"cd {tmp_path} && {installed}/bin/copse bench --quick --own --operations barrier --ranks 2 --against mpich --no-heap --busy"
    before = files_in(installed)
    done = run(["sh", "-c", line], env=clean)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "copse-results/bench/results.json").exists() and files_in(installed) == before
    assert [file.name.split("-")[0] for file in (tmp_path / "cache/copse/bench/bin/mpich").iterdir()] == ["mpi_collectives"]
