//! `bench update`: AdamW's update of all weights next to PyTorch's, and next to `memcpy` of as many bytes.
//!
//! The update is the part of a step that memory limits: it reads weight, gradient and both moments of each parameter and
//! writes weight and moments, seven f32s, for about as many operations.

use std::hint::black_box;

use anyhow::Result;
use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Distribution, Tensor};
use serde::{Deserialize, Serialize};
use totune_model::{Bert, Classifier};

use crate::comparison::{Case, Comparison, SideSpec, Unit};
use crate::desk::Desk;
use crate::memory::TrainingStep;
use crate::transformer::{self, RATE, Shape, Step};
use crate::worker::{Worker, answer};

/// Bytes that an update reads and writes for each byte of the weights.
const TOUCHED: usize = 7;

/// The update of all weights of a classifier. `bench/update.py` reads the same.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Update {
    shape: Shape,
    threads: usize,
}

/// A copy from one buffer to another.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Copying {
    /// Length of the buffer; a copy reads and writes twice as many.
    bytes: usize,
    threads: usize,
}

/// Two encoders, on one thread and on all.
pub fn comparison(desk: &Desk) -> Result<Comparison> {
    let mut networks = vec![("MiniLM", Shape::MINI_LM), ("BERT-base", Shape::BERT_BASE)];
    if desk.tiny {
        networks = vec![("tiny", Shape::TINY)];
    }
    let mut comparison = Comparison::new("AdamW's update next to PyTorch and memcpy", &["totune"]).note(
        "The update alone, of all weights, without the norm of the gradients; `pytorch-fused` is AdamW with `fused=True`.\n\
         GB/s count weight, gradient and two moments of each parameter, read, and weight and moments, written: 28 bytes. `memcpy` copies half as \
         many between two buffers, each thread its share of them, so it reads and writes as many.",
    );
    let mut threads = vec![1, desk.threads];
    threads.dedup();
    for (name, shape) in networks {
        for &threads in &threads {
            let touched = TOUCHED * weights(shape);
            let update = Update { shape, threads };
            let copying = Copying {
                bytes: touched / 2,
                threads,
            };
            let sides = vec![
                SideSpec::ours("totune", "update", &update)?,
                SideSpec::python("pytorch-fused", "update.py", &update)?,
                SideSpec::ours("memcpy", "copy", &copying)?,
            ];
            let mut case = Case::new(name, threads, sides);
            case.unit = Some(Unit {
                name: "GB".to_string(),
                per_lap: touched as f64 / 1e9,
            });
            comparison.cases.push(case);
        }
    }
    Ok(comparison)
}

/// Bytes of all weights of a classifier.
fn weights(shape: Shape) -> usize {
    let step = TrainingStep {
        shape,
        batch: 1,
        seq: 1,
        trained_layers: shape.layers,
        moments: 2,
    };
    step.memory().weights
}

/// Updates on request, always by the same gradients.
pub fn work(case: &Update, worker: &Worker) -> Result<()> {
    let device = &worker.machine.device;
    let step = Step::training(case.shape, [1, 1], case.threads);
    let mut model = Some(transformer::classifier(&step, device)?);
    let mut kept = GradientsParams::new();
    if let Some(model) = &model {
        model.visit(&mut Random {
            grads: &mut kept,
            device,
        });
    }
    let mut optimizer = transformer::adam_w();
    answer(&worker.machine.device_name, || {
        let mut grads = GradientsParams::new();
        model = model.take().map(|model: Classifier<Bert>| {
            model.visit(&mut Shared {
                from: &kept,
                to: &mut grads,
            });
            optimizer.step(model, grads, &|_| Some(RATE))
        });
        Ok(Vec::new())
    })
}

/// Copies on request.
pub fn copy(case: &Copying, worker: &Worker) -> Result<()> {
    let from = vec![1_u8; case.bytes]; // of pages that were written to: others are all one
    let mut to = vec![0_u8; case.bytes];
    let share = case.bytes.div_ceil(case.threads).max(1);
    answer(&worker.machine.device_name, || {
        std::thread::scope(|scope| {
            for (to, from) in to.chunks_mut(share).zip(from.chunks(share)) {
                scope.spawn(move || to.copy_from_slice(black_box(from)));
            }
        });
        black_box(&to);
        Ok(Vec::new())
    })
}

/// Makes a gradient for each parameter.
struct Random<'a> {
    grads: &'a mut GradientsParams,
    device: &'a Device,
}

impl ModuleVisitor for Random<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let shape = param.val().shape();
        let grad = Tensor::<D>::random(shape, Distribution::Normal(0.0, 1e-3), self.device);
        self.grads.register(param.id, grad);
    }
}

/// Hands the same gradients on, without a copy of their numbers.
struct Shared<'a> {
    from: &'a GradientsParams,
    to: &'a mut GradientsParams,
}

impl ModuleVisitor for Shared<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(grad) = self.from.get::<D>(param.id) {
            self.to.register(param.id, grad);
        }
    }
}
