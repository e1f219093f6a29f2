// What the C++ of several fused operations shares.

#pragma once

#include <cstdint>
#include <cstring>
#include <exception>

// GCC picks the widest version the processor has when the program starts.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WIDEST __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define WIDEST
#endif
#define INLINE static inline __attribute__((always_inline))

// Before a loop whose pointers never meet, which GCC cannot know; without being told so it does one number at a time.
#if defined(__GNUC__) && !defined(__clang__)
#define SEPARATE _Pragma("GCC ivdep")
#else
#define SEPARATE
#endif

namespace totune {

// Null, or a message (malloc'd) when `f` threw.
template <typename F> char *guarded(F f) {
  try {
    f();
    return nullptr;
  } catch (const std::exception &e) {
    return strdup(e.what());
  }
}

// e^x to about 1e-7 of it: 2^n times a Taylor series about the nearest power of two, without a branch so that loops over it
// run on whole vectors. Above 88 it stays as there; what is not a number stays one. Below -87 it is 0, as denormal numbers,
// which keys that a mask leaves out would have in a softmax, make products several times slower on Intel's processors.
INLINE float exponential(float x) {
  const bool vanishes = x < -87.0f;
  x = vanishes ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  const float shift = 12582912.0f; // 1.5 * 2^23: adding it rounds to whole numbers
  float shifted = x * 1.44269504f + shift;
  float n = shifted - shift;
  // log 2 in two parts, the first of few bits, so that n times it is exact.
  float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float y = 1.0f / 5040;
  y = y * r + 1.0f / 720;
  y = y * r + 1.0f / 120;
  y = y * r + 1.0f / 24;
  y = y * r + 1.0f / 6;
  y = y * r + 0.5f;
  y = y * r + 1.0f;
  y = y * r + 1.0f;
  int32_t bits, scale;
  memcpy(&bits, &shifted, 4);
  scale = static_cast<int32_t>((static_cast<uint32_t>(bits) + 127u) << 23);
  float power;
  memcpy(&power, &scale, 4);
  return vanishes ? 0.0f : y * power;
}

INLINE float logistic(float x) { return 1.0f / (1.0f + exponential(-x)); }
INLINE float tangent(float x) { return 1.0f - 2.0f / (1.0f + exponential(2.0f * x)); }

} // namespace totune
