# SPDX-License-Identifier: Apache-2.0
"""vdn_delta inside SGLang, by SGLang's own load_jit, without a change of SGLang's tree.

    from vdn_delta_factors_jit import Factors
    factors = Factors("/usr/local/include/vdn_delta/vdn_delta_factors.cuh")
    if factors.can_use(A, B, alpha):
        transition, injection = factors(A, B, alpha)

An example to try the header with, and to compare variants; docs/sglang.md says what a change of SGLang itself takes.
A, B: fp32 [..., 128, 128], A symmetric positive semidefinite, contiguous, on one GPU; alpha: fp32 [..., 128].
"""
from pathlib import Path

import torch
from sglang.kernels.jit.utils import cache_once, load_jit

DIM = 128
# The C++ names of what load_jit exports. The first one is the name that SGLang's own line uses.
RUN = {
    "auto": "vdn_delta_factors::VdnDeltaFactorsKernel::run",
    "single": "vdn_delta_factors::FactorsKernel<vdn_delta_factors::Variant::kSingle>::run",
    "pair": "vdn_delta_factors::FactorsKernel<vdn_delta_factors::Variant::kPair>::run",
    "compact": "vdn_delta_factors::FactorsKernel<vdn_delta_factors::Variant::kCompact>::run",
}


@cache_once
def _module(header, variant):
    return load_jit(
        "diffusion_vdn_delta_factors",
        variant,
        cuda_files=[header],
        cuda_wrappers=[("vdn_delta_factors", RUN[variant])],
    )


class Factors:
    def __init__(self, header, variant="auto"):
        if variant not in RUN:
            raise ValueError(f"variant must be one of {', '.join(RUN)}")
        self.header = str(Path(header).resolve(strict=True))
        self.variant = variant

    @staticmethod
    def can_use(A, B, alpha):
        """Looks at shapes, types and the device alone, so that a tracer can run it. Any storage offset will do."""
        tensors = (A, B, alpha)
        if not all(t.is_cuda and t.dtype is torch.float32 and t.device == A.device for t in tensors):
            return False
        if A.dim() < 2 or tuple(A.shape[-2:]) != (DIM, DIM) or B.shape != A.shape or alpha.shape != A.shape[:-1]:
            return False
        return all(t.is_contiguous() for t in tensors) and torch.cuda.get_device_capability(A.device)[0] >= 8

    def __call__(self, A, B, alpha):
        transition, injection = torch.empty_like(A), torch.empty_like(B)
        n = alpha.numel() // DIM
        matrices = [t.view(n, DIM, DIM) for t in (transition, injection, A, B)]
        _module(self.header, self.variant).vdn_delta_factors(*matrices, alpha.view(n, DIM))
        return transition, injection
