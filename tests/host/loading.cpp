// SPDX-License-Identifier: Apache-2.0
//
// Loading the library, calling it without a GPU and unloading it prints nothing and changes no other symbol of the
// process (field report CPU-09). In a process of its own: this program is not linked with the library's code for that.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <unistd.h>
#include <vdn_delta/vdn_delta.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

// What is written to stdout and stderr while it lives.
class Capture {
 public:
  Capture() : file_(std::tmpfile()) {
    std::fflush(nullptr);
    for (int fd : {1, 2}) {
      saved_[fd - 1] = dup(fd);
      dup2(fileno(file_), fd);
    }
  }
  std::string finish() {
    std::fflush(nullptr);
    for (int fd : {1, 2}) {
      dup2(saved_[fd - 1], fd);
      close(saved_[fd - 1]);
    }
    std::string text(static_cast<std::size_t>(std::ftell(file_)), '\0');
    std::rewind(file_);
    text.resize(std::fread(text.data(), 1, text.size(), file_));
    std::fclose(file_);
    return text;
  }

 private:
  std::FILE* file_;
  int saved_[2];
};

TEST_CASE("the capture sees what is printed") {
  Capture capture;
  std::printf("out");
  std::fflush(stdout);
  std::fprintf(stderr, "err");
  CHECK(capture.finish() == "outerr");
}

TEST_CASE("load with global visibility, call, unload: nothing is printed") {
  const char* path = std::getenv("VDN_LIBRARY");
  if (path == nullptr || *path == '\0') return;  // a build of the static library alone
  Capture capture;
  void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  vdn_status_t prepared = VDN_STATUS_SUCCESS;
  vdn_status_t called = VDN_STATUS_SUCCESS;
  bool found = false;
  if (library != nullptr) {
    const auto prepare = reinterpret_cast<decltype(&vdn_delta_prepare)>(dlsym(library, "vdn_delta_prepare"));
    const auto factors = reinterpret_cast<decltype(&vdn_delta_factors)>(dlsym(library, "vdn_delta_factors"));
    found = prepare != nullptr && factors != nullptr;
    if (found) {
      prepared = prepare(-1);
      called = factors(-1, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    }
  }
  const bool runtime_leaks = dlsym(RTLD_DEFAULT, "cudaGetDevice") != nullptr;
  const std::string error = library == nullptr ? dlerror() : "";
  if (library != nullptr) dlclose(library);
  const std::string printed = capture.finish();

  CHECK_MESSAGE(library != nullptr, error);
  CHECK(found);
  CHECK(printed == "");
  CHECK((prepared == VDN_STATUS_SUCCESS || prepared == VDN_STATUS_NO_DEVICE || prepared == VDN_STATUS_UNSUPPORTED));
  CHECK(called == VDN_STATUS_INVALID_ARGUMENT);
  CHECK_FALSE(runtime_leaks);
}

}  // namespace
