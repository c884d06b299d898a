#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What decision 0008 names in place of features that the library does not have: that each gives what it says.

    test_substitutes.py

Skipped (77) without PyTorch or without the package vdn_delta. On a GPU if there is one.
"""
import sys

import needs

needs.package()

import torch  # noqa: E402
from vdn_delta import vdn_delta_factors  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DIM = 128
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED:", what)


def same_bits(left, right):
    return torch.equal(left.view(torch.int32), right.view(torch.int32))


def inputs(*batch, dim=DIM, tokens=192):
    """A as the product gives it: not symmetrised."""
    generator = torch.Generator().manual_seed(3)
    k, v = (torch.nn.functional.silu(torch.randn(*batch, tokens, dim, generator=generator)) for _ in range(2))
    k = torch.nn.functional.normalize(k, dim=-1)
    beta = torch.sigmoid(torch.randn(*batch, tokens, 1, generator=generator))
    alpha = 0.1 + 0.9 * torch.rand(*batch, dim, generator=generator)
    return [tensor.to(DEVICE) for tensor in ((k * beta).mT @ k, (v * beta).mT @ k, alpha)]


def exact(A, B, alpha):
    M = torch.eye(A.shape[-1], dtype=torch.float64, device=A.device) + A.double().tril() + A.double().tril(-1).mT
    inverse = torch.linalg.inv(M)
    return alpha.double().unsqueeze(-1) * inverse, B.double() @ inverse


def error(found, expected):
    return ((found - expected).norm(dim=(-2, -1)) / expected.norm(dim=(-2, -1))).max().item()


def one_triangle():
    """A is not symmetrised, and what lies above its diagonal has no influence, in any bit."""
    A, B, alpha = inputs(3)
    clean = vdn_delta_factors(A, B, alpha)
    for found, expected in zip(clean, exact(A, B, alpha)):
        expect(error(found, expected) <= 1e-6, "an A that was not symmetrised")
    upper = torch.ones(DIM, DIM, dtype=torch.bool, device=DEVICE).triu(1)
    dirty = vdn_delta_factors(A.masked_fill(upper, float("nan")), B, alpha)
    expect(all(map(same_bits, clean, dirty)), "the strict upper triangle of A")


def text_beside_frames():
    """Two segments: written into one tensor, or two calls into slices of the outputs. The same bits either way."""
    A, B, alpha = inputs(5, 2)
    together = vdn_delta_factors(A, B, alpha)
    T, J = torch.empty_like(A), torch.empty_like(B)
    for part in (slice(0, 1), slice(1, None)):
        # Tensors of their own, as a producer that knows nothing of the other segment has them.
        segment = [tensor[part].clone() for tensor in (A, B, alpha)]
        vdn_delta_factors(*segment, out=(T[part], J[part]))
    expect(all(map(same_bits, together, (T, J))), "two segments")


def heads_first():
    """Outputs in another order of the batch: by inputs in that order. The same bits for each matrix."""
    A, B, alpha = inputs(4, 3)
    frames_first = vdn_delta_factors(A, B, alpha)
    heads_first = vdn_delta_factors(*(tensor.transpose(0, 1).contiguous() for tensor in (A, B, alpha)))
    for one, other in zip(frames_first, heads_first):
        expect(same_bits(one.transpose(0, 1).contiguous(), other), "heads first")


def half_size():
    """Two problems of 64 x 64 as the diagonal blocks of one of 128 x 128: exact zeros between them."""
    A, B, alpha = inputs(3, 2, dim=64)
    both = [torch.zeros(3, DIM, DIM, device=DEVICE) for _ in range(2)]
    for block in range(2):
        place = slice(64 * block, 64 * block + 64)
        for whole, part in zip(both, (A, B)):
            whole[:, place, place] = part[:, block]
    results = vdn_delta_factors(*both, alpha.flatten(1))
    for whole, expected in zip(results, exact(A, B, alpha)):
        blocks = torch.stack([whole[:, :64, :64], whole[:, 64:, 64:]], dim=1)
        expect(error(blocks, expected) <= 1e-6, "64 x 64 as diagonal blocks")
        expect(not whole[:, :64, 64:].any() and not whole[:, 64:, :64].any(), "zeros between the blocks")


def wide_product():
    """A bf16 product with an fp32 result, on a GPU: no conversion, and better than one rounded to bf16 on the way."""
    if DEVICE != "cuda":
        print("left out: bmm with out_dtype (no GPU)")
        return
    generator = torch.Generator().manual_seed(4)
    left, right = (torch.randn(3, DIM, 1008, generator=generator).to(DEVICE).bfloat16() for _ in range(2))
    expected = left.double() @ right.double().mT
    wide = torch.bmm(left, right.mT, out_dtype=torch.float32)
    rounded = torch.bmm(left, right.mT).float()
    expect(wide.dtype is torch.float32 and wide.is_contiguous(), "bmm with out_dtype")
    expect(error(wide, expected) < 0.1 * error(rounded, expected), "bmm with out_dtype is the better one")


def main():
    one_triangle()
    text_beside_frames()
    heads_first()
    half_size()
    wide_product()
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
