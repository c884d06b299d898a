# SPDX-License-Identifier: Apache-2.0
"""The shared library exports what its header declares, and nothing else; it needs no CUDA library, and has no run path
(field reports CPU-09, BLD-04).

usage: test_exports.py HEADER LIBRARY LEAKY

LEAKY is a library that exports more than it should: the same check must complain about it. 77: no binutils.
"""
import re
import shutil
import subprocess
import sys


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported(library):
    return {line.split()[-1].split("@")[0] for line in output("nm", "-D", "--defined-only", library).splitlines() if line}


def problems(library, declared):
    symbols = exported(library)
    found = [f"exports {name}" for name in sorted(symbols - declared)]
    found += [f"does not export {name}" for name in sorted(declared - symbols)]
    for line in output("readelf", "-d", library).splitlines():
        if "NEEDED" in line and re.search(r"cuda|nvidia|cublas|openblas|lapack", line, re.I):
            found.append("needs" + line.split(":")[-1])
        if "RPATH" in line or "RUNPATH" in line:
            found.append("has a run path:" + line.split(":")[-1])
    return found


def main():
    if not (shutil.which("nm") and shutil.which("readelf")):
        print("nm or readelf is missing")
        return 77
    header, library, leaky = sys.argv[1:]
    text = open(header, encoding="utf-8").read()
    declared = set(re.findall(r"^VDN_API\b[^;]*?(\w+)\(", text, re.M))
    assert all(name.startswith("vdn_") for name in declared) and declared

    seen = problems(leaky, declared)
    for wanted in ("exports cudaMalloc", "does not export vdn_version"):
        if wanted not in seen:
            sys.exit(f"the check does not see that {leaky} {wanted}")
    found = problems(library, declared)
    print("\n".join(found) or f"{len(declared)} functions")
    return 1 if found else 0


sys.exit(main())
