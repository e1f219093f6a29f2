// The steps of one direction of a highway LSTM layer, forward and backward. Called from kernel.rs alone.
//
// Every function returns null, or a message (malloc'd) when libtorch threw; new tensors are owned by the caller. Gates lie
// in the order i, f, g, o, then what the way around has: d, or r and the linear function of the input.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <cstdint>

#include "../shared.h"
#include "operations.h"

using at::Tensor;
using totune::Around;
using totune::guarded;
using totune::INPUT;
using totune::logistic;
using totune::MEMORY;
using totune::NONE;
using totune::Reading;
using totune::tangent;

namespace {

// One token of one row. Where the way around is not the memory below, `own`, `over` and `below` are not read.
struct Cell {
  float *gates;        // products in, activations out
  const float *before; // the memory a step before
  const float *own, *over, *below;
  float *state, *memory;
};

template <int WAY> INLINE void forward_loop(const Cell &cell, int64_t n) {
  float *gates = cell.gates, *state = cell.state, *memory = cell.memory;
  const float *before = cell.before, *own = cell.own, *over = cell.over, *below = cell.below;
  SEPARATE
  for (int64_t k = 0; k < n; k++) {
    float i = logistic(gates[k]), f = logistic(gates[n + k]), g = tangent(gates[2 * n + k]);
    float o = logistic(gates[3 * n + k]), c = i * g + f * before[k];
    gates[k] = i;
    gates[n + k] = f;
    gates[2 * n + k] = g;
    gates[3 * n + k] = o;
    if (WAY == MEMORY) {
      float d = logistic(gates[4 * n + k] + own[k] * before[k] + over[k] * below[k]);
      gates[4 * n + k] = d;
      c += d * below[k];
    }
    float h = o * tangent(c);
    if (WAY == INPUT) {
      float r = logistic(gates[4 * n + k]), around = gates[5 * n + k];
      gates[4 * n + k] = r;
      h = around + r * (h - around);
    }
    state[k] = h;
    memory[k] = c;
  }
}

WIDEST void forward_cell(int way, const Cell &cell, int64_t n) {
  if (way == MEMORY) forward_loop<MEMORY>(cell, n);
  else if (way == INPUT) forward_loop<INPUT>(cell, n);
  else forward_loop<NONE>(cell, n);
}

// The gradient of a token: those of its state and memory in, those of its products, of the memory before and of the one
// below out. `dmemory` holds what the step after it gave; `down` and `dover` are sums over rows and steps.
struct Gradient {
  const float *gates, *before, *own, *over, *below, *memory;
  const float *dstate, *dkept; // of the outputs, the state's with what the step after it gave
  float *dmemory, *dgates, *dbelow, *down, *dover;
};

template <int WAY> INLINE void backward_loop(const Gradient &at, int64_t n) {
  const float *gates = at.gates, *before = at.before, *own = at.own, *over = at.over, *below = at.below;
  const float *memory = at.memory, *dstate = at.dstate, *dkept = at.dkept;
  float *dmemory = at.dmemory, *dgates = at.dgates, *dbelow = at.dbelow, *down = at.down, *dover = at.dover;
  SEPARATE
  for (int64_t k = 0; k < n; k++) {
    float i = gates[k], f = gates[n + k], g = gates[2 * n + k], o = gates[3 * n + k];
    float t = tangent(memory[k]), dh = dstate[k];
    if (WAY == INPUT) {
      float r = gates[4 * n + k], around = gates[5 * n + k];
      dgates[4 * n + k] = dh * (o * t - around) * r * (1.0f - r);
      dgates[5 * n + k] = dh * (1.0f - r);
      dh *= r;
    }
    float dc = dmemory[k] + dkept[k] + dh * o * (1.0f - t * t), back = dc * f;
    dgates[k] = dc * g * i * (1.0f - i);
    dgates[n + k] = dc * before[k] * f * (1.0f - f);
    dgates[2 * n + k] = dc * i * (1.0f - g * g);
    dgates[3 * n + k] = dh * t * o * (1.0f - o);
    if (WAY == MEMORY) {
      float d = gates[4 * n + k], dd = dc * below[k] * d * (1.0f - d);
      dgates[4 * n + k] = dd;
      dbelow[k] = dc * d + dd * over[k];
      down[k] += dd * before[k];
      dover[k] += dd * below[k];
      back += dd * own[k];
    }
    dmemory[k] = back;
  }
}

WIDEST void backward_cell(int way, const Gradient &at, int64_t n) {
  if (way == MEMORY) backward_loop<MEMORY>(at, n);
  else if (way == INPUT) backward_loop<INPUT>(at, n);
  else backward_loop<NONE>(at, n);
}

// Rows, steps, widths, and which token a step reads.
struct Sizes : Reading {
  int64_t rows, gates, width, shared;

  Sizes(const Tensor &x, const Tensor &state, bool reversed)
      : Reading{x.size(1), reversed}, rows(x.size(0)), gates(x.size(2)), width(state.size(1)), shared(state.size(0)) {}
  // Rows worth a thread of their own.
  int64_t grain() const { return 1 + 4096 / width; }
};

const float *floats(const Tensor &x) { return x.const_data_ptr<float>(); }

bool plain_floats(const Tensor &x) { return x.is_cpu() && x.scalar_type() == at::kFloat; }

// The inputs beside the products, which are `given` from the state weights on.
Around around(int way, Tensor *const *given, const Tensor *mask) {
  Around found{way, *given[0], {}, {}, {}, {}};
  if (way == MEMORY) found.own = *given[1], found.over = *given[2], found.below = *given[3];
  if (mask) found.real = mask->to(given[0]->scalar_type()).unsqueeze(2);
  return found;
}

// The gradient of the state weights.
Tensor state_gradient(const Tensor &dgates, const Tensor &both, const Sizes &s) {
  Tensor from = s.before(both.narrow(2, 0, s.width));
  Tensor products = dgates.narrow(2, 0, s.shared).reshape({s.rows * s.seq, s.shared});
  return at::mm(products.t(), from.view({s.rows * s.seq, s.width}));
}

} // namespace

extern "C" {

// in: products [rows, seq, gates], overwritten when `in_place`; state [shared, width]; where the way around is the memory
// below also own [1, width], over [1, width] and below [rows, seq, width]. `mask` [rows, seq] is 1 for what is real, or null.
// out: states and memories side by side [rows, seq, 2 width], zero at padding; gates [rows, seq, gates].
char *totune_highway_lstm(Tensor *const *in, const Tensor *mask, int in_place, int way, int reversed, Tensor **out) {
  return guarded([&] {
    at::AutoDispatchBelowADInplaceOrView no_graph;
    Tensor gates = in_place ? in[0]->contiguous() : in[0]->clone(at::MemoryFormat::Contiguous);
    const Sizes s(gates, *in[1], reversed);
    if (!plain_floats(gates)) {
      Tensor both = at::empty({s.rows, s.seq, 2 * s.width}, gates.options());
      totune::forward_in_operations(gates, both, around(way, in + 1, mask), s);
      out[0] = new Tensor(both);
      out[1] = new Tensor(gates);
      return;
    }
    Tensor state = in[1]->t(), real = mask ? mask->contiguous() : Tensor();
    Tensor own, over, below;
    if (way == MEMORY) own = in[2]->contiguous(), over = in[3]->contiguous(), below = in[4]->contiguous();
    Tensor both = at::empty({s.rows, s.seq, 2 * s.width}, gates.options()), none = at::zeros({s.width}, gates.options());
    float *gate = gates.data_ptr<float>(), *kept = both.data_ptr<float>();
    for (int64_t step = 0; step < s.seq; step++) {
      const int64_t token = s.token(step), last = step ? s.token(step - 1) : 0;
      if (step) {
        Tensor g = gates.select(1, token).narrow(1, 0, s.shared);
        g.addmm_(both.select(1, last).narrow(1, 0, s.width), state);
      }
      at::parallel_for(0, s.rows, s.grain(), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; row++) {
          const int64_t place = row * s.seq + token, before = row * s.seq + last;
          float *here = kept + place * 2 * s.width;
          // Zeros at padding are also what a row that is read from its end begins with.
          if (mask && floats(real)[place] == 0.0f) {
            std::memset(here, 0, 2 * s.width * sizeof(float));
            continue;
          }
          Cell cell{gate + place * s.gates,
                    step ? kept + before * 2 * s.width + s.width : floats(none),
                    way == MEMORY ? floats(own) : nullptr,
                    way == MEMORY ? floats(over) : nullptr,
                    way == MEMORY ? floats(below) + place * s.width : nullptr,
                    here,
                    here + s.width};
          forward_cell(way, cell, s.width);
        }
      });
    }
    out[0] = new Tensor(both);
    out[1] = new Tensor(gates);
  });
}

// in: the gradient of states and memories; these and the gates, as above; state; where the way around is the memory below
// also own, over and below.
// out: the gradients of the products, of state (where it is wanted), and of own, over and below.
char *totune_highway_lstm_backward(Tensor *const *in, const Tensor *mask, int want_state, int way, int reversed,
                                   Tensor **out) {
  return guarded([&] {
    at::AutoDispatchBelowADInplaceOrView no_graph;
    Tensor grad = in[0]->clone(at::MemoryFormat::Contiguous);
    const Tensor &both = *in[1], &gates = *in[2], &state = *in[3];
    const Sizes s(gates, state, reversed);
    if (!plain_floats(gates)) {
      const auto found = totune::backward_in_operations(grad, gates, both, around(way, in + 3, mask), s);
      out[0] = new Tensor(found.gates);
      if (want_state) out[1] = new Tensor(state_gradient(found.gates, both, s));
      if (way == MEMORY) {
        out[2] = new Tensor(found.own);
        out[3] = new Tensor(found.over);
        out[4] = new Tensor(found.below);
      }
      return;
    }
    Tensor real = mask ? mask->contiguous() : Tensor(), own, over, below, dbelow, sums;
    if (way == MEMORY) {
      own = in[4]->contiguous(), over = in[5]->contiguous(), below = in[6]->contiguous();
      dbelow = at::zeros_like(below);
      sums = at::zeros({s.rows, 2, s.width}, gates.options()); // of own and over, one for each row
    }
    Tensor dgates = at::zeros_like(gates), dmemory = at::zeros({s.rows, s.width}, gates.options());
    Tensor none = at::zeros({s.width}, gates.options());
    float *dgate = dgates.data_ptr<float>(), *dkept = dmemory.data_ptr<float>();
    for (int64_t step = s.seq; step-- > 0;) {
      const int64_t token = s.token(step), last = step ? s.token(step - 1) : 0;
      if (step + 1 < s.seq) {
        Tensor after = dgates.select(1, s.token(step + 1)).narrow(1, 0, s.shared);
        grad.select(1, token).narrow(1, 0, s.width).addmm_(after, state);
      }
      at::parallel_for(0, s.rows, s.grain(), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; row++) {
          const int64_t place = row * s.seq + token, before = row * s.seq + last;
          if (mask && floats(real)[place] == 0.0f) {
            std::memset(dkept + row * s.width, 0, s.width * sizeof(float));
            continue;
          }
          const float *kept = floats(both), *given = floats(grad) + place * 2 * s.width;
          const bool around = way == MEMORY;
          float *sum = around ? sums.data_ptr<float>() + row * 2 * s.width : nullptr;
          Gradient at{floats(gates) + place * s.gates,
                      step ? kept + before * 2 * s.width + s.width : floats(none),
                      around ? floats(own) : nullptr,
                      around ? floats(over) : nullptr,
                      around ? floats(below) + place * s.width : nullptr,
                      kept + place * 2 * s.width + s.width,
                      given,
                      given + s.width,
                      dkept + row * s.width,
                      dgate + place * s.gates,
                      around ? dbelow.data_ptr<float>() + place * s.width : nullptr,
                      sum,
                      around ? sum + s.width : nullptr};
          backward_cell(way, at, s.width);
        }
      });
    }
    out[0] = new Tensor(dgates);
    if (want_state) out[1] = new Tensor(state_gradient(dgates, both, s));
    if (way == MEMORY) {
      Tensor total = sums.sum(0);
      out[2] = new Tensor(total.narrow(0, 0, 1).clone());
      out[3] = new Tensor(total.narrow(0, 1, 1).clone());
      out[4] = new Tensor(dbelow);
    }
  });
}

} // extern "C"
