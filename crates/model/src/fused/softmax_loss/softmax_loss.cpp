// Cross-entropy of a softmax over many columns and its gradients, a few rows at a time. Called from kernel.rs alone.
//
// The function returns null, or a message (malloc'd) when libtorch threw; new tensors are owned by the caller.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../products.h"
#include "../vectors.h"

using at::Tensor;
using totune::exponential;
using totune::Floats;
using totune::guarded;
using totune::halved;
using totune::halves;
using totune::LANES;
using totune::LooseFloats;
using totune::multiply;
using totune::widened;

namespace {

INLINE Floats load(const float *from) { return *reinterpret_cast<const LooseFloats *>(from); }
INLINE void store(float *to, Floats x) { *reinterpret_cast<LooseFloats *>(to) = x; }

// The largest of n numbers and `most`, each after its shift is added to it.
WIDEST float shifted_max(float *x, const float *shift, int64_t n, float most) {
  Floats best = Floats{} + most;
  int64_t j = 0;
  for (; j + LANES <= n; j += LANES) {
    Floats y = load(x + j) + load(shift + j);
    store(x + j, y);
    best = y > best ? y : best;
  }
  for (int64_t k = 0; k < LANES; k++) most = best[k] > most ? best[k] : most;
  for (; j < n; j++) {
    x[j] += shift[j];
    most = x[j] > most ? x[j] : most;
  }
  return most;
}

// exp(x - most) in the place of each x; the sum of all.
WIDEST float exp_sum(float *x, int64_t n, float most) {
  Floats sums = {};
  int64_t j = 0;
  for (; j + LANES <= n; j += LANES) {
    Floats y = exponential(load(x + j) - most);
    store(x + j, y);
    sums += y;
  }
  float sum = 0.0f;
  for (int64_t k = 0; k < LANES; k++) sum += sums[k];
  for (; j < n; j++) sum += x[j] = exponential(x[j] - most);
  return sum;
}

WIDEST void scale_and_add(float *x, float *sums, int64_t n, float scale) {
  SEPARATE
  for (int64_t j = 0; j < n; j++) {
    x[j] *= scale;
    sums[j] += x[j];
  }
}

WIDEST void widen(const uint16_t *x, float *to, int64_t n) {
  SEPARATE
  for (int64_t j = 0; j < n; j++) to[j] = widened(x[j]);
}

WIDEST void add_widened(const uint16_t *x, float *to, int64_t n) {
  SEPARATE
  for (int64_t j = 0; j < n; j++) to[j] += widened(x[j]);
}

WIDEST void halve(const float *x, uint16_t *to, int64_t n) {
  SEPARATE
  for (int64_t j = 0; j < n; j++) to[j] = halved(x[j]);
}

WIDEST float dot(const float *a, const float *b, int64_t n) {
  Floats sums = {};
  int64_t j = 0;
  for (; j + LANES <= n; j += LANES) sums += load(a + j) * load(b + j);
  float sum = 0.0f;
  for (int64_t k = 0; k < LANES; k++) sum += sums[k];
  for (; j < n; j++) sum += a[j] * b[j];
  return sum;
}

WIDEST void add(float *to, const float *from, int64_t n, float scale) {
  SEPARATE
  for (int64_t j = 0; j < n; j++) to[j] += from[j] * scale;
}

// Logits that are computed at once.
constexpr int64_t AT_ONCE = 1 << 20;

} // namespace

extern "C" {

// in: states [rows, width], weight [vocab, width], bias [vocab], targets [rows]; when `sampled`, ids [samples], and the
// logarithms of the expected counts of these [samples] and of the targets [rows].
// `way` says how matrices are multiplied.
// out: the loss of each row; when `keep`, the gradients of the mean loss in states, weight and bias.
char *totune_softmax_loss(Tensor *const *in, int sampled, int keep, int way, Tensor **out) {
  return guarded([&] {
    at::AutoDispatchBelowADInplaceOrView no_graph;
    Tensor states = in[0]->contiguous(), weight = in[1]->contiguous(), bias = in[2]->contiguous();
    Tensor targets = in[3]->contiguous();
    const int64_t rows = states.size(0), width = states.size(1), vocab = weight.size(0);
    TORCH_CHECK(states.scalar_type() == at::kFloat && weight.scalar_type() == at::kFloat &&
                    bias.scalar_type() == at::kFloat && weight.size(1) == width && bias.size(0) == vocab &&
                    targets.size(0) == rows,
                "softmax: shapes or number types do not fit one another");
    const int64_t *target = targets.const_data_ptr<int64_t>();
    for (int64_t r = 0; r < rows; r++)
      TORCH_CHECK(target[r] >= 0 && target[r] < vocab, "softmax: found target ", target[r], ", expected 0 to ", vocab - 1);
    Tensor ids, columns = weight, shift = bias, expected;
    std::vector<int64_t> column; // of each id, or -1
    if (sampled) {
      ids = in[4]->contiguous();
      columns = weight.index_select(0, ids);
      shift = bias.index_select(0, ids) - *in[5];
      expected = in[6]->contiguous();
      column.assign(vocab, -1);
      for (int64_t s = 0; s < ids.size(0); s++) column[ids.const_data_ptr<int64_t>()[s]] = s;
    }
    const bool half = way == totune::AS_HALF;
    auto factors = half ? states.options().dtype(at::kBFloat16) : states.options();
    Tensor half_states = half ? states.to(at::kBFloat16) : states, half_columns = half ? columns.to(at::kBFloat16) : columns;
    const int64_t n = columns.size(0);
    TORCH_CHECK(n > 0 && rows > 0, "found ", rows, " rows and ", n, " words, expected at least one of each");
    const int64_t at_once = std::clamp<int64_t>(AT_ONCE / n, 16, 256), chunks = (rows + at_once - 1) / at_once;
    // Each group has sums of its own, at most 2^28 numbers in all.
    const int64_t groups =
        std::clamp<int64_t>(at::get_num_threads(), 1, std::max<int64_t>(1, std::min(chunks, (1 << 28) / (n * width))));
    Tensor losses = at::empty({rows}, states.options());
    Tensor d_states = keep ? at::empty_like(states) : Tensor();
    std::vector<Tensor> d_columns(groups), d_shift(groups);
    std::vector<float> own(rows); // the gradient of each row's own logit
    const float scale = 1.0f / static_cast<float>(rows);
    at::parallel_for(0, groups, 1, [&](int64_t begin, int64_t end) {
      at::AutoDispatchBelowADInplaceOrView no_graph_here;
      for (int64_t g = begin; g < end; g++) {
        if (keep) {
          d_columns[g] = at::zeros({n, width}, states.options());
          d_shift[g] = at::zeros({n}, states.options());
        }
        Tensor room = at::empty({std::min(at_once, rows), n}, factors);
        std::vector<float> wide(half ? n : 0); // a row of it
        for (int64_t c = g; c < chunks; c += groups) {
          const int64_t first = c * at_once, count = std::min(at_once, rows - first);
          Tensor logits = room.narrow(0, 0, count), chunk = half_states.narrow(0, first, count);
          multiply(logits, chunk, half_columns.t(), false, way);
          for (int64_t r = first; r < first + count; r++) {
            const int64_t place = (r - first) * n;
            float *x = half ? wide.data() : logits.data_ptr<float>() + place;
            if (half) widen(halves(logits) + place, x, n);
            const float *state = states.const_data_ptr<float>() + r * width;
            float most = -std::numeric_limits<float>::infinity(), logit = most;
            if (sampled) {
              if (column[target[r]] >= 0) x[column[target[r]]] = -1e30f; // the target itself among the samples
              logit = dot(state, weight.const_data_ptr<float>() + target[r] * width, width) +
                      bias.const_data_ptr<float>()[target[r]] - expected.const_data_ptr<float>()[r];
              most = logit;
            }
            most = shifted_max(x, shift.const_data_ptr<float>(), n, most);
            if (!sampled) logit = x[target[r]];
            float sum = exp_sum(x, n, most);
            const float share = sampled ? std::exp(logit - most) : 0.0f;
            sum += share;
            losses.data_ptr<float>()[r] = std::log(sum) + most - logit;
            if (!keep) continue;
            // Softmax minus one at the target, over the number of rows.
            if (!sampled) x[target[r]] -= sum;
            own[r] = (share / sum - 1.0f) * scale;
            scale_and_add(x, d_shift[g].data_ptr<float>(), n, scale / sum);
            if (half) halve(x, halves(logits) + place, n);
          }
          if (!keep) continue;
          Tensor d_chunk = d_states.narrow(0, first, count);
          if (!half) {
            multiply(d_chunk, logits, columns, false, way);
            multiply(d_columns[g], logits.t(), chunk, true, way);
            continue;
          }
          Tensor d_half = at::empty({count, width}, factors), d_half_columns = at::empty({n, width}, factors);
          multiply(d_half, logits, half_columns, false, way);
          widen(halves(d_half), d_chunk.data_ptr<float>(), count * width);
          multiply(d_half_columns, logits.t(), chunk, false, way);
          add_widened(halves(d_half_columns), d_columns[g].data_ptr<float>(), n * width);
        }
      }
    });
    out[0] = new Tensor(losses);
    if (!keep) return;
    for (int64_t g = 1; g < groups; g++) {
      d_columns[0].add_(d_columns[g]);
      d_shift[0].add_(d_shift[g]);
    }
    Tensor d_weight = d_columns[0], d_bias = d_shift[0];
    if (sampled) {
      d_weight = at::zeros_like(weight);
      d_bias = at::zeros_like(bias);
      d_weight.index_copy_(0, ids, d_columns[0]);
      d_bias.index_copy_(0, ids, d_shift[0]);
      for (int64_t r = 0; r < rows; r++) {
        const float *to = weight.const_data_ptr<float>() + target[r] * width;
        add(d_states.data_ptr<float>() + r * width, to, width, own[r]);
        add(d_weight.data_ptr<float>() + target[r] * width, states.const_data_ptr<float>() + r * width, width, own[r]);
        d_bias.data_ptr<float>()[target[r]] += own[r];
      }
    }
    out[1] = new Tensor(d_states);
    out[2] = new Tensor(d_weight);
    out[3] = new Tensor(d_bias);
  });
}

} // extern "C"
