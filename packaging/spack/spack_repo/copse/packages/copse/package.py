"""The recipe of Copse for Spack 1.0 and newer (docs/installing.md). It builds the checkout that it lies in."""

from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Copse(CMakePackage):
    """Collective communication for machines whose memory is not uniform: a drop-in that makes unmodified MPI programs
    faster, and a C library for threads and processes."""

    git = f"file://{Path(__file__).resolve().parents[6]}"

    license("BSD-3-Clause")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("boost@1.74:", type="build")
    depends_on("hwloc@2.9:", type=("build", "link", "run"))
    # The shared heap loads mimalloc while it runs. As a link dependency it is on the library's run path. Each version of mimalloc
    # numbers its options anew, so Copse takes the one that it is tested with.
    depends_on("mimalloc@2.0.9 libs=shared", type=("build", "link", "run"))
    depends_on("rapidjson@1.1:", type="build")
    depends_on("highway@1.0.3:", type="build")

    # The command runs with this Python. Its packages come along, so nobody needs to load them.
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-packaging", type="build")
    depends_on("py-rich@13.9:", type="build")
    depends_on("py-typer@0.24:", type="build")

    # Of the MPI, only the header is needed. The preload library for its family is built, and serves every MPI of that family.
    depends_on("mpi", type=("build", "run"))

    generator("ninja")
    conflicts("platform=darwin", msg="Copse needs Linux")
    conflicts("platform=windows", msg="Copse needs Linux")
    conflicts("%gcc@:11", msg="Copse is written in C++20 and needs gcc 12 or clang 14")

    def cmake_args(self):
        mpi = self.spec["mpi"]
        headers = mpi.prefix.include
        openmpi = mpi.name == "openmpi"
        standard = mpi.satisfies("mpich@5:")  # has the header of the MPI standard's ABI
        return [
            self.define("BUILD_TESTING", False),
            self.define("CMAKE_COMPILE_WARNING_AS_ERROR", False),
            self.define("COPSE_PYTHON", self.spec["python"].command.path),
            self.define("COPSE_MPICH_HEADERS", "" if openmpi else headers),
            self.define("COPSE_OPENMPI_INCLUDE", headers if openmpi else ""),
            self.define("COPSE_MPI_ABI_INCLUDE", headers if standard else ""),
        ]

    def test_command(self):
        """the command names its version, and finds a way between two ranks"""
        copse = which(self.prefix.bin.copse)
        copse("--version")
        copse("explain", "allreduce", "64K", "-n", "2")
