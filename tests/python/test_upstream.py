# SPDX-License-Identifier: Apache-2.0
"""The situations that SGLang's tests of its own vdn_delta_factors demand, written anew for this one; on a GPU, and,
where no GPU is meant, on the CPU. Theirs that computes without an inverse (`sana_scaled`) calls no such function."""
import math
import unittest

import torch
from support import Case, chain, error, needs_gpu, reference, shifted, silu_inputs
from vdn_delta import can_use_vdn_delta_factors, vdn_delta_factors


class Situations:
    device = ""

    def close(self, got, wanted, rtol, atol):
        torch.testing.assert_close(got, wanted, rtol=rtol, atol=atol)

    def test_matches_eager_and_fp64(self):
        for frames, heads, tokens in ((1, 1, 16), (5, 3, 64), (11, 7, 1008)):
            for scale in (1.0, 50.0):
                with self.subTest(frames=frames, heads=heads, tokens=tokens, scale=scale):
                    A, B, alpha = silu_inputs(frames, heads, tokens=tokens, beta_scale=scale, device=self.device)
                    got, today, exact = vdn_delta_factors(A, B, alpha), chain(A, B, alpha), reference(A, B, alpha)
                    for x, y, z, like, most, atol in zip(got, today, exact, (A, B), (1e-5, 3e-5), (1e-5, 1e-4)):
                        self.assertEqual((x.shape, x.dtype), (like.shape, torch.float32))
                        self.assertTrue(x.isfinite().all())
                        self.assertLessEqual(error(x, z), 1.5 * error(y, z) + 1e-7)
                        self.assertLess(error(x, z), most)
                        self.close(x, y, 1e-4, atol)

    def test_rules_of_the_model(self):
        tokens = 48
        A, B, alpha = silu_inputs(4, 2, tokens=tokens, device=self.device)
        with self.subTest("vdn_solve"):
            for x, y in zip(vdn_delta_factors(A, B, alpha), chain(A, B, alpha)):
                self.close(x, y, 2e-5, 2e-5)
        a_scale, b_scale = 1 / tokens, 1 / math.sqrt(tokens)
        today = chain(A * a_scale, B * b_scale, alpha)
        with self.subTest("vdn_scaled, scaled before"):
            for x, y in zip(vdn_delta_factors(A * a_scale, B * b_scale, alpha), today):
                self.close(x, y, 2e-5, 2e-5)
        with self.subTest("vdn_scaled, by the options"):
            for x, y in zip(vdn_delta_factors(A, B, alpha, a_scale=a_scale, b_scale=b_scale), today):
                self.close(x, y, 2e-5, 2e-5)

    def test_one_element_past_a_boundary(self):
        inputs = silu_inputs(3, 2, tokens=64, device=self.device)
        aligned = vdn_delta_factors(*inputs)
        for which, name in enumerate(("A", "B", "alpha")):
            with self.subTest(name):
                moved = list(inputs)
                moved[which] = shifted(inputs[which], 1)
                self.assertNotEqual(moved[which].data_ptr() % 16, 0)
                self.assertEqual(can_use_vdn_delta_factors(*moved), self.device == "cuda")
                self.assertSameBits(vdn_delta_factors(*moved), aligned)


class OnCpu(Situations, Case):
    device = "cpu"

    def test_can_use_refuses_cpu(self):
        self.assertFalse(can_use_vdn_delta_factors(*silu_inputs(2, 2, tokens=16)))


@needs_gpu
class OnGpu(Situations, Case):
    device = "cuda"

    def test_can_use_refuses(self):
        A, B, alpha = silu_inputs(2, 2, tokens=16, device=self.device)
        self.assertTrue(can_use_vdn_delta_factors(A, B, alpha))
        small = [x[..., :64].contiguous() for x in (A[..., :64, :], B[..., :64, :], alpha)]
        for what, args in (("d = 64", small), ("bf16", (A.bfloat16(), B, alpha)), ("transposed", (A.mT, B, alpha)),
                           ("expanded", (A, B, alpha[..., :1].expand_as(alpha))),
                           ("CPU", (A.cpu(), B.cpu(), alpha.cpu()))):
            with self.subTest(what):
                self.assertIs(can_use_vdn_delta_factors(*args), False)


if __name__ == "__main__":
    unittest.main()
