// What lstm.cpp asks of rows.cpp, which is compiled once for each width of vectors.

#pragma once

#include <cstdint>

namespace totune {

// Some rows of a batch, read in one direction. A token is a real step of a row; rows lie one after the other. All
// matrices are row by row, and one number is a 32-bit float.
struct Rows {
  int64_t hidden;
  // How many rows, and of each, the longest first: its number of steps, and the token that is read first.
  int64_t count;
  const int64_t *lengths;
  const int64_t *first;
  // From a token to the one that is read next, 1 or -1.
  int64_t next;
  // [tokens, 4 hidden]. Forward: what the input and the biases give on entry; the gates, when `keep`, on return.
  // Backward: the gates.
  float *gates;
  // [tokens, hidden]: cells, and the state of the step before. Forward: written when `keep`.
  float *cells, *before;
  // The weights between states, as `pack_forward` or `pack_backward` leave them.
  const float *packed;
  // Forward: the states, written. Backward: their gradient, read. Tokens are `stride` apart.
  float *states;
  int64_t stride;
  bool keep;
  // Backward: the gradient of the gates before their functions, [tokens, 4 hidden], written.
  float *d_gates;
};

struct Kernels {
  // Numbers that `pack_*` write, and the packing of weights [4 hidden, hidden].
  int64_t (*packed_forward)(int64_t hidden);
  void (*pack_forward)(const float *weights, int64_t hidden, float *packed);
  int64_t (*packed_backward)(int64_t hidden);
  void (*pack_backward)(const float *weights, int64_t hidden, float *packed);
  void (*forward)(const Rows &);
  void (*backward)(const Rows &);
};

extern const Kernels rows_default;
#ifdef TOTUNE_X86
extern const Kernels rows_avx2, rows_avx512;
#endif

} // namespace totune
