#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernels of the one-file header are those of the library, instruction by instruction.

    test_machine_code.py HEADER [NVCC]

Compiles src/ROOM/kernel.cu with the library's flags and the header with SGLang's, for sm_90 and sm_100, and compares
the machine code of each kernel: what is tested and measured in the library then holds for the header, -fmad and the
other standard of C++ notwithstanding. As a proof that it can fail, two rooms are compared with one another first.
Answers 77 without nvcc or cuobjdump.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent / "src"
ROOMS = [path.parent.name for path in sorted(SOURCE.glob("*/kernel.cu"))]


def kernels(nvcc, folder, source, *flags):
    """{room: machine code} of a source file."""
    cubin = Path(folder, "kernels.cubin")
    subprocess.run([nvcc, "-cubin", "-O3", "--expt-relaxed-constexpr", *flags, source, "-o", cubin], check=True)
    text = subprocess.run(["cuobjdump", "-sass", cubin], check=True, capture_output=True, text=True).stdout
    found = {}
    for part in re.split(r"\n\s*Function : ", text)[1:]:
        name, body = part.split("\n", 1)
        lines = [" ".join(line.split()) for line in body.splitlines() if line.strip().startswith("/*")]
        found[re.search(r"vdn_delta_factors_128_f32_([a-z]+)", name)[1]] = lines
    return found


def main():
    header = Path(sys.argv[1]).resolve()
    nvcc = sys.argv[2] if len(sys.argv) > 2 else shutil.which("nvcc")
    if not nvcc or not shutil.which("cuobjdump"):
        print("no nvcc, or no cuobjdump")
        return 77
    faults = 0
    for machine in ("sm_90", "sm_100"):
        with tempfile.TemporaryDirectory() as folder:
            library = {}
            for room in ROOMS:
                library.update(kernels(nvcc, folder, SOURCE / room / "kernel.cu", f"-arch={machine}", "-std=c++17",
                                       "-fmad=false", f"-I{SOURCE}"))
            made = kernels(nvcc, folder, HERE / "plain.cu", f"-arch={machine}", "-std=c++20", "-DVDN_TEST_NAME=f",
                           f"-I{header.parent}")
        if sorted(made) != ROOMS or sorted(library) != ROOMS or library[ROOMS[0]] == library[ROOMS[1]]:
            sys.exit(f"{machine}: the kernels of {ROOMS} were to be found, each with code of its own")
        for room in ROOMS:
            same = library[room] == made[room] and len(made[room]) > 1000
            faults += not same
            print(f"{machine} {room}: {len(made[room])} lines, {'the same' if same else 'DIFFERENT'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
