//! From encoded examples to a padded batch on a device.

use burn::tensor::{Device, Int, Tensor, TensorData};
use totune_data::Padded;
use totune_model::TokenBatch;

use crate::task::Examples;

/// `[PAD]` in every published BERT vocabulary. Padded positions are masked, so that no result depends on it.
const PAD_ID: u32 = 0;

/// The examples at `indices`, padded to the longest of them.
pub(crate) fn token_batch(examples: &Examples, indices: &[usize], device: &Device) -> TokenBatch {
    let rows: Vec<_> = indices.iter().map(|&i| &examples.rows[i]).collect();
    let padded = Padded::new(&rows, PAD_ID);
    let shape = [padded.batch, padded.seq];
    TokenBatch::new(padded.ids, padded.type_ids, &padded.mask, shape, device)
}

/// The labels at `indices`, `[batch]`.
pub(crate) fn label_batch(labels: &[usize], indices: &[usize], device: &Device) -> Tensor<1, Int> {
    let chosen: Vec<i64> = indices.iter().map(|&i| labels[i] as i64).collect();
    let shape = [chosen.len()];
    Tensor::from_data(TensorData::new(chosen, shape), device)
}
