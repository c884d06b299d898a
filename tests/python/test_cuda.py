# SPDX-License-Identifier: Apache-2.0
"""How a call runs on a GPU: streams, graphs, devices, threads, memory, large batches; and the accuracy at full size."""
import pathlib
import subprocess
import sys
import threading
import unittest
import warnings

import torch
from support import Case, error, needs_gpu, needs_two_gpus, reference, shifted, silu_inputs, variants
from vdn_delta import can_use_vdn_delta_factors, vdn_delta_factors

FIRST_CALL_IN_A_CAPTURE = """
import sys
sys.path[:0] = [{here!r}]
import torch
from support import silu_inputs
from vdn_delta import vdn_delta_factors
inputs = silu_inputs(3, tokens=64, device="cuda")
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    captured = vdn_delta_factors(*inputs)
graph.replay()
torch.cuda.synchronize()
assert all(map(torch.equal, captured, vdn_delta_factors(*inputs)))
print("same bits")
"""


def inputs_of(n, **settings):
    return silu_inputs(n, **{"tokens": 64, "device": "cuda", **settings})


@needs_gpu
class Running(Case):
    def test_returns_before_the_work_is_done(self):
        inputs = inputs_of(3)
        wanted = vdn_delta_factors(*inputs)
        out = tuple(map(torch.empty_like, wanted))
        torch.cuda.synchronize()
        torch.cuda._sleep(500_000_000)  # clocks: a fifth of a second or more
        vdn_delta_factors(*inputs, out=out)
        done = torch.cuda.Event()
        done.record()
        self.assertFalse(done.query(), "the call waited for the stream")
        done.synchronize()
        self.assertSameBits(out, wanted)

    def test_current_stream(self):
        inputs = inputs_of(3)
        wanted = vdn_delta_factors(*inputs)
        late = [torch.zeros_like(x) for x in inputs]
        out = tuple(torch.zeros_like(x) for x in wanted)
        self.assertTrue((out[0] == 0).all())  # loads what the same line needs below, which might wait for everything
        late[0].copy_(late[0].clone())
        torch.cuda.synchronize()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)
            for x, y in zip(late, inputs):
                x.copy_(y)
            vdn_delta_factors(*late, out=out)  # right only if it waits for the copies before it in this stream
        self.assertTrue((out[0] == 0).all(), "the default stream must not have waited")
        stream.synchronize()
        self.assertSameBits(out, wanted, "on a stream of its own")

    def test_no_allocation(self):
        inputs = inputs_of(132)
        out = vdn_delta_factors(*inputs)
        torch.cuda.synchronize()
        before, free = torch.cuda.memory_stats()["allocation.all.allocated"], torch.cuda.mem_get_info()[0]
        for _ in range(10):
            vdn_delta_factors(*inputs, out=out)
        torch.cuda.synchronize()
        self.assertEqual(torch.cuda.memory_stats()["allocation.all.allocated"], before)
        self.assertEqual(torch.cuda.mem_get_info()[0], free)
        vdn_delta_factors(*inputs)
        self.assertEqual(torch.cuda.memory_stats()["allocation.all.allocated"], before + 2)

    def test_graph(self):
        for n in (1, 64, 707):
            fixed = [x.clone() for x in inputs_of(n)]
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                captured = vdn_delta_factors(*fixed)
            for seed in (1, 2, 3):
                inputs = inputs_of(n, seed=seed, beta_scale=50)
                for x, y in zip(fixed, inputs):
                    x.copy_(y)
                graph.replay()
                self.assertSameBits(captured, vdn_delta_factors(*inputs), f"replay, n = {n}")

    def test_first_call_inside_a_capture(self):
        script = FIRST_CALL_IN_A_CAPTURE.format(here=str(pathlib.Path(__file__).parent))
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
        self.assertIn("same bits", result.stdout, result.stderr)

    def test_bits_do_not_depend_on_the_batch(self):
        inputs = inputs_of(300)
        whole = vdn_delta_factors(*inputs, variant="compact")
        for n in (1, 2, 65, 66, 67, 132, 133, 147, 198, 199, 295, 297, 300):
            for variant in ("auto", *variants("cuda")):
                got = vdn_delta_factors(*[x[300 - n:].clone() for x in inputs], variant=variant)
                self.assertSameBits(got, [x[300 - n:] for x in whole], f"{variant}, the last {n}")

    def test_threads_and_streams(self):
        wanted, wrong = {}, []
        batches = {n: inputs_of(n, seed=n) for n in (1, 7, 64, 133)}
        for n, inputs in batches.items():
            wanted[n] = vdn_delta_factors(*inputs)
        torch.cuda.synchronize()

        def work(n):
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(50):
                    if not all(map(torch.equal, vdn_delta_factors(*batches[n]), wanted[n])):
                        wrong.append(n)

        threads = [threading.Thread(target=work, args=(n,)) for n in list(batches) * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_more_than_2_to_31_elements(self):
        n, period = 131_079, 7
        if torch.cuda.mem_get_info()[0] < 40 << 30:
            self.skipTest("needs 40 GiB of free GPU memory")
        few = inputs_of(period)
        wanted = vdn_delta_factors(*few)
        repeats = -(-n // period)
        many = [x.repeat(repeats, *[1] * (x.dim() - 1))[:n] for x in few]
        T, J = vdn_delta_factors(*many)
        for m in (0, 65_536, 131_071, 131_072, n - 1):
            self.assertSameBits((T[m], J[m]), (wanted[0][m % period], wanted[1][m % period]), f"matrix {m}")
        del many, T, J
        torch.cuda.empty_cache()

    def test_predicate(self):
        A, B, alpha = inputs_of(3)
        self.assertIs(can_use_vdn_delta_factors(A, B, alpha), True)
        self.assertTrue(can_use_vdn_delta_factors(A[0], B[0], alpha[0]))
        self.assertTrue(can_use_vdn_delta_factors(A[1:], B[1:], alpha[1:]))
        for floats in (1, 2, 3):
            self.assertTrue(can_use_vdn_delta_factors(shifted(A, floats), shifted(B, floats), shifted(alpha, floats)))
        for args in ((A, B[:1], alpha), (A, B, alpha[:1]), (A, B, alpha[..., None]), (A, B.half(), alpha)):
            self.assertFalse(can_use_vdn_delta_factors(*args))

    def test_who_watches_sees_the_operator(self):
        """Where nobody watches, a call does not go through the dispatcher; who wants to see operators must see it."""
        inputs = inputs_of(3)
        wanted = vdn_delta_factors(*inputs)
        seen = []

        class Dispatched(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                seen.append(str(function))
                return function(*args, **(kwargs or {}))

        class Internal(Dispatched):  # the guards of compiled code do not see these
            @classmethod
            def ignore_compile_internals(cls):
                return True

        class Called(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                seen.append(str(function))
                return function(*args, **(kwargs or {}))

        for mode in (Dispatched, Internal, Called):
            for out in (None, tuple(map(torch.empty_like, wanted))):
                seen.clear()
                with mode():
                    got = vdn_delta_factors(*inputs, out=out)
                self.assertSameBits(got, wanted)
                name = "vdn_delta._factors" if out is None else "vdn_delta._factors_out"
                self.assertTrue(any(name in what for what in seen), (mode, seen))

        out = tuple(map(torch.zeros_like, wanted))
        with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True):
            for x in vdn_delta_factors(*inputs):
                self.assertIsInstance(x, torch._subclasses.FakeTensor)
            vdn_delta_factors(*inputs, out=out)
        self.assertFalse(any(map(torch.any, out)), "computed although nothing was to be")

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tracing is deprecated, and warns of every Python condition
            traced = torch.jit.trace(lambda A, B, alpha: vdn_delta_factors(A, B, alpha), inputs, check_trace=False)
        other = inputs_of(3, seed=7)
        self.assertSameBits(traced(*other), vdn_delta_factors(*other))

    def test_tensors_of_other_kinds(self):
        """The dispatcher has an answer for each of them, whatever was called before."""
        A, B, alpha = inputs_of(2)
        out, info = (torch.empty_like(A), torch.empty_like(A)), torch.empty(2, dtype=torch.int32, device=A.device)
        for _ in range(2):
            wanted = vdn_delta_factors(A, B, alpha)
            vdn_delta_factors(A, B, alpha, out=out, info=info)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # sparse CSR and nested tensors are said to be unfinished
            others = [A.to_sparse(), A.to_sparse_csr(), torch.nested.nested_tensor([A[0], A[1]])]
        for x in others:
            for args, keywords in (((x, B, alpha), {}), ((A, x, alpha), {}), ((A, B, alpha), {"out": (x, out[1])})):
                with self.assertRaises(NotImplementedError):
                    vdn_delta_factors(*args, **keywords)
        with self.assertRaises(RuntimeError):  # immutable
            vdn_delta_factors(A, B, alpha, info=torch._efficientzerotensor(2, dtype=torch.int32, device=A.device))
        functional = [torch._to_functional_tensor(x) for x in (A, B, alpha)]
        self.assertSameBits(map(torch._from_functional_tensor, vdn_delta_factors(*functional)), wanted)

        class Backward(torch.autograd.Function):
            @staticmethod
            def forward(context, x):
                return x * 1

            @staticmethod
            def backward(context, gradient):
                return vdn_delta_factors(gradient, B[0], alpha[0])[0]

        x = A[0].clone().requires_grad_()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an operator without a batching rule is slow
            (gradients,) = torch.autograd.grad(Backward.apply(x), x, A, is_grads_batched=True)
        for n in range(2):
            self.assertTrue(torch.equal(gradients[n], vdn_delta_factors(A[n], B[0], alpha[0])[0]))

    def test_calls_unlike_the_last_one(self):
        """A call like the last one is not checked again; one that only looks like it must be."""
        A, B, alpha = inputs_of(3)
        wanted = vdn_delta_factors(A, B, alpha)
        out, info = tuple(map(torch.empty_like, wanted)), torch.empty(3, dtype=torch.int32, device="cuda")
        settings = ({}, {"info": info}, {"out": out}, {"out": out, "info": info})

        def refused(*args, **keywords):
            with self.assertRaises((TypeError, ValueError)):
                vdn_delta_factors(*args, **keywords)

        for keywords in settings:
            for grad in (True, False):
                for _ in range(2):
                    with torch.set_grad_enabled(grad):
                        self.assertSameBits(vdn_delta_factors(A, B, alpha, **keywords), wanted)
            for x in (A.double(), A.mT, A[:2], A.clone().requires_grad_(), A.cpu(), A[None]):
                refused(x, B, alpha, **keywords)
                refused(A, x, alpha, **keywords)
            for x in (alpha.double(), alpha.clone().requires_grad_(), alpha[0], alpha.cpu()):
                refused(A, B, x, **keywords)
            with torch.no_grad():
                self.assertSameBits(vdn_delta_factors(A.clone().requires_grad_(), B, alpha, **keywords), wanted)
            refused(A.clone().requires_grad_(), B, alpha, **keywords)
            with torch.inference_mode():
                for _ in range(2):
                    self.assertSameBits(vdn_delta_factors(A, B, alpha, **keywords), wanted)
            for n in (2, 3):
                got = vdn_delta_factors(A[:n], B[:n], alpha[:n], **(keywords if n == 3 else {}))
                self.assertSameBits(got, (wanted[0][:n], wanted[1][:n]))
        for bad in ((out[0], out[0]), (A, out[1]), (out[0], B), (out[0], out[1][:2]), (out[0], out[1].double())):
            refused(A, B, alpha, out=bad)
        for bad in (info[:2], info.long(), info.cpu()):
            refused(A, B, alpha, info=bad)
        info.fill_(-1)
        vdn_delta_factors(A, B, alpha, info=info)
        self.assertEqual(info.tolist(), [0, 0, 0])
        version = out[0]._version
        vdn_delta_factors(A, B, alpha, out=out)
        self.assertGreater(out[0]._version, version)

    def test_profiler_sees_one_kernel(self):
        inputs = inputs_of(3)
        out = vdn_delta_factors(*inputs)
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profile:
            vdn_delta_factors(*inputs, out=out)
            torch.cuda.synchronize()
        names = [event.name for event in profile.events()]
        kernels = [event for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
        self.assertIn("vdn_delta::_factors_out", names)
        if not kernels:
            self.skipTest("the profiler sees no kernels here")
        self.assertEqual(len(kernels), 1, [kernel.name for kernel in kernels])


@needs_gpu
class Accuracy(Case):
    def test_of_the_model_at_full_size(self):
        for scale in (1, 50, 100):
            for seed in (0, 1):
                A, B, alpha = inputs_of(707, tokens=1008, beta_scale=scale, seed=seed)
                T, J = vdn_delta_factors(A, B, alpha)
                wanted = reference(A, B, alpha)
                self.assertLessEqual(error(T, wanted[0]), 3.0e-7, f"T, scale {scale}, seed {seed}")
                self.assertLessEqual(error(J, wanted[1]), 8.5e-7, f"J, scale {scale}, seed {seed}")
                for m in range(0, 707, 101):
                    self.assertLessEqual(error(J[m], wanted[1][m]), 1e-6)


@needs_two_gpus
class TwoDevices(Case):
    def test_not_the_current_device(self):
        first = inputs_of(65)
        second = [x.to("cuda:1") for x in first]
        wanted = vdn_delta_factors(*first)
        torch.cuda.set_device(0)
        got = vdn_delta_factors(*second)
        self.assertEqual(torch.cuda.current_device(), 0)
        self.assertEqual([x.get_device() for x in got], [1, 1])
        self.assertSameBits([x.to("cuda:0") for x in got], wanted, "on device 1")
        with torch.cuda.device(1):
            self.assertSameBits(vdn_delta_factors(*first), wanted, "on device 0 from device 1")
            self.assertEqual(torch.cuda.current_device(), 1)
        torch.cuda.synchronize(1)
        with torch.cuda.stream(torch.cuda.Stream("cuda:1")):
            self.assertSameBits([x.to("cuda:0") for x in vdn_delta_factors(*second)], wanted, "on a stream of device 1")
        self.assertTrue(can_use_vdn_delta_factors(*second))

    def test_mixed(self):
        A, B, alpha = inputs_of(2)
        for args, name in (((A, B.to("cuda:1"), alpha), "B"), ((A, B, alpha.to("cuda:1")), "alpha")):
            with self.assertRaisesRegex(ValueError, f"{name} must be on cuda:0"):
                vdn_delta_factors(*args)
            self.assertFalse(can_use_vdn_delta_factors(*args))

    def test_a_thread_for_each(self):
        inputs = {i: silu_inputs(64, tokens=64, device=f"cuda:{i}", seed=i) for i in (0, 1)}
        wanted = {i: vdn_delta_factors(*inputs[i]) for i in inputs}
        wrong = []

        def work(i):
            torch.cuda.set_device(1 - i)  # the other one
            for _ in range(100):
                if not all(map(torch.equal, vdn_delta_factors(*inputs[i]), wanted[i])):
                    wrong.append(i)

        threads = [threading.Thread(target=work, args=(i,)) for i in inputs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
