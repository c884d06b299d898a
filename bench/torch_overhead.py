#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What PyTorch costs on top of the C call: host time, and time on the GPU, of vdn_delta_factors from Python.

    PYTHONPATH=build/python bench/torch_overhead.py [--calls 1000] [--n 64,707]

Host: microseconds between calling and returning, median of so many calls, the stream drained before each, so that no
call waits for room; the three kinds of calls take turns. Stream: microseconds per call of 20 calls in a row, between
two events. Graph: the same 20 calls captured and replayed. The "C call" rows make the same calls through ctypes,
outputs allocated once. Without a GPU only the host time of calls with n = 0 is measured, which is all but the launch.
"""
import argparse
import ctypes
import statistics
import time

import torch
from vdn_delta import _library, vdn_delta_factors

DIM = 128
IN_A_ROW = 20


def inputs(n, device):
    g = torch.Generator(device=device).manual_seed(1)
    k = torch.nn.functional.normalize(torch.randn(n, 192, DIM, device=device, generator=g), dim=-1)
    A = k.mT @ k
    return ((0.5 * (A + A.mT)).contiguous(), torch.randn(n, DIM, DIM, device=device, generator=g),
            torch.rand(n, DIM, device=device, generator=g))


def host(works, calls, drain):
    """Medians in microseconds, one for each of `works`, which take turns of 50 calls: a machine that is slower for a
    while is so for all of them."""
    times = [[] for _ in works]
    for turn in range(-1, -(-calls // 50)):
        for work, taken in zip(works, times):
            for _ in range(50):
                drain()
                start = time.perf_counter_ns()
                work()
                if turn >= 0:
                    taken.append(time.perf_counter_ns() - start)
    return [statistics.median(taken) / 1000 for taken in times]


def gpu(work, samples=30):
    """Microseconds per call of `work`, which makes IN_A_ROW calls."""
    for _ in range(5):
        work()
    times = []
    for _ in range(samples):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(1_000_000)  # the host is ahead when the first call begins
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1000 / IN_A_ROW)
    return statistics.median(times)


def graph_of(work):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def row(name, n, mode, us):
    print(f"{name:<28} {n:>5}  {mode:<7} {us:9.2f} us", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--n", default="64,707")
    options = parser.parse_args()

    print(f"PyTorch {torch.__version__}, vdn_delta {_library.__version__}")
    empty = inputs(0, "cpu")
    row("PyTorch", 0, "host", *host([lambda: vdn_delta_factors(*empty)], options.calls, lambda: None))
    if not torch.cuda.is_available():
        print("no GPU: nothing else to measure")
        return
    print(torch.cuda.get_device_name())
    for n in map(int, options.n.split(",")):
        args = inputs(n, "cuda")
        out = tuple(map(torch.empty_like, args[:2]))
        pointers = [ctypes.c_void_p(x.data_ptr()) for x in (*args, *out)]

        def through_torch():
            return vdn_delta_factors(*args)

        def into_out():
            return vdn_delta_factors(*args, out=out)

        def c_call():
            status = _library.factors(n, *pointers, None, torch._C._cuda_getCurrentRawStream(0))
            if status:
                _library.fail(status)

        calls = {"PyTorch": through_torch, "PyTorch, out=": into_out, "C call": c_call}
        for name, us in zip(calls, host(calls.values(), options.calls, torch.cuda.synchronize)):
            row(name, n, "host", us)
        for name, call in calls.items():
            def work(call=call):
                for _ in range(IN_A_ROW):
                    call()

            row(name, n, "stream", gpu(work))
            row(name, n, "graph", gpu(graph_of(work)))


if __name__ == "__main__":
    main()
