//! The score that each side has reached within given times.

use super::prelude::*;
use super::task_score::direction_or_points;

/// Times are in epochs of one side at the same seed, since seconds do not transfer between machines.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ScoreAtTime {
    at: Vec<f64>,
    /// The side whose epochs are the unit of time.
    #[serde(default)]
    epochs_of: EpochsOf,
    #[serde(default)]
    score: Reached,
}

/// Whose epochs are the unit of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum EpochsOf {
    First,
    #[default]
    Second,
}

/// The score that counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Reached {
    /// The best so far, where an unfinished epoch counts in part.
    #[default]
    Best,
    /// The score after the last finished epoch.
    LastEpoch,
}

impl Quantity for ScoreAtTime {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["greater", "near"])
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        ensure!(
            !self.at.is_empty() && self.at.iter().all(|&at| at > 0.0 && at.is_finite()),
            "{}: found at = {:?}, expected times above 0, in epochs",
            terms.from,
            self.at
        );
        sized(terms, self.at.len())
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        direction_or_points(terms)
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let paired = terms.paired(&terms.tasks()?, runs)?;
        let unit = match self.epochs_of {
            EpochsOf::First => &paired.title_a,
            EpochsOf::Second => &paired.title_b,
        };
        let moments = self.at.iter().map(|&at| {
            let finished = match self.score {
                Reached::Best => "",
                Reached::LastEpoch => "with the epochs finished ",
            };
            let label = format!("{finished}within {} of {unit}", epochs_text(at));
            let numbers = paired.numbers(|task, pair| self.reached(at, task, pair));
            (label, numbers)
        });
        Ok(compared(&paired, moments.collect(), terms.unit).into())
    }
}

impl ScoreAtTime {
    /// The scores of both sides of a pair within `at` epochs.
    fn reached(&self, at: f64, task: &Task, pair: &Pair) -> Option<(f64, f64)> {
        let unit = match self.epochs_of {
            EpochsOf::First => &pair.a,
            EpochsOf::Second => &pair.b,
        };
        let budget = at * average(unit, |run| seconds(run, TimePer::Epoch))?;
        let reached = |runs: &[&Run]| {
            average(runs, |run| {
                let curve = run.curve(&task.metric, TEST)?;
                match self.score {
                    Reached::Best => curve.best_within(budget),
                    Reached::LastEpoch => curve.completed_within(budget),
                }
            })
        };
        Some((reached(&pair.a)?, reached(&pair.b)?))
    }
}

/// Scores compared at one or several moments, each with its name.
fn compared(
    paired: &PairedComparison,
    moments: Vec<(String, Result<Numbers, String>)>,
    unit: Unit,
) -> Result<Finding, String> {
    let scale = Scale::Points;
    let mut evidence = Evidence::new(scale);
    let mut ours = Vec::new();
    for (label, found) in moments {
        let compared = found.and_then(|numbers| Ok((numbers.compare_by(unit)?, numbers)));
        let (comparison, numbers) = compared.map_err(|why| format!("{label}: {why}"))?;
        ours.push(scale.signed(comparison.difference));
        let of = format!(
            "{label}: {} \u{2212} {} ({})",
            paired.title_a,
            paired.title_b,
            numbers.of()
        );
        evidence.comparisons.push((of, comparison));
        let by_task = numbers.by_task(&numbers.differences(), scale);
        evidence
            .notes
            .extend(by_task.map(|text| format!("{label}, {text}")));
        for note in numbers.notes {
            if !evidence.notes.contains(&note) {
                evidence.notes.push(note);
            }
        }
    }
    evidence.ours = format!("{}{}", ours.join(", "), scale.unit());
    Ok(Finding::Compared(evidence))
}

/// `1.26 epochs`, `1 epoch`.
fn epochs_text(n: f64) -> String {
    format!("{n} epoch{}", if n == 1.0 { "" } else { "s" })
}
