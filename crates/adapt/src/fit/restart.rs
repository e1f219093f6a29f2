//! Restarts of runs that have not learned anything (Mosbach et al. 2021).

use rand::Rng;
use totune_data::stream;
use totune_model::Encoder;

use crate::outcome::{Outcome, Score};
use crate::state::{Exact, FailedAttempts};

impl FailedAttempts {
    /// The seed of the next attempt: that of the run for the first one.
    pub fn next_seed(&self, seed: u64) -> u64 {
        match self.attempts {
            0 => seed,
            n => stream(seed, "restart", n as u64).next_u64(),
        }
    }

    pub fn add<E: Encoder>(&mut self, outcome: &Outcome<E>) {
        self.attempts += 1;
        self.train_seconds.0 += outcome.train_seconds;
        self.cache_seconds.0 += outcome.cache_seconds;
        self.eval_seconds.0 += outcome.eval_seconds;
        self.cpu_seconds = self.with_cpu(outcome.cpu_seconds).map(Exact);
    }

    /// Adds number and costs of the failed attempts to the outcome that counts, of a run with `n_train` training
    /// examples.
    pub fn add_to<E: Encoder>(&self, outcome: &mut Outcome<E>, n_train: usize) {
        outcome.restarts = self.attempts;
        outcome.train_seconds += self.train_seconds.0;
        outcome.cache_seconds += self.cache_seconds.0;
        outcome.eval_seconds += self.eval_seconds.0;
        outcome.cpu_seconds = self.with_cpu(outcome.cpu_seconds);
        for score in &mut outcome.scores {
            score.train_seconds += self.train_seconds.0;
        }
        if let Some(last) = outcome.scores.iter().rfind(|score| score.is_final) {
            let restarts = Score {
                split: "train",
                metric: "restarts".to_string(),
                value: self.attempts as f64,
                n: n_train,
                ..last.clone()
            };
            outcome.scores.push(restarts);
        }
    }

    /// Processor seconds of these attempts and another one.
    fn with_cpu(&self, other: Option<f64>) -> Option<f64> {
        let own = self.cpu_seconds.map(|Exact(seconds)| seconds);
        own.into_iter().chain(other).reduce(|a, b| a + b)
    }
}
