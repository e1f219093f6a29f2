//! A tag for each word of a sentence.

use anyhow::{Result, ensure};
use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};
use serde::{Deserialize, Serialize};

use crate::layer::Linear;
use crate::{Pass, RandomWeights, Side, WordPlaces, fused};

/// How a tagger looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TaggerSpec {
    /// Dropout on the states.
    pub dropout: f64,
}

impl TaggerSpec {
    /// Refuses values out of range, naming the key below `head`.
    pub fn validate(&self) -> Result<()> {
        ensure!(
            (0.0..1.0).contains(&self.dropout),
            "head.dropout: found {}, expected from 0 to less than 1",
            self.dropout
        );
        Ok(())
    }
}

/// A linear layer over the state at each word's first piece.
#[derive(Module, Debug)]
pub struct Tagger {
    output: Linear,
    dropout: f64,
}

/// Standard deviation of new weights, as in the released BERT classifier.
const INIT_SD: f64 = 0.02;

impl Tagger {
    /// A new tagger of `n_outputs` tags over states of width `width`, drawn from `seed`.
    pub fn new(
        spec: &TaggerSpec,
        width: usize,
        n_outputs: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Self> {
        let mut weights = RandomWeights::new(seed, INIT_SD);
        Ok(Self {
            output: Linear::load(&mut weights, "head.output", [width, n_outputs], device)?,
            dropout: spec.dropout,
        })
    }

    /// Scores of tags for each word, `[batch, words, tags]`.
    pub fn emissions(&self, x: Side, places: &WordPlaces, pass: &Pass) -> Tensor<3> {
        let rate = if pass.training { self.dropout } else { 0.0 };
        let words = at(x.states, places.starts.clone());
        self.output
            .forward(fused::dropout(words, rate, pass.draw()))
    }
}

/// The states at `places` `[batch, words]` of each row: `[batch, words, width]`.
fn at(states: Tensor<3>, places: Tensor<2, Int>) -> Tensor<3> {
    let ([batch, seq, width], [_, words]) = (states.dims(), places.dims());
    let device = states.device();
    let rows = Tensor::<1, Int>::arange(0..batch as i64, &device) * seq as i64;
    let flat = places + rows.unsqueeze_dim::<2>(1);
    let states: Tensor<2> = states.reshape([batch * seq, width]);
    states
        .select(0, flat.reshape([batch * words]))
        .reshape([batch, words, width])
}
