//! Convolutions over the tokens of a text (Wang et al. 2019, section 3.2, "DenseNet").

use anyhow::{Result, ensure};
use burn::module::Module;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::settings::{Switch, check_rates, check_sizes, drop};
use super::{
    FullyConnected, FullyConnectedSpec, HeadInput, HeadKind, Layers, Output, Representation,
};
use crate::layer::{Linear, Norm};
use crate::weights::Below;
use crate::{Init, Pass, RandomWeights, Segment, Weights};

/// Settings of a [`DenseText`].
///
/// The paper says: four independent blocks, each of four convolutional networks "connected by residual", and the
/// result next to `[CLS]`. Everything else is ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct DenseTextSpec {
    /// Encoder layers that it reads.
    pub layers: Layers,
    /// Tokens that each block's convolutions see at a time.
    pub kernels: Vec<usize>,
    /// Convolutions in a block.
    pub depth: usize,
    /// Width of the states in a block.
    pub width: usize,
    /// Skip connection around a convolution.
    pub skips: Skips,
    /// Width of one convolution's result where `skips` is `dense`; where they are added it is `width`.
    pub growth: usize,
    /// Layer normalisation between a convolution and its ReLU; not over the batch, whose rows differ in length.
    pub norm: Switch,
    /// Dropout after each convolution, and in the layers above.
    pub dropout: f64,
    /// Width between the two layers that score.
    pub mlp_hidden: usize,
}

/// Skip connection around a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Skips {
    /// Addition (He et al. 2016), "connected by residual".
    Additive,
    /// Concatenation (Huang et al. 2017), as the name says.
    Dense,
}

impl Default for DenseTextSpec {
    fn default() -> Self {
        Self {
            layers: Layers::Top,
            kernels: vec![2, 3, 4, 5],
            depth: 4,
            width: 256,
            skips: Skips::Additive,
            growth: 64,
            norm: Switch::On,
            dropout: 0.1,
            mlp_hidden: 768,
        }
    }
}

impl DenseTextSpec {
    /// Width of a block's output for each token.
    fn block_width(&self) -> usize {
        match self.skips {
            Skips::Additive => self.width,
            Skips::Dense => self.width + self.depth * self.growth,
        }
    }
}

/// Parallel blocks of convolutions, each max-pooled over the tokens, next to the first token's state.
#[derive(Module, Debug)]
pub struct DenseText {
    blocks: Vec<Block>,
    output: FullyConnected,
}

impl HeadKind for DenseText {
    type Spec = DenseTextSpec;

    const LABEL: &'static str = "dense-text";

    fn reads(spec: &DenseTextSpec) -> HeadInput {
        HeadInput::Tokens(spec.layers)
    }

    fn validate(spec: &DenseTextSpec) -> Result<()> {
        check_sizes(&[
            ("depth", spec.depth),
            ("width", spec.width),
            ("growth", spec.growth),
            ("mlp-hidden", spec.mlp_hidden),
        ])?;
        ensure!(
            !spec.kernels.is_empty(),
            "head.kernels: found none, expected at least one"
        );
        for &kernel in &spec.kernels {
            check_sizes(&[("kernels", kernel)])?;
        }
        check_rates(&[("dropout", spec.dropout)])
    }

    fn initial(_: &DenseTextSpec, seed: u64) -> Box<dyn Weights> {
        Box::new(RandomWeights::initialised(Init::KaimingNormal, seed))
    }

    /// Takes `blocks.<i>.enter`, `blocks.<i>.convolutions.<j>`, `blocks.<i>.norms.<j>`, `hidden` and `output` from
    /// `weights`; a convolution's weight is `[out, kernel * in]`, the position in the text varying slowest.
    fn load(
        spec: &DenseTextSpec,
        width: usize,
        outputs: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        Self::validate(spec)?;
        let mut blocks = Vec::new();
        for (i, &kernel) in spec.kernels.iter().enumerate() {
            let mut below = Below::new(format!("blocks.{i}."), weights);
            blocks.push(Block::load(spec, kernel, width, &mut below, device)?);
        }
        let above = FullyConnectedSpec {
            mlp_hidden: spec.mlp_hidden,
            dropout: spec.dropout,
            ..FullyConnectedSpec::default()
        };
        let read = blocks.len() * spec.block_width() + width;
        let output = FullyConnected::load(&above, read, outputs, weights, device)?;
        Ok(Self { blocks, output })
    }

    fn score(&self, read: Representation, pass: &Pass) -> Output {
        Output::Labels(self.forward(read.whole(), pass))
    }
}

impl DenseText {
    /// Scores of each label, `[batch, labels]`; the first token of `x` is `[CLS]`.
    pub fn forward(&self, x: Segment, pass: &Pass) -> Tensor<2> {
        let blocks = self.blocks.iter();
        let mut read: Vec<_> = blocks.map(|block| block.forward(&x, pass).max()).collect();
        read.push(x.first());
        self.output.forward(Tensor::cat(read, 1), pass)
    }
}

/// Convolutions of one kernel on top of each other.
#[derive(Module, Debug)]
struct Block {
    /// Projection of each token to the width of the block.
    enter: Linear,
    convolutions: Vec<Linear>,
    norms: Vec<Norm>,
    kernel: usize,
    #[module(skip)]
    skips: Skips,
    dropout: f64,
}

/// Added to the variance, as in PyTorch.
const EPSILON: f64 = 1e-5;

impl Block {
    fn load(
        spec: &DenseTextSpec,
        kernel: usize,
        width: usize,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self> {
        let enter = Linear::load(weights, "enter", [width, spec.width], device)?;
        let (mut convolutions, mut norms) = (Vec::new(), Vec::new());
        for i in 0..spec.depth {
            let (read, given) = match spec.skips {
                Skips::Additive => (spec.width, spec.width),
                Skips::Dense => (spec.width + i * spec.growth, spec.growth),
            };
            let convolution = format!("convolutions.{i}");
            let shape = [kernel * read, given];
            convolutions.push(Linear::load(weights, &convolution, shape, device)?);
            if spec.norm.is_on() {
                let norm = format!("norms.{i}");
                norms.push(Norm::load(weights, &norm, given, EPSILON, device)?);
            }
        }
        Ok(Self {
            enter,
            convolutions,
            norms,
            kernel,
            skips: spec.skips,
            dropout: spec.dropout,
        })
    }

    fn forward(&self, side: &Segment, pass: &Pass) -> Segment {
        // Padding is zero wherever a convolution reads, so that a text ends in the same way however long its batch is.
        let real = side.weights(); // [batch, seq, 1]
        let mut x = self.enter.forward(side.states.clone()) * real.clone(); // [batch, seq, width]
        for (i, convolution) in self.convolutions.iter().enumerate() {
            let mut y = convolution.forward(windows(x.clone(), self.kernel)); // [batch, seq, given]
            if let Some(norm) = self.norms.get(i) {
                y = norm.forward(y);
            }
            let y = drop(relu(y), self.dropout, pass) * real.clone();
            x = match self.skips {
                Skips::Additive => x + y,
                Skips::Dense => Tensor::cat(vec![x, y], 2),
            };
        }
        side.with(x)
    }
}

/// Concatenates each token with its neighbours, `[batch, seq, kernel * width]`, with zeros beyond the ends; of an even
/// number of tokens one more is to the right, as with PyTorch's `padding="same"`.
fn windows(x: Tensor<3>, kernel: usize) -> Tensor<3> {
    let [batch, seq, width] = x.dims();
    let left = (kernel - 1) / 2;
    let zeros = |n: usize| Tensor::zeros([batch, n, width], &x.device());
    let mut parts = vec![x.clone()];
    if left > 0 {
        parts.insert(0, zeros(left));
    }
    if kernel - 1 > left {
        parts.push(zeros(kernel - 1 - left));
    }
    let padded = Tensor::cat(parts, 1); // [batch, seq + kernel - 1, width]
    let shifted = (0..kernel).map(|offset| padded.clone().narrow(1, offset, seq));
    Tensor::cat(shifted.collect(), 2)
}
