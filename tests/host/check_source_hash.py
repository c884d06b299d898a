#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has this kernel been measured and checked on a GPU?

    check_source_hash.py                the tree
    check_source_hash.py --self-test    shows that it can pass, skip and fail

Compares the source hash of every GPU variant (tools/source-hash) with the newest GPU record in bench/records whose
checks all passed. Exit code 0: they agree. 77 (skipped): they do not, but bench/records/UNVERIFIED holds the current
hash and, on the same line, the reason. 1: anything else.
"""
import importlib.machinery
import importlib.util
import json
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CHECKS = ("device", "memcheck", "racecheck", "synccheck", "initcheck")
GPU_VARIANTS = ("compact", "pair", "single")
NAME = re.compile(r"(\d{4}-\d{2}-\d{2})-.+-(\d+)\.json")


def current_hashes():
    loader = importlib.machinery.SourceFileLoader("source_hash", str(ROOT / "tools" / "source-hash"))
    loader.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("source_hash", loader))
    loader.exec_module(module)
    return {variant: module.source_hash(variant) for variant in GPU_VARIANTS if module.exists(variant)}


def newest_record(folder):
    """(name, record) of the newest GPU record whose checks all passed, or None. A broken record is an error."""
    best = None
    for path in folder.glob("*.json"):
        name = NAME.fullmatch(path.name)
        if not name:
            raise ValueError(f"{path.name}: not a name of the form <date>-<gpu>-<n>.json")
        record = json.loads(path.read_text(encoding="utf-8"))
        checks = record["checks"]
        passed = all(checks.get(check) == "passed" for check in {*CHECKS, *checks})
        age = (name[1], int(name[2]))
        if "gpu" in record and passed and (best is None or age > best[0]):
            best = (age, path.name, record)
    return best and best[1:]


def check(hashes, folder):
    """(exit code, what to say)"""
    said = []
    newest = newest_record(folder)
    excuses = folder / "UNVERIFIED"
    excuse_lines = excuses.read_text(encoding="utf-8").splitlines() if excuses.exists() else []
    code = 0
    for variant, value in hashes.items():
        if newest and newest[1]["source_hash"].get(variant) == value:
            said.append(f"{variant}: as measured in {newest[0]}")
            continue
        against = f"{newest[0]} measured other sources" if newest else "there is no GPU record whose checks all passed"
        excuse = next((line for line in excuse_lines if value in line and len(line.split()) > 2), None)
        if excuse:
            said.append(f"{variant}: {against}; excused: {excuse.replace(value, '').strip()}")
            code = max(code, 77) if code != 1 else 1
        else:
            said.append(f"{variant}: {against}. Its hash is {value}.\n"
                        f"  Run tools/device-check on a machine with a GPU and copy the record to bench/records, or put\n"
                        f"  that hash and the reason on a line of bench/records/UNVERIFIED.")
            code = 1
    if not hashes:
        said.append("no GPU variant in this tree")
    return code, said


def self_test():
    good = {"gpu": "NVIDIA X", "checks": dict.fromkeys(CHECKS, "passed"), "source_hash": {"single": "a1"}}
    failed = {**good, "checks": {**good["checks"], "racecheck": "not run"}}
    other = {**good, "source_hash": {"single": "b2"}}
    on_cpu = {key: value for key, value in good.items() if key != "gpu"}
    cases = [
        ("measured", {"2026-01-02-x-1.json": good}, None, 0),
        ("nothing measured", {}, None, 1),
        ("nothing measured, excused", {}, "single a1 no GPU at hand", 77),
        ("an excuse without a reason", {}, "single a1", 1),
        ("an excuse for another hash", {}, "single b2 no GPU at hand", 1),
        ("other sources measured", {"2026-01-02-x-1.json": other}, None, 1),
        ("other sources measured later", {"2026-01-02-x-9.json": good, "2026-01-02-x-10.json": other}, None, 1),
        ("other sources measured before", {"2026-01-02-x-9.json": other, "2026-01-02-x-10.json": good}, None, 0),
        ("a later record with a check that did not run",
         {"2026-01-02-x-1.json": good, "2026-01-03-x-1.json": failed}, None, 0),
        ("only a record with a check that did not run", {"2026-01-02-x-1.json": failed}, None, 1),
        ("only a CPU record", {"2026-01-02-x-1.json": on_cpu}, None, 1),
    ]
    failures = 0
    for name, records, excuse, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            for file, record in records.items():
                Path(folder, file).write_text(json.dumps(record), encoding="utf-8")
            if excuse:
                Path(folder, "UNVERIFIED").write_text(excuse + "\n", encoding="utf-8")
            code, said = check({"single": "a1"}, Path(folder))
        if code != expected:
            failures += 1
            print(f"self-test: {name}: expected exit code {expected}, got {code}: {said}")
    print(f"self-test: {len(cases) - failures} of {len(cases)} as expected")
    return 1 if failures else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    try:
        code, said = check(current_hashes(), ROOT / "bench" / "records")
    except (OSError, ValueError, KeyError) as error:
        code, said = 1, [f"cannot read the records: {error}"]
    print("\n".join(said))
    return code


if __name__ == "__main__":
    sys.exit(main())
