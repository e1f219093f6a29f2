//! Our side of the comparison: the steps of the training loop, and inference.

use std::io::{BufRead, Write};
use std::time::Instant;

use anyhow::{Context, Result};
use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor};
use serde_json::json;
use totune_model::fused::{AdamW, AdamWConfig, Rate, clip_global_norm, cross_entropy};
use totune_model::{
    Bert, Classifier, Encoder, HeadSpec, LinearSpec, Pass, Pooling, RandomWeights, TokenBatch,
};

use super::{Case, Mode, bf16};

/// Answers requests on standard input until it ends.
pub fn worker(case: &str, device: &Device, version: &str) -> Result<()> {
    let case: Case = serde_json::from_str(case).context("not a case")?;
    let mut steps = Steps::new(&case, device)?;
    answer(version, || steps.step())?;
    println!("{}", json!({ "peak_memory": crate::memory::peak() }));
    Ok(())
}

/// Says `version`; then for each number on standard input times as many steps and says the seconds of each, until the
/// input ends. What is to be said last is left to the caller.
pub fn answer(version: &str, mut step: impl FnMut()) -> Result<()> {
    let mut out = std::io::stdout();
    let mut say = |value: serde_json::Value| -> Result<()> {
        writeln!(out, "{value}")?;
        Ok(out.flush()?)
    };
    say(json!({ "version": version }))?;
    for line in std::io::stdin().lock().lines() {
        let n: usize = line?.trim().parse().context("not a number of steps")?;
        let mut seconds = Vec::with_capacity(n);
        for _ in 0..n {
            let start = Instant::now();
            step();
            seconds.push(start.elapsed().as_secs_f64());
        }
        say(json!({ "seconds": seconds }))?;
    }
    Ok(())
}

struct Steps {
    mode: Mode,
    /// Taken and put back by each step.
    model: Option<Classifier<Bert>>,
    optimizer: AdamW,
    /// Gone round, one for each step.
    batches: Vec<(TokenBatch, Tensor<1, Int>)>,
    taken: u64,
}

impl Steps {
    fn new(case: &Case, device: &Device) -> Result<Self> {
        let encoder = case
            .config()
            .load(&mut RandomWeights::new(1, 0.02), device)?
            .with_precision(case.dtype.precision());
        let head = HeadSpec::Linear(LinearSpec {
            pooling: Pooling::Pooler,
            layers: totune_model::Layers::Top,
            dropout: case.dropout,
        });
        let model = Classifier::new(encoder, &head, 2, 1, device)?;
        let model = match case.mode {
            Mode::Train => model.train(),
            Mode::Inference => model,
        };
        let batches = match &case.batches {
            Some(file) => bf16::on_device(file, device)?,
            None => vec![made_up(case, device)],
        };
        Ok(Self {
            mode: case.mode,
            model: Some(model),
            optimizer: AdamW::new(&AdamWConfig {
                beta_1: 0.9,
                beta_2: 0.999,
                epsilon: 1e-8,
                bias_correction: true,
            }),
            batches,
            taken: 0,
        })
    }

    fn step(&mut self) {
        let model = self.model.take().expect("put back by the step before");
        let (batch, labels) = &self.batches[self.taken as usize % self.batches.len()];
        self.taken += 1;
        let model = match self.mode {
            Mode::Inference => {
                let logits = model.forward(batch, &Pass::evaluation()).labels();
                let _: i64 = logits.argmax(1).sum().into_scalar();
                model
            }
            Mode::Train => {
                let logits = model.forward(batch, &Pass::training(self.taken)).labels();
                let loss = cross_entropy(logits, labels.clone());
                let _: f32 = loss.clone().into_scalar();
                let mut grads = GradientsParams::from_grads(loss.backward(), &model);
                clip_global_norm(&model, &mut grads, Some(1.0));
                let rate = Rate {
                    lr: 1e-5,
                    weight_decay: 0.01,
                };
                self.optimizer.step(model, grads, &|_| Some(rate))
            }
        };
        self.model = Some(model);
    }
}

/// One batch without padding.
fn made_up(case: &Case, device: &Device) -> (TokenBatch, Tensor<1, Int>) {
    let shape = [case.batch, case.seq];
    let n = case.batch * case.seq;
    let ids: Vec<i64> = (0..n as i64).map(|i| 1000 + i * 7919 % 29000).collect();
    let labels: Vec<i64> = (0..case.batch as i64).map(|i| i % 2).collect();
    let batch = TokenBatch::new(ids, vec![0; n], &vec![true; n], shape, device);
    (batch, Tensor::from_data(labels.as_slice(), device))
}
