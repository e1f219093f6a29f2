//! From encoded examples to a padded batch on a device, and through a model.

use burn::tensor::{Device, Tensor};
use totune_data::Padded;
use totune_model::{Classifier, Encoder, Pass, TokenBatch};

use crate::cache::Start;
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

/// Outputs of `model` for the examples at `indices`, `[batch, n_outputs]`: from what was kept of its frozen part for
/// `start` where there is such, else from the tokens.
pub(crate) fn outputs<E: Encoder>(
    model: &Classifier<E>,
    examples: &Examples,
    indices: &[usize],
    start: Option<Start>,
    pass: &Pass,
    device: &Device,
) -> Tensor<2> {
    let batch = token_batch(examples, indices, device);
    match examples.kept(start) {
        None => model.forward(&batch, pass),
        Some(kept) => {
            let [_, seq] = batch.shape();
            model.forward_from(kept.batch(indices, seq, device), &batch, pass)
        }
    }
}
