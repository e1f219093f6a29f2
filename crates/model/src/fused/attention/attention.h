// Attention by LibTorch's own operators, on any device, for attention.cpp and transformer/operators.

#pragma once

#include <ATen/ATen.h>
#include <array>
#include <cstdint>
#include <utility>

namespace totune {

// A share to drop, and what the generator of the device is seeded with for it.
struct Share {
  double rate;
  uint64_t seed;
};

// What the backward pass needs besides queries, keys, values and the result; some are undefined.
using Kept = std::array<at::Tensor, 3>;

// dropout(softmax(q k^T / sqrt(dim) + bias)) v: q, k, v and the result are [batch, heads, seq, dim], `bias` is undefined or
// [batch, 1, 1 or seq, seq].
std::pair<at::Tensor, Kept> attend(const at::Tensor &q, const at::Tensor &k, const at::Tensor &v,
                                   const at::Tensor &bias, Share share);

// Gradients of q, k and v.
std::array<at::Tensor, 3> attend_backward(const at::Tensor &grad, const at::Tensor &q, const at::Tensor &k,
                                          const at::Tensor &v, const at::Tensor &bias, const at::Tensor &out,
                                          const Kept &kept, Share share);

// The result and its mask, undefined where nothing is dropped.
std::pair<at::Tensor, at::Tensor> drop(const at::Tensor &x, Share share);

// The gradient of the input of `drop`.
at::Tensor drop_backward(const at::Tensor &grad, const at::Tensor &mask, Share share);

} // namespace totune
