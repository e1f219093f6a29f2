//! The pass of a model's frozen part over examples, whose outputs are cached.

use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use burn::tensor::{Device, Tensor};
use half::f16;
use totune_data::{BatchPlan, Encoded};
use totune_model::{Encoder, Pass, TokenBatch};

use super::activations::{Activations, Shape};
use super::bytes::Bytes;
use super::{EntryLayer, StoredDtype};
use crate::batch::padded;
use crate::parameters::device_of;
use crate::watch::Interrupted;

/// A pass of the frozen part of an encoder over examples, without dropout.
pub struct FrozenPass<'a, E> {
    encoder: &'a E,
    rows: &'a [Encoded],
    start: EntryLayer,
    dtype: StoredDtype,
    batch_size: usize,
    watch: &'a dyn Fn(usize) -> ControlFlow<()>,
}

impl<'a, E: Encoder> FrozenPass<'a, E> {
    /// A pass over `rows` in batches of `batch_size`, up to the entry layer `start`; its outputs are stored in `dtype`.
    pub fn new(
        encoder: &'a E,
        rows: &'a [Encoded],
        start: EntryLayer,
        dtype: StoredDtype,
        batch_size: usize,
    ) -> Self {
        Self {
            encoder,
            rows,
            start,
            dtype,
            batch_size,
            watch: &|_| ControlFlow::Continue(()),
        }
    }

    /// The same pass, which tells `watch` before each batch how many examples are done, and ends there when it breaks.
    pub fn watched(self, watch: &'a dyn Fn(usize) -> ControlFlow<()>) -> Self {
        Self { watch, ..self }
    }

    /// Size of the outputs in bytes, before anything is computed.
    pub fn n_bytes(&self) -> usize {
        let vectors = match self.start {
            EntryLayer::Block(_) | EntryLayer::Tokens(_) => {
                self.rows.iter().map(|row| row.ids.len()).sum()
            }
            EntryLayer::Pooled(_) => self.rows.len(),
        };
        vectors * width(self.encoder, self.start) * self.dtype.size()
    }

    /// Computes the activations into memory.
    ///
    /// # Errors
    /// When the device fails, a number does not fit the dtype, or with [`Interrupted`] when it was stopped.
    pub fn compute(&self) -> Result<Activations> {
        let shape = self.shape();
        // Allocated at once: growing would need a second copy.
        let mut bytes = Vec::with_capacity(shape.n_bytes());
        let mut seconds = 0.0;
        self.run_from(0, &shape, |batch, took| {
            bytes.extend_from_slice(batch);
            seconds += took;
            anyhow::Ok(())
        })?;
        Ok(Activations::new(shape, (Bytes::Memory(bytes), 0), seconds))
    }

    pub(super) fn shape(&self) -> Shape {
        let lengths: Vec<usize> = self.rows.iter().map(|row| row.ids.len()).collect();
        let plan = BatchPlan {
            size: self.batch_size,
            bucketing: true,
        };
        Shape {
            start: self.start,
            dtype: self.dtype,
            width: width(self.encoder, self.start),
            batches: plan.sequential(&lengths),
            lengths: match self.start {
                EntryLayer::Block(_) | EntryLayer::Tokens(_) => {
                    lengths.iter().map(|&n| n as u32).collect()
                }
                EntryLayer::Pooled(_) => vec![1; lengths.len()],
            },
        }
    }

    /// Computes the batches of `shape` from the one at `first` on, and gives `put` the bytes of each and the
    /// seconds it took.
    pub(super) fn run_from<F: From<anyhow::Error>>(
        &self,
        first: usize,
        shape: &Shape,
        mut put: impl FnMut(&[u8], f64) -> Result<(), F>,
    ) -> Result<(), F> {
        let (encoder, device) = (self.encoder.valid(), device_of(self.encoder)?);
        let (before, rest) = shape.batches.split_at(first);
        let mut done = before.iter().map(Vec::len).sum();
        for batch in rest {
            if (self.watch)(done).is_break() {
                return Err(anyhow::Error::from(Interrupted).into());
            }
            let clock = Instant::now();
            let values = self.outputs(&encoder, batch, &device)?;
            let bytes = self.stored(&values, batch, shape)?;
            put(&bytes, clock.elapsed().as_secs_f64())?;
            done += batch.len();
        }
        Ok(())
    }

    /// The outputs of a batch as they are stored, without padding.
    fn stored(&self, values: &[f32], batch: &[usize], shape: &Shape) -> Result<Vec<u8>> {
        let mut bytes = vec![0; shape.bytes_of_batch(batch)];
        let mut rest = &mut bytes[..];
        let padded = values.len() / batch.len();
        for (&i, row) in batch.iter().zip(values.chunks(padded)) {
            let row = &row[..shape.lengths[i] as usize * shape.width];
            if self.dtype == StoredDtype::F16
                && let Some(large) = row.iter().find(|v| v.abs() > f16::MAX.to_f32())
            {
                bail!(
                    "a state of {large} does not fit f16, whose largest number is 65504; keep f32 or bf16"
                );
            }
            let (to, after) = rest.split_at_mut(row.len() * self.dtype.size());
            self.dtype.write(row, to);
            rest = after;
        }
        Ok(bytes)
    }

    /// The outputs of the frozen part for the examples at `indices`, flat, padded to the longest of them.
    fn outputs(&self, encoder: &E, indices: &[usize], device: &Device) -> Result<Vec<f32>> {
        let chosen: Vec<&Encoded> = indices.iter().map(|&i| &self.rows[i]).collect();
        let batch: &TokenBatch = &padded(&chosen, encoder.pad_id(), device);
        let pass = Pass::evaluation();
        match self.start {
            EntryLayer::Block(block) => {
                numbers(encoder.forward_to(block, batch, &pass)) // [batch, seq, hidden]
            }
            EntryLayer::Tokens(layers) => {
                numbers(layers.of(&encoder.encode(batch, &pass))) // [batch, seq, width]
            }
            EntryLayer::Pooled(pooled) => {
                numbers(pooled.of(&encoder.encode(batch, &pass), batch)) // [batch, width]
            }
        }
    }
}

/// Width of a token's vector, or of an example's if there is one vector for each.
fn width<E: Encoder>(encoder: &E, start: EntryLayer) -> usize {
    let (hidden, n_layers) = (encoder.hidden(), encoder.n_layers());
    match start {
        EntryLayer::Block(_) => hidden,
        EntryLayer::Tokens(layers) => hidden * layers.count(n_layers),
        EntryLayer::Pooled(pooled) => pooled.width(hidden, n_layers),
    }
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>> {
    let values = tensor.into_data().try_to_vec().ok();
    values.context("the states of a batch are not 32-bit floats")
}
