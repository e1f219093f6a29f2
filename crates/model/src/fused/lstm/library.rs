//! LibTorch's own LSTM (oneDNN on CPU, cuDNN on CUDA), with its own derivative.
//!
//! It knows no masks. Padding on the right does not reach what a row gives when it is read from the left, and for the
//! other direction the real steps of each row are reversed in their place, which puts padding on the right again.

use std::sync::{Arc, Mutex};

use burn::backend::libtorch::TchTensor;
use burn::tensor::Tensor as BurnTensor;
use tch::{Kind, Tensor};

use super::LstmWeights;
use crate::fused::libtorch::{Input, Kernel, apply, raw};

/// See [`super::lstm`].
pub fn lstm(x: BurnTensor<3>, mask: Option<&BurnTensor<2>>, w: LstmWeights) -> BurnTensor<3> {
    let kernel = Library::new(&x, mask, &[&w]);
    let [a, b, c, d] = inputs(w);
    apply(kernel, [x.into(), a, b, c, d])
}

/// See [`super::bilstm`].
pub fn bilstm(
    x: BurnTensor<3>,
    mask: Option<&BurnTensor<2>>,
    [forward, backward]: [LstmWeights; 2],
) -> BurnTensor<3> {
    let kernel = Library::new(&x, mask, &[&forward, &backward]);
    let ([a, b, c, d], [e, f, g, h]) = (inputs(forward), inputs(backward));
    apply(kernel, [x.into(), a, b, c, d, e, f, g, h])
}

fn inputs(w: LstmWeights) -> [Input; 4] {
    [
        w.weight_ih.into(),
        w.weight_hh.into(),
        w.bias_ih.into(),
        w.bias_hh.into(),
    ]
}

#[derive(Debug, Clone)]
struct Library {
    /// `[batch, seq]`.
    mask: Option<TchTensor>,
    /// Whether a gradient may be asked for.
    tracked: bool,
}

impl Library {
    fn new(x: &BurnTensor<3>, mask: Option<&BurnTensor<2>>, weights: &[&LstmWeights]) -> Self {
        let tracked = weights.iter().any(|w| w.weight_ih.is_autodiff());
        Self {
            mask: mask.map(|mask| TchTensor::new(raw(mask))),
            tracked: tracked || x.is_autodiff(),
        }
    }

    /// One direction or two, by the number of inputs: x and four weights for each.
    fn run(&self, inputs: &[Tensor]) -> Tensor {
        let (x, weights) = inputs.split_first().expect("x is the first input");
        let Some(mask) = &self.mask else {
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
        let (states, _, _) = x.lstm(
            &[&zeros, &zeros],
            &weights,
            true, // with biases
            1,    // layer
            0.0,  // dropout between layers
            self.tracked,
            directions == 2,
            true, // the batch is the first dimension
        );
        states
    }
}

/// For each place the one to read so that the real part of a row is reversed, `[batch, seq, 1]`; its own inverse.
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

/// What LibTorch recorded, and its leaves.
#[derive(Debug)]
struct Tape {
    leaves: Vec<Tensor>,
    out: Tensor,
}

impl<const N: usize> Kernel<N> for Library {
    /// None where nothing is tracked. The inputs and the output are kept so that burn does not overwrite what the tape
    /// reads.
    type Saved = Option<(Arc<Mutex<Tape>>, Vec<TchTensor>)>;

    fn forward(&self, inputs: [TchTensor; N]) -> (TchTensor, Self::Saved) {
        if !self.tracked {
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
            Some(TchTensor::new(match is_second_bias {
                true => grad.copy(),
                false => grad,
            }))
        })
    }
}
