// SPDX-License-Identifier: Apache-2.0
//
// The one-file header as one translation unit, twice included, behind the plain functions of shim.h; and its tensor
// function as load_jit exports it, where tvm-ffi is at hand.
#include "shim.h"
// clang-format off
#include "vdn_delta_factors.cuh"
#include "vdn_delta_factors.cuh"
// clang-format on

#ifdef VDN_DELTA_FACTORS_HAS_TVM_FFI
#include <tvm/ffi/function.h>

namespace sglang {
TVM_FFI_DLL_EXPORT_TYPED_FUNC(vdn_delta_factors, (vdn_delta_factors::VdnDeltaFactorsKernel::run));
TVM_FFI_DLL_EXPORT_TYPED_FUNC(vdn_delta_factors_pair,
                              (vdn_delta_factors::FactorsKernel<vdn_delta_factors::Variant::kPair>::run));
TVM_FFI_DLL_EXPORT_TYPED_FUNC(vdn_delta_factors_compact,
                              (vdn_delta_factors::FactorsKernel<vdn_delta_factors::Variant::kCompact>::run));
}  // namespace sglang
#endif

namespace shim {
namespace {

vdn_delta_factors::Args args_of(const Call& call) {
  vdn_delta_factors::Args args;
  args.transition = call.transition;
  args.injection = call.injection;
  args.A = call.A;
  args.B = call.B;
  args.alpha = call.alpha;
  args.n = call.n;
  args.info = call.info;
  args.a_scale = call.a_scale;
  args.b_scale = call.b_scale;
  args.programmatic_launch = call.programmatic_launch;
  return args;
}

}  // namespace

int launch(Variant variant, const Call& call, void* pointer) {
  const vdn_delta_factors::Args args = args_of(call);
  const auto stream = static_cast<cudaStream_t>(pointer);
  switch (variant) {
    case kDefault: return vdn_delta_factors::launch(args, stream);
    case kSingle: return vdn_delta_factors::launch<vdn_delta_factors::Variant::kSingle>(args, stream);
    case kCompact: return vdn_delta_factors::launch<vdn_delta_factors::Variant::kCompact>(args, stream);
    case kPair: return vdn_delta_factors::launch<vdn_delta_factors::Variant::kPair>(args, stream);
    default: return vdn_delta_factors::launch<vdn_delta_factors::Variant::kAuto>(args, stream);
  }
}

const char* find_fault(const Call& call) { return vdn_delta_factors::find_fault(args_of(call)); }

int prepare() { return vdn_delta_factors::prepare(); }

Call call_of_defaults() {
  const vdn_delta_factors::Args args;
  return {args.transition, args.injection, args.A,       args.B,       args.alpha,
          args.n,          args.info,      args.a_scale, args.b_scale, args.programmatic_launch};
}

}  // namespace shim
