# SPDX-License-Identifier: Apache-2.0
"""Lists the GPU code inside the shared library and holds it to the dictionary of src/meson.build (field reports ARC-10,
ARC-12, ARC-13): machine code for each that is named, and PTX for what is newer. Needs no GPU.

usage: test_embedded_code.py LIBRARY ROOM=NAME,NAME...      NAME: sm_90, sm_90a, compute_100, ..., keys of cuda_archs
       test_embedded_code.py --self-test

Each kernel room brings a container of its own, which holds code for the NAMEs of the room and nothing else. A room may
leave out architectures that it does not run on; one has plain sm_90 and sm_100 machine code and PTX, and serves what
the others do not.
"""
import struct
import sys

MAGIC = 0xBA55ED50
PTX, ELF = 1, 2
# Bits of an entry's flags: code for one machine with its own features, and for a family.
SUFFIXES = {0x100000: "a", 0x200000: "f"}
EVERYWHERE = {"sm_90", "sm_100", "compute_100"}


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
                (flags,) = struct.unpack_from("<I", data, entry + 40)
                if kind not in (PTX, ELF) or entry_header == 0:
                    raise ValueError(f"an entry of kind {kind} at {entry}")
                suffix = "".join(letter for bit, letter in SUFFIXES.items() if flags & bit)
                names.add(("compute_" if kind == PTX else "sm_") + str(arch) + suffix)
                entry += entry_header + entry_size
            found.append(names)
        place = data.find(struct.pack("<I", MAGIC), place + 4)
    return found


def problems(found, rooms):
    """`rooms`: {room: the names of its code}"""
    said = []
    if len(found) != len(rooms):
        said.append(f"{len(found)} containers of code for {len(rooms)} kernel rooms")
    left = [set(names) for names in found]
    for room, wanted in rooms.items():
        if set(wanted) in left:
            left.remove(set(wanted))
        else:
            said.append(f"no container holds {' '.join(sorted(wanted))}, as {room} should")
    said += [f"a container of no room: {' '.join(sorted(names))}" for names in left]
    if not any(EVERYWHERE <= names for names in found):
        said.append(f"no container holds {' '.join(sorted(EVERYWHERE))}")
    return said


def self_test():
    def entry(kind, arch, flags=0x11):
        return (struct.pack("<HHIQ", kind, 0x101, 64, 8) + bytes(12) + struct.pack("<I", arch) + bytes(8)
                + struct.pack("<I", flags) + bytes(20) + b"payload.")

    def container(*entries):
        body = b"".join(entries)
        return b"before" + struct.pack("<IHHQ", MAGIC, 1, 16, len(body)) + body

    plain = container(entry(ELF, 90), entry(ELF, 100), entry(PTX, 100))
    own = container(entry(ELF, 90, 0x100011), entry(ELF, 100, 0x1200011))
    names, suffixed = ["sm_90", "sm_100", "compute_100"], ["sm_90a", "sm_100f"]
    both = {"compact": names, "single": suffixed}
    cases = [
        ("good", plain, {"compact": names}, False),
        ("two rooms", plain + plain, {"compact": names, "pair": names}, False),
        ("a room with features of its own", plain + own, both, False),
        ("a room is missing", plain, both, True),
        ("an architecture is missing", plain, {"compact": [*names, "sm_120"]}, True),
        ("one too many", container(entry(ELF, 90), entry(ELF, 100), entry(ELF, 103), entry(PTX, 100)),
         {"compact": names}, True),
        ("no PTX", container(entry(ELF, 90), entry(ELF, 100)), {"compact": names[:2]}, True),
        ("features lost", plain + container(entry(ELF, 90), entry(ELF, 100)), both, True),
        ("other features", plain + container(entry(ELF, 90, 0x100011), entry(ELF, 100, 0x100011)), both, True),
        ("nothing that serves all", own, {"single": suffixed}, True),
        ("nothing", b"no code", {"compact": names}, True),
    ]
    failures = [name for name, data, rooms, bad in cases if bool(problems(containers(data), rooms)) != bad]
    print(f"self-test: {len(cases) - len(failures)} of {len(cases)} as expected {failures or ''}")
    return 1 if failures else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    with open(sys.argv[1], "rb") as library:
        found = containers(library.read())
    for names in found:
        print(*sorted(names))
    rooms = dict(argument.split("=") for argument in sys.argv[2:])
    said = problems(found, {room: names.split(",") for room, names in rooms.items()})
    print("\n".join(said))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
