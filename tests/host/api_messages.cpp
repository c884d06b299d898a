// SPDX-License-Identifier: Apache-2.0
//
// Status names, messages per thread, and the version.
#include <doctest/doctest.h>
#include <vdn_delta/vdn_delta.h>

#include <cstdlib>
#include <set>
#include <string>
#include <thread>

namespace {

vdn_status_t fail_on(std::int64_t n) {
  return vdn_delta_factors(n, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
}

vdn_status_t succeed() { return fail_on(0); }

TEST_CASE("the message is that of this thread's last call, and \"\" after a success") {
  std::string fresh = "unset";
  std::thread([&] { fresh = vdn_last_error_message(); }).join();
  CHECK(fresh == "");

  CHECK(fail_on(-1) == VDN_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(vdn_last_error_message()).find("-1") != std::string::npos);
  CHECK(fail_on(-22) == VDN_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(vdn_last_error_message()).find("-22") != std::string::npos);
  CHECK(succeed() == VDN_STATUS_SUCCESS);
  CHECK(std::string(vdn_last_error_message()) == "");
}

TEST_CASE("threads do not see each other's messages") {
  fail_on(-1);
  const std::string mine = vdn_last_error_message();
  std::string theirs_failed, theirs_succeeded;
  std::thread([&] {
    fail_on(-22);
    theirs_failed = vdn_last_error_message();
    succeed();
    theirs_succeeded = vdn_last_error_message();
  }).join();
  CHECK(theirs_failed.find("-22") != std::string::npos);
  CHECK(theirs_succeeded == "");
  CHECK(mine != "");
  CHECK(mine == vdn_last_error_message());
}

TEST_CASE("asking for names leaves the message alone") {
  fail_on(-1);
  const std::string before = vdn_last_error_message();
  (void)vdn_status_string(VDN_STATUS_OVERLAP);
  (void)vdn_version();
  CHECK(before == vdn_last_error_message());
}

TEST_CASE("every status has its name, every other value the same one") {
  std::set<std::string> names;
  for (int status = VDN_STATUS_SUCCESS; status <= VDN_STATUS_OUT_OF_MEMORY; ++status) {
    const std::string name = vdn_status_string(static_cast<vdn_status_t>(status));
    CHECK(name.rfind("VDN_STATUS_", 0) == 0);
    names.insert(name);
  }
  CHECK(names.size() == 9);
  CHECK(vdn_status_string(VDN_STATUS_OVERLAP) == std::string("VDN_STATUS_OVERLAP"));
  for (const int status : {VDN_STATUS_OUT_OF_MEMORY + 1, 1000, int{VDN_STATUS_MAX_ENUM}}) {
    CHECK(vdn_status_string(static_cast<vdn_status_t>(status)) == std::string("unknown vdn_status_t"));
  }
}

TEST_CASE("library, header and project have one version") {
  const std::string header = std::to_string(VDN_VERSION_MAJOR) + "." + std::to_string(VDN_VERSION_MINOR) + "." +
                             std::to_string(VDN_VERSION_PATCH);
  const char* project = std::getenv("VDN_PROJECT_VERSION");
  REQUIRE_MESSAGE(project != nullptr, "run by meson test, which sets VDN_PROJECT_VERSION");
  CHECK(header == project);
  CHECK(vdn_version() == VDN_VERSION_MAJOR * 10000 + VDN_VERSION_MINOR * 100 + VDN_VERSION_PATCH);
}

}  // namespace
