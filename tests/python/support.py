# SPDX-License-Identifier: Apache-2.0
"""What the Python tests share: the model's inputs, the chain of four library calls, the fp64 reference, and which
devices there are. VDN_HAVE_CUDA=0 says that the library under test was built without CUDA."""
import os
import unittest

import torch

DIM = 128


def _gpus():
    if os.environ.get("VDN_HAVE_CUDA", "1") == "0" or not torch.cuda.is_available():
        return 0
    known = [torch.cuda.get_device_capability(i) for i in range(torch.cuda.device_count())]
    return len(known) if all(major >= 8 for major, _ in known) else 0


GPUS = _gpus()
needs_gpu = unittest.skipUnless(GPUS >= 1, "needs a GPU of compute capability 8.0 or newer and a library with CUDA")
needs_two_gpus = unittest.skipUnless(GPUS >= 2, "needs two GPUs")


def silu_inputs(*lead, tokens=1008, beta_scale=1.0, seed=0, device="cpu"):
    """A, B and alpha with the statistics of the model; alpha of the first matrix is 1."""
    g = torch.Generator(device=device).manual_seed(seed)
    n, pieces = max(1, int(torch.Size(lead).numel())), []
    for count in [64] * (n // 64) + ([n % 64] if n % 64 else []):
        k = torch.randn(count, tokens, DIM, device=device, generator=g)
        v = torch.randn(count, tokens, DIM, device=device, generator=g)
        k = torch.nn.functional.normalize(torch.nn.functional.silu(k), dim=-1)
        v = torch.nn.functional.silu(v)
        beta = torch.sigmoid(torch.randn(count, tokens, 1, device=device, generator=g)) * beta_scale
        a = (k * beta).mT @ k
        pieces.append((0.5 * (a + a.mT), (v * beta).mT @ k))
    alpha = 0.1 + 0.9 * torch.rand(n, DIM, device=device, generator=g)
    alpha[0] = 1
    A, B = (torch.cat(part).reshape(*lead, DIM, DIM) for part in zip(*pieces))
    return A, B, alpha.reshape(*lead, DIM)


def chain(A, B, alpha):
    """T and J as a framework computes them today: Cholesky, triangular solve, two products."""
    eye = torch.eye(DIM, dtype=A.dtype, device=A.device).expand_as(A)
    inv_l = torch.linalg.solve_triangular(torch.linalg.cholesky(A + eye), eye, upper=False)
    inv = inv_l.mT @ inv_l
    return alpha.unsqueeze(-1) * inv, B @ inv


def reference(A, B, alpha):
    """T and J in fp64."""
    eye = torch.eye(DIM, dtype=torch.float64, device=A.device)
    inv = torch.linalg.inv(A.double() + eye)
    return alpha.double().unsqueeze(-1) * inv, B.double() @ inv


def error(got, wanted):
    """Relative Frobenius error over the batch."""
    return ((got.double() - wanted).norm() / wanted.norm()).item()


def variants(device):
    """Those that every GPU of this kind can run; on the CPU the name has no effect."""
    capability = torch.cuda.get_device_capability() if device == "cuda" else None
    if capability in (None, (9, 0), (10, 0)):
        return ("pair", "single", "compact")
    return ("compact",) if capability[0] in (8, 12) else ("pair", "compact")


def shifted(tensor, floats):
    """The same values, beginning `floats` floats behind a boundary of the allocator."""
    buffer = torch.empty(tensor.numel() + floats, dtype=tensor.dtype, device=tensor.device)
    result = buffer[floats:].view(tensor.shape)
    result.copy_(tensor)
    return result


class Case(unittest.TestCase):
    """A test case with what is asserted in every file."""

    def assertSameBits(self, got, wanted, what=""):
        for name, a, b in zip(("T", "J"), got, wanted):
            self.assertEqual(a.shape, b.shape, f"{name} {what}")
            self.assertTrue(torch.equal(a.contiguous().view(torch.int32), b.contiguous().view(torch.int32)),
                            f"{name}: other bits {what}")
