#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One call instead of four: what to change in PyTorch code, and what it gains.

    four_calls.py [N]       N matrices, default 707; on a GPU if there is one
"""
import sys
import time

import torch
import vdn_delta

n = int(sys.argv[1]) if len(sys.argv) > 1 else 707
device = "cuda" if torch.cuda.is_available() else "cpu"
k = torch.nn.functional.normalize(torch.nn.functional.silu(torch.randn(n, 256, 128, device=device)), dim=-1)
A, B, alpha = k.mT @ k, torch.randn(n, 128, 128, device=device), torch.rand(n, 128, device=device)


def before():
    M = torch.eye(128, device=device) + A
    L = torch.linalg.cholesky(M)
    X = torch.cholesky_inverse(L)
    return alpha.unsqueeze(-1) * X, torch.matmul(B, X)


def after():
    return vdn_delta.vdn_delta_factors(A, B, alpha)


def milliseconds(call, repeats=10):
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    call()  # not counted: it also loads code
    wait()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    wait()
    return (time.perf_counter() - start) / repeats * 1e3


for name, old, new in zip("TJ", before(), after()):
    print(f"{name}: relative difference {(new - old).norm() / old.norm():.1e}")
print(f"{n} matrices on {device}: four calls {milliseconds(before):.3f} ms, vdn_delta {milliseconds(after):.3f} ms")
