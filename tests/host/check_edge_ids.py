#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The edges between the CTAs of a pair: docs/sync.md argues for exactly those that src/pair cites, and the faults that
it names as seeded, of pair and of compact, are there.

    check_edge_ids.py [ROOT]
"""
import re
import sys
from pathlib import Path

EDGE = r"\bE[1-9][0-9]*\b"


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    sync = (root / "docs/sync.md").read_text()
    argued = {int(n) for n in re.findall(r"^### E(\d+):", sync, flags=re.M)}
    cited = {}
    for path in sorted((root / "src/pair").iterdir()):
        if path.name in ("kernel.cu", "roles.cuh", "smem.h"):
            for edge in re.findall(EDGE, path.read_text()):
                cited.setdefault(int(edge[1:]), set()).add(path.name)
    wrong = [f"E{n} is cited in {', '.join(sorted(cited[n]))}, and docs/sync.md does not know it"
             for n in sorted(set(cited) - argued)]
    wrong += [f"docs/sync.md argues for E{n}, and nothing in src/pair cites it" for n in sorted(argued - set(cited))]
    seeded = set(re.findall(r"`((?:pair|compact)-[a-z-]+)`", sync))
    there = {path.stem for path in (root / "tests/emulator/faults").glob("*.patch")}
    wrong += [f"docs/sync.md names the seeded fault {name}, which is not there" for name in sorted(seeded - there)]
    for line in wrong:
        print(line)
    print(f"{len(argued)} edges, {len(cited)} cited, {len(seeded)} seeded faults, {len(wrong)} mistakes")
    return 1 if wrong or not argued else 0


if __name__ == "__main__":
    sys.exit(main())
