//! Batches: encoded examples padded on a device, and their pass through a model.

use anyhow::Result;
use burn::tensor::{Device, Tensor, TensorData};
use totune_data::characters::CHARACTERS;
use totune_data::{Encoded, Padded};
use totune_model::fused::upload_ids;
use totune_model::{Classifier, Encoder, Output, Pass, TokenBatch, WordRows, Words};

use crate::cache::EntryLayer;
use crate::examples::{Examples, Row};

/// Pads rows to the longest of them with `pad_id`, that of [`Encoder::pad_id`].
pub(crate) fn padded(rows: &[&Encoded], pad_id: u32, device: &Device) -> TokenBatch {
    let padded = Padded::new(rows, pad_id);
    let shape = [padded.batch, padded.seq];
    let mut batch = TokenBatch::new(padded.ids, padded.type_ids, &padded.mask, shape, device);
    batch.apart = padded.apart;
    batch.texts = padded.texts;
    if !padded.characters.is_empty() {
        let ids: Vec<i64> = padded.characters.into_iter().map(i64::from).collect();
        let shape = [padded.batch, padded.seq, CHARACTERS];
        batch.characters = Some(upload_ids(TensorData::new(ids, shape), device));
    }
    batch
}

/// Makes batches of examples on a device.
pub(crate) struct Batches<'a> {
    examples: &'a Examples,
    /// Entry layer of the passes, if activations are cached for it.
    start: Option<EntryLayer>,
    /// Rows of the word embeddings, if the model has no others.
    word_rows: Option<&'a WordRows>,
    device: &'a Device,
}

impl<'a> Batches<'a> {
    pub(crate) fn new(
        examples: &'a Examples,
        start: Option<EntryLayer>,
        device: &'a Device,
    ) -> Self {
        Self {
            examples,
            start,
            word_rows: None,
            device,
        }
    }

    /// Batches for a model that has these rows of its word embeddings alone.
    pub(crate) fn reading(mut self, rows: Option<&'a WordRows>) -> Self {
        self.word_rows = rows;
        self
    }

    /// Output of `model` for the examples at `indices`: from the cached activations of its frozen part if there are
    /// any, otherwise from the tokens.
    pub(crate) fn outputs<E: Encoder>(
        &self,
        model: &Classifier<E>,
        indices: &[usize],
        pass: &Pass,
    ) -> Output {
        let batch = self.tokens(indices, model.encoder.pad_id());
        match self.examples.cached(self.start) {
            None => model.forward(&batch, pass),
            Some(kept) => {
                let [_, seq] = batch.shape();
                model.forward_from(kept.batch(indices, seq, self.device), &batch, pass)
            }
        }
    }

    /// Features that the linear layer of `model` reads for the examples at `indices`, `[batch, width]`.
    ///
    /// # Errors
    /// When its head is no linear layer.
    pub(crate) fn features<E: Encoder>(
        &self,
        model: &Classifier<E>,
        indices: &[usize],
    ) -> Result<Tensor<2>> {
        let batch = self.tokens(indices, model.encoder.pad_id());
        let states = model.encoder.encode(&batch, &Pass::evaluation());
        model.head.features(&states, &batch)
    }

    /// Pads the examples at `indices` to the longest of them.
    fn tokens(&self, indices: &[usize], pad_id: u32) -> TokenBatch {
        let rows: Vec<&Row> = indices.iter().map(|&i| &self.examples.rows[i]).collect();
        let encoded: Vec<&Encoded> = rows.iter().map(|row| &row.encoded).collect();
        let mut batch = padded(&encoded, pad_id, self.device);
        let words: Option<Vec<_>> = rows.iter().map(|row| row.words.as_ref()).collect();
        batch.words = words.map(|words| Words {
            starts: words.iter().map(|places| places.starts.clone()).collect(),
            ends: words.iter().map(|places| places.ends.clone()).collect(),
        });
        match self.word_rows {
            Some(rows) => batch.reading(rows),
            None => batch,
        }
    }
}
