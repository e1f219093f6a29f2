//! A biattentive classification network (McCann et al. 2017, section 5) in AllenNLP's variant.

use anyhow::{Result, ensure};
use burn::module::Module;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::segment::align_self;
use super::settings::{check_rates, check_sizes, drop};
use super::{HeadInput, HeadKind, Layers, Output, Representation};
use crate::layer::Linear;
use crate::{BiLstm, Init, Pass, RandomWeights, Segment, Weights};

/// Sizes and dropouts of a [`Bcn`]; those of AllenNLP 0.8.3 with ELMo where a key is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct BcnSpec {
    /// Encoder layers that it reads.
    pub layers: Layers,
    /// Dropout on the encoder's states.
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
    /// Number of linear functions of which each maxout unit takes the largest.
    pub maxout_pool: usize,
}

impl Default for BcnSpec {
    fn default() -> Self {
        Self {
            layers: Layers::Top,
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

impl HeadKind for Bcn {
    type Spec = BcnSpec;

    const LABEL: &'static str = "bcn";
    const ENDS_LINEAR: bool = false;

    fn reads(spec: &BcnSpec) -> HeadInput {
        HeadInput::Tokens(spec.layers)
    }

    fn validate(spec: &BcnSpec) -> Result<()> {
        check_sizes(&[
            ("pre-encode", spec.pre_encode),
            ("hidden", spec.hidden),
            ("maxout-pool", spec.maxout_pool),
        ])?;
        for &width in &spec.maxout {
            check_sizes(&[("maxout", width)])?;
        }
        check_rates(&[
            ("input-dropout", spec.input_dropout),
            ("pre-encode-dropout", spec.pre_encode_dropout),
            ("integrator-dropout", spec.integrator_dropout),
        ])?;
        for &rate in &spec.maxout_dropout {
            check_rates(&[("maxout-dropout", rate)])?;
        }
        let (layers, rates) = (spec.maxout.len(), spec.maxout_dropout.len());
        ensure!(
            layers == rates,
            "head.maxout-dropout: found {rates} rates, expected {layers}, one for each width in maxout"
        );
        Ok(())
    }

    fn initial(_: &BcnSpec, seed: u64) -> Box<dyn Weights> {
        Box::new(RandomWeights::initialised(Init::Pytorch, seed))
    }

    /// Takes `pre_encode`, `encoder`, `integrator`, `self_attention` and `maxout.<i>` from `weights`.
    fn load(
        spec: &BcnSpec,
        width: usize,
        outputs: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        Self::validate(spec)?;
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

    fn score(&self, read: Representation, pass: &Pass) -> Output {
        Output::Labels(self.forward(read.text(), pass))
    }
}

impl Bcn {
    /// Scores of each label, `[batch, labels]`.
    pub fn forward(&self, x: Segment, pass: &Pass) -> Tensor<2> {
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

    /// The second LSTM over each token's state, its difference from the attended state, and their product.
    fn integrate(&self, encoded: &Segment) -> Tensor<3> {
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
