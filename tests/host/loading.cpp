// SPDX-License-Identifier: Apache-2.0
//
// Loading the library, calling it without a GPU and unloading it prints nothing and changes no other symbol of the
// process (field report CPU-09); two copies of it do not meet (BLD-19); it ends silently with its process (STR-23). In
// a process of its own: this program is not linked with the library's code for that.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vdn_delta/vdn_delta.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

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

// The functions of one loaded copy.
struct Copy {
  explicit Copy(const std::string& path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
    if (handle == nullptr) return;
    factors = reinterpret_cast<decltype(&vdn_delta_factors)>(dlsym(handle, "vdn_delta_factors"));
    host = reinterpret_cast<decltype(&vdn_delta_factors_host)>(dlsym(handle, "vdn_delta_factors_host"));
    message = reinterpret_cast<decltype(&vdn_last_error_message)>(dlsym(handle, "vdn_last_error_message"));
  }
  vdn_status_t call(std::int64_t n) const {
    return factors(n, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  }
  void* handle;
  decltype(&vdn_delta_factors) factors = nullptr;
  decltype(&vdn_delta_factors_host) host = nullptr;
  decltype(&vdn_last_error_message) message = nullptr;
};

// Both with global visibility, so that a symbol of one that is not hidden would take the place of the other's.
TEST_CASE("BLD-19: two copies in one process keep to themselves") {
  const char* path = std::getenv("VDN_LIBRARY");
  if (path == nullptr || *path == '\0') return;  // a build of the static library alone
  char folder[] = "/tmp/vdn-copies-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string other = std::string(folder) + "/libvdn_delta_copy.so";
  const bool copied = std::filesystem::copy_file(path, other);
  {
    const Copy first(path), second(other);
    std::filesystem::remove_all(folder);
    REQUIRE(copied);
    REQUIRE(first.handle != nullptr);
    REQUIRE(second.handle != nullptr);
    CHECK((first.factors != second.factors));
    CHECK(first.call(-1) == VDN_STATUS_INVALID_ARGUMENT);
    CHECK(std::string(first.message()) != "");
    CHECK(std::string(second.message()) == "");
    CHECK(second.call(1) == VDN_STATUS_NULL_POINTER);
    CHECK(std::string(second.message()) != first.message());
    std::vector<float> A(128 * 128), alpha(128, 1.0f), T(128 * 128), J(128 * 128);
    for (const Copy* copy : {&first, &second}) {
      CHECK(copy->host(1, A.data(), A.data(), alpha.data(), T.data(), J.data(), nullptr, 1) == VDN_STATUS_SUCCESS);
      CHECK(T[0] == 1.0f);
      CHECK(dlclose(copy->handle) == 0);  // the other one goes on
    }
  }
}

// Exit while another thread is inside a call, from a thread that is not the first one: no crash, nothing printed. In a
// child, which has loaded the library for itself.
TEST_CASE("STR-23: exit from a thread while another one calls") {
  const char* path = std::getenv("VDN_LIBRARY");
  if (path == nullptr || *path == '\0') return;
  Capture capture;
  const pid_t child = fork();
  if (child == 0) {
    const Copy copy(path);
    if (copy.handle == nullptr) _exit(9);
    std::thread busy([&copy]() {
      std::vector<float> A(64 * 128 * 128), alpha(64 * 128, 1.0f), T(A.size()), J(A.size());
      for (;;) copy.host(64, A.data(), A.data(), alpha.data(), T.data(), J.data(), nullptr, 2);
    });
    copy.call(-1);
    std::thread([]() { std::exit(0); }).join();
  }
  int status = -1;
  const bool ended = child > 0 && waitpid(child, &status, 0) == child;
  const std::string printed = capture.finish();
  CHECK(ended);
  CHECK(status == 0);
  CHECK(printed == "");
}

}  // namespace
