#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documents keep what they say: links to files of the tree exist, and their code is that of the examples.

    check_readme.py [ROOT]

Looks at every *.md file of the tree. A ```c block must occur, line by line, in tests/headers/example.c, a ```cpp block
in tests/headers/example_gpu.cpp. Both are compiled and run as tests.
"""
import re
import sys
from pathlib import Path

import tree


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent.parent).resolve()
    examples = {"c": "tests/headers/example.c", "cpp": "tests/headers/example_gpu.cpp"}
    code = {language: (root / file).read_text(encoding="utf-8") for language, file in examples.items()}
    wrong, links, blocks = [], 0, 0
    for path in tree.files(root):
        if path.suffix != ".md":
            continue
        text, name = path.read_text(encoding="utf-8"), path.relative_to(root)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            links += 1
            if not (path.parent / target).exists():
                wrong.append(f"{name}: no such file: {target}")
        for language, block in re.findall(r"^```(c|cpp)\n(.*?)^```", text, re.M | re.S):
            blocks += 1
            if block not in code[language]:
                wrong.append(f"{name}: this code is not in {examples[language]}:\n{block}")
    for line in wrong:
        print(line)
    print(f"{links} links, {blocks} blocks of code, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
