//! Training of those rows of a table of word embeddings that a batch reads.
//!
//! A batch of short texts has some hundred words, a table tens or hundreds of thousands of rows: its gradient, the norm of that
//! and the update would take longer than the layers.

use burn::module::Param;
use burn::tensor::{Int, Tensor, TensorData};

use crate::fused::AdamW;
use crate::{Classifier, Encoder, TokenBatch};

/// The rows of a table of word embeddings that a batch reads: distinct ids of tokens, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordRows(Vec<i64>);

impl WordRows {
    /// The rows of these tokens.
    pub fn new(ids: impl IntoIterator<Item = i64>) -> Self {
        let mut ids: Vec<i64> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self(ids)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if no token is read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Place of each token's row among these, of the shape of `ids`.
    fn places(&self, ids: &Tensor<2, Int>) -> Tensor<2, Int> {
        let place = |id: i64| {
            let found = self.0.binary_search(&id);
            found.expect("a token of the batch whose rows these are") as i64
        };
        let (shape, device) = (ids.dims(), ids.device());
        let places: Vec<i64> = ids.clone().into_data().iter::<i64>().map(place).collect();
        Tensor::from_data(TensorData::new(places, shape), &device)
    }
}

impl TokenBatch {
    /// The same batch for [`Classifier::with_word_rows`] of these rows, which are on the CPU.
    ///
    /// # Panics
    /// When a token has none of the rows.
    pub fn reading(mut self, rows: &WordRows) -> Self {
        self.word_rows = Some(rows.places(&self.ids));
        self
    }
}

impl<E: Encoder> Classifier<E> {
    /// Returns the model with these rows of its word embeddings, as they are after all steps of `optimizer`, in place of the
    /// whole table, for batches that are [`TokenBatch::reading`] them. Its gradients are what the next step of this model
    /// takes; [`AdamW::settle`] comes before anything else reads the table.
    ///
    /// `None`, and nothing has changed, where the table is not trained or there is none, and where the optimiser updates
    /// whole tables only.
    pub fn with_word_rows(&self, rows: &WordRows, optimizer: &mut AdamW) -> Option<Self> {
        let mut reader = self.clone();
        let table = reader.encoder.word_table()?;
        if !table.val().is_require_grad() {
            return None;
        }
        let rows = optimizer.select_rows(table, rows.0.clone())?;
        *table = Param::initialized(table.id, Tensor::from_inner(rows).require_grad());
        Some(reader)
    }
}
