// An LSTM over some rows, forward and backward: at each step a product with the weights between states, kept in
// registers until the gates' functions are applied to it.
//
// Compiled once for each width: LEVEL names the result, WIDTH is the number of floats in a vector, ROWS how many rows
// share what is loaded of the weights, so that ROWS * 4 sums fit into the registers. Nothing here but plain loops over
// vectors of the compiler; no header with inline functions is included, which could leave code for one processor in a
// place where another finds it.

#include "rows.h"

#include <cstdint>
#include <cstring>

using totune::Kernels;
using totune::Rows;

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")

namespace {

typedef float Vec __attribute__((vector_size(WIDTH * 4)));
typedef int32_t Ints __attribute__((vector_size(WIDTH * 4)));
// The same, anywhere in memory.
typedef float Loose __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias));

INLINE Vec load(const float *from) { return *reinterpret_cast<const Loose *>(from); }

INLINE void store(float *to, Vec x) { *reinterpret_cast<Loose *>(to) = x; }

// The first n numbers, and zeros.
INLINE Vec load(const float *from, int64_t n) {
  if (n >= WIDTH) return load(from);
  float all[WIDTH] = {};
  for (int64_t i = 0; i < n; i++) all[i] = from[i];
  return load(all);
}

INLINE void store(float *to, Vec x, int64_t n) {
  if (n >= WIDTH) return store(to, x);
  float all[WIDTH];
  store(all, x);
  for (int64_t i = 0; i < n; i++) to[i] = all[i];
}

// exp(x) for |x| <= 43, where the product of two such numbers is still finite; what is beyond counts as the bound. By
// exp(n ln 2 + r) = 2^n exp(r), with a Taylor polynomial for |r| <= ln 2 / 2.
INLINE Vec exp_bounded(Vec x) {
  const Vec high = Vec{} + 43.0f, low = Vec{} - 43.0f;
  x = x > high ? high : x;
  x = x < low ? low : x;
  Vec shifted = x * 1.44269504f + 12582912.0f; // its lowest bits are n, the nearest integer
  Vec n = shifted - 12582912.0f;
  Vec r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
  Vec p = r * (1.0f / 5040.0f) + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  Ints bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 127) << 23; // what is above n's bits is shifted out
  Vec scale;
  std::memcpy(&scale, &bits, sizeof bits);
  return p * scale;
}

INLINE Vec tanh_of(Vec x) { return 1.0f - 2.0f / (1.0f + exp_bounded(x * 2.0f)); }

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// Rows of `all`, the longest first, that have more than `step` steps.
INLINE int64_t active(const Rows &all, int64_t step) {
  int64_t n = 0;
  while (n < all.count && all.lengths[n] > step) n++;
  return n;
}

// The size of the i-th of the equal parts, as equal as can be, of at most `most`, into which n is divided.
INLINE int64_t part(int64_t n, int64_t most, int64_t i) {
  int64_t parts = (n + most - 1) / most;
  return n / parts + (i < n % parts ? 1 : 0);
}

int64_t packed_forward(int64_t hidden) { return (hidden + WIDTH - 1) / WIDTH * hidden * 4 * WIDTH; }

// For each WIDTH units: for each number of the state before, its weights in the units' four gates.
void pack_forward(const float *weights, int64_t hidden, float *packed) {
  for (int64_t unit = 0; unit < hidden; unit += WIDTH)
    for (int64_t k = 0; k < hidden; k++)
      for (int64_t gate = 0; gate < 4; gate++)
        for (int64_t i = unit; i < unit + WIDTH; i++)
          *packed++ = i < hidden ? weights[(gate * hidden + i) * hidden + k] : 0.0f;
}

// WIDTH units of R rows for one step. `state` and `cell` [rows, hidden] are of the step before; the new state goes to
// `next`, the new cell into its place.
template <int R>
INLINE void step_units(const Rows &all, const int64_t *tokens, int64_t unit, bool is_first, const float *state, float *next,
                       float *cell) {
  const int64_t hidden = all.hidden, n = least(WIDTH, hidden - unit);
  Vec sums[R][4];
  UNROLL for (int r = 0; r < R; r++) {
    const float *given = all.gates + tokens[r] * 4 * hidden + unit;
    UNROLL for (int gate = 0; gate < 4; gate++) sums[r][gate] = load(given + gate * hidden, n);
  }
  if (!is_first) {
    const float *weights = all.packed + unit * hidden * 4;
    for (int64_t k = 0; k < hidden; k++, weights += 4 * WIDTH) {
      // More than the nearest cache holds: asked for some steps ahead. Beyond the end this does nothing.
      UNROLL for (int gate = 0; gate < 4; gate++) __builtin_prefetch(weights + (32 + gate) * WIDTH);
      Vec w0 = load(weights), w1 = load(weights + WIDTH);
      Vec w2 = load(weights + 2 * WIDTH), w3 = load(weights + 3 * WIDTH);
      UNROLL for (int r = 0; r < R; r++) {
        float x = state[r * hidden + k];
        sums[r][0] += x * w0;
        sums[r][1] += x * w1;
        sums[r][2] += x * w2;
        sums[r][3] += x * w3;
      }
    }
  }
  UNROLL for (int r = 0; r < R; r++) {
    // Two quotients by one division: 1/a = b/(ab), 1/b = a/(ab).
    Vec a = 1.0f + exp_bounded(-sums[r][0]), b = 1.0f + exp_bounded(-sums[r][1]);
    Vec both = 1.0f / (a * b);
    Vec input = b * both, forget = a * both;
    a = 1.0f + exp_bounded(sums[r][2] * 2.0f), b = 1.0f + exp_bounded(-sums[r][3]);
    both = 1.0f / (a * b);
    Vec fresh = 1.0f - 2.0f * (b * both), output = a * both;
    Vec value = input * fresh;
    if (!is_first) value += forget * load(cell + r * hidden + unit, n);
    Vec result = output * tanh_of(value);
    store(cell + r * hidden + unit, value, n);
    store(next + r * hidden + unit, result, n);
    store(all.states + tokens[r] * all.stride + unit, result, n);
    if (all.keep) {
      float *gates = all.gates + tokens[r] * 4 * hidden + unit;
      store(gates, input, n);
      store(gates + hidden, forget, n);
      store(gates + 2 * hidden, fresh, n);
      store(gates + 3 * hidden, output, n);
      store(all.cells + tokens[r] * hidden + unit, value, n);
    }
  }
}

void forward(const Rows &all) {
  const int64_t hidden = all.hidden, n_steps = all.count > 0 ? all.lengths[0] : 0;
  float *room = new float[3 * all.count * hidden];
  int64_t *tokens = new int64_t[all.count];
  float *state = room, *next = room + all.count * hidden, *cell = next + all.count * hidden;
  for (int64_t step = 0; step < n_steps; step++) {
    const int64_t n = active(all, step);
    for (int64_t r = 0; r < n; r++) {
      tokens[r] = all.first[r] + step * all.next;
      if (all.keep) {
        float *before = all.before + tokens[r] * hidden;
        if (step == 0) std::memset(before, 0, hidden * sizeof(float));
        else std::memcpy(before, state + r * hidden, hidden * sizeof(float));
      }
    }
    for (int64_t unit = 0; unit < hidden; unit += WIDTH) {
      for (int64_t r = 0, i = 0; r < n; i++) {
        const int64_t rows = part(n, ROWS, i), at = r * hidden;
        const bool is_first = step == 0;
#define CASE(R)                                                                                                        \
  case R:                                                                                                              \
    step_units<R>(all, tokens + r, unit, is_first, state + at, next + at, cell + at);                                  \
    break;
        switch (rows) {
          CASE(1)
          CASE(2)
          CASE(3)
#if ROWS > 3
          CASE(4)
          CASE(5)
          CASE(6)
#endif
        }
#undef CASE
        r += rows;
      }
    }
    float *old = state;
    state = next;
    next = old;
  }
  delete[] room;
  delete[] tokens;
}

int64_t packed_backward(int64_t hidden) { return (hidden + WIDTH - 1) / WIDTH * WIDTH * 4 * hidden; }

// For each group of up to four vectors of units: for each gate of each unit, its weights in these.
void pack_backward(const float *weights, int64_t hidden, float *packed) {
  const int64_t vectors = (hidden + WIDTH - 1) / WIDTH;
  for (int64_t v = 0, i = 0; v < vectors; i++) {
    const int64_t n = part(vectors, 4, i);
    for (int64_t k = 0; k < 4 * hidden; k++)
      for (int64_t j = v * WIDTH; j < (v + n) * WIDTH; j++) *packed++ = j < hidden ? weights[k * hidden + j] : 0.0f;
    v += n;
  }
}

// N vectors of the gradient of the state before, [rows, hidden], for R rows: gradients of gates times weights.
template <int R, int N>
INLINE void back_units(const Rows &all, const int64_t *tokens, const float *weights, int64_t unit, float *d_state) {
  const int64_t hidden = all.hidden;
  Vec sums[R][N] = {};
  const float *given[R];
  UNROLL for (int r = 0; r < R; r++) given[r] = all.d_gates + tokens[r] * 4 * hidden;
  for (int64_t k = 0; k < 4 * hidden; k++, weights += N * WIDTH) {
    Vec w[N];
    UNROLL for (int v = 0; v < N; v++) w[v] = load(weights + v * WIDTH);
    UNROLL for (int r = 0; r < R; r++) {
      float x = given[r][k];
      UNROLL for (int v = 0; v < N; v++) sums[r][v] += x * w[v];
    }
  }
  UNROLL for (int r = 0; r < R; r++) {
    UNROLL for (int v = 0; v < N; v++) {
      const int64_t at = unit + v * WIDTH;
      store(d_state + r * hidden + at, sums[r][v], hidden - at);
    }
  }
}

template <int R>
INLINE void back_group(const Rows &all, const int64_t *tokens, const float *weights, int64_t vectors, int64_t unit,
                       float *d_state) {
  switch (vectors) {
  case 1:
    return back_units<R, 1>(all, tokens, weights, unit, d_state);
  case 2:
    return back_units<R, 2>(all, tokens, weights, unit, d_state);
  case 3:
    return back_units<R, 3>(all, tokens, weights, unit, d_state);
  default:
    return back_units<R, 4>(all, tokens, weights, unit, d_state);
  }
}

// The gradient of one row's gates at one step, and of its cell before. `d_state` and `d_cell` [hidden] come from the step
// after.
INLINE void back_gates(const Rows &all, int64_t token, bool is_first, const float *d_state, float *d_cell) {
  const int64_t hidden = all.hidden;
  for (int64_t unit = 0; unit < hidden; unit += WIDTH) {
    const int64_t n = hidden - unit;
    const float *gates = all.gates + token * 4 * hidden + unit;
    Vec input = load(gates, n), forget = load(gates + hidden, n);
    Vec fresh = load(gates + 2 * hidden, n), output = load(gates + 3 * hidden, n);
    Vec bent = tanh_of(load(all.cells + token * hidden + unit, n));
    Vec above = load(all.states + token * all.stride + unit, n) + load(d_state + unit, n);
    Vec cell = load(d_cell + unit, n) + above * output * (1.0f - bent * bent);
    Vec earlier = {};
    if (!is_first) earlier = load(all.cells + (token - all.next) * hidden + unit, n);
    float *d_gates = all.d_gates + token * 4 * hidden + unit;
    store(d_gates, cell * fresh * input * (1.0f - input), n);
    store(d_gates + hidden, cell * earlier * forget * (1.0f - forget), n);
    store(d_gates + 2 * hidden, cell * input * (1.0f - fresh * fresh), n);
    store(d_gates + 3 * hidden, above * bent * output * (1.0f - output), n);
    store(d_cell + unit, cell * forget, n);
  }
}

void backward(const Rows &all) {
  const int64_t hidden = all.hidden, n_steps = all.count > 0 ? all.lengths[0] : 0;
  const int64_t all_vectors = (hidden + WIDTH - 1) / WIDTH;
  float *room = new float[2 * all.count * hidden]();
  int64_t *tokens = new int64_t[all.count];
  float *d_state = room, *d_cell = room + all.count * hidden;
  for (int64_t step = n_steps - 1; step >= 0; step--) {
    const int64_t n = active(all, step);
    for (int64_t r = 0; r < n; r++) {
      tokens[r] = all.first[r] + step * all.next;
      back_gates(all, tokens[r], step == 0, d_state + r * hidden, d_cell + r * hidden);
    }
    if (step == 0) break;
    const float *weights = all.packed;
    for (int64_t v = 0, i = 0; v < all_vectors; i++) {
      const int64_t vectors = part(all_vectors, 4, i), unit = v * WIDTH;
      for (int64_t r = 0, j = 0; r < n; j++) {
        const int64_t rows = part(n, ROWS, j);
#define CASE(R)                                                                                                        \
  case R:                                                                                                              \
    back_group<R>(all, tokens + r, weights, vectors, unit, d_state + r * hidden);                                      \
    break;
        switch (rows) {
          CASE(1)
          CASE(2)
          CASE(3)
#if ROWS > 3
          CASE(4)
          CASE(5)
          CASE(6)
#endif
        }
#undef CASE
        r += rows;
      }
      weights += vectors * WIDTH * 4 * hidden;
      v += vectors;
    }
  }
  delete[] room;
  delete[] tokens;
}

} // namespace

namespace totune {

extern const Kernels LEVEL;
const Kernels LEVEL = {packed_forward, pack_forward, packed_backward, pack_backward, forward, backward};

} // namespace totune
