// The two sublayers of a transformer layer, forward and backward, with LibTorch's products and the passes of passes.cpp
// between them. Called from kernel.rs alone; conventions as in shim.cpp.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <array>
#include <functional>
#include <vector>

#include "../levels.h"
#include "../products.h"
#include "../shared.h"
#include "passes.h"

using at::Tensor;
using totune::guarded;
using namespace totune;

namespace {

// As `Options` in kernel.rs.
struct Options {
  int32_t format;
  int32_t onednn; // f32 products by oneDNN
  int64_t heads;
  int64_t batch, seq; // of the batch where padding has been taken out of the input, else 0
  double epsilon;
  Drop hidden, probabilities;
};

// From the narrowest vectors to the widest; null where this processor has none such.
const Passes *level(int i) {
#ifdef TOTUNE_X86
  if (i == 2)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")
               ? passes_avx512
               : nullptr;
  if (i == 1) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? passes_avx2 : nullptr;
#endif
  return i == 0 ? passes_default : nullptr;
}

Widest<Passes, level> passes;

// Blocks whose sums of columns are added up in order: as many whatever the number of threads, so that this does not
// change a sum.
constexpr int64_t BLOCKS = 16;

// A vector of n numbers, next to each other.
Tensor numbers(const Tensor &x, int64_t n) {
  TORCH_CHECK(x.dim() == 1 && x.size(0) == n, "found a vector ", x.sizes(), ", expected ", n, " numbers");
  return x.contiguous();
}

class Layer {
public:
  explicit Layer(const Options &options)
      : options(options), pass(passes.get()[options.format]), half(options.format == HALF) {}

  const Options &options;
  const Passes &pass;
  const bool half;

  at::TensorOptions kind() const { return at::TensorOptions().dtype(half ? at::kBFloat16 : at::kFloat); }

  Tensor empty(at::IntArrayRef shape) const { return at::empty(shape, kind()); }

  static void rows(int64_t n, int64_t columns, const std::function<void(int64_t, int64_t)> &f) {
    at::parallel_for(0, n, std::max<int64_t>(1, 16384 / std::max<int64_t>(columns, 1)), f);
  }

  // `f(begin, end, sums)` over all rows; the sums of `columns` columns.
  static Tensor summed(int64_t n, int64_t columns, const std::function<void(int64_t, int64_t, float *)> &f) {
    Tensor parts = at::zeros({BLOCKS, columns});
    float *sums = parts.data_ptr<float>();
    int64_t size = (n + BLOCKS - 1) / BLOCKS;
    at::parallel_for(0, BLOCKS, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++)
        if (i * size < n) f(i * size, std::min(n, (i + 1) * size), sums + i * columns);
    });
    return parts.sum(0);
  }

  void operand_into(const Tensor &x, const Tensor &out) const {
    const float *from = x.const_data_ptr<float>();
    char *to = static_cast<char *>(out.data_ptr());
    at::parallel_for(0, x.numel(), 16384, [&](int64_t begin, int64_t end) {
      pass.convert(from + begin, to + begin * out.element_size(), end - begin);
    });
  }

  // As an operand of products; the same tensor where that is what it is.
  Tensor operand(const Tensor &x) const {
    if (options.format == F32) return x.contiguous();
    Tensor out = empty(x.sizes());
    operand_into(x.contiguous(), out);
    return out;
  }

  void product_into(const Tensor &a, const Tensor &b, const Tensor &out) const {
    multiply(out, a, b, false, out.scalar_type() == at::kBFloat16 ? AS_HALF : options.onednn ? BY_ONEDNN : BY_DEFAULT);
  }

  Tensor product(const Tensor &a, const Tensor &b) const {
    Tensor out = a.dim() == 2 ? at::empty({a.size(0), b.size(1)}, a.options())
                              : at::empty({a.size(0), a.size(1), b.size(2)}, a.options());
    product_into(a, b, out);
    return out;
  }

  // The same in f32, for gradients of weights.
  Tensor wide_product(const Tensor &a, const Tensor &b) const {
    Tensor out = product(a, b);
    return half ? out.to(at::kFloat) : out;
  }

  void add_product(const Tensor &sum, const Tensor &a, const Tensor &b) const {
    Tensor out = product(a, b);
    float *to = sum.data_ptr<float>();
    const char *from = static_cast<const char *>(out.const_data_ptr());
    at::parallel_for(0, out.numel(), 16384, [&](int64_t begin, int64_t end) {
      pass.widen_add(from + begin * out.element_size(), to + begin, end - begin);
    });
  }

  // norm(x + drop(h + bias)): the result, and with `keep` what is normalised and the reciprocal deviation of each row.
  std::array<Tensor, 3> norm(const Tensor &h, const Tensor &bias, const Tensor &x, const Tensor &scale,
                             const Tensor &shift, bool keep) const {
    int64_t n = h.size(1);
    TORCH_CHECK(h.sizes() == x.sizes(), "found an output ", h.sizes(), " for an input ", x.sizes());
    Tensor y = at::empty_like(x), rstd = at::empty({h.size(0)}), normalised;
    if (keep) normalised = empty(h.sizes());
    const Tensor b = numbers(bias, n), s = numbers(scale, n), t = numbers(shift, n);
    Norm a{h.const_data_ptr(),        b.const_data_ptr<float>(), x.const_data_ptr<float>(),
           s.const_data_ptr<float>(), t.const_data_ptr<float>(), static_cast<float>(options.epsilon),
           options.hidden,              n,                             y.data_ptr<float>(),
           keep ? normalised.data_ptr() : nullptr, rstd.data_ptr<float>()};
    rows(h.size(0), n, [&](int64_t begin, int64_t end) { pass.norm(a, begin, end); });
    return {y, normalised, rstd};
  }

  // Gradients of x, of h (an operand), and of scale, shift and bias.
  std::array<Tensor, 5> norm_backward(const Tensor &dy, const Tensor &normalised, const Tensor &rstd,
                                      const Tensor &scale) const {
    int64_t n = dy.size(1);
    TORCH_CHECK(dy.sizes() == normalised.sizes(), "found a gradient ", dy.sizes(), " of an output ", normalised.sizes());
    Tensor dx = at::empty_like(dy), dh = empty(dy.sizes());
    const Tensor s = numbers(scale, n);
    NormBackward a{dy.const_data_ptr<float>(), normalised.const_data_ptr(), rstd.const_data_ptr<float>(),
                   s.const_data_ptr<float>(), options.hidden, n, dx.data_ptr<float>(), dh.data_ptr(),
                   nullptr, nullptr, nullptr};
    Tensor sums = summed(dy.size(0), 3 * n, [&](int64_t begin, int64_t end, float *sums) {
      NormBackward mine = a;
      mine.dscale = sums, mine.dshift = sums + n, mine.dbias = sums + 2 * n;
      pass.norm_backward(mine, begin, end);
    });
    return {dx, dh, sums.narrow(0, 0, n), sums.narrow(0, n, n), sums.narrow(0, 2 * n, n)};
  }
};

// Sequences of one length: the first, how many, and where their rows of [head_dim] and their scores begin.
struct Group {
  int64_t first, count, length, rows, scores;

  Tensor heads(const Tensor &all) const {
    return all.narrow(0, rows, count * length).view({count, length, all.size(1)});
  }

  Tensor probabilities(const Tensor &all) const {
    return all.narrow(0, scores, count * length * length).view({count, length, length});
  }
};

// The scores of so many floats stay in the cache.
constexpr int64_t CACHED = 1 << 20;

// The tokens of a batch, in whose rows each head has a sequence: all places of x, or what was left of them when padding was
// taken out, which `lengths` says. Then sequences are as long as their row, or, where their scores are few, as the longest:
// one product of all takes less time than a small one for each row.
struct Batch {
  int64_t heads, hidden, dim, seq, tokens = 0, places = 0, scores = 0;
  std::vector<Row> rows;

  Batch(const Options &options, const Tensor &x, Tensor *const *lengths)
      : heads(options.heads), hidden(x.size(2)), dim(heads > 0 ? hidden / heads : 0), seq(options.seq ? options.seq : x.size(1)) {
    TORCH_CHECK(seq <= LONGEST, "attention: found ", seq, " tokens, expected at most ", LONGEST);
    TORCH_CHECK(heads > 0 && hidden % heads == 0, "attention: found ", heads, " heads for a width of ", hidden);
    int64_t n = options.seq ? options.batch : x.size(0);
    Tensor of_rows;
    if (options.seq) of_rows = (*lengths)->contiguous();
    TORCH_CHECK(!options.seq || of_rows.numel() == n, "attention: found ", of_rows.numel(), " lengths of ", n, " rows");
    const int64_t *all = options.seq ? of_rows.const_data_ptr<int64_t>() : nullptr;
    bool few = n * heads * seq * seq <= CACHED;
    for (int64_t row = 0; row < n; row++) {
      int64_t count = all ? all[row] : seq, length = few ? seq : count;
      TORCH_CHECK(count >= 0 && count <= seq, "attention: found a row of ", count, " tokens, expected at most ", seq);
      rows.push_back({tokens, count, places, length});
      tokens += count;
      places += length;
      scores += heads * length * length;
    }
    TORCH_CHECK(tokens == x.size(0) * x.size(1), "attention: found ", x.size(0) * x.size(1), " tokens, expected ", tokens);
  }

  // Room for heads, [places * heads, head_dim]: zeros where tokens leave places free.
  Tensor room(at::TensorOptions kind) const {
    return places > tokens ? at::zeros({places * heads, dim}, kind) : at::empty({places * heads, dim}, kind);
  }

  float query_scale() const { return 1.0f / std::sqrt(static_cast<float>(dim)); }

  // Splits or merges `parts` parts.
  Heads parts(int64_t parts, const float *bias, float query_scale) const {
    return {heads, dim, parts, rows.data(), bias, query_scale};
  }

  // `f` of all sequences, as many at a time as leave their scores in the cache.
  void groups(const std::function<void(const Group &)> &f) const {
    Group group{};
    for (size_t row = 0, next; row < rows.size(); row = next) {
      for (next = row + 1; next < rows.size() && rows[next].length == rows[row].length;) next++;
      group.length = rows[row].length;
      int64_t end = next * heads, chunk = std::max<int64_t>(1, CACHED / std::max<int64_t>(1, group.length * group.length));
      for (; group.first < end; group.first += group.count) {
        group.count = std::min(chunk, end - group.first);
        f(group);
        group.rows += group.count * group.length;
        group.scores += group.count * group.length * group.length;
      }
    }
  }
};

Tensor flat(const Tensor &x) { return x.contiguous().view({-1, x.size(-1)}); }

void give(Tensor **out, std::initializer_list<Tensor> tensors) {
  for (const Tensor &tensor : tensors) *out++ = tensor.defined() ? new Tensor(tensor) : nullptr;
}

Tensor wanted_or_none(int wanted, const std::function<Tensor()> &f) { return wanted ? f() : Tensor(); }

} // namespace

extern "C" {

int totune_passes_level(int i) { return passes.take(i); }

// `in`: x, inner weight and bias, outer weight and bias, scale, shift. `out`: the result, and with `keep` what
// totune_feed_forward_backward reads.
char *totune_feed_forward(const Options *options, Tensor *const *in, int keep, Tensor **out) {
  return guarded([&] {
    Layer layer(*options);
    const Tensor x = flat(*in[0]), inner = layer.operand(*in[1]), outer = layer.operand(*in[3]);
    const Tensor operand = layer.operand(x);
    Tensor u = layer.product(operand, inner.t()); // [rows, intermediate]
    int64_t n = u.size(1);
    Tensor a = keep ? at::empty_like(u) : u;
    const Tensor inner_bias = numbers(*in[2], n);
    const float *bias = inner_bias.const_data_ptr<float>();
    Layer::rows(u.size(0), n, [&](int64_t begin, int64_t end) {
      layer.pass.gelu(u.const_data_ptr(), bias, a.data_ptr(), begin, end, n);
    });
    Tensor h = layer.product(a, outer.t()); // [rows, hidden]
    auto [y, normalised, rstd] = layer.norm(h, *in[4], x, *in[5], *in[6], keep);
    y = y.view(in[0]->sizes());
    if (keep)
      give(out, {y, operand, inner, outer, u, a, normalised, rstd});
    else
      give(out, {y});
  });
}

// `saved`: what the forward pass gave, then the inner bias and the scale.
char *totune_feed_forward_backward(const Options *options, Tensor *grad, Tensor *const *saved, const int *wanted,
                                   Tensor **out) {
  return guarded([&] {
    Layer layer(*options);
    const Tensor dy = flat(*grad), &x = *saved[0], &inner = *saved[1], &outer = *saved[2], &u = *saved[3],
                 &a = *saved[4];
    auto [dx, dh, dscale, dshift, dbias] = layer.norm_backward(dy, *saved[5], *saved[6], *saved[8]);
    Tensor da = layer.product(dh, outer); // [rows, intermediate]
    int64_t n = da.size(1);
    const Tensor bias = numbers(*saved[7], n);
    Tensor dinner_bias = Layer::summed(da.size(0), n, [&](int64_t begin, int64_t end, float *sums) {
      layer.pass.gelu_backward(u.const_data_ptr(), bias.const_data_ptr<float>(), da.const_data_ptr(),
                               da.data_ptr(), sums, begin, end, n);
    });
    if (wanted[0]) layer.add_product(dx, da, inner);
    Tensor dinner = wanted_or_none(wanted[1], [&] { return layer.wide_product(da.t(), x); });
    Tensor douter = wanted_or_none(wanted[3], [&] { return layer.wide_product(dh.t(), a); });
    give(out, {dx.view(grad->sizes()), dinner, dinner_bias, douter, dbias, dscale, dshift});
  });
}

// `in`: x, then weight and bias of queries, keys, values and the output, scale, shift, and the lengths of the rows where
// options->seq is not 0: then x has the tokens of all rows one after the other. `mask` is null or
// [batch, 1, 1 or seq, seq].
char *totune_self_attention(const Options *options, Tensor *const *in, Tensor *mask, int keep, Tensor **out) {
  return guarded([&] {
    Layer layer(*options);
    const Batch batch(*options, *in[0], in + 11);
    const int64_t hidden = batch.hidden;
    const Tensor x = flat(*in[0]), operand = layer.operand(x), output = layer.operand(*in[7]);
    Tensor weight = layer.empty({3 * hidden, hidden});
    for (int i = 0; i < 3; i++) {
      const Tensor &part = *in[1 + 2 * i];
      TORCH_CHECK(part.sizes() == at::IntArrayRef({hidden, hidden}), "attention: found a weight ", part.sizes(),
                  " for a width of ", hidden);
      layer.operand_into(part.contiguous(), weight.narrow(0, i * hidden, hidden));
    }
    Tensor bias = numbers(at::cat({*in[2], *in[4], *in[6]}), 3 * hidden);
    Tensor rows = layer.product(operand, weight.t()); // [rows, 3 hidden]

    Heads split = batch.parts(3, bias.const_data_ptr<float>(), batch.query_scale());
    std::array<Tensor, 3> parts;
    for (Tensor &part : parts) part = batch.room(layer.kind());
    // Scores are f32, of operands as the other products have them.
    std::array<Tensor, 2> wide = {parts[0], parts[1]};
    if (layer.half)
      for (Tensor &part : wide) part = batch.room(at::kFloat);
    void *to[3] = {parts[0].data_ptr(), parts[1].data_ptr(), parts[2].data_ptr()};
    float *to_wide[2] = {static_cast<float *>(wide[0].data_ptr()), static_cast<float *>(wide[1].data_ptr())};
    Layer::rows(batch.tokens, 3 * hidden, [&](int64_t begin, int64_t end) {
      layer.pass.split(split, rows.const_data_ptr(), to, layer.half ? to_wide : nullptr, begin, end);
    });

    Attend attend{batch.heads, batch.seq, 0, nullptr, 0, 0, options->probabilities};
    Tensor added;
    if (mask) {
      added = mask->contiguous();
      TORCH_CHECK(added.dim() == 4 && (added.size(0) == 1 || added.size(0) == static_cast<int64_t>(batch.rows.size())) &&
                      added.size(1) == 1 && (added.size(2) == 1 || added.size(2) == batch.seq) && added.size(3) == batch.seq,
                  "attention: found a mask ", added.sizes(), " for ", batch.rows.size(), " rows of ", batch.seq, " tokens");
      attend.mask = added.const_data_ptr<float>();
      attend.mask_query = added.size(2) == 1 ? 0 : batch.seq;
      attend.mask_batch = added.size(0) == 1 ? 0 : added.size(2) * batch.seq;
    }
    bool drops = options->probabilities.threshold > 0;
    Tensor context = layer.empty(parts[2].sizes()), probabilities;
    if (keep) probabilities = layer.empty({batch.scores});
    batch.groups([&](const Group &group) {
      Tensor scores = layer.product(group.heads(wide[0]), group.heads(wide[1]).transpose(1, 2));
      Tensor p = keep ? group.probabilities(probabilities) : layer.empty(scores.sizes());
      Tensor dropped = drops ? at::empty_like(p) : p;
      char *all = static_cast<char *>(p.data_ptr()), *all_dropped = static_cast<char *>(dropped.data_ptr());
      Attend here = attend;
      here.length = group.length;
      int64_t n = group.length * group.length, size = n * p.element_size();
      at::parallel_for(0, group.count, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n)), [&](int64_t begin, int64_t end) {
        layer.pass.softmax(here, scores.const_data_ptr<float>() + begin * n, all + begin * size,
                           all_dropped + begin * size, group.first + begin, end - begin);
      });
      layer.product_into(dropped, group.heads(parts[2]), group.heads(context));
    });
    Tensor merged = layer.empty({batch.tokens, hidden});
    Heads merge = batch.parts(1, nullptr, 1.0f);
    const void *from[1] = {context.const_data_ptr()};
    Layer::rows(batch.tokens, hidden, [&](int64_t begin, int64_t end) {
      layer.pass.merge(merge, from, merged.data_ptr(), nullptr, begin, end);
    });
    Tensor h = layer.product(merged, output.t()); // [rows, hidden]
    auto [y, normalised, rstd] = layer.norm(h, *in[8], x, *in[9], *in[10], keep);
    y = y.view(in[0]->sizes());
    if (keep)
      give(out, {y, operand, weight, output, parts[0], parts[1], parts[2], probabilities, merged, normalised, rstd});
    else
      give(out, {y});
  });
}

// `saved`: what the forward pass gave, then the scale, then the lengths of the rows if they were given.
char *totune_self_attention_backward(const Options *options, Tensor *grad, Tensor *const *saved, const int *wanted,
                                     Tensor **out) {
  return guarded([&] {
    Layer layer(*options);
    const Tensor &x = *saved[0], &weight = *saved[1], &output = *saved[2], &q = *saved[3], &k = *saved[4],
                 &v = *saved[5], &probabilities = *saved[6], &merged = *saved[7];
    const Batch batch(*options, *grad, saved + 11);
    const int64_t hidden = batch.hidden;
    const Tensor dy = flat(*grad);
    auto [dx, dh, dscale, dshift, dbias] = layer.norm_backward(dy, *saved[8], *saved[9], *saved[10]);
    Tensor doutput = wanted_or_none(wanted[7], [&] { return layer.wide_product(dh.t(), merged); });

    Tensor dmerged = layer.product(dh, output), dcontext = batch.room(layer.kind()); // [rows, hidden]
    Heads one = batch.parts(1, nullptr, 1.0f);
    void *to[1] = {dcontext.data_ptr()};
    Layer::rows(dy.size(0), hidden, [&](int64_t begin, int64_t end) {
      layer.pass.split(one, dmerged.const_data_ptr(), to, nullptr, begin, end);
    });

    Attend attend{batch.heads, batch.seq, 0, nullptr, 0, 0, options->probabilities};
    bool drops = options->probabilities.threshold > 0;
    Tensor dq = at::empty_like(q), dk = at::empty_like(k), dv = at::empty_like(v);
    batch.groups([&](const Group &group) {
      Tensor p = group.probabilities(probabilities);
      Tensor dp = layer.product(group.heads(dcontext), group.heads(v).transpose(1, 2));
      Tensor dropped = drops ? at::empty_like(p) : p;
      const char *all = static_cast<const char *>(p.const_data_ptr());
      char *grads = static_cast<char *>(dp.data_ptr()), *all_dropped = static_cast<char *>(dropped.data_ptr());
      Attend here = attend;
      here.length = group.length;
      int64_t n = group.length * group.length, size = n * p.element_size();
      // The gradient of the scores takes the place of that of the probabilities.
      at::parallel_for(0, group.count, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n)), [&](int64_t begin, int64_t end) {
        layer.pass.softmax_backward(here, all + begin * size, grads + begin * size, grads + begin * size,
                                    all_dropped + begin * size, group.first + begin, end - begin);
      });
      layer.product_into(dropped.transpose(1, 2), group.heads(dcontext), group.heads(dv));
      layer.product_into(dp, group.heads(k), group.heads(dq));
      layer.product_into(dp.transpose(1, 2), group.heads(q), group.heads(dk));
    });

    Heads three = batch.parts(3, nullptr, batch.query_scale());
    const void *from[3] = {dq.const_data_ptr(), dk.const_data_ptr(), dv.const_data_ptr()};
    Tensor drows = layer.empty({dy.size(0), 3 * hidden});
    Tensor sums = Layer::summed(dy.size(0), 3 * hidden, [&](int64_t begin, int64_t end, float *sums) {
      layer.pass.merge(three, from, drows.data_ptr(), sums, begin, end);
    });
    if (wanted[0]) layer.add_product(dx, drows, weight);
    Tensor dweight =
        wanted_or_none(wanted[1] || wanted[3] || wanted[5], [&] { return layer.wide_product(drows.t(), x); });
    auto third = [&](const Tensor &all, int64_t i) {
      return all.defined() ? all.narrow(0, i * hidden, hidden) : Tensor();
    };
    give(out, {dx.view(grad->sizes()), third(dweight, 0), third(sums, 0), third(dweight, 1), third(sums, 1),
               third(dweight, 2), third(sums, 2), doutput, dbias, dscale, dshift});
  });
}

} // extern "C"
