//! From encoded examples to a padded batch on a device, and through a model.

use burn::tensor::{Device, Tensor, TensorData};
use totune_data::characters::CHARACTERS;
use totune_data::{Encoded, Padded};
use totune_model::{Classifier, Encoder, Output, Pass, TokenBatch, Words};

use crate::cache::Start;
use crate::task::Examples;

/// `[PAD]` in every published BERT vocabulary. Padded positions are masked, so that no result depends on it.
const PAD_ID: u32 = 0;

/// Rows padded to the longest of them.
pub(crate) fn padded(rows: &[&Encoded], device: &Device) -> TokenBatch {
    let padded = Padded::new(rows, PAD_ID);
    let shape = [padded.batch, padded.seq];
    let mut batch = TokenBatch::new(padded.ids, padded.type_ids, &padded.mask, shape, device);
    batch.apart = padded.apart;
    batch.texts = padded.texts;
    if !padded.characters.is_empty() {
        let ids: Vec<i64> = padded.characters.into_iter().map(i64::from).collect();
        let shape = [padded.batch, padded.seq, CHARACTERS];
        batch.characters = Some(Tensor::from_data(TensorData::new(ids, shape), device));
    }
    batch
}

/// The examples at `indices`, padded to the longest of them.
pub(crate) fn token_batch(examples: &Examples, indices: &[usize], device: &Device) -> TokenBatch {
    let rows: Vec<_> = indices.iter().map(|&i| &examples.rows[i]).collect();
    let mut batch = padded(&rows, device);
    if !examples.places.is_empty() {
        let of = |places: fn(&crate::task::Places) -> &Vec<u32>| {
            let rows = indices.iter().map(|&i| places(&examples.places[i]).clone());
            rows.collect()
        };
        batch.words = Some(Words {
            starts: of(|places| &places.starts),
            ends: of(|places| &places.ends),
        });
    }
    batch
}

/// What `model` gives for the examples at `indices`: from what was kept of its frozen part for `start` where there is
/// such, else from the tokens.
pub(crate) fn outputs<E: Encoder>(
    model: &Classifier<E>,
    examples: &Examples,
    indices: &[usize],
    start: Option<Start>,
    pass: &Pass,
    device: &Device,
) -> Output {
    let batch = token_batch(examples, indices, device);
    match examples.kept(start) {
        None => model.forward(&batch, pass),
        Some(kept) => {
            let [_, seq] = batch.shape();
            model.forward_from(kept.batch(indices, seq, device), &batch, pass)
        }
    }
}
