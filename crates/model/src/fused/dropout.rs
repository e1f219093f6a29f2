//! Dropout whose mask only depends on a seed and the position of an element.
//!
//! The same seed gives the same mask on every CPU device and with any number of threads, so it needs no storage:
//! the backward pass makes it again. On CUDA, LibTorch's own generator is seeded instead, and the mask is stored.

use burn::tensor::{Tensor, TensorData};

/// A share of elements to drop and the seed of the mask, as in [`dropout`].
#[derive(Debug, Clone, Copy)]
pub struct Dropout {
    /// 0 drops nothing.
    pub rate: f64,
    /// Seed of the mask.
    pub seed: u64,
}

/// Sets a share `rate` of `x` to zero and scales the rest by `1 / (1 - rate)`.
///
/// The share is rounded to multiples of 2⁻¹⁶.
pub fn dropout<const D: usize>(x: Tensor<D>, rate: f64, seed: u64) -> Tensor<D> {
    if rate == 0.0 {
        return x;
    }
    #[cfg(feature = "tch")]
    if super::libtorch::owns(&x.device()) {
        return super::libtorch::apply(Dropout { rate, seed }, [x.into()]);
    }
    plain(x, rate, seed)
}

pub(super) fn plain<const D: usize>(x: Tensor<D>, rate: f64, seed: u64) -> Tensor<D> {
    let shape = x.dims();
    let mask = mask(shape.iter().product(), rate, seed);
    let mask = Tensor::<D>::from_data(TensorData::new(mask, shape), &x.device().inner());
    x * mask
}

/// Factors of `n` elements: 0 or `1 / (1 - rate)`.
fn mask(n: usize, rate: f64, seed: u64) -> Vec<f32> {
    let scale = (1.0 / (1.0 - rate)) as f32;
    let (threshold, key) = (threshold(rate), key(seed));
    (0..n as u32)
        .map(|i| {
            if hash(i, key) >> 16 < threshold {
                0.0
            } else {
                scale
            }
        })
        .collect()
}

/// An element is dropped when the upper half of its hash is below this.
pub(super) fn threshold(rate: f64) -> u32 {
    (rate * 65536.0).round() as u32
}

/// The two halves of the mixed seed, so that seeds 1 and 2 are as unrelated as any others.
pub(super) fn key(seed: u64) -> (u32, u32) {
    let mixed = crate::pass::mix(seed);
    (mixed as u32, (mixed >> 32) as u32)
}

/// A 32-bit finaliser (multiply and shift, three times) with the key put in; `shim.cpp` has the same one.
fn hash(i: u32, (low, high): (u32, u32)) -> u32 {
    let mut x = (i ^ low).wrapping_mul(0x9e37_79b1).wrapping_add(high);
    x = (x ^ (x >> 16)).wrapping_mul(0x21f0_aaad);
    x = (x ^ (x >> 15)).wrapping_mul(0xd35a_2d97);
    x ^ (x >> 15)
}

#[cfg(feature = "tch")]
pub(super) use kernel::dropped;

#[cfg(feature = "tch")]
mod kernel {
    use std::os::raw::{c_char, c_double, c_uint, c_void};
    use std::ptr;

    use burn::backend::libtorch::TchTensor;
    use tch::{Kind, Tensor};

    use super::Dropout;
    use crate::fused::libtorch::{Kernel, in_main_memory};
    use crate::fused::shim::{check, handle, taken};

    unsafe extern "C" {
        fn totune_dropout(
            x: *mut c_void,
            rate: c_double,
            threshold: c_uint,
            low: c_uint,
            high: c_uint,
            out: *mut *mut c_void,
        ) -> *mut c_char;
        fn totune_drop(
            x: *mut c_void,
            rate: c_double,
            seed: u64,
            out: *mut *mut c_void,
        ) -> *mut c_char;
        fn totune_drop_backward(
            grad: *mut c_void,
            mask: *mut c_void,
            rate: c_double,
            out: *mut *mut c_void,
        ) -> *mut c_char;
    }

    /// A new tensor: `x`, f32 on the CPU, with a share `rate` set to zero and the rest scaled; see
    /// [`super::dropout`].
    pub fn dropped(x: &Tensor, rate: f64, seed: u64) -> Tensor {
        if rate == 0.0 {
            return x.shallow_clone();
        }
        let threshold = super::threshold(rate);
        let (low, high) = super::key(seed);
        let mut out = ptr::null_mut();
        // SAFETY: `x` is a live tensor; the callee writes a new one.
        unsafe {
            check(totune_dropout(
                handle(x),
                rate,
                threshold,
                low,
                high,
                &mut out,
            ));
            Tensor::from_ptr(out.cast())
        }
    }

    impl Kernel<1> for Dropout {
        /// The mask, where it is not made again from its seed.
        type Saved = Option<TchTensor>;

        fn forward(&self, [x]: [TchTensor; 1]) -> (TchTensor, Self::Saved) {
            if in_main_memory(&x.tensor) && x.tensor.kind() == Kind::Float {
                let y = dropped(&x.tensor, self.rate, self.seed);
                return (TchTensor::new(y), None);
            }
            let mut out = [ptr::null_mut(); 2];
            // SAFETY: a live tensor; the callee writes two new ones.
            let mut places = unsafe {
                check(totune_drop(
                    handle(&x.tensor),
                    self.rate,
                    self.seed,
                    out.as_mut_ptr(),
                ));
                taken(&out).into_iter()
            };
            let y = places.next().flatten().expect("a result");
            (y, places.next().flatten())
        }

        fn backward(
            &self,
            mask: Self::Saved,
            grad: TchTensor,
            _: [bool; 1],
        ) -> [Option<TchTensor>; 1] {
            let Some(mask) = mask else {
                let dx = dropped(&grad.tensor, self.rate, self.seed);
                return [Some(TchTensor::new(dx))];
            };
            let mut out = ptr::null_mut();
            // SAFETY: two live tensors; the callee writes a new one.
            let dx = unsafe {
                check(totune_drop_backward(
                    handle(&grad.tensor),
                    handle(&mask.tensor),
                    self.rate,
                    &mut out,
                ));
                Tensor::from_ptr(out.cast())
            };
            [Some(TchTensor::new(dx))]
        }
    }

    #[cfg(test)]
    mod tests {
        use burn::tensor::{Device, Tensor};

        use crate::fused::compare::check;
        use crate::fused::without_cpu_kernels;

        #[test]
        fn libtorch_and_plain_agree() {
            check(&[vec![40, 50]], 1e-6, |inputs, _| {
                super::super::dropout(inputs[0].clone().reshape([40, 50]), 0.3, 7)
            });
        }

        #[test]
        fn a_mask_of_the_generator_is_that_of_its_seed_forward_and_backward() {
            let device = Device::libtorch().autodiff();
            let dropped = |seed| {
                without_cpu_kernels(|| {
                    let x = Tensor::<1>::ones([10_000], &device).require_grad();
                    let y = super::super::dropout(x.clone(), 0.2, seed);
                    let grads = y.clone().sum().backward();
                    let grad = x.grad(&grads).expect("a gradient");
                    let data = [y.inner(), grad].map(Tensor::into_data);
                    data.map(|data| data.try_to_vec::<f32>().expect("f32"))
                })
            };
            let [y, grad] = dropped(1);
            assert_eq!(y, grad);
            let zeros = y.iter().filter(|x| **x == 0.0).count();
            assert!((1800..2200).contains(&zeros), "{zeros}");
            assert!(y.iter().all(|x| *x == 0.0 || (x - 1.25).abs() < 1e-6));
            assert_eq!(dropped(1), [y.clone(), grad]);
            assert_ne!(dropped(2)[0], y);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dropped_share_is_the_rate_and_the_mean_stays() {
        let n = 1 << 20;
        let mask = mask(n, 0.1, 42);
        let share = mask.iter().filter(|&&m| m == 0.0).count() as f64 / n as f64;
        assert!((share - 0.1).abs() < 0.002, "{share}");
        let mean = mask.iter().map(|&m| f64::from(m)).sum::<f64>() / n as f64;
        assert!((mean - 1.0).abs() < 0.002, "{mean}");
    }

    #[test]
    fn masks_of_different_seeds_and_of_neighbouring_elements_are_unrelated() {
        let n = 1 << 18;
        let dropped = |seed| {
            mask(n, 0.5, seed)
                .iter()
                .map(|&m| m == 0.0)
                .collect::<Vec<_>>()
        };
        let (a, b) = (dropped(1), dropped(2));
        let agree = |a: &[bool], b: &[bool]| {
            a.iter().zip(b).filter(|(x, y)| x == y).count() as f64 / a.len() as f64
        };
        for lag in [1, 2, 7, 64, 384] {
            assert!(
                (agree(&a[lag..], &a[..n - lag]) - 0.5).abs() < 0.005,
                "lag {lag}"
            );
            assert!(
                (agree(&a[lag..], &b[..n - lag]) - 0.5).abs() < 0.005,
                "lag {lag}"
            );
        }
        assert!((agree(&a, &b) - 0.5).abs() < 0.005);
    }
}
