#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernels of the one-file header are those of the library, instruction by instruction.

    test_machine_code.py HEADER [NVCC]

Compiles src/ROOM/kernel.cu with the library's flags, for the machine that the library's build names for the room, and
the header with SGLang's, for sm_90a and sm_100f (by an nvcc before 12.9: sm_100a), and compares the machine code of
each kernel: what is tested and measured in the library then holds for the header, -fmad, the other standard of C++ and
the features of a machine of its own notwithstanding. For plain sm_90 and sm_100 the header has the same code of the other
rooms, and of single the few instructions that refuse. As a proof that it can fail, two rooms are compared with one
another first. Answers 77 without nvcc or cuobjdump.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent / "src"
OWN = {"single"}  # rooms whose code in the library is for machines with features of their own
REFUSING = 40  # lines of code, at most
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
    version = re.search(r"release (\d+)\.(\d+)", subprocess.run([nvcc, "--version"], check=True, capture_output=True,
                                                                 text=True).stdout)
    families = (int(version[1]), int(version[2])) >= (12, 9)
    faults = 0
    for plain, own in (("sm_90", "sm_90a"), ("sm_100", "sm_100f" if families else "sm_100a")):
        with tempfile.TemporaryDirectory() as folder:
            library, made = {}, {}
            for room in ROOMS:
                machine = own if room in OWN else plain
                library.update(kernels(nvcc, folder, SOURCE / room / "kernel.cu", f"-arch={machine}", "-std=c++17",
                                       "-fmad=false", f"-I{SOURCE}"))
            for machine in (plain, own):
                made[machine] = kernels(nvcc, folder, HERE / "plain.cu", f"-arch={machine}", "-std=c++20",
                                        "-DVDN_TEST_NAME=f", f"-I{header.parent}")
        if sorted(library) != ROOMS or library[ROOMS[0]] == library[ROOMS[1]]:
            sys.exit(f"{plain}: the kernels of {ROOMS} were to be found, each with code of its own")
        for machine, found in made.items():
            if sorted(found) != ROOMS:
                sys.exit(f"{machine}: the header's kernels are {sorted(found)}")
            for room in ROOMS:
                if machine == plain and room in OWN:
                    good, what = len(found[room]) <= REFUSING, "refuses"
                else:
                    good, what = library[room] == found[room] and len(found[room]) > 1000, "the same"
                faults += not good
                print(f"{machine} {room}: {len(found[room])} lines, {what if good else 'DIFFERENT'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
