//! Steps of a case, and the batches they take.

use anyhow::Result;
use burn::tensor::{Device, Tensor};
use totune_model::fused::{AdamW, cross_entropy};
use totune_model::{Activations, Pass, TokenBatch};

use super::network::{Batch, Network};
use super::{Head, Mode, Step, adam_w};
use crate::batches;

/// Steps of a case, taken one by one.
pub struct Steps {
    mode: Mode,
    activations: Activations,
    /// Taken and put back by each step.
    network: Option<Network>,
    optimizer: AdamW,
    /// The batches, used in turn, one for each step.
    batches: Vec<Batch>,
    /// Steps of an epoch.
    epoch: u64,
    taken: u64,
    /// Values that sides are compared by: the losses of the first steps, or in inference the logits of the first one.
    first: Vec<f64>,
    device: Device,
}

/// Losses that are compared: the second and the third depend on gradients, clipping and the update.
const COMPARED: u64 = 3;

impl Steps {
    /// Prepares the network and its batches.
    ///
    /// # Errors
    /// When a strategy does not fit the network, or a file of batches cannot be read.
    pub fn new(case: &Step, device: &Device) -> Result<Self> {
        let batches = match &case.batches {
            Some(file) => {
                let batch = |(tokens, labels): (TokenBatch, _)| Batch {
                    ids: tokens.ids.clone().into_data().iter::<i64>().collect(),
                    tokens,
                    places: Tensor::zeros([1], device),
                    labels,
                };
                let batches = batches::on_device(file, device)?.into_iter();
                batches.map(batch).collect()
            }
            None => vec![synthetic_batch(case, device)],
        };
        Ok(Self {
            mode: case.mode,
            activations: if case.recomputed {
                Activations::Recomputed
            } else {
                Activations::Kept
            },
            network: Some(Network::new(case, device)?),
            optimizer: adam_w(),
            epoch: match batches.len() {
                1 => Step::EPOCH as u64,
                n => n as u64,
            },
            batches,
            taken: 0,
            first: Vec::new(),
            device: device.clone(),
        })
    }

    /// Takes the next step, and waits for the device: else the next step would pay for this one. Returns what sides are
    /// compared by.
    ///
    /// # Panics
    /// When the device fails.
    pub fn step(&mut self) -> Vec<f64> {
        let network = self.network.take().expect("put back by the step before");
        let batch = &self.batches[self.taken as usize % self.batches.len()];
        self.taken += 1;
        self.network = Some(match self.mode {
            Mode::Inference => {
                let logits = network.logits(batch, &Pass::evaluation());
                let _: i64 = logits.clone().argmax(1).sum().into_scalar();
                if self.taken == 1 {
                    self.first = logits
                        .into_data()
                        .convert::<f64>()
                        .try_to_vec()
                        .expect("f64");
                }
                network
            }
            Mode::Train => {
                let pass = Pass::training(self.taken).with(self.activations);
                let reading = network.reader(batch, &mut self.optimizer);
                let (reader, batch) = match &reading {
                    Some((reader, batch)) => (reader, batch),
                    None => (&network, batch),
                };
                let logits = reader.logits(batch, &pass);
                let loss = cross_entropy(logits, batch.labels.clone());
                let gradients = reader.gradients(&loss);
                drop(reading);
                let network = network.updated(gradients, &mut self.optimizer);
                if self.taken.is_multiple_of(self.epoch) {
                    self.optimizer.settle();
                }
                // Behind the update, so that a GPU does not stand still before its backward pass.
                let loss: f32 = loss.into_scalar();
                if self.taken <= COMPARED {
                    self.first.push(loss.into());
                }
                network
            }
        });
        self.device.sync().expect("the device has taken the step");
        self.first.clone()
    }
}

/// One batch without padding.
fn synthetic_batch(case: &Step, device: &Device) -> Batch {
    let shape = [case.batch, case.seq];
    let n = case.batch * case.seq;
    let words = case.shape.vocab as i64 - 1000;
    let ids: Vec<i64> = (0..n as i64).map(|i| 1000 + i * 7919 % words).collect();
    let places: Vec<i64> = (0..n as i64).step_by(Step::MASKED).collect();
    let labels: Vec<i64> = match case.head {
        Head::Classifier => (0..case.batch as i64).map(|i| i % 2).collect(),
        Head::MaskedLm => places.iter().map(|&at| ids[at as usize]).collect(),
    };
    Batch {
        tokens: TokenBatch::new(ids.clone(), vec![0; n], &vec![true; n], shape, device),
        ids,
        places: Tensor::from_data(places.as_slice(), device),
        labels: Tensor::from_data(labels.as_slice(), device),
    }
}

#[cfg(all(test, feature = "tch"))]
// burn 0.22 deprecates LibTorch's devices; see `totune_model`.
#[allow(deprecated)]
mod tests {
    use totune_model::fused::TensorMemory;

    use super::*;
    use crate::shape::Shape;

    // With few tokens the peak is at the update, otherwise at the beginning of the backward pass.
    #[test]
    fn the_formula_of_memory_gives_the_tensors_that_are_counted() {
        let device = Device::libtorch();
        for size in [[16, 64], [2, 16]] {
            let case = Step::training(Shape::BERT_MINI, size, 1);
            let expected = case.counted().expect("a formula").memory().peak() as f64;
            let memory = TensorMemory::begin(&device).expect("LibTorch's device");
            let mut steps = Steps::new(&case, &device).expect("steps");
            for _ in 0..2 {
                steps.step();
            }
            let counted = memory.end() as f64;
            let share = counted / expected;
            assert!(
                (share - 1.0).abs() < 0.02,
                "{size:?}: {counted} of {expected}"
            );
        }
    }
}
