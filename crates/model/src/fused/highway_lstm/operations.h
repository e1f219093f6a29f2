// The steps in LibTorch's own operations: for devices whose memory is not main memory, where a step takes as long as its
// launches. What does not depend on the step before is computed for all steps at once.
#pragma once

#include <ATen/ATen.h>
#include <vector>

namespace totune {

// What goes around a cell, as `Way` in mod.rs.
enum Way { NONE = 0, MEMORY = 1, INPUT = 2 };

// Inputs beside the products: state weights [shared, width]; for a gate on the memory below own and over [1, width] and
// below [rows, seq, width]; `real` [rows, seq, 1] is 1 for what is real, or undefined where all is.
struct Around {
  int way;
  at::Tensor state, own, over, below, real;
};

// The order in which the tokens are read.
struct Reading {
  int64_t seq;
  bool reversed;

  int64_t token(int64_t step) const { return reversed ? seq - 1 - step : step; }
  // Of each token what the token read before it has in `x` [rows, seq, ...]; zero at the first one.
  at::Tensor before(const at::Tensor &x) const {
    at::Tensor shifted = at::zeros_like(x, at::MemoryFormat::Contiguous);
    const int64_t to = reversed ? 0 : 1, from = 1 - to;
    shifted.narrow(1, to, seq - 1).copy_(x.narrow(1, from, seq - 1));
    return shifted;
  }
};

// `gates` [rows, seq, gates] has the products and gets the activations; `both` [rows, seq, 2 width] gets states and
// memories side by side.
inline void forward_in_operations(const at::Tensor &gates, const at::Tensor &both, const Around &around,
                                  const Reading &reading) {
  const int64_t width = both.size(2) / 2, shared = around.state.size(0);
  const at::Tensor state = around.state.t();
  if (around.way == MEMORY) gates.narrow(2, 4 * width, width).addcmul_(around.over, around.below);
  at::Tensor kept; // both of the token before
  for (int64_t step = 0; step < reading.seq; step++) {
    const int64_t token = reading.token(step);
    const at::Tensor g = gates.select(1, token), now = both.select(1, token);
    auto gate = [&](int64_t k) { return g.narrow(1, k * width, width); };
    at::Tensor h = now.narrow(1, 0, width), c = now.narrow(1, width, width);
    if (step) g.narrow(1, 0, shared).addmm_(kept.narrow(1, 0, width), state);
    g.narrow(1, 0, 2 * width).sigmoid_();
    gate(2).tanh_();
    at::mul_out(c, gate(0), gate(2));
    if (step) c.addcmul_(gate(1), kept.narrow(1, width, width));
    if (around.way == MEMORY) {
      if (step) gate(4).addcmul_(around.own, kept.narrow(1, width, width));
      c.addcmul_(gate(4).sigmoid_(), around.below.select(1, token));
    }
    at::mul_out(h, gate(3).sigmoid_(), c.tanh());
    if (around.way == INPUT) at::lerp_out(h, gate(5), h, gate(4).sigmoid_());
    // Zeros at padding are also what a row that is read from its end begins with.
    if (around.real.defined()) now.mul_(around.real.select(1, token));
    kept = now;
  }
}

// Gradients of the products, and for a gate on the memory below of own, over and below.
struct Gradients {
  at::Tensor gates, own, over, below;
};

// `grad` holds the gradients of states and memories, and on return those of what the steps made.
inline Gradients backward_in_operations(const at::Tensor &grad, const at::Tensor &gates, const at::Tensor &both,
                                        const Around &around, const Reading &reading) {
  const int64_t width = both.size(2) / 2, shared = around.state.size(0), n_gates = gates.size(2) / width;
  auto gate = [&](int64_t k) { return gates.narrow(2, k * width, width); };
  auto kept = [&](const at::Tensor &x) { return around.real.defined() ? x * around.real : x; };
  const at::Tensor memory = both.narrow(2, width, width), before = reading.before(memory), squashed = memory.tanh();
  const at::Tensor i = gate(0), f = gate(1), j = gate(2), o = gate(3);
  // What the gradients of a step are multiplied with, of all steps: on the way from the state to the memory and to the gates
  // behind it, from the memory to the gates before it, and to the memory of the step before.
  at::Tensor to_memory = at::tanh_backward(o, squashed), to_before = f, to_own;
  std::vector<at::Tensor> of_state = {at::sigmoid_backward(squashed, o)};
  if (around.way == INPUT) {
    const at::Tensor r = gate(4);
    to_memory = to_memory * r;
    of_state = {of_state[0] * r, at::sigmoid_backward(o * squashed - gate(5), r), 1 - r};
  }
  if (around.way == MEMORY) {
    to_own = at::sigmoid_backward(around.below, gate(4));
    to_before = at::addcmul(f, to_own, around.own);
  }
  const at::Tensor of_memory =
      at::stack({at::sigmoid_backward(j, i), at::sigmoid_backward(before, f), at::tanh_backward(i, j)}, 2);
  auto rows = [&](const at::Tensor &x) { return around.real.defined() ? x * around.real.unsqueeze(2) : x; };
  const at::Tensor to_inner = rows(of_memory), to_outer = rows(at::stack(of_state, 2));
  to_memory = kept(to_memory), to_before = kept(to_before);
  at::Tensor dgates = at::empty_like(gates), by_gate = dgates.view({gates.size(0), reading.seq, n_gates, width});
  at::Tensor carried = at::empty({gates.size(0), width}, gates.options());
  for (int64_t step = reading.seq; step-- > 0;) {
    const int64_t token = reading.token(step);
    const bool last = step + 1 == reading.seq;
    at::Tensor d = grad.select(1, token), dh = d.narrow(1, 0, width), dc = d.narrow(1, width, width);
    if (!last) {
      dh.addmm_(dgates.select(1, reading.token(step + 1)).narrow(1, 0, shared), around.state);
      dc.add_(carried);
    }
    dc.addcmul_(dh, to_memory.select(1, token));
    at::Tensor dg = by_gate.select(1, token), inner = dg.narrow(1, 0, 3), outer = dg.narrow(1, 3, to_outer.size(2));
    at::mul_out(inner, dc.unsqueeze(1), to_inner.select(1, token));
    at::mul_out(outer, dh.unsqueeze(1), to_outer.select(1, token));
    at::mul_out(carried, dc, to_before.select(1, token));
  }
  if (around.way != MEMORY) return {dgates, {}, {}, {}};
  const at::Tensor dc = grad.narrow(2, width, width), dd = dc * kept(to_own);
  dgates.narrow(2, 4 * width, width).copy_(dd);
  auto total = [&](const at::Tensor &x) { return (dd * x).sum(at::IntArrayRef({0, 1})).unsqueeze(0); };
  return {dgates, total(before), total(around.below), kept(dc * gate(4)).addcmul_(dd, around.over)};
}

} // namespace totune
