//! What a plan would cost on a device: a few steps of each kind of run are timed, and the rest is arithmetic.
//!
//! Nothing of the papers' files is needed: networks get random weights, examples are made up, and how many there are is
//! what cards say. So a grid for a large machine can be judged before anything is downloaded.

mod made_up;
mod sizes;

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;
use totune_data::Catalogue;
use totune_model::EncoderCatalogue;

use crate::{Machine, Plan, Project, RunSpec, State, Work};
use made_up::{Cost, Timed};
use sizes::Sizes;

/// What the runs of a plan that are still to be done would cost.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Estimate {
    /// The device that was timed.
    pub device: String,
    /// The kinds of run, the dearest first.
    pub kinds: Vec<KindCost>,
    /// Of all of them, at most: training may stop sooner.
    pub hours: f64,
    /// Runs that could not be judged, by reason.
    pub left_out: BTreeMap<String, usize>,
}

/// Runs that take the same time per step.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct KindCost {
    /// Encoder, strategy, head, batch and length.
    pub label: String,
    /// How many runs there are of it.
    pub runs: usize,
    /// Steps of all of them.
    pub steps: u64,
    /// Seconds of one, measured.
    pub seconds_per_step: f64,
    /// Seconds to score one example, measured.
    pub seconds_per_scored: f64,
    /// Of all runs.
    pub hours: f64,
}

/// Times every kind of run in `plan` that is not done, and adds up. `hear` is told what is being timed.
///
/// # Errors
/// When a card is missing or wrong, or the device fails.
pub fn estimate(
    plan: &Plan,
    project: &Project,
    machine: &Machine,
    hear: &dyn Fn(&str),
) -> Result<Estimate> {
    let datasets = Catalogue::read(&project.root.join("datasets"))?;
    let encoders = EncoderCatalogue::read(&project.root.join("encoders"))?;
    let mut left_out = BTreeMap::new();
    let mut kinds: BTreeMap<String, (Timed, Vec<Sizes>)> = BTreeMap::new();
    let open = plan.runs.iter().filter(|run| run.state != State::Done);
    for run in open.map(|run| &run.spec) {
        match judged(run, &datasets)? {
            Ok((timed, sizes)) => {
                let kind = kinds.entry(timed.label.clone());
                kind.or_insert_with(|| (timed, Vec::new())).1.push(sizes);
            }
            Err(why) => *left_out.entry(why).or_insert(0) += 1,
        }
    }
    let mut costs = Vec::new();
    for (label, (timed, runs)) in kinds {
        hear(&label);
        let card = encoders.find(&timed.encoder)?;
        let cost = timed.measure(&card.architecture, machine)?;
        costs.push(kind(label, &cost, &runs));
    }
    costs.sort_by(|a, b| b.hours.total_cmp(&a.hours));
    Ok(Estimate {
        device: machine.device_name.clone(),
        // From 0.0, since the sum of nothing is -0.0.
        hours: costs.iter().fold(0.0, |sum, cost| sum + cost.hours),
        kinds: costs,
        left_out,
    })
}

fn kind(label: String, cost: &Cost, runs: &[Sizes]) -> KindCost {
    let steps: u64 = runs.iter().map(Sizes::steps).sum();
    let scored: u64 = runs.iter().map(Sizes::scored).sum();
    // States of frozen layers are computed once for all runs that share them, so once per size.
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
        seconds_per_step: cost.step,
        seconds_per_scored: cost.scored,
        hours: seconds / 3600.0,
    }
}

/// What of a run is timed, and how much there is of it; or why it cannot be judged.
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
