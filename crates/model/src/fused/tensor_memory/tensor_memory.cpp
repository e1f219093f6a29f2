// Counts the bytes of tensors that are alive at once, by an allocator in front of LibTorch's own on the CPU, and by the
// statistics of its allocator on a GPU.
//
// Called from mod.rs here.

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "../shared.h"

namespace {

void release(void *block);

// Passes everything on. It never leaves once it is in place, since blocks that it handed out come back to it.
struct Counting final : c10::Allocator {
  explicit Counting(c10::Allocator *behind) : behind(behind) {}

  c10::DataPtr allocate(size_t n) override {
    c10::DataPtr block = behind->allocate(n);
    if (!block.get()) return block;
    TORCH_CHECK(block.compare_exchange_deleter(behind->raw_deleter(), &release), "memory: a block of another allocator");
    std::lock_guard<std::mutex> guard(lock);
    if (counts) {
      alive[block.get()] = n;
      now += n;
      most = std::max(most, now);
    }
    return block;
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }

  void copy_data(void *to, const void *from, size_t n) const override { behind->copy_data(to, from, n); }

  void forget(void *block) {
    std::lock_guard<std::mutex> guard(lock);
    auto found = alive.find(block);
    if (found == alive.end()) return; // made before
    now -= found->second;
    alive.erase(found);
  }

  void begin() {
    std::lock_guard<std::mutex> guard(lock);
    alive.clear();
    now = most = 0;
    counts = true;
  }

  size_t end() {
    std::lock_guard<std::mutex> guard(lock);
    counts = false;
    return most;
  }

  c10::Allocator *const behind;
  std::mutex lock;
  std::unordered_map<void *, size_t> alive;
  size_t now = 0, most = 0;
  bool counts = false;
};

// Made when first asked for; all later blocks come through it.
Counting &counting() {
  static Counting *made = [] {
    auto *made = new Counting(c10::GetCPUAllocator());
    c10::SetCPUAllocator(made, 1);
    return made;
  }();
  return *made;
}

void release(void *block) {
  Counting &counted = counting();
  counted.forget(block);
  counted.behind->raw_deleter()(block);
}

c10::DeviceAllocator &gpu_memory() { return *c10::getDeviceAllocator(c10::DeviceType::CUDA); }

} // namespace

extern "C" {

// Starts to count: from nothing on the CPU, where `gpu` is negative, or else from the tensors that this GPU holds.
char *totune_count_memory(int gpu) {
  return totune::guarded([&] {
    if (gpu < 0)
      counting().begin();
    else
      gpu_memory().resetPeakStats(static_cast<c10::DeviceIndex>(gpu));
  });
}

// Stops, and returns the most bytes that were alive at once.
char *totune_counted_memory(int gpu, uint64_t *bytes) {
  return totune::guarded([&] {
    if (gpu < 0) {
      *bytes = counting().end();
    } else {
      auto requested = gpu_memory().getDeviceStats(static_cast<c10::DeviceIndex>(gpu)).requested_bytes;
      *bytes = requested[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].peak;
    }
  });
}

} // extern "C"
