// Products of matrices inside fused operations, in the way that products.rs has found to be the fastest.

#pragma once

#include <ATen/ATen.h>
#include <cstring>

#include "shared.h"

namespace at::native {
// oneDNN's product, `result = alpha a b + beta result`, of matrices either of which may be the view of a transposed one.
// Exported by libtorch without a header; at::mm takes it for bfloat16 alone.
void mkldnn_matmul(const Tensor &a, const Tensor &b, const Tensor &result, float beta, float alpha);
} // namespace at::native

namespace totune {

// How f32 matrices are multiplied: by libtorch's choice, by oneDNN, or rounded to bfloat16 by oneDNN, the result being
// rounded once more. The numbers are those of products.rs.
enum Way : int { BY_DEFAULT = 0, BY_ONEDNN = 1, AS_HALF = 2 };

// Less takes oneDNN longer to prepare than to compute.
constexpr int64_t SMALL_PRODUCT = 1 << 15;

// `result = a b`, or `result += a b`, all f32, or all bfloat16 where nothing is added to: two matrices or, where nothing is
// added to, two batches of them. `result` is contiguous.
inline void multiply(const at::Tensor &result, const at::Tensor &a, const at::Tensor &b, bool add, int way) {
  at::Tensor out = result;
  if (way != BY_DEFAULT && a.numel() * b.size(-1) >= SMALL_PRODUCT) {
    at::native::mkldnn_matmul(a, b, result, add ? 1.0f : 0.0f, 1.0f);
  } else if (add) {
    out.addmm_(a, b);
  } else if (a.dim() == 2) {
    at::mm_out(out, a, b);
  } else {
    at::bmm_out(out, a, b);
  }
}

// A bfloat16 number is the upper half of an f32.
INLINE float widened(uint16_t x) {
  uint32_t bits = static_cast<uint32_t>(x) << 16;
  float y;
  memcpy(&y, &bits, 4);
  return y;
}

// The nearest one, ties to even.
INLINE uint16_t halved(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

INLINE uint16_t *halves(const at::Tensor &x) { return static_cast<uint16_t *>(x.data_ptr()); }

} // namespace totune
