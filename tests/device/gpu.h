// SPDX-License-Identifier: Apache-2.0
//
// The GPU as the device tests use it: checked runtime calls, owned streams and graphs, waits that end, and device
// arrays between guard bands.
#pragma once

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace vdn_delta::test {

// VDN_TEST_QUICK is set: under a sanitizer, where everything takes a hundred times as long and every runtime call that
// answers with an error counts as one.
bool quick();

// What the current test case computes with: printed beside every check that fails in it.
void note_input(const std::string& input);

// Of the current device.
int multiprocessors();

// Ends the test case with the runtime's words.
#define VDN_CUDA(call) ::vdn_delta::test::require_cuda((call), #call, __FILE__, __LINE__)
void require_cuda(cudaError_t error, const char* what, const char* file, int line);

// While one of these lives the main thread waits for the GPU. A wait that takes too long ends the process, naming the
// test case and `what`: a kernel that hangs cannot be stopped in another way.
class Patience {
 public:
  explicit Patience(const char* what);
  ~Patience();
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;
};
void finish(cudaStream_t stream);  // waits for a stream
void finish_all();                 // waits for the device

// A stream that does not wait for the legacy one, unless `blocking`.
class Stream {
 public:
  explicit Stream(bool blocking = false);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// A captured graph, ready for launches.
class Graph {
 public:
  // Ends the capture of `stream`, which must be a valid one, and takes the graph.
  explicit Graph(cudaStream_t stream);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  std::size_t nodes() const { return types_.size(); }
  std::size_t kernel_nodes() const;
  void launch(cudaStream_t stream) const;

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
  std::vector<cudaGraphNodeType> types_;
};
bool is_capturing(cudaStream_t stream);  // and the capture is valid

// `count` words of device memory between two guard bands, `offset` words past a 256-byte boundary. Bands and fresh
// words hold 0xffffffff, a NaN that no arithmetic gives. `tight`: no bands, and the allocation ends with the last word,
// for memcheck.
class DeviceWords {
 public:
  static constexpr std::uint32_t kPoison = 0xffffffffu;

  explicit DeviceWords(std::int64_t count, int offset = 0, bool tight = false);
  ~DeviceWords();
  DeviceWords(const DeviceWords&) = delete;
  DeviceWords& operator=(const DeviceWords&) = delete;

  template <class T>
  T* as() const {
    static_assert(sizeof(T) == 4, "a word");
    return reinterpret_cast<T*>(base_ + before_);
  }
  std::int64_t count() const { return count_; }

  void poison();                     // complete on return
  void upload(const void* words);    // complete on return
  void download(void* words) const;  // waits for no stream but the legacy one
  bool bands_intact() const;

 private:
  std::uint32_t* base_ = nullptr;
  std::int64_t count_, before_, after_;
};

}  // namespace vdn_delta::test
