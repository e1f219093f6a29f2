// What sublayers.cpp asks of passes.cpp, which is compiled once for each width of vectors.

#pragma once

#include <cstdint>

namespace totune {

// How operands of products lie in memory.
enum Format {
  F32 = 0,     // floats as they are
  HALF = 1,    // bfloat16
  ROUNDED = 2, // floats rounded to bfloat16
};

// The mask of dropout.rs: an element is 0 where the upper half of its hash is below `threshold`, else times `scale`.
// A threshold of 0 drops nothing.
struct Drop {
  uint32_t threshold, low, high;
  float scale;
};

// The longest sequence.
constexpr int64_t LONGEST = 8192;

// Rows [begin, end) of a sublayer's end: y = norm(x + drop(h + bias)).
struct Norm {
  const void *h;              // [rows, n], a product's result
  const float *bias;          // [n]
  const float *x;             // [rows, n]
  const float *scale, *shift; // [n]
  float epsilon;
  Drop drop;
  int64_t n;
  float *y;         // [rows, n]
  void *normalised; // [rows, n] in the format of operands, or null
  float *rstd;      // [rows]
};

struct NormBackward {
  const float *dy;        // [rows, n]
  const void *normalised; // [rows, n]
  const float *rstd;      // [rows]
  const float *scale;     // [n]
  Drop drop;
  int64_t n;
  float *dx;                       // [rows, n]
  void *dh;                        // [rows, n], an operand
  float *dscale, *dshift, *dbias; // [n], added to
};

// Sequences of batch * heads that have `length` tokens; their scores and probabilities are [.., length, length].
struct Attend {
  int64_t heads, seq, length;
  const float *mask; // added to scores, or null
  int64_t mask_batch, mask_query; // strides
  Drop drop;                      // masks are those of [batch * heads, seq, seq]
};

// A row of the batch: its tokens among those of all rows, and the places of its sequences, of which it may leave some free.
struct Row {
  int64_t first_token, tokens, first_place, length;
};

// Rows between [tokens, 3 width] and three times [places * heads, head_dim], in which each row of the batch is
// [heads, length, head_dim].
struct Heads {
  int64_t heads, dim, parts; // parts: 3 for queries, keys and values, 1 for the result
  const Row *rows;           // of the batch
  const float *bias;         // [parts * heads * dim], or null
  float query_scale;
};

// One set for each format.
struct Passes {
  void (*convert)(const float *x, void *out, int64_t n);
  void (*widen_add)(const void *x, float *out, int64_t n); // out += x, a product's result
  void (*gelu)(const void *u, const float *bias, void *out, int64_t begin, int64_t end, int64_t n);
  // `du` may be `da`.
  void (*gelu_backward)(const void *u, const float *bias, const void *da, void *du, float *dbias, int64_t begin,
                        int64_t end, int64_t n);
  void (*norm)(const Norm &, int64_t begin, int64_t end);
  void (*norm_backward)(const NormBackward &, int64_t begin, int64_t end);
  // A product's result into operands; `wide` takes queries and keys as floats besides, or is null.
  void (*split)(const Heads &, const void *rows, void *const *parts, float *const *wide, int64_t begin, int64_t end);
  // Operands or results of products back into rows of operands; `sums` [parts * heads * dim] are added to, or null.
  void (*merge)(const Heads &, const void *const *parts, void *rows, float *sums, int64_t begin, int64_t end);
  // `first` is the number of the first sequence, for masks; `dropped` may be `p` where nothing is dropped.
  void (*softmax)(const Attend &, const float *scores, void *p, void *dropped, int64_t first, int64_t count);
  void (*softmax_backward)(const Attend &, const void *p, const void *dp, void *ds, void *dropped, int64_t first,
                           int64_t count);
};

extern const Passes passes_default[3];
#ifdef TOTUNE_X86
extern const Passes passes_avx2[3], passes_avx512[3];
#endif

} // namespace totune
