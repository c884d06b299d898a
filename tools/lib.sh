# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Shared by tools/run, tools/test, tools/device-check and .ci/run: find or install what a build needs, configure, build.
# Sourced with bash, "set -euo pipefail" in force. Everything runs in the root of the tree.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT" || exit 1

MESON_AT_LEAST=1.0.1
NVCC_AT_LEAST=12.8

say() { printf '== %s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# version_at_least 1.10 1.9: numbers are compared as numbers.
version_at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# ---- system packages ------------------------------------------------------------------------------------------------

# shellcheck disable=SC2086  # CXX may be several words
have_header() { printf '#include <%s>\n' "$1" | ${CXX:-c++} -E -x c++ - >/dev/null 2>&1; }
# shellcheck disable=SC2086
have_library() { echo 'int main() {}' | ${CXX:-c++} -x c++ - "-l$1" -o /dev/null >/dev/null 2>&1; }
have_module() { have pkg-config && pkg-config --exists "$1"; }
have_venv() { have python3 && python3 -c 'import ensurepip, venv' >/dev/null 2>&1; }

# The Debian and Ubuntu packages that are missing here, one a line. CXX and CC are respected.
missing_packages() {
  have python3 || echo python3
  have_venv || echo python3-venv
  local cxx="${CXX:-c++}" cc="${CC:-cc}" # of "ccache g++", the first word
  if ! have "${cxx%% *}" || ! have "${cc%% *}"; then echo g++; fi
  have ninja || echo ninja-build
  have pkg-config || echo pkg-config
  have_header doctest/doctest.h || echo doctest-dev
  have_module eigen3 || echo libeigen3-dev
  have_module openblas || echo libopenblas-dev
  { have_header boost/context/fiber.hpp && have_library boost_context; } || echo libboost-context-dev
}

# Prints the prefix ("" or "sudo ") with which packages can be installed here, or fails.
install_prefix() {
  have apt-get || return 1
  if [ "$(id -u)" = 0 ]; then
    echo ""
  elif have sudo && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
    echo "sudo "
  else
    return 1
  fi
}

# apt_install PACKAGE...: for an error message, too, that says what to do without the right to install.
apt_install() {
  local prefix
  if ! prefix="$(install_prefix)"; then
    die "missing packages: $*
Without the right to install them (root or sudo, and apt-get) this cannot go on. On Debian or Ubuntu:
    sudo apt-get install $*"
  fi
  say "installing $*"
  # shellcheck disable=SC2086  # a list of words
  {
    ${prefix}apt-get -qq update >&2
    ${prefix}env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >&2
  } </dev/null || die "apt-get could not install: $*"
}

install_packages() {
  local missing
  missing="$(missing_packages | tr '\n' ' ')"
  missing="${missing% }"
  [ -n "$missing" ] || return 0
  # shellcheck disable=SC2086  # a list of words
  apt_install $missing
  missing="$(missing_packages | tr '\n' ' ')"
  [ -z "$missing" ] || die "still missing after apt-get: $missing"
}

# Tools that a single check of .ci/run needs.
need_valgrind() { have valgrind || apt_install valgrind libc6-dbg; }

# Sets CLANG and CLANGXX to one that can link the sanitizers and the fuzzer.
need_clang() {
  local version
  have clang++ || apt_install clang
  CLANG=clang CLANGXX=clang++
  if ! links_fuzzer; then # their run-time library is a package of its own in some releases
    version="$(clang++ -dumpversion)"
    apt_install "libclang-rt-${version%%.*}-dev"
    links_fuzzer || die "this clang cannot link -fsanitize=fuzzer"
  fi
}
links_fuzzer() {
  echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    clang++ -fsanitize=fuzzer,address,undefined -x c++ - -o /dev/null >/dev/null 2>&1
}

# ---- Python tools ---------------------------------------------------------------------------------------------------

# install_python WORD [VENV]: the packages that tools/requirements.txt lists for WORD, into .venv or VENV.
install_python() {
  local wanted=() line venv="${2:-.venv}"
  while read -r line; do wanted+=("$line"); done \
    < <(sed -n "s/^\([^#[:space:]]*\)[[:space:]]*#: $1\$/\1/p" tools/requirements.txt)
  [ "${#wanted[@]}" -gt 0 ] || die "tools/requirements.txt lists nothing for $1"
  if [ ! -x "$venv/bin/python3" ]; then
    say "making $venv"
    python3 -m venv "$venv" || die "python3 cannot make a virtual environment (package python3-venv)"
  fi
  local stamp="$venv/.installed-$1"
  if [ "$(cat "$stamp" 2>/dev/null)" != "${wanted[*]}" ]; then
    say "installing ${wanted[*]} into $venv"
    "$venv/bin/python3" -m pip --disable-pip-version-check -q install "${wanted[@]}" >&2 </dev/null ||
      die "pip could not install: ${wanted[*]}"
    printf '%s\n' "${wanted[*]}" >"$stamp"
  fi
}

use_meson() {
  if have meson && version_at_least "$(meson --version)" "$MESON_AT_LEAST"; then return 0; fi
  install_python meson
  PATH="$ROOT/.venv/bin:$PATH"
}

# ---- CUDA -----------------------------------------------------------------------------------------------------------

have_gpu() { [ -e /dev/nvidiactl ] || { have nvidia-smi && nvidia-smi -L >/dev/null 2>&1; }; }

nvcc_version() { "$1" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\),.*/\1/p'; }

# Puts the first nvcc that is new enough on PATH, where meson looks for it. VDN_NVCC names one explicitly.
use_nvcc() {
  local candidate version
  for candidate in "${VDN_NVCC:-}" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc /usr/local/cuda-*/bin/nvcc \
    "$ROOT"/.venv/lib/python3*/site-packages/nvidia/cu13/bin/nvcc; do
    if [ -n "$candidate" ] && [ -x "$candidate" ]; then
      version="$(nvcc_version "$candidate")"
      if [ -n "$version" ] && version_at_least "$version" "$NVCC_AT_LEAST"; then
        PATH="$(dirname "$candidate"):$PATH"
        export NVCC="$candidate"
        return 0
      fi
    fi
  done
  return 1
}

# A CUDA compiler from Python packages, for machines without one.
install_nvcc() {
  install_python nvcc
  local toolkit
  for toolkit in "$ROOT"/.venv/lib/python3*/site-packages/nvidia/cu13; do
    [ -x "$toolkit/bin/nvcc" ] || die "the nvcc packages did not bring $toolkit/bin/nvcc"
    ln -sfn lib "$toolkit/lib64" # nvcc looks there
  done
  use_nvcc || die "the installed nvcc does not work"
}

# ---- build ----------------------------------------------------------------------------------------------------------

# Everything that a build of this tree needs on this machine; a GPU asks for a CUDA compiler too.
prepare() {
  install_packages
  use_meson
  if ! use_nvcc && have_gpu; then install_nvcc; fi
}

# configure DIR [meson options]. A directory that these scripts made with other tools or options is made anew, one that
# somebody configured by hand is used as it is. Results of tools/device-check survive.
configure() {
  local dir="$1" stamp
  shift
  # The compiler may be several words ("ccache g++"). The place is part of it: a copied tree must not test the original.
  local compiler=()
  read -ra compiler <<<"${CXX:-c++}"
  stamp="$ROOT; meson $(meson --version); ${CXX:-c++} $("${compiler[@]}" -dumpfullversion -dumpversion)"
  stamp+="; ${CC:-cc} ${CPPFLAGS:-} ${CFLAGS:-} ${CXXFLAGS:-} ${LDFLAGS:-}; nvcc ${NVCC:-none}"
  stamp+="; tvm-ffi $(cat .venv/.installed-tvm-ffi 2>/dev/null || command -v tvm-ffi-config || echo none); $*"
  if [ -f "$dir/build.ninja" ]; then
    if [ ! -f "$dir/.configured" ] || [ "$(cat "$dir/.configured")" = "$stamp" ]; then return 0; fi
  fi
  say "configuring $dir"
  mkdir -p "$dir"
  find "$dir" -mindepth 1 -maxdepth 1 ! -name device-check -exec rm -rf {} +
  meson setup "$dir" "$@" >"$dir/configure.log" 2>&1 || {
    tail -n 40 "$dir/configure.log" >&2
    die "meson could not configure $dir (see $dir/configure.log)"
  }
  printf '%s\n' "$stamp" >"$dir/.configured"
}

build() {
  say "building $1"
  ninja -C "$1" >"$1/build.log" 2>&1 || {
    tail -n 60 "$1/build.log" >&2
    die "the build in $1 failed (see $1/build.log)"
  }
}
