# SPDX-License-Identifier: Apache-2.0
"""Scripts of tools/ that look at their arguments before they install or build anything.

In an environment where nothing can be installed: with no other programs on PATH than what reading arguments takes.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = ("bash", "dirname", "sed")
failures = []


def expect(condition, what, result):
    if not condition:
        failures.append(what)
        print("FAILED:", what, result.returncode, result.stdout, result.stderr, sep="\n")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for program in PROGRAMS:
            Path(folder, program).symlink_to(shutil.which(program))

        def run(*arguments):
            return subprocess.run([str(Path(folder, "bash")), str(ROOT / "tools/fuzz"), *arguments], timeout=60,
                                  capture_output=True, text=True, env={**os.environ, "PATH": folder})

        for arguments in (["--help"], ["-h"], ["5", "--help"]):
            result = run(*arguments)
            expect(result.returncode == 0 and "tools/fuzz [SECONDS]" in result.stdout, f"fuzz {arguments}", result)
        for wrong in (["--nonsense"], ["x"], ["5s"], ["0"], ["-1"], [""], ["5", "x"]):
            result = run(*wrong)
            expect(result.returncode == 1 and "SECONDS is a whole number" in result.stderr, f"fuzz {wrong}", result)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
