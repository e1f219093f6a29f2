// Products of f32 matrices inside fused operations, by the library that products.rs has found to be the fastest.

#pragma once

#include <ATen/ATen.h>

namespace at::native {
// oneDNN's product, `result = alpha a b + beta result`, of matrices either of which may be the view of a transposed one.
// Exported by libtorch without a header.
void mkldnn_matmul(const Tensor &a, const Tensor &b, const Tensor &result, float beta, float alpha);
} // namespace at::native

namespace totune {

// `result = a b`, or `result += a b`; `onednn` says by which library. `result` is contiguous.
inline void multiply(const at::Tensor &result, const at::Tensor &a, const at::Tensor &b, bool add, bool onednn) {
  if (onednn) {
    at::native::mkldnn_matmul(a, b, result, add ? 1.0f : 0.0f, 1.0f);
  } else if (add) {
    result.addmm_(a, b);
  } else {
    at::Tensor out = result;
    at::mm_out(out, a, b);
  }
}

} // namespace totune
