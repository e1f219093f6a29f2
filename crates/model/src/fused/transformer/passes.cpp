// What lies between the products of a transformer layer, each in one pass over memory, forward and backward.
//
// Compiled once for each width: LEVEL names the result, WIDTH is the number of floats in a vector. Each pass exists for
// each format of operands. Arithmetic is f32; the sums of columns are over the rows of one call, in order.
// No header with inline functions is included, which could leave code for one processor in a place where another finds
// it.

#include "passes.h"

#include <cstdint>

using namespace totune;

#define INLINE static inline __attribute__((always_inline))

namespace {

typedef float Vec __attribute__((vector_size(WIDTH * 4)));
typedef uint32_t Bits __attribute__((vector_size(WIDTH * 4)));
typedef int32_t Ints __attribute__((vector_size(WIDTH * 4)));
typedef uint16_t Halves __attribute__((vector_size(WIDTH * 2)));
// The same, anywhere in memory.
typedef float LooseVec __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias));
typedef uint16_t LooseHalves __attribute__((vector_size(WIDTH * 2), aligned(2), may_alias));

// The nearest bfloat16 in the upper halves, ties to even; what is not a number stays one.
INLINE Bits nearest(Vec x) {
  Bits bits = (Bits)x;
  Bits rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  Bits quiet = bits | 0x00400000u;
  return (((bits & 0x7fffffffu) > 0x7f800000u) ? quiet : rounded) & 0xffff0000u;
}

// Whole vectors of each format; `Result` is what a product of such operands gives, `Kept` what is kept of activations.
struct Full {
  typedef float Type;
  INLINE Vec load(const float *from) { return *reinterpret_cast<const LooseVec *>(from); }
  INLINE void store(float *to, Vec x) { *reinterpret_cast<LooseVec *>(to) = x; }
};
struct Half {
  typedef uint16_t Type;
  INLINE Vec load(const uint16_t *from) {
    Halves halves = *reinterpret_cast<const LooseHalves *>(from);
    return (Vec)(__builtin_convertvector(halves, Bits) << 16);
  }
  INLINE void store(uint16_t *to, Vec x) {
    *reinterpret_cast<LooseHalves *>(to) = __builtin_convertvector(nearest(x) >> 16, Halves);
  }
};
struct Rounded : Full {
  INLINE void store(float *to, Vec x) { Full::store(to, (Vec)nearest(x)); }
};

// The first n numbers, and `fill`.
template <typename F> INLINE Vec load(const typename F::Type *from, int64_t n, float fill = 0.0f) {
  if (n >= WIDTH) return F::load(from);
  typename F::Type all[WIDTH] = {};
  for (int64_t i = 0; i < n; i++) all[i] = from[i];
  Vec x = F::load(all);
  for (int64_t i = n; i < WIDTH; i++) x[i] = fill;
  return x;
}

template <typename F> INLINE void store(typename F::Type *to, Vec x, int64_t n) {
  if (n >= WIDTH) return F::store(to, x);
  typename F::Type all[WIDTH];
  F::store(all, x);
  for (int64_t i = 0; i < n; i++) to[i] = all[i];
}

INLINE Vec floats(const float *from, int64_t n, float fill = 0.0f) { return load<Full>(from, n, fill); }
INLINE void floats(float *to, Vec x, int64_t n) { store<Full>(to, x, n); }

INLINE float sum(Vec x) {
  float s = 0.0f;
  for (int i = 0; i < WIDTH; i++) s += x[i];
  return s;
}

// e^x for x <= 0, as `exponential` in shared.h.
INLINE Vec exponential(Vec x) {
  const Vec low = Vec{} - 87.0f;
  const Ints vanishes = x < low;
  x = vanishes ? low : x;
  Vec shifted = x * 1.44269504f + 12582912.0f; // its lowest bits are n, the nearest integer
  Vec n = shifted - 12582912.0f;
  Vec r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Vec y = r * (1.0f / 5040) + 1.0f / 720;
  y = y * r + 1.0f / 120;
  y = y * r + 1.0f / 24;
  y = y * r + 1.0f / 6;
  y = y * r + 0.5f;
  y = y * r + 1.0f;
  y = y * r + 1.0f;
  return vanishes ? Vec{} : y * (Vec)(((Ints)shifted + 127) << 23);
}

// The distribution function of the standard normal, and its density. With t = 1 / (1 + 0.4 z) and z = |x| / sqrt 2, half of
// erfc(z) is e^(-z^2) t P(t) / 2, where P has the coefficients of the smallest relative error of its degree, 1.3e-7 for all z
// (fixtures/make/normal.py). A relative error keeps GELU exact to rounding for negative x as well, where a network trained
// with it has most of its inputs.
struct Normal {
  Vec below, density;
};
INLINE Normal normal(Vec x) {
  Vec size = x < 0.0f ? -x : x;
  Vec e = exponential(x * x * -0.5f);
  Vec t = 1.0f / (size * (0.4f * 0.70710678f) + 1.0f);
  Vec tail = t * 0.0251363192f - 0.0914719043f;
  tail = tail * t + 0.0845775959f;
  tail = tail * t - 0.0028340264f;
  tail = tail * t + 0.0707305315f;
  tail = tail * t + 0.0842669181f;
  tail = tail * t + 0.1039219351f;
  tail = tail * t + 0.1128347618f;
  tail = tail * t + 0.1128379316f;
  tail = tail * t * e;
  return {x < 0.0f ? tail : 1.0f - tail, e * 0.39894228f};
}

INLINE Bits counting() {
  Bits lanes;
  for (int i = 0; i < WIDTH; i++) lanes[i] = i;
  return lanes;
}

// x where elements from number `at` on are kept, scaled; 0 elsewhere.
INLINE Vec dropped(const Drop &drop, Vec x, uint32_t at) {
  if (drop.threshold == 0) return x;
  Bits h = ((counting() + at) ^ drop.low) * 0x9e3779b1u + drop.high;
  h = (h ^ (h >> 16)) * 0x21f0aaadu;
  h = (h ^ (h >> 15)) * 0xd35a2d97u;
  h = h ^ (h >> 15);
  return (h >> 16) < drop.threshold ? Vec{} : x * drop.scale;
}

template <typename F> struct Pass {
  typedef typename F::Type T;

  static void convert(const float *x, void *out, int64_t n) {
    for (int64_t i = 0; i < n; i += WIDTH) store<F>(static_cast<T *>(out) + i, floats(x + i, n - i), n - i);
  }

  static void widen_add(const void *x, float *out, int64_t n) {
    for (int64_t i = 0; i < n; i += WIDTH)
      floats(out + i, floats(out + i, n - i) + load<F>(static_cast<const T *>(x) + i, n - i), n - i);
  }

  static void gelu(const void *u, const float *bias, void *out, int64_t begin, int64_t end, int64_t n) {
    for (int64_t row = begin; row < end; row++) {
      const T *from = static_cast<const T *>(u) + row * n;
      T *to = static_cast<T *>(out) + row * n;
      for (int64_t i = 0; i < n; i += WIDTH) {
        Vec x = load<F>(from + i, n - i) + floats(bias + i, n - i);
        store<F>(to + i, x * normal(x).below, n - i);
      }
    }
  }

  static void gelu_backward(const void *u, const float *bias, const void *da, void *du, float *dbias, int64_t begin,
                            int64_t end, int64_t n) {
    for (int64_t row = begin; row < end; row++) {
      const T *from = static_cast<const T *>(u) + row * n, *grad = static_cast<const T *>(da) + row * n;
      T *to = static_cast<T *>(du) + row * n;
      for (int64_t i = 0; i < n; i += WIDTH) {
        Vec x = load<F>(from + i, n - i) + floats(bias + i, n - i);
        Normal p = normal(x);
        Vec dx = load<F>(grad + i, n - i) * (p.below + x * p.density);
        floats(dbias + i, floats(dbias + i, n - i) + dx, n - i);
        store<F>(to + i, dx, n - i);
      }
    }
  }

  static void norm(const Norm &a, int64_t begin, int64_t end) {
    const int64_t n = a.n;
    for (int64_t row = begin; row < end; row++) {
      const T *h = static_cast<const T *>(a.h) + row * n;
      const float *x = a.x + row * n;
      float *y = a.y + row * n;
      Vec total = {};
      for (int64_t i = 0; i < n; i += WIDTH) {
        Vec s = dropped(a.drop, load<F>(h + i, n - i) + floats(a.bias + i, n - i), static_cast<uint32_t>(row * n + i));
        s += floats(x + i, n - i);
        floats(y + i, s, n - i);
        // The lanes past the end hold nothing yet: h, x and the bias are 0 there.
        total += s;
      }
      float mean = sum(total) / n;
      Vec squares = {};
      for (int64_t i = 0; i < n; i += WIDTH) {
        Vec s = floats(y + i, n - i, mean) - mean;
        squares += s * s;
      }
      float rstd = 1.0f / __builtin_sqrtf(sum(squares) / n + a.epsilon);
      a.rstd[row] = rstd;
      for (int64_t i = 0; i < n; i += WIDTH) {
        Vec s = (floats(y + i, n - i) - mean) * rstd;
        if (a.normalised) store<F>(static_cast<T *>(a.normalised) + row * n + i, s, n - i);
        floats(y + i, s * floats(a.scale + i, n - i) + floats(a.shift + i, n - i), n - i);
      }
    }
  }

  static void norm_backward(const NormBackward &a, int64_t begin, int64_t end) {
    const int64_t n = a.n;
    for (int64_t row = begin; row < end; row++) {
      const float *dy = a.dy + row * n;
      const T *xhat = static_cast<const T *>(a.normalised) + row * n;
      Vec first = {}, second = {};
      for (int64_t i = 0; i < n; i += WIDTH) {
        Vec g = floats(dy + i, n - i), s = load<F>(xhat + i, n - i);
        floats(a.dscale + i, floats(a.dscale + i, n - i) + g * s, n - i);
        floats(a.dshift + i, floats(a.dshift + i, n - i) + g, n - i);
        g *= floats(a.scale + i, n - i);
        first += g;
        second += g * s;
      }
      float mean = sum(first) / n, slope = sum(second) / n, rstd = a.rstd[row];
      for (int64_t i = 0; i < n; i += WIDTH) {
        Vec g = floats(dy + i, n - i) * floats(a.scale + i, n - i), s = load<F>(xhat + i, n - i);
        Vec dx = (g - mean - s * slope) * rstd;
        Vec dh = dropped(a.drop, dx, static_cast<uint32_t>(row * n + i));
        floats(a.dx + row * n + i, dx, n - i);
        floats(a.dbias + i, floats(a.dbias + i, n - i) + dh, n - i);
        store<F>(static_cast<T *>(a.dh) + row * n + i, dh, n - i);
      }
    }
  }

  static void split(const Heads &a, const void *rows, void *const *parts, float *const *wide, int64_t begin,
                    int64_t end) {
    const int64_t n = a.parts * a.heads * a.dim;
    const Row *whole = a.rows;
    for (int64_t row = begin; row < end; row++) {
      while (row - whole->first_token >= whole->tokens) whole++;
      int64_t at = row - whole->first_token;
      for (int64_t part = 0; part < a.parts; part++) {
        float scale = part == 0 ? a.query_scale : 1.0f;
        for (int64_t head = 0; head < a.heads; head++) {
          int64_t column = (part * a.heads + head) * a.dim;
          int64_t to = (whole->first_place * a.heads + head * whole->length + at) * a.dim;
          for (int64_t i = 0; i < a.dim; i += WIDTH) {
            int64_t left = a.dim - i;
            Vec x = load<F>(static_cast<const T *>(rows) + row * n + column + i, left);
            if (a.bias) x += floats(a.bias + column + i, left);
            x *= scale;
            store<F>(static_cast<T *>(parts[part]) + to + i, x, left);
            if (wide && part < 2) floats(wide[part] + to + i, (Vec)nearest(x), left);
          }
        }
      }
    }
  }

  static void merge(const Heads &a, const void *const *parts, void *rows, float *sums, int64_t begin, int64_t end) {
    const int64_t n = a.parts * a.heads * a.dim;
    const Row *whole = a.rows;
    for (int64_t row = begin; row < end; row++) {
      while (row - whole->first_token >= whole->tokens) whole++;
      int64_t at = row - whole->first_token;
      for (int64_t part = 0; part < a.parts; part++) {
        float scale = part == 0 ? a.query_scale : 1.0f;
        for (int64_t head = 0; head < a.heads; head++) {
          int64_t column = (part * a.heads + head) * a.dim;
          int64_t from = (whole->first_place * a.heads + head * whole->length + at) * a.dim;
          for (int64_t i = 0; i < a.dim; i += WIDTH) {
            int64_t left = a.dim - i;
            Vec x = load<F>(static_cast<const T *>(parts[part]) + from + i, left) * scale;
            if (sums) floats(sums + column + i, floats(sums + column + i, left) + x, left);
            store<F>(static_cast<T *>(rows) + row * n + column + i, x, left);
          }
        }
      }
    }
  }

  static void softmax(const Attend &a, const float *scores, void *p, void *drop, int64_t first, int64_t count) {
    const int64_t n = a.length;
    const float lowest = -3.0e38f;
    float e[LONGEST + WIDTH];
    for (int64_t row = 0; row < count * n; row++) {
      int64_t sequence = first + row / n, query = row % n;
      const float *s = scores + row * n;
      const float *mask =
          a.mask ? a.mask + sequence / a.heads * a.mask_batch + query * a.mask_query : nullptr;
      Vec most = Vec{} + lowest;
      for (int64_t i = 0; i < n; i += WIDTH) {
        Vec x = floats(s + i, n - i, lowest);
        if (mask) x += floats(mask + i, n - i);
        floats(e + i, x, WIDTH);
        most = x > most ? x : most;
      }
      float top = lowest;
      for (int i = 0; i < WIDTH; i++) top = most[i] > top ? most[i] : top;
      Vec total = {};
      for (int64_t i = 0; i < n; i += WIDTH) {
        Vec x = exponential(floats(e + i, WIDTH) - top);
        if (n - i < WIDTH)
          for (int64_t j = n - i; j < WIDTH; j++) x[j] = 0.0f;
        floats(e + i, x, WIDTH);
        total += x;
      }
      float scale = 1.0f / sum(total);
      int64_t place = (sequence * a.seq + query) * a.seq; // among the scores of all places
      for (int64_t i = 0; i < n; i += WIDTH) {
        Vec x = floats(e + i, WIDTH) * scale;
        store<F>(static_cast<T *>(p) + row * n + i, x, n - i);
        if (drop != p)
          store<F>(static_cast<T *>(drop) + row * n + i, dropped(a.drop, x, static_cast<uint32_t>(place + i)), n - i);
      }
    }
  }

  static void softmax_backward(const Attend &a, const void *p, const void *dp, void *ds, void *drop, int64_t first,
                               int64_t count) {
    const int64_t n = a.length;
    for (int64_t row = 0; row < count * n; row++) {
      const T *probability = static_cast<const T *>(p) + row * n, *grad = static_cast<const T *>(dp) + row * n;
      uint32_t place = static_cast<uint32_t>(((first + row / n) * a.seq + row % n) * a.seq);
      Vec total = {};
      for (int64_t i = 0; i < n; i += WIDTH)
        total += dropped(a.drop, load<F>(grad + i, n - i), place + i) * load<F>(probability + i, n - i);
      float mean = sum(total);
      for (int64_t i = 0; i < n; i += WIDTH) {
        Vec x = load<F>(probability + i, n - i);
        Vec g = dropped(a.drop, load<F>(grad + i, n - i), place + i);
        if (drop != p) store<F>(static_cast<T *>(drop) + row * n + i, dropped(a.drop, x, place + i), n - i);
        store<F>(static_cast<T *>(ds) + row * n + i, x * (g - mean), n - i);
      }
    }
  }

  static constexpr Passes all() {
    return {convert, widen_add, gelu, gelu_backward, norm, norm_backward, split, merge, softmax, softmax_backward};
  }
};

} // namespace

namespace totune {
extern const Passes LEVEL[3] = {Pass<Full>::all(), Pass<Half>::all(), Pass<Rounded>::all()};
}
