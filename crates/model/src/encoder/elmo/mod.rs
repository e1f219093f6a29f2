//! ELMo (Peters et al. 2018): words from their characters, and a language model in each direction.
//!
//! | here | checkpoint (names of `totune_checkpoint`) |
//! |---|---|
//! | `embeddings.characters` | `char_embedding.weight` |
//! | `embeddings.filters.<i>`, `.highway.<k>.{transform, carry}`, `.projection` | `char_cnn.<i>`, `highway.<k>.{transform, carry}`, `projection` |
//! | `layers.<i>.{forward, backward}.input.{weight, bias}` | `{forward, backward}.<i>.{input.weight, bias}` |
//! | `layers.<i>.{forward, backward}.{state, projection}` | `{forward, backward}.<i>.{state, projection}.weight` |
//!
//! The directions never meet: a state is the output of the forward LSTM followed by that of the backward one, and each
//! goes on from its own half. Block 0 is the word's vector twice. Each sentence is read between two boundary tokens,
//! which are added here and whose states are left out.
//!
//! Padding is not computed, so it has no influence. Nothing is dropped out: the released network has no dropout inside.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use anyhow::Result;
use burn::module::{Module, Param};
use burn::tensor::{Device, Int, Tensor, TensorData};
use totune_checkpoint::{ElmoOptions, Naming};

use self::carry::Carried;
use self::order::{DIRECTIONS, Order, Sentence, indices};
use self::words::{CharacterEncoder, boundaries};
use super::{Encoder, Shape, TokenizerKind};
use crate::fused::{self, Clip, Direction, Memory, Precision};
use crate::layer::{Linear, parameter};
use crate::{BilmInit, Pass, TokenBatch, Weights};

mod carry;
mod language;
mod order;
mod words;

pub use self::carry::LstmState;
pub(crate) use self::language::Steps;
pub use self::words::{CHARACTERS, Spelling};

/// An ELMo encoder. Its batches have [`TokenBatch::characters`]; it does not read their token ids.
#[derive(Module, Debug)]
pub struct Elmo {
    embeddings: CharacterEncoder,
    layers: Vec<Layer>,
    /// Residual connections: each layer but the first adds its input to its output.
    skip: bool,
    #[module(skip)]
    state: LstmState,
    #[module(skip)]
    carried: Carried,
}

/// One LSTM in each direction.
#[derive(Module, Debug)]
struct Layer {
    forward: Lstm,
    backward: Lstm,
    /// Precision of the products within a sequence.
    #[module(skip)]
    precision: Precision,
}

impl Layer {
    fn direction(&self, direction: usize) -> &Lstm {
        [&self.forward, &self.backward][direction]
    }

    /// Packed rows `[2 steps, width]`, those of the forward direction first, to the outputs of their steps.
    fn forward(&self, x: &Tensor<2>, running: &[usize]) -> Tensor<2> {
        let [first, second] = halves(x);
        let directions = [
            self.forward.direction(first),
            self.backward.direction(second),
        ];
        fused::projected_bilstm(directions, running, self.forward.clip(), self.precision)
    }
}

/// An LSTM with a projection and clipping.
#[derive(Module, Debug)]
struct Lstm {
    /// `[4 cell, width]`, gates in PyTorch's order.
    input: Linear,
    /// `[4 cell, width]`.
    state: Param<Tensor<2>>,
    /// `[width, cell]`.
    projection: Param<Tensor<2>>,
    clip_cell: f64,
    clip_projection: f64,
}

impl Shape for ElmoOptions {
    type Encoder = Elmo;

    const LABEL: &'static str = "elmo";
    const NAMING: Naming = Naming::Elmo;
    const TOKENIZER: TokenizerKind = TokenizerKind::Characters;
    const BIASES: &'static [&'static str] = &["forward.input", "backward.input"];

    fn n_layers(&self) -> usize {
        self.lstm.n_layers
    }

    fn hidden(&self) -> usize {
        // Both directions.
        2 * self.lstm.projection_dim
    }

    fn max_length(&self) -> usize {
        usize::MAX
    }

    fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        self.tensors()
    }

    fn load(&self, weights: &mut dyn Weights, device: &Device) -> Result<Elmo> {
        Elmo::load(self, weights, device)
    }

    fn initial(&self, seed: u64) -> Box<dyn Weights> {
        Box::new(BilmInit::new(seed, &self.char_cnn.activation))
    }
}

impl Elmo {
    /// Takes all weights from `weights` and puts them on `device`.
    ///
    /// # Errors
    /// When a tensor is missing or has another shape, or the options are invalid.
    pub fn load(options: &ElmoOptions, weights: &mut dyn Weights, device: &Device) -> Result<Self> {
        options.check()?;
        let width = options.lstm.projection_dim;
        let layers = (0..options.lstm.n_layers).map(|i| {
            Ok(Layer {
                forward: Lstm::load(options, weights, &format!("forward.{i}"), device)?,
                backward: Lstm::load(options, weights, &format!("backward.{i}"), device)?,
                precision: Precision::F32,
            })
        });
        let layers = layers.collect::<Result<_>>()?;
        Ok(Self {
            embeddings: CharacterEncoder::load(&options.char_cnn, width, weights, device)?,
            layers,
            skip: options.lstm.use_skip_connections,
            state: LstmState::Reset,
            carried: Carried::default(),
        })
    }

    /// The name of the parameter at `path` in the files that [`totune_checkpoint`] writes, such as
    /// `forward.0.state.weight` for `layers.0.forward.state`.
    pub fn published(path: &str) -> String {
        let parts: Vec<&str> = path.split('.').collect();
        match parts[..] {
            ["embeddings", "characters"] => "char_embedding.weight".to_string(),
            ["embeddings", "filters", i, part] => format!("char_cnn.{i}.{part}"),
            ["embeddings", ref rest @ ..] => rest.join("."),
            ["layers", i, direction, "input", "bias"] => format!("{direction}.{i}.bias"),
            ["layers", i, direction, "input", part] => format!("{direction}.{i}.input.{part}"),
            ["layers", i, direction, part] => format!("{direction}.{i}.{part}.weight"),
            _ => path.to_string(),
        }
    }

    /// The same encoder with the products within a sequence at another precision; [`Encoder::with_precision`] leaves
    /// these as they are.
    pub(crate) fn with_recurrent_precision(mut self, precision: Precision) -> Self {
        for layer in &mut self.layers {
            layer.precision = precision;
        }
        self
    }

    /// Output of `block` for packed rows `[2 steps, width]`, those of the forward direction first.
    fn layer(&self, x: Tensor<2>, block: usize, running: &[usize], pass: &Pass) -> Tensor<2> {
        let layer = &self.layers[block - 1];
        let out = if block < pass.frozen_below {
            // No graph is needed there; x has none either.
            layer.valid().forward(&x, running)
        } else {
            layer.forward(&x, running)
        };
        self.skipping(out, x, block)
    }

    /// Output of [`Elmo::layer`] from the final states of the batch before; stores its own final states. No gradient
    /// flows from one batch to another.
    fn carry(&self, x: Tensor<2>, block: usize, order: &Order, pass: &Pass) -> Tensor<2> {
        let layer = &self.layers[block - 1];
        let out = halves(&x)
            .into_iter()
            .zip(DIRECTIONS)
            .map(|(own, direction)| {
                let before = self.carried.get(block - 1, direction, &order.sentences);
                let running = &order.running;
                let (out, after) = if block < pass.frozen_below {
                    let layer = layer.valid();
                    layer.direction(direction).remembering(own, running, before)
                } else {
                    layer.direction(direction).remembering(own, running, before)
                };
                self.carried
                    .put(block - 1, direction, &order.sentences, after);
                out
            });
        self.skipping(Tensor::cat(out.collect(), 0), x, block)
    }

    fn skipping(&self, out: Tensor<2>, x: Tensor<2>, block: usize) -> Tensor<2> {
        if self.skip && block > 1 { out + x } else { out }
    }

    /// Output of `block` in each direction for the boundary tokens, each the first of its sentence: `[2, width]`. The
    /// first boundary token has the same state in every sentence, so it needs no sentence. Above the embeddings, the
    /// row of the boundary token that comes last in this direction belongs to no sentence and is not read.
    fn boundaries(&self, block: usize, pass: &Pass) -> [Tensor<2>; 2] {
        let ids = boundaries(&self.embeddings.device());
        let x = if pass.frozen_below > 0 {
            self.embeddings.valid().forward(ids.inner())
        } else {
            self.embeddings.forward(ids)
        }; // [2, width]
        let x = Tensor::cat(vec![x.clone(), x], 0);
        let x = (1..block + 1).fold(x, |x, block| {
            self.layer(x, block, &[2], pass) // two sentences of one step each
        });
        halves(&x)
    }
}

/// Rows of the forward direction, and those of the backward one.
fn halves(x: &Tensor<2>) -> [Tensor<2>; 2] {
    let [rows, _] = x.dims();
    DIRECTIONS.map(|direction| x.clone().narrow(0, direction * rows / 2, rows / 2))
}

impl Lstm {
    fn load(
        options: &ElmoOptions,
        weights: &mut dyn Weights,
        name: &str,
        device: &Device,
    ) -> Result<Self> {
        let (cell, width) = (options.lstm.dim, options.lstm.projection_dim);
        let mut take = |part: &str, shape: [usize; 2]| {
            parameter(weights, &format!("{name}.{part}.weight"), shape, device)
        };
        let input = take("input", [4 * cell, width])?;
        let state = take("state", [4 * cell, width])?;
        let projection = take("projection", [width, cell])?;
        Ok(Self {
            input: Linear {
                weight: input,
                bias: Some(parameter(
                    weights,
                    &format!("{name}.bias"),
                    [4 * cell],
                    device,
                )?),
                lora: None,
                precision: Precision::F32,
            },
            state,
            projection,
            clip_cell: bound(options.lstm.cell_clip),
            clip_projection: bound(options.lstm.proj_clip),
        })
    }

    fn clip(&self) -> Clip {
        Clip {
            cell: self.clip_cell,
            projection: self.clip_projection,
        }
    }

    /// Inputs of the recurrence, from packed rows `[.., width]`.
    fn direction(&self, x: Tensor<2>) -> Direction {
        Direction {
            x: self.input.forward(x), // [.., 4 cell]
            state: self.state.val(),
            projection: self.projection.val(),
        }
    }

    fn remembering(
        &self,
        x: Tensor<2>,
        running: &[usize],
        before: Option<Memory>,
    ) -> (Tensor<2>, Memory) {
        fused::projected_lstm_from(self.direction(x), running, self.clip(), before)
    }
}

/// Returns the bound of a clip; in the released code a clip of 0 means none.
fn bound(clip: f64) -> f64 {
    if clip > 0.0 { clip } else { f64::INFINITY }
}

impl Encoder for Elmo {
    fn embed(&self, batch: &TokenBatch, _pass: &Pass) -> Tensor<3> {
        read(&self.embeddings, batch)
    }

    fn outputs(
        &self,
        x: Tensor<3>,
        blocks: Range<usize>,
        batch: &TokenBatch,
        pass: &Pass,
    ) -> Vec<Tensor<3>> {
        let [rows, seq, hidden] = x.dims();
        let (n, width) = (rows * seq, hidden / 2);
        let carry = self.state == LstmState::Carry;
        assert!(
            !carry || blocks.start <= 1,
            "an LSTM that carries its state needs what the layers below leave, so it cannot go on from kept states"
        );
        let order = Order::new(&Sentence::of(batch, batch.apart), n, carry);
        if order.running.is_empty() || blocks.is_empty() {
            return blocks.map(|_| x.zeros_like()).collect();
        }
        let below = blocks.start - 1;
        let x = x.reshape([n, hidden]);
        let boundaries = self.boundaries(below, pass);
        let packed = DIRECTIONS.map(|direction| {
            let own = x.clone().narrow(1, direction * width, width); // [n, width]
            order.pack(own, boundaries[direction].clone(), direction) // [steps of all, width]
        });
        let mut packed = Tensor::cat(packed.to_vec(), 0);
        let mut given = Vec::with_capacity(blocks.len());
        for block in blocks {
            packed = if carry {
                self.carry(packed, block, &order, pass)
            } else {
                self.layer(packed, block, &order.running, pass)
            };
            let halves = halves(&packed).into_iter().zip(DIRECTIONS);
            let states = halves.map(|(half, direction)| order.unpack(half, direction)); // [n, width]
            given.push(Tensor::cat(states.collect(), 1).reshape([rows, seq, hidden]));
        }
        given
    }

    fn n_dropout_seeds(&self, _block: usize) -> u64 {
        0
    }

    fn n_layers(&self) -> usize {
        self.layers.len()
    }

    fn hidden(&self) -> usize {
        2 * self.embeddings.width()
    }

    /// ELMo has no dropout inside, so this changes nothing.
    fn with_dropout(self, _rate: f64) -> Self {
        self
    }

    /// Sets the precision of the products of the layers' inputs; those within a sequence, each computed from the one
    /// before it, stay at f32.
    fn with_precision(mut self, precision: Precision) -> Self {
        for layer in &mut self.layers {
            for lstm in [&mut layer.forward, &mut layer.backward] {
                lstm.input.precision = precision;
            }
        }
        self
    }

    fn has_state(&self) -> bool {
        true
    }

    fn with_state(mut self, state: LstmState) -> Self {
        self.state = state;
        self.carried = Carried::default();
        self
    }

    fn reset_state(&self) {
        self.carried.clear();
    }

    fn carried_state(&self) -> BTreeMap<String, TensorData> {
        self.carried.copy()
    }

    fn restore_state(&self, carried: BTreeMap<String, TensorData>, device: &Device) {
        self.carried.set(carried, self.layers.len(), device);
    }
}

/// The words of a batch, each twice, `[batch, seq, 2 width]`; zero at padding. A word that occurs more than once is
/// computed once.
fn read(embeddings: &CharacterEncoder, batch: &TokenBatch) -> Tensor<3> {
    let [rows, seq] = batch.shape();
    let characters: Tensor<3, Int> = batch
        .characters
        .clone()
        .expect("a batch for ELMo has characters");
    let [_, _, length] = characters.dims();
    let characters = characters.reshape([rows * seq, length]);
    let ids: Vec<i64> = characters
        .to_data()
        .convert::<i64>()
        .try_to_vec()
        .expect("converted");
    // The row at which each distinct word is first met, and at each row which of them stands there.
    let mut chosen = Vec::new();
    let mut numbers: HashMap<&[i64], usize> = HashMap::new();
    let mut places: Vec<Option<usize>> = vec![None; rows * seq];
    for Sentence { first, words } in Sentence::of(batch, false) {
        for row in first..first + words {
            let word = &ids[row * length..][..length];
            places[row] = Some(*numbers.entry(word).or_insert_with(|| {
                chosen.push(row as i64);
                chosen.len() - 1
            }));
        }
    }
    let padding = chosen.len(); // a row of zeros behind the words
    let places: Vec<i64> = places
        .into_iter()
        .map(|place| place.unwrap_or(padding) as i64)
        .collect();
    let chosen = indices(&chosen, &characters.device());
    let found = embeddings.forward(characters.select(0, chosen)); // [distinct, width]
    let (device, [_, width]) = (found.device(), found.dims());
    let found = Tensor::cat(vec![found, Tensor::zeros([1, width], &device)], 0);
    let found = found.select(0, indices(&places, &device)); // [batch seq, width]
    Tensor::cat(vec![found.clone(), found], 1).reshape([rows, seq, 2 * width])
}
