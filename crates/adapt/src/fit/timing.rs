//! Timing of the epochs of a run, without the run.

use std::collections::HashSet;

use anyhow::{Result, bail, ensure};
use totune_data::BatchPlan;
use totune_model::Encoder;

use super::{Begin, execute};
use crate::examples::Examples;
use crate::outcome::{PhaseTime, Stop};
use crate::schedule::{Constant, Schedule};
use crate::state::Checkpoints;
use crate::stop::StopRule;
use crate::task::TaskData;
use crate::training::{Select, TestScores, Training};
use crate::watch::Watch;

/// Factor of the learning rates: so small that no run diverges; the duration of a step does not depend on it.
const PART_OF_RATE: f64 = 1e-3;

/// Part of a run that is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedPart {
    /// Epochs of each phase, after one that warms up and is left out.
    pub epochs: usize,
    /// Batches of each of these epochs; `None` for whole ones.
    pub batches: Option<usize>,
}

/// Times a part of each phase, whose seconds are scaled to whole epochs; `None` when `watch` ended it.
///
/// The steps are those of the run on the same examples, or on as many of them as fill the batches, drawn with `seed`.
/// Nothing is decided on the way, so no phase ends sooner; of test one batch is scored, of dev nothing.
///
/// # Errors
/// When the run itself could not begin, or the device fails.
pub fn time_phases<E: Encoder>(
    encoder: E,
    task: &TaskData,
    (training, seed): (&Training, u64),
    part: TimedPart,
    watch: &mut dyn Watch,
) -> Result<Option<Vec<PhaseTime>>> {
    ensure!(part.epochs >= 1, "epochs: found 0, expected at least 1");
    ensure!(
        part.batches != Some(0),
        "batches: found 0, expected at least 1"
    );
    let schedule = Schedule::Constant(Constant { warmup: 0.0 });
    let mut plan = training.plan(encoder.n_layers())?;
    for phase in &mut plan.phases {
        phase.epochs = part.epochs + 1;
        phase.schedule = schedule.clone();
        phase.stop = StopRule::Epochs {};
        phase.freezing = None;
        for group in &mut phase.groups {
            group.lr *= PART_OF_RATE;
        }
    }
    let training = Training {
        schedule,
        stop: StopRule::Epochs {},
        restarts: 0,
        select: Select::Last,
        test_scores: TestScores::EachEpoch,
        ..training.clone()
    };
    let train = match part.batches {
        Some(batches) => drawn(&task.train, batches * training.batch_size, seed),
        None => task.train.clone(),
    };
    let scale = task.train.len() as f64 / train.len() as f64;
    let task = TaskData {
        train,
        dev: None,
        test: first(&task.test, training.evaluation_batch_size),
        predict: Vec::new(),
        ..task.clone()
    };
    let heard = (watch, &mut () as &mut dyn Checkpoints);
    let run = (&task, &training, seed);
    let outcome = execute(encoder, run, &plan, heard, Begin::default())?;
    match outcome.stop {
        Stop::Interrupted => return Ok(None),
        Stop::Diverged(divergence) => bail!("{divergence}"),
        Stop::Epochs | Stop::EarlyStopping | Stop::GeneralisationGap => {}
    }
    let mut phases = outcome.phases;
    for phase in &mut phases {
        phase.epochs.remove(0); // it warmed up
        phase.cache_seconds *= scale;
        for epoch in &mut phase.epochs {
            epoch.seconds *= scale;
            epoch.cpu_seconds = epoch.cpu_seconds.map(|seconds| seconds * scale);
        }
    }
    Ok(Some(phases))
}

/// At most `n` examples, drawn with `seed`.
fn drawn(examples: &Examples, n: usize, seed: u64) -> Examples {
    let one_by_one = BatchPlan {
        size: 1,
        bucketing: false,
    };
    let mut order = one_by_one.shuffled(&examples.lengths(), seed, 0).concat();
    // One of each label first: a probe has no optimum without.
    let mut seen = HashSet::new();
    order.sort_by_cached_key(|&at| {
        let class = examples.rows[at].target.class();
        !class.is_some_and(|class| seen.insert(class))
    });
    examples.part(&order[..n.min(order.len())])
}

/// The first `n` examples.
fn first(examples: &Examples, n: usize) -> Examples {
    let mut first = examples.clone();
    first.rows.truncate(n);
    for cached in &mut first.cached {
        cached.places.truncate(n);
    }
    first
}
