// The part of RMM's `device_uvector` that Cheddar uses: memory of one stream, from the pool of
// mr/device/binning_memory_resource.hpp.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

#include <rmm/mr/device/binning_memory_resource.hpp>

namespace rmm {

template <typename T>
class device_uvector {
 public:
  device_uvector(std::size_t size, cudaStream_t stream)
      : data_(take(size, stream)), size_(size), capacity_(size), stream_(stream) {}
  device_uvector(device_uvector&& other) noexcept { swap(other); }
  device_uvector& operator=(device_uvector&& other) noexcept {
    device_uvector gone(std::move(other));
    swap(gone);
    return *this;
  }
  device_uvector(const device_uvector&) = delete;
  device_uvector& operator=(const device_uvector&) = delete;
  ~device_uvector() { give(); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  cudaStream_t stream() const { return stream_; }

  void resize(std::size_t size, cudaStream_t stream) {
    if (size > capacity_) {
      T* larger = take(size, stream);
      cudaMemcpyAsync(larger, data_, size_ * sizeof(T), cudaMemcpyDeviceToDevice, stream);
      give();
      data_ = larger;
      capacity_ = size;
    }
    size_ = size;
    stream_ = stream;
  }

 private:
  static T* take(std::size_t size, cudaStream_t stream) {
    return static_cast<T*>(mr::pool().allocate(size * sizeof(T), stream));
  }
  void give() {
    mr::pool().deallocate(data_, capacity_ * sizeof(T), stream_);
    data_ = nullptr;
    size_ = capacity_ = 0;
  }
  void swap(device_uvector& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(stream_, other.stream_);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  cudaStream_t stream_ = nullptr;
};

}  // namespace rmm
