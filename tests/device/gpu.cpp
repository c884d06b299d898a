// SPDX-License-Identifier: Apache-2.0
#include "gpu.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace vdn_delta::test {
namespace {

// A band is as long as sixteen rows of a matrix; what is written farther away shows in the neighbouring array's band.
constexpr std::int64_t kBand = 2048;

}  // namespace

bool quick() {
  static const bool set = [] {
    const char* value = std::getenv("VDN_TEST_QUICK");
    return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
  }();
  return set;
}

int multiprocessors() {
  int device = 0, count = 0;
  VDN_CUDA(cudaGetDevice(&device));
  VDN_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

void require_cuda(cudaError_t error, const char* what, const char* file, int line) {
  if (error == cudaSuccess) return;
  const std::string text = std::string(what) + ": " + cudaGetErrorName(error) + ", " + cudaGetErrorString(error);
  DOCTEST_ADD_FAIL_AT(file, line, text);
}

void finish(cudaStream_t stream) {
  const Patience patience("a stream");
  VDN_CUDA(cudaStreamSynchronize(stream));
}

void finish_all() {
  const Patience patience("the device");
  VDN_CUDA(cudaDeviceSynchronize());
}

Stream::Stream(bool blocking) {
  VDN_CUDA(cudaStreamCreateWithFlags(&stream_, blocking ? cudaStreamDefault : cudaStreamNonBlocking));
}

Stream::~Stream() { cudaStreamDestroy(stream_); }

Graph::Graph(cudaStream_t stream) {
  VDN_CUDA(cudaStreamEndCapture(stream, &graph_));
  std::size_t count = 0;
  VDN_CUDA(cudaGraphGetNodes(graph_, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  if (count != 0) VDN_CUDA(cudaGraphGetNodes(graph_, nodes.data(), &count));
  for (const cudaGraphNode_t node : nodes) {
    types_.emplace_back();
    VDN_CUDA(cudaGraphNodeGetType(node, &types_.back()));
  }
  VDN_CUDA(cudaGraphInstantiate(&executable_, graph_, 0));
}

Graph::~Graph() {
  cudaGraphExecDestroy(executable_);
  cudaGraphDestroy(graph_);
}

std::size_t Graph::kernel_nodes() const {
  return static_cast<std::size_t>(std::count(types_.begin(), types_.end(), cudaGraphNodeTypeKernel));
}

void Graph::launch(cudaStream_t stream) const { VDN_CUDA(cudaGraphLaunch(executable_, stream)); }

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  VDN_CUDA(cudaStreamIsCapturing(stream, &status));
  return status == cudaStreamCaptureStatusActive;
}

DeviceWords::DeviceWords(std::int64_t count, int offset, bool tight)
    : count_(count), before_((tight ? 0 : kBand) + offset), after_(tight ? 0 : kBand) {
  void* memory = nullptr;
  VDN_CUDA(cudaMalloc(&memory, static_cast<std::size_t>(before_ + count_ + after_) * 4));
  base_ = static_cast<std::uint32_t*>(memory);
  poison();
}

DeviceWords::~DeviceWords() { cudaFree(base_); }

void DeviceWords::poison() {
  VDN_CUDA(cudaMemset(base_, 0xff, static_cast<std::size_t>(before_ + count_ + after_) * 4));
  finish(cudaStreamLegacy);
}

void DeviceWords::upload(const void* words) {
  VDN_CUDA(cudaMemcpy(base_ + before_, words, static_cast<std::size_t>(count_) * 4, cudaMemcpyHostToDevice));
  // From pageable memory, the copy may return before it has arrived.
  finish(cudaStreamLegacy);
}

void DeviceWords::download(void* words) const {
  const Patience patience("a download");
  VDN_CUDA(cudaMemcpy(words, base_ + before_, static_cast<std::size_t>(count_) * 4, cudaMemcpyDeviceToHost));
}

bool DeviceWords::bands_intact() const {
  const Patience patience("guard bands");
  std::vector<std::uint32_t> words(static_cast<std::size_t>(before_ + after_));
  if (before_ != 0)
    VDN_CUDA(cudaMemcpy(words.data(), base_, static_cast<std::size_t>(before_) * 4, cudaMemcpyDeviceToHost));
  if (after_ != 0)
    VDN_CUDA(cudaMemcpy(words.data() + before_, base_ + before_ + count_, static_cast<std::size_t>(after_) * 4,
                        cudaMemcpyDeviceToHost));
  return std::all_of(words.begin(), words.end(), [](std::uint32_t word) { return word == kPoison; });
}

}  // namespace vdn_delta::test
