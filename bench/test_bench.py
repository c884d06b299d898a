#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bench as a program: its command line, its record, the comparison of two records, and the plot.

    test_bench.py BENCH PLOT
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

BENCH, PLOT = sys.argv[1:]
failures = []


def run(*arguments):
    return subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, timeout=300)


def expect(condition, what, result=None):
    if not condition:
        failures.append(what)
        print("FAILED:", what)
        if result:
            print(result.returncode, result.stdout, result.stderr, sep="\n")


def timing(n, median, spread):
    return {"n": n, "variant": "single", "mode": "graph", "us_median": median, "us_p10": median - spread,
            "us_p90": median + spread, "samples": 30}


def check_command_line():
    result = run(BENCH, "--help")
    options = ("--list", "--n ", "--variant", "--baseline", "--json", "--mode", "--compare", "--plot-data",
               "--families", "--accuracy", "--samples", "--threads")
    expect(result.returncode == 0 and all(name in result.stdout for name in options), "--help names options", result)
    result = run(BENCH, "--list")
    expect(result.returncode == 0 and "cpu" in result.stdout, "--list", result)
    for wrong in (["--nonsense"], ["--n", "0"], ["--n", "1,x"], ["--mode", "fast"], ["--samples"], ["--compare", "a"],
                  ["--accuracy", "-1"], ["--variant", ","]):
        result = run(BENCH, *wrong)
        expect(result.returncode == 2 and not result.stdout, f"{wrong} is refused with exit code 2", result)
    result = run(BENCH, "--compare", "/nonexistent.json", "/nonexistent.json")
    expect(result.returncode == 1, "an unreadable record fails", result)


def check_record(folder):
    path = folder / "record.json"
    result = run(BENCH, "--mode", "cpu", "--n", "1,3", "--accuracy", "2", "--samples", "3", "--threads", "2",
                 "--baseline", "none", "--json", path)
    expect(result.returncode == 0, "a small CPU run passes", result)
    record = json.loads(path.read_text(encoding="utf-8"))
    timings = [row for row in record["results"] if "us_median" in row]
    errors = [row for row in record["results"] if "err_T" in row]
    expect([row["n"] for row in timings] == [1, 3], "a timing row per n")
    expect(all(row["us_p10"] <= row["us_median"] <= row["us_p90"] for row in timings), "spreads")
    expect(all(row["samples"] == 3 for row in timings), "--samples")
    expect(len(errors) == 22 and all(row["verdict"] == "OK" for row in errors), "an error row per case, all OK")
    expect(record["checks"]["accuracy"] == "passed", "accuracy counts as checked")
    expect(record["checks"]["device"] == "not run", "the bench does not claim checks that it did not run")
    result = run(BENCH, "--plot-data", path)
    expect(result.stdout.count("\ntiming\t") == 2 and result.stdout.count("\nerror\t") == 22, "--plot-data", result)
    result = run(sys.executable, PLOT, path, "--out", folder)
    expect(result.returncode == 0 and "<svg" in (folder / "errors.svg").read_text(encoding="utf-8"), "plot", result)

    result = run(BENCH, "--mode", "cpu", "--no-timing", "--accuracy", "2", "--families", "normal", "--json", path)
    record = json.loads(path.read_text(encoding="utf-8"))
    expect({row["family"] for row in record["results"]} == {"normal"}, "--families", result)
    expect(record["checks"]["accuracy"] == "not run", "a part of the families is no accuracy check")


def check_comparison(folder):
    before, after = folder / "before.json", folder / "after.json"
    head = {"gpu": "X", "date": "2026-01-01"}
    before.write_text(json.dumps({**head, "results": [timing(1, 100, 1), timing(2, 100, 1), timing(3, 100, 1),
                                                      timing(4, 100, 0.1), timing(5, 100, 1)]}), encoding="utf-8")
    after.write_text(json.dumps({**head, "results": [timing(1, 90, 1), timing(2, 110, 1), timing(3, 98, 5),
                                                     timing(4, 99.5, 0.1), timing(6, 100, 1)]}), encoding="utf-8")
    result = run(BENCH, "--compare", before, after)
    verdicts = {line.split()[2]: line.split()[-1] for line in result.stdout.splitlines() if line.startswith("single")}
    wanted = {"1": "faster", "2": "slower", "3": "undecided", "4": "undecided"}
    expect(verdicts == wanted, f"--compare says {wanted}, got {verdicts}", result)


def main():
    check_command_line()
    with tempfile.TemporaryDirectory() as folder:
        check_record(Path(folder))
        check_comparison(Path(folder))
    print(f"{len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
