// SPDX-License-Identifier: Apache-2.0
//
// What the one-file header includes from outside. tools/make-header puts this before its namespace; the rest of the
// header includes nothing.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <mutex>

// The tensor wrapper is there where the headers of tvm-ffi are, as in every translation unit of SGLang's load_jit.
// Without them, or with VDN_DELTA_FACTORS_NO_TVM_FFI defined, the header is CUDA alone: launch(args, stream).
#if !defined(VDN_DELTA_FACTORS_NO_TVM_FFI) && defined(__has_include)
#if __has_include(<tvm/ffi/container/tensor.h>)
#define VDN_DELTA_FACTORS_HAS_TVM_FFI 1
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <string>
#endif
#endif
