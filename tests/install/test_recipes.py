"""The recipes for Spack and Debian name everything that the build looks for, and what they tell CMake is what it asks.

Spack itself is in no registry that we reach, so its recipe is loaded with stand-ins for the few names of Spack that it uses.
"""

import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from copse import paths

RECIPE = paths.ROOT / "packaging/spack/spack_repo/copse/packages/copse/package.py"
INPUTS = {  # what CMake looks for: Debian's package, Spack's package, and its name among the licences
    "PkgConfig": ("pkg-config", "pkgconfig", None),
    "hwloc": ("libhwloc-dev", "hwloc", "hwloc"),
    "hwy/highway.h": ("libhwy-dev", "highway", "Highway"),
    "mimalloc.h": ("libmimalloc-dev", "mimalloc", "mimalloc"),
    "boost/interprocess/mem_algo/rbtree_best_fit.hpp": ("libboost-dev", "boost", "Boost.Interprocess"),
    "rapidjson/reader.h": ("rapidjson-dev", "rapidjson", "RapidJSON"),
    "mpi.h": ("libmpich-dev", "mpi", None),
    "mpi_abi.h": (None, "mpi", None),
    "Threads": (None, None, None),
}
TOOLS = {"cmake", "ninja", "c", "cxx", "python", "py-packaging", "py-rich", "py-typer"}


def looked_for() -> set[str]:
    """Returns what the CMake files of the libraries and the command look for, with the headers that they take from the system's folders."""
    call = re.compile(r"^\s*(?:find_package\((\w+)|find_path\(\w+ (\S+)|pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET (\w+))", re.MULTILINE)
    files = [paths.ROOT / "cmake/CopseTargets.cmake", *paths.ROOT.glob("src/**/CMakeLists.txt"), *paths.ROOT.glob("faces/**/CMakeLists.txt")]
    found = {name for file in files for match in call.findall(file.read_text()) for name in match if name}
    return found - {"GTest"} | {"rapidjson/reader.h"}


class Prefix(str):
    def __getattr__(self, name: str) -> "Prefix":
        return Prefix(f"{self}/{name}")


@pytest.fixture
def recipe(monkeypatch) -> SimpleNamespace:
    """Loads Spack's recipe, and returns its class and what it needs: the type of each dependency."""
    needs: dict[str, tuple[str, ...]] = {}

    def depends_on(spec: str, type=("build", "link")) -> None:  # noqa: A002 (Spack's word)
        needs[re.match(r"[\w-]+", spec)[0]] = (type,) if isinstance(type, str) else type

    class CMakePackage:
        @staticmethod
        def define(name: str, value) -> str:
            return f"-D{name}={'ON' if value is True else 'OFF' if value is False else value}"

    package = ModuleType("spack.package")
    for directive in ("license", "version", "generator", "conflicts"):
        setattr(package, directive, lambda *arguments, **options: None)
    package.depends_on = depends_on
    cmake = ModuleType("spack_repo.builtin.build_systems.cmake")
    cmake.CMakePackage = CMakePackage
    for name, module in (("spack.package", package), (cmake.__name__, cmake)):
        for depth in range(1, name.count(".") + 1):
            monkeypatch.setitem(sys.modules, name.rsplit(".", depth)[0], ModuleType(name.rsplit(".", depth)[0]))
        monkeypatch.setitem(sys.modules, name, module)
    return SimpleNamespace(package=runpy.run_path(str(RECIPE))["Copse"], needs=needs)


def test_the_table_is_whole():
    assert looked_for() == set(INPUTS)


def test_spack_gets_everything_and_nothing_else(recipe):
    wanted = {spack for _, spack, _ in INPUTS.values() if spack}
    assert set(recipe.needs) == wanted | TOOLS
    assert all("link" in recipe.needs[name] for name in ("hwloc", "mimalloc"))


def test_debian_and_our_own_setup_get_everything():
    control = (paths.ROOT / "debian/control").read_text()
    wanted = {debian for debian, _, _ in INPUTS.values() if debian}
    for text in (control, (paths.ROOT / "tools/requirements/debian.txt").read_text()):
        assert wanted - set(re.findall(r"[\w.+-]+", text)) == set()


def test_every_part_of_others_has_its_licence():
    text = (paths.ROOT / "docs/third-party.md").read_text()
    assert [name for _, _, name in INPUTS.values() if name and name not in text] == []


@pytest.mark.full
@pytest.mark.parametrize(("mpi", "headers", "standard", "libraries"), [
    ("mpich", paths.MPI_FOLDER / "mpich", True, {"mpich", "abi"}),
    ("openmpi", Path("/usr/lib/x86_64-linux-gnu/openmpi"), False, {"openmpi"}),
])  # fmt: skip
def test_spack_tells_cmake_what_it_asks(recipe, mpi, headers, standard, libraries, tmp_path):
    spec = {
        "mpi": SimpleNamespace(name=mpi, prefix=Prefix(headers), satisfies=lambda wanted: standard and wanted == "mpich@5:"),
        "python": SimpleNamespace(command=SimpleNamespace(path=sys.executable)),
    }
    package = recipe.package()
    package.spec = spec
    done = subprocess.run(["cmake", "-G", "Ninja", "-S", paths.ROOT, "-B", tmp_path, "-DCMAKE_BUILD_TYPE=Release", *package.cmake_args()],
                          capture_output=True, text=True, timeout=300)  # fmt: skip
    assert done.returncode == 0 and "not used" not in done.stderr, done.stderr
    targets = subprocess.run(["ninja", "-C", tmp_path, "-t", "targets", "all"], capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"^lib/libcopse-mpi-(\w+)\.so:", targets, re.MULTILINE)) == libraries
    assert "tests/" not in targets


def test_spack_takes_the_checkout_that_holds_the_recipe(recipe):
    assert recipe.package.git == f"file://{paths.ROOT}" and (paths.ROOT / "packaging/spack/spack_repo/copse/repo.yaml").exists()
