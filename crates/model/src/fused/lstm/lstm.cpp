// An LSTM layer over the real steps of each row: the products with the input over all of them at once, the recurrence
// by rows.cpp, rows and directions in parallel. Called from cpu.rs alone.
//
// Every function returns null, or a message (malloc'd) when libtorch threw; new tensors are owned by the caller.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "../levels.h"
#include "../products.h"
#include "../shared.h"
#include "rows.h"

using at::Tensor;
using totune::guarded;
using totune::Kernels;
using totune::Rows;

namespace {

// From the narrowest vectors to the widest; null where this processor has none such.
const Kernels *level(int i) {
#ifdef TOTUNE_X86
  if (i == 2) return __builtin_cpu_supports("avx512f") ? &totune::rows_avx512 : nullptr;
  if (i == 1) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &totune::rows_avx2 : nullptr;
#endif
  return i == 0 ? &totune::rows_default : nullptr;
}

totune::Widest<Kernels, level> kernels;

// The real steps of a batch, row after row.
struct Layout {
  int64_t batch, seq;
  std::vector<int64_t> lengths, offsets;
  int64_t tokens = 0;

  Layout(const Tensor &x, const Tensor *mask) : batch(x.size(0)), seq(x.size(1)) {
    Tensor rows = mask ? mask->contiguous() : Tensor();
    for (int64_t b = 0; b < batch; b++) {
      int64_t n = seq;
      if (mask) {
        const float *values = rows.const_data_ptr<float>() + b * seq;
        n = 0;
        while (n < seq && values[n] != 0.0f) n++;
      }
      lengths.push_back(n);
      offsets.push_back(tokens);
      tokens += n;
    }
  }

  bool padded() const { return tokens < batch * seq; }

  // The places of the tokens among all steps.
  Tensor places() const {
    Tensor result = at::empty({tokens}, at::kLong);
    int64_t *to = result.data_ptr<int64_t>();
    for (int64_t b = 0; b < batch; b++)
      for (int64_t t = 0; t < lengths[b]; t++) *to++ = b * seq + t;
    return result;
  }

  // [batch, seq, width] to [tokens, width].
  Tensor pack(const Tensor &x) const {
    Tensor all = x.reshape({batch * seq, x.size(2)});
    return padded() ? all.index_select(0, places()) : all.contiguous();
  }

  // [tokens, width] to [batch, seq, width], zero at padding.
  Tensor unpack(const Tensor &x) const {
    Tensor all = x;
    if (padded()) {
      all = at::zeros({batch * seq, x.size(1)}, x.options());
      all.index_copy_(0, places(), x);
    }
    return all.view({batch, seq, x.size(1)});
  }
};

// Runs `work` on groups of rows of both directions, as many groups as there are threads. `all` has one entry for each
// direction, without rows.
template <typename F> void over_rows(const Layout &layout, const std::vector<Rows> &all, F work) {
  int64_t directions = all.size();
  int64_t groups = (at::get_num_threads() + directions - 1) / directions;
  groups = std::clamp<int64_t>(groups, 1, std::max<int64_t>(layout.batch, 1));
  std::vector<int64_t> order(layout.batch);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return layout.lengths[a] > layout.lengths[b]; });
  at::parallel_for(0, directions * groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; task++) {
      Rows rows = all[task % directions];
      std::vector<int64_t> lengths, first;
      // Every so many rows of the order, so that groups are equally long.
      for (size_t i = task / directions; i < order.size(); i += groups) {
        int64_t n = layout.lengths[order[i]], offset = layout.offsets[order[i]];
        lengths.push_back(n);
        first.push_back(rows.next > 0 ? offset : offset + n - 1);
      }
      rows.count = lengths.size();
      rows.lengths = lengths.data();
      rows.first = first.data();
      work(rows);
    }
  });
}

Tensor packed(const Tensor &weights, int64_t (*size)(int64_t), void (*pack)(const float *, int64_t, float *)) {
  int64_t hidden = weights.size(1);
  Tensor result = at::empty({size(hidden)}, weights.options());
  pack(weights.contiguous().const_data_ptr<float>(), hidden, result.data_ptr<float>());
  return result;
}

} // namespace

extern "C" {

int totune_lstm_level(int i) { return kernels.take(i); }

// Inputs: x [b, n, in], and for each direction weight_ih, weight_hh, bias_ih, bias_hh. `mask` [b, n] or null. Out: the
// states [b, n, directions * hidden], and for `keep` the tokens' x, and for each direction gates, cells and states before.
char *totune_lstm_forward(Tensor *const *inputs, int directions, Tensor *mask, int keep, int way, Tensor **out) {
  return guarded([&] {
    TORCH_CHECK(inputs[0]->scalar_type() == at::kFloat, "lstm: expected f32");
    const Kernels &kernel = *kernels.get();
    Layout layout(*inputs[0], mask);
    Tensor x = layout.pack(*inputs[0]);
    int64_t hidden = inputs[2]->size(1);
    auto options = x.options();
    Tensor states = at::empty({layout.tokens, directions * hidden}, options);
    std::vector<Tensor> held;
    std::vector<Rows> all;
    for (int d = 0; d < directions; d++) {
      Tensor *const *w = inputs + 1 + 4 * d;
      TORCH_CHECK(w[0]->sizes() == at::IntArrayRef({4 * hidden, x.size(1)}) &&
                      w[1]->sizes() == at::IntArrayRef({4 * hidden, hidden}),
                  "lstm: found weights ", w[0]->sizes(), " and ", w[1]->sizes(), " for an input ", x.sizes());
      Tensor gates = at::empty({layout.tokens, 4 * hidden}, options);
      gates.copy_((*w[2] + *w[3]).expand_as(gates));
      totune::multiply(gates, x, w[0]->t(), true, way);
      Tensor cells, before;
      if (keep) {
        cells = at::empty({layout.tokens, hidden}, options);
        before = at::empty({layout.tokens, hidden}, options);
      }
      Tensor weights = packed(*w[1], kernel.packed_forward, kernel.pack_forward);
      Rows rows{};
      rows.hidden = hidden;
      rows.next = d == 0 ? 1 : -1;
      rows.gates = gates.data_ptr<float>();
      rows.cells = keep ? cells.data_ptr<float>() : nullptr;
      rows.before = keep ? before.data_ptr<float>() : nullptr;
      rows.packed = weights.const_data_ptr<float>();
      rows.states = states.data_ptr<float>() + d * hidden;
      rows.stride = directions * hidden;
      rows.keep = keep != 0;
      all.push_back(rows);
      held.insert(held.end(), {weights, gates, cells, before});
    }
    over_rows(layout, all, kernel.forward);
    *out++ = new Tensor(layout.unpack(states));
    if (!keep) return;
    *out++ = new Tensor(x);
    for (int d = 0; d < directions; d++)
      for (int i = 1; i < 4; i++) *out++ = new Tensor(held[4 * d + i]);
  });
}

// Inputs and mask as above; saved: what the forward pass kept. Out: the gradients of the inputs; that of x, and those of
// the weights, only where wanted.
char *totune_lstm_backward(Tensor *const *inputs, int directions, Tensor *mask, Tensor *const *saved, Tensor *grad,
                           int want_x, int want_weights, int way, Tensor **out) {
  return guarded([&] {
    const Kernels &kernel = *kernels.get();
    Layout layout(*inputs[0], mask);
    Tensor d_states = layout.pack(*grad);
    const Tensor &x = *saved[0];
    int64_t hidden = inputs[2]->size(1);
    std::vector<Tensor> held, d_gates;
    std::vector<Rows> all;
    for (int d = 0; d < directions; d++) {
      const Tensor &gates = *saved[1 + 3 * d], &cells = *saved[2 + 3 * d];
      d_gates.push_back(at::empty_like(gates));
      Tensor weights = packed(*inputs[2 + 4 * d], kernel.packed_backward, kernel.pack_backward);
      Rows rows{};
      rows.hidden = hidden;
      rows.next = d == 0 ? 1 : -1;
      rows.gates = gates.data_ptr<float>();
      rows.cells = cells.data_ptr<float>();
      rows.packed = weights.const_data_ptr<float>();
      rows.states = d_states.data_ptr<float>() + d * hidden;
      rows.stride = directions * hidden;
      rows.d_gates = d_gates.back().data_ptr<float>();
      all.push_back(rows);
      held.push_back(weights);
    }
    over_rows(layout, all, kernel.backward);
    if (want_x) {
      Tensor dx = at::empty_like(x);
      for (int d = 0; d < directions; d++) totune::multiply(dx, d_gates[d], *inputs[1 + 4 * d], d > 0, way);
      out[0] = new Tensor(layout.unpack(dx));
    }
    if (!want_weights) return;
    for (int d = 0; d < directions; d++) {
      const Tensor &before = *saved[3 + 3 * d];
      Tensor transposed = d_gates[d].t(), bias = d_gates[d].sum(0);
      Tensor of_x = at::empty_like(*inputs[1 + 4 * d]), of_before = at::empty_like(*inputs[2 + 4 * d]);
      totune::multiply(of_x, transposed, x, false, way);
      totune::multiply(of_before, transposed, before, false, way);
      Tensor **to = out + 1 + 4 * d;
      to[0] = new Tensor(of_x);
      to[1] = new Tensor(of_before);
      to[2] = new Tensor(bias);
      to[3] = new Tensor(bias.clone()); // burn may overwrite either
    }
  });
}

} // extern "C"
