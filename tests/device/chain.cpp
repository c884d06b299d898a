// SPDX-License-Identifier: Apache-2.0
#include "chain.h"

#ifdef VDN_TEST_GPU_CHAIN
#include "../../bench/gpu.h"
#endif

namespace vdn_delta::test {

Result run_chain(const Batch& batch, std::string* by) {
  Result result;
  result.T.resize(batch.A.size());
  result.J.resize(batch.A.size());
#ifdef VDN_TEST_GPU_CHAIN
  if (!quick()) {
    *by = "cuSOLVER and cuBLAS";
    const Patience patience("the four-call chain");
    bench::make_gpu_chain()->solve(batch, result.T.data(), result.J.data());
    return result;
  }
#endif
  *by = "loops on the CPU";
  support::four_call_chain(batch.n, batch.A.data(), batch.B.data(), batch.alpha.data(), result.T.data(),
                           result.J.data());
  return result;
}

}  // namespace vdn_delta::test
