#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The one-file header compiles wherever it has to, without a warning, and keeps to itself.

    test_header.py HEADER [NVCC]

- Text: ASCII, an SPDX line, no include but of CUDA, the C++ library and tvm-ffi, every macro of its own undefined at
  the end. The check is tried on spoilt headers first.
- Compiled for each machine that SGLang's load_jit may name, and for plain sm_90, where single is a stub, with
  load_jit's flags and warnings, spills among them, as errors, each within 60 seconds: as C++20 a unit as load_jit makes
  it, where the headers of tvm-ffi are found (TVM_FFI_CONFIG names their tvm-ffi-config; else that of .venv, else of
  PATH), and as C++17 a unit with CUDA alone; for sm_90a all four.
- Two units with the header link together, and export what they are to export and nothing else.

Answers 77 without nvcc. Prints how long each unit took.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MACHINES = ["80", "86", "89", "90", "90a", "100a", "103a", "120f"]
# Bytes of stack frame. For sm_100f, which the library is built for, and for sm_103a, as for the others, ptxas 13.0 needs
# none; for sm_100a it keeps four words of single in memory.
STACK = {"100a": 16}
LIMIT = 60.0  # seconds: the time that SGLang's test of this op grants in all
ALLOWED = re.compile(r"cuda_runtime\.h|[a-z_]+|tvm/ffi/[a-z_/]+\.h")


def text_faults(data):
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError as error:
        return [f"not ASCII: {error}"]
    found = []
    if not text.startswith("// SPDX-License-Identifier: Apache-2.0\n"):
        found.append("no SPDX line")
    for name in re.findall(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', text, re.M):
        if not ALLOWED.fullmatch(name):
            found.append(f"includes {name}")
    code = re.sub(r"//[^\n]*", "", text)
    ends = r"\nnamespace vdn_delta_factors \{|\n\}\s*\n\}\s*(?=\n#undef|\n#endif)"
    before, inside, _ = re.split(ends, code, maxsplit=2)
    if "namespace" in before:
        found.append("something stands before the namespace")
    if "#include" in re.sub(r"\s", "", inside):
        found.append("an include inside the namespace")
    if re.search(r"\busing\s+namespace\b", code):
        found.append("using namespace")
    defined = set(re.findall(r"^\s*#\s*define\s+(\w+)", text, re.M))
    left = defined - set(re.findall(r"^\s*#\s*undef\s+(\w+)", text, re.M))
    found += [f"{name} stays defined" for name in sorted(left) if not name.startswith("VDN_DELTA_FACTORS_")]
    return found


def check_text(header):
    data = header.read_bytes()
    for what, spoilt in {
        "a letter beyond ASCII": data.replace(b"matrices", "matri\u00e7es".encode(), 1),
        "an own include": data.replace(b"#include <atomic>", b'#include "params.h"', 1),
        "an include inside": data.replace(b"\nnamespace vdn_delta_factors {\n",
                                          b"\nnamespace vdn_delta_factors {\n#include <map>\n", 1),
        "a macro": data.replace(b"#undef VDN_DEVICE\n", b"", 1),
        "a licence": data[1:],
    }.items():
        if spoilt == data or not text_faults(spoilt):
            sys.exit(f"the check does not see {what}")
    return text_faults(data)


def tvm_ffi_include():
    root = HERE.parent.parent
    places = [os.environ.get("TVM_FFI_CONFIG"), root / ".venv/bin/tvm-ffi-config", shutil.which("tvm-ffi-config")]
    for program in places:
        if program and os.access(program, os.X_OK):
            answer = subprocess.run([program, "--includedir"], capture_output=True, text=True, check=False)
            dlpack = subprocess.run([program, "--dlpack-includedir"], capture_output=True, text=True, check=False)
            if answer.returncode == 0 and dlpack.returncode == 0:
                return sorted({answer.stdout.strip(), dlpack.stdout.strip()})
    return []


class Compiler:
    def __init__(self, nvcc, header, folder):
        self.nvcc, self.header, self.folder = nvcc, header, Path(folder)

    def unit(self, name, machine, std, more=(), header=None):
        """(what, seconds, output or "", object)"""
        what = f"{name} sm_{machine} C++{std}"
        out = self.folder / (what.replace(" ", "_") + f"_{len(list(self.folder.iterdir()))}.o")
        arch = int(re.match(r"\d+", machine)[0]) * 10
        command = [self.nvcc, f"-std=c++{std}", "-O3", "--expt-relaxed-constexpr", "-Xcompiler", "-fPIC",
                   f"-gencode=arch=compute_{machine},code=sm_{machine}", f"-DSGL_CUDA_ARCH={arch}",
                   "-Xcompiler", "-Wall,-Wextra,-Werror",
                   "-Xptxas=-v" if machine in STACK else "-Xptxas=-warn-spills,-warn-lmem-usage", "-Werror",
                   "all-warnings",
                   f"-I{(header or self.header).parent}", *more, "-c", HERE / f"{name}.cu", "-o", out]
        start = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        seconds = time.monotonic() - start
        said = done.stdout
        if done.returncode == 0 and machine in STACK:
            frames = [int(size) for size in re.findall(r"(\d+) bytes stack frame", said)]
            said = re.sub(r"^(ptxas info .*|    .*)\n", "", said, flags=re.M)
            if not frames or max(frames) > STACK[machine]:
                said += f"stack frames of {frames} bytes, where {STACK[machine]} are known of"
        return what, seconds, "" if done.returncode == 0 and not said else said or "failed", out


def foreign_symbols(objects, allowed):
    """Names that the objects define for others, but for those allowed and for inline functions of other libraries."""
    lines = subprocess.run(["nm", "-C", "--defined-only", "--extern-only", *objects], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    names = [line.split(" ", 2) for line in lines if re.match(r"[0-9a-f]+ \w ", line)]
    inside = re.compile(r"vdn_delta_factors::\(anonymous namespace\)|vdn_delta_factors\d+_GLOBAL__N_")
    return [name for _, kind, name in names
            if not allowed(name) and not inside.search(name)
            and not (kind in "WVu" and not name.startswith("vdn_delta"))]


def main():
    header = Path(sys.argv[1]).resolve()
    faults = check_text(header)
    nvcc = sys.argv[2] if len(sys.argv) > 2 else shutil.which("nvcc")
    if not nvcc:
        print("\n".join(faults) or "the text is as it should be; no nvcc to compile it with")
        return 1 if faults else 77
    tvm_ffi = tvm_ffi_include()
    system = [part for path in tvm_ffi for part in ("-isystem", path)]
    print(f"tvm-ffi: {tvm_ffi[0] if tvm_ffi else 'not found; only CUDA alone is compiled'}")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        compiler = Compiler(nvcc, header, folder)
        jobs = []
        for machine in MACHINES:
            for std in ("17", "20"):
                # Most of load_jit's unit is tvm-ffi, which takes longer to compile than the kernels; so that both units
                # and both standards meet every machine, but not all four times.
                both = machine == "90a"
                with_tvm_ffi = bool(tvm_ffi) and (both or std == "20")
                if with_tvm_ffi:
                    jobs.append(pool.submit(compiler.unit, "load_jit", machine, std, system))
                if both or not with_tvm_ffi:
                    jobs.append(pool.submit(compiler.unit, "plain", machine, std, ["-DVDN_TEST_NAME=first"]))
        second = pool.submit(compiler.unit, "plain", "90a", "17", ["-DVDN_TEST_NAME=second"])
        # The same with a function that is not hidden: the check of symbols must find it.
        leaky_header = Path(folder, "leaky", "vdn_delta_factors.cuh")
        leaky_header.parent.mkdir()
        leaky_header.write_text(header.read_text(encoding="ascii") + "int vdn_delta_leaked() { return 1; }\n",
                                encoding="ascii")
        leaky = pool.submit(compiler.unit, "plain", "80", "17", ["-DVDN_TEST_NAME=first"], leaky_header)
        for job in jobs + [second, leaky]:
            what, seconds, output, _ = job.result()
            print(f"{what}: {seconds:.1f} s")
            if output:
                faults.append(f"{what}: {output}")
            if seconds > LIMIT:
                faults.append(f"{what}: {seconds:.0f} s, more than {LIMIT:.0f}")
        if not faults:
            objects = [job.result()[3] for job in jobs if "90a C++17" in job.result()[0]] + [second.result()[3]]
            allowed = re.compile(r"(first|second)\(|__tvm_ffi_vdn_delta_factors(_single)?$").match
            faults += [f"exports {name}" for name in foreign_symbols(objects, allowed)]
            if not foreign_symbols([leaky.result()[3]], allowed):
                faults.append("the check of symbols does not see one too many")
            link = subprocess.run(["ld", "-r", "-o", Path(folder, "all.o"), *objects], capture_output=True, text=True,
                                  check=False)
            if link.returncode != 0:
                faults.append(f"units do not link together: {link.stderr}")
    print("\n".join(faults) or "no fault")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
