# SPDX-License-Identifier: Apache-2.0
"""The C library by ctypes: its functions with their argument types, its options, and its failures as exceptions.

Nothing of PyTorch here. A function called through `ctypes.CDLL` releases the interpreter's lock, so that other Python
threads go on while the CPU path computes, or while a launch waits for room in the stream.
"""
from __future__ import annotations

import ctypes
import math
import pathlib
from typing import NoReturn

# The values of vdn_status_t that are told apart here.
SUCCESS = 0
INVALID_ARGUMENT, NULL_POINTER, OVERLAP = 1, 2, 3
UNSUPPORTED, NO_DEVICE = 4, 5
OUT_OF_MEMORY = 8

# vdn_variant_t by the names that the library's other tools use.
VARIANTS = {"auto": 0, "pair": 1, "single": 2, "compact": 3}


class Options(ctypes.Structure):
    """vdn_delta_options_t. `size` tells the library which fields there are; later ones keep their defaults."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("variant", ctypes.c_int),
        ("programmatic_launch", ctypes.c_int32),
        ("a_scale", ctypes.c_float),
        ("b_scale", ctypes.c_float),
        ("info", ctypes.c_void_p),
    ]


_c = ctypes.CDLL(str(pathlib.Path(__file__).with_name("libvdn_delta.so")))

_arrays = [ctypes.c_int64, *[ctypes.c_void_p] * 5, ctypes.POINTER(Options)]

factors = _c.vdn_delta_factors  # (n, A, B, alpha, T, J, options, stream)
factors.argtypes, factors.restype = [*_arrays, ctypes.c_void_p], ctypes.c_int

factors_host = _c.vdn_delta_factors_host  # (n, A, B, alpha, T, J, options, threads)
factors_host.argtypes, factors_host.restype = [*_arrays, ctypes.c_int], ctypes.c_int

prepare = _c.vdn_delta_prepare  # (device)
prepare.argtypes, prepare.restype = [ctypes.c_int], ctypes.c_int

_status_string = _c.vdn_status_string
_status_string.argtypes, _status_string.restype = [ctypes.c_int], ctypes.c_char_p

_last_error_message = _c.vdn_last_error_message
_last_error_message.argtypes, _last_error_message.restype = [], ctypes.c_char_p

_version = _c.vdn_version
_version.argtypes, _version.restype = [], ctypes.c_int


def _version_text() -> str:
    number = _version()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


__version__ = _version_text()


# The library only reads its options, so that threads and calls may share them.
_known: dict[tuple[str, float, float], object] = {}


def options(variant: str, a_scale: float, b_scale: float, info: int | None):
    """What to pass as `options`: None if everything has its default. The reference keeps the structure alive."""
    if info is None:
        if a_scale == 1.0 and b_scale == 1.0 and variant == "auto":
            return None
        known = _known.get((variant, a_scale, b_scale))
        if known is not None:
            return known
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(map(repr, VARIANTS))}, not {variant!r}")
    made = ctypes.byref(Options(ctypes.sizeof(Options), VARIANTS[variant], 0, a_scale, b_scale, info))
    if info is None and a_scale > 0 and b_scale > 0:  # a NaN is never found again
        if len(_known) >= 64:  # scales that change with every call must not pile up
            _known.clear()
        _known[variant, a_scale, b_scale] = made
    return made


def fail(status: int, a_scale: float = 1.0, b_scale: float = 1.0) -> NoReturn:
    """Raises what belongs to a status other than SUCCESS; called on the thread that got it, with the scales of the call
    as they were given: the library has seen them as float32 only."""
    for name, scale in (("a_scale", a_scale), ("b_scale", b_scale)):
        if not 0.0 < ctypes.c_float(scale).value < math.inf:
            raise ValueError(f"{name} must be finite and > 0 as float32, not {scale!r}")
    message = f"{_status_string(status).decode()}: {_last_error_message().decode()}"
    if status in (INVALID_ARGUMENT, NULL_POINTER, OVERLAP):
        raise ValueError(message)
    if status == OUT_OF_MEMORY:
        raise MemoryError(message)
    raise RuntimeError(message)
