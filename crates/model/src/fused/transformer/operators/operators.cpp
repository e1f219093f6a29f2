// Both sublayers of a post-norm transformer layer in LibTorch's operators, for memory that passes.cpp cannot read: few and
// large ones, since on a GPU each one has to be given to the device. Queries, keys and values are one product, a gradient is
// added to another by the product that computes it, and what is not asked for is left out.

#include <ATen/ATen.h>
#include <cstdint>
#include <initializer_list>

#include "../../attention/attention.h"
#include "../../shared.h"

using at::Tensor;
using totune::Kept;
using totune::Share;

namespace {

// As in mod.rs.
struct Options {
  int32_t half;
  int64_t heads;
  double epsilon;
  Share hidden, probabilities;
};

Tensor flat(const Tensor &x) { return x.is_contiguous() ? x.view({-1, x.size(-1)}) : x.reshape({-1, x.size(-1)}); }

Tensor operand(const Tensor &x, const Options &o) { return o.half ? x.to(at::kBFloat16) : x; }

Tensor wide(const Tensor &x) { return x.scalar_type() == at::kFloat ? x : x.to(at::kFloat); }

// The bias is added in f32, after a product of bfloat16 numbers.
Tensor affine(const Tensor &x, const Tensor &weight, const Tensor &bias, const Options &o) {
  return o.half ? wide(at::linear(x, weight)).add_(bias) : at::linear(x, weight, bias);
}

// `sum + dy weight`, in the place of `sum`.
Tensor added(const Tensor &sum, const Tensor &dy, const Tensor &weight, const Options &o) {
  return o.half ? sum.add_(wide(at::mm(dy, weight))) : sum.addmm_(dy, weight);
}

Tensor of_weight(const Tensor &dy, const Tensor &x) { return wide(at::mm(dy.t(), x)); }

struct Normalised {
  Tensor y, sum, mean, rstd, mask;
};

// norm(x + dropout(h)), in the place of h or of what is left of it.
Normalised norm(const Tensor &h, const Tensor &x, const Tensor &scale, const Tensor &shift, const Options &o) {
  auto [dropped, mask] = totune::drop(h, o.hidden);
  Tensor sum = dropped.add_(x);
  auto [y, mean, rstd] = at::native_layer_norm(sum, scale.sizes(), scale, shift, o.epsilon);
  return {y, sum, mean, rstd, mask};
}

void give(Tensor **out, std::initializer_list<Tensor> tensors) {
  for (const Tensor &tensor : tensors) *out++ = tensor.defined() ? new Tensor(tensor) : nullptr;
}

Tensor place(Tensor *tensor) { return tensor ? *tensor : Tensor(); }

} // namespace

extern "C" {

// `in`: x, inner weight and bias, outer weight and bias, scale, shift. `out`: the result, and what is kept.
char *totune_operators_feed_forward(const Options *options, Tensor *const *in, Tensor **out) {
  return totune::guarded([&] {
    const Options &o = *options;
    Tensor x = flat(*in[0]), from = operand(x, o), inner = operand(*in[1], o), outer = operand(*in[3], o);
    Tensor u = affine(from, inner, *in[2], o);
    Tensor a = operand(at::gelu(u), o);
    Normalised n = norm(affine(a, outer, *in[4], o), x, *in[5], *in[6], o);
    give(out, {n.y.view(in[0]->sizes()), from, inner, outer, u, a, n.sum, n.mean, n.rstd, n.mask});
  });
}

// `saved`: what was kept, scale, shift.
char *totune_operators_feed_forward_backward(const Options *options, Tensor *grad, Tensor *const *saved,
                                             const int *wanted, Tensor **out) {
  return totune::guarded([&] {
    const Options &o = *options;
    const Tensor &x = *saved[0], &inner = *saved[1], &outer = *saved[2], &u = *saved[3], &a = *saved[4];
    auto [dsum, dscale, dshift] =
        at::native_layer_norm_backward(flat(*grad), *saved[5], saved[9]->sizes(), *saved[6], *saved[7], *saved[9],
                                       *saved[10], {true, wanted[5] != 0, wanted[6] != 0});
    Tensor dh = totune::drop_backward(dsum, place(saved[8]), o.hidden), dy = operand(dh, o);
    Tensor douter, douter_bias, dinner, dinner_bias;
    if (wanted[3]) douter = of_weight(dy, a);
    if (wanted[4]) douter_bias = dh.sum(0);
    Tensor du = at::gelu_backward(wide(at::mm(dy, outer)), u), du_operand = operand(du, o);
    if (wanted[1]) dinner = of_weight(du_operand, x);
    if (wanted[2]) dinner_bias = du.sum(0);
    Tensor dx;
    if (wanted[0]) dx = added(dsum, du_operand, inner, o).view(grad->sizes());
    give(out, {dx, dinner, dinner_bias, douter, douter_bias, dscale, dshift});
  });
}

// `in`: x, then weight and bias of queries, keys, values and the output, scale, shift. `mask` may be null.
char *totune_operators_self_attention(const Options *options, Tensor *const *in, Tensor *mask, Tensor **out) {
  return totune::guarded([&] {
    const Options &o = *options;
    int64_t batch = in[0]->size(0), seq = in[0]->size(1), hidden = in[0]->size(2), dim = hidden / o.heads;
    Tensor x = flat(*in[0]), from = operand(x, o), output = operand(*in[7], o);
    Tensor weight = operand(at::cat({*in[1], *in[3], *in[5]}), o), bias = at::cat({*in[2], *in[4], *in[6]});
    Tensor rows = affine(from, weight, bias, o); // [rows, 3 hidden]
    auto part = [&](int64_t i) {                 // [batch, heads, seq, dim]
      return rows.as_strided({batch, o.heads, seq, dim}, {seq * 3 * hidden, dim, 3 * hidden, 1}, i * hidden);
    };
    Tensor q = part(0), k = part(1), v = part(2);
    auto [attended, kept] = totune::attend(q, k, v, place(mask), o.probabilities);
    Tensor context = operand(attended.transpose(1, 2).reshape({batch * seq, hidden}), o);
    Normalised n = norm(affine(context, output, *in[8], o), x, *in[9], *in[10], o);
    give(out, {n.y.view(in[0]->sizes()), from, weight, output, q, k, v, attended, kept[0], kept[1], kept[2], context,
               n.sum, n.mean, n.rstd, n.mask});
  });
}

// `saved`: what was kept, scale, shift.
char *totune_operators_self_attention_backward(const Options *options, Tensor *grad, Tensor *const *saved, Tensor *mask,
                                               const int *wanted, Tensor **out) {
  return totune::guarded([&] {
    const Options &o = *options;
    const Tensor &x = *saved[0], &weight = *saved[1], &output = *saved[2], &q = *saved[3], &k = *saved[4],
                 &v = *saved[5], &attended = *saved[6], &context = *saved[10];
    int64_t batch = q.size(0), heads = q.size(1), seq = q.size(2), dim = q.size(3), hidden = heads * dim;
    auto [dsum, dscale, dshift] =
        at::native_layer_norm_backward(flat(*grad), *saved[11], saved[15]->sizes(), *saved[12], *saved[13], *saved[15],
                                       *saved[16], {true, wanted[9] != 0, wanted[10] != 0});
    Tensor dh = totune::drop_backward(dsum, place(saved[14]), o.hidden), dy = operand(dh, o);
    Tensor doutput, doutput_bias;
    if (wanted[7]) doutput = of_weight(dy, context);
    if (wanted[8]) doutput_bias = dh.sum(0);
    Tensor dattended = wide(at::mm(dy, output)).view({batch, seq, heads, dim}).transpose(1, 2);
    Kept kept{place(saved[7]), place(saved[8]), place(saved[9])};
    auto parts = totune::attend_backward(dattended, q, k, v, place(mask), attended, kept, o.probabilities);
    for (Tensor &part : parts) part = part.transpose(1, 2);
    Tensor rows = at::cat({parts[0], parts[1], parts[2]}, 2).view({batch * seq, 3 * hidden});
    Tensor drows = operand(rows, o);
    Tensor dx, dweight, dbias;
    if (wanted[0]) dx = added(dsum, drows, weight, o).view(grad->sizes());
    if (wanted[1] || wanted[3] || wanted[5]) dweight = of_weight(drows, x);
    if (wanted[2] || wanted[4] || wanted[6]) dbias = rows.sum(0);
    auto of_weights = [&](int64_t i) {
      return dweight.defined() ? dweight.as_strided({hidden, hidden}, {hidden, 1}, i * hidden * hidden) : Tensor();
    };
    auto of_biases = [&](int64_t i) {
      return dbias.defined() ? dbias.as_strided({hidden}, {1}, i * hidden) : Tensor();
    };
    give(out, {dx, of_weights(0), of_biases(0), of_weights(1), of_biases(1), of_weights(2), of_biases(2), doutput,
               doutput_bias, dscale, dshift});
  });
}

} // extern "C"
