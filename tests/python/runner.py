# SPDX-License-Identifier: Apache-2.0
"""Runs one test file with a Python that has PyTorch: this one, or that of .venv/torch in the root of the tree.

usage: runner.py TEST_FILE [unittest arguments]

77: neither has PyTorch, or every test of the file was skipped.
"""
import importlib.util
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def main():
    if importlib.util.find_spec("torch") is None:
        other = HERE.parent.parent / ".venv" / "torch" / "bin" / "python3"
        if other.exists() and pathlib.Path(sys.prefix) != other.parent.parent:
            os.execv(other, [str(other), *sys.argv])
        print("skipped: no PyTorch; .ci/run installs it into .venv/torch")
        return 77
    sys.path.insert(0, str(HERE))
    program = unittest.main(module=pathlib.Path(sys.argv[1]).stem, argv=[sys.argv[1], "-v", *sys.argv[2:]], exit=False)
    result = program.result
    if not result.wasSuccessful() or result.testsRun == 0:
        return 1
    return 77 if len(result.skipped) == result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
