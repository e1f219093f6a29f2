// AdamW's update of some rows of a table; the steps that a row was left out of are made up for, number by number as if it had
// taken each with a gradient of zero. Called from rows.rs alone.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../flushing.h"
#include "../shared.h"

using at::Tensor;
using totune::guarded;

namespace {

// What a step multiplies a weight by, what it multiplies the first moment by, and what it divides the root of the second by.
struct Step {
  float decay, size, root;
};

// β₂, 1 - β₂, 1 - β₁ and ε.
struct Constants {
  float keep_second, add_second, add_first, epsilon;
};

// A weight's row with those of its two moments.
struct Row {
  float *weight, *first, *second;
  int64_t width;
};

// A product and a sum are rounded one after the other, and the first moment's at once, as in LibTorch's fused update.
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")

// Between the moment and the gradient, from the nearer of both.
INLINE float moved(float moment, float grad, float share) {
  const bool little = share < 0.5f;
  return __builtin_fmaf(little ? share : share - 1.0f, grad - moment, little ? moment : grad);
}

WIDEST void take(const Row &row, const float *grad, const Step &step, const Constants &c) {
  float *weight = row.weight, *first = row.first, *second = row.second;
  const float decay = step.decay, size = step.size, root = step.root;
  SEPARATE
  for (int64_t i = 0; i < row.width; i++) {
    const float g = grad[i];
    first[i] = moved(first[i], g, c.add_first);
    second[i] = second[i] * c.keep_second + c.add_second * g * g;
    weight[i] = weight[i] * decay + size * first[i] / (std::sqrt(second[i]) / root + c.epsilon);
  }
}

#pragma GCC pop_options

WIDEST void scale(float *x, int64_t n, float factor) {
  for (int64_t i = 0; i < n; i++) x[i] *= factor;
}

bool is_zero(const float *x, int64_t n) {
  return std::all_of(x, x + n, [](float number) { return number == 0.0f; });
}

// Whether both moments are zero is looked at again after so many steps: the first one of a word that was not met for about
// 800 steps is.
constexpr int64_t PIECE = 128;

void make_up(const Row &row, const float *zeros, const Step *steps, int64_t n, const Constants &c) {
  for (int64_t begin = 0; begin < n; begin += PIECE) {
    const int64_t end = std::min(begin + PIECE, n);
    if (!is_zero(row.first, row.width)) {
      for (int64_t i = begin; i < end; i++) take(row, zeros, steps[i], c);
      continue;
    }
    // Nothing but the decay is left, as for a word that no text had yet.
    const bool decays = !is_zero(row.second, row.width);
    for (int64_t i = begin; i < end; i++) {
      if (steps[i].decay != 1.0f) scale(row.weight, row.width, steps[i].decay);
      if (decays) scale(row.second, row.width, c.keep_second);
    }
  }
}

} // namespace

extern "C" {

// Brings rows of `tensors` (weights and both moments) to the end of `steps`, and says so in `taken`, where their numbers of
// steps are; the last step has the gradients `grad`, `[rows, width]`, unless it is null. All rows where `rows` is null.
char *totune_adamw_rows(Tensor *const *tensors, Tensor *grad, const int64_t *rows, int64_t n_rows, int32_t *taken,
                        const Step *steps, int64_t n_steps, const Constants *constants) {
  return guarded([&] {
    Tensor &weight = *tensors[0], &first = *tensors[1], &second = *tensors[2];
    for (const Tensor &tensor : {weight, first, second})
      TORCH_CHECK(tensor.is_cpu() && tensor.scalar_type() == at::kFloat && tensor.is_contiguous() &&
                      tensor.dim() == 2 && tensor.sizes() == weight.sizes(),
                  "AdamW of rows: expected matrices of one shape, in f32 in main memory");
    const int64_t width = weight.size(1);
    Tensor gradient;
    if (grad) {
      TORCH_CHECK(grad->dim() == 2 && grad->size(0) == n_rows && grad->size(1) == width,
                  "AdamW of rows: the gradient has another shape than its rows");
      gradient = grad->contiguous();
    }
    for (int64_t i = 0; rows && i < n_rows; i++) {
      TORCH_CHECK(0 <= rows[i] && rows[i] < weight.size(0), "AdamW of rows: there is no row ", rows[i]);
      // One that came twice could be written by two threads at once.
      TORCH_CHECK(i == 0 || rows[i - 1] < rows[i], "AdamW of rows: row ", rows[i], " is not above the one before it");
    }
    float *at_weight = weight.data_ptr<float>(), *at_first = first.data_ptr<float>(), *at_second = second.data_ptr<float>();
    const float *at_grad = grad ? gradient.const_data_ptr<float>() : nullptr;
    const std::vector<float> zeros(width);
    const int64_t without = grad ? n_steps - 1 : n_steps;
    totune::Flushing flushing(true); // as in the update of whole parameters
    at::parallel_for(0, n_rows, 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        const int64_t at = rows ? rows[i] : i;
        const Row row{at_weight + at * width, at_first + at * width, at_second + at * width, width};
        make_up(row, zeros.data(), steps + taken[at], without - taken[at], *constants);
        if (grad) take(row, at_grad + i * width, steps[without], *constants);
        taken[at] = static_cast<int32_t>(n_steps);
      }
    });
  });
}

} // extern "C"
