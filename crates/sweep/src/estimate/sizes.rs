//! Training steps and scored examples of a run, from the cards.

use totune_adapt::Training;
use totune_data::{Card, Split};

use crate::RunSpec;

/// Amount of work in a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sizes {
    train: u64,
    /// Examples scored after each epoch.
    scored: u64,
    epochs: u64,
    batch: u64,
}

impl Sizes {
    /// Returns `None` where the card does not state the rows of a split.
    pub fn of(spec: &RunSpec, training: &Training, card: &Card) -> Option<Self> {
        let rows = |split: &str| card.splits.get(split).map(|facts| facts.rows as f64);
        let least = |rows: f64, limit: Option<usize>| limit.map_or(rows, |n| rows.min(n as f64));
        let (train, scored) = match &spec.split {
            Split::HoldOut(split) => {
                let all = rows("train")?;
                let used = least(all * (1.0 - split.test), split.train_limit);
                let dev = used * split.dev;
                let test = least(all * split.test, split.test_limit);
                (used - dev, dev + test)
            }
            Split::KFold(split) => {
                let share = 1.0 / split.folds as f64;
                let all = rows("train")?;
                (all * (1.0 - share), all * share)
            }
            Split::Files(files) => {
                let used = least(rows("train")?, files.train_limit);
                let dev = match &files.dev_split {
                    Some(split) => least(rows(split)?, files.dev_limit),
                    None => used * files.dev,
                };
                let test = least(rows(&files.test)?, files.test_limit);
                (used * (1.0 - files.dev), dev + test)
            }
        };
        Some(Self {
            train: train.round() as u64,
            scored: scored.round() as u64,
            epochs: training.adaptation.epochs(training.epochs) as u64,
            batch: training.batch_size as u64,
        })
    }

    /// Optimiser steps, at most.
    pub fn steps(&self) -> u64 {
        self.train.div_ceil(self.batch) * self.epochs
    }

    /// Examples scored over all epochs.
    pub fn scored(&self) -> u64 {
        self.scored * self.epochs
    }

    /// Examples whose activations may be cached.
    pub fn examples(&self) -> u64 {
        self.train + self.scored
    }
}
