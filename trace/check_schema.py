#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does this folder follow the FlashInfer-Trace schema?

    check_schema.py [TRACES.jsonl ...]    the folder, and traces that benchmark.py wrote
    check_schema.py --self-test           shows that it can fail

Two checks. The published one: the data models of the package flashinfer-bench, which are the schema; where that package
or pydantic is missing it is left out, said so, and the exit code is 77 (skipped). And one of our own, always: what the
models leave open (that the files agree with each other, with the library's header and with the workloads asked for).

The models are imported without the package around them: its root imports PyTorch, FlashInfer and more, none of which a
schema needs.
"""
import ast
import copy
import importlib
import importlib.util
import json
import re
import sys
import types
import uuid
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIZES = [64, 100, 707, 1414, 5656]


def models():
    """The published data models as one namespace, or None where they are not installed."""
    spec = importlib.util.find_spec("flashinfer_bench")
    if spec is None or importlib.util.find_spec("pydantic") is None:
        return None
    root = Path(spec.submodule_search_locations[0])
    for name, folder in (("flashinfer_bench", root), ("flashinfer_bench.data", root / "data")):
        if name not in sys.modules:
            package = types.ModuleType(name)
            package.__path__ = [str(folder)]
            sys.modules[name] = package
    found = types.SimpleNamespace()
    for module, name in (("definition", "Definition"), ("solution", "Solution"), ("trace", "Trace")):
        setattr(found, name, getattr(importlib.import_module(f"flashinfer_bench.data.{module}"), name))
    return found


def load():
    return {
        "definition": json.loads((HERE / "definition.json").read_text(encoding="utf-8")),
        "workloads": [json.loads(line) for line in (HERE / "workloads.jsonl").read_text(encoding="utf-8").splitlines()],
        "solutions": [json.loads(path.read_text(encoding="utf-8")) for path in sorted(HERE.glob("solutions/*.json"))],
        "traces": [],
    }


def unknown_fields(found, written):
    """Fields that are written but that the models do not know: they ignore them, and so a typing error would pass."""
    if isinstance(written, dict) and isinstance(found, dict):
        for key, value in written.items():
            if key not in found:
                yield key
            else:
                yield from unknown_fields(found[key], value)
    elif isinstance(written, list) and isinstance(found, list):
        for one, other in zip(found, written):
            yield from unknown_fields(one, other)


def check_published(content, schema):
    wrong = []
    parts = [("definition", schema.Definition, content["definition"])]
    parts += [(f"workload {number}", schema.Trace, line) for number, line in enumerate(content["workloads"], 1)]
    parts += [(f"solution {number}", schema.Solution, one) for number, one in enumerate(content["solutions"], 1)]
    parts += [(f"trace {number}", schema.Trace, line) for number, line in enumerate(content["traces"], 1)]
    for name, model, part in parts:
        try:
            read = model.model_validate(part)
        except ValueError as error:  # pydantic's is one
            wrong.append(f"{name}: {error}")
            continue
        unknown = unknown_fields(read.model_dump(mode="json"), part)
        wrong += [f"{name}: the schema has no field {key}" for key in unknown]
        if name.startswith("workload") and not read.is_workload_trace():
            wrong.append(f"{name}: has a solution or an evaluation")
    return wrong


def run_arguments(code):
    """Names of the arguments of the function run of a piece of source."""
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef) and node.name == "run":
            return [argument.arg for argument in node.args.args]
    return None


def check_own(content):
    wrong = []

    def expect(condition, what):
        if not condition:
            wrong.append(what)

    definition = content["definition"]
    name, inputs, outputs = definition["name"], list(definition["inputs"]), list(definition["outputs"])
    header = (HERE.parent / "include/vdn_delta/vdn_delta.h").read_text(encoding="utf-8")
    dim = int(re.search(r"^#define VDN_DELTA_DIM (\d+)$", header, re.M)[1])
    axes = definition["axes"]
    const = {axis: value["value"] for axis, value in axes.items() if value["type"] == "const"}
    var = [axis for axis, value in axes.items() if value["type"] == "var"]
    expect(list(const.values()) == [dim] and len(var) == 1, f"axes: one that varies and one of {dim}")
    expect(inputs == ["A", "B", "alpha"] and outputs == ["transition", "injection"], "inputs and outputs, in order")
    for tensor, spec in {**definition["inputs"], **definition["outputs"]}.items():
        shape = [var[0], *const] if tensor == "alpha" else [var[0], *const, *const]
        expect(spec["shape"] == shape and spec["dtype"] == "float32", f"{tensor}: shape {shape}, float32")
    expect(run_arguments(definition["reference"]) == inputs, "reference: run takes the inputs in their order")

    workloads = [line["workload"] for line in content["workloads"]]
    expect([line["definition"] for line in content["workloads"]] == [name] * len(SIZES), "workloads: of the definition")
    expect([work["axes"] for work in workloads] == [{var[0]: n} for n in SIZES], f"workloads: {SIZES} matrices")
    expect(len({work["uuid"] for work in workloads}) == len(workloads), "workloads: one uuid each")
    for work in workloads:
        try:
            uuid.UUID(work["uuid"])
        except ValueError:
            wrong.append(f"workloads: {work['uuid']} is no uuid")
        expect(list(work["inputs"]) == inputs, "workloads: the inputs in their order")
        for tensor, spec in work["inputs"].items():
            # Random inputs are normal numbers: no A of that kind makes I + A positive definite.
            expect(spec["type"] == "safetensors" and spec["tensor_key"] == tensor and work["uuid"] in spec["path"],
                   f"workloads: {tensor} comes from a file of its workload")

    solutions = content["solutions"]
    expect(solutions and len({one["name"] for one in solutions}) == len(solutions), "solutions: a name each")
    for one in solutions:
        file, symbol = one["spec"]["entry_point"].split("::")
        wanted = inputs + outputs if one["spec"]["destination_passing_style"] else inputs
        found = [run_arguments(source["content"]) for source in one["sources"] if source["path"] == file]
        expect(one["definition"] == name, f"{one['name']}: of the definition")
        expect(symbol == "run" and found == [wanted], f"{one['name']}: run takes {wanted}")
    known = {work["uuid"]: work for work in workloads}
    for trace in content["traces"]:
        expect(known.get(trace["workload"]["uuid"]) == trace["workload"], "traces: of a workload of this folder")
        expect(trace["solution"] and trace["evaluation"], "traces: with a solution and an evaluation")
    return wrong


def self_test():
    """Every change below must be found: by which check is said with it."""
    schema, good = models(), load()

    def change(*path, value):
        changed = copy.deepcopy(good)
        target = changed
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = value
        return changed

    own = [
        change("definition", "axes", "dim", "value", value=64),
        change("definition", "inputs", "A", "dtype", value="float16"),
        change("definition", "reference", value="def run(A, alpha, B):\n    pass\n"),
        change("workloads", 2, "workload", "axes", "num_matrices", value=708),
        change("workloads", 1, "workload", "uuid", value=good["workloads"][0]["workload"]["uuid"]),
        change("workloads", 0, "workload", "inputs", "A", value={"type": "random", "tensor_key": "A", "path": ""}),
        change("solutions", 0, "definition", value="another"),
        change("solutions", 0, "spec", "destination_passing_style",
               value=not good["solutions"][0]["spec"]["destination_passing_style"]),
    ]
    published = [
        change("definition", "reference", value="def walk(): pass"),
        change("definition", "inputs", "A", "dtype", value="tf32"),
        change("definition", "outputs", "transition", "shape", value=["rows"]),
        change("definition", "constraints", value=["num_matrices >="]),
        change("definition", "tag", value=["fused"]),
        change("workloads", 0, "workload", "inputs", "A", value={"type": "file"}),
        change("workloads", 0, "workload", "axes", "num_matrices", value=-1),
        change("workloads", 0, "solution", value="four_calls"),
        change("solutions", 0, "spec", "language", value="fortran"),
        change("solutions", 0, "spec", "entry_point", value="run"),
        change("solutions", 0, "sources", value=[]),
        change("traces", value=[{**good["workloads"][0], "solution": "four_calls", "evaluation": {
            "status": "PASSED", "environment": {"hardware": "cpu", "libs": {}}, "timestamp": "now", "log": ""}}]),
    ]
    missed = [number for number, content in enumerate(own) if not check_own(content)]
    if schema:
        missed += [f"published {number}" for number, content in enumerate(published)
                   if not check_published(content, schema)]
    good_is_wrong = check_own(good) + (check_published(good, schema) if schema else [])
    print(f"own: {len(own)} changes, published: {len(published) if schema else 'not installed'}; "
          f"missed: {missed}; wrong without a change: {good_is_wrong}")
    if missed or good_is_wrong:
        return 1
    return 0 if schema else 77


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    schema, content = models(), load()
    for file in sys.argv[1:]:
        content["traces"] += [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
    wrong = check_own(content)
    if schema:
        wrong += check_published(content, schema)
    for line in wrong:
        print(line)
    said = "by flashinfer-bench" if schema else "not checked by flashinfer-bench, which is not installed"
    counts = ", ".join(f"{len(content[name])} {name}" for name in ("workloads", "solutions", "traces"))
    print(f"{counts}: {len(wrong)} wrong; {said}")
    if wrong:
        return 1
    return 0 if schema else 77


if __name__ == "__main__":
    sys.exit(main())
