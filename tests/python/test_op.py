# SPDX-License-Identifier: Apache-2.0
"""vdn_delta_factors as a function: values, shapes, bits, refused calls, out and info; on the CPU and on a GPU.

Field reports SHP-13, MEM-06, MEM-07, PYT-02, PYT-03, PYT-06, PYT-07, PYT-09, CPU-04, CPU-12 (CONTRIBUTING.md)."""
import threading
import unittest
from unittest import mock

import torch
from support import DIM, Case, chain, error, needs_gpu, reference, shifted, silu_inputs, variants
from vdn_delta import _library, can_use_vdn_delta_factors, vdn_delta_factors


class Operation:
    device = ""

    def inputs(self, *lead, **settings):
        return silu_inputs(*lead, device=self.device, **{"tokens": 64, **settings})

    # ---- values ----

    def test_leading_dimensions(self):
        for lead in ((), (1,), (5,), (2, 3), (2, 1, 3)):
            A, B, alpha = self.inputs(*lead)
            T, J = vdn_delta_factors(A, B, alpha)
            for out, like in ((T, A), (J, B)):
                self.assertEqual((out.shape, out.dtype, out.device), (like.shape, torch.float32, like.device))
                self.assertTrue(out.is_contiguous())
            wanted = reference(A, B, alpha)
            self.assertLess(error(T, wanted[0]), 1e-6, lead)
            self.assertLess(error(J, wanted[1]), 1e-6, lead)

    def test_empty(self):
        for lead in ((0,), (3, 0), (0, 2)):
            args = (torch.empty(*lead, DIM, DIM, device=self.device), torch.empty(*lead, DIM, DIM, device=self.device),
                    torch.empty(*lead, DIM, device=self.device))
            T, J = vdn_delta_factors(*args)
            self.assertEqual((T.shape, J.shape), (args[0].shape, args[1].shape))
            info = torch.empty(lead, dtype=torch.int32, device=self.device)
            T, J = vdn_delta_factors(*args, info=info, out=(torch.empty_like(args[0]), torch.empty_like(args[0])))
            self.assertEqual(T.shape, args[0].shape)

    def test_against_the_chain_on_hard_inputs(self):
        # cond(I + A) up to about 500 (fewer tokens than rows), and about 1e5 by hand.
        for tokens, scale in ((16, 50), (16, 100), (64, 1), (64, 100)):
            A, B, alpha = self.inputs(6, tokens=tokens, beta_scale=scale)
            self.check_against_chain(A, B, alpha, f"{tokens} tokens, scale {scale}")
        g = torch.Generator(device=self.device).manual_seed(7)
        q = torch.linalg.qr(torch.randn(4, DIM, DIM, device=self.device, dtype=torch.float64, generator=g))[0]
        spectrum = torch.logspace(0, 5, DIM, device=self.device, dtype=torch.float64) - 1
        A = (q * spectrum) @ q.mT
        A = (0.5 * (A + A.mT)).float().contiguous()
        _, B, alpha = self.inputs(4)
        self.check_against_chain(A, B, alpha, "cond 1e5")

    def check_against_chain(self, A, B, alpha, what):
        got, wanted, today = vdn_delta_factors(A, B, alpha), reference(A, B, alpha), chain(A, B, alpha)
        for name, x, y, z in zip("TJ", got, wanted, today):
            self.assertTrue(x.isfinite().all(), what)
            self.assertLessEqual(error(x, y), 1.5 * error(z, y) + 1e-7, f"{name}, {what}")

    def test_no_state(self):
        # A = 0: the inverse is the identity.
        _, B, alpha = self.inputs(3)
        alpha[1, 5], alpha[2, 7] = 0.0, 1e-40
        T, J = vdn_delta_factors(torch.zeros_like(B), B, alpha)
        self.assertTrue(torch.equal(T, torch.diag_embed(alpha)))
        self.assertTrue(torch.equal(J, B))

    def test_scales(self):
        A, B, alpha = self.inputs(3)
        T, J = vdn_delta_factors(A, B, alpha, a_scale=0.25, b_scale=3.0)
        wanted = reference(0.25 * A, 3.0 * B, alpha)
        self.assertLess(error(T, wanted[0]), 1e-6)
        self.assertLess(error(J, wanted[1]), 1e-6)
        for k in range(200):  # more settings than are remembered
            vdn_delta_factors(A[:1], B[:1], alpha[:1], a_scale=1.0 + k)
        self.assertSameBits(vdn_delta_factors(A, B, alpha, a_scale=0.25, b_scale=3.0), (T, J))
        for wrong in (0.0, -1.0, float("nan"), float("inf")):
            with self.assertRaisesRegex(ValueError, "a_scale"):
                vdn_delta_factors(A, B, alpha, a_scale=wrong)
            with self.assertRaisesRegex(ValueError, "b_scale"):
                vdn_delta_factors(A, B, alpha, b_scale=wrong)
        # Finite and positive, but not as the library takes them: the value is the caller's. New, known, and with info.
        info = torch.empty(3, dtype=torch.int32, device=self.device)
        for wrong, text in ((1e-300, "1e-300"), (1e300, "1e\\+300"), (3.5e38, "3.5e\\+38"), (-2, "-2.0")):
            for settings in ({"a_scale": wrong}, {"a_scale": wrong}, {"b_scale": wrong, "info": info}):
                text_of = f"{list(settings)[0]} must be finite and > 0 as float32, not {text}$"
                with self.subTest(settings), self.assertRaisesRegex(ValueError, text_of):
                    vdn_delta_factors(A, B, alpha, **settings)
        with self.assertRaisesRegex(ValueError, "a_scale must be finite and > 0 as float32, not 1e-300"):
            torch.ops.vdn_delta.factors(A, B, alpha, 1e-300)
        vdn_delta_factors(A, B, alpha, a_scale=1e-40)  # subnormal

    # ---- bits ----

    def test_bits(self):
        A, B, alpha = self.inputs(9)
        whole = vdn_delta_factors(A, B, alpha)
        self.assertSameBits(vdn_delta_factors(A, B, alpha), whole, "on a second call")
        for m in (0, 4, 8):
            alone = vdn_delta_factors(A[m:m + 1], B[m:m + 1], alpha[m:m + 1])
            self.assertSameBits(alone, [x[m:m + 1] for x in whole], f"for matrix {m} alone")
        self.assertSameBits(vdn_delta_factors(A.tril(), B, alpha), whole, "with another upper triangle")
        kept = torch.get_float32_matmul_precision()
        try:
            torch.set_float32_matmul_precision("medium")
            self.assertSameBits(vdn_delta_factors(A, B, alpha), whole, "with TF32 allowed")
        finally:
            torch.set_float32_matmul_precision(kept)
        with torch.autocast(self.device, dtype=torch.bfloat16):
            inside = vdn_delta_factors(A, B, alpha)
        self.assertEqual([x.dtype for x in inside], [torch.float32] * 2)
        self.assertSameBits(inside, whole, "under autocast")
        with torch.inference_mode():
            self.assertSameBits(vdn_delta_factors(A, B, alpha), whole, "in inference mode")

    def test_storage_offsets(self):
        inputs = self.inputs(3)
        whole = vdn_delta_factors(*inputs)
        for floats in (1, 2, 3):
            for which in range(3):
                moved = [shifted(x, floats) if i == which else x for i, x in enumerate(inputs)]
                self.assertSameBits(vdn_delta_factors(*moved), whole, f"input {which} {floats} floats further")
            out = tuple(shifted(x, floats) for x in whole)
            for x in out:
                x.fill_(7)
            self.assertSameBits(vdn_delta_factors(*inputs, out=out), whole, f"outputs {floats} floats further")

    def test_inputs_and_aliases(self):
        A, B, alpha = self.inputs(3)
        kept = [x.clone() for x in (A, B, alpha)]
        T, J = vdn_delta_factors(A, B, alpha)
        for x, y in zip((A, B, alpha), kept):
            self.assertTrue(torch.equal(x, y))
        storages = {x.untyped_storage().data_ptr() for x in (A, B, alpha, T, J)}
        self.assertEqual(len(storages), 5)
        self.assertSameBits(vdn_delta_factors(A, A, alpha), vdn_delta_factors(A, A.clone(), alpha), "with B = A")

    def test_variants(self):
        inputs = self.inputs(3)
        auto = vdn_delta_factors(*inputs)
        for variant in variants(self.device):
            self.assertSameBits(vdn_delta_factors(*inputs, variant=variant), auto, variant)
        with self.assertRaisesRegex(ValueError, "'double'"):
            vdn_delta_factors(*inputs, variant="double")

    def test_threads(self):
        inputs = self.inputs(5)
        whole, wrong = vdn_delta_factors(*inputs), []

        def work():
            for _ in range(5):
                if not all(map(torch.equal, vdn_delta_factors(*inputs), whole)):
                    wrong.append(threading.get_ident())

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    # ---- info, out ----

    def test_info(self):
        A, B, alpha = self.inputs(2, 3)
        whole = vdn_delta_factors(A, B, alpha)
        info = torch.full((2, 3), -7, dtype=torch.int32, device=self.device)
        self.assertSameBits(vdn_delta_factors(A, B, alpha, info=info), whole, "with info")
        self.assertEqual(info.tolist(), [[0] * 3] * 2)
        A, B, alpha = A.clone(), B.clone(), alpha.clone()
        A[0, 1, 4, 4] = -100.0  # pivot 5
        A[1, 0, 2, 1] = float("nan")  # row 3
        B[1, 1, 9, 3] = float("nan")
        alpha[1, 2, 8] = float("nan")
        T, J = vdn_delta_factors(A, B, alpha, info=info)
        self.assertEqual(info.tolist(), [[0, 5, 0], [3, 0, 0]])
        bad = torch.zeros(2, 3, dtype=torch.bool)
        bad[0, 1] = bad[1, 0] = True
        self.assertTrue(T[bad].isnan().all() and J[bad].isnan().all())
        self.assertEqual(J[1, 1].isnan().any(-1).nonzero().flatten().tolist(), [9])
        self.assertEqual(T[1, 2].isnan().any(-1).nonzero().flatten().tolist(), [8])
        good = torch.tensor([[True, False, True], [False, False, False]])
        self.assertSameBits((T[good], J[good]), [x[good] for x in whole], "beside bad matrices")
        self.assertSameBits((T[1, 1], J[1, 2]), (whole[0][1, 1], whole[1][1, 2]), "of the other output")
        one = torch.full((), -7, dtype=torch.int32, device=self.device)
        vdn_delta_factors(A[0, 1], B[0, 1], alpha[0, 1], info=one)
        self.assertEqual(one.item(), 5)

    def test_out(self):
        A, B, alpha = self.inputs(3)
        whole = vdn_delta_factors(A, B, alpha)
        T, J = torch.full_like(A, 7), torch.full_like(B, 7)
        version = T._version
        result = vdn_delta_factors(A, B, alpha, out=(T, J))
        self.assertTrue(result[0] is T and result[1] is J)
        self.assertSameBits(result, whole, "with out")
        self.assertGreater(T._version, version)

    def test_refused_outputs(self):
        A, B, alpha = self.inputs(2)
        T, J = torch.full_like(A, 7), torch.full_like(B, 7)
        buffer = torch.empty(5, DIM, DIM, device=self.device)
        info = torch.empty(2, dtype=torch.int32, device=self.device)
        for out, kind, text in (
            ((T, T), ValueError, "same tensor"), ((A, J), ValueError, "an input"), ((T, B), ValueError, "an input"),
            ((buffer[:2], buffer[1:3]), ValueError, "OVERLAP"),
            ((T, A.view(-1).view(A.shape)), ValueError, "OVERLAP"),
            ((T.double(), J), TypeError, "T must be torch.float32"), ((T, J[:1]), ValueError, "J must have shape"),
            ((T, J.mT), ValueError, "J must be contiguous.*pass a contiguous tensor"),
            (T, TypeError, "pair.*not Tensor$"),
            ((T,), TypeError, "pair.*not tuple of length 1"), ([T, J, T], TypeError, "not list of length 3"),
            ((T, None), TypeError, "J must be"),
            ((T.clone().requires_grad_(), J), ValueError, r"T requires grad.*T\.detach\(\), which writes"),
        ):
            with self.assertRaisesRegex(kind, text) as refused:
                vdn_delta_factors(A, B, alpha, out=out)
            self.assertNotIn(".contiguous()", str(refused.exception))  # a copy would get the results
        for wrong, kind, text in (
            (info.long(), TypeError, "info must be torch.int32"), (info[:1], ValueError, r"info must have shape \(2,\)"),
            (torch.empty(4, dtype=torch.int32, device=self.device)[::2], ValueError,
             "info must be contiguous.*pass a contiguous tensor"),
            (torch._neg_view(info), ValueError, "info is a view with the negative bit.*pass a tensor without"),
            ([0, 0], TypeError, "info must be a torch.Tensor"),
            (T.view(-1)[:2].view(torch.int32), ValueError, "OVERLAP"),
        ):
            with self.assertRaisesRegex(kind, text):
                vdn_delta_factors(A, B, alpha, out=(T, J), info=wrong)
        self.assertTrue((T == 7).all() and (J == 7).all())
        # What a refusal advises is done.
        leaf = T.clone().requires_grad_()
        vdn_delta_factors(A, B, alpha, out=(leaf.detach(), J))
        self.assertSameBits((leaf, J), vdn_delta_factors(A, B, alpha), "into a detached tensor")

    # ---- refused inputs ----

    def test_refused_inputs(self):
        A, B, alpha = self.inputs(3)
        wide = torch.empty(3, DIM, 2, device=self.device)
        for args, kind, text in (
            ((A.double(), B, alpha), TypeError, r"A must be torch.float32, not torch.float64, shape \(3, 128, 128\)"),
            ((A, B.bfloat16(), alpha), TypeError, "B must be torch.float32"),
            ((A, B, alpha.half()), TypeError, "alpha must be torch.float32"),
            ((A.tolist(), B, alpha), TypeError, "A must be a torch.Tensor, not list"),
            ((A, None, alpha), TypeError, "B must be a torch.Tensor, not NoneType"),
            ((A[..., :64], B, alpha), ValueError, r"A must have shape \(..., 128, 128\), not \(3, 128, 64\)"),
            ((A.reshape(-1), B, alpha), ValueError, "A must have shape"),
            ((A, B[:2], alpha), ValueError, r"B must have shape \(3, 128, 128\), not \(2, 128, 128\)"),
            ((A, B[0], alpha), ValueError, "B must have shape"),
            ((A, B, alpha[:2]), ValueError, r"alpha must have shape \(3, 128\), not \(2, 128\)"),
            ((A, B, alpha[..., None]), ValueError, "alpha must have shape"),
            ((A.mT, B, alpha), ValueError, r"A must be contiguous, .*strides \(16384, 1, 128\)"),
            ((A.repeat(2, 1, 1)[::2], B, alpha), ValueError, "A must be contiguous"),
            ((A, B.mT, alpha), ValueError, "B must be contiguous"),
            ((A, B, wide[..., 0]), ValueError, "alpha must be contiguous"),
            ((A, B, alpha[:1].expand(3, DIM)), ValueError, "alpha must be contiguous"),
            ((A.clone().requires_grad_(), B, alpha), ValueError, "A requires grad.*not differentiable"),
            ((A, B, alpha.clone().requires_grad_()), ValueError, "alpha requires grad"),
        ):
            with self.assertRaisesRegex(kind, text):
                vdn_delta_factors(*args)
            self.assertFalse(can_use_vdn_delta_factors(*args) if all(map(torch.is_tensor, args)) else False)
            if all(map(torch.is_tensor, args)):  # the operator itself, past the function
                with self.assertRaisesRegex(kind, text):
                    torch.ops.vdn_delta.factors(*args)
        with torch.no_grad():
            got = vdn_delta_factors(A.clone().requires_grad_(), B, alpha)
        self.assertSameBits(got, vdn_delta_factors(A, B, alpha), "without grad mode")
        self.assertFalse(got[0].requires_grad)

    def test_calls_leave_nothing_on_tensors(self):
        # Tensors that live long and require grad, as parameters do: no hook, no graph, whatever the number of calls.
        inputs = [x.clone().requires_grad_() for x in self.inputs(1)]

        def left():
            return [(x.grad_fn, x._backward_hooks, getattr(x, "_post_accumulate_grad_hooks", None), x._version)
                    for x in inputs]

        before, out = left(), tuple(torch.empty_like(x) for x in inputs[:2])
        for _ in range(100):
            with torch.no_grad():
                got = vdn_delta_factors(*inputs)
                vdn_delta_factors(*inputs, out=out)
            self.assertEqual([x.grad_fn for x in (*got, *out)], [None] * 4)
            with self.assertRaisesRegex(ValueError, "not differentiable"):
                vdn_delta_factors(*inputs)
        self.assertEqual(left(), before)
        nodes = []
        node = inputs[0].expand_as(inputs[0]).grad_fn.next_functions[0][0]  # the accumulator, where hooks would be
        while node is not None:
            nodes.append(type(node).__name__)
            node = node.next_functions[0][0] if node.next_functions else None
        self.assertEqual(nodes, ["AccumulateGrad"])

    def test_no_derivative_is_made_up(self):
        """By no mode: the transforms of torch.func take their wrappers off before the operator computes."""
        A, B, alpha = self.inputs(2)
        out = torch.empty_like(A), torch.empty_like(B)
        info = torch.empty(2, dtype=torch.int32, device=self.device)
        operators = torch.ops.vdn_delta
        functions = {
            "plain": lambda b: vdn_delta_factors(A, b, alpha)[1],
            "scaled": lambda b: vdn_delta_factors(A, b, alpha, b_scale=2.0)[1],
            "info": lambda b: vdn_delta_factors(A, b, alpha, info=info)[1],
            "out": lambda b: vdn_delta_factors(A, b, alpha, out=out)[1],
            "operator": lambda b: operators.factors(A, b, alpha)[1],
            "operator, out": lambda b: operators.factors_out(A, b, alpha, *out) or out[1],
            "of A": lambda a: vdn_delta_factors(a, B, alpha)[0],
        }
        def dual(f):
            with torch.autograd.forward_ad.dual_level():
                return f(torch.autograd.forward_ad.make_dual(B, B))
        def parameter(f):
            return f(B.clone().requires_grad_())
        modes = {
            "grad": lambda f: torch.func.grad(lambda b: f(b).sum())(B),
            "vjp": lambda f: torch.func.vjp(f, B),
            "jvp": lambda f: torch.func.jvp(f, (B,), (B,)),
            "dual": dual,
            "requires_grad": parameter,
        }
        for what, f in functions.items():
            for mode, derive in modes.items():
                with self.subTest(function=what, mode=mode), self.assertRaisesRegex(ValueError, "not differentiable"):
                    derive(f)
        each = torch.func.vmap(torch.func.grad(lambda b, a, x: vdn_delta_factors(a, b, x)[1].sum()))
        with self.assertRaisesRegex(ValueError, "not differentiable"):
            each(B, A, alpha)
        with self.assertRaisesRegex(ValueError, "not differentiable"):
            torch.func.grad(lambda b: torch.func.vmap(vdn_delta_factors)(A, b, alpha)[1].sum())(B)

    def test_tangents_without_grad_mode(self):
        """Grad mode does not switch them off, so that a refusal does not send there; a detached tensor has none."""
        A, B, alpha = self.inputs(2)
        wanted = vdn_delta_factors(A, B, alpha)
        with torch.no_grad(), torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(B, B)
            out = torch.autograd.forward_ad.make_dual(torch.zeros_like(A), A), torch.zeros_like(B)
            for call, text in ((lambda: vdn_delta_factors(A, dual, alpha), "B has a tangent.*with detached tensors"),
                               (lambda: vdn_delta_factors(A, B, alpha, out=out), r"T has a tangent.*T\.detach\(\)")):
                with self.assertRaisesRegex(ValueError, text) as refused:
                    call()
                self.assertNotRegex(str(refused.exception), "no_grad|requires grad")
            self.assertSameBits(vdn_delta_factors(A, dual.detach(), alpha), wanted, "detached")
            vdn_delta_factors(A, B, alpha, out=(out[0].detach(), out[1]))
            self.assertSameBits([x.detach() for x in out], wanted, "into a detached tensor")

    def test_constants_of_a_transform(self):
        """What asks for no derivative of the operator is computed, inside a transform too."""
        A, B, alpha = self.inputs(3)
        wanted = vdn_delta_factors(A, B, alpha)
        weight = torch.full((3, DIM, DIM), 2.0, device=self.device)
        gradient = torch.func.grad(lambda w: (w * vdn_delta_factors(A, B, alpha)[1]).sum())(weight)
        self.assertTrue(torch.equal(gradient, wanted[1]))
        self.assertSameBits(torch.func.vmap(vdn_delta_factors)(A, B, alpha), wanted, "by vmap")
        with torch.autograd.forward_ad.dual_level():
            self.assertSameBits(vdn_delta_factors(A, B, alpha), wanted, "at a dual level")

    def test_types_of_settings(self):
        A, B, alpha = self.inputs(2)
        wanted = vdn_delta_factors(A, B, alpha, a_scale=2.0, b_scale=3.0)
        self.assertSameBits(vdn_delta_factors(A, B, alpha, a_scale=2, b_scale=3), wanted, "integers")
        one = torch.tensor(1.0, device=self.device)
        for settings in ({"a_scale": one}, {"b_scale": one.requires_grad_()}, {"a_scale": "1"}, {"b_scale": None},
                         {"variant": None}, {"variant": 0}, {"variant": b"auto"}):
            with self.subTest(settings), self.assertRaises(TypeError):
                vdn_delta_factors(A, B, alpha, **settings)
        for settings in ({"a_scale": 10**400}, {"a_scale": float("nan")}, {"b_scale": 0}, {"variant": "fast"}):
            with self.subTest(settings), self.assertRaises(ValueError):
                vdn_delta_factors(A, B, alpha, **settings)

    def test_negative_bit(self):
        """A view whose values are those of its storage with the other sign: read as such, not written into."""
        A, B, alpha = self.inputs(2)
        wanted = vdn_delta_factors(A, B, alpha)
        for n, x in enumerate((A, B, alpha)):
            args = [A, B, alpha]
            args[n] = torch._neg_view(-x)
            self.assertSameBits(vdn_delta_factors(*args), wanted, f"argument {n}")
        T, J = torch.full_like(A, 7), torch.full_like(B, 7)
        for out in ((torch._neg_view(T), J), (T, torch._neg_view(J))):
            with self.assertRaisesRegex(ValueError, "negative bit"):
                vdn_delta_factors(A, B, alpha, out=out)
        self.assertTrue((T == 7).all() and (J == 7).all())

    def test_can_use_refuses_what_is_no_tensor(self):
        A, B, alpha = self.inputs(2)
        for args in ((None, B, alpha), (A, None, alpha), (A, B, None), (A.to_sparse(), B, alpha)):
            self.assertFalse(can_use_vdn_delta_factors(*args))

    def test_operator_check(self):
        for args in (self.inputs(2, 3), self.inputs(1), tuple(x[:0] for x in self.inputs(1))):
            torch.library.opcheck(torch.ops.vdn_delta.factors.default, args)
            torch.library.opcheck(torch.ops.vdn_delta.factors.default, args, {"a_scale": 0.5, "variant": "compact"})
            out = torch.empty_like(args[0]), torch.empty_like(args[0])
            info = torch.empty(args[0].shape[:-2], dtype=torch.int32, device=self.device)
            torch.library.opcheck(torch.ops.vdn_delta.factors_out.default, (*args, *out))
            torch.library.opcheck(torch.ops.vdn_delta.factors_out.default, (*args, *out, info))

    def test_meta(self):
        fake = [x.to("meta") for x in self.inputs(2, 3)]
        T, J = vdn_delta_factors(*fake)
        self.assertEqual((T.shape, T.stride(), T.device.type), (fake[0].shape, fake[0].stride(), "meta"))
        self.assertEqual(J.shape, fake[1].shape)
        with self.assertRaisesRegex(ValueError, "B must have shape"):
            vdn_delta_factors(fake[0], fake[1][:1], fake[2])
        with self.assertRaisesRegex(ValueError, "must be on"):
            vdn_delta_factors(fake[0], fake[1], self.inputs(2, 3)[2])


class OnCpu(Operation, Case):
    device = "cpu"

    def test_can_use_is_about_gpus(self):
        self.assertFalse(can_use_vdn_delta_factors(*self.inputs(2)))

    def test_number_of_threads(self):
        inputs = self.inputs(6)
        kept, results = torch.get_num_threads(), []
        try:
            for threads in (1, 3):
                torch.set_num_threads(threads)
                with mock.patch.object(_library, "factors_host", wraps=_library.factors_host) as call:
                    results.append(vdn_delta_factors(*inputs))
                self.assertEqual([one.args[-1] for one in call.call_args_list], [threads])
        finally:
            torch.set_num_threads(kept)
        self.assertSameBits(*results, "with three threads")


@needs_gpu
class OnGpu(Operation, Case):
    device = "cuda"

    def test_device_mix(self):
        A, B, alpha = self.inputs(2)
        good = vdn_delta_factors(A, B, alpha)
        for args, name in (((A.cpu(), B, alpha), "B"), ((A, B.cpu(), alpha), "B"), ((A, B, alpha.cpu()), "alpha")):
            with self.assertRaisesRegex(ValueError, f"{name} must be on"):
                vdn_delta_factors(*args)
            self.assertFalse(can_use_vdn_delta_factors(*args))
        with self.assertRaisesRegex(ValueError, "T must be on"):
            vdn_delta_factors(A, B, alpha, out=(torch.empty_like(A, device="cpu"), torch.empty_like(B)))
        self.assertSameBits(vdn_delta_factors(A, B, alpha), good, "after refused calls")


if __name__ == "__main__":
    unittest.main()
