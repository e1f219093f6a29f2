//! Cached activations of examples, one after the other without padding.

use anyhow::{Context, Result, bail};
use burn::tensor::{Device, Tensor, TensorData};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use serde::{Deserialize, Serialize};
use std::time::Instant;
use totune_data::{BatchPlan, Encoded};
use totune_model::{Encoder, Pass, TokenBatch};

use super::EntryLayer;
use super::bytes::Bytes;
use crate::batch::padded;
use crate::parameters::device_of;
use crate::watch::Interrupted;

/// Dtype that activations are stored in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoredDtype {
    /// 32-bit floats, without rounding.
    F32,
    /// 11 significant bits, up to 65,504.
    F16,
    /// 8 significant bits, the range of f32.
    Bf16,
}

impl StoredDtype {
    /// Bytes per number.
    pub fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// Writes `values` in this dtype into `to`, which is as long as they are.
    fn write(self, values: &[f32], to: &mut [u8]) {
        match self {
            Self::F32 => {
                for (value, to) in values.iter().zip(to.chunks_exact_mut(4)) {
                    to.copy_from_slice(&value.to_le_bytes());
                }
            }
            Self::F16 => {
                let mut halves = vec![f16::ZERO; values.len()];
                halves.convert_from_f32_slice(values);
                for (half, to) in halves.iter().zip(to.chunks_exact_mut(2)) {
                    to.copy_from_slice(&half.to_le_bytes());
                }
            }
            Self::Bf16 => {
                let mut halves = vec![bf16::ZERO; values.len()];
                halves.convert_from_f32_slice(values);
                for (half, to) in halves.iter().zip(to.chunks_exact_mut(2)) {
                    to.copy_from_slice(&half.to_le_bytes());
                }
            }
        }
    }

    /// Reads what [`StoredDtype::write`] wrote into `to`, whose length determines the number of values.
    fn read(self, bytes: &[u8], to: &mut [f32]) {
        match self {
            Self::F32 => {
                for (value, bytes) in to.iter_mut().zip(bytes.chunks_exact(4)) {
                    *value = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                }
            }
            Self::F16 => {
                let halves: Vec<f16> = pairs(bytes).map(f16::from_le_bytes).collect();
                halves.convert_to_f32_slice(to);
            }
            Self::Bf16 => {
                let halves: Vec<bf16> = pairs(bytes).map(bf16::from_le_bytes).collect();
                halves.convert_to_f32_slice(to);
            }
        }
    }
}

fn pairs(bytes: &[u8]) -> impl Iterator<Item = [u8; 2]> + '_ {
    bytes.chunks_exact(2).map(|b| [b[0], b[1]])
}

/// The shape of cached activations; the head of a cache file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Shape {
    pub start: EntryLayer,
    pub dtype: StoredDtype,
    /// Width of a token's vector, or of an example's if there is one vector for each.
    pub width: usize,
    /// Number of tokens of each example; 1 if there is one vector for each.
    pub lengths: Vec<u32>,
    /// Seconds it took to compute them.
    pub seconds: f64,
}

impl Shape {
    /// Size of all states in bytes.
    pub fn n_bytes(&self) -> usize {
        let tokens: usize = self.lengths.iter().map(|&n| n as usize).sum();
        tokens * self.width * self.dtype.size()
    }
}

/// Outputs of the frozen part of a model for each example of a dataset.
#[derive(Debug)]
pub struct Activations {
    pub(super) shape: Shape,
    /// Offset of each example, in tokens; one more than there are examples.
    offsets: Vec<usize>,
    pub(super) bytes: Bytes,
}

impl Activations {
    pub(super) fn new(shape: Shape, bytes: Bytes) -> Self {
        let mut offsets = Vec::with_capacity(shape.lengths.len() + 1);
        offsets.push(0);
        for &length in &shape.lengths {
            offsets.push(offsets[offsets.len() - 1] + length as usize);
        }
        Self {
            shape,
            offsets,
            bytes,
        }
    }

    /// Runs the frozen part of `encoder` over `rows`, without dropout, in batches of `batch_size`.
    ///
    /// # Errors
    /// When the device fails, or a number does not fit `dtype`.
    pub fn compute<E: Encoder>(
        encoder: &E,
        rows: &[Encoded],
        start: EntryLayer,
        dtype: StoredDtype,
        batch_size: usize,
    ) -> Result<Self> {
        Self::compute_unless(&|| false, encoder, rows, start, dtype, batch_size)
    }

    /// Does the same as [`compute`](Self::compute), unless `is_stopped` returns true before a batch.
    ///
    /// # Errors
    /// Those of `compute`, and [`Interrupted`] if it was stopped.
    pub fn compute_unless<E: Encoder>(
        is_stopped: &dyn Fn() -> bool,
        encoder: &E,
        rows: &[Encoded],
        start: EntryLayer,
        dtype: StoredDtype,
        batch_size: usize,
    ) -> Result<Self> {
        let clock = Instant::now();
        let (encoder, device) = (encoder.valid(), device_of(encoder)?);
        let lengths: Vec<usize> = rows.iter().map(|row| row.ids.len()).collect();
        let plan = BatchPlan {
            size: batch_size,
            bucketing: true,
        };
        let shape = Shape {
            start,
            dtype,
            width: width(&encoder, start),
            lengths: match start {
                EntryLayer::Block(_) | EntryLayer::Tokens(_) => {
                    lengths.iter().map(|&n| n as u32).collect()
                }
                EntryLayer::Pooled(_) => vec![1; rows.len()],
            },
            seconds: 0.0,
        };
        // Allocated at once: a second copy would double the memory needed.
        let mut bytes = vec![0; shape.n_bytes()];
        let mut kept = Self::new(shape, Bytes::Memory(Vec::new()));
        let size = kept.shape.width * dtype.size(); // of one token
        for indices in plan.sequential(&lengths) {
            if is_stopped() {
                return Err(Interrupted.into());
            }
            let chosen: Vec<&Encoded> = indices.iter().map(|&i| &rows[i]).collect();
            let values = given(&encoder, &padded(&chosen, encoder.pad_id(), &device), start)?;
            for (&i, row) in indices
                .iter()
                .zip(values.chunks(values.len() / indices.len()))
            {
                let (from, to) = (kept.offsets[i], kept.offsets[i + 1]);
                let row = &row[..(to - from) * kept.shape.width];
                if dtype == StoredDtype::F16
                    && let Some(large) = row.iter().find(|v| v.abs() > f16::MAX.to_f32())
                {
                    bail!(
                        "a state of {large} does not fit f16, whose largest number is 65504; keep f32 or bf16"
                    );
                }
                dtype.write(row, &mut bytes[from * size..to * size]);
            }
        }
        kept.bytes = Bytes::Memory(bytes);
        kept.shape.seconds = clock.elapsed().as_secs_f64();
        Ok(kept)
    }

    /// Size in bytes of the activations of `rows`, before anything is computed.
    pub fn estimate<E: Encoder>(
        encoder: &E,
        rows: &[Encoded],
        start: EntryLayer,
        dtype: StoredDtype,
    ) -> usize {
        let vectors = match start {
            EntryLayer::Block(_) | EntryLayer::Tokens(_) => {
                rows.iter().map(|row| row.ids.len()).sum()
            }
            EntryLayer::Pooled(_) => rows.len(),
        };
        vectors * width(encoder, start) * dtype.size()
    }

    /// Entry layer of a run that uses them.
    pub fn start(&self) -> EntryLayer {
        self.shape.start
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.shape.lengths.len()
    }

    /// Returns true if there are no examples.
    pub fn is_empty(&self) -> bool {
        self.shape.lengths.is_empty()
    }

    /// Seconds it took to compute them, whether now or in another process.
    pub fn seconds(&self) -> f64 {
        self.shape.seconds
    }

    /// Size in bytes.
    pub fn n_bytes(&self) -> usize {
        self.shape.n_bytes()
    }

    /// Returns all activations as f32, one example after the other.
    pub fn vectors(&self) -> Vec<f32> {
        let bytes = self.bytes.as_slice();
        let mut values = vec![0f32; bytes.len() / self.shape.dtype.size()];
        self.shape.dtype.read(bytes, &mut values);
        values
    }

    /// The states of the examples at `places` as f32, padded with zeros: `[batch, seq, width]`.
    ///
    /// # Panics
    /// When an example is longer than `seq`.
    pub(super) fn gather(&self, places: &[usize], seq: usize, device: &Device) -> Tensor<3> {
        let width = self.shape.width;
        let mut values = vec![0f32; places.len() * seq * width];
        for (&place, row) in places.iter().zip(values.chunks_exact_mut(seq * width)) {
            let (from, to) = (self.offsets[place], self.offsets[place + 1]);
            assert!(to - from <= seq, "{} tokens do not fit {seq}", to - from);
            let size = width * self.shape.dtype.size();
            let bytes = &self.bytes.as_slice()[from * size..to * size];
            self.shape
                .dtype
                .read(bytes, &mut row[..(to - from) * width]);
        }
        Tensor::from_data(TensorData::new(values, [places.len(), seq, width]), device)
    }
}

/// The activations of a batch, flat.
fn given<E: Encoder>(encoder: &E, batch: &TokenBatch, start: EntryLayer) -> Result<Vec<f32>> {
    let pass = Pass::evaluation();
    match start {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_as_their_type_has_them() {
        let values = [0.0, 1.0, -2.5, 1e-3, 3.0e4];
        for (dtype, relative) in [
            (StoredDtype::F32, 0.0),
            (StoredDtype::F16, 0.5f32.powi(11)),
            (StoredDtype::Bf16, 0.5f32.powi(8)),
        ] {
            let mut bytes = vec![0; values.len() * dtype.size()];
            dtype.write(&values, &mut bytes);
            let mut read = [0.0; 5];
            dtype.read(&bytes, &mut read);
            for (a, b) in values.iter().zip(read) {
                assert!(
                    (a - b).abs() <= relative * a.abs(),
                    "{dtype:?}: {a} became {b}"
                );
            }
        }
    }
}
