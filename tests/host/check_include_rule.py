#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The include rule and the habits of src/README.md, as far as a text search can hold them.

    check_include_rule.py [ROOT]        the tree
    check_include_rule.py --self-test   shows on made-up trees that each rule can fail

Prints every breach as file:line and exits with 1 when there is one. Comments and string literals are not looked at,
except for the licence line that every file carries.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import tree

CODE_SUFFIXES = {".h", ".hpp", ".cuh", ".cu", ".c", ".cpp"}
LICENCE = "SPDX-License-Identifier: Apache-2.0"
VARIANTS = ("compact", "pair", "single")

# What a room may include besides itself and the shared words; arrows go one way.
ROOMS = {
    "api": {"host", "cpu", "api"},
    "host": {"host", *VARIANTS},
    "cpu": {"cpu"},
    "dropin": {"host", "dropin", *VARIANTS},
    "compact": {"phases", "tile", "arch", "compact"},
    "pair": {"phases", "tile", "arch", "pair"},
    "single": {"phases", "tile", "arch", "single"},
    "phases": {"tile", "arch", "phases"},
    "tile": {"arch", "tile"},
    "arch": {"arch"},
    "": set(),  # params.h, shape.h, team.cuh
}
SHARED_WORDS = {"params.h", "shape.h", "team.cuh"}
# team.cuh names the ways to share a matrix, so it speaks to arch.
MAY_INCLUDE = {"team.cuh": {"arch"}}

# Kernels are launched here, by way of arch/, so that a second implementation can take over.
LAUNCH_FILES = {f"src/{variant}/kernel.cu" for variant in VARIANTS}
LAUNCH = re.compile(r"<<<|\bcudaLaunch\w+|\bcuLaunch\w+")
KERNEL_QUERY = re.compile(r"\bcuda(?:Occupancy\w+|FuncSetAttribute|FuncGetAttributes)\b|\bcuFunc\w+|\bcuOccupancy\w+")
DEVICE_QUERY = re.compile(
    r"\bcuda(?:GetDeviceProperties|DeviceGetAttribute|GetDeviceCount|GetDevice|SetDevice|DriverGetVersion"
    r"|RuntimeGetVersion|DeviceGetPCIBusId|ChooseDevice|MemGetInfo)\b|\bcuDevice\w+")
# The library's host side, and that of the one-file header, which has to do without it.
DEVICE_FILES = {"src/host/device.cpp", "src/dropin/launch.cuh", "src/dropin/tensors.cuh"}
CUDA_INCLUDE = re.compile(r'#\s*include\s*[<"](?:cuda|cooperative_groups|cub/|nv/|crt/|vector_types|sm_\d+|mma\.h)')
CUDA_FREE = {"src/host/auto_rule.h", "src/host/plan.cpp", "src/host/plan.h", "src/shape.h"} | {
    f"src/{variant}/{name}" for variant in VARIANTS for name in ("config.h", "smem.h")}
# Barriers and shared or peer memory by other means than arch/.
BARRIER = re.compile(
    r"\b__sync(?:threads|warp)\w*|\b__cluster_\w+|\bcooperative_groups\b|\bcuda::(?:barrier|ptx|pipeline|memcpy_async)"
    r"|\b__threadfence\w*|\b__shfl\w*|\b__(?:any|all|ballot|match_any|match_all|activemask)(?:_sync)?\b"
    r"|\b__shared__\b|\b__cvta\w*|\bcluster_group\b|\bmap_shared_rank\b|\bnamed_barrier\b")
PRINT_OR_EXIT = re.compile(
    r"\b(?:printf|fprintf|puts|fputs|putchar|perror|abort|_?exit|quick_exit|terminate)\s*\(|\bstd::c(?:out|err|log)\b"
    r"|\b__trap\b|\bassert\s*\(")
EXPORTED_SYMBOL = re.compile(r"^\s*VDN_API\b[^;{(]*?\b(\w+)\s*\(", re.M)


def strip(text):
    """The text without comments and string literals, every line kept where it was."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)

    def blank(match):
        token = match[0]
        if token.startswith('"'):
            return '""'
        return "\n" * token.count("\n")

    # Includes keep their quoted names.
    lines = []
    for line in text.split("\n"):
        include = re.match(r'(\s*#\s*include\s*)"([^"]*)"', line)
        lines.append(f"{include[1]}<@{include[2]}>" if include else line)
    return pattern.sub(blank, "\n".join(lines))


class Report:
    def __init__(self):
        self.breaches = []

    def lines(self, name, code, pattern, message):
        for number, line in enumerate(code.split("\n"), 1):
            if re.search(pattern, line):
                self.breaches.append(f"{name}:{number}: {message}: {line.strip()}")

    def add(self, name, message):
        self.breaches.append(f"{name}: {message}")


def room_of(path):
    """"arch" for arch/x.cuh, "" for a file directly in src/."""
    return path.split("/")[0] if "/" in path else ""


def included(root, path, target):
    """The path under src/ that an include names, or None for something outside."""
    src = (root / "src").resolve()
    for base in ((src / path).parent, src):
        candidate = (base / target).resolve()
        if candidate.is_file() and src in candidate.parents:
            return candidate.relative_to(src).as_posix()
    return None


def check_source(report, root, name, path, text):
    """`name` is the path from the root, `path` the one under src/."""
    code, room = strip(text), room_of(path)
    if room not in ROOMS:
        report.add(name, f"no room of the map is called {room}")
        return
    for number, line in enumerate(code.split("\n"), 1):
        match = re.match(r"\s*#\s*include\s*<@(.*)>", line)
        target = included(root, path, match[1]) if match else None
        if target and target not in SHARED_WORDS:
            if room_of(target) not in ROOMS[room] | MAY_INCLUDE.get(path, set()):
                report.breaches.append(f"{name}:{number}: src/{room or '.'} may not include {target}")

    if room != "arch":
        report.lines(name, code, r"\basm\b|\b__asm(?:__)?\b|\b__CUDA_ARCH\w*", "asm and __CUDA_ARCH__ live in src/arch")
        report.lines(name, code, BARRIER, "barriers, shuffles and shared memory go through src/arch")
        if name not in LAUNCH_FILES:
            report.lines(name, code, LAUNCH, "kernels are launched in a variant's kernel.cu")
    if room not in VARIANTS and room != "arch" and name != "src/dropin/launch.cuh":
        report.lines(name, code, KERNEL_QUERY, "occupancy and attributes of a kernel sit beside it")
    if name not in DEVICE_FILES:
        report.lines(name, code, DEVICE_QUERY, "devices are asked in src/host/device.cpp and src/dropin")
    if name in CUDA_FREE:
        report.lines(name, code, CUDA_INCLUDE, "no CUDA include here")
    report.lines(name, code, PRINT_OR_EXIT, "the library does not print or exit")
    report.lines(name, code, r"\bthrow\b", "no exception of our own: none may reach the C ABI")
    if Path(path).suffix in {".h", ".hpp", ".cuh"}:
        report.lines(name, code, r"\busing\s+namespace\b", "no using namespace in a header")
    lines = text.count("\n")
    if lines > 300:
        report.add(name, f"{lines} lines; a file in src has at most 300")
    if path.endswith("/kernel.cu") and lines > 200:
        report.add(name, f"{lines} lines; kernel.cu has at most 200")


def check_getenv(report, sources):
    found = [(name, number) for name, text in sources.items()
             for number, line in enumerate(strip(text).split("\n"), 1) if re.search(r"\b(?:secure_)?getenv\b", line)]
    if len(found) > 1:
        report.breaches += [f"{name}:{number}: the environment is read in one place only" for name, number in found]


def check_public_header(report, root):
    name = "include/vdn_delta/vdn_delta.h"
    symbols = EXPORTED_SYMBOL.findall(strip((root / name).read_text(encoding="utf-8")))
    if not symbols:
        report.add(name, "exports nothing")
    for symbol in symbols:
        if not symbol.startswith("vdn_"):
            report.add(name, f"exported symbol {symbol} does not start with vdn_")


def check_twins(report, root):
    """The emulator's arch/ stands before src/arch on an include path: a file without a twin would be the shipped one."""
    layer = root / "tests/emulator/layer/arch"
    for path in sorted((root / "src/arch").glob("*")):
        if not (layer / path.name).is_file():
            report.add(f"src/arch/{path.name}", f"no twin in {layer.relative_to(root)}")


def check_licences(report, root):
    for path in tree.files(root):
        first = path.read_bytes()[:400]
        wanted = path.suffix in CODE_SUFFIXES | {".py", ".sh"} or path.name in ("meson.build", "meson_options.txt")
        if (wanted or first.startswith(b"#!")) and LICENCE.encode() not in first:
            report.add(path.relative_to(root).as_posix(), "no SPDX line")


def check_tree(root):
    report, sources = Report(), {}
    for path in sorted((root / "src").rglob("*")):
        if path.suffix in CODE_SUFFIXES and path.is_file():
            sources[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8")
    if not sources:
        report.add("src", "no source found")
    for name, text in sources.items():
        check_source(report, root, name, name[len("src/"):], text)
    check_getenv(report, sources)
    check_public_header(report, root)
    check_twins(report, root)
    check_licences(report, root)
    return len(sources), report.breaches


def self_test():
    head = f"// {LICENCE}\n"
    good = {
        "include/vdn_delta/vdn_delta.h": "#define VDN_API __attribute__((x))\nVDN_API int vdn_version(void);\n",
        "src/params.h": "struct Params {};\n",
        "src/host/device.cpp": "int f() { return cudaGetDevice(nullptr); }\n",
        "src/host/plan.cpp": "// not in a comment: #include <cuda_runtime.h>, asm, <<<\nint plan();\n",
        "src/single/launch.h": "#include <cuda_runtime_api.h>\n#include \"../params.h\"\n",
        "src/single/kernel.cu": '#include "arch/a.cuh"\nvoid f() { k<<<1, 1>>>(); cudaFuncSetAttribute(k); }\n',
        "src/arch/a.cuh": 'void sync() { asm volatile("bar.sync"); __syncthreads(); }\n',
        "tests/emulator/layer/arch/a.cuh": "\n",
        "src/api/api.cpp": '#include "host/device.h"\nconst char* text = "printf(\\"no\\")";\n',
        "src/host/device.h": "\n",
    }
    bad = [
        ({"src/phases/p.cuh": 'void f() { asm(""); }\n'}, "asm and __CUDA_ARCH__"),
        ({"src/tile/t.cuh": "#if __CUDA_ARCH__ >= 1000\n#endif\n"}, "asm and __CUDA_ARCH__"),
        ({"src/host/plan.cpp": "void f() { k<<<1, 1>>>(); }\n"}, "kernels are launched"),
        ({"src/host/plan.cpp": "#include <cuda_runtime.h>\n"}, "no CUDA include"),
        ({"src/single/config.h": "#include <cuda/std/array>\n"}, "no CUDA include"),
        ({"src/api/api.cpp": "int f() { return cudaGetDeviceCount(0); }\n"}, "devices are asked"),
        ({"src/host/plan.cpp": "int f() { return cudaOccupancyMaxActiveBlocksPerMultiprocessor(); }\n"}, "occupancy"),
        ({"src/phases/p.cuh": "void f() { __syncthreads(); }\n"}, "barriers"),
        ({"src/arch/a.cuh": '#include "tile/t.cuh"\n', "src/tile/t.cuh": "\n"}, "may not include"),
        ({"src/arch/b.cuh": "\n"}, "no twin"),
        ({"src/single/kernel.cu": '#include "../host/device.h"\n'}, "may not include"),
        ({"src/cpu/c.cpp": '#include "../host/device.h"\n'}, "may not include"),
        ({"src/api/api.cpp": 'void f() { printf("x"); }\n'}, "print or exit"),
        ({"src/cpu/c.cpp": "void f() { std::abort(); }\n"}, "print or exit"),
        ({"src/cpu/c.cpp": "void f() { throw 1; }\n"}, "exception"),
        ({"src/host/device.h": "using namespace std;\n"}, "using namespace"),
        ({"src/api/a.cpp": "int a = getenv(x);\n", "src/api/b.cpp": "int b = std::getenv(x);\n"}, "environment"),
        ({"src/api/api.cpp": "\n" * 300}, "at most 300"),
        ({"src/single/kernel.cu": "\n" * 200}, "at most 200"),
        ({"src/other/x.cpp": "\n"}, "no room"),
        ({"include/vdn_delta/vdn_delta.h": "VDN_API int version(void);\n"}, "does not start with vdn_"),
        ({"tools/x": "#!/bin/sh\n"}, "no SPDX line"),
        ({"tests/meson.build": "test()\n"}, "no SPDX line"),
    ]
    failures = 0
    for files, expected in [({}, "")] + bad:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**good, **files}.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text if expected == "no SPDX line" and name in files else head + text, encoding="utf-8")
            breaches = check_tree(Path(folder))[1]
        if not (any(expected in breach for breach in breaches) if expected else not breaches):
            failures += 1
            print(f"self-test: {files}: expected {expected or 'no breach'!r}, got {breaches}")
    print(f"self-test: {len(bad) + 1 - failures} of {len(bad) + 1} as expected")
    return 1 if failures or not self_test_of_git() else 0


def self_test_of_git():
    """In a checkout, a script without its line is a breach once git tracks it."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("mine", "theirs/script.py"):
            Path(folder, name).parent.mkdir(exist_ok=True)
            Path(folder, name).write_text("#!/bin/sh\n", encoding="utf-8")
        seen = []
        try:
            for command in (["init", "-q"], ["add", "mine"]):
                seen.append([path.name for path in tree.files(Path(folder))])
                subprocess.run(["git", "-C", folder, *command], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            print("self-test: git, not run: there is none")
            return True
        seen.append([path.name for path in tree.files(Path(folder))])
    good = seen == [["mine", "script.py"], ["mine", "script.py"], ["mine"]]
    print(f"self-test: git, {'as expected' if good else seen}")
    return good


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent.parent
    count, breaches = check_tree(root.resolve())
    for breach in breaches:
        print(breach)
    print(f"{count} files in src, {len(breaches)} breaches")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
