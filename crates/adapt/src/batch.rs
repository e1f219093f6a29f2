//! From encoded examples to a padded batch on a device, and through a model.

use burn::tensor::{Device, Tensor, TensorData};
use totune_data::characters::CHARACTERS;
use totune_data::{Encoded, Padded};
use totune_model::{Classifier, Encoder, Output, Pass, TokenBatch, Words};

use crate::cache::Start;
use crate::task::Examples;

/// Rows padded to the longest of them with `pad_id`, that of [`Encoder::pad_id`].
pub(crate) fn padded(rows: &[&Encoded], pad_id: u32, device: &Device) -> TokenBatch {
    let padded = Padded::new(rows, pad_id);
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

/// The examples at `indices`, padded to the longest of them with `pad_id`, that of [`Encoder::pad_id`].
pub(crate) fn token_batch(
    examples: &Examples,
    indices: &[usize],
    pad_id: u32,
    device: &Device,
) -> TokenBatch {
    let rows: Vec<_> = indices.iter().map(|&i| &examples.rows[i]).collect();
    let mut batch = padded(&rows, pad_id, device);
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
    let batch = token_batch(examples, indices, model.encoder.pad_id(), device);
    match examples.kept(start) {
        None => model.forward(&batch, pass),
        Some(kept) => {
            let [_, seq] = batch.shape();
            model.forward_from(kept.batch(indices, seq, device), &batch, pass)
        }
    }
}
