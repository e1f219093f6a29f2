//! The best epoch of a run so far.

use burn::module::Module;

use crate::outcome::Prediction;
use crate::parameters::{Values, copy};

/// The model of the epoch with the best score on dev so far, if one was kept.
#[derive(Default)]
pub(crate) struct Best(Option<Found>);

/// An epoch's model: a copy of the parameters trained in any phase, and its predictions.
pub(crate) struct Found {
    pub score: f64,
    pub epoch: usize,
    pub values: Values,
    pub predictions: Vec<Prediction>,
}

impl Best {
    /// The model after `epoch` with its score.
    ///
    /// `trainable` says which parameters are trained in any phase: one whose training starts later must be restored
    /// too.
    pub(crate) fn new<M: Module>(
        score: f64,
        epoch: usize,
        model: &M,
        trainable: &dyn Fn(&str) -> bool,
    ) -> Self {
        Self(Some(Found {
            score,
            epoch,
            values: copy(model, trainable),
            predictions: Vec::new(),
        }))
    }

    /// The best epoch's model of a resumed run.
    pub(crate) fn resumed(found: Option<Found>) -> Self {
        Self(found)
    }

    /// The best epoch's model so far, if one was kept.
    pub(crate) fn found(&self) -> Option<&Found> {
        self.0.as_ref()
    }

    /// Adds the model's predictions.
    pub(crate) fn with_predictions(mut self, predictions: &[Prediction]) -> Self {
        if let Some(found) = &mut self.0 {
            found.predictions = predictions.to_vec();
        }
        self
    }

    /// Returns true if a model with this score is better than all before.
    pub(crate) fn is_below(&self, score: f64) -> bool {
        self.0.as_ref().is_none_or(|best| score > best.score)
    }

    /// Returns the best epoch's model, if one was kept.
    pub(crate) fn into_found(self) -> Option<Found> {
        self.0
    }
}
