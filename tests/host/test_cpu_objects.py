#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The objects of the CPU path, looked at without running them (field report CPU-06 and the rule of level.h).

Arguments: LEVEL=ARCHIVE for each instruction-set level, batch=ARCHIVE for the code around them.

1. A level defines no symbol outside its own two namespaces: an inline function of the standard library that was emitted
   out of line could be merged by the linker with the one of another level, and then run on a processor without its
   instructions.
2. The baseline and the batch hold no AVX instruction; the other levels do.
3. Nothing runs at load time: no object has initialisers.

Answers 77 where nm, objdump or readelf is missing.
"""
import re
import shutil
import subprocess
import sys


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout


def strays(level, archive):
    """Defined symbols of a level that are not in its namespaces."""
    own = re.compile(r"vdn_delta::cpu::%s::|Eigen_vdn_%s::" % (level, level))
    found = []
    for line in output("nm", "-C", "--defined-only", archive).splitlines():
        match = re.match(r"[0-9a-f]+ ([A-Za-z]) (.+)$", line)
        # Local symbols cannot be merged; DW.ref.* is a pointer to the exception personality, the same in all objects.
        if match and match.group(1) not in "tbdrn" and not match.group(2).startswith("DW.ref."):
            if not own.search(match.group(2)):
                found.append(match.group(2))
    return found


def members(archive, prefix):
    """The disassembly of the members of an archive whose object name holds `prefix`."""
    text = output("objdump", "-d", "--no-show-raw-insn", archive)
    return "\n".join(part for part in re.split(r"\n(?=.+:\s+file format)", text) if prefix in part.split("\n", 1)[0])


def main():
    for tool in ("nm", "objdump", "readelf"):
        if shutil.which(tool) is None:
            print("skipped: no %s" % tool)
            return 77
    archives = dict(argument.split("=", 1) for argument in sys.argv[1:])
    errors = []
    for level, archive in archives.items():
        if level != "batch":
            errors += ["%s defines %s" % (level, name) for name in strays(level, archive)]
        code = members(archive, "factors" if level == "batch" else "solve")
        if not code:
            errors.append("no code in %s" % archive)
        uses_avx = re.search(r"%[yz]mm\d|\tv[a-z0-9]+ps\b", code) is not None
        if uses_avx != level.startswith("avx"):
            errors.append("%s %s AVX instructions" % (level, "holds" if uses_avx else "holds no"))
        if "zmm" in code and level != "avx512":
            errors.append("%s holds AVX-512 instructions" % level)
        if re.search(r"\.(init_array|ctors)", output("readelf", "-SW", archive)):
            errors.append("%s has initialisers" % level)
    for error in errors:
        print(error)
    print("%d archives, %d errors" % (len(archives), len(errors)))
    return 1 if errors or len(archives) < 2 else 0


sys.exit(main())
