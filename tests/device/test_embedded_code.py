# SPDX-License-Identifier: Apache-2.0
"""Lists the GPU code inside the shared library and holds it to the dictionary of src/meson.build (field reports ARC-10,
ARC-12, ARC-13): machine code for each that is named, and PTX for what is newer. Needs no GPU.

usage: test_embedded_code.py LIBRARY ROOMS NAME...      NAME: sm_90, compute_100, ..., the keys of cuda_archs
       test_embedded_code.py --self-test

ROOMS is the number of kernel rooms: each brings a container of its own. A room may leave out architectures that it does
not run on, but sm_90 and sm_100 machine code and some PTX are in every one, and every NAME is in one of them.
"""
import struct
import sys

MAGIC = 0xBA55ED50
PTX, ELF = 1, 2


def containers(data):
    """For each fat binary in the file, the set of names of the code in it."""
    found = []
    place = data.find(struct.pack("<I", MAGIC))
    while place >= 0:
        _, version, header, size = struct.unpack_from("<IHHQ", data, place)
        end = place + header + size
        if version == 1 and header == 16 and size > 0 and end <= len(data):
            names, entry = set(), place + header
            while entry < end:
                kind, _, entry_header, entry_size = struct.unpack_from("<HHIQ", data, entry)
                (arch,) = struct.unpack_from("<I", data, entry + 28)
                if kind not in (PTX, ELF) or entry_header == 0:
                    raise ValueError(f"an entry of kind {kind} at {entry}")
                names.add(("compute_" if kind == PTX else "sm_") + str(arch))
                entry += entry_header + entry_size
            found.append(names)
        place = data.find(struct.pack("<I", MAGIC), place + 4)
    return found


def problems(found, rooms, wanted):
    said = []
    if len(found) != rooms:
        said.append(f"{len(found)} containers of code for {rooms} kernel rooms")
    for names in found:
        said += [f"{name} is missing in {sorted(names)}" for name in ("sm_90", "sm_100") if name not in names]
        if not any(name.startswith("compute_") for name in names):
            said.append(f"no PTX in {sorted(names)}")
    held = set().union(*found)
    said += [f"{name} is in no container" for name in sorted(set(wanted) - held)]
    said += [f"{name} is not in the dictionary" for name in sorted(held - set(wanted))]
    return said


def self_test():
    def entry(kind, arch):
        return struct.pack("<HHIQ", kind, 0x101, 64, 8) + bytes(12) + struct.pack("<I", arch) + bytes(32) + b"payload."

    def container(*entries):
        body = b"".join(entries)
        return b"before" + struct.pack("<IHHQ", MAGIC, 1, 16, len(body)) + body

    good = container(entry(ELF, 90), entry(ELF, 100), entry(PTX, 100))
    names = ["sm_90", "sm_100", "compute_100"]
    cases = [
        ("good", good, 1, names, False),
        ("two rooms", good + good, 2, names, False),
        ("a room is missing", good, 2, names, True),
        ("an architecture is missing", good, 1, [*names, "sm_120"], True),
        ("one too many", container(entry(ELF, 90), entry(ELF, 100), entry(ELF, 103), entry(PTX, 100)), 1, names, True),
        ("no PTX", container(entry(ELF, 90), entry(ELF, 100)), 1, names[:2], True),
        ("nothing", b"no code", 1, names, True),
    ]
    failures = [name for name, data, rooms, wanted, bad in cases
                if bool(problems(containers(data), rooms, wanted)) != bad]
    print(f"self-test: {len(cases) - len(failures)} of {len(cases)} as expected {failures or ''}")
    return 1 if failures else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    with open(sys.argv[1], "rb") as library:
        found = containers(library.read())
    for names in found:
        print(*sorted(names))
    said = problems(found, int(sys.argv[2]), sys.argv[3:])
    print("\n".join(said))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
