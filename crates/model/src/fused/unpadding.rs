//! States of a batch without padding: the real tokens of all rows, one after the other.
//!
//! Only attention needs rows: everything else in a transformer layer treats each token by itself, and computes nothing
//! for padding if there is none.

use burn::tensor::{Device, Int, Tensor};

/// The places of the real tokens of a padded batch.
#[derive(Debug, Clone)]
pub struct Unpadding {
    /// `[batch, seq]`.
    shape: [usize; 2],
    /// Place of each real token among all of the batch, row by row: `[tokens]`.
    places: Tensor<1, Int>,
    /// Number of the token at each place, 0 at padding: `[batch * seq]`.
    tokens: Tensor<1, Int>,
    /// 1 for a real token, 0 for padding: `[batch * seq, 1]`.
    mask: Tensor<2>,
    /// Number of real tokens of each row, `[batch]`.
    #[cfg(feature = "tch")]
    lengths: Tensor<1, Int>,
}

/// Padding of up to one place in so many stays: it costs little, and taking it out copies the states of each layer once more.
const LITTLE: usize = 16;

impl Unpadding {
    /// The unpadding of a batch with this mask, row-major `[batch, seq]`, true for real tokens; none where there is little
    /// padding, where it is not at the ends of rows, or on a GPU, where no time has been measured with it.
    pub(crate) fn new(mask: &[bool], shape: [usize; 2], device: &Device) -> Option<Self> {
        let [_, seq] = shape;
        let lengths = mask.chunks(seq.max(1)).map(|row| {
            let length = row.iter().take_while(|real| **real).count();
            let ends_in_padding = !row[length..].contains(&true);
            // A row without any real token attends to its padding.
            ends_in_padding.then_some(if length == 0 { seq } else { length })
        });
        let lengths = lengths.collect::<Option<Vec<usize>>>()?;
        let n_tokens: usize = lengths.iter().sum();
        if is_gpu(device) || mask.len() - n_tokens <= mask.len() / LITTLE {
            return None;
        }
        let (mut places, mut tokens, mut real) = (Vec::new(), Vec::new(), Vec::new());
        for (row, &length) in lengths.iter().enumerate() {
            for at in 0..seq {
                real.push(if at < length { 1.0f32 } else { 0.0 });
                tokens.push(if at < length { places.len() as i64 } else { 0 });
                if at < length {
                    places.push((row * seq + at) as i64);
                }
            }
        }
        let integers = |values: Vec<i64>| Tensor::from_data(values.as_slice(), device);
        Some(Self {
            shape,
            places: integers(places),
            tokens: integers(tokens),
            mask: Tensor::<1>::from_data(real.as_slice(), device).reshape([mask.len(), 1]),
            #[cfg(feature = "tch")]
            lengths: integers(lengths.into_iter().map(|length| length as i64).collect()),
        })
    }

    /// The states of the real tokens: `[batch, seq, width]` to `[1, tokens, width]`.
    pub(crate) fn unpad(&self, x: Tensor<3>) -> Tensor<3> {
        let [batch, seq, width] = x.dims();
        debug_assert_eq!([batch, seq], self.shape);
        #[cfg(feature = "tch")]
        if super::libtorch::owns(&x.device()) {
            return super::libtorch::apply(kernel::Rows::new(self, false), [x.into()]);
        }
        let places = self.beside(&x).places;
        let x: Tensor<2> = x.reshape([batch * seq, width]);
        x.select(0, places).unsqueeze()
    }

    /// The opposite, with zeros for padding: `[1, tokens, width]` to `[batch, seq, width]`.
    pub(crate) fn pad(&self, x: Tensor<3>) -> Tensor<3> {
        #[cfg(feature = "tch")]
        if super::libtorch::owns(&x.device()) {
            return super::libtorch::apply(kernel::Rows::new(self, true), [x.into()]);
        }
        let [batch, seq] = self.shape;
        let [_, _, width] = x.dims();
        let Self { tokens, mask, .. } = self.beside(&x);
        let x: Tensor<2> = x.squeeze_dim(0);
        (x.select(0, tokens) * mask).reshape([batch, seq, width])
    }

    /// `[batch, seq]`.
    #[cfg(feature = "tch")]
    pub(super) fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// Number of real tokens of each row, `[batch]`.
    #[cfg(feature = "tch")]
    pub(super) fn lengths(&self) -> &Tensor<1, Int> {
        &self.lengths
    }

    /// The same as it goes with `x`: outside any graph where `x` is.
    fn beside(&self, x: &Tensor<3>) -> Self {
        if x.is_autodiff() {
            return self.clone();
        }
        Self {
            shape: self.shape,
            places: self.places.clone().inner(),
            tokens: self.tokens.clone().inner(),
            mask: self.mask.clone().inner(),
            #[cfg(feature = "tch")]
            lengths: self.lengths.clone().inner(),
        }
    }
}

/// Returns true if tensors on `device` are in the memory of a GPU.
fn is_gpu(device: &Device) -> bool {
    #[cfg(feature = "tch")]
    if super::libtorch::owns(device) {
        return !super::libtorch::owns_in_main_memory(device);
    }
    let _ = device;
    false
}

/// `x` as [`Unpadding::unpad`] gives it, where there is an unpadding.
pub(crate) fn unpadded(unpadding: Option<&Unpadding>, x: Tensor<3>) -> Tensor<3> {
    match unpadding {
        Some(unpadding) => unpadding.unpad(x),
        None => x,
    }
}

/// `x` as [`Unpadding::pad`] gives it, where there is an unpadding.
pub(crate) fn padded(unpadding: Option<&Unpadding>, x: Tensor<3>) -> Tensor<3> {
    match unpadding {
        Some(unpadding) => unpadding.pad(x),
        None => x,
    }
}

#[cfg(feature = "tch")]
mod kernel {
    use burn::backend::libtorch::TchTensor;
    use tch::Tensor;

    use crate::fused::libtorch::{Kernel, held, held_int};

    /// An [`Unpadding`](super::Unpadding) in LibTorch's tensors: puts padding back, or takes it out.
    #[derive(Debug, Clone)]
    pub struct Rows {
        pads: bool,
        shape: [i64; 2],
        places: TchTensor,
        tokens: TchTensor,
        mask: TchTensor,
    }

    impl Rows {
        pub fn new(unpadding: &super::Unpadding, pads: bool) -> Self {
            Self {
                pads,
                shape: unpadding.shape.map(|n| n as i64),
                places: held_int(&unpadding.places),
                tokens: held_int(&unpadding.tokens),
                mask: held(&unpadding.mask),
            }
        }

        fn copy(&self, x: &Tensor, pads: bool) -> TchTensor {
            let ([batch, seq], width) = (self.shape, x.size()[2]);
            let rows = |of: &TchTensor| x.reshape([-1, width]).index_select(0, &of.tensor);
            TchTensor::new(if pads {
                let mut padded = rows(&self.tokens);
                padded.g_mul_(&self.mask.tensor).view([batch, seq, width])
            } else {
                rows(&self.places).unsqueeze(0)
            })
        }
    }

    impl Kernel<1> for Rows {
        type Saved = ();

        fn forward(&self, [x]: [TchTensor; 1]) -> (TchTensor, ()) {
            (self.copy(&x.tensor, self.pads), ())
        }

        fn backward(&self, (): (), grad: TchTensor, _: [bool; 1]) -> [Option<TchTensor>; 1] {
            [Some(self.copy(&grad.tensor, !self.pads))]
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;

    fn devices() -> Vec<Device> {
        let mut devices = vec![Device::flex()];
        if cfg!(feature = "tch") {
            devices.push(Device::libtorch());
        }
        devices
    }

    #[test]
    fn states_without_padding_come_back_to_their_places() {
        // The second row has no real token, and keeps its padding.
        let mask = [true, true, false, false, false, false, true, false, false];
        for device in devices() {
            let device = device.autodiff();
            let unpadding = Unpadding::new(&mask, [3, 3], &device).expect("much padding");
            let states: Vec<f32> = (1..=9).map(|i| i as f32).collect();
            let states = Tensor::<1>::from_data(states.as_slice(), &device).require_grad();
            let tokens = unpadding.unpad(states.clone().reshape([3, 3, 1]));
            let values = |tensor: TensorData| tensor.try_to_vec::<f32>().expect("f32");
            assert_eq!(
                values(tokens.clone().into_data()),
                [1.0, 2.0, 4.0, 5.0, 6.0, 7.0]
            );
            let back = unpadding.pad(tokens);
            let expected = [1.0, 2.0, 0.0, 4.0, 5.0, 6.0, 7.0, 0.0, 0.0];
            assert_eq!(values(back.clone().into_data()), expected);
            let weights: Vec<f32> = (1..=9).map(|i| (i * i) as f32).collect();
            let weights = Tensor::<1>::from_data(weights.as_slice(), &device).reshape([3, 3, 1]);
            let gradients = (back * weights).sum().backward();
            let gradient = states.grad(&gradients).expect("a gradient");
            let expected = [1.0, 4.0, 0.0, 16.0, 25.0, 36.0, 49.0, 0.0, 0.0];
            assert_eq!(values(gradient.into_data()), expected);
        }
    }

    #[test]
    fn little_padding_stays() {
        let none = |mask: &[bool]| Unpadding::new(mask, [4, 10], &Device::flex()).is_none();
        let mask = |n: usize| (0..40).map(|at| at < n).collect::<Vec<bool>>();
        assert!(none(&mask(40)) && none(&mask(38)) && !none(&mask(34)));
    }

    #[test]
    fn padding_between_tokens_stays() {
        let mask = [false, false, true, true, true, true];
        assert!(Unpadding::new(&mask, [2, 3], &Device::flex()).is_none());
        assert!(Unpadding::new(&[true, false, true], [1, 3], &Device::flex()).is_none());
        assert!(Unpadding::new(&[], [0, 0], &Device::flex()).is_none());
    }
}
