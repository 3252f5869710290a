// The part of RMM's resources that Cheddar uses: blocks of a few sizes are kept when they are freed
// and handed out again without a call of CUDA, as RMM's `binning_memory_resource` does. Cheddar
// works on one stream, so a block that was freed may be handed out at once.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

namespace rmm::mr {

struct cuda_async_memory_resource {};

class Pool {
 public:
  void add_bin(std::size_t bytes) { bins_[bytes]; }
  void clear() {
    for (auto& [bytes, blocks] : bins_) {
      for (void* block : blocks) cudaFreeAsync(block, cudaStreamLegacy);
    }
    bins_.clear();
  }
  void* allocate(std::size_t bytes, cudaStream_t stream) {
    if (bytes == 0) return nullptr;
    auto bin = bins_.lower_bound(bytes);
    if (bin != bins_.end()) {
      if (!bin->second.empty()) {
        void* block = bin->second.back();
        bin->second.pop_back();
        return block;
      }
      bytes = bin->first;
    }
    void* block = nullptr;
    if (cudaMallocAsync(&block, bytes, stream) != cudaSuccess) {
      std::fprintf(stderr, "no memory for %zu bytes\n", bytes);
      std::abort();
    }
    return block;
  }
  void deallocate(void* block, std::size_t bytes, cudaStream_t stream) {
    if (block == nullptr) return;
    auto bin = bins_.lower_bound(bytes);
    if (bin != bins_.end()) {
      bin->second.push_back(block);
    } else {
      cudaFreeAsync(block, stream);
    }
  }

 private:
  std::map<std::size_t, std::vector<void*>> bins_;
};

inline Pool& pool() {
  // Never destroyed: vectors of static life may outlast it otherwise.
  static Pool& pool = *new Pool;
  return pool;
}

template <typename Upstream>
struct binning_memory_resource {
  explicit binning_memory_resource(Upstream*) {}
  void add_bin(std::size_t bytes) { pool().add_bin(bytes); }
};

template <typename Resource>
void set_current_device_resource(Resource*) {}
inline void set_current_device_resource(std::nullptr_t) {}

}  // namespace rmm::mr
