// The steps of an LSTM with a projection, forward and backward. Called from kernel.rs alone.
//
// Every function returns null, or a message (malloc'd) when libtorch threw. Tensors cross as the pointers that tch
// holds (at::Tensor*); a new one is owned by the caller. Rows are packed as mod.rs describes.

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <cstdint>
#include <vector>

#include "../shared.h"

using at::Tensor;
using totune::guarded;
using totune::logistic;
using totune::tangent;

namespace {

INLINE float clipped(float x, float bound) {
  x = x < -bound ? -bound : x;
  return x > bound ? bound : x;
}

template <bool FIRST>
INLINE void forward_loop(float *gates, const float *before, float *cells, float *mixed, int64_t width, float bound) {
  float *in = gates, *forget = gates + width, *candidate = gates + 2 * width, *out = gates + 3 * width;
  SEPARATE
  for (int64_t k = 0; k < width; k++) {
    float i = logistic(in[k]), f = logistic(forget[k]), g = tangent(candidate[k]), o = logistic(out[k]);
    float c = FIRST ? i * g : i * g + f * clipped(before[k], bound);
    in[k] = i;
    forget[k] = f;
    candidate[k] = g;
    out[k] = o;
    cells[k] = c;
    mixed[k] = o * tangent(clipped(c, bound));
  }
}

// One step of the `width` cells of one sequence. Gates lie side by side: products in, activations out. `before` is null at
// a first step.
WIDEST void forward_cells(float *gates, const float *before, float *cells, float *mixed, int64_t width, float bound) {
  if (before) {
    forward_loop<false>(gates, before, cells, mixed, width, bound);
  } else {
    forward_loop<true>(gates, before, cells, mixed, width, bound);
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

bool plain_floats(const Tensor &x) { return x.is_cpu() && x.scalar_type() == at::kFloat; }

} // namespace

extern "C" {

// in: products [rows, 4 cell], state [4 cell, width], projection [width, cell]. The products are overwritten when
// `in_place` says that nobody else reads them.
// out: outputs [rows, width]; gates [rows, 4 cell]; cells [rows, cell] and projections [rows, width] before clipping; what was
// projected [rows, cell].
char *totune_projected_lstm(Tensor *const *in, int in_place, const int64_t *running, int64_t steps, double cell_bound,
                            double out_bound, Tensor **out) {
  return guarded([&] {
    at::AutoDispatchBelowADInplaceOrView no_graph;
    Tensor gates = in_place ? in[0]->contiguous() : in[0]->clone(at::MemoryFormat::Contiguous);
    Tensor state = in[1]->t(), projection = in[2]->t();
    const int64_t rows = gates.size(0), cell = in[2]->size(1), width = in[2]->size(0);
    Tensor cells = at::empty({rows, cell}, gates.options()), mixed = at::empty_like(cells);
    Tensor raw = at::empty({rows, width}, gates.options()), outputs = at::empty_like(raw);
    const bool own = plain_floats(gates);
    for (int64_t t = 0, at = 0; t < steps; at += running[t], t++) {
      const int64_t n = running[t], last = t ? at - running[t - 1] : 0;
      Tensor g = gates.narrow(0, at, n);
      if (t) g.addmm_(outputs.narrow(0, last, n), state);
      if (own) {
        float *gp = gates.data_ptr<float>(), *cp = cells.data_ptr<float>(), *mp = mixed.data_ptr<float>();
        for (int64_t r = 0; r < n; r++) {
          const float *before = t ? cp + (last + r) * cell : nullptr;
          forward_cells(gp + (at + r) * 4 * cell, before, cp + (at + r) * cell, mp + (at + r) * cell, cell,
                        static_cast<float>(cell_bound));
        }
      } else {
        g.narrow(1, 0, 2 * cell).sigmoid_();
        g.narrow(1, 2 * cell, cell).tanh_();
        g.narrow(1, 3 * cell, cell).sigmoid_();
        Tensor c = cells.narrow(0, at, n);
        at::mul_out(c, g.narrow(1, 0, cell), g.narrow(1, 2 * cell, cell));
        if (t) c.addcmul_(g.narrow(1, cell, cell), cells.narrow(0, last, n).clamp(-cell_bound, cell_bound));
        Tensor m = mixed.narrow(0, at, n);
        at::mul_out(m, g.narrow(1, 3 * cell, cell), c.clamp(-cell_bound, cell_bound).tanh_());
      }
      Tensor r = raw.narrow(0, at, n), h = outputs.narrow(0, at, n);
      at::mm_out(r, mixed.narrow(0, at, n), projection);
      at::clamp_out(h, r, -out_bound, out_bound);
    }
    Tensor all[] = {outputs, gates, cells, raw, mixed};
    for (int k = 0; k < 5; k++) out[k] = new Tensor(all[k]);
  });
}

// in: the gradient of the outputs; outputs, gates, cells, projections, what was projected, as above; state, projection.
// out: the gradients of the products, of state and of projection, those that are wanted (the first one always).
char *totune_projected_lstm_backward(Tensor *const *in, const int64_t *running, int64_t steps, double cell_bound,
                                     double out_bound, const int *wanted, Tensor **out) {
  return guarded([&] {
    at::AutoDispatchBelowADInplaceOrView no_graph;
    const Tensor &outputs = *in[1], &gates = *in[2], &cells = *in[3], &raw = *in[4], &mixed = *in[5];
    const Tensor &state = *in[6], &projection = *in[7];
    const int64_t rows = gates.size(0), cell = projection.size(1), most = running[0];
    Tensor dgates = at::empty_like(gates), dout = in[0]->clone(at::MemoryFormat::Contiguous);
    Tensor inside = raw.abs().le_(out_bound); // as 0 and 1
    Tensor dcells = at::zeros({most, cell}, gates.options()), dmixed = at::empty({most, cell}, gates.options());
    const bool own = plain_floats(gates);
    for (int64_t t = steps, at = rows; t-- > 0;) {
      const int64_t n = running[t], next = t + 1 < steps ? running[t + 1] : 0;
      const int64_t after = at;
      at -= n;
      const int64_t last = t ? at - running[t - 1] : 0;
      Tensor d = dout.narrow(0, at, n);
      if (next) d.narrow(0, 0, next).addmm_(dgates.narrow(0, after, next), state);
      d.mul_(inside.narrow(0, at, n));
      Tensor dm = dmixed.narrow(0, 0, n);
      at::mm_out(dm, d, projection);
      if (own) {
        const float *gp = gates.const_data_ptr<float>(), *cp = cells.const_data_ptr<float>();
        const float *dmp = dmixed.const_data_ptr<float>();
        float *dcp = dcells.data_ptr<float>(), *dgp = dgates.data_ptr<float>();
        for (int64_t r = 0; r < n; r++) {
          const float *before = t ? cp + (last + r) * cell : nullptr;
          backward_cells(gp + (at + r) * 4 * cell, before, cp + (at + r) * cell, dmp + r * cell,
                         dcp + r * cell, dgp + (at + r) * 4 * cell, cell, static_cast<float>(cell_bound));
        }
      } else {
        Tensor g = gates.narrow(0, at, n), c = cells.narrow(0, at, n), dc = dcells.narrow(0, 0, n);
        auto gate = [&](const Tensor &x, int k) { return x.narrow(1, k * cell, cell); };
        Tensor i = gate(g, 0), f = gate(g, 1), j = gate(g, 2), o = gate(g, 3), dg = dgates.narrow(0, at, n);
        Tensor th = c.clamp(-cell_bound, cell_bound).tanh_();
        dc.add_(dm * o * (1 - th * th)).mul_(c.abs().le_(cell_bound));
        gate(dg, 0).copy_(dc * j * i * (1 - i));
        if (t) {
          gate(dg, 1).copy_(dc * cells.narrow(0, last, n).clamp(-cell_bound, cell_bound) * f * (1 - f));
        } else {
          gate(dg, 1).zero_();
        }
        gate(dg, 2).copy_(dc * i * (1 - j * j));
        gate(dg, 3).copy_(dm * th * o * (1 - o));
        dc.mul_(f);
      }
    }
    out[0] = new Tensor(dgates);
    if (wanted[1]) {
      // The output that each row but the first ones went on from.
      std::vector<int64_t> from;
      from.reserve(rows);
      for (int64_t t = 1, last = 0; t < steps; last += running[t - 1], t++)
        for (int64_t r = 0; r < running[t]; r++) from.push_back(last + r);
      Tensor index = at::from_blob(from.data(), {static_cast<int64_t>(from.size())}, at::kLong).to(gates.device());
      Tensor before = outputs.index_select(0, index);
      out[1] = new Tensor(at::mm(dgates.narrow(0, most, rows - most).t(), before));
    }
    if (wanted[2]) out[2] = new Tensor(at::mm(dout.t(), mixed));
  });
}

} // extern "C"
