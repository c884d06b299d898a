// SPDX-License-Identifier: Apache-2.0
//
// A translation unit as SGLang's load_jit makes one: the headers of tvm-ffi, the source file, and inside its namespace
// an export for each wrapper. The first export is the line that SGLang has today; the second one is what a template
// argument makes of it.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include "vdn_delta_factors.cuh"

namespace sglang {

TVM_FFI_DLL_EXPORT_TYPED_FUNC(vdn_delta_factors, (vdn_delta_factors::VdnDeltaFactorsKernel::run));
TVM_FFI_DLL_EXPORT_TYPED_FUNC(vdn_delta_factors_single,
                              (vdn_delta_factors::FactorsKernel<vdn_delta_factors::Variant::kSingle>::run));

}  // namespace sglang
