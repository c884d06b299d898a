# SPDX-License-Identifier: Apache-2.0
"""For the tests of examples/ and trace/: a Python with PyTorch and the package vdn_delta, or none.

package() goes on in the Python of .venv/torch in the root of the tree if this one has no PyTorch, answers 77 (skipped)
if something is missing there too, and hides a GPU that the library cannot use, so that the test runs on the CPU.
"""
import importlib.util
import os
import sys
from pathlib import Path

VENV = Path(__file__).resolve().parent.parent / ".venv" / "torch"


def package():
    missing = [name for name in ("torch", "vdn_delta") if importlib.util.find_spec(name) is None]
    other = VENV / "bin" / "python3"
    if "torch" in missing and other.exists() and Path(sys.prefix) != VENV:
        os.execv(other, [str(other), *sys.argv])
    if missing:
        print("not importable:", ", ".join(missing))
        sys.exit(77)

    import torch
    from vdn_delta import can_use_vdn_delta_factors

    if torch.cuda.is_available():
        A = torch.zeros(1, 128, 128, device="cuda")
        if not can_use_vdn_delta_factors(A, A, A[:, 0]):
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
            os.execv(sys.executable, [sys.executable, *sys.argv])
