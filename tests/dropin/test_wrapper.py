# SPDX-License-Identifier: Apache-2.0
"""The example wrapper for SGLang, with stand-ins for SGLang and PyTorch: what it asks load_jit for, what it takes.

    test_wrapper.py HEADER

The stand-ins know the names of the interface and nothing more; tests/dropin/load_jit.cu is the unit that SGLang would
compile from what is asked for here, and this test holds the two together.
"""
import functools
import importlib.util
import math
import re
import sys
import types
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADER = sys.argv.pop(1)
asked, called = [], []


class Tensor:
    is_cuda = True

    def __init__(self, *shape, dtype="float32", device="cuda:0", contiguous=True):
        self.shape, self.dtype, self.device, self.contiguous = shape, dtype, device, contiguous

    def dim(self):
        return len(self.shape)

    def numel(self):
        return math.prod(self.shape)

    def is_contiguous(self):
        return self.contiguous

    def view(self, *shape):
        assert math.prod(shape) == self.numel()
        return Tensor(*shape)


def load_jit(*marker, **how):
    asked.append((marker, how))
    return types.SimpleNamespace(vdn_delta_factors=lambda *tensors: called.append([t.shape for t in tensors]))


capability = [9]
torch = types.ModuleType("torch")
torch.float32 = "float32"
torch.empty_like = lambda t: Tensor(*t.shape)
torch.cuda = types.SimpleNamespace(get_device_capability=lambda device: (capability[0], 0))
utils = types.ModuleType("sglang.kernels.jit.utils")
utils.cache_once, utils.load_jit = functools.cache, load_jit
for name in ("sglang", "sglang.kernels", "sglang.kernels.jit"):
    sys.modules[name] = types.ModuleType(name)
sys.modules.update({"torch": torch, "sglang.kernels.jit.utils": utils})

spec = importlib.util.spec_from_file_location("wrapper", HERE.parent.parent / "bindings/sglang/vdn_delta_factors_jit.py")
wrapper = importlib.util.module_from_spec(spec)
spec.loader.exec_module(wrapper)


class Wrapper(unittest.TestCase):
    def test_the_line_of_load_jit(self):
        for variant in wrapper.RUN:
            factors = wrapper.Factors(HEADER, variant)
            for _ in range(2):  # built once
                transition, injection = factors(Tensor(3, 7, 128, 128), Tensor(3, 7, 128, 128), Tensor(3, 7, 128))
            self.assertEqual((transition.shape, injection.shape), ((3, 7, 128, 128),) * 2)
        self.assertEqual([marker[1] for marker, _ in asked], list(wrapper.RUN))
        for (_, how), expression in zip(asked, wrapper.RUN.values()):
            self.assertEqual(how, {"cuda_files": [str(Path(HEADER).resolve())],
                                   "cuda_wrappers": [("vdn_delta_factors", expression)]})
        self.assertEqual(called, [[(21, 128, 128)] * 4 + [(21, 128)]] * 2 * len(wrapper.RUN))
        factors(Tensor(0, 128, 128), Tensor(0, 128, 128), Tensor(0, 128))
        self.assertEqual(called[-1], [(0, 128, 128)] * 4 + [(0, 128)])

    def test_what_is_exported_is_what_is_compiled(self):
        unit = "".join((HERE / name).read_text(encoding="utf-8") for name in ("load_jit.cu", "shim.cu"))
        compiled = set(re.findall(r"\((vdn_delta_factors::[\w:<>]+::run)\)", unit))
        self.assertEqual(compiled, set(wrapper.RUN.values()))

    def test_can_use(self):
        def can(A=Tensor(2, 128, 128), B=Tensor(2, 128, 128), alpha=Tensor(2, 128)):
            return wrapper.Factors.can_use(A, B, alpha)

        self.assertTrue(can())
        self.assertTrue(can(Tensor(128, 128), Tensor(128, 128), Tensor(128)))
        cpu = Tensor(2, 128, 128)
        cpu.is_cuda = False
        for bad in (cpu, Tensor(2, 64, 64), Tensor(2, 128, 64), Tensor(128), Tensor(2, 128, 128, dtype="bfloat16"),
                    Tensor(2, 128, 128, contiguous=False), Tensor(2, 128, 128, device="cuda:1"), Tensor(3, 128, 128)):
            self.assertFalse(can(A=bad), bad.shape)
            self.assertFalse(can(B=bad), bad.shape)
        self.assertFalse(can(alpha=Tensor(2, 128, contiguous=False)))
        self.assertFalse(can(alpha=Tensor(2, 1)))
        capability[0] = 7
        self.assertFalse(can())
        capability[0] = 9

    def test_refusals(self):
        self.assertRaises(ValueError, wrapper.Factors, HEADER, "double")
        self.assertRaises(FileNotFoundError, wrapper.Factors, "no/such/header.cuh")


if __name__ == "__main__":
    unittest.main()
