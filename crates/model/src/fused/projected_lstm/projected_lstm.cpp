// The steps of an LSTM with a projection in one direction or two, forward and backward. Called from kernel.rs alone.
//
// Every function returns null, or a message (malloc'd) when libtorch threw. Tensors cross as the pointers that tch
// holds (at::Tensor*); a new one is owned by the caller. Rows are packed as mod.rs describes.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <algorithm>
#include <cstdint>
#include <vector>

#include "../products.h"
#include "../shared.h"
#include "stacked.h"
#include "steps.h"

using at::Tensor;
using totune::guarded;
using totune::logistic;
using totune::halved;
using totune::halves;
using totune::Made;
using totune::multiply;
using totune::Settings;
using totune::Steps;
using totune::tangent;
using totune::widened;

namespace {

INLINE float clipped(float x, float bound) {
  x = x < -bound ? -bound : x;
  return x > bound ? bound : x;
}

template <bool FIRST, bool HALF>
INLINE void forward_loop(float *gates, const uint16_t *added, const float *before, float *cells, float *mixed, int64_t width, float bound) {
  float *in = gates, *forget = gates + width, *candidate = gates + 2 * width, *out = gates + 3 * width;
  SEPARATE
  for (int64_t k = 0; k < width; k++) {
    float i = in[k], f = forget[k], g = candidate[k], o = out[k];
    if (HALF) {
      i += widened(added[k]);
      f += widened(added[width + k]);
      g += widened(added[2 * width + k]);
      o += widened(added[3 * width + k]);
    }
    i = logistic(i), f = logistic(f), g = tangent(g), o = logistic(o);
    float c = FIRST ? i * g : i * g + f * clipped(before[k], bound);
    in[k] = i;
    forget[k] = f;
    candidate[k] = g;
    out[k] = o;
    cells[k] = c;
    mixed[k] = o * tangent(clipped(c, bound));
  }
}

// One step of the `width` cells of one sequence. Gates lie side by side: products in, activations out. `added` is what the
// state before adds to the products, or null where it has been. `before` is null at a first step.
WIDEST void forward_cells(float *gates, const uint16_t *added, const float *before, float *cells, float *mixed,
                          int64_t width, float bound) {
  if (!before) {
    forward_loop<true, false>(gates, added, before, cells, mixed, width, bound);
  } else if (added) {
    forward_loop<false, true>(gates, added, before, cells, mixed, width, bound);
  } else {
    forward_loop<false, false>(gates, added, before, cells, mixed, width, bound);
  }
}

template <bool FIRST>
INLINE void backward_loop(const float *gates, const float *before, const float *cells, const float *dmixed,
                          float *dcells, float *dgates, int64_t width, float bound) {
  const float *in = gates, *forget = gates + width, *candidate = gates + 2 * width, *out = gates + 3 * width;
  float *din = dgates, *dforget = dgates + width, *dcandidate = dgates + 2 * width, *dout = dgates + 3 * width;
  SEPARATE
  for (int64_t k = 0; k < width; k++) {
    float i = in[k], f = forget[k], g = candidate[k], o = out[k], dm = dmixed[k], c = cells[k];
    float kept = clipped(c, bound), t = tangent(kept);
    float dc = dcells[k] + dm * o * (1.0f - t * t);
    dc = kept == c ? dc : 0.0f; // clipped: nothing comes through
    din[k] = dc * g * i * (1.0f - i);
    dforget[k] = FIRST ? 0.0f : dc * clipped(before[k], bound) * f * (1.0f - f);
    dcandidate[k] = dc * i * (1.0f - g * g);
    dout[k] = dm * t * o * (1.0f - o);
    dcells[k] = dc * f;
  }
}

// The gradient of a step: `dmixed` in, the gradients of the gates' products and of the cells before out. `dcells` holds
// what the step after it gave.
WIDEST void backward_cells(const float *gates, const float *before, const float *cells, const float *dmixed,
                           float *dcells, float *dgates, int64_t width, float bound) {
  if (before) {
    backward_loop<false>(gates, before, cells, dmixed, dcells, dgates, width, bound);
  } else {
    backward_loop<true>(gates, before, cells, dmixed, dcells, dgates, width, bound);
  }
}

WIDEST void halve(const float *x, uint16_t *to, int64_t n) {
  SEPARATE
  for (int64_t j = 0; j < n; j++) to[j] = halved(x[j]);
}

WIDEST void widen(const uint16_t *x, float *to, int64_t n) {
  SEPARATE
  for (int64_t j = 0; j < n; j++) to[j] = widened(x[j]);
}

WIDEST void add_widened(const uint16_t *x, float *to, int64_t n) {
  SEPARATE
  for (int64_t j = 0; j < n; j++) to[j] += widened(x[j]);
}

bool plain_floats(const Tensor &x) { return x.is_cpu() && x.scalar_type() == at::kFloat; }

// Rows of `x` from `at` on, rounded to bfloat16.
Tensor half_rows(const Tensor &x, int64_t at, int64_t n, const Tensor &room) {
  Tensor result = room.narrow(0, 0, n);
  halve(x.const_data_ptr<float>() + at * x.size(1), halves(result), n * x.size(1));
  return result;
}

// Runs `work(direction, begin, end)` for shares of the sequences of all directions on as many threads as there are; every
// product of a share is one thread's.
template <typename F> void over_shares(const Steps &steps, int64_t directions, F work) {
  const int64_t n = steps.sequences();
  // A share of fewer sequences does not fill a product.
  const int64_t most = std::max<int64_t>(1, n / 16);
  const int64_t shares = std::clamp<int64_t>(at::get_num_threads() / directions, 1, most);
  at::parallel_for(0, directions * shares, 1, [&](int64_t first, int64_t last) {
    at::AutoDispatchBelowADInplaceOrView no_graph;
    for (int64_t i = first; i < last; i++) {
      const int64_t share = i / directions;
      work(i % directions, n * share / shares, n * (share + 1) / shares);
    }
  });
}

void forward(const Made &made, const Tensor &state, const Tensor &projection, const Steps &steps, const Settings &set,
             int64_t begin, int64_t end) {
  const int64_t cell = made.cells.size(1), width = made.raw.size(1);
  const bool half = set.half();
  auto room = [&](int64_t columns) {
    return at::empty({half ? end - begin : 0, columns}, made.gates.options().dtype(at::kBFloat16));
  };
  Tensor half_out = room(width), half_raw = room(width), half_mixed = room(cell), half_gates = room(4 * cell);
  for (int64_t t = 0; t < steps.count; t++) {
    const int64_t n = steps.own(t, begin, end), at = steps.first[t] + begin;
    const int64_t last = t ? steps.first[t - 1] + begin : 0;
    if (n == 0) break;
    Tensor g = made.gates.narrow(0, at, n);
    if (t && half) {
      multiply(half_gates.narrow(0, 0, n), half_out.narrow(0, 0, n), state, false, set.way);
    } else if (t) {
      multiply(g, made.outputs.narrow(0, last, n), state, true, set.way);
    }
    float *gp = made.gates.data_ptr<float>(), *cp = made.cells.data_ptr<float>(), *mp = made.mixed.data_ptr<float>();
    for (int64_t r = 0; r < n; r++) {
      const float *before = t ? cp + (last + r) * cell : nullptr;
      const uint16_t *added = half ? halves(half_gates) + r * 4 * cell : nullptr;
      forward_cells(gp + (at + r) * 4 * cell, added, before, cp + (at + r) * cell, mp + (at + r) * cell, cell,
                    static_cast<float>(set.cell_bound));
    }
    Tensor r = made.raw.narrow(0, at, n), h = made.outputs.narrow(0, at, n);
    if (half) {
      multiply(half_raw.narrow(0, 0, n), half_rows(made.mixed, at, n, half_mixed), projection, false, set.way);
      widen(halves(half_raw), r.data_ptr<float>(), n * width);
    } else {
      multiply(r, made.mixed.narrow(0, at, n), projection, false, set.way);
    }
    at::clamp_out(h, r, -set.out_bound, set.out_bound);
    if (half) half_rows(made.outputs, at, n, half_out);
  }
}

// `dout` holds the gradient of the outputs, and on return that of the projections; `inside` is 1 where those were not
// clipped.
void backward(const Made &made, const Tensor &state, const Tensor &projection, const Tensor &dout, const Tensor &inside,
              const Tensor &dgates, const Steps &steps, const Settings &set, int64_t begin, int64_t end) {
  const int64_t cell = made.cells.size(1), width = made.raw.size(1);
  const Tensor &gates = made.gates, &cells = made.cells;
  Tensor dcells = at::zeros({end - begin, cell}, gates.options()), dmixed = at::empty({end - begin, cell}, gates.options());
  const bool half = set.half();
  auto room = [&](int64_t columns) {
    return at::empty({half ? end - begin : 0, columns}, gates.options().dtype(at::kBFloat16));
  };
  Tensor half_out = room(width), half_mixed = room(cell), half_gates = room(4 * cell);
  for (int64_t t = steps.count; t-- > 0;) {
    const int64_t n = steps.own(t, begin, end), next = steps.own(t + 1, begin, end), at = steps.first[t] + begin;
    const int64_t last = t ? steps.first[t - 1] + begin : 0;
    if (n == 0) continue;
    Tensor d = dout.narrow(0, at, n);
    if (next && half) {
      Tensor above = half_rows(dgates, steps.first[t + 1] + begin, next, half_gates);
      multiply(half_out.narrow(0, 0, next), above, state, false, set.way);
      add_widened(halves(half_out), d.data_ptr<float>(), next * width);
    } else if (next) {
      multiply(d.narrow(0, 0, next), dgates.narrow(0, steps.first[t + 1] + begin, next), state, true, set.way);
    }
    d.mul_(inside.narrow(0, at, n));
    Tensor dm = dmixed.narrow(0, 0, n);
    if (half) {
      multiply(half_mixed.narrow(0, 0, n), half_rows(dout, at, n, half_out), projection, false, set.way);
      widen(halves(half_mixed), dm.data_ptr<float>(), n * cell);
    } else {
      multiply(dm, d, projection, false, set.way);
    }
    const float *gp = gates.const_data_ptr<float>(), *cp = cells.const_data_ptr<float>();
    const float *dmp = dmixed.const_data_ptr<float>();
    float *dcp = dcells.data_ptr<float>(), *dgp = dgates.data_ptr<float>();
    for (int64_t r = 0; r < n; r++) {
      const float *before = t ? cp + (last + r) * cell : nullptr;
      backward_cells(gp + (at + r) * 4 * cell, before, cp + (at + r) * cell, dmp + r * cell, dcp + r * cell,
                     dgp + (at + r) * 4 * cell, cell, static_cast<float>(set.cell_bound));
    }
  }
}

// As products of this way take it.
Tensor factor(const Tensor &x, int way) { return way == totune::AS_HALF ? x.to(at::kBFloat16) : x; }

// a b in f32.
Tensor product(const Tensor &a, const Tensor &b, int way) {
  Tensor x = factor(a, way), y = factor(b, way), result = at::empty({a.size(0), b.size(1)}, x.options());
  multiply(result, x, y, false, way);
  return result.to(at::kFloat);
}

} // namespace

extern "C" {

// in: of each direction products [rows, 4 cell], state [4 cell, width], projection [width, cell]. The products are
// overwritten when `in_place` says that nobody else reads them.
// out: outputs of all directions [directions rows, width]; of each direction its part of these; gates [rows, 4 cell]; cells
// [rows, cell] and projections [rows, width] before clipping; what was projected [rows, cell].
char *totune_projected_lstm(Tensor *const *in, int directions, int in_place, const int64_t *running, int64_t count,
                            double cell_bound, double out_bound, int way, Tensor **out) {
  return guarded([&] {
    at::AutoDispatchBelowADInplaceOrView no_graph;
    if (!plain_floats(*in[0])) way = totune::BY_DEFAULT;
    const Steps steps(running, count);
    const int64_t rows = steps.rows(), cell = in[2]->size(1), width = in[2]->size(0);
    Tensor outputs = at::empty({directions * rows, width}, in[0]->options());
    std::vector<Tensor> products, state, projection;
    for (int d = 0; d < directions; d++) {
      const Tensor &x = *in[3 * d];
      products.push_back(in_place ? x.contiguous() : x.clone(at::MemoryFormat::Contiguous));
      state.push_back(factor(*in[3 * d + 1], way).t());
      projection.push_back(factor(*in[3 * d + 2], way).t());
    }
    const Settings set{cell_bound, out_bound, way};
    std::vector<Made> all;
    auto room = [&](const Tensor &gates, int64_t columns) {
      std::vector<int64_t> shape = gates.sizes().vec();
      shape.back() = columns;
      return at::empty(shape, gates.options());
    };
    auto made = [&](const Tensor &gates, const Tensor &outputs) {
      return Made{outputs, gates, room(gates, cell), room(gates, width), room(gates, cell)};
    };
    if (plain_floats(outputs)) {
      for (int d = 0; d < directions; d++) all.push_back(made(products[d], outputs.narrow(0, d * rows, rows)));
      over_shares(steps, directions, [&](int64_t d, int64_t begin, int64_t end) {
        forward(all[d], state[d], projection[d], steps, set, begin, end);
      });
    } else {
      const Made stacked = made(at::stack(products), outputs.view({directions, rows, width}));
      totune::forward_stacked(stacked, at::stack(state), at::stack(projection), steps, set);
      for (int d = 0; d < directions; d++) all.push_back(totune::direction(stacked, d));
    }
    *out++ = new Tensor(outputs);
    for (const Made &made : all)
      for (const Tensor &x : {made.outputs, made.gates, made.cells, made.raw, made.mixed}) *out++ = new Tensor(x);
  });
}

// in: the gradient of the outputs of all directions; of each direction outputs, gates, cells, projections, what was
// projected, as above, state, projection.
// out: of each direction the gradients of the products, of state and of projection, those that are wanted (the first one
// always).
char *totune_projected_lstm_backward(Tensor *const *in, int directions, const int64_t *running, int64_t count,
                                     double cell_bound, double out_bound, int way, const int *wanted, Tensor **out) {
  return guarded([&] {
    at::AutoDispatchBelowADInplaceOrView no_graph;
    if (!plain_floats(*in[0])) way = totune::BY_DEFAULT;
    const Steps steps(running, count);
    const int64_t rows = steps.rows(), most = steps.sequences();
    Tensor dout = in[0]->clone(at::MemoryFormat::Contiguous);
    std::vector<Made> all;
    std::vector<Tensor> state, projection, douts, dgates;
    for (int d = 0; d < directions; d++) {
      Tensor *const *own = in + 1 + 7 * d;
      all.push_back({*own[0], *own[1], *own[2], *own[3], *own[4]});
      state.push_back(factor(*own[5], way));
      projection.push_back(factor(*own[6], way));
      douts.push_back(dout.narrow(0, d * rows, rows));
    }
    const Settings set{cell_bound, out_bound, way};
    if (plain_floats(dout)) {
      std::vector<Tensor> inside;
      for (const Made &own : all) {
        inside.push_back(own.raw.abs().le_(out_bound)); // as 0 and 1
        dgates.push_back(at::empty_like(own.gates));
      }
      over_shares(steps, directions, [&](int64_t d, int64_t begin, int64_t end) {
        backward(all[d], state[d], projection[d], douts[d], inside[d], dgates[d], steps, set, begin, end);
      });
    } else {
      const Tensor stacked = dout.view({directions, rows, dout.size(1)});
      const Tensor found =
          totune::backward_stacked(totune::stacked(all), at::stack(state), at::stack(projection), stacked, steps, set);
      for (int d = 0; d < directions; d++) dgates.push_back(found.select(0, d));
    }
    Tensor before = totune::rows_before(steps, dout);
    for (int d = 0; d < directions; d++, out += 3, wanted += 3) {
      out[0] = new Tensor(dgates[d]);
      if (wanted[1]) {
        Tensor states = all[d].outputs.index_select(0, before);
        out[1] = new Tensor(product(dgates[d].narrow(0, most, rows - most).t(), states, way));
      }
      if (wanted[2]) out[2] = new Tensor(product(douts[d].t(), all[d].mixed, way));
    }
  });
}

} // extern "C"
