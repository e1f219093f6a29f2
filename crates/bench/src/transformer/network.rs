//! The networks whose steps are timed, and their updates.

use anyhow::Result;
use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor};
use totune_adapt::{Adaptation, Defaults, Schedule, StopRule, require_gradients, schedule, sizes};
use totune_model::fused::{AdamW, Rate};
use totune_model::{
    Bert, Classifier, Encoder, HeadSpec, Layers, LinearSpec, MaskedLm, MaskedLmConfig, Pass,
    Pooling, RandomWeights, Shape as _, TokenBatch, Weights as _, WordRows,
};

use super::{Head, Mode, Step, clipped};
use crate::synthetic::NamedWeights;

/// The input of a network, and its labels.
#[derive(Clone)]
pub(super) struct Batch {
    pub tokens: TokenBatch,
    /// Ids of the tokens, in the memory of the host.
    pub ids: Vec<i64>,
    /// Masked tokens, counted through the rows.
    pub places: Tensor<1, Int>,
    /// Labels of each example or each masked token.
    pub labels: Tensor<1, Int>,
}

/// The lowest block with a trained parameter, as in [`Pass`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Lowest(usize);

impl Lowest {
    const EMBEDDINGS: Self = Self(0);
}

// There is one, for as long as the process lives.
#[expect(clippy::large_enum_variant)]
pub(super) enum Network {
    Classifier(Classifier<Bert>, Lowest),
    MaskedLm(MaskedLm),
}

/// Learning rate and weight decay of the training steps.
pub const RATE: Rate = Rate {
    lr: 1e-5,
    weight_decay: 0.01,
};

impl Network {
    pub fn new(case: &Step, device: &Device) -> Result<Self> {
        let train = case.mode == Mode::Train;
        if case.head == Head::MaskedLm {
            let mut weights = RandomWeights::new(1, 0.02);
            let precision = case.dtype.precision();
            let model = MaskedLmConfig::new(case.config()).load(&mut weights, device)?;
            let model = model.with_dropout(case.dropout).with_precision(precision);
            return Ok(Self::MaskedLm(if train { model.train() } else { model }));
        }
        if let Some(strategy) = case.trained.strategy() {
            let encoder = encoder(case, device)?;
            return partly_trained(&strategy, encoder, &head(case), device);
        }
        let model = classifier(case, device)?;
        Ok(Self::Classifier(
            if train { model.train() } else { model },
            Lowest::EMBEDDINGS,
        ))
    }

    /// Scores of the predictions, `[examples or masked tokens, labels or vocab]`.
    pub fn logits(&self, batch: &Batch, pass: &Pass) -> Tensor<2> {
        match self {
            Self::Classifier(model, Lowest(lowest)) => {
                let pass = pass.clone().frozen(*lowest, true);
                model.forward(&batch.tokens, &pass).labels()
            }
            Self::MaskedLm(model) => model.logits(&batch.tokens, batch.places.clone(), pass),
        }
    }

    /// A network for this batch alone, with the rows of its word embeddings that the batch reads, and the batch as it reads
    /// it; none where the gradient of the embeddings has all rows.
    pub fn reader(&self, batch: &Batch, optimizer: &mut AdamW) -> Option<(Self, Batch)> {
        let Self::Classifier(model, lowest) = self else {
            return None;
        };
        let rows = WordRows::new(batch.ids.iter().copied());
        let model = model.with_word_rows(&rows, optimizer)?;
        let tokens = batch.tokens.clone().reading(&rows);
        let batch = Batch {
            tokens,
            ..batch.clone()
        };
        Some((Self::Classifier(model, *lowest), batch))
    }

    /// The gradients of a loss, clipped.
    pub fn gradients(&self, loss: &Tensor<1>) -> GradientsParams {
        match self {
            Self::Classifier(model, _) => clipped(model, loss, 1.0),
            Self::MaskedLm(model) => clipped(model, loss, 1.0),
        }
    }

    pub fn updated(self, gradients: GradientsParams, optimizer: &mut AdamW) -> Self {
        let rate = |_: &str| Some(RATE);
        match self {
            Self::Classifier(model, lowest) => {
                Self::Classifier(optimizer.step(model, gradients, &rate), lowest)
            }
            Self::MaskedLm(model) => Self::MaskedLm(optimizer.step(model, gradients, &rate)),
        }
    }
}

/// The encoder of a case, with synthetic weights.
fn encoder(case: &Step, device: &Device) -> Result<Bert> {
    let encoder = case.config().load(&mut NamedWeights, device)?;
    Ok(encoder.with_precision(case.dtype.precision()))
}

/// Pooler and linear layer.
fn head(case: &Step) -> HeadSpec {
    HeadSpec::Linear(LinearSpec {
        pooling: Pooling::Pooler,
        layers: Layers::Top,
        dropout: case.dropout,
    })
}

/// The encoder of a case with a head of two labels.
///
/// # Errors
/// When the head does not fit the encoder.
pub fn classifier(case: &Step, device: &Device) -> Result<Classifier<Bert>> {
    let mut model = Classifier::new(encoder(case, device)?, &head(case), 2, 1, device)?;
    let weight = NamedWeights.take("classifier.weight", &[2, case.shape.hidden])?;
    let bias = NamedWeights.take("classifier.bias", &[2])?;
    model.head = model.head.with_linear(weight, bias)?;
    Ok(model)
}

/// A classifier in training of which a strategy trains few parameters.
fn partly_trained(
    strategy: &Adaptation,
    encoder: Bert,
    head: &HeadSpec,
    device: &Device,
) -> Result<Network> {
    let defaults = Defaults {
        weight_decay: RATE.weight_decay,
        no_decay: Vec::new(),
        schedule: Schedule::Constant(schedule::Constant { warmup: 0.0 }),
        epochs: 1,
        stop: StopRule::Epochs {},
        reads_pooler: true,
    };
    let n_layers = encoder.n_layers();
    let plan = strategy.plan(&defaults, n_layers)?;
    let model = Classifier::new(plan.prepare(encoder, 1)?, head, 2, 1, device)?.train();
    let paths: Vec<String> = sizes(&model).into_keys().collect();
    let assigned = plan.assign(&paths, n_layers)?.remove(0);
    let model = require_gradients(model, &|path| assigned.parameters.contains_key(path));
    Ok(Network::Classifier(model, Lowest(assigned.frozen_below)))
}
