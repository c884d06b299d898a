# SPDX-License-Identifier: Apache-2.0
"""The binding for tvm-ffi on CPU tensors: results against fp64, shapes, options, and every refusal.

    test_tvm_ffi.py LIBRARY

Answers 77 where the Python packages tvm_ffi or numpy are missing.
"""
import sys
import unittest

try:
    import numpy as np
    import tvm_ffi
except ImportError as missing:
    print(missing)
    sys.exit(77)

module = tvm_ffi.load_module(sys.argv.pop(1))


def inputs(shape, seed=1):
    rng = np.random.default_rng(seed)
    k = rng.standard_normal((*shape, 200, 128)) / 16
    A = np.swapaxes(k, -1, -2) @ k
    return {
        "A": A.astype(np.float32),
        "B": rng.standard_normal((*shape, 128, 128)).astype(np.float32),
        "alpha": rng.uniform(0.1, 1.0, (*shape, 128)).astype(np.float32),
        "transition": np.full((*shape, 128, 128), 7, np.float32),
        "injection": np.full((*shape, 128, 128), 7, np.float32),
    }


def reference(x, a_scale=1.0, b_scale=1.0):
    inverse = np.linalg.inv(np.eye(128) + a_scale * x["A"].astype(np.float64))
    return x["alpha"].astype(np.float64)[..., None] * inverse, b_scale * x["B"].astype(np.float64) @ inverse


def call(x, *more):
    function = module.vdn_delta_factors_with if more else module.vdn_delta_factors
    function(*(tvm_ffi.from_dlpack(x[name]) for name in ("A", "B", "alpha", "transition", "injection")), *more)


class Binding(unittest.TestCase):
    def close(self, x, **scales):
        for name, right in zip(("transition", "injection"), reference(x, **scales)):
            error = np.linalg.norm(x[name] - right) / np.linalg.norm(right)
            self.assertLess(error, 1e-6, name)

    def test_results(self):
        for shape in ((), (1,), (5,), (2, 3), (0,)):
            with self.subTest(shape=shape):
                x = inputs(shape)
                call(x)
                if x["A"].size:
                    self.close(x)

    def test_A_may_be_B(self):
        x = inputs((2,))
        x["B"] = x["A"]
        call(x)
        self.close(x)

    def test_options(self):
        x = inputs((3,))
        x["A"][1, 5, 5] = -50.0  # not positive definite, from the sixth pivot on
        info = np.full(3, -1, np.int32)
        call(x, tvm_ffi.from_dlpack(info), "single", 0.5, 3.0)
        self.assertEqual(info.tolist(), [0, 6, 0])
        self.assertTrue(np.isnan(x["transition"][1]).all() and np.isnan(x["injection"][1]).all())
        good = {name: value[[0, 2]] for name, value in x.items()}
        self.close(good, a_scale=0.5, b_scale=3.0)
        x = inputs((1,))
        call(x, None, "auto", 1.0, 1.0)
        self.close(x)

    def refused(self, kind, why, change, *more):
        x = inputs((2,))
        change(x)
        with self.assertRaisesRegex(kind, why):
            call(x, *more)

    def test_refusals(self):
        def put(name, value):
            return lambda x: x.__setitem__(name, value(x[name]))

        self.refused(TypeError, "A must be float32, not float64", put("A", lambda a: a.astype(np.float64)))
        self.refused(TypeError, "alpha must be float32, not int32", put("alpha", lambda a: a.astype(np.int32)))
        self.refused(ValueError, r"A must have the shape \[\.\.\., 128, 128\], not \[2, 128, 64\]",
                     put("A", lambda a: a[..., :64].copy()))
        self.refused(ValueError, r"A must have the shape", put("A", lambda a: a[0, 0].copy()))
        self.refused(ValueError, r"B must have the shape \[2, 128, 128\], not \[1, 128, 128\]",
                     put("B", lambda b: b[:1].copy()))
        self.refused(ValueError, r"alpha must have the shape \[2, 128\]", put("alpha", lambda a: a[..., None].copy()))
        self.refused(ValueError, r"A must be contiguous, not of shape \[2, 128, 128\] with strides "
                     r"\[16384, 1, 128\]", put("A", lambda a: np.swapaxes(a, 1, 2)))
        self.refused(ValueError, r"alpha must be contiguous, not of shape \[2, 128\] with strides \[0, 1\]",
                     put("alpha", lambda a: np.lib.stride_tricks.as_strided(a, (2, 128), (0, 4))))
        self.refused(ValueError, "vdn_delta: .*overlap", lambda x: x.__setitem__("transition", x["A"]))
        self.refused(ValueError, "vdn_delta: .*overlap", lambda x: x.__setitem__("injection", x["transition"]))
        self.refused(ValueError, "variant must be", lambda x: None, None, "triple", 1.0, 1.0)
        self.refused(ValueError, "vdn_delta: .*a_scale", lambda x: None, None, "auto", -1.0, 1.0)
        self.refused(TypeError, "info must be int32, not float32", lambda x: None,
                     tvm_ffi.from_dlpack(np.zeros(2, np.float32)), "auto", 1.0, 1.0)
        self.refused(ValueError, r"info must have the shape \[2\]", lambda x: None,
                     tvm_ffi.from_dlpack(np.zeros(3, np.int32)), "auto", 1.0, 1.0)

    def test_version(self):
        self.assertGreaterEqual(module.vdn_version(), 100)


if __name__ == "__main__":
    unittest.main()
