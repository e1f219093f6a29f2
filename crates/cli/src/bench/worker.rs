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
    Bert, Classifier, Encoder, HeadSpec, LinearSpec, MaskedLm, MaskedLmConfig, Pass, Pooling,
    RandomWeights, TokenBatch,
};

use super::{Case, Head, Mode, bf16};

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

/// What is trained or asked.
// There is one, for as long as the process lives.
#[expect(clippy::large_enum_variant)]
enum Network {
    Classifier(Classifier<Bert>),
    MaskedLm(MaskedLm),
}

impl Network {
    fn new(case: &Case, device: &Device) -> Result<Self> {
        let mut weights = RandomWeights::new(1, 0.02);
        let precision = case.dtype.precision();
        if case.head == Head::MaskedLm {
            let model = MaskedLmConfig::new(case.config()).load(&mut weights, device)?;
            let model = model.with_precision(precision);
            return Ok(Self::MaskedLm(match case.mode {
                Mode::Train => model.train(),
                Mode::Inference => model,
            }));
        }
        let encoder = case.config().load(&mut weights, device)?;
        let encoder = encoder.with_precision(precision);
        let head = HeadSpec::Linear(LinearSpec {
            pooling: Pooling::Pooler,
            layers: totune_model::Layers::Top,
            dropout: case.dropout,
        });
        let model = Classifier::new(encoder, &head, 2, 1, device)?;
        Ok(Self::Classifier(match case.mode {
            Mode::Train => model.train(),
            Mode::Inference => model,
        }))
    }

    /// Scores of what is predicted, `[examples or masked tokens, labels or vocab]`.
    fn logits(&self, batch: &Batch, pass: &Pass) -> Tensor<2> {
        match self {
            Self::Classifier(model) => model.forward(&batch.tokens, pass).labels(),
            Self::MaskedLm(model) => model.logits(&batch.tokens, batch.places.clone(), pass),
        }
    }

    fn updated(self, loss: &Tensor<1>, optimizer: &mut AdamW) -> Self {
        match self {
            Self::Classifier(model) => Self::Classifier(updated(model, loss, optimizer)),
            Self::MaskedLm(model) => Self::MaskedLm(updated(model, loss, optimizer)),
        }
    }
}

/// Backward, clipping and an update of everything.
fn updated<M: Module>(model: M, loss: &Tensor<1>, optimizer: &mut AdamW) -> M {
    let mut grads = GradientsParams::from_grads(loss.backward(), &model);
    clip_global_norm(&model, &mut grads, Some(1.0));
    let rate = Rate {
        lr: 1e-5,
        weight_decay: 0.01,
    };
    optimizer.step(model, grads, &|_| Some(rate))
}

struct Batch {
    tokens: TokenBatch,
    /// Masked tokens, counted through the rows.
    places: Tensor<1, Int>,
    /// Of each example or each masked token.
    labels: Tensor<1, Int>,
}

struct Steps {
    mode: Mode,
    /// Taken and put back by each step.
    network: Option<Network>,
    optimizer: AdamW,
    /// Gone round, one for each step.
    batches: Vec<Batch>,
    taken: u64,
}

impl Steps {
    fn new(case: &Case, device: &Device) -> Result<Self> {
        let batches = match &case.batches {
            Some(file) => {
                let batch = |(tokens, labels)| Batch {
                    tokens,
                    places: Tensor::zeros([1], device),
                    labels,
                };
                bf16::on_device(file, device)?
                    .into_iter()
                    .map(batch)
                    .collect()
            }
            None => vec![made_up(case, device)],
        };
        Ok(Self {
            mode: case.mode,
            network: Some(Network::new(case, device)?),
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
        let network = self.network.take().expect("put back by the step before");
        let batch = &self.batches[self.taken as usize % self.batches.len()];
        self.taken += 1;
        let network = match self.mode {
            Mode::Inference => {
                let logits = network.logits(batch, &Pass::evaluation());
                let _: i64 = logits.argmax(1).sum().into_scalar();
                network
            }
            Mode::Train => {
                let logits = network.logits(batch, &Pass::training(self.taken));
                let loss = cross_entropy(logits, batch.labels.clone());
                let _: f32 = loss.clone().into_scalar();
                network.updated(&loss, &mut self.optimizer)
            }
        };
        self.network = Some(network);
    }
}

/// One batch without padding.
fn made_up(case: &Case, device: &Device) -> Batch {
    let shape = [case.batch, case.seq];
    let n = case.batch * case.seq;
    let ids: Vec<i64> = (0..n as i64).map(|i| 1000 + i * 7919 % 29000).collect();
    let places: Vec<i64> = (0..n as i64).step_by(Case::MASKED).collect();
    let labels: Vec<i64> = match case.head {
        Head::Classifier => (0..case.batch as i64).map(|i| i % 2).collect(),
        Head::MaskedLm => places.iter().map(|&at| ids[at as usize]).collect(),
    };
    Batch {
        tokens: TokenBatch::new(ids, vec![0; n], &vec![true; n], shape, device),
        places: Tensor::from_data(places.as_slice(), device),
        labels: Tensor::from_data(labels.as_slice(), device),
    }
}
