// The log likelihood of a chain of tags and its derivative, row by row. Called from kernel.rs alone.
//
// Every function returns null, or a message (malloc'd) when libtorch threw; new tensors are owned by the caller.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../shared.h"

using at::Tensor;
using totune::exponential;
using totune::guarded;

namespace {

// One word: from the log scores `alpha` of the tags before, with transitions `[k, k]` (from, to), the probability of
// each tag before given the tag (`before`, `[k, k]`), and the log of the sum over them (`sums`, `[k]`).
WIDEST void advance(const float *alpha, const float *transitions, int64_t k, float *before, float *largest,
                    float *sums) {
  for (int64_t j = 0; j < k; j++) largest[j] = -INFINITY;
  for (int64_t i = 0; i < k; i++) {
    for (int64_t j = 0; j < k; j++) {
      float score = alpha[i] + transitions[i * k + j];
      before[i * k + j] = score;
      largest[j] = score > largest[j] ? score : largest[j];
    }
  }
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j < k; j++) before[i * k + j] -= largest[j];
  for (int64_t i = 0; i < k * k; i++) before[i] = exponential(before[i]);
  for (int64_t j = 0; j < k; j++) sums[j] = 0.0f;
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j < k; j++) sums[j] += before[i * k + j];
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j < k; j++) before[i * k + j] /= sums[j];
}

struct Chain {
  int64_t k;
  const float *transitions, *start, *end;
};

// The length of each row.
std::vector<int64_t> lengths(const Tensor &mask) {
  int64_t batch = mask.size(0), words = mask.size(1);
  const float *values = mask.const_data_ptr<float>();
  std::vector<int64_t> result(batch);
  for (int64_t b = 0; b < batch; b++) {
    int64_t n = 0;
    while (n < words && values[b * words + n] != 0.0f) n++;
    TORCH_CHECK(n > 0, "row ", b, " of the mask has no word");
    result[b] = n;
  }
  return result;
}

// The log likelihood of one row. `kept` has room for k * k numbers for each word where they are kept, else once.
double row(const Chain &c, const float *emissions, const int64_t *tags, int64_t n, bool keep, float *kept, float *last) {
  int64_t k = c.k;
  std::vector<float> alpha(k), largest(k), sums(k);
  // Scores are kept relative to their largest, so that they stay precise over long rows.
  double offset = 0.0, score = 0.0;
  for (int64_t j = 0; j < k; j++) alpha[j] = c.start[j] + emissions[j];
  score += c.start[tags[0]] + emissions[tags[0]];
  for (int64_t t = 1; t < n; t++) {
    float top = *std::max_element(alpha.begin(), alpha.end());
    for (float &a : alpha) a -= top;
    offset += top;
    const float *emission = emissions + t * k;
    advance(alpha.data(), c.transitions, k, keep ? kept + t * k * k : kept, largest.data(), sums.data());
    for (int64_t j = 0; j < k; j++) alpha[j] = largest[j] + std::log(sums[j]) + emission[j];
    score += c.transitions[tags[t - 1] * k + tags[t]] + emission[tags[t]];
  }
  score += c.end[tags[n - 1]];
  for (int64_t j = 0; j < k; j++) alpha[j] += c.end[j];
  float top = *std::max_element(alpha.begin(), alpha.end());
  double sum = 0.0;
  for (int64_t j = 0; j < k; j++) sum += std::exp(static_cast<double>(alpha[j] - top));
  if (keep)
    for (int64_t j = 0; j < k; j++) last[j] = std::exp(alpha[j] - top) / static_cast<float>(sum);
  return score - (offset + top + std::log(sum));
}

// The gradient of one row's log likelihood, times `grad`: the observed less the expected number of each tag and pair.
WIDEST void back(const float *kept, const float *last, const int64_t *tags, int64_t n, int64_t k, float grad,
                 float *d_emissions, float *d_transitions, float *d_start, float *d_end, float *marginal, float *next) {
  for (int64_t j = 0; j < k; j++) {
    marginal[j] = grad * last[j];
    d_end[j] -= marginal[j];
  }
  d_end[tags[n - 1]] += grad;
  for (int64_t t = n - 1; t > 0; t--) {
    const float *before = kept + t * k * k;
    for (int64_t j = 0; j < k; j++) d_emissions[t * k + j] = -marginal[j];
    d_emissions[t * k + tags[t]] += grad;
    for (int64_t i = 0; i < k; i++) {
      float sum = 0.0f;
      for (int64_t j = 0; j < k; j++) {
        float pair = before[i * k + j] * marginal[j];
        d_transitions[i * k + j] -= pair;
        sum += pair;
      }
      next[i] = sum;
    }
    d_transitions[tags[t - 1] * k + tags[t]] += grad;
    std::swap(marginal, next);
  }
  for (int64_t j = 0; j < k; j++) {
    d_emissions[j] = -marginal[j];
    d_start[j] -= marginal[j];
  }
  d_emissions[tags[0]] += grad;
  d_start[tags[0]] += grad;
}

} // namespace

extern "C" {

// Inputs: emissions [b, n, k], transitions [k, k], start [k], end [k], tags [b, n], mask [b, n]. Out: the log
// likelihoods [b], and for `keep` the probabilities of the tag before [b, n, k, k] and of the last tag [b, k].
char *totune_crf_forward(Tensor *const *inputs, int keep, Tensor **out) {
  return guarded([&] {
    Tensor emissions = inputs[0]->contiguous(), transitions = inputs[1]->contiguous();
    Tensor start = inputs[2]->contiguous(), end = inputs[3]->contiguous(), tags = inputs[4]->contiguous();
    int64_t batch = emissions.size(0), words = emissions.size(1), k = emissions.size(2);
    Tensor mask = inputs[5]->contiguous();
    TORCH_CHECK(mask.sizes() == at::IntArrayRef({batch, words}) && tags.sizes() == mask.sizes(), "tags ", tags.sizes(),
                " and mask ", mask.sizes(), " do not fit emissions ", emissions.sizes());
    TORCH_CHECK(transitions.sizes() == at::IntArrayRef({k, k}) && start.sizes() == at::IntArrayRef({k}) &&
                    end.sizes() == start.sizes(),
                "transitions ", transitions.sizes(), ", start ", start.sizes(), " and end ", end.sizes(), " do not fit ", k,
                " tags");
    std::vector<int64_t> n = lengths(mask);
    Tensor likelihood = at::empty({batch}, emissions.options());
    Tensor kept, last;
    if (keep) {
      kept = at::empty({batch, words, k, k}, emissions.options());
      last = at::empty({batch, k}, emissions.options());
    }
    Chain chain{k, transitions.const_data_ptr<float>(), start.const_data_ptr<float>(),
                end.const_data_ptr<float>()};
    const float *e = emissions.const_data_ptr<float>();
    const int64_t *y = tags.const_data_ptr<int64_t>();
    for (int64_t b = 0; b < batch; b++)
      for (int64_t t = 0; t < n[b]; t++) {
        int64_t tag = y[b * words + t];
        TORCH_CHECK(tag >= 0 && tag < k, "tag ", tag, " of row ", b, " is none of ", k);
      }
    float *result = likelihood.data_ptr<float>();
    float *kept_at = keep ? kept.data_ptr<float>() : nullptr, *last_at = keep ? last.data_ptr<float>() : nullptr;
    at::parallel_for(0, batch, 1, [&](int64_t begin, int64_t stop) {
      std::vector<float> scratch(keep ? 0 : k * k);
      for (int64_t b = begin; b < stop; b++) {
        float *to = keep ? kept_at + b * words * k * k : scratch.data();
        double value = row(chain, e + b * words * k, y + b * words, n[b], keep, to, keep ? last_at + b * k : nullptr);
        result[b] = static_cast<float>(value);
      }
    });
    out[0] = new Tensor(likelihood);
    if (keep) {
      out[1] = new Tensor(kept);
      out[2] = new Tensor(last);
    }
  });
}

// Saved: what the forward pass kept, and tags and mask. Out: the gradients of its first four inputs.
char *totune_crf_backward(Tensor *const *saved, Tensor *gradient, Tensor **out) {
  return guarded([&] {
    const Tensor &kept = *saved[0], &last = *saved[1];
    Tensor tags = saved[2]->contiguous(), grad = gradient->contiguous();
    int64_t batch = kept.size(0), words = kept.size(1), k = kept.size(2);
    std::vector<int64_t> n = lengths(saved[3]->contiguous());
    Tensor d_emissions = at::zeros({batch, words, k}, kept.options());
    // Of each row, to be summed: threads share nothing, and the sum does not depend on their number.
    Tensor d_transitions = at::zeros({batch, k, k}, kept.options());
    Tensor d_start = at::zeros({batch, k}, kept.options()), d_end = at::zeros({batch, k}, kept.options());
    const float *kept_at = kept.const_data_ptr<float>(), *last_at = last.const_data_ptr<float>();
    const float *g = grad.const_data_ptr<float>();
    const int64_t *y = tags.const_data_ptr<int64_t>();
    float *de = d_emissions.data_ptr<float>(), *dt = d_transitions.data_ptr<float>();
    float *ds = d_start.data_ptr<float>(), *dn = d_end.data_ptr<float>();
    at::parallel_for(0, batch, 1, [&](int64_t begin, int64_t stop) {
      std::vector<float> scratch(2 * k);
      for (int64_t b = begin; b < stop; b++)
        back(kept_at + b * words * k * k, last_at + b * k, y + b * words, n[b], k, g[b], de + b * words * k,
             dt + b * k * k, ds + b * k, dn + b * k, scratch.data(), scratch.data() + k);
    });
    out[0] = new Tensor(d_emissions);
    out[1] = new Tensor(d_transitions.sum(0));
    out[2] = new Tensor(d_start.sum(0));
    out[3] = new Tensor(d_end.sum(0));
  });
}

} // extern "C"
