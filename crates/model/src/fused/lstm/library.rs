//! LibTorch's own LSTM (oneDNN on CPU, cuDNN on CUDA), with its own derivative.
//!
//! It has no masks. Padding on the right does not affect the states of a row that is read from the left, and for the
//! other direction the real steps of each row are reversed in their place, which puts padding on the right again.

use std::sync::{Arc, Mutex};

use burn::backend::libtorch::TchTensor;
use tch::{Kind, Tensor};

use super::layer::Layer;
use crate::fused::libtorch::Kernel;
use crate::fused::shim::without_warnings;

/// One direction or two, by the number of inputs: x and four weights for each.
#[derive(Debug, Clone)]
pub struct Library(pub Layer);

impl Library {
    fn run(&self, inputs: &[Tensor]) -> Tensor {
        let (x, weights) = inputs.split_first().expect("x is the first input");
        let Some(mask) = &self.0.mask else {
            return self.call(x, weights);
        };
        let mask = mask.tensor.unsqueeze(2); // [batch, seq, 1]
        let forward = self.call(x, &weights[..4]);
        if weights.len() == 4 {
            return forward * mask;
        }
        let places = reversed(&mask);
        let back = self.call(&pick(x, &places), &weights[4..]);
        Tensor::cat(&[forward, pick(&back, &places)], 2) * mask
    }

    /// The library's function, on rows without padding or with padding that it may read.
    fn call(&self, x: &Tensor, weights: &[Tensor]) -> Tensor {
        let directions = weights.len() as i64 / 4;
        let hidden = weights[1].size()[1];
        let zeros = Tensor::zeros([directions, x.size()[0], hidden], (x.kind(), x.device()));
        let weights: Vec<&Tensor> = weights.iter().collect();
        // cuDNN wants the weights one after the other in memory, and says in each call that it copies them; they are
        // small, and parameters that the optimiser changes one by one lie where they lie.
        without_warnings(|| {
            let (states, _, _) = x.lstm(
                &[&zeros, &zeros],
                &weights,
                true, // with biases
                1,    // layer
                0.0,  // dropout between layers
                self.0.tracked,
                directions == 2,
                true, // the batch is the first dimension
            );
            states
        })
    }
}

/// Permutation that reverses the real part of each row, `[batch, seq, 1]`; its own inverse.
fn reversed(mask: &Tensor) -> Tensor {
    let lengths = mask
        .sum_dim_intlist([1i64].as_slice(), true, Kind::Float)
        .to_kind(Kind::Int64); // [batch, 1, 1]
    let seq = mask.size()[1];
    let places = Tensor::arange(seq, (Kind::Int64, mask.device())).view([1, seq, 1]);
    (&lengths - 1 - &places).where_self(&places.less_tensor(&lengths), &places)
}

/// Steps of `x` `[batch, seq, width]` at `places` `[batch, seq, 1]`.
fn pick(x: &Tensor, places: &Tensor) -> Tensor {
    x.gather(1, &places.expand_as(x), false)
}

/// Graph recorded by LibTorch, and its leaves.
#[derive(Debug)]
pub struct Tape {
    leaves: Vec<Tensor>,
    out: Tensor,
}

impl<const N: usize> Kernel<N> for Library {
    /// Tape of the forward pass, none if nothing is tracked. The inputs and the output are stored so that burn does not
    /// overwrite the tensors that the tape reads.
    type Saved = Option<(Arc<Mutex<Tape>>, Vec<TchTensor>)>;

    fn forward(&self, inputs: [TchTensor; N]) -> (TchTensor, Self::Saved) {
        if !self.0.tracked {
            let inputs = inputs.map(|input| input.tensor);
            return (TchTensor::new(tch::no_grad(|| self.run(&inputs))), None);
        }
        let leaves: Vec<Tensor> = inputs
            .iter()
            .map(|input| input.tensor.detach().set_requires_grad(true))
            .collect();
        let out = tch::with_grad(|| self.run(&leaves));
        let result = TchTensor::new(out.detach());
        let tape = Arc::new(Mutex::new(Tape { leaves, out }));
        let mut kept = inputs.to_vec();
        kept.push(result.clone());
        (result, Some((tape, kept)))
    }

    fn backward(
        &self,
        saved: Self::Saved,
        grad: TchTensor,
        wanted: [bool; N],
    ) -> [Option<TchTensor>; N] {
        let (tape, _kept) = saved.expect("a tracked input makes a tape");
        let tape = tape.lock().expect("no other thread holds the tape");
        let leaves: Vec<&Tensor> = (tape.leaves.iter().zip(wanted))
            .filter_map(|(leaf, wanted)| wanted.then_some(leaf))
            .collect();
        let product = tch::with_grad(|| (&tape.out * &grad.tensor).sum(Kind::Float));
        let mut grads = Tensor::run_backward(&[product], &leaves, false, false).into_iter();
        let mut place = 0;
        wanted.map(|wanted| {
            place += 1;
            let grad = wanted.then(|| grads.next().expect("one for each leaf"))?;
            // The two biases of a direction get one tensor, which burn may overwrite for either of them.
            let is_second_bias = place > 1 && place % 4 == 1;
            Some(TchTensor::new(if is_second_bias {
                grad.copy()
            } else {
                grad
            }))
        })
    }
}
