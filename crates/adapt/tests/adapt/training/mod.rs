//! Strategies, optimisers and the training loop, on small encoders.

mod architectures;
mod auto_freeze;
mod cache;
mod checkpoints;
mod divergence;
mod gradients;
mod head_lr;
mod learning;
mod objectives;
mod optimizers;
mod phases;
mod probe;
mod recomputation;
mod restarts;
mod state;
mod watching;

use totune_adapt::{Examples, Outcome, Prediction, Score};
use totune_model::Bert;

/// The first `n` examples.
fn first(examples: &Examples, n: usize) -> Examples {
    examples.part(&(0..n).collect::<Vec<_>>())
}

/// Results that two equal runs share: everything but the clock.
fn rows(outcome: Outcome<Bert>) -> (Vec<Score>, Vec<Prediction>) {
    let mut scores = outcome.scores;
    scores
        .iter_mut()
        .for_each(|score| score.train_seconds = 0.0);
    (scores, outcome.predictions)
}
