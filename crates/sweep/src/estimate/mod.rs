//! Cost of a plan on a device: a few steps of each kind of run are timed, and the rest is arithmetic.
//!
//! None of the papers' files is needed: networks get random weights, examples are synthetic, and their number comes
//! from the cards. So the time of a grid for a large machine is known before anything is downloaded.

mod sizes;
mod synthetic;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use anyhow::Result;
use serde::Serialize;
use totune_data::Catalogue;

use crate::inputs::absent;
use crate::{Environment, Plan, RunSpec, State, Work};
use sizes::Sizes;
pub use synthetic::Size;
use synthetic::{Cost, Timed};

/// Estimated cost of the runs of a plan that are still to be done.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Estimate {
    /// The device that was timed.
    pub device: String,
    /// The kinds of run, the dearest first.
    pub kinds: Vec<KindCost>,
    /// Hours of all kinds together, at most: training may stop sooner.
    pub hours: f64,
    /// Runs without an estimate, by reason.
    pub left_out: BTreeMap<String, usize>,
    /// Datasets, encoders and texts whose files are missing on this machine, with the number of runs that need each.
    /// These runs were timed all the same.
    pub absent: BTreeMap<String, usize>,
}

/// Progress of an estimate.
#[derive(Debug)]
pub enum Timing<'a> {
    /// Timing of a kind begins.
    Begins {
        /// Number of the kind, from 1.
        number: usize,
        /// Number of kinds.
        of: usize,
        /// Label of the kind, as in [`KindCost`].
        label: &'a str,
    },
    /// Timing of a kind has ended.
    Ends(&'a KindCost),
}

/// Runs that take the same time per step.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct KindCost {
    /// Encoder, strategy, head, batch and length.
    pub label: String,
    /// Number of runs of this kind.
    pub runs: usize,
    /// Steps of all runs of this kind.
    pub steps: u64,
    /// Examples in a batch.
    pub batch_size: usize,
    /// Seconds of one step, extrapolated from the timed ones.
    pub seconds_per_step: f64,
    /// Number and size of the timed steps.
    pub timed: Size,
    /// Seconds to score one example, measured.
    pub seconds_per_scored: f64,
    /// Hours of all runs of this kind.
    pub hours: f64,
}

/// Reason why kinds are left out after a signal.
const STOPPED: &str = "not timed, since it was stopped before";

/// Times every kind of run in `plan` that is still to be done, each for about `seconds`, and adds up. If stopped, it
/// returns the kinds timed so far.
///
/// # Errors
/// When a card is missing or wrong, or the device fails.
pub fn estimate(
    plan: &Plan,
    environment: Environment,
    seconds: f64,
    hear: &dyn Fn(&Timing),
) -> Result<Estimate> {
    let Environment {
        project,
        roots,
        machine,
    } = environment;
    let datasets = project.datasets()?;
    let encoders = project.encoders()?;
    let mut left_out = BTreeMap::new();
    let mut kinds: BTreeMap<String, (Timed, Vec<Sizes>)> = BTreeMap::new(); // by all that is timed
    let open = plan.runs.iter();
    let open = open.filter(|run| !matches!(run.state, State::Done | State::Unresolvable));
    let open: Vec<&RunSpec> = open.map(|run| &run.spec).collect();
    for run in &open {
        match judged(run, &datasets)? {
            Ok((timed, sizes)) => {
                let kind = kinds.entry(timed.key());
                kind.or_insert_with(|| (timed, Vec::new())).1.push(sizes);
            }
            Err(why) => *left_out.entry(why).or_insert(0) += 1,
        }
    }
    let mut costs = Vec::new();
    let of = kinds.len();
    for (number, (timed, runs)) in (1..).zip(kinds.into_values()) {
        let label = timed.label.clone();
        if machine.stop.load(Ordering::Relaxed) {
            *left_out.entry(STOPPED.to_string()).or_insert(0) += runs.len();
            continue;
        }
        hear(&Timing::Begins {
            number,
            of,
            label: &label,
        });
        let card = encoders.find(&timed.encoder)?;
        let cost = timed.measure(&card.architecture, machine, seconds)?;
        let found = kind(label, timed.batch_size(), &cost, &runs);
        hear(&Timing::Ends(&found));
        costs.push(found);
    }
    costs.sort_by(|a, b| b.hours.total_cmp(&a.hours));
    Ok(Estimate {
        device: machine.device_name.clone(),
        // From 0.0, since the sum of nothing is -0.0.
        hours: costs.iter().fold(0.0, |sum, cost| sum + cost.hours),
        kinds: costs,
        left_out,
        absent: absent(project, roots, open)?,
    })
}

fn kind(label: String, batch_size: usize, cost: &Cost, runs: &[Sizes]) -> KindCost {
    let steps: u64 = runs.iter().map(Sizes::steps).sum();
    let scored: u64 = runs.iter().map(Sizes::scored).sum();
    // Activations of frozen layers are computed once for all runs that share them, so once per size.
    let mut kept: Vec<u64> = runs.iter().map(Sizes::examples).collect();
    kept.sort_unstable();
    kept.dedup();
    let seconds = steps as f64 * cost.step
        + scored as f64 * cost.scored
        + kept.iter().sum::<u64>() as f64 * cost.kept;
    KindCost {
        label,
        runs: runs.len(),
        steps,
        batch_size,
        seconds_per_step: cost.step,
        timed: cost.timed,
        seconds_per_scored: cost.scored,
        hours: seconds / 3600.0,
    }
}

/// Splits a run into the work that is timed and its amount; the inner error is the reason for having no estimate.
fn judged(spec: &RunSpec, datasets: &Catalogue) -> Result<Result<(Timed, Sizes), String>> {
    let (encoder, training) = match &spec.work {
        Work::Tune(work) => (&work.encoder, &work.training),
        Work::Probe(work) => match &work.training {
            Some(training) => (&work.encoder, training.as_ref()),
            None => return Ok(Err("probes of pretrained states: minutes each".to_string())),
        },
        Work::Sparse(_) | Work::Divergence(_) => {
            return Ok(Err("no encoder: minutes each".to_string()));
        }
        Work::Floor(_) => {
            return Ok(Err("floors: minutes each".to_string()));
        }
    };
    let card = datasets.find(&spec.dataset)?;
    Ok(match Sizes::of(spec, training, card) {
        Some(sizes) => Ok((Timed::new(encoder, training, card), sizes)),
        None => Err(format!(
            "the card of `{}` does not say how many rows it has",
            card.name
        )),
    })
}
