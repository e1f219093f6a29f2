//! A biattentive classification network (McCann et al. 2017, section 5) in the shape that AllenNLP gives it.

use anyhow::{Result, ensure};
use burn::module::Module;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::settings::{check_rates, check_sizes, drop};
use super::side::align_self;
use crate::layer::Linear;
use crate::{BiLstm, Init, NewWeights, Pass, Side, Weights};

/// Sizes and dropouts of a [`Bcn`]; those of AllenNLP 0.8.3 with ELMo where a key is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct BcnSpec {
    /// Dropout on the states that come in.
    pub input_dropout: f64,
    /// Width after the first layer.
    pub pre_encode: usize,
    /// Dropout on that.
    pub pre_encode_dropout: f64,
    /// Width of each direction of both LSTMs.
    pub hidden: usize,
    /// Dropout on the pooled vector.
    pub integrator_dropout: f64,
    /// Widths of the maxout layers but the last, which has one output per label.
    pub maxout: Vec<usize>,
    /// Dropout after each of these.
    pub maxout_dropout: Vec<f64>,
    /// Linear functions of which each maxout unit takes the largest.
    pub maxout_pool: usize,
}

impl Default for BcnSpec {
    fn default() -> Self {
        Self {
            input_dropout: 0.5,
            pre_encode: 300,
            pre_encode_dropout: 0.25,
            hidden: 300,
            integrator_dropout: 0.1,
            maxout: vec![1200, 600],
            maxout_dropout: vec![0.2, 0.3],
            maxout_pool: 4,
        }
    }
}

impl BcnSpec {
    /// Refuses sizes of zero and rates outside `[0, 1)`, naming the key below `head`.
    pub fn validate(&self) -> Result<()> {
        check_sizes(&[
            ("pre-encode", self.pre_encode),
            ("hidden", self.hidden),
            ("maxout-pool", self.maxout_pool),
        ])?;
        for &width in &self.maxout {
            check_sizes(&[("maxout", width)])?;
        }
        check_rates(&[
            ("input-dropout", self.input_dropout),
            ("pre-encode-dropout", self.pre_encode_dropout),
            ("integrator-dropout", self.integrator_dropout),
        ])?;
        for &rate in &self.maxout_dropout {
            check_rates(&[("maxout-dropout", rate)])?;
        }
        let (layers, rates) = (self.maxout.len(), self.maxout_dropout.len());
        ensure!(
            layers == rates,
            "head.maxout-dropout: found {rates} rates, expected {layers}, one for each width in maxout"
        );
        Ok(())
    }
}

/// A feed-forward layer, a BiLSTM, attention of each token to all, a second BiLSTM, four kinds of pooling, maxout.
#[derive(Module, Debug)]
pub struct Bcn {
    pre_encode: Linear,
    encoder: BiLstm,
    integrator: BiLstm,
    self_attention: Linear,
    maxout: Vec<Linear>,
    #[module(skip)]
    spec: BcnSpec,
}

impl Bcn {
    /// A new network on states of `width`, with `outputs` outputs, begun as PyTorch begins layers.
    ///
    /// # Errors
    /// When a setting is out of its range.
    pub fn new(
        spec: &BcnSpec,
        width: usize,
        outputs: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Self> {
        let mut weights = NewWeights::new(Init::Pytorch, seed);
        Self::load(spec, width, outputs, &mut weights, device)
    }

    /// Takes `pre_encode`, `encoder`, `integrator`, `self_attention` and `maxout.<i>` from `weights`.
    ///
    /// # Errors
    /// When a setting is out of its range, or those of `weights`.
    pub fn load(
        spec: &BcnSpec,
        width: usize,
        outputs: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        spec.validate()?;
        let (between, hidden) = (spec.pre_encode, spec.hidden);
        let pre_encode = Linear::load(weights, "pre_encode", [width, between], device)?;
        let encoder = BiLstm::load(weights, "encoder", [between, hidden], 1, device)?;
        let states = 2 * hidden;
        let integrator = BiLstm::load(weights, "integrator", [3 * states, hidden], 1, device)?;
        let self_attention = Linear::load(weights, "self_attention", [states, 1], device)?;
        let mut maxout = Vec::new();
        let mut below = 4 * states;
        for (i, &above) in spec.maxout.iter().chain([&outputs]).enumerate() {
            let shape = [below, above * spec.maxout_pool];
            maxout.push(Linear::load(
                weights,
                &format!("maxout.{i}"),
                shape,
                device,
            )?);
            below = above;
        }
        Ok(Self {
            pre_encode,
            encoder,
            integrator,
            self_attention,
            maxout,
            spec: spec.clone(),
        })
    }

    /// Scores of each label, `[batch, labels]`.
    pub fn forward(&self, x: Side, pass: &Pass) -> Tensor<2> {
        let spec = &self.spec;
        let states = drop(x.states.clone(), spec.input_dropout, pass);
        let states = relu(self.pre_encode.forward(states)); // [batch, seq, pre_encode]
        let states = drop(states, spec.pre_encode_dropout, pass);
        let encoded = x.with(self.encoder.forward(states, Some(&x.mask))); // [batch, seq, 2 hidden]
        let integrated = x.with(self.integrate(&encoded));
        // AllenNLP sums over all positions and divides by the number of real tokens, which is right since a padded
        // LSTM's states are zero; here the mask says the same.
        let pooled = vec![
            integrated.max(),
            integrated.min(),
            integrated.mean(),
            integrated.weighted(self.self_attention.forward(integrated.states.clone())),
        ];
        let pooled = Tensor::cat(pooled, 1); // [batch, 8 hidden]
        self.score(drop(pooled, spec.integrator_dropout, pass), pass)
    }

    /// The second LSTM over each token, its difference to what it attends to, and their product.
    fn integrate(&self, encoded: &Side) -> Tensor<3> {
        let x = encoded.states.clone();
        let attended = align_self(encoded);
        let parts = vec![x.clone(), x.clone() - attended.clone(), x * attended];
        let input = Tensor::cat(parts, 2); // [batch, seq, 6 hidden]
        self.integrator.forward(input, Some(&encoded.mask))
    }

    /// The maxout layers (Goodfellow et al. 2013).
    fn score(&self, mut x: Tensor<2>, pass: &Pass) -> Tensor<2> {
        for (i, layer) in self.maxout.iter().enumerate() {
            let y = layer.forward(x); // [batch, units * pool]
            let [batch, all] = y.dims();
            let pool = self.spec.maxout_pool;
            let units: Tensor<3> = y.reshape([batch, all / pool, pool]);
            x = units.max_dim(2).squeeze_dim(2);
            if let Some(&rate) = self.spec.maxout_dropout.get(i) {
                x = drop(x, rate, pass);
            }
        }
        x
    }
}
