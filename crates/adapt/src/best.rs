//! The best epoch of a run so far.

use std::collections::BTreeSet;

use burn::module::Module;

use crate::outcome::Prediction;
use crate::parameters::{Values, copy, restore};

/// The model of the epoch with the best score on dev so far: a copy of what can move, and what the model said.
#[derive(Default)]
pub(crate) struct Best {
    found: Option<Found>,
}

struct Found {
    score: f64,
    epoch: usize,
    values: Values,
    predictions: Vec<Prediction>,
}

impl Best {
    /// Keeps the model after `epoch` if it scored higher than all before.
    ///
    /// `moving` are the parameters of all phases: one that begins to move later has to come back too.
    pub(crate) fn offer<M: Module>(
        &mut self,
        score: f64,
        epoch: usize,
        model: &M,
        moving: &BTreeSet<&str>,
        predictions: &[Prediction],
    ) {
        if self.found.as_ref().is_none_or(|best| score > best.score) {
            self.found = Some(Found {
                score,
                epoch,
                values: copy(model, &|path| moving.contains(path)),
                predictions: predictions.to_vec(),
            });
        }
    }

    /// The epoch, its model and what it said; `None` if nothing was offered.
    pub(crate) fn take<M: Module>(self, model: M) -> Result<(usize, M, Vec<Prediction>), M> {
        match self.found {
            Some(best) => Ok((best.epoch, restore(model, best.values), best.predictions)),
            None => Err(model),
        }
    }
}
