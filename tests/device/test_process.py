# SPDX-License-Identifier: Apache-2.0
"""Cases that need a process, or an environment, of their own; process.cpp computes, this file looks at what it says.

usage: test_process.py CASE PROGRAM LIBRARY PTX_LIBRARY

CASE is one of the functions below that have a docstring, with "-" for "_". LIBRARY is the shared library, PTX_LIBRARY
the same one with nothing but PTX for compute capability 9.0. In every case the program must end with 0 and print
nothing on stderr, and every result it prints must have the same bits. `single` needs code with features of its own, so
that PTX_LIBRARY runs the others, and says of `single` that it does not run. 77 (skipped): no GPU, or under a sanitizer
(VDN_TEST_QUICK), which would count errors that are meant to be.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HASH = re.compile(r"(\S+) (\S+) ([0-9a-f]{16})")
REFUSED = re.compile(r"(\S+) (\S+) (VDN_STATUS_\w+) (.+)")


class Failure(Exception):
    pass


class Skipped(Exception):
    pass


def need(good, what):
    if not good:
        raise Failure(what)


def has_gpu():
    return Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi") is not None


def run(program, *args, **env):
    """The program's lines: ([(copy, variant, hash)], [(copy, variant, status, message)])."""
    print("+", " ".join(f"{k}={v}" for k, v in env.items()), *args, flush=True)
    done = subprocess.run([program, *map(str, args)], env={**os.environ, **env}, capture_output=True, text=True,
                          timeout=280, check=False)
    print(done.stdout, end="", flush=True)
    need(done.stderr == "", f"said on stderr: {done.stderr}")
    need(done.returncode == 0, f"exit code {done.returncode}")
    hashes, refused = [], []
    for line in done.stdout.splitlines():
        if line.startswith("note: "):
            continue
        good, bad = HASH.fullmatch(line), REFUSED.fullmatch(line)
        need(good or bad, f"an unknown line: {line}")
        (hashes if good else refused).append((good or bad).groups())
    return hashes, refused


def one_hash(hashes):
    """The hash that all have in common."""
    need(hashes, "no result")
    found = {h for _, _, h in hashes}
    need(len(found) == 1, f"different bits: {sorted(found)}")
    return found.pop()


def plain_hash(program):
    return one_hash(run(program, "bits")[0])


def need_all_but_single(ptx, hashes, refused, held):
    """The library with plain PTX alone ran whatever is `held`, but for single, and said of that why not."""
    name = Path(ptx).name
    ran = {variant for copy, variant, _ in hashes if copy == name}
    need(ran == held - {"single"}, f"the PTX ran {sorted(ran)} of {sorted(held)}; refused: {refused}")
    words = {(status, message) for copy, variant, status, message in refused if (copy, variant) == (name, "single")}
    # Where a CTA cannot have so much shared memory, that is said first.
    need(words and all(status == "VDN_STATUS_UNSUPPORTED" and re.search("does not run on device|gives a CTA", message)
                       for status, message in words), f"what the PTX says of single: {words}")


def copies(program, library, ptx):
    """BLD-19: two copies of the library, one of another architecture list, and the static one, in one process"""
    with tempfile.TemporaryDirectory() as folder:
        second = shutil.copy(library, Path(folder, "second.so"))
        hashes, refused = run(program, "bits", library, second, ptx)
    one_hash(hashes)
    by_copy = {name: {v for c, v, _ in hashes if c == name} for name, _, _ in hashes}
    variants = by_copy["static"]
    # The PTX is for 9.0, and newer machines compile it; on older ones this fails.
    need(len(by_copy) == 4, f"only {sorted(by_copy)} computed; refused: {refused}")
    need(all(held == variants for name, held in by_copy.items() if name != Path(ptx).name),
         f"not the same variants: {by_copy}")
    need_all_but_single(ptx, hashes, refused, variants)


def compiled_by_the_driver(program, library, ptx):
    """ARC-10, ARC-12: the driver's own compiler makes the same bits of plain compute_90 PTX, and single is not in it"""
    plain, _ = run(program, "bits")
    expected, held = one_hash(plain), {variant for _, variant, _ in plain}
    for env in ({"CUDA_CACHE_DISABLE": "1"}, {"CUDA_FORCE_PTX_JIT": "1", "CUDA_CACHE_DISABLE": "1"}):
        hashes, refused = run(program, "bits", library, ptx, **env)
        need(one_hash(hashes) == expected, "other bits than without")
        need_all_but_single(ptx, hashes, refused, held)
        # A copy without PTX for this machine says so.
        for copy, variant, status, message in refused:
            need(status == "VDN_STATUS_UNSUPPORTED", f"{copy} {variant}: {status} {message}")
            need(env.get("CUDA_FORCE_PTX_JIT") or copy == Path(ptx).name or variant not in held,
                 f"{copy} {variant} was refused without a reason: {message}")


def not_compiled_by_the_driver(program, library, ptx):
    """ARC-10: with the driver's compiler off, machine code runs, and PTX alone is refused with a message"""
    expected = plain_hash(program)
    hashes, refused = run(program, "bits", library, ptx, CUDA_DISABLE_PTX_JIT="1", CUDA_CACHE_DISABLE="1")
    need(one_hash(hashes) == expected, "other bits than without")
    need({copy for copy, _, _ in hashes} == {"static", Path(library).name}, f"who computed: {hashes}")
    need({status for _, _, status, _ in refused} == {"VDN_STATUS_UNSUPPORTED"}, f"refused: {refused}")


def late_predecessor_by_the_driver(program, _library, ptx):
    """STR-21: a programmatic launch of code that the driver compiled waits for a predecessor that signals early"""
    held = {variant for _, variant, _ in run(program, "bits")[0]}
    hashes, refused = run(program, "late", ptx)
    one_hash(hashes)
    need_all_but_single(ptx, hashes, refused, held)


def late_predecessor(program, library, _ptx):
    """STR-21: the same with the library's machine code"""
    one_hash(run(program, "late", library)[0])


def tf32(program, library, _ptx):
    """NUM-07: the process-wide TF32 override changes nothing"""
    expected = plain_hash(program)
    for value in ("0", "1"):
        need(one_hash(run(program, "bits", library, NVIDIA_TF32_OVERRIDE=value)[0]) == expected, "other bits")


def lazy_and_eager_loading(program, library, _ptx):
    """STR-04: both ways of loading modules"""
    expected = plain_hash(program)
    for value in ("LAZY", "EAGER"):
        need(one_hash(run(program, "bits", library, CUDA_MODULE_LOADING=value)[0]) == expected, "other bits")


def no_device_visible(program, library, _ptx):
    """BLD-12, ARC-10: a process that sees no GPU is told so, by every copy"""
    hashes, refused = run(program, "bits", library, CUDA_VISIBLE_DEVICES="")
    need(not hashes and len(refused) == 2, "two answers were expected")
    need({status for _, _, status, _ in refused} == {"VDN_STATUS_NO_DEVICE"}, f"answers: {refused}")


def other_runtime_beside(program, library, _ptx):
    """BLD-09: nothing of CUDA is looked for at run time, whatever the search path holds"""
    with tempfile.TemporaryDirectory() as folder:
        for major in (11, 12, 13):  # no library at all under its name
            Path(folder, f"libcudart.so.{major}").write_text("not a library", encoding="utf-8")
        path = ":".join(filter(None, [folder, os.environ.get("LD_LIBRARY_PATH", "")]))
        one_hash(run(program, "bits", library, LD_LIBRARY_PATH=path)[0])


def eight_threads(program, _library, _ptx):
    """STR-04, STR-10: eight threads at first use"""
    hashes, _ = run(program, "threads")
    need(len(hashes) == 8, "eight results were expected")
    one_hash(hashes)


def full_memory(program, _library, _ptx):
    """MEM-12, STR-12: first use with no memory left, and again with it freed"""
    one_hash(run(program, "full")[0])


def walls(program, _library, _ptx):
    """CPU-10, SHP-12: arrays flush with unmapped pages, inputs mapped for reading only"""
    one_hash(run(program, "walls")[0])


def two_devices(program, _library, _ptx):
    """STR-09, ARC-06: the first calls of a process on two devices, in turn and at once"""
    # Two GPUs of one machine are of one kind, as a rule; where they are not, their bits may differ.
    for mode, results in (("devices", 3), ("devices-at-once", 2)):
        hashes, _ = run(program, mode)
        if not hashes:
            raise Skipped("one device only")
        need(len(hashes) == results, f"{results} results were expected")
        one_hash(hashes)


def crashed_context(program, _library, _ptx):
    """STR-12, STR-13: after a crash of the caller's own, calls answer with CUDA's words for it"""
    for mode in ("sticky", "sticky-first"):
        run(program, mode)


def fork(program, _library, _ptx):
    """CPU-02, STR-04: fork before first use, and after"""
    hashes, _ = run(program, "fork")
    need(len(hashes) == 3, "three results were expected")
    one_hash(hashes)


def ends(program, library, _ptx):
    """STR-23: return from main, exit() from a thread, calls of static destructors, and unloading: without noise"""
    for mode in ("return", "exit-in-thread", "exit-late"):
        one_hash(run(program, mode)[0])
    hashes, _ = run(program, "unload", library)
    need(len(hashes) == 4, "four results were expected")
    one_hash(hashes)


CASES = {name.replace("_", "-"): function for name, function in list(globals().items())
         if callable(function) and getattr(function, "__doc__", None) and re.match(r"[A-Z]{3}-\d\d", function.__doc__)}


def main():
    case, program, library, ptx = sys.argv[1:]
    if case not in CASES:
        print(f"no case {case}; there are {', '.join(CASES)}")
        return 1
    if not has_gpu() or os.environ.get("VDN_TEST_QUICK", "0") not in ("", "0"):
        print("skipped: no GPU, or a sanitizer")
        return 77
    print(CASES[case].__doc__)
    try:
        CASES[case](program, library, ptx)
    except Skipped as skipped:
        print(f"skipped: {skipped}")
        return 77
    except (Failure, subprocess.TimeoutExpired) as failure:
        print(f"FAILED: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
