#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples as tests: they run, print what they promise, and compute the right thing.

    test_examples.py

Skipped (77) without PyTorch or without the package vdn_delta.
"""
import re
import subprocess
import sys
from pathlib import Path

import needs

needs.package()

HERE = Path(__file__).resolve().parent
failures = []


def expect(condition, what, result=None):
    if not condition:
        failures.append(what)
        print("FAILED:", what)
        if result:
            print(result.returncode, result.stdout, result.stderr, sep="\n")


def run(name, *arguments):
    return subprocess.run([sys.executable, str(HERE / name), *arguments], capture_output=True, text=True, timeout=300)


def four_calls():
    result = run("four_calls.py", "5")
    expect(result.returncode == 0, "four_calls.py runs", result)
    differences = [float(value) for value in re.findall(r"relative difference (\S+)", result.stdout)]
    # The sum of both errors: at most 1e-6 of the library, and twice that for the calls (docs/numerics.md).
    expect(len(differences) == 2 and all(value <= 3e-6 for value in differences), "four_calls.py: differences", result)
    times = re.search(r"5 matrices on \w+: four calls (\S+) ms, vdn_delta (\S+) ms\n", result.stdout)
    expect(times and float(times[1]) > 0 and float(times[2]) > 0, "four_calls.py: times", result)


def linear_attention():
    result = run("linear_attention.py")
    expect(result.returncode == 0 and result.stdout.count("relative error") == 2, "linear_attention.py", result)

    # It can fail: with a decay that is not the model's, its states are elsewhere.
    import linear_attention as example
    import torch

    generator = torch.Generator().manual_seed(2)
    text = example.make_tokens(1, example.TEXT_TOKENS, generator, "cpu")
    video = example.make_tokens(2, example.TOKENS, generator, "cpu")
    alpha = 0.1 + 0.9 * torch.rand(3, example.HEADS, example.DIM, generator=generator)
    expected = example.model(text, video, alpha)[0]

    def error(states):
        return ((states - expected).norm() / expected.norm()).item()

    right = error(example.linear_attention(text, video, alpha)[0])
    wrong = error(example.linear_attention(text, video, alpha.flip(-1))[0])
    expect(right <= 3e-6 < 1e-3 < wrong, f"linear_attention.py: errors {right} with alpha, {wrong} with another")


def main():
    four_calls()
    linear_attention()
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
