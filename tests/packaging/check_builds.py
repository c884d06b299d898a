#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds this tree the ways that users build it, and in the surroundings that led to bug reports elsewhere.

    check_builds.py cpu --oldest-meson MESON --newest-meson MESON     without CUDA
    check_builds.py cuda                                              with nvcc on PATH: setup, and a few objects

Each check builds in a folder of its own and says what it has seen; the first that fails ends the run. What a check sees
it must also be able to miss: those that look for the absence of something look for it first where it is.
"""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEST_INSTALL = ROOT / "tests/host/test_install.py"
EXAMPLE = ROOT / "tests/headers/example.c"

SUBPROJECT_USER = """\
project('consumer', 'c', default_options: ['default_library=shared'])
executable('consumer', 'example.c', dependencies: dependency('vdn_delta', fallback: 'vdn_delta'))
"""


def run(*command, fails=False, **keywords):
    """The output of a command that must succeed, or fail."""
    command = [str(word) for word in command]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                            **keywords)
    if (result.returncode != 0) != fails:
        print(result.stdout[-8000:])
        sys.exit(f"exit status {result.returncode}: {shlex.join(command)}")
    return result.stdout


def expect(holds, what, output=""):
    if not holds:
        print(output[-8000:])
        sys.exit(f"wrong: {what}")


def environment(**changes):
    return {**os.environ, **{name: str(value) for name, value in changes.items()}}


def script(folder, name, text):
    """An executable in a folder that is to be put on PATH."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text + "\n", encoding="utf-8")
    path.chmod(0o755)
    return path


# ---- without CUDA ---------------------------------------------------------------------------------------------------


def build_and_test(folder, meson, cc, cxx, kind):
    """The library with every warning an error; then installed, and used from C and C++ by pkg-config and CMake."""
    env = environment(CC=cc, CXX=cxx)
    run(meson, "setup", folder, "--werror", "-Dcuda=disabled", "-Dtests=disabled", "-Dbench=disabled",
        f"-Ddefault_library={kind}", f"--prefix={folder}/prefix", cwd=ROOT, env=env)
    run("ninja", "-C", folder, env=env)
    options = run(meson, "introspect", "--buildoptions", folder, env=env)
    libdir = re.search(r'"name": "libdir", "value": "([^"]*)"', options)[1]
    output = run(sys.executable, TEST_INSTALL, folder, EXAMPLE, ROOT / "tests/headers/header.cpp", f"{folder}/prefix",
                 libdir, kind, "none", env=env)
    expect(f"installed and used: {kind}" in output, "the installed library was used", output)


def subproject(folder, meson):
    """A project that knows nothing but the name of the dependency."""
    project = folder / "consumer"
    (project / "subprojects").mkdir(parents=True)
    (project / "subprojects/vdn_delta").symlink_to(ROOT)
    (project / "meson.build").write_text(SUBPROJECT_USER, encoding="utf-8")
    shutil.copy(EXAMPLE, project)
    output = run(meson, "setup", folder / "build", "-Dvdn_delta:cuda=disabled", cwd=project)
    expect(re.search(r"tests\s*: NO", output) and re.search(r"bench\s*: NO", output), "no test in a subproject", output)
    run("ninja", "-C", folder / "build")
    run(folder / "build/consumer")
    expect(not list((folder / "build").rglob("host_cpu_info*")), "no test is built in a subproject")


def unknown_option(folder, meson):
    """A value that is none is refused at setup. (An option that is none gets a warning of Meson.)"""
    for option in ("-Dcuda=maybe", "-Dfuzz=sometimes"):
        output = run(meson, "setup", folder / option.replace("=", "_"), option, cwd=ROOT, fails=True)
        expect("ERROR" in output and option[2:].split("=")[0] in output, f"{option} is refused by name", output)


def fuzz_needs_clang(folder, meson):
    output = run(meson, "setup", folder, "-Dfuzz=enabled", "-Dcuda=disabled", cwd=ROOT, fails=True,
                 env=environment(CC="gcc", CXX="g++"))
    expect("-fsanitize=fuzzer" in output, "gcc is refused for the fuzzers", output)


def without_nvcc(folder, meson):
    """cuda=enabled without an nvcc ends with the reason, auto goes on without."""
    hidden = [part for part in os.environ["PATH"].split(":") if not (Path(part) / "nvcc").exists()]
    env = environment(PATH=":".join(hidden))
    off = ("-Dtests=disabled", "-Dbench=disabled")
    output = run(meson, "setup", folder / "enabled", "-Dcuda=enabled", *off, cwd=ROOT, env=env, fails=True)
    expect("no working nvcc on PATH" in output, "what is missing is said", output)
    output = run(meson, "setup", folder / "auto", *off, cwd=ROOT, env=env)
    expect("GPU path       : no (no working nvcc on PATH" in output, "the summary says that it is off", output)


# ---- with CUDA ------------------------------------------------------------------------------------------------------

SETUP = ("meson", "setup", "-Dtests=disabled", "-Dbench=disabled", "-Dpython=disabled", "-Dtvm_ffi=disabled")


def ninja_file(folder):
    return (folder / "build.ninja").read_text(encoding="utf-8")


def architectures(folder):
    return sorted(set(re.findall(r"-gencode=arch=\w+,code=\w+", ninja_file(folder))))


def host_compiler_too_new(folder, nvcc):
    """BLD-01. A gcc that says it is gcc 99 is found by nvcc; NVCC_CCBIN names another."""
    fakes = folder / "bin"
    for name in ("gcc", "g++", "cc", "c++"):
        script(fakes, name, f'exec {shutil.which(name)} "$@" -U__GNUC__ -D__GNUC__=99')
    env = environment(PATH=f"{fakes}:{os.environ['PATH']}", CC=shutil.which("gcc"), CXX=shutil.which("g++"))
    env.pop("NVCC_CCBIN", None)
    output = run(*SETUP, folder / "auto", cwd=ROOT, env=env)
    expect("GPU path       : no (" in output and "NVCC_CCBIN" in output, "setup names NVCC_CCBIN", output)
    log = (folder / "auto/meson-logs/meson-log.txt").read_text(encoding="utf-8")
    expect("unsupported GNU version" in log, "the log holds what nvcc said", log)
    output = run(*SETUP, folder / "enabled", "-Dcuda=enabled", cwd=ROOT, env=env, fails=True)
    expect("NVCC_CCBIN" in output, "setup that must have CUDA names NVCC_CCBIN", output)
    env["NVCC_CCBIN"] = env["CXX"]
    output = run(*SETUP, folder / "named", "-Dcuda=enabled", cwd=ROOT, env=env)
    expect(re.search(r"GPU path       : .*sm_90", output), "NVCC_CCBIN works", output)


def two_toolkits(folder, nvcc):
    """BLD-03. Variables that name a second toolkit, whose headers and libraries are unusable, change nothing.

    BLD-12 in the same build (lying_detection_tool): a tool that names another GPU is not asked.
    """
    other = folder / "toolkit"
    for header in ("cuda.h", "cuda_runtime.h", "cuda_runtime_api.h"):
        (other / "include").mkdir(parents=True, exist_ok=True)
        (other / "include" / header).write_text("#error headers of the wrong toolkit\n", encoding="utf-8")
    (other / "lib64").mkdir()
    (other / "lib64/libcudart_static.a").write_bytes(b"")
    asked = folder / "asked"
    for name in ("nvidia-smi", "deviceQuery", "__nvcc_device_query"):
        script(folder / "bin", name, f"echo {name} >> {asked}; echo 8.9")
    variables = ("CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CUDAToolkit_ROOT", "CUDA_TOOLKIT_ROOT_DIR")
    env = environment(**{name: other for name in variables}, PATH=f"{folder / 'bin'}:{os.environ['PATH']}")
    run(*SETUP, folder / "build", "-Dcuda=enabled", cwd=ROOT, env=env)
    expect(str(other) not in ninja_file(folder / "build"), "one toolkit is used")
    run("ninja", "-C", folder / "build", "src/libvdn_internal.a.p/host_device.cpp.o", env=env)
    lying_detection_tool(folder / "build", asked)
    # The wrong headers would have been noticed.
    compiler = environment(CPATH=other / "include")
    output = run("g++", "-fsyntax-only", "-x", "c++", "-include", "cuda_runtime_api.h", "/dev/null", env=compiler,
                 fails=True)
    expect("wrong toolkit" in output, "the trap works", output)


def lying_detection_tool(build, asked):
    expect(not asked.exists(), "no detection tool is asked")
    text = (ROOT / "src/meson.build").read_text(encoding="utf-8")
    listed = set(re.findall(r"-gencode=arch=\w+,code=\w+", text))
    # Of Blackwell's code with features of its own nvcc makes the family's, from 12.9 on.
    newest = re.search(r"release (\d+)\.(\d+)", run("nvcc", "--version"))
    other = "100a" if (int(newest[1]), int(newest[2])) >= (12, 9) else "100f"
    wanted = sorted(listed - {f"-gencode=arch=compute_{other},code=sm_{other}"})
    expect(architectures(build) == wanted != [], f"the listed architectures are built: {architectures(build)}")


def nvcc_too_old(folder, nvcc):
    """BLD-18. The version of the nvcc that compiles decides, and is named."""
    script(folder / "bin", "nvcc", 'case "$*" in *--version*) '
           f'{nvcc} --version | sed "s/release [0-9.]*, V[0-9.]*/release 12.4, V12.4.131/" ;; '
           f'*) exec {nvcc} "$@" ;; esac')
    env = environment(PATH=f"{folder / 'bin'}:{os.environ['PATH']}")
    output = run(*SETUP, folder / "auto", cwd=ROOT, env=env)
    named = re.search(r"GPU path       : no \(nvcc 12\.4\.131 in .* is older than 12\.8\)", output)
    expect(named, "the version is named", output)
    run(*SETUP, folder / "enabled", "-Dcuda=enabled", cwd=ROOT, env=env, fails=True)


def sanitizers_through_nvcc(folder, nvcc):
    """BLD-05. Options for the host compiler arrive whole: host code that nvcc has compiled is instrumented."""
    run(*SETUP, folder, "-Dcuda=enabled", "-Db_sanitize=address,undefined", "-Db_lundef=false",
        "-Dbuildtype=debugoptimized", cwd=ROOT)
    objects = ["src/libvdn_kernel_single.a.p/single_kernel.cu.o", "src/libvdn_internal.a.p/host_device.cpp.o"]
    run("ninja", "-C", folder, *objects)
    for name in objects:
        symbols = run("nm", folder / name)
        expect("__asan_" in symbols and "__ubsan_" in symbols, f"{name} is instrumented", symbols)


def clang_beside_nvcc(folder, nvcc):
    """BLD-02. Flags that clang has been asked for do not reach the gcc that nvcc calls."""
    run(*SETUP, folder, "-Dcuda=enabled", "-Dwarning_level=3", cwd=ROOT, env=environment(CC="clang", CXX="clang++"))
    run("ninja", "-C", folder, "src/libvdn_kernel_pair.a.p/pair_kernel.cu.o",
        "src/libvdn_internal.a.p/host_device.cpp.o", "src/libvdn_internal.a.p/host_kernels.cpp.o")


def shorthand(folder, nvcc):
    """ARC-13, ARC-12. The one-file header by shorthand flags, which add PTX, by the suffixed names and by both."""
    folder.mkdir()
    run(sys.executable, ROOT / "tools/make-header", "--output", folder / "vdn_delta_factors.cuh")
    jobs = []
    for flags in (["-arch=sm_90"], ["-arch=sm_100"], ["-arch=compute_90", "-code=sm_90,compute_90"], ["-arch=sm_90a"],
                  ["-gencode=arch=compute_90a,code=sm_90a", "-gencode=arch=compute_100f,code=sm_100f"]):
        command = [nvcc, "-std=c++17", "-O3", "--expt-relaxed-constexpr", *flags, "-DVDN_TEST_NAME=first",
                   f"-I{folder}", "-Werror", "all-warnings", "-c", ROOT / "tests/dropin/plain.cu",
                   "-o", folder / f"{len(jobs)}.o"]
        jobs.append(command)
    for command in jobs:
        output = run(*command)
        expect(output == "", "nvcc has nothing to say", output)


def main():
    parser = argparse.ArgumentParser(description="builds the tree as users do")
    parser.add_argument("part", choices=("cpu", "cuda"))
    parser.add_argument("--oldest-meson", default="meson")
    parser.add_argument("--newest-meson", default="meson")
    args = parser.parse_args()
    old, new = args.oldest_meson, args.newest_meson
    if args.part == "cpu":
        print(f"Meson {run(old, '--version').strip()} and {run(new, '--version').strip()}")
        checks = [
            ("clang, the newest Meson, both libraries", build_and_test, new, "clang", "clang++", "both"),
            ("gcc, the oldest Meson, static", build_and_test, old, "gcc", "g++", "static"),
            ("a subproject, shared", subproject, new),
            ("an unknown option", unknown_option, old),
            ("fuzzers by gcc", fuzz_needs_clang, new),
            ("no nvcc", without_nvcc, old),
        ]
    else:
        nvcc = shutil.which("nvcc")
        expect(nvcc, "nvcc is on PATH")
        checks = [(check.__doc__.split("\n")[0], check, nvcc) for check in (
            host_compiler_too_new, two_toolkits, nvcc_too_old, clang_beside_nvcc, sanitizers_through_nvcc, shorthand)]
    with tempfile.TemporaryDirectory(prefix="vdn-builds-") as folder:
        for number, (what, check, *arguments) in enumerate(checks):
            start = time.monotonic()
            check(Path(folder, str(number)), *arguments)
            print(f"{time.monotonic() - start:5.0f} s  {check.__name__}: {what}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
