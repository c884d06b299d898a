# SPDX-License-Identifier: Apache-2.0
"""Installs into an empty folder and builds against the result as a user would: C and C++, shared and static, by
pkg-config and by CMake (field report BLD-07). The programs are those of tests/headers.

usage: test_install.py BUILD_ROOT C_PROGRAM CPP_PROGRAM PREFIX LIBDIR DEFAULT_LIBRARY SANITIZERS

77: pkg-config, CMake or ninja is missing. The compilers are those of CC and CXX, or cc and c++.
"""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.16)
project(consumer C CXX)
find_package(vdn_delta {version} REQUIRED)
add_executable(of_c "{c_program}")
add_executable(of_cpp "{cpp_program}")
foreach(program of_c of_cpp)
  target_link_libraries(${{program}} PRIVATE {target} m)
endforeach()
set_target_properties(of_cpp PROPERTIES CXX_STANDARD 17)
"""


def run(*command, **keywords):
    command = [str(word) for word in command]
    print("$", shlex.join(command), flush=True)
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **keywords)
    if result.returncode != 0:
        print(result.stdout)
        sys.exit(f"exit status {result.returncode}")
    return result.stdout


def without_shared(root, libdir):
    """A copy of the installed tree in which only the static library is left."""
    copy = root.with_name(root.name + "-static")
    shutil.copytree(root, copy, symlinks=True)
    for library in (copy / libdir).glob("libvdn_delta.so*"):
        library.unlink()
    return copy


def check_pkg_config(root, libdir, programs, static):
    def ask(*what):
        return shlex.split(run("pkg-config", f"--define-variable=prefix={root}", *what, "vdn_delta",
                               env={**os.environ, "PKG_CONFIG_PATH": str(root / libdir / "pkgconfig")}))
    flags = ask("--cflags", "--libs", *(["--static"] if static else []))
    if static and "-lstdc++" not in flags and "-lc++" not in flags:
        sys.exit("the static case does not name the C++ runtime")
    for compiler, standard, program in programs:
        out = pathlib.Path(tempfile.mkdtemp(dir=root.parent)) / "program"
        run(*compiler, standard, "-Werror", "-Wall", "-pedantic-errors", program, "-o", out, *flags, "-lm")
        run(out, env={**os.environ, "LD_LIBRARY_PATH": "" if static else str(root / libdir)})


def check_cmake(root, programs, target, version):
    folder = pathlib.Path(tempfile.mkdtemp(dir=root.parent))
    (folder / "CMakeLists.txt").write_text(CMAKE_LISTS.format(
        version=version, target=target, c_program=programs[0][2], cpp_program=programs[1][2]))
    # Nothing but the installed folder may answer, so the system's own prefixes are not searched.
    run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={root}",
        "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF", "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF",
        *(f"-DCMAKE_{language}_FLAGS={' '.join(words[1:])}" for language, (words, _, _) in zip(("C", "CXX"), programs)))
    run("cmake", "--build", folder / "build")
    for name in ("of_c", "of_cpp"):
        run(folder / "build" / name)


def cmake_refuses(root, version):
    """A newer version than the installed one must not be found."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=root.parent))
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(consumer NONE)\nfind_package(vdn_delta %s REQUIRED)\n" % version)
    result = subprocess.run(["cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={root}"],
                            capture_output=True, text=True)
    if result.returncode == 0 or "vdn_delta" not in result.stderr:
        sys.exit(f"find_package(vdn_delta {version}) succeeded")


def main():
    build, c_program, cpp_program, prefix, libdir, kind, sanitizers = sys.argv[1:]
    # A program that uses a library built with sanitizers has to be built with them too.
    sanitize = [] if sanitizers == "none" else [f"-fsanitize={sanitizers}"]
    ninja = shutil.which("ninja") or shutil.which("ninja-build")
    for tool, path in {"ninja": ninja, "pkg-config": shutil.which("pkg-config"), "cmake": shutil.which("cmake")}.items():
        if path is None:
            print(tool, "is missing")
            return 77
    programs = [
        ([*shlex.split(os.environ.get("CC", "cc")), *sanitize], "-std=c99", pathlib.Path(c_program).resolve()),
        ([*shlex.split(os.environ.get("CXX", "c++")), *sanitize], "-std=c++17", pathlib.Path(cpp_program).resolve()),
    ]
    with tempfile.TemporaryDirectory(prefix="vdn-install-") as folder:
        run(ninja, "-C", build, "install", env={**os.environ, "DESTDIR": folder})
        root = pathlib.Path(folder) / pathlib.Path(prefix).relative_to("/")
        config = (root / libdir / "cmake/vdn_delta/vdn_deltaConfigVersion.cmake").read_text()
        version = config.split('PACKAGE_VERSION "')[1].split('"')[0]

        if kind != "static":
            soname = root / libdir / f"libvdn_delta.so.{version.split('.')[0]}"
            if not soname.is_symlink():
                sys.exit(f"{soname} is not installed")
            check_pkg_config(root, libdir, programs, static=False)
            check_cmake(root, programs, "vdn_delta::vdn_delta", version)
        if kind != "shared":
            check_cmake(root, programs, "vdn_delta::vdn_delta_static", version)
            alone = without_shared(root, libdir)
            check_pkg_config(alone, libdir, programs, static=True)
            check_cmake(alone, programs, "vdn_delta::vdn_delta", "")
        cmake_refuses(root, "99.0")
        cmake_refuses(root, version.rsplit(".", 1)[0] + ".99")
    print("installed and used:", kind)
    return 0


sys.exit(main())
