#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/field-cases.md answers every field report once, and what it names is there.

    check_field_cases.py [ROOT]
    check_field_cases.py --self-test      shows on spoilt copies of the page that each rule can fail

- Each id of the list below has exactly one entry, and no entry has another id.
- Each `path` exists. A name in quotes behind it is, in a .cpp or .cu file of the tests, that of a TEST_CASE; elsewhere
  text of the file, as the name of a function is.
- An entry names a test, or says "Not tested:" or "Not applicable:" and why.
- A test case whose name begins with ids is named in the entry of each, and no test case has an id that is not known.

Answers 77 (skipped) when all is well but entries say "To be written", and lists them.
"""
import re
import sys
from pathlib import Path

# The rows of the project's list of field reports, which is kept with the issues.
KNOWN = """
    NUM 01 04 05 06 07 08 10 11 14 16 17 18 19
    SHP 01 04 06 07 09 10 12 13 14 16 17
    MEM 01 02 03 05 06 07 10 12 14
    STR 01 02 03 04 05 06 09 10 12 13 17 18 21 22 23 25
    ARC 02 04 06 09 10 12 13 14 15 16 17
    BLD 01 02 03 04 05 07 09 12 14 16 17 18 19
    PYT 02 03 04 05 06 07 09 12
    CPU 01 02 04 06 09 10 11 12
"""
IDS = [f"{words[0]}-{number}" for words in map(str.split, KNOWN.strip().splitlines()) for number in words[1:]]
ID = r"(?:NUM|SHP|MEM|STR|ARC|BLD|PYT|CPU)-\d\d"
PAGE = "docs/field-cases.md"


def entries(page):
    """[(ids, text)] of the page; a line break is a blank."""
    found = []
    for block in re.findall(r"^- ((?:.+\n)(?:  .+\n)*)", page, re.M):
        match = re.match(rf"({ID}(?:, {ID})*): (.*)", re.sub(r"\s+", " ", block))
        if match:
            found.append((match[1].split(", "), match[2]))
    return found


def citations(text):
    """[(path, [names])] of an entry."""
    cited = re.finditer(r'`([\w./-]+)`((?:[:,] "[^"]+")*)', text)
    return [(match[1], re.findall(r'"([^"]+)"', match[2])) for match in cited if "/" in match[1]]


def has_name(path, text, name):
    if re.fullmatch(r"tests/(?!fuzz/).*\.(cpp|cu)", path):
        return f'TEST_CASE("{name}"' in text
    return name in text


def test_names(root):
    """{test case name: path} of the doctest programs."""
    names = {}
    for path in sorted(root.glob("tests/**/*.cpp")):
        for name in re.findall(r'^TEST_CASE\("((?:[^"\\]|\\.)*)"', path.read_text(encoding="utf-8"), re.M):
            names[name] = path.relative_to(root).as_posix()
    return names


def check(root, page):
    """(mistakes, ids that are to be written)"""
    wrong, open_ids, answered, cited_by = [], [], [], {}
    for ids, text in entries(page):
        answered += ids
        what = ", ".join(ids)
        found = citations(text)
        for path, names in found:
            file = root / path
            if not file.is_file():
                wrong.append(f"{what}: no file {path}")
                continue
            content = re.sub(r"\s+", " ", file.read_text(encoding="utf-8"))
            wrong += [f'{what}: {path} has no "{name}"' for name in names if not has_name(path, content, name)]
            for i in ids:
                cited_by.setdefault(i, set()).update((path, name) for name in names)
        if "To be written" in text:
            open_ids += ids
        elif not found and not re.search(r"Not (tested|applicable): \w", text):
            wrong.append(f"{what}: no test, and no reason why not")
    wrong += [f"{i}: {answered.count(i)} entries" for i in IDS if answered.count(i) != 1]
    wrong += [f"{i}: not an id of the list" for i in sorted(set(answered) - set(IDS))]
    wrong += [f"a line that is no entry: {line}" for line in re.findall(rf"^- (?!{ID}[:,]).*", page, re.M)]
    for name, path in test_names(root).items():
        prefix = re.match(rf"{ID}(?:, {ID})*", name)
        for i in re.findall(ID, prefix[0]) if prefix else []:
            if i not in IDS:
                wrong.append(f'{path}: "{name}" has an id that is not on the list')
            elif (path, name) not in cited_by.get(i, set()) and i not in open_ids:
                wrong.append(f'{i}: does not name "{name}" of {path}')
    return wrong, open_ids


def self_test(root):
    page = (root / PAGE).read_text(encoding="utf-8")
    good, _ = check(root, page)
    if good:
        sys.exit("the page is wrong as it is:\n" + "\n".join(good))
    for what, spoilt in {
        "a missing entry": page.replace("- CPU-11:", "- CPU-12:", 1),
        "an unknown id": page.replace("- CPU-11:", "- CPU-99:", 1),
        "a missing file": page.replace("`tests/host/cpu_info.cpp`", "`tests/host/cpu_inf.cpp`", 1),
        "a renamed test": page.replace("is flagged, never finite", "is flagged, always finite", 1),
        "a missing function": page.replace('"test_operator_check"', '"test_the_operator"', 1),
        "an entry without an answer": re.sub(r"^- CPU-11: .*\n(  .*\n)*", "- CPU-11: Fine.\n", page, 1, re.M),
        "a line that is no entry": page.replace("- CPU-11:", "- CPU11:", 1),
        "a test that is not named": page.replace('"NUM-04 cpu: a negative definite matrix is flagged, never finite"',
                                                 '"NUM-01 cpu: a matrix full of NaN is flagged, its neighbours are '
                                                 'exact"', 1),
    }.items():
        if spoilt == page or not check(root, spoilt)[0]:
            sys.exit(f"the check does not see {what}")
    if not check(root, page.replace("- CPU-11: ", "- CPU-11: To be written. ", 1))[1]:
        sys.exit("the check does not see what is to be written")
    print("each rule can fail")
    return 0


def main():
    root = Path(__file__).resolve().parents[2]
    if sys.argv[1:] == ["--self-test"]:
        return self_test(root)
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else root
    wrong, open_ids = check(root, (root / PAGE).read_text(encoding="utf-8"))
    print("\n".join(wrong))
    print(f"{len(IDS)} ids, {len(wrong)} mistakes, to be written: {' '.join(open_ids) or 'none'}")
    return 1 if wrong else 77 if open_ids else 0


if __name__ == "__main__":
    sys.exit(main())
