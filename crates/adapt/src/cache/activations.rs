//! Cached activations of examples, without padding.

use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};
use totune_model::fused::upload;

use super::bytes::Bytes;
use super::{EntryLayer, StoredDtype};

/// The shape of cached activations and the order they are computed in; the head of a cache file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Shape {
    pub start: EntryLayer,
    pub dtype: StoredDtype,
    /// Width of a token's vector, or of an example's if there is one vector for each.
    pub width: usize,
    /// Number of tokens of each example; 1 if there is one vector for each.
    pub lengths: Vec<u32>,
    /// The examples of each batch, in the order of their activations.
    pub batches: Vec<Vec<usize>>,
}

impl Shape {
    /// Size of all activations in bytes.
    pub fn n_bytes(&self) -> usize {
        (0..self.lengths.len()).map(|i| self.bytes_of(i)).sum()
    }

    /// Size of a batch's activations in bytes.
    pub fn bytes_of_batch(&self, batch: &[usize]) -> usize {
        batch.iter().map(|&i| self.bytes_of(i)).sum()
    }

    /// Size of an example's activations in bytes.
    fn bytes_of(&self, example: usize) -> usize {
        self.lengths[example] as usize * self.width * self.dtype.size()
    }

    /// Returns true if `other` is of the same activations, whatever batches they were computed in.
    pub fn is_of_the_same(&self, other: &Self) -> bool {
        let of = |shape: &Self| (shape.start, shape.dtype, shape.width);
        of(self) == of(other) && self.lengths == other.lengths
    }

    /// Returns true if each example is in one batch.
    pub fn is_complete(&self) -> bool {
        let mut examples = self.batches.concat();
        examples.sort_unstable();
        examples.into_iter().eq(0..self.lengths.len())
    }

    /// Offsets of the activations of each example, with `gap` bytes after each batch.
    fn offsets(&self, gap: usize) -> Vec<usize> {
        let mut offsets = vec![0; self.lengths.len()];
        let mut at = 0;
        for batch in &self.batches {
            for &example in batch {
                offsets[example] = at;
                at += self.bytes_of(example);
            }
            at += gap;
        }
        offsets
    }
}

/// Outputs of the frozen part of a model for each example of a dataset.
#[derive(Debug)]
pub struct Activations {
    shape: Shape,
    /// Offset of each example in bytes.
    offsets: Vec<usize>,
    bytes: Bytes,
    seconds: f64,
}

impl Activations {
    /// The activations in `bytes`, batch after batch, with `gap` bytes after each batch.
    pub(super) fn new(shape: Shape, (bytes, gap): (Bytes, usize), seconds: f64) -> Self {
        Self {
            offsets: shape.offsets(gap),
            shape,
            bytes,
            seconds,
        }
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

    /// Seconds it took to compute them, whether now or in other processes.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Size in bytes.
    pub fn n_bytes(&self) -> usize {
        self.shape.n_bytes()
    }

    /// Returns all activations as f32, one example after the other.
    pub fn vectors(&self) -> Vec<f32> {
        let mut values = vec![0f32; self.n_bytes() / self.shape.dtype.size()];
        let mut rest = &mut values[..];
        for example in 0..self.len() {
            let numbers = self.shape.bytes_of(example) / self.shape.dtype.size();
            let (row, after) = rest.split_at_mut(numbers);
            self.read(example, row);
            rest = after;
        }
        values
    }

    /// The shape.
    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The states of the examples at `places` as f32, padded with zeros: `[batch, seq, width]`.
    ///
    /// # Panics
    /// When an example is longer than `seq`.
    pub(super) fn gather(&self, places: &[usize], seq: usize, device: &Device) -> Tensor<3> {
        let width = self.shape.width;
        let mut values = vec![0f32; places.len() * seq * width];
        for (&place, row) in places.iter().zip(values.chunks_exact_mut(seq * width)) {
            let tokens = self.shape.lengths[place] as usize;
            assert!(tokens <= seq, "{tokens} tokens do not fit {seq}");
            self.read(place, &mut row[..tokens * width]);
        }
        upload(TensorData::new(values, [places.len(), seq, width]), device)
    }

    /// Reads the activations of an example into `to`, which is as long as they are.
    fn read(&self, example: usize, to: &mut [f32]) {
        let from = self.offsets[example];
        let bytes = &self.bytes.as_slice()[from..from + self.shape.bytes_of(example)];
        self.shape.dtype.read(bytes, to);
    }
}
