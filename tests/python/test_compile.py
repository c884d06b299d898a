# SPDX-License-Identifier: Apache-2.0
"""The operators in compiled code: the bits of eager code, refused calls refused; on the CPU and on a GPU.

Field reports PYT-02, PYT-03, PYT-04, PYT-05, PYT-12, STR-06 (CONTRIBUTING.md)."""
import importlib.util
import os
import shutil
import unittest

import torch
from support import Case, needs_gpu, silu_inputs
from vdn_delta import _op, can_use_vdn_delta_factors, vdn_delta_factors


def step(S, A, B, alpha):
    """The operator among others, as a model has it."""
    T, J = vdn_delta_factors(A * 1.0, B, alpha.clamp(0, 1))
    return S @ T + J


class Compiled:
    device = ""

    def setUp(self):
        torch._dynamo.reset()

    def inputs(self, *lead, **settings):
        return silu_inputs(*lead, device=self.device, **{"tokens": 64, **settings})

    def test_whole_graph(self):
        compiled = torch.compile(vdn_delta_factors, fullgraph=True)
        for inputs in (self.inputs(2, 3), self.inputs(2, 3, seed=1), self.inputs(2, 3, beta_scale=50)):
            self.assertSameBits(compiled(*inputs), vdn_delta_factors(*inputs))
        self.assertSameBits(compiled(*inputs, a_scale=0.5, b_scale=2.0),
                            vdn_delta_factors(*inputs, a_scale=0.5, b_scale=2.0), "with scales")

    def test_among_others(self):
        inputs = self.inputs(3)
        S = torch.randn(3, 128, 128, device=self.device)
        got, wanted = torch.compile(step, fullgraph=True)(S, *inputs), step(S, *inputs)
        self.assertLess(((got - wanted).norm() / wanted.norm()).item(), 1e-6)

    def test_changing_batch(self):
        from torch._dynamo.testing import CompileCounter
        counter = CompileCounter()
        compiled = torch.compile(vdn_delta_factors, fullgraph=True, dynamic=True, backend=counter)
        for n in (2, 3, 5, 20):
            inputs = self.inputs(n)
            self.assertSameBits(compiled(*inputs), vdn_delta_factors(*inputs), f"for {n} matrices")
        self.assertEqual(counter.frame_count, 1)

    def test_out_and_info(self):
        A, B, alpha = self.inputs(3)
        A[1, 0, 0] = -4.0

        def into(A, B, alpha, T, J, info):
            vdn_delta_factors(A, B, alpha, out=(T, J), info=info)
            J.mul_(2)  # a region that also changes what the operator has written
            return info + 1

        def run(function):
            T, J = torch.full_like(A, 7), torch.full_like(B, 7)
            info = torch.full((3,), -7, dtype=torch.int32, device=self.device)
            return function(A, B, alpha, T, J, info), info, T, J

        got, wanted = run(torch.compile(into, fullgraph=True)), run(into)
        self.assertEqual(wanted[1].tolist(), [0, 1, 0])
        self.assertEqual([x.tolist() for x in got[:2]], [x.tolist() for x in wanted[:2]])
        self.assertSameBits([x[::2] for x in got[2:]], [x[::2] for x in wanted[2:]])
        self.assertTrue(got[2][1].isnan().all())

    def test_refused(self):
        A, B, alpha = self.inputs(2)
        T = torch.empty_like(A)
        for call in (
            lambda: vdn_delta_factors(A, B, alpha, out=(T, T)),
            lambda: vdn_delta_factors(A, B, alpha, out=(A, T)),
            lambda: vdn_delta_factors(A.mT, B, alpha),
            lambda: vdn_delta_factors(A, B[:1], alpha),
            lambda: vdn_delta_factors(A, B, alpha.double()),
        ):
            with self.assertRaises((ValueError, TypeError)):
                call()
            with self.assertRaisesRegex(Exception, "must be|must have"):
                torch.compile(call, fullgraph=True, backend="eager")()

    def test_needs_no_grad(self):
        A, B, alpha = self.inputs(2)
        A.requires_grad_()
        compiled = torch.compile(vdn_delta_factors, fullgraph=True, backend="aot_eager")
        with self.assertRaisesRegex(Exception, "not differentiable"):
            compiled(A, B, alpha)
        with torch.no_grad():
            self.assertSameBits(compiled(A, B, alpha), vdn_delta_factors(A, B, alpha))

    def test_predicate(self):
        def either(A, B, alpha):
            if can_use_vdn_delta_factors(A, B, alpha):
                return vdn_delta_factors(A, B, alpha)
            return A + 1, B + 1

        inputs = self.inputs(2)
        self.assertSameBits(torch.compile(either, fullgraph=True)(*inputs), either(*inputs))


# The default compiler needs a C++ compiler for CPU code.
@unittest.skipUnless(shutil.which(os.environ.get("CXX", "g++").split()[0]), "needs a C++ compiler")
class OnCpu(Compiled, Case):
    device = "cpu"

    def test_device_question_is_a_constant(self):
        def ask(A):
            return A + 1 if _op._serves(0) else A - 1

        A = torch.zeros(3)
        self.assertTrue(torch.equal(torch.compile(ask, fullgraph=True, backend="eager")(A), ask(A)))


@needs_gpu
@unittest.skipUnless(importlib.util.find_spec("triton"), "needs Triton, as PyTorch's compiler does")
class OnGpu(Compiled, Case):
    device = "cuda"

    def test_modes(self):
        for mode in ("reduce-overhead", "max-autotune"):
            torch._dynamo.reset()
            compiled = torch.compile(vdn_delta_factors, fullgraph=True, mode=mode)
            for seed in range(5):
                inputs = self.inputs(3, seed=seed)
                torch.compiler.cudagraph_mark_step_begin()
                got = [x.clone() for x in compiled(*inputs)]
                self.assertSameBits(got, vdn_delta_factors(*inputs), f"{mode}, call {seed}")

    def test_graphs_on_another_stream(self):
        compiled = torch.compile(vdn_delta_factors, fullgraph=True, mode="reduce-overhead")
        other = torch.cuda.Stream()
        for seed in range(6):
            inputs = self.inputs(3, seed=seed)
            wanted = vdn_delta_factors(*inputs)
            torch.cuda.synchronize()
            torch.compiler.cudagraph_mark_step_begin()
            with torch.cuda.stream(other if seed >= 3 else torch.cuda.default_stream()):
                got = [x.clone() for x in compiled(*inputs)]
            torch.cuda.synchronize()
            self.assertSameBits(got, wanted, f"call {seed}")


if __name__ == "__main__":
    unittest.main()
