// What tch does not expose, and dropout without a stored mask. Called from shim.rs alone.
//
// Every function returns null, or a message (malloc'd) when libtorch threw. Tensors cross as the pointers that tch
// holds (at::Tensor*); a new one is owned by the caller.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/cpu/Utils.h>
#include <c10/util/Exception.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "flushing.h"
#include "products.h"
#include "shared.h"

using at::Tensor;
using totune::guarded;

namespace {

std::vector<Tensor> list(int n, Tensor *const *tensors) {
  std::vector<Tensor> result;
  result.reserve(n);
  for (int i = 0; i < n; i++) result.push_back(*tensors[i]);
  return result;
}

// The mask of dropout.rs: 0 where the upper half of the hash is below `threshold`, else `scale`.
WIDEST void drop(const float *x, float *out, int64_t begin, int64_t end, uint32_t low, uint32_t high,
                 uint32_t threshold, float scale) {
  for (int64_t i = begin; i < end; i++) {
    uint32_t h = (static_cast<uint32_t>(i) ^ low) * 0x9e3779b1u + high;
    h = (h ^ (h >> 16)) * 0x21f0aaadu;
    h = (h ^ (h >> 15)) * 0xd35a2d97u;
    h = h ^ (h >> 15);
    out[i] = (h >> 16) < threshold ? 0.0f : x[i] * scale;
  }
}

// The nearest bfloat16, ties to even: the upper half of the bits, one higher where the lower half says so. What is not
// a number stays one.
WIDEST void round_bf16(const uint32_t *x, uint32_t *out, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) {
    uint32_t bits = x[i];
    uint32_t nearest = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
    uint32_t quiet = (bits | 0x00400000u) & 0xffff0000u;
    out[i] = (bits & 0x7fffffffu) > 0x7f800000u ? quiet : nearest;
  }
}

// In f64, where the square of no f32 overflows.
WIDEST double squares(const float *x, int64_t n) {
  double lanes[16] = {};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int j = 0; j < 16; j++) lanes[j] += static_cast<double>(x[i + j]) * x[i + j];
  for (; i < n; i++) lanes[i % 16] += static_cast<double>(x[i]) * x[i];
  return std::accumulate(lanes, lanes + 16, 0.0);
}

// The norm of all together, of pieces of one size whatever the number of threads, so that this does not change it.
double norm_of_all(const std::vector<Tensor> &tensors) {
  constexpr int64_t PIECE = 1 << 15;
  std::vector<Tensor> dense;
  std::vector<std::pair<const float *, int64_t>> pieces;
  for (const Tensor &tensor : tensors) {
    dense.push_back(tensor.is_non_overlapping_and_dense() ? tensor : tensor.contiguous());
    const float *from = dense.back().const_data_ptr<float>();
    for (int64_t i = 0; i < tensor.numel(); i += PIECE) pieces.push_back({from + i, std::min(PIECE, tensor.numel() - i)});
  }
  std::vector<double> sums(pieces.size());
  at::parallel_for(0, pieces.size(), 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) sums[i] = squares(pieces[i].first, pieces[i].second);
  });
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

} // namespace

extern "C" {

// The number of threads that a loop of our own is divided among.
char *totune_threads(int *threads) {
  return guarded([&] {
    std::atomic<int> parts{0};
    at::parallel_for(0, at::get_num_threads(), 1, [&](int64_t, int64_t) { parts++; });
    *threads = parts;
  });
}

char *totune_layer_norm_backward(Tensor *grad, Tensor *const *saved, const int *wanted, Tensor **out) {
  return guarded([&] {
    const Tensor &x = *saved[0], &weight = *saved[1], &bias = *saved[2];
    auto [dx, dw, db] =
        at::native_layer_norm_backward(*grad, x, weight.sizes(), *saved[3], *saved[4], weight, bias,
                                       {wanted[0] != 0, wanted[1] != 0, wanted[2] != 0});
    if (wanted[0]) out[0] = new Tensor(dx);
    if (wanted[1]) out[1] = new Tensor(dw);
    if (wanted[2]) out[2] = new Tensor(db);
  });
}

char *totune_dropout(Tensor *input, double rate, uint32_t threshold, uint32_t low, uint32_t high, Tensor **out) {
  return guarded([&] {
    TORCH_CHECK(input->is_cpu() && input->scalar_type() == at::kFloat, "dropout: expected f32 in main memory");
    Tensor x = input->contiguous();
    Tensor y = at::empty_like(x);
    const float *from = x.const_data_ptr<float>();
    float *to = y.data_ptr<float>();
    float scale = static_cast<float>(1.0 / (1.0 - rate));
    at::parallel_for(0, x.numel(), 32768, [&](int64_t begin, int64_t end) {
      drop(from, to, begin, end, low, high, threshold, scale);
    });
    *out = new Tensor(y);
  });
}

char *totune_round_bf16(Tensor *input, Tensor **out) {
  return guarded([&] {
    TORCH_CHECK(input->is_cpu() && input->scalar_type() == at::kFloat, "rounding: expected f32 in main memory");
    Tensor x = input->contiguous();
    Tensor y = at::empty_like(x);
    auto from = static_cast<const uint32_t *>(x.const_data_ptr());
    auto to = static_cast<uint32_t *>(y.data_ptr());
    at::parallel_for(0, x.numel(), 32768, [&](int64_t begin, int64_t end) { round_bf16(from, to, begin, end); });
    *out = new Tensor(y);
  });
}

char *totune_matmul(Tensor *a, Tensor *b, Tensor *bias, Tensor **out) {
  return guarded([&] {
    Tensor y = at::empty({a->size(0), b->size(1)}, a->options());
    if (bias) y.copy_(bias->expand_as(y));
    at::native::mkldnn_matmul(*a, *b, y, bias ? 1.0f : 0.0f, 1.0f);
    *out = new Tensor(y);
  });
}

char *totune_time_products(double *operations, double *seconds) {
  return guarded([&] {
    at::cpu::init_amx(); // the permission to use tile units, where there are any
    const int64_t rows = 512, width = 256;
    *operations = 2.0 * rows * width * width;
    // On one thread, so that neither a thread that starts late nor another program on its core decides.
    struct OneThread {
      const int before = at::get_num_threads();
      OneThread() { at::set_num_threads(1); }
      ~OneThread() { at::set_num_threads(before); }
    } one_thread;
    Tensor x = at::linspace(-1.0, 1.0, rows * width).view({rows, width});
    Tensor w = at::linspace(1.0, -1.0, width * width).view({width, width});
    Tensor y = at::empty({rows, width});
    auto timed = [](double &best, auto &&product) {
      auto start = std::chrono::steady_clock::now();
      product();
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    };
    const double never = std::numeric_limits<double>::infinity();
    std::fill(seconds, seconds + 3, never);
    bool has_onednn = true;
    // The first of each makes its kernel, the rest take turns.
    for (int i = 0; i < 6; i++) {
      double first = never;
      timed(i == 0 ? first : seconds[0], [&] { at::mm_out(y, x, w.t()); });
      if (!has_onednn) continue;
      try {
        timed(i == 0 ? first : seconds[1], [&] { at::native::mkldnn_matmul(x, w.t(), y, 0.0f, 1.0f); });
        timed(i == 0 ? first : seconds[2], [&] {
          Tensor half = at::empty({rows, width}, at::kBFloat16);
          at::native::mkldnn_matmul(x.to(at::kBFloat16), w.to(at::kBFloat16).t(), half, 0.0f, 1.0f);
          y.copy_(half);
        });
      } catch (const c10::Error &) {
        has_onednn = false; // libtorch refuses it, of f32 as well, on processors without AVX-512
      }
    }
  });
}

char *totune_norm(int n, Tensor *const *tensors, double *norm) {
  return guarded([&] { *norm = norm_of_all(list(n, tensors)); });
}

char *totune_clip(int n, Tensor *const *grads, const double *most, Tensor **out, Tensor **norm) {
  return guarded([&] {
    auto g = list(n, grads);
    // In f64, since the square of a large norm overflows f32.
    Tensor total = at::linalg_vector_norm(at::stack(at::_foreach_norm(g, 2, at::kDouble)));
    *norm = new Tensor(total.to(at::kFloat).view({1}));
    if (!most) return;
    Tensor factor = (total + 1e-6).reciprocal_().mul_(*most).clamp_max_(1.0).to(at::kFloat);
    auto scaled = at::_foreach_mul(g, factor);
    for (int i = 0; i < n; i++) out[i] = new Tensor(scaled[i]);
  });
}

// Sums and products of cuDNN, whose default are operands of 11 significant bits, in f32; cuBLAS has that as its default.
void totune_full_f32() { at::globalContext().setAllowTF32CuDNN(false); }

// Whether warnings of this thread are shown.
void totune_warn(bool shown) {
  struct Silent : c10::WarningHandler {
    void process(const c10::Warning &) override {}
  };
  static Silent silent;
  c10::WarningUtils::set_warning_handler(shown ? nullptr : &silent);
}

char *totune_adamw(int n, Tensor *const *params, Tensor *const *grads, Tensor *const *firsts,
                   Tensor *const *seconds, Tensor *const *steps, const double *numbers) {
  return guarded([&] {
    auto p = list(n, params), g = list(n, grads), m = list(n, firsts), v = list(n, seconds);
    auto t = list(n, steps);
    // The operator goes through all of them in the order of memory: CUDA refuses another layout, the CPU would mix up
    // numbers. A gradient comes laid out otherwise where the graph transposed its parameter.
    for (int i = 0; i < n; i++) {
      if (g[i].strides() != p[i].strides()) g[i] = at::empty_like(p[i]).copy_(g[i]);
      TORCH_CHECK(m[i].strides() == p[i].strides() && v[i].strides() == p[i].strides(),
                  "AdamW: moments are laid out otherwise than their parameter");
    }
    // Moments of a weight without gradient, such as that of a word which few texts have, shrink by a constant factor until
    // rounding keeps them at a few times 1e-45. Updates of such take nine times as long on Intel's processors.
    totune::Flushing flushing(n > 0 && p[0].is_cpu());
    at::_fused_adamw_(p, g, m, v, {}, t, /*lr=*/numbers[0], /*beta1=*/numbers[1],
                      /*beta2=*/numbers[2], /*weight_decay=*/numbers[3], /*eps=*/numbers[4],
                      /*amsgrad=*/false, /*maximize=*/false);
  });
}

} // extern "C"
