// Attention by LibTorch's scaled-dot-product operators and their own backward, called without its autograd.
//
// CUDA has one with dropout, called memory-efficient. The CPU has one without dropout. What neither takes is made of
// products and a softmax.

#include "attention.h"

#include <cmath>

#include "../shared.h"

using at::Tensor;

namespace totune {

namespace {

enum Way { EFFICIENT, FLASH, PRODUCTS };

Way way(const Tensor &q, Share share) {
  if (q.is_cuda() && q.size(3) % 8 == 0) return EFFICIENT;
  return q.is_cpu() && share.rate == 0.0 ? FLASH : PRODUCTS;
}

// The bias of every head and query, a view. The memory-efficient operator wants rows that begin at multiples of 16 numbers.
Tensor expanded(const Tensor &bias, const Tensor &q, Way way) {
  if (!bias.defined()) return bias;
  int64_t keys = bias.size(3), past = (16 - keys % 16) % 16;
  Tensor aligned = bias;
  if (way == EFFICIENT && past != 0) aligned = at::constant_pad_nd(bias, {0, past}).narrow(3, 0, keys);
  return aligned.expand({q.size(0), way == FLASH ? 1 : q.size(1), q.size(2), keys});
}

std::optional<Tensor> or_none(const Tensor &tensor) {
  return tensor.defined() ? std::optional<Tensor>(tensor) : std::nullopt;
}

double scale(const Tensor &q) { return 1.0 / std::sqrt(static_cast<double>(q.size(3))); }

} // namespace

std::pair<Tensor, Tensor> drop(const Tensor &x, Share share) {
  if (share.rate == 0.0) return {x, Tensor()};
  at::manual_seed(share.seed);
  auto [y, mask] = at::native_dropout(x, share.rate, true);
  return {y, mask};
}

Tensor drop_backward(const Tensor &grad, const Tensor &mask, Share share) {
  return mask.defined() ? at::native_dropout_backward(grad, mask, 1.0 / (1.0 - share.rate)) : grad;
}

// LibTorch's kernels take the numbers of a head to be next to each other, and the one for the CPU does not look.
Tensor by_head(const Tensor &x) { return x.stride(-1) == 1 ? x : x.contiguous(); }

std::pair<Tensor, Kept> attend(const Tensor &queries, const Tensor &keys, const Tensor &values, const Tensor &bias,
                               Share share) {
  Tensor q = by_head(queries), k = by_head(keys), v = by_head(values);
  Way taken = way(q, share);
  Tensor mask = expanded(bias, q, taken);
  if (taken == EFFICIENT) {
    if (share.rate > 0.0) at::manual_seed(share.seed);
    auto [out, log_sum, seed, offset] =
        at::_scaled_dot_product_efficient_attention(q, k, v, or_none(mask), /*compute_log_sumexp=*/true, share.rate);
    return {out, {log_sum, seed, offset}};
  }
  if (taken == FLASH) {
    auto [out, log_sum] = at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, false, or_none(mask));
    return {out, {log_sum, Tensor(), Tensor()}};
  }
  Tensor scores = at::matmul(q * scale(q), k.transpose(2, 3));
  if (mask.defined()) scores.add_(mask);
  Tensor p = at::_softmax(scores, 3, false);
  auto [dropped, dropping] = drop(p, share);
  return {at::matmul(dropped, v), {p, dropping, Tensor()}};
}

std::array<Tensor, 3> attend_backward(const Tensor &grad, const Tensor &queries, const Tensor &keys, const Tensor &values,
                                      const Tensor &bias, const Tensor &out, const Kept &kept, Share share) {
  Tensor q = by_head(queries), k = by_head(keys), v = by_head(values);
  Way taken = way(q, share);
  Tensor mask = expanded(bias, q, taken);
  if (taken == EFFICIENT) {
    auto [dq, dk, dv, dbias] = at::_scaled_dot_product_efficient_attention_backward(
        grad, q, k, v, mask, out, kept[0], kept[1], kept[2], share.rate, {true, true, true, false});
    return {dq, dk, dv};
  }
  if (taken == FLASH) {
    auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(grad, q, k, v, out, kept[0], 0.0, false,
                                                                                  or_none(mask));
    return {dq, dk, dv};
  }
  const Tensor &p = kept[0], &dropping = kept[1];
  // Dropout of the probabilities once more, by their mask.
  Tensor dropped = drop_backward(p, dropping, share);
  Tensor dv = at::matmul(dropped.transpose(2, 3), grad);
  Tensor dp = drop_backward(at::matmul(grad, v.transpose(2, 3)), dropping, share);
  Tensor ds = at::_softmax_backward_data(dp, p, 3, p.scalar_type()).mul_(scale(q));
  return {at::matmul(ds, k), at::matmul(ds.transpose(2, 3), q), dv};
}

} // namespace totune

extern "C" {

// `in`: q, k, v. `bias` may be null. `out`: the result and three places for what is kept.
char *totune_attend(Tensor *const *in, Tensor *bias, double rate, uint64_t seed, Tensor **out) {
  return totune::guarded([&] {
    auto [y, kept] = totune::attend(*in[0], *in[1], *in[2], bias ? *bias : Tensor(), {rate, seed});
    out[0] = new Tensor(y);
    for (int i = 0; i < 3; i++)
      if (kept[i].defined()) out[1 + i] = new Tensor(kept[i]);
  });
}

// `in`: the gradient, q, k, v, the result, and what was kept, null where it is nothing.
char *totune_attend_backward(Tensor *const *in, Tensor *bias, double rate, uint64_t seed, Tensor **out) {
  return totune::guarded([&] {
    totune::Kept kept;
    for (int i = 0; i < 3; i++)
      if (in[5 + i]) kept[i] = *in[5 + i];
    auto grads = totune::attend_backward(*in[0], *in[1], *in[2], *in[3], bias ? *bias : Tensor(), *in[4], kept,
                                         {rate, seed});
    for (int i = 0; i < 3; i++) out[i] = new Tensor(grads[i]);
  });
}

// The result, and the mask where there is one.
char *totune_drop(Tensor *x, double rate, uint64_t seed, Tensor **out) {
  return totune::guarded([&] {
    auto [y, mask] = totune::drop(*x, {rate, seed});
    out[0] = new Tensor(y);
    if (mask.defined()) out[1] = new Tensor(mask);
  });
}

char *totune_drop_backward(Tensor *grad, Tensor *mask, double rate, Tensor **out) {
  return totune::guarded([&] { *out = new Tensor(totune::drop_backward(*grad, *mask, {rate, 0})); });
}

} // extern "C"
