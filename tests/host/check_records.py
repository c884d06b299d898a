#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The newest GPU record of each kind of GPU whose checks all passed has the shape that users count on (field reports
SHP-16, SHP-17).

    check_records.py [--self-test]

Times of one call in a graph, by the variant that AUTO takes:
- beyond the first wave the time for a matrix does not rise with n: it is at most 15 % above that of any smaller n, of
  which a wave that is filled in part costs 9 % at the most so far;
- at every n the call is faster than the chain of four library calls.
And the records that src/host/auto_rule.h names are there.
"""
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLIFF = 1.15
# Below, a launch is what takes the time. A wave of an H200; of a B200 it would fill 132 of 148 multiprocessors.
FIRST_WAVE = 132


def newest(folder):
    """{kind of GPU: (name, record)}"""
    found = {}
    for path in folder.glob("*.json"):
        match = re.fullmatch(r"(\d{4}-\d\d-\d\d)-(.+)-(\d+)", path.stem)
        record = json.loads(path.read_text(encoding="utf-8"))
        if match and "gpu" in record and all(check == "passed" for check in record["checks"].values()):
            key = (match[1], int(match[3]))
            if match[2] not in found or key > found[match[2]][0]:
                found[match[2]] = (key, path.name, record)
    return {kind: rest[1:] for kind, rest in found.items()}


def times(record, wanted):
    return {row["n"]: row["us_median"] for row in record["results"] if row.get("mode") == "graph" and wanted(row)}


def cliffs(record):
    ours = times(record, lambda row: row.get("auto"))
    sizes = sorted(n for n in ours if n >= FIRST_WAVE)
    wrong = [f"{ours[n] / n:.4f} us a matrix at n = {n}, {ours[m] / m:.4f} at n = {m}"
             for m in sizes for n in sizes if n > m and ours[n] / n > CLIFF * ours[m] / m]
    return wrong if len(sizes) >= 4 else ["fewer than four sizes beyond the first wave"]


def slower_than_the_chain(record):
    ours = times(record, lambda row: row.get("auto"))
    chain = times(record, lambda row: row["variant"] == "baseline:chain")
    both = sorted(set(ours) & set(chain))
    wrong = [f"{ours[n]:.1f} us at n = {n}, {chain[n]:.1f} by four library calls" for n in both if ours[n] >= chain[n]]
    return wrong if both else ["no size at which both were measured"]


def check(record):
    return cliffs(record) + slower_than_the_chain(record)


def absent(rules, folder):
    """Records that the table of AUTO names and that are not kept."""
    names = re.findall(r'"bench/records/([^"]*)"', rules)
    return [f"the table of AUTO names {name}" for name in names if not (folder / name).is_file()] or (
        [] if names else ["the table of AUTO names no record"])


def self_test():
    def made_up(change=None):
        rows = {n: (0.25 * n, 1.5 * n) for n in (1, 132, 198, 264, 5656)}
        rows.update(change or {})
        return {"results": [row for n, (ours, chain) in rows.items() for row in (
            {"n": n, "variant": "single", "mode": "graph", "us_median": ours, "auto": True},
            {"n": n, "variant": "pair", "mode": "graph", "us_median": 9 * ours},
            {"n": n, "variant": "baseline:chain", "mode": "graph", "us_median": chain})]}

    for what, record, expected in (
        ("a good record", made_up(), False),
        ("a long time for few matrices", made_up({1: (17.0, 175.0)}), False),
        ("a cliff", made_up({5656: (0.25 * 5656 * 1.2, 9e9)}), True),
        ("a slow call", made_up({1: (20.0, 19.0)}), True),
        ("nothing measured", {"results": []}, True),
    ):
        if bool(check(record)) != expected:
            sys.exit(f"self-test: {what}: {check(record)}")
    if not absent('"bench/records/none.json"', ROOT / "bench/records") or not absent("", ROOT / "bench/records"):
        sys.exit("self-test: a record that is not there is not missed")
    print("each rule can fail")
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    records = newest(ROOT / "bench/records")
    wrong = [f"{name}: {fault}" for name, record in records.values() for fault in check(record)]
    wrong += absent((ROOT / "src/host/auto_rule.h").read_text(encoding="utf-8"), ROOT / "bench/records")
    print("\n".join(wrong))
    print(f"{', '.join(name for name, _ in records.values()) or 'no record'}: {len(wrong)} mistakes")
    return 1 if wrong or not records else 0


if __name__ == "__main__":
    sys.exit(main())
