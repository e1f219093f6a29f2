// Sixteen floats at once in the compiler's own vectors, which every processor's instructions are made of: inside a
// function marked WIDEST they are one register of AVX-512, two of AVX2 or four of SSE2.

#pragma once

#include <cstdint>
#include <cstring>

#include "shared.h"

namespace totune {

constexpr int64_t LANES = 16;
typedef float Floats __attribute__((vector_size(64)));
typedef int32_t Integers __attribute__((vector_size(64)));
// The same, anywhere in memory.
typedef float LooseFloats __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t LooseIntegers __attribute__((vector_size(64), aligned(4), may_alias));

// e^x, as in shared.h.
INLINE Floats exponential(Floats x) {
  const Floats low = Floats{} - 87.0f, high = Floats{} + 88.0f;
  const Integers vanishes = x < low;
  x = vanishes ? low : x;
  x = x > high ? high : x;
  Floats shifted = x * 1.44269504f + 12582912.0f; // its lowest bits are the nearest integer, as in shared.h
  Floats n = shifted - 12582912.0f;
  Floats r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Floats y = r * (1.0f / 5040.0f) + 1.0f / 720.0f;
  y = y * r + 1.0f / 120.0f;
  y = y * r + 1.0f / 24.0f;
  y = y * r + 1.0f / 6.0f;
  y = y * r + 0.5f;
  y = y * r + 1.0f;
  y = y * r + 1.0f;
  Integers bits;
  memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 127) << 23;
  Floats power;
  memcpy(&power, &bits, sizeof power);
  return vanishes ? Floats{} : y * power;
}

} // namespace totune
