// Denormal numbers as zero, for a while.

#pragma once

#include <ATen/Context.h>
#include <ATen/Parallel.h>

namespace totune {

// While it lives, all threads of this one's parallel loops take denormal numbers for 0, and write 0 for them.
class Flushing {
public:
  explicit Flushing(bool wanted) : wanted(wanted) { set(true); }
  ~Flushing() { set(false); }

private:
  const bool wanted;

  void set(bool on) const {
    if (!wanted) return;
    at::parallel_for(0, at::get_num_threads(), 1, [on](int64_t, int64_t) { at::globalContext().setFlushDenormal(on); });
  }
};

} // namespace totune
