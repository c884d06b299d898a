#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The device code compiles with NVRTC of CUDA 12.9, the compiler that comes as a library (field reports BLD-14 and
ARC-12).

    VENV/bin/python3 tests/packaging/check_nvrtc.py      with the packages that tools/requirements.txt lists for `nvrtc`

Each kernel room's kernel.cu, as it is, for plain sm_90 and sm_100, and `single` for sm_90a and sm_100a, warnings and
all. NVRTC has neither the C++ library nor the host's side of the CUDA runtime: the few names of either that a kernel.cu
uses are stood in for below, so that its two host functions are compiled too, and never called. The cubin must hold the
kernel, and the assembler must have nothing to say but for the spills below. For a plain machine `single` must be the
kernel that refuses, of a few registers.

Shown to fail first: on a mistake in the source, on a local array, on a machine that is unknown, and on code that would
run where it was to refuse, or the other way round.
"""
import ctypes
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION = (12, 9)
MACHINES = ("sm_90", "sm_100")
MACHINES_OF = {"single": ("sm_90a", "sm_100a")}
REFUSING_REGISTERS = 16  # at most; a kernel that works has 96 or more
COMPILATION_FAILED = 6
# Bytes of stack frame. The assembler of 13.0, with which the kernels are tuned, needs none; that of 12.9 spills a few
# registers here.
STACK = {("compact", "sm_90"): 32, ("single", "sm_90a"): 32, ("single", "sm_100a"): 96}

HEADERS = {
    "cfloat": "#define FLT_MAX 3.402823466e+38f\n",
    "cstdint": """\
namespace std {
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long;
using uint64_t = unsigned long;
using uintptr_t = unsigned long;
}  // namespace std
""",
    "stand_ins.h": """\
#include <cuda_runtime_api.h>
namespace std { using ::size_t; }
template <class... Any> cudaError_t cudaFuncGetAttributes(Any...) { return cudaErrorNotSupported; }
template <class... Any> cudaError_t cudaFuncSetAttribute(Any...) { return cudaErrorNotSupported; }
template <class... Any> cudaError_t cudaLaunchKernelEx(Any...) { return cudaErrorNotSupported; }
template <class... Any> cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(Any...) {
  return cudaErrorNotSupported;
}
template <class... Any> cudaError_t cudaOccupancyMaxActiveClusters(Any...) { return cudaErrorNotSupported; }
// As in cuda_device_runtime_api.h, which is not for NVRTC.
__device__ inline void cudaGridDependencySynchronize() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
""",
}


class Nvrtc:
    def __init__(self, folder):
        (path,) = (folder / "cuda_nvrtc/lib").glob("libnvrtc.so.*")
        self.library = ctypes.CDLL(str(path))
        self.includes = [ROOT / "src", ROOT / "include", folder / "cuda_runtime/include"]
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        self.version = (major.value, minor.value)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            sys.exit(f"{name}: error {status}")

    def output(self, program, what):
        size = ctypes.c_size_t()
        self.call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self.call(f"nvrtcGet{what}", program, buffer)
        return buffer.raw

    def compile(self, source, name, machine):
        """(cubin or b"", what was said)"""
        texts = (ctypes.c_char_p * len(HEADERS))(*(text.encode() for text in HEADERS.values()))
        names = (ctypes.c_char_p * len(HEADERS))(*(key.encode() for key in HEADERS))
        program = ctypes.c_void_p()
        self.call("nvrtcCreateProgram", ctypes.byref(program), source.encode(), name.encode(), len(HEADERS), texts,
                  names)
        # Host functions are taken for device functions, as NVRTC has no others.
        words = [f"-arch={machine}", "-std=c++17", "-fmad=false", "-default-device", "-include=stand_ins.h",
                 "--ptxas-options=-v",  # says how large each stack frame is
                 *(f"-I{path}" for path in self.includes)]
        options = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
        status = self.library.nvrtcCompileProgram(program, len(words), options)
        said = self.output(program, "ProgramLog").decode(errors="replace").strip("\0 \n")
        cubin = self.output(program, "CUBIN") if status == 0 else b""
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        if status not in (0, COMPILATION_FAILED):
            said = f"error {status} of nvrtcCompileProgram; {said}"
        return cubin, said


def machines(room):
    """{machine: whether the kernel refuses to run in code for it}"""
    return {**dict.fromkeys(MACHINES, room in MACHINES_OF), **dict.fromkeys(MACHINES_OF.get(room, ()), False)}


def faults(nvrtc, source, room, machine, refuses=False):
    cubin, said = nvrtc.compile(source, f"{room}/kernel.cu", machine)
    if not cubin:
        return [said or "no cubin"]
    found = [line for line in said.splitlines() if re.search(r"warning|error", line)]
    frames = [int(size) for size in re.findall(r"(\d+) bytes stack frame", said)]
    if not frames or max(frames) > STACK.get((room, machine), 0):
        found.append(f"a stack frame of {max(frames, default='unknown many')} bytes")
    registers = [int(count) for count in re.findall(r"Used (\d+) registers", said)]
    if not registers or (max(registers) <= REFUSING_REGISTERS) != refuses:
        found.append(f"{max(registers, default='unknown many')} registers, where the kernel "
                     f"{'refuses' if refuses else 'works'}")
    kernel = re.search(r"\bvdn_delta_factors_128_f32_\w+", source)[0]
    if kernel.encode() not in cubin:
        found.append(f"the cubin does not hold {kernel}")
    return found


def main():
    base = next((Path(path) / "nvidia" for path in sys.path if (Path(path) / "nvidia/cuda_nvrtc").is_dir()), None)
    if base is None:
        sys.exit("this environment has no package nvidia-cuda-nvrtc-cu12")
    nvrtc = Nvrtc(base)
    if nvrtc.version != VERSION:
        sys.exit(f"NVRTC {nvrtc.version}, wanted {VERSION}")
    sources = {path.parent.name: path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("src/*/kernel.cu"))}

    room, source = next(item for item in sources.items() if (item[0], "sm_90") not in STACK)
    local_array = "\n__global__ void f(int* x) { int y[64] = {}; for (int i = 0; i < 99; ++i) y[x[i] & 63] += i;" \
                  " x[0] = y[x[1] & 63]; }\n"
    assert not faults(nvrtc, source, room, "sm_90")
    for what, spoilt, machine in (("a mistake", source + "\n__device__ int f() { return no_such_name; }\n", "sm_90"),
                                  ("a local array", source + local_array, "sm_90"),
                                  ("another machine", source, "sm_91"),
                                  ("a lost kernel", source.replace("VDN_KERNEL(", "static int f(", 1), "sm_90")):
        if spoilt == source and machine in MACHINES or not faults(nvrtc, spoilt, room, machine):
            sys.exit(f"the check does not see {what}")
    for what, room, machine, refuses in (("a kernel that refuses", "single", "sm_90", False),
                                         ("a kernel that does not refuse", "single", "sm_90a", True)):
        if not faults(nvrtc, sources[room], room, machine, refuses):
            sys.exit(f"the check does not see {what}")
    wrong = [f"{room} for {machine}: {fault}" for room, source in sources.items()
             for machine, refuses in machines(room).items()
             for fault in faults(nvrtc, source, room, machine, refuses)]
    print("\n".join(wrong))
    print(f"NVRTC 12.9: {', '.join(' '.join((room, 'for', *machines(room))) for room in sources)}: "
          f"{len(wrong)} mistakes")
    return 1 if wrong or len(sources) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
