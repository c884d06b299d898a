#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trace/benchmark.py: that it passes what is right and nothing else, and that its traces follow the schema.

    test_trace.py

Skipped (77) without PyTorch or without the package vdn_delta. What needs the packages flashinfer-bench and safetensors
is left out where they are missing, and said so.
"""
import importlib.util
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
import needs  # noqa: E402

needs.package()

import torch  # noqa: E402

import benchmark  # noqa: E402
import check_schema  # noqa: E402

N, TOKENS = 3, 256
CPU = torch.device("cpu")
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED:", what)


def status(function, writes_outputs=False):
    kernel = benchmark.Kernel("candidate", function, writes_outputs)
    return benchmark.check(kernel, N, CPU, tokens=TOKENS)[0]


def rounded_to_bf16(A, B, alpha):
    T, J = benchmark.exact(A, B, alpha)
    return T.float(), J.bfloat16().float()


def wrong_in_one_matrix(A, B, alpha):
    """Larger than the bound in one matrix, within it over the batch."""
    T, J = (tensor.float() for tensor in benchmark.exact(A, B, alpha))
    T[-1] *= 1 + 1.5e-6
    return T, J


def zeros_for_transition(A, B, alpha):
    """What tolerances of 1e-2 for an element accept at beta scales 50 and 100."""
    return torch.zeros_like(A), benchmark.exact(A, B, alpha)[1].float()


def without_first_alpha(A, B, alpha):
    return tuple(tensor.float() for tensor in benchmark.exact(A, B, torch.cat([alpha[1:], alpha[:1]])))


def overwrites(A, B, alpha):
    result = tuple(tensor.float() for tensor in benchmark.exact(A, B, alpha))
    A.zero_()
    return result


def writes_one(A, B, alpha, T, J):
    T.copy_(benchmark.exact(A, B, alpha)[0])


def exactly(A, B, alpha):
    return tuple(tensor.float() for tensor in benchmark.exact(A, B, alpha))


def check_judgement():
    expect(status(exactly) == "PASSED", "fp64 rounded once passes")
    for function in (rounded_to_bf16, wrong_in_one_matrix, zeros_for_transition, without_first_alpha):
        expect(status(function) == "INCORRECT_NUMERICAL", f"{function.__name__} is numerically wrong")
    expect(status(writes_one, writes_outputs=True) == "INCORRECT_NUMERICAL", "an output that is not written")
    expect(status(overwrites) == "RUNTIME_ERROR", "an overwritten input")
    expect(status(lambda A, B, alpha: 1 / 0) == "RUNTIME_ERROR", "a solution that raises")
    expect(status(lambda A, B, alpha: benchmark.exact(A, B, alpha)) == "INCORRECT_DTYPE", "fp64 outputs")
    expect(status(lambda A, B, alpha: (A[:1], B[:1])) == "INCORRECT_SHAPE", "outputs of another shape")


def check_inputs():
    """They are what the model has: I + A is positive definite (exact() would raise), A is symmetric, and the size of A's
    spectrum is that of the rows of k: its trace is the sum of beta, about half of tokens x scale."""
    for scale in benchmark.BETA_SCALES:
        A, B, alpha = benchmark.make_inputs(N, scale, tokens=TOKENS)
        benchmark.exact(A, B, alpha)
        expect(torch.equal(A, A.mT), "A is symmetric")
        trace = A.diagonal(dim1=-2, dim2=-1).sum(-1) / (TOKENS * scale)
        expect(bool(((trace > 0.4) & (trace < 0.6)).all()), f"trace of A at scale {scale}")
        expect(bool((alpha[0] == 1).all()) and bool((alpha[1:] < 1).all()), "alpha")
        expect(bool(torch.isfinite(B).all()), "B")


def check_definition():
    """The reference of the definition is the oracle of the check, rounded once; on the lower triangle alone."""
    definition, _, _ = benchmark.load()
    run = benchmark.function_of(definition["reference"], "run", "reference")
    inputs = benchmark.make_inputs(N, 1, tokens=TOKENS)
    for found, expected in zip(run(*inputs), benchmark.exact(*inputs)):
        expect(torch.equal(found, expected.float()), "reference")
    dirty = inputs[0].masked_fill(torch.ones(128, 128, dtype=torch.bool).triu(1), float("nan"))
    expect(all(map(torch.equal, run(dirty, *inputs[1:]), run(*inputs))), "reference reads the lower triangle")


def check_solutions(folder):
    """The library's solution passes at the smallest workload; its traces, and those of a failure, follow the schema."""
    traces = folder / "traces.jsonl"
    code = benchmark.main(["--n", "64", "--device", "cpu", "--samples", "3", "--traces", str(traces)])
    expect(code == 0, "benchmark.py passes")
    candidate = folder / "broken.py"
    candidate.write_text("def run(A, B, alpha):\n    return A * float('nan'), B\n", encoding="utf-8")
    code = benchmark.main(["--n", "64", "--device", "cpu", "--samples", "1", "--traces", str(traces),
                           "--candidate", str(candidate)])
    expect(code == 1, "benchmark.py fails for a broken candidate")

    content = check_schema.load()
    content["traces"] = [json.loads(line) for line in traces.read_text(encoding="utf-8").splitlines()]
    found = {trace["solution"]: trace["evaluation"]["status"] for trace in content["traces"]}
    expect(found.get("vdn_delta_package") == "PASSED" and found.get("broken") == "INCORRECT_NUMERICAL", f"{found}")
    expect(not check_schema.check_own(content), f"{check_schema.check_own(content)}")
    schema = check_schema.models()
    if schema is None:
        print("left out: the published schema (flashinfer-bench and pydantic are not installed)")
    else:
        expect(not check_schema.check_published(content, schema), f"{check_schema.check_published(content, schema)}")


def check_dataset(folder):
    """What --dataset writes has the inputs that the workloads name, of their shapes."""
    if importlib.util.find_spec("safetensors") is None:
        print("left out: --dataset (safetensors is not installed)")
        return
    from safetensors.torch import load_file

    expect(benchmark.main(["--n", "64", "--dataset", str(folder)]) == 0, "--dataset")
    line = benchmark.load()[1][0]
    for name, spec in line["workload"]["inputs"].items():
        tensor = load_file(folder / spec["path"])[spec["tensor_key"]]
        expect(tensor.dtype is torch.float32 and tensor.shape == torch.Size([64, 128, 128][: tensor.dim()]), name)
    for kind, count in (("definitions/**/*.json", 1), ("solutions/**/*.json", 2), ("workloads/**/*.jsonl", 1)):
        expect(len(list(folder.glob(kind))) == count, kind)


def main():
    check_judgement()
    check_inputs()
    check_definition()
    with tempfile.TemporaryDirectory() as folder:
        check_solutions(Path(folder))
        check_dataset(Path(folder) / "dataset")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
