#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bench as a program: its command line, its record, the comparison of two records, the plot, and bench/tail.

    test_bench.py BENCH PLOT
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

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


def timing(n, median, spread, variant="single", mode="graph"):
    return {"n": n, "variant": variant, "mode": mode, "us_median": median, "us_p10": median - spread,
            "us_p90": median + spread, "samples": 30}


def check_command_line():
    result = run(BENCH, "--help")
    options = ("--list", "--n ", "--variant", "--baseline", "--json", "--mode", "--compare", "--plot-data",
               "--families", "--accuracy", "--samples", "--threads", "--tune", "--timeline")
    expect(result.returncode == 0 and all(name in result.stdout for name in options), "--help names options", result)
    result = run(BENCH, "--list")
    expect(result.returncode == 0 and "cpu" in result.stdout, "--list", result)
    for wrong in (["--nonsense"], ["--n", "0"], ["--n", "1,x"], ["--n", "3..1"], ["--n", "1..3:0"], ["--n", "1..x"],
                  ["--n", "1..3:"], ["--n", "1..9999999"], ["--mode", "fast"], ["--samples"], ["--compare", "a"],
                  ["--accuracy", "-1"], ["--variant", ","]):
        result = run(BENCH, *wrong)
        expect(result.returncode == 2 and not result.stdout, f"{wrong} is refused with exit code 2", result)
    result = run(BENCH, "--compare", "/nonexistent.json", "/nonexistent.json")
    expect(result.returncode == 1, "an unreadable record fails", result)


def check_record(folder):
    path = folder / "record.json"
    result = run(BENCH, "--mode", "cpu", "--n", "1..3:2,4,2..2", "--accuracy", "2", "--samples", "3", "--threads", "2",
                 "--baseline", "none", "--json", path)
    expect(result.returncode == 0, "a small CPU run passes", result)
    record = json.loads(path.read_text(encoding="utf-8"))
    timings = [row for row in record["results"] if "us_median" in row]
    errors = [row for row in record["results"] if "err_T" in row]
    expect([row["n"] for row in timings] == [1, 3, 4, 2], "a timing row per n, ranges too")
    expect(all(row["us_p10"] <= row["us_median"] <= row["us_p90"] for row in timings), "spreads")
    expect(all(row["samples"] == 3 for row in timings), "--samples")
    expect(len(errors) == 22 and all(row["verdict"] == "OK" for row in errors), "an error row per case, all OK")
    expect(record["checks"]["accuracy"] == "passed", "accuracy counts as checked")
    expect(record["checks"]["device"] == "not run", "the bench does not claim checks that it did not run")
    result = run(BENCH, "--plot-data", path)
    expect(result.stdout.count("\ntiming\t") == 4 and result.stdout.count("\nerror\t") == 22, "--plot-data", result)
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


def curve(folder, sizes, edge, name="2026-11-30-x-2.json"):
    """A record of times at these sizes on a GPU of 10 multiprocessors, with a step of `edge` us at each full wave."""
    def us(n):
        return 30 + 2 * n / 10 + edge * ((n - 1) // 10)

    rows = [{**timing(n, us(n), 0.1), "auto": True} for n in sizes]
    rows += [timing(n, 1.2 * us(n), 0.1, "pair") for n in sizes if n <= 60]
    path = folder / name
    path.write_text(json.dumps({"gpu": "X", "date": "2026-01-01", "multiprocessors": 10, "results": rows}),
                    encoding="utf-8")
    return path


def check_curve(folder):
    for count, is_curve in ((100, True), (99, False)):
        out = folder / f"figures-{count}"
        result = run(sys.executable, PLOT, curve(folder, range(1, count + 1), 0), "--out", out)
        expect(result.returncode == 0 and (out / "time.svg").exists() and (out / "curve.svg").exists() == is_curve,
               f"plot: {'a' if is_curve else 'no'} curve of {count} sizes", result)
    picture = ElementTree.parse(folder / "figures-100" / "curve.svg")
    lines = [line for line in picture.iter("{http://www.w3.org/2000/svg}polyline") if line.get("points").count(",") > 2]
    texts = {text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")}
    expect(sorted(line.get("points").count(",") for line in lines) == [60, 100, 100],
           "plot: a line for AUTO and for each variant")
    expect({"AUTO", "vdn_delta, single", "vdn_delta, pair"} <= texts and "vdn_delta, compact" not in texts,
           f"plot: the legend of a curve, {texts}")

    tail = Path(PLOT).parent / "tail"
    for what, edge, sizes, code in (("a smooth curve", 0, range(1, 101), 0), ("steps", 20, range(1, 101), 1),
                                    ("an edge left out", 0, [n for n in range(1, 101) if n != 51], 1)):
        result = run(sys.executable, tail, curve(folder, sizes, edge))
        expect(result.returncode == code, f"tail: {what}", result)
    result = run(sys.executable, tail, curve(folder, range(1, 101), 0), "--wave", "200")
    expect(result.returncode == 1, "tail: a curve shorter than a wave", result)
    result = run(sys.executable, tail, curve(folder, range(10, 101, 10), 0))
    expect(result.returncode == 1 and result.stdout.count("\n") == 1 and "not a curve" in result.stdout,
           "tail: a record that is not a curve, in one line", result)


def check_missing_tools(folder):
    """bench/project and tools/check-sass say which tool is not there, in the same words."""
    library = folder / "library"
    library.write_bytes(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 0))  # the head of a fat binary
    for tool in ("bench/project", "tools/check-sass"):
        command = [sys.executable, str(Path(PLOT).parent.parent / tool)]
        result = subprocess.run([*command, str(library)], capture_output=True, text=True, timeout=300,
                                env={**os.environ, "PATH": str(folder)})
        said = (result.stdout + result.stderr).splitlines()[-1:]
        expect(result.returncode == 1 and said == [f"{Path(tool).name}: not found: cuobjdump"],
               f"{tool} without cuobjdump", result)


VARIANTS = ("pair", "single", "compact")


def tune(folder, times, head, clusters=66, multiprocessors=132):
    """What --tune says of a record with these times: {n: (pair, single, compact)}."""
    path = folder / "2026-11-30-x-1.json"
    rows = [timing(n, us, 0.1, variant) for n, pair in times.items() for variant, us in zip(VARIANTS, pair)]
    # Rows of other modes and of other sizes must not count.
    rows += [timing(n, 1000 - us, 0.1, variant, "graph-cold") for n, pair in times.items()
             for variant, us in zip(VARIANTS, pair)] + [timing(5656, 1, 0.1)]
    path.write_text(json.dumps({"gpu": "X", "date": "2026-01-01", **head, "multiprocessors": multiprocessors,
                                "clusters": clusters, "results": rows}), encoding="utf-8")
    return run(BENCH, "--tune", path)


def check_tuning(folder):
    def entry(capability, multiprocessors, *times):
        numbers = ", ".join(f"{{{first:.1f}, {following:.1f}}}" for first, following in times)
        return f'    {{  {capability}, {multiprocessors}, {{{numbers}}}, "bench/records/2026-11-30-x-1.json"}},'

    h200 = {1: (17.2, 32.5, 28.7), 66: (18.5, 33.5, 29.4), 67: (35.2, 33.6, 29.5), 132: (36.3, 35.7, 31.5),
            133: (51.8, 60.6, 62.0), 198: (55.8, 63.0, 63.5), 199: (71.2, 62.9, 63.9), 264: (75.7, 65.5, 66.0),
            528: (149.0, 119.1, 135.0)}
    result = tune(folder, h200, {"capability": "9.0"})
    said = result.stdout.splitlines()
    expect(result.returncode == 0 and said[-1:] == [
        entry(90, 132, (35.7, 27.8), (31.5, 34.5), (18.5, 18.65))], "--tune: entry", result)
    chosen = {int(line.split()[0]): line.split()[7:9] for line in said if re.match(r" +\d+  ", line)}
    expect(chosen == {n: [VARIANTS[times.index(min(times))]] * 2 for n, times in h200.items()},
           f"--tune: AUTO takes the faster one at every size, {chosen}", result)
    # An uneven wave, which two numbers cannot follow, is said with what it costs.
    result = tune(folder, {**h200, 67: (25.0, 33.6, 28.0)}, {"capability": "9.0"})
    expect("compact, which loses 12.0 %" in result.stdout, "--tune: where the entry is wrong", result)
    result = tune(folder, {74: (10, 17, 16), 148: (20, 18, 17), 222: (30, 40, 41), 296: (40, 32, 33),
                           592: (80, 60, 65)}, {"capability": "10.3"}, 74, 148)
    expect(result.stdout.splitlines()[-1:] == [entry(103, 148, (18, 14), (17, 16), (10, 10))], "--tune, another GPU",
           result)
    for what, result in (("no sizes", tune(folder, {}, {"capability": "9.0"})),
                         ("no full wave", tune(folder, {n: h200[n] for n in (1, 67, 133)}, {"capability": "9.0"})),
                         ("no compact", tune(folder, {n: times[:2] for n, times in h200.items()},
                                             {"capability": "9.0"})),
                         ("no capability", tune(folder, h200, {})),
                         ("no clusters", tune(folder, h200, {"capability": "9.0"}, 0)),
                         ("no record", run(BENCH, "--tune", folder / "missing.json"))):
        expect(result.returncode == 1 and "entry for" not in result.stdout, f"--tune refuses: {what}", result)


def main():
    check_command_line()
    with tempfile.TemporaryDirectory() as folder:
        check_record(Path(folder))
        check_comparison(Path(folder))
        check_curve(Path(folder))
        check_missing_tools(Path(folder))
        check_tuning(Path(folder))
    print(f"{len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
