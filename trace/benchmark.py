#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks and times the solutions of this folder, or a kernel of yours, on its workloads.

    trace/benchmark.py                              every solution in solutions/, on a GPU if there is one
    trace/benchmark.py --n 64,707 --device cpu      some workloads only, on the CPU
    trace/benchmark.py --candidate FILE.py          a file that defines run(A, B, alpha) -> (transition, injection)
    trace/benchmark.py --traces FILE.jsonl          also appends what was found, as traces of the schema
    trace/benchmark.py --dataset DIR                runs nothing; writes definition, solutions, workloads and their
                                                    inputs as the folder that flashinfer-bench loads

A check of our own, because the general one of flashinfer-bench does not fit this operation: its random inputs are normal
numbers, so that I + A is not positive definite, and its tolerances (1e-2 for an element, absolute or relative) accept
zeros for T at large beta. Here inputs have the model's statistics, at three scales of beta, and a solution passes if the
relative Frobenius error against fp64 is at most 1e-6, for both outputs and for every single matrix. Exit code 0: all
solutions but those that --may-fail names have passed.

Times: on a GPU, CUDA events around one call, after a fill of 256 MB that empties the caches and gives the host a head
start; on the CPU, the clock. The median of --samples calls, the same for every solution. (bench/ measures inside CUDA
graphs, without the host's part.)
"""
import argparse
import datetime
import json
import statistics
import sys
import time
import types
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
DIM = 128
BOUND = 1e-6
BETA_SCALES = (1, 50, 100)
TOKENS = 1008
CHUNK = 32  # matrices at a time where fp64 or all tokens of a frame are held


def load():
    """(definition, workloads, solutions) as this folder has them."""
    definition = json.loads((HERE / "definition.json").read_text(encoding="utf-8"))
    lines = (HERE / "workloads.jsonl").read_text(encoding="utf-8").splitlines()
    solutions = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((HERE / "solutions").glob("*.json"))]
    return definition, [json.loads(line) for line in lines], solutions


def function_of(code, symbol, name):
    module = types.ModuleType(name)
    exec(compile(code, name, "exec"), module.__dict__)
    return getattr(module, symbol)


class Kernel:
    """A solution as something to call: with outputs if it writes into the caller's, without if it returns its own."""

    def __init__(self, name, function, writes_outputs):
        self.name, self.function, self.writes_outputs = name, function, writes_outputs

    @classmethod
    def of_solution(cls, solution):
        spec = solution["spec"]
        if spec["language"] != "python":
            raise ValueError(f"{solution['name']}: only Python solutions can be run here, not {spec['language']}")
        file, symbol = spec["entry_point"].split("::")
        code = {source["path"]: source["content"] for source in solution["sources"]}[file]
        return cls(solution["name"], function_of(code, symbol, solution["name"]), spec["destination_passing_style"])

    def __call__(self, inputs, outputs):
        if not self.writes_outputs:
            return self.function(*inputs)
        self.function(*inputs, *outputs)
        return outputs


# ---- inputs and their fp64 results ----------------------------------------------------------------------------------


def make_inputs(n, beta_scale, seed=1, tokens=TOKENS):
    """A, B and alpha with the model's statistics, made on the CPU so that they are the same for every device: rows of k
    are silu of normal numbers on the unit sphere, v is silu of normal numbers, beta a sigmoid in (0, beta_scale). The
    first matrix has alpha = 1, as those of the text frame have."""
    generator = torch.Generator().manual_seed(seed)
    A, B = torch.empty(n, DIM, DIM), torch.empty(n, DIM, DIM)
    for first in range(0, n, CHUNK):
        count = min(CHUNK, n - first)
        k = torch.nn.functional.silu(torch.randn(count, tokens, DIM, generator=generator))
        k /= k.norm(dim=-1, keepdim=True)
        v = torch.nn.functional.silu(torch.randn(count, tokens, DIM, generator=generator))
        beta = torch.sigmoid(torch.randn(count, tokens, 1, generator=generator)) * beta_scale
        a = (k * beta).mT @ k
        A[first : first + count] = 0.5 * (a + a.mT)
        B[first : first + count] = (v * beta).mT @ k
    alpha = 0.1 + 0.9 * torch.rand(n, DIM, generator=generator)
    alpha[0] = 1.0
    return A, B, alpha


def exact(A, B, alpha):
    M = A.double()
    M.diagonal(dim1=-2, dim2=-1).add_(1.0)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(M))
    return alpha.double().unsqueeze(-1) * inverse, B.double() @ inverse


class Error:
    """Of one output against fp64: relative Frobenius errors of the batch and of the worst matrix, and the two
    elementwise maxima that the schema has fields for. A NaN or an infinity makes all of them NaN or infinite."""

    def __init__(self):
        self.difference = self.size = self.worst = self.absolute = self.relative = 0.0

    def add(self, found, expected):
        difference = (found.double() - expected).abs()
        squares, sizes = difference.square().sum(dim=(-2, -1)), expected.square().sum(dim=(-2, -1))
        self.difference += squares.sum().item()
        self.size += sizes.sum().item()
        # torch.maximum, unlike max, does not lose a NaN.
        self.worst = self._larger(self.worst, (squares / sizes).sqrt().max())
        self.absolute = self._larger(self.absolute, difference.max())
        self.relative = self._larger(self.relative, (difference / (expected.abs() + 1e-8)).max())

    @staticmethod
    def _larger(old, new):
        return torch.maximum(torch.tensor(old, dtype=torch.float64), new.cpu()).item()

    @property
    def batch(self):
        return (self.difference / self.size) ** 0.5

    def within(self, bound):
        return self.batch <= bound and self.worst <= bound  # false for NaN


def check(kernel, n, device, seed=1, beta_scales=BETA_SCALES, tokens=TOKENS):
    """(status, log, {beta scale: {output: Error}}), the status in the words of the schema."""
    errors, names = {}, ("transition", "injection")
    for beta_scale in beta_scales:
        inputs = [tensor.to(device) for tensor in make_inputs(n, beta_scale, seed, tokens)]
        before = [tensor.clone() for tensor in inputs]
        # What is not written stays NaN and fails.
        outputs = [torch.full_like(tensor, float("nan")) for tensor in inputs[:2]]
        try:
            with torch.no_grad():
                found = kernel(inputs, outputs)
            if device.type == "cuda":
                torch.cuda.synchronize(device)
        except Exception as error:  # whatever a solution raises is its result
            return "RUNTIME_ERROR", f"beta scale {beta_scale}: {type(error).__name__}: {error}", None
        if not all(torch.equal(tensor, copy) for tensor, copy in zip(inputs, before)):
            return "RUNTIME_ERROR", f"beta scale {beta_scale}: an input was overwritten", None
        if len(found) != 2 or any(tuple(tensor.shape) != (n, DIM, DIM) for tensor in found):
            return "INCORRECT_SHAPE", f"wanted two of {(n, DIM, DIM)}", None
        if any(tensor.dtype is not torch.float32 for tensor in found):
            return "INCORRECT_DTYPE", "wanted torch.float32", None
        errors[beta_scale] = {name: Error() for name in names}
        for first in range(0, n, CHUNK):
            part = slice(first, first + CHUNK)
            for name, tensor, expected in zip(names, found, exact(*(tensor[part] for tensor in before))):
                errors[beta_scale][name].add(tensor[part], expected)
    bad = [f"beta scale {scale}, {name}: {error.batch:.2e} over the batch, {error.worst:.2e} for the worst matrix"
           for scale, both in errors.items() for name, error in both.items() if not error.within(BOUND)]
    return ("INCORRECT_NUMERICAL" if bad else "PASSED"), "; ".join(bad), errors


# ---- times ----------------------------------------------------------------------------------------------------------


def measure(kernel, n, device, samples, seed=1):
    """Median time of a call in milliseconds."""
    inputs = [tensor.to(device) for tensor in make_inputs(n, BETA_SCALES[0], seed)]
    outputs = [torch.empty_like(tensor) for tensor in inputs[:2]]
    times = []
    with torch.no_grad():
        for _ in range(3):
            kernel(inputs, outputs)
        if device.type == "cuda":
            flush = torch.empty(256 << 20, dtype=torch.uint8, device=device)
            for _ in range(samples):
                start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                flush.zero_()
                start.record()
                kernel(inputs, outputs)
                end.record()
                end.synchronize()
                times.append(start.elapsed_time(end))
        else:
            for _ in range(samples):
                start = time.perf_counter()
                kernel(inputs, outputs)
                times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


# ---- results --------------------------------------------------------------------------------------------------------


def hardware(device):
    if device.type == "cuda":
        return torch.cuda.get_device_name(device).replace(" ", "_")
    return "cpu"


def libraries():
    versions = {"torch": torch.__version__}
    if "vdn_delta" in sys.modules:
        versions["vdn_delta"] = sys.modules["vdn_delta"].__version__
    return versions


def trace_of(workload, kernel, device, status, log, errors, latency_ms):
    """The result as a trace of the schema. The times of the definition's reference, which computes in fp64, say nothing
    and are not measured: 0, as the schema's own tool writes then. Compare with the solution four_calls instead."""
    evaluation = {
        "status": status,
        "environment": {"hardware": hardware(device), "libs": libraries()},
        "timestamp": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "log": log,
        "correctness": None,
        "performance": None,
    }
    if errors is not None:
        every = [error for both in errors.values() for error in both.values()]
        evaluation["correctness"] = {
            "max_relative_error": _number(_largest(error.relative for error in every)),
            "max_absolute_error": _number(_largest(error.absolute for error in every)),
            "extra": {
                "relative_frobenius_bound": BOUND,
                "relative_frobenius": {
                    f"beta_scale_{scale}": {
                        name: {"batch": _number(error.batch), "worst_matrix": _number(error.worst)}
                        for name, error in both.items()
                    }
                    for scale, both in errors.items()
                },
            },
        }
    if status == "PASSED":
        evaluation["performance"] = {"latency_ms": latency_ms, "reference_latency_ms": 0.0, "speedup_factor": 0.0}
    return {**workload, "solution": kernel.name, "evaluation": evaluation}


def _largest(values):
    values = list(values)
    return float("nan") if any(value != value for value in values) else max(values)


def _number(value):
    """JSON has no NaN; the schema's number fields take the word."""
    return value if value == value and abs(value) != float("inf") else str(value)


def write_dataset(folder, definition, workloads, solutions):
    from safetensors.torch import save_file

    op_type, name = definition["op_type"], definition["name"]

    def write(path, text):
        path = folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    write(Path("definitions", op_type, f"{name}.json"), json.dumps(definition, indent=2) + "\n")
    for solution in solutions:
        write(Path("solutions", solution["author"], op_type, name, f"{solution['name']}.json"),
              json.dumps(solution, indent=2) + "\n")
    write(Path("workloads", op_type, f"{name}.jsonl"), "".join(json.dumps(line) + "\n" for line in workloads))
    for line in workloads:
        inputs = line["workload"]["inputs"]
        path = folder / inputs["A"]["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        tensors = make_inputs(line["workload"]["axes"]["num_matrices"], BETA_SCALES[0])
        save_file({inputs[key]["tensor_key"]: tensor for key, tensor in zip(("A", "B", "alpha"), tensors)}, path)
        print(f"{path}: {path.stat().st_size / 1e6:.0f} MB")


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", help="the workloads of these numbers of matrices, separated by commas")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--solution", action="append", help="only the solution of this name; may be repeated")
    parser.add_argument("--candidate", type=Path, help="a Python file to be judged instead of the solutions")
    parser.add_argument("--may-fail", action="append", default=["four_calls"], metavar="NAME")
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--traces", type=Path)
    parser.add_argument("--dataset", type=Path)
    return parser.parse_args(argv)


def main(argv=None):
    options = arguments(argv)
    definition, workloads, solutions = load()
    if options.n:
        wanted = {int(word) for word in options.n.split(",")}
        workloads = [line for line in workloads if line["workload"]["axes"]["num_matrices"] in wanted]
        missing = wanted - {line["workload"]["axes"]["num_matrices"] for line in workloads}
        if missing:
            sys.exit(f"no workload of {sorted(missing)} matrices")
    if options.solution:
        unknown = set(options.solution) - {solution["name"] for solution in solutions}
        if unknown:
            sys.exit(f"no solution {', '.join(sorted(unknown))}")
        solutions = [solution for solution in solutions if solution["name"] in options.solution]
    if options.dataset:
        write_dataset(options.dataset, definition, workloads, solutions)
        return 0
    if options.candidate:
        code = options.candidate.read_text(encoding="utf-8")
        kernels = [Kernel(options.candidate.stem, function_of(code, "run", str(options.candidate)), False)]
    else:
        kernels = [Kernel.of_solution(solution) for solution in solutions]

    device = torch.device(options.device)
    print(f"{hardware(device)}, torch {torch.__version__}; relative Frobenius errors of the worst matrix, "
          f"beta scales {', '.join(map(str, BETA_SCALES))}; bound {BOUND:.0e}")
    print(f"{'matrices':>8}  {'solution':20}  {'ms':>8}  {'transition':26}  {'injection':26}  status")
    failed = False
    for line in workloads:
        n = line["workload"]["axes"]["num_matrices"]
        for kernel in kernels:
            status, log, errors = check(kernel, n, device)
            runs = status in ("PASSED", "INCORRECT_NUMERICAL")
            latency = measure(kernel, n, device, options.samples) if runs else None
            columns = [" ".join(f"{both[name].worst:.2e}" for both in errors.values()) if errors else ""
                       for name in ("transition", "injection")]
            shown = f"{latency:8.3f}" if runs else " " * 8
            print(f"{n:8}  {kernel.name:20}  {shown}  {columns[0]:26}  {columns[1]:26}  {status}", flush=True)
            if log:
                print(f"{'':10}{log}")
            failed |= status != "PASSED" and kernel.name not in options.may_fail
            if options.traces:
                with open(options.traces, "a", encoding="utf-8") as file:
                    file.write(json.dumps(trace_of(line, kernel, device, status, log, errors, latency)) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
