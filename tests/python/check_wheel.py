#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel as `pip install .` does, looks into it, installs it elsewhere and runs tests against it.

    .venv/torch/bin/python3 tests/python/check_wheel.py

Without CUDA always, with it where nvcc is on PATH. Needs pip, readelf, nm, and PyTorch for the tests.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FILES = {"__init__.py", "_library.py", "_op.py", "libvdn_delta.so", "py.typed"}
# What every Linux has, plus the C++ runtime: no CUDA runtime, nothing of PyTorch.
SYSTEM = re.compile(r"lib(?:c|m|dl|rt|pthread|gcc_s|stdc\+\+|c\+\+|c\+\+abi|atomic)\.so(?:\.\d+)*|ld-linux\S*")


def run(*command, **keywords):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, **keywords)
    if result.returncode != 0:
        print(result.stdout)
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return result.stdout


def check(cuda, folder):
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    run(*pip, "wheel", ROOT, "--no-deps", "-w", folder, f"-Csetup-args=-Dcuda={cuda}")
    (wheel,) = folder.glob("*.whl")
    site = folder / "site"
    run(*pip, "install", "--no-deps", "--target", site, wheel)

    names = zipfile.ZipFile(wheel).namelist()
    got = {name.split("/", 1)[1] for name in names if not re.match(r"vdn_delta-[^/]*\.dist-info/", name)}
    if got != FILES:
        sys.exit(f"{wheel.name} holds {sorted(names)}")
    library = site / "vdn_delta" / "libvdn_delta.so"
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", library))
    strange = [name for name in needed if not SYSTEM.fullmatch(name)]
    if strange or "libc.so.6" not in needed:
        sys.exit(f"the library needs {needed}")
    exported = [line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()]
    if "vdn_delta_factors" not in exported or not all(name.startswith("vdn_") for name in exported):
        sys.exit(f"the library exports {exported}")

    # Away from the tree, so that nothing of it is found.
    test = pathlib.Path(__file__).with_name("runner.py"), pathlib.Path(__file__).with_name("test_op.py")
    environment = {**os.environ, "PYTHONPATH": str(site), "VDN_HAVE_CUDA": "1" if cuda == "enabled" else "0"}
    tail = run(sys.executable, *test, cwd=folder, env=environment).strip().splitlines()[-1]
    where = run(sys.executable, "-c", "import vdn_delta; print(vdn_delta.__file__)", cwd=folder, env=environment)
    where = where.strip().splitlines()[-1]  # PyTorch may have a warning to tell
    if pathlib.Path(where).parent != site / "vdn_delta":
        sys.exit(f"tested {where}")
    print(f"{wheel.name}, CUDA {cuda}: {wheel.stat().st_size >> 10} KiB, needs {' '.join(needed)}; tests: {tail}")


def main():
    for cuda in ["disabled"] + (["enabled"] if shutil.which("nvcc") else []):
        with tempfile.TemporaryDirectory() as folder:
            check(cuda, pathlib.Path(folder))


if __name__ == "__main__":
    main()
