#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A fault is put into a copy of the kernels' sources, and the emulator must find it.

    test_fault.py PATCH SOURCE_ROOT WORK_FOLDER ROOM[,ROOM...] -- COMPILER ARGUMENTS... -- LINK ARGUMENTS...
    test_fault.py --none SOURCE_ROOT ...           no patch, the rest as above: the emulator must find nothing
    test_fault.py --list FOLDER AT_LEAST NAME...   the list itself: all patches of the folder, enough different ones

A fault in a kernel room is looked for in that room's variant, one in phases/ or tile/ in all of them.

A patch begins with a line that says what is wrong and "Expect: KIND [KIND...]", the kinds of fault that count as found;
then comes an ordinary unified diff. It is applied by its text, not by its line numbers: what stands in the way of a
change elsewhere in a file is nothing. A patch that no longer fits is a failure: mend it together with the kernel.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

KINDS = {"race", "proxy", "unwritten", "bounds", "permission", "alignment", "predecessor", "barrier", "exit", "deadlock",
         "launch", "result", "unwritten-output", "overrun", "refused"}
NOTHING_FOUND = 3


class Broken(Exception):
    pass


def read_patch(path):
    """(why, kinds, [(file, [(old text, new text)])])"""
    text = path.read_text(encoding="utf-8")
    head, _, diff = text.partition("--- a/")
    expect = re.search(r"^Expect: (.+)$", head, re.M)
    kinds = set(expect[1].split()) if expect else set()
    why = head.split("\n")[0]
    if not why or why.startswith("Expect") or not kinds or not kinds <= KINDS:
        raise Broken(f"{path.name}: the head wants a line of text and 'Expect: KIND...', kinds of {sorted(KINDS)}")
    files = []
    for part in re.split(r"^--- a/", "--- a/" + diff, flags=re.M)[1:]:
        name = part.split("\n", 1)[0].strip()
        hunks = []
        for hunk in re.split(r"^@@.*@@.*\n", part, flags=re.M)[1:]:
            old, new = [], []
            for line in hunk.splitlines(keepends=True):
                if line[0] in " -":
                    old.append(line[1:])
                if line[0] in " +":
                    new.append(line[1:])
            hunks.append(("".join(old), "".join(new)))
        files.append((name, hunks))
    if not files or not all(hunks for _, hunks in files):
        raise Broken(f"{path.name}: no change in it")
    for name, _ in files:  # the rest of src/ is also compiled into the library that the kernel is linked with
        if not re.match(r"src/(?!api/|host/|cpu/|arch/|package/)\w+/", name):
            raise Broken(f"{path.name}: {name} is no file of a kernel room, of phases/ or of tile/")
    return why, kinds, files


def apply(files, root):
    for name, hunks in files:
        text = (root / name).read_text(encoding="utf-8")
        for old, new in hunks:
            if text.count(old) != 1 or old == new:
                raise Broken(f"{name}: this is there {text.count(old)} times, not once:\n{old}")
            text = text.replace(old, new)
        (root / name).write_text(text, encoding="utf-8")


def check_list(folder, at_least, names):
    patches = sorted(Path(folder).glob("*.patch"))
    if sorted(names) != sorted(patch.stem for patch in patches):
        raise Broken(f"{folder} and the list in meson.build differ: {set(names) ^ {patch.stem for patch in patches}}")
    changes = set()
    for patch in patches:
        why, kinds, files = read_patch(patch)
        changes.add(str(files))
        print(f"{patch.stem}: {why} ({' or '.join(sorted(kinds))})")
    if len(changes) < at_least:
        raise Broken(f"{len(changes)} different faults, at least {at_least} are wanted")
    print(f"{len(changes)} faults")


def main():
    if sys.argv[1] == "--list":
        check_list(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
        return 0
    patch = None if sys.argv[1] == "--none" else Path(sys.argv[1])
    root, work, rooms = Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4].split(",")
    rest = sys.argv[6:]
    compiler, link = rest[: rest.index("--")], rest[rest.index("--") + 1:]
    command = compiler[: compiler.index("-std=c++17")]  # without the flags that follow
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    shutil.copytree(root / "src", work / "src")
    kinds = set()
    if patch:
        why, kinds, files = read_patch(patch)
        apply(files, work)
        print(why)
        touched = {name.split("/")[1] for name, _ in files}
        if touched <= set(rooms):
            rooms = sorted(touched)
    objects = []
    for room in rooms:
        source = work / f"{room}.cpp"
        source.write_text(f'#include "{room}/kernel.cu"\n', encoding="utf-8")
        objects.append(str(work / f"{room}.o"))
        subprocess.run(compiler + [f"-I{work / 'src'}", "-c", str(source), "-o", objects[-1]], check=True)
    program = str(work / "probe")
    subprocess.run(command + objects + link + ["-o", program], check=True)
    every = "1" if patch else "8"  # without a fault, all that is asked is whether the probe itself finds one
    run = subprocess.run([program, every] + rooms, stdout=subprocess.PIPE, text=True, timeout=200)
    print(run.stdout, end="")
    if patch is None:
        return 0 if run.returncode == NOTHING_FOUND else 1
    found = run.stdout.split(":")[0]
    if run.returncode != 0:
        print("NOT FOUND" if run.returncode == NOTHING_FOUND else f"the program ended with {run.returncode}")
        return 1
    if found not in kinds:
        print(f"found as {found}, expected {' or '.join(sorted(kinds))}")
        return 1
    shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Broken, subprocess.SubprocessError) as error:
        print(error)
        sys.exit(1)
