# SPDX-License-Identifier: Apache-2.0
"""The public header documents every exported function, in the agreed order.

usage: test_header.py HEADER

Each exported function has a comment right before it, with one line `Thread-safety:` and one `Since:`; those that return
a status have all paragraphs, in order. The checker is tried on spoilt headers first: it must complain about them.
"""
import re
import sys

PARAGRAPHS = ["Aliasing:", "Errors", "Per matrix:", "Stream:", "Thread-safety:", "Accuracy:", "Requires:", "Since:"]


def problems(text):
    found = []
    functions = re.findall(r"/\*((?:(?!\*/).)*)\*/\nVDN_API ([^;]*?)(\w+)\(", text, re.S)
    exported = re.findall(r"^VDN_API\b[^;]*?(\w+)\(", text, re.M)
    documented = [name for _, _, name in functions]
    found += [f"{name}: no comment before it" for name in exported if name not in documented]
    if not exported:
        found.append("no exported function")
    lines = re.findall(r"^ \* Thread-safety: \S", text, re.M)
    if len(lines) != len(exported):
        found.append(f"{len(lines)} lines `Thread-safety:` for {len(exported)} exported functions")
    for comment, returns, name in functions:
        wanted = PARAGRAPHS if "vdn_status_t" in returns else ["Thread-safety:", "Since:"]
        places = [comment.find(word) for word in wanted]
        found += [f"{name}: no `{word}`" for word, place in zip(wanted, places) if place < 0]
        if sorted(places) != places:
            found.append(f"{name}: paragraphs out of order")
        if wanted is PARAGRAPHS and "VDN_" not in comment and "INVALID_ARGUMENT" not in comment:
            found.append(f"{name}: names no status")
    if re.search(r"#\s*include\s*[<\"](cuda|driver)", text):
        found.append("includes a CUDA header")
    return found


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    for what, spoilt in {
        "a missing line": text.replace(" * Thread-safety:", " * Threads:", 1),
        "an undocumented function": text.replace("VDN_API int vdn_version",
                                                 "\nVDN_API int vdn_new(void);\nVDN_API int vdn_version"),
        "wrong order": text.replace(" * Aliasing:", " * Aliases:").replace(" * Stream:", " * Aliasing:", 1),
        "a CUDA header": text.replace("#include <stddef.h>", "#include <cuda_runtime_api.h>"),
    }.items():
        if spoilt == text or not problems(spoilt):
            sys.exit(f"the checker does not see {what}")
    found = problems(text)
    print("\n".join(found) or "every exported function is documented")
    return 1 if found else 0


sys.exit(main())
