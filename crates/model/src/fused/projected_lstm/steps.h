// The steps of packed sequences, and how they are computed.
#pragma once

#include <ATen/ATen.h>
#include <algorithm>
#include <cstdint>
#include <vector>

#include "../products.h"

namespace totune {

// How many sequences have each step, and where its rows begin.
struct Steps {
  const int64_t *running;
  int64_t count;
  std::vector<int64_t> first;

  Steps(const int64_t *running, int64_t count) : running(running), count(count), first(count + 1, 0) {
    for (int64_t t = 0; t < count; t++) first[t + 1] = first[t] + running[t];
  }
  int64_t rows() const { return first[count]; }
  int64_t sequences() const { return running[0]; }
  // Of the sequences [begin, end) those that have step t.
  int64_t own(int64_t t, int64_t begin, int64_t end) const {
    return t < count ? std::clamp<int64_t>(running[t] - begin, 0, end - begin) : 0;
  }
};

struct Settings {
  double cell_bound, out_bound;
  // How matrices are multiplied.
  int way;

  bool half() const { return way == AS_HALF; }
};

// What the forward pass makes: outputs `[rows, width]`, gates `[rows, 4 cell]`, cells `[rows, cell]` and projections
// `[rows, width]` before clipping, what was projected `[rows, cell]`.
struct Made {
  at::Tensor outputs, gates, cells, raw, mixed;
};

// The rows that all rows but the first step's went on from.
inline at::Tensor rows_before(const Steps &steps, const at::Tensor &like) {
  std::vector<int64_t> from;
  from.reserve(steps.rows());
  for (int64_t t = 1; t < steps.count; t++)
    for (int64_t r = 0; r < steps.running[t]; r++) from.push_back(steps.first[t - 1] + r);
  return at::from_blob(from.data(), {static_cast<int64_t>(from.size())}, at::kLong).clone().to(like.device());
}

} // namespace totune
