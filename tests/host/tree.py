# SPDX-License-Identifier: Apache-2.0
"""Which files belong to the tree: what git tracks, so that notes or an environment somebody keeps in it are no part of
it; without git, in a release's archive, say, all files but those of builds and hidden folders."""
import os
import subprocess


def tracked(root):
    """The files that git tracks under `root`; none if it is no checkout, or there is no git."""
    # Inside a hook these name the repository of the hook.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, env=environment)
    except OSError:
        return []
    names = listed.stdout.split(b"\0") if listed.returncode == 0 else []
    return [path for path in (root / os.fsdecode(name) for name in names if name) if path.is_file()]


def walked(root):
    builds = {path.parent for path in root.rglob("meson-private")}  # whatever they are called
    for path in root.rglob("*"):
        parts = path.relative_to(root).parts
        hidden = any(part.startswith(".") and part != ".ci" for part in parts)
        if hidden or parts[0].startswith("build") or parts[0] in ("shared", "subprojects") or not path.is_file():
            continue
        if not builds.intersection(path.parents):
            yield path


def files(root):
    return sorted(tracked(root) or walked(root))
