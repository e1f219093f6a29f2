//! Loops for the vector units of the machine they run on.
//!
//! Left to the compiler, a loop over four rows becomes shuffles between them, at a quarter of the speed. So vectors are
//! named: eight 64-bit numbers whatever the unit, or sixteen of 32 bits, so that each adds in the same order.

use std::array;

/// Numbers in a vector.
pub const LANES: usize = 8;
/// Numbers of single precision in a vector.
pub const SINGLES: usize = 16;

/// Vector unit that works on eight numbers at once, or on sixteen of single precision.
pub trait Unit: Copy {
    type Vector: Copy;
    type Singles: Copy;

    /// Repeats a number eight times.
    fn splat(self, value: f64) -> Self::Vector;
    fn load(self, values: &[f64; LANES]) -> Self::Vector;
    /// Loads numbers of single precision.
    fn load_single(self, values: &[f32; LANES]) -> Self::Vector;
    fn store(self, from: Self::Vector, to: &mut [f64; LANES]);
    /// a b + c, rounded once.
    fn multiply_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;

    /// Repeats a number sixteen times.
    fn splat_singles(self, value: f32) -> Self::Singles;
    fn load_singles(self, values: &[f32; SINGLES]) -> Self::Singles;
    fn store_singles(self, from: Self::Singles, to: &mut [f32; SINGLES]);
    /// a b + c, rounded once.
    fn multiply_add_singles(
        self,
        a: Self::Singles,
        b: Self::Singles,
        c: Self::Singles,
    ) -> Self::Singles;

    /// Sum of the eight: of the halves, then of the halves of that.
    fn sum(self, of: Self::Vector) -> f64;

    /// a · b
    #[inline(always)]
    fn dot(self, a: &[f64], b: &[f64]) -> f64 {
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
        let mut sums = [self.splat(0.0); 4];
        let ((a_fours, a), (b_fours, b)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
        for (a, b) in a_fours.iter().zip(b_fours) {
            for k in 0..4 {
                sums[k] = self.multiply_add(self.load(&a[k]), self.load(&b[k]), sums[k]);
            }
        }
        for (a, b) in a.iter().zip(b) {
            sums[0] = self.multiply_add(self.load(a), self.load(b), sums[0]);
        }
        let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
        let [a, b, c, d] = sums;
        (self.sum(a) + self.sum(b)) + (self.sum(c) + self.sum(d)) + rest
    }
}

/// Work to be compiled once for each unit; `run` has to be `#[inline(always)]`, with all it calls in its loops. A
/// closure is compiled for any machine, so that no closure may use the unit.
pub(super) trait Work {
    type Output;

    fn run<U: Unit>(self, unit: U) -> Self::Output;
}

/// Runs the work on the widest vector unit of the machine. The results are the same with each, except on x86 processors
/// from before 2013, which round a product before the addition.
pub(super) fn wide<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has just said that it knows these instructions.
            return unsafe { x86::with_avx512(work) };
        }
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
        {
            // SAFETY: as above.
            return unsafe { x86::with_avx2(work) };
        }
    }
    work.run(Plain)
}

/// Scalar code, vectorised by the compiler.
#[derive(Clone, Copy)]
struct Plain;

impl Unit for Plain {
    type Vector = [f64; LANES];
    type Singles = [f32; SINGLES];

    #[inline(always)]
    fn splat(self, value: f64) -> [f64; LANES] {
        [value; LANES]
    }

    #[inline(always)]
    fn load(self, values: &[f64; LANES]) -> [f64; LANES] {
        *values
    }

    #[inline(always)]
    fn load_single(self, values: &[f32; LANES]) -> [f64; LANES] {
        values.map(f64::from)
    }

    #[inline(always)]
    fn store(self, from: [f64; LANES], to: &mut [f64; LANES]) {
        *to = from;
    }

    #[inline(always)]
    fn splat_singles(self, value: f32) -> [f32; SINGLES] {
        [value; SINGLES]
    }

    #[inline(always)]
    fn load_singles(self, values: &[f32; SINGLES]) -> [f32; SINGLES] {
        *values
    }

    #[inline(always)]
    fn store_singles(self, from: [f32; SINGLES], to: &mut [f32; SINGLES]) {
        *to = from;
    }

    #[inline(always)]
    fn multiply_add_singles(
        self,
        a: [f32; SINGLES],
        b: [f32; SINGLES],
        c: [f32; SINGLES],
    ) -> [f32; SINGLES] {
        array::from_fn(|k| {
            if cfg!(target_arch = "x86_64") {
                a[k] * b[k] + c[k]
            } else {
                a[k].mul_add(b[k], c[k])
            }
        })
    }

    #[inline(always)]
    fn sum(self, of: [f64; LANES]) -> f64 {
        let [a, b, c, d, e, f, g, h] = of;
        ((a + e) + (c + g)) + ((b + f) + (d + h))
    }

    #[inline(always)]
    fn multiply_add(self, a: [f64; LANES], b: [f64; LANES], c: [f64; LANES]) -> [f64; LANES] {
        array::from_fn(|k| {
            // Without an instruction for it, rounding once takes a hundred times as long.
            if cfg!(target_arch = "x86_64") {
                a[k] * b[k] + c[k]
            } else {
                a[k].mul_add(b[k], c[k])
            }
        })
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{LANES, SINGLES, Unit, Work};

    #[target_feature(enable = "avx512f")]
    pub fn with_avx512<W: Work>(work: W) -> W::Output {
        work.run(Avx512(()))
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn with_avx2<W: Work>(work: W) -> W::Output {
        work.run(Avx2(()))
    }

    /// (a + c) + (b + d)
    #[inline(always)]
    unsafe fn sum_of_four(of: __m256d) -> f64 {
        // SAFETY: the caller has the instructions.
        unsafe {
            let halves = [_mm256_castpd256_pd128(of), _mm256_extractf128_pd::<1>(of)];
            let two = _mm_add_pd(halves[0], halves[1]);
            _mm_cvtsd_f64(two) + _mm_cvtsd_f64(_mm_unpackhi_pd(two, two))
        }
    }

    /// AVX-512 unit, created only on a processor that has it; each `unsafe` below relies on that.
    #[derive(Clone, Copy)]
    struct Avx512(());

    impl Unit for Avx512 {
        type Vector = __m512d;
        type Singles = __m512;

        #[inline(always)]
        fn splat(self, value: f64) -> __m512d {
            // SAFETY: see `Avx512`.
            unsafe { _mm512_set1_pd(value) }
        }

        #[inline(always)]
        fn load(self, values: &[f64; LANES]) -> __m512d {
            // SAFETY: see `Avx512`; eight numbers are there to be read.
            unsafe { _mm512_loadu_pd(values.as_ptr()) }
        }

        #[inline(always)]
        fn load_single(self, values: &[f32; LANES]) -> __m512d {
            // SAFETY: as above.
            unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(values.as_ptr())) }
        }

        #[inline(always)]
        fn store(self, from: __m512d, to: &mut [f64; LANES]) {
            // SAFETY: see `Avx512`; there is room for eight numbers.
            unsafe { _mm512_storeu_pd(to.as_mut_ptr(), from) }
        }

        #[inline(always)]
        fn splat_singles(self, value: f32) -> __m512 {
            // SAFETY: see `Avx512`.
            unsafe { _mm512_set1_ps(value) }
        }

        #[inline(always)]
        fn load_singles(self, values: &[f32; SINGLES]) -> __m512 {
            // SAFETY: see `Avx512`; sixteen numbers are there to be read.
            unsafe { _mm512_loadu_ps(values.as_ptr()) }
        }

        #[inline(always)]
        fn store_singles(self, from: __m512, to: &mut [f32; SINGLES]) {
            // SAFETY: see `Avx512`; there is room for sixteen numbers.
            unsafe { _mm512_storeu_ps(to.as_mut_ptr(), from) }
        }

        #[inline(always)]
        fn multiply_add_singles(self, a: __m512, b: __m512, c: __m512) -> __m512 {
            // SAFETY: see `Avx512`.
            unsafe { _mm512_fmadd_ps(a, b, c) }
        }

        #[inline(always)]
        fn sum(self, of: __m512d) -> f64 {
            // SAFETY: see `Avx512`.
            unsafe {
                let halves = [_mm512_castpd512_pd256(of), _mm512_extractf64x4_pd::<1>(of)];
                sum_of_four(_mm256_add_pd(halves[0], halves[1]))
            }
        }

        #[inline(always)]
        fn multiply_add(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
            // SAFETY: see `Avx512`.
            unsafe { _mm512_fmadd_pd(a, b, c) }
        }
    }

    /// AVX2 unit: [`Avx512`] with two vectors for one.
    #[derive(Clone, Copy)]
    struct Avx2(());

    impl Unit for Avx2 {
        type Vector = [__m256d; 2];
        type Singles = [__m256; 2];

        #[inline(always)]
        fn splat(self, value: f64) -> [__m256d; 2] {
            // SAFETY: see `Avx2`.
            unsafe { [_mm256_set1_pd(value); 2] }
        }

        #[inline(always)]
        fn load(self, values: &[f64; LANES]) -> [__m256d; 2] {
            let from = values.as_ptr();
            // SAFETY: see `Avx2`; eight numbers are there to be read.
            unsafe { [_mm256_loadu_pd(from), _mm256_loadu_pd(from.add(4))] }
        }

        #[inline(always)]
        fn load_single(self, values: &[f32; LANES]) -> [__m256d; 2] {
            let from = values.as_ptr();
            // SAFETY: as above.
            unsafe {
                [
                    _mm256_cvtps_pd(_mm_loadu_ps(from)),
                    _mm256_cvtps_pd(_mm_loadu_ps(from.add(4))),
                ]
            }
        }

        #[inline(always)]
        fn store(self, [low, high]: [__m256d; 2], to: &mut [f64; LANES]) {
            let to = to.as_mut_ptr();
            // SAFETY: see `Avx2`; there is room for eight numbers.
            unsafe {
                _mm256_storeu_pd(to, low);
                _mm256_storeu_pd(to.add(4), high);
            }
        }

        #[inline(always)]
        fn splat_singles(self, value: f32) -> [__m256; 2] {
            // SAFETY: see `Avx2`.
            unsafe { [_mm256_set1_ps(value); 2] }
        }

        #[inline(always)]
        fn load_singles(self, values: &[f32; SINGLES]) -> [__m256; 2] {
            let from = values.as_ptr();
            // SAFETY: see `Avx2`; sixteen numbers are there to be read.
            unsafe { [_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))] }
        }

        #[inline(always)]
        fn store_singles(self, [low, high]: [__m256; 2], to: &mut [f32; SINGLES]) {
            let to = to.as_mut_ptr();
            // SAFETY: see `Avx2`; there is room for sixteen numbers.
            unsafe {
                _mm256_storeu_ps(to, low);
                _mm256_storeu_ps(to.add(8), high);
            }
        }

        #[inline(always)]
        fn multiply_add_singles(
            self,
            a: [__m256; 2],
            b: [__m256; 2],
            c: [__m256; 2],
        ) -> [__m256; 2] {
            // SAFETY: see `Avx2`.
            unsafe {
                [
                    _mm256_fmadd_ps(a[0], b[0], c[0]),
                    _mm256_fmadd_ps(a[1], b[1], c[1]),
                ]
            }
        }

        #[inline(always)]
        fn sum(self, [low, high]: [__m256d; 2]) -> f64 {
            // SAFETY: see `Avx2`.
            unsafe { sum_of_four(_mm256_add_pd(low, high)) }
        }

        #[inline(always)]
        fn multiply_add(self, a: [__m256d; 2], b: [__m256d; 2], c: [__m256d; 2]) -> [__m256d; 2] {
            // SAFETY: see `Avx2`.
            unsafe {
                [
                    _mm256_fmadd_pd(a[0], b[0], c[0]),
                    _mm256_fmadd_pd(a[1], b[1], c[1]),
                ]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Dot<'a>(&'a [f64], &'a [f64]);

    impl Work for Dot<'_> {
        type Output = f64;

        fn run<U: Unit>(self, unit: U) -> f64 {
            unit.dot(self.0, self.1)
        }
    }

    #[test]
    fn units_agree_on_products_of_any_length() {
        let a: Vec<f64> = (0..75).map(|i| f64::from(i % 9) - 4.0).collect();
        let b: Vec<f64> = (0..75).map(|i| f64::from(i % 7) / 4.0).collect();
        for n in 0..a.len() {
            // Exact in any order: quarters of small whole numbers.
            let plain: f64 = a[..n].iter().zip(&b[..n]).map(|(a, b)| a * b).sum();
            assert_eq!(wide(Dot(&a[..n], &b[..n])), plain, "{n}");
            assert_eq!(Dot(&a[..n], &b[..n]).run(Plain), plain, "{n}");
        }
    }
}
