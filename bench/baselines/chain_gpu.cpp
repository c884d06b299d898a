// SPDX-License-Identifier: Apache-2.0
//
// The four-call chain, as frameworks do it: Cholesky (cuSOLVER potrfBatched), a triangular solve of the identity
// (cuBLAS trsmBatched), X = Linv^T Linv and J = B X (cuBLAS strided batched GEMM), everything in pedantic fp32. Two
// small elementwise kernels form I + A before and T = diag(alpha) X after.
//
// The libraries are column-major: a row-major lower triangle is their upper one, so M = U^T U with U = L^T in memory,
// and what they call U^-1 is, read by rows, L^-1.
#include <cublas_v2.h>
#include <cusolverDn.h>

#include "../gpu.h"
#include "../gpu_memory.h"
#include "../gpu_timing.h"
#include "chain_kernels.h"

namespace vdn_delta::bench {
namespace {

using support::kDim;
constexpr long long kStride = support::kMatrix;
// A workspace of our own: cuBLAS then allocates nothing while a graph is captured.
constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(what) + ": " + cublasGetStatusString(status));
}

void check(cusolverStatus_t status, const char* what) {
  if (status != CUSOLVER_STATUS_SUCCESS) throw std::runtime_error(what + (": status " + std::to_string(status)));
}

using bench::check;

class GpuChain : public GpuContender {
 public:
  GpuChain() : workspace_(kWorkspaceBytes) {
    check(cublasCreate(&blas_), "cublasCreate");
    check(cusolverDnCreate(&solver_), "cusolverDnCreate");
    check(cublasSetMathMode(blas_, CUBLAS_PEDANTIC_MATH), "cublasSetMathMode");
  }
  ~GpuChain() override {
    cusolverDnDestroy(solver_);
    cublasDestroy(blas_);
  }

  std::string name() const override { return "baseline:chain"; }

  void solve(const support::Batch& batch, float* T, float* J) override {
    reserve(batch.n);
    const DeviceBatch buffers(batch);
    enqueue(buffers, cudaStreamLegacy);
    check(cudaDeviceSynchronize(), "the four-call chain");
    buffers.T.download(T);
    buffers.J.download(J);
  }

  TimingRow time(const support::Batch& batch, const std::string& mode, int samples) override {
    reserve(batch.n);
    const Enqueue call = [this](const DeviceBatch& buffers, cudaStream_t stream) { enqueue(buffers, stream); };
    std::string how = mode;
    if (mode != "stream") {
      const DeviceBatch buffers(batch);
      call(buffers, cudaStreamLegacy);  // everything lazy happens outside the capture
      check(cudaDeviceSynchronize(), "the four-call chain");
      if (!can_be_captured(buffers, call)) how = "stream";
    }
    return time_on_gpu(name(), batch, how, samples, call);
  }

 private:
  void reserve(std::int64_t n) {
    if (n == n_) return;
    n_ = 0;
    const std::size_t count = static_cast<std::size_t>(n);
    M_ = {};
    L_ = {};
    X_ = {};
    M_ = DeviceArray<float>(count * kStride);
    L_ = DeviceArray<float>(count * kStride);
    X_ = DeviceArray<float>(count * kStride);
    info_ = DeviceArray<int>(count);
    M_pointers_ = pointers(M_, count);
    L_pointers_ = pointers(L_, count);
    n_ = n;
  }

  static DeviceArray<float*> pointers(const DeviceArray<float>& matrices, std::size_t count) {
    std::vector<float*> host(count);
    for (std::size_t m = 0; m < count; ++m) host[m] = matrices.get() + m * kStride;
    DeviceArray<float*> device(count);
    device.upload(host.data());
    return device;
  }

  void enqueue(const DeviceBatch& b, cudaStream_t stream) {
    const int n = static_cast<int>(b.n);
    const float one = 1.0f, zero = 0.0f;
    check(cublasSetStream(blas_, stream), "cublasSetStream");
    check(cublasSetWorkspace(blas_, workspace_.get(), kWorkspaceBytes), "cublasSetWorkspace");
    check(cusolverDnSetStream(solver_, stream), "cusolverDnSetStream");

    check(chain_begin(b.n, b.A.get(), M_.get(), L_.get(), stream), "I + A");
    check(cusolverDnSpotrfBatched(solver_, CUBLAS_FILL_MODE_UPPER, kDim, M_pointers_.get(), kDim, info_.get(), n),
          "potrfBatched");
    check(cublasStrsmBatched(blas_, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, kDim,
                             kDim, &one, M_pointers_.get(), kDim, L_pointers_.get(), kDim, n),
          "trsmBatched");
    check(cublasSgemmStridedBatched(blas_, CUBLAS_OP_N, CUBLAS_OP_T, kDim, kDim, kDim, &one, L_.get(), kDim, kStride,
                                    L_.get(), kDim, kStride, &zero, X_.get(), kDim, kStride, n),
          "Linv^T Linv");
    check(chain_scale(b.n, X_.get(), b.alpha.get(), b.T.get(), stream), "diag(alpha) X");
    check(cublasSgemmStridedBatched(blas_, CUBLAS_OP_N, CUBLAS_OP_N, kDim, kDim, kDim, &one, X_.get(), kDim, kStride,
                                    b.B.get(), kDim, kStride, &zero, b.J.get(), kDim, kStride, n),
          "B X");
  }

  cublasHandle_t blas_ = nullptr;
  cusolverDnHandle_t solver_ = nullptr;
  DeviceArray<char> workspace_;
  std::int64_t n_ = 0;
  DeviceArray<float> M_, L_, X_;  // [n_,128,128] each
  DeviceArray<int> info_;
  DeviceArray<float*> M_pointers_, L_pointers_;
};

}  // namespace

std::unique_ptr<GpuContender> make_gpu_chain() { return std::make_unique<GpuChain>(); }

}  // namespace vdn_delta::bench
