// The largest value of each filter over the characters of a word, and its gradients. Called from kernel.rs alone.
//
// Every function returns null, or a message (malloc'd) when libtorch threw; new tensors are owned by the caller.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <algorithm>
#include <vector>

#include "../vectors.h"

using at::Tensor;
using totune::Floats;
using totune::guarded;
using totune::Integers;
using totune::LANES;
using totune::LooseFloats;
using totune::LooseIntegers;

namespace {

INLINE Floats load(const float *from) { return *reinterpret_cast<const LooseFloats *>(from); }

// V vectors of filters from `f` on: the largest value over the places, and the first place that has it. `rows` has for
// each character of the word its products, [width, n].
template <int V>
INLINE void block(const float *const *rows, int64_t places, int64_t width, int64_t n, int64_t f, const float *bias,
                  float *found, int32_t *at) {
  Floats best[V] = {}, sum[V];
  Integers where[V] = {};
  for (int64_t s = 0; s < places; s++) {
    for (int v = 0; v < V; v++) sum[v] = load(rows[s] + f + v * LANES);
    for (int64_t k = 1; k < width; k++)
      for (int v = 0; v < V; v++) sum[v] += load(rows[s + k] + k * n + f + v * LANES);
    for (int v = 0; v < V; v++) {
      if (s == 0) best[v] = sum[v]; // also what is not a number, which stays
      Integers better = sum[v] > best[v];
      best[v] = better ? sum[v] : best[v];
      where[v] = better ? Integers{} + static_cast<int32_t>(s) : where[v];
    }
  }
  for (int v = 0; v < V; v++) {
    *reinterpret_cast<LooseFloats *>(found + f + v * LANES) = best[v] + load(bias + f + v * LANES);
    *reinterpret_cast<LooseIntegers *>(at + f + v * LANES) = where[v];
  }
}

WIDEST void word(const float *const *rows, int64_t places, int64_t width, int64_t n, const float *bias, float *found,
                 int32_t *at) {
  int64_t f = 0;
  for (; f + 4 * LANES <= n; f += 4 * LANES) block<4>(rows, places, width, n, f, bias, found, at);
  for (; f + LANES <= n; f += LANES) block<1>(rows, places, width, n, f, bias, found, at);
  for (; f < n; f++) {
    for (int64_t s = 0; s < places; s++) {
      float sum = rows[s][f];
      for (int64_t k = 1; k < width; k++) sum += rows[s + k][k * n + f];
      if (s > 0 && !(sum > found[f])) continue;
      found[f] = sum;
      at[f] = static_cast<int32_t>(s);
    }
    found[f] += bias[f];
  }
}

// The gradients of some filters' products, for one word.
void scatter(const float *grad, const int32_t *at, const int64_t *ids, int64_t width, int64_t n, int64_t begin,
             int64_t end, float *d_products) {
  for (int64_t f = begin; f < end; f++) {
    const float g = grad[f];
    if (g == 0.0f) continue;
    const int64_t *under = ids + at[f];
    for (int64_t k = 0; k < width; k++) d_products[(under[k] * width + k) * n + f] += g;
  }
}

// [filters, dim, width] as [dim, width filters].
Tensor columns(const Tensor &weight) {
  return weight.permute({1, 2, 0}).reshape({weight.size(1), weight.size(2) * weight.size(0)});
}

} // namespace

extern "C" {

// in: table [characters, dim], weight [filters, dim, width], bias [filters], ids [words, length].
// out: the largest values, and their places as 32-bit integers, both [words, filters].
char *totune_char_cnn(Tensor *const *in, Tensor **out) {
  return guarded([&] {
    at::AutoDispatchBelowADInplaceOrView no_graph;
    const Tensor &table = *in[0], &weight = *in[1];
    Tensor bias = in[2]->contiguous(), ids = in[3]->contiguous();
    const int64_t n = weight.size(0), width = weight.size(2), words = ids.size(0), length = ids.size(1);
    TORCH_CHECK(table.scalar_type() == at::kFloat && weight.scalar_type() == at::kFloat && width <= length &&
                    table.size(1) == weight.size(1) && bias.size(0) == n,
                "characters: shapes or number types do not fit one another");
    const int64_t *all = ids.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < words * length; i++)
      TORCH_CHECK(all[i] >= 0 && all[i] < table.size(0), "characters: found id ", all[i], ", expected 0 to ",
                  table.size(0) - 1);
    Tensor products = table.mm(columns(weight)); // [characters, width filters]
    Tensor found = at::empty({words, n}, table.options()), places = at::empty({words, n}, ids.options().dtype(at::kInt));
    const float *from = products.const_data_ptr<float>(), *shift = bias.const_data_ptr<float>();
    float *to = found.data_ptr<float>();
    int32_t *at = places.data_ptr<int32_t>();
    at::parallel_for(0, words, 16, [&](int64_t begin, int64_t end) {
      std::vector<const float *> rows(length);
      for (int64_t w = begin; w < end; w++) {
        const int64_t *own = all + w * length;
        for (int64_t k = 0; k < length; k++) rows[k] = from + own[k] * width * n;
        int64_t tail = length - 1; // from here on all characters are the same
        while (tail > 0 && own[tail - 1] == own[length - 1]) tail--;
        word(rows.data(), std::min(length - width, tail) + 1, width, n, shift, to + w * n, at + w * n);
      }
    });
    out[0] = new Tensor(found);
    out[1] = new Tensor(places);
  });
}

// in: the gradient of the largest values; table, weight, ids, places. out: the gradients of table, weight and bias.
char *totune_char_cnn_backward(Tensor *const *in, Tensor **out) {
  return guarded([&] {
    at::AutoDispatchBelowADInplaceOrView no_graph;
    Tensor grad = in[0]->contiguous(), ids = in[3]->contiguous();
    const Tensor &table = *in[1], &weight = *in[2], &places = *in[4];
    const int64_t n = weight.size(0), dim = weight.size(1), width = weight.size(2), words = ids.size(0);
    const int64_t length = ids.size(1);
    Tensor d_products = at::zeros({table.size(0), width * n}, table.options());
    const float *from = grad.const_data_ptr<float>();
    float *to = d_products.data_ptr<float>();
    const int64_t *all = ids.const_data_ptr<int64_t>();
    const int32_t *at = places.const_data_ptr<int32_t>();
    // Threads divide the filters, and so never meet.
    at::parallel_for(0, n, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, words * width)),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t w = 0; w < words; w++)
                         scatter(from + w * n, at + w * n, all + w * length, width, n, begin, end, to);
                     });
    out[0] = new Tensor(d_products.mm(columns(weight).t()));
    Tensor d_weight = table.t().mm(d_products); // [dim, width filters]
    out[1] = new Tensor(d_weight.view({dim, width, n}).permute({2, 0, 1}).contiguous());
    out[2] = new Tensor(grad.sum(0));
  });
}

} // extern "C"
