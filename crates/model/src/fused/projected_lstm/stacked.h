// The steps of all directions at once, in LibTorch's own operations: for devices whose memory is not main memory, where a
// step takes as long as its launches. Tensors have the directions first.
#pragma once

#include <ATen/ATen.h>
#include <vector>

#include "steps.h"

namespace totune {

// One of the directions.
inline Made direction(const Made &all, int64_t d) {
  auto own = [&](const at::Tensor &x) { return x.select(0, d); };
  return {own(all.outputs), own(all.gates), own(all.cells), own(all.raw), own(all.mixed)};
}

// What the backward pass reads of all directions.
inline Made stacked(const std::vector<Made> &each) {
  auto all = [&](at::Tensor Made::*part) {
    std::vector<at::Tensor> parts;
    for (const Made &own : each) parts.push_back(own.*part);
    return at::stack(parts);
  };
  return {{}, all(&Made::gates), all(&Made::cells), all(&Made::raw), {}};
}

// `made` has the products in the place of the gates; `state` is `[directions, width, 4 cell]`, `projection`
// `[directions, cell, width]`.
inline void forward_stacked(const Made &made, const at::Tensor &state, const at::Tensor &projection, const Steps &steps,
                            const Settings &set) {
  const int64_t cell = made.cells.size(2);
  at::Tensor before;
  for (int64_t t = 0; t < steps.count; t++) {
    const int64_t n = steps.running[t], at = steps.first[t];
    at::Tensor g = made.gates.narrow(1, at, n), c = made.cells.narrow(1, at, n), m = made.mixed.narrow(1, at, n);
    at::Tensor r = made.raw.narrow(1, at, n), h = made.outputs.narrow(1, at, n);
    if (t) g.baddbmm_(made.outputs.narrow(1, steps.first[t - 1], n), state);
    g.narrow(2, 0, 2 * cell).sigmoid_();
    g.narrow(2, 2 * cell, cell).tanh_();
    g.narrow(2, 3 * cell, cell).sigmoid_();
    at::mul_out(c, g.narrow(2, 0, cell), g.narrow(2, 2 * cell, cell));
    if (t) c.addcmul_(g.narrow(2, cell, cell), before.narrow(1, 0, n));
    before = c.clamp(-set.cell_bound, set.cell_bound);
    at::mul_out(m, g.narrow(2, 3 * cell, cell), before.tanh());
    at::bmm_out(r, m, projection);
    at::clamp_out(h, r, -set.out_bound, set.out_bound);
  }
}

// The gradients of the products; `dout` holds those of the outputs, and on return those of the projections. `state` is
// `[directions, 4 cell, width]`, `projection` `[directions, width, cell]`.
inline at::Tensor backward_stacked(const Made &made, const at::Tensor &state, const at::Tensor &projection,
                                   const at::Tensor &dout, const Steps &steps, const Settings &set) {
  const int64_t directions = made.cells.size(0), rows = made.cells.size(1), cell = made.cells.size(2);
  const int64_t most = steps.sequences();
  auto gate = [&](int64_t k) { return made.gates.narrow(2, k * cell, cell); };
  const at::Tensor i = gate(0), f = gate(1), j = gate(2), o = gate(3);
  const at::Tensor kept = made.cells.clamp(-set.cell_bound, set.cell_bound), squashed = kept.tanh();
  // Nothing comes through what was clipped.
  const at::Tensor within = made.cells.abs().le_(set.cell_bound), inside = made.raw.abs().le_(set.out_bound);
  at::Tensor before = at::zeros_like(kept);
  before.narrow(1, most, rows - most).copy_(kept.index_select(1, rows_before(steps, kept)));
  // What the gradients of a step are multiplied with, of all steps: on the way from what was projected to the cells and to
  // the output gates, and from the cells to the other gates.
  const at::Tensor to_cells = at::tanh_backward(o, squashed), to_outs = at::sigmoid_backward(squashed, o);
  const at::Tensor to_gates =
      at::stack({at::sigmoid_backward(j, i), at::sigmoid_backward(before, f), at::tanh_backward(i, j)}, 2);
  at::Tensor dgates = at::empty_like(made.gates), by_gate = dgates.view({directions, rows, 4, cell});
  at::Tensor dcells = at::zeros({directions, most, cell}, dout.options()), dmixed = at::empty_like(dcells);
  for (int64_t t = steps.count; t-- > 0;) {
    const int64_t n = steps.running[t], at = steps.first[t], next = t + 1 < steps.count ? steps.running[t + 1] : 0;
    at::Tensor d = dout.narrow(1, at, n), dm = dmixed.narrow(1, 0, n), dc = dcells.narrow(1, 0, n);
    if (next) d.narrow(1, 0, next).baddbmm_(dgates.narrow(1, steps.first[t + 1], next), state);
    d.mul_(inside.narrow(1, at, n));
    at::bmm_out(dm, d, projection);
    dc.addcmul_(dm, to_cells.narrow(1, at, n)).mul_(within.narrow(1, at, n));
    at::Tensor dg = by_gate.narrow(1, at, n), of_cells = dg.narrow(2, 0, 3), of_outs = dg.select(2, 3);
    at::mul_out(of_cells, dc.unsqueeze(2), to_gates.narrow(1, at, n));
    at::mul_out(of_outs, dm, to_outs.narrow(1, at, n));
    dc.mul_(f.narrow(1, at, n));
  }
  return dgates;
}

} // namespace totune
