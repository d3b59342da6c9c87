"""A NumPy program under the shared heap. Its arrays lie in the region and its results are right. Prints nothing on
success.
"""

import ctypes
import sys

import numpy


class Region(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("bytes", ctypes.c_size_t), ("fd", ctypes.c_int),
                ("device", ctypes.c_uint64), ("inode", ctypes.c_uint64)]  # fmt: skip


region = Region()
if ctypes.CDLL(None).copse_heap_region(ctypes.byref(region)) != 0:
    sys.exit("the heap is not active")


def shared(array: numpy.ndarray) -> bool:
    return region.base <= array.ctypes.data < region.base + region.bytes


for n in (10, 10_000, 10_000_000):
    for make in (numpy.zeros, numpy.ones, numpy.arange):
        array = make(n, dtype=numpy.float64) if make is not numpy.arange else make(float(n))
        if not shared(array):
            sys.exit(f"{make.__name__}({n}) is not shared")
        if make is numpy.zeros and array.any():
            sys.exit(f"zeros({n}) is not zero")
        array += 1
        if make is numpy.arange and array.sum() != n * (n + 1) / 2:
            sys.exit(f"arange({n}) does not add up")
generator = numpy.random.default_rng(1)
matrix = generator.random((300, 300))
if not numpy.allclose(numpy.linalg.inv(matrix) @ matrix, numpy.eye(300), atol=1e-6):
    sys.exit("inv(A) A is not the identity")
values = generator.integers(0, 1000, 2_000_000)
if (numpy.diff(numpy.sort(values)) < 0).any():
    sys.exit("sort does not sort")
