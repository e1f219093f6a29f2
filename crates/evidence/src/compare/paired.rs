//! Two sides over tasks: a number of each for every pair of seeds, and notes on omissions.

use std::collections::BTreeSet;
use std::iter::once;

use anyhow::Result;
use totune_stats::{Interval, mean};

use crate::compare::strata::{Weighted, effect, in_general, unpaired};
use crate::compare::{Comparison, enough, examples};
use crate::plan::Unit;
use crate::plan::{Side, Task, Where};
use crate::select::label::labelled;
use crate::select::panel::{OnTask, Pair, TaskRuns, pairs_text};
use crate::select::runs::Runs;
use crate::select::scope::Scope;
use crate::text::{Scale, counted};

/// Two sides on several tasks.
pub struct PairedComparison<'a> {
    /// Title of the first side with the labels of its runs.
    pub title_a: String,
    /// The same of the second side.
    pub title_b: String,
    /// Labels of the runs of either side.
    pub labels: BTreeSet<String>,
    on: Vec<OnTask<'a>>,
    runs: &'a Runs,
}

/// One side of a paired comparison.
#[derive(Debug, Clone, Copy)]
pub struct ComparedSide<'p> {
    /// Title of the side.
    pub title: &'p str,
    /// Its groups.
    pub side: &'p Side,
    /// Conditions on its runs beyond those of its groups.
    pub conditions: &'p Where,
}

/// A number of each side for every pair of seeds that has both, by task.
pub struct Numbers<'a> {
    /// In the order of the tasks that were requested.
    pub tasks: Vec<On<'a>>,
    /// Notes on what was left out.
    pub notes: Vec<String>,
}

/// The pairs of one task; at least one, as many on either side.
pub struct On<'a> {
    /// The task.
    pub task: &'a Task,
    /// Numbers of the first side, one for each pair.
    pub a: Vec<f64>,
    /// Numbers of the second side, in the same order.
    pub b: Vec<f64>,
}

impl On<'_> {
    /// Checks that there are enough pairs for a verdict; the error names the task.
    pub(crate) fn enough(&self) -> Result<(), String> {
        enough(self.a.len(), Unit::Seed).map_err(|why| format!("{}: {why}", self.task.title))
    }
}

impl<'a> PairedComparison<'a> {
    /// Pairs the runs of both sides on each of `tasks`.
    pub fn new([a, b]: [ComparedSide; 2], tasks: &[&'a Task], scope: &Scope<'a>) -> Result<Self> {
        let on = tasks.iter().map(|task| {
            let of = |who: ComparedSide| TaskRuns::of(who.side, task, who.conditions, scope);
            Ok(OnTask::new(task, of(a)?, of(b)?))
        });
        let on = on.collect::<Result<Vec<OnTask>>>()?;
        let labels = |side: fn(&OnTask<'a>) -> BTreeSet<String>| -> BTreeSet<String> {
            on.iter().flat_map(side).collect()
        };
        let (of_a, of_b) = (
            labels(|on| on.a.labels.clone()),
            labels(|on| on.b.labels.clone()),
        );
        Ok(Self {
            title_a: labelled(a.title, &of_a),
            title_b: labelled(b.title, &of_b),
            labels: of_a.into_iter().chain(of_b).collect(),
            on,
            runs: scope.runs,
        })
    }

    /// The 95 % interval of the difference of final scores, the first side minus the second, over draws of test
    /// examples: one for each task, `None` where the predictions of its runs do not suffice; see [`super::examples`].
    pub fn over_examples(&self) -> Vec<Option<Interval>> {
        let of = |on: &OnTask| examples::interval(&on.pairs, &on.task.metric, self.runs);
        self.on.iter().map(of).collect()
    }

    /// Reads `number` off each pair, for a verdict over all tasks. `Err` says which task has not been run, or has too few pairs
    /// left, since a mean over other tasks than the claim's would be of another claim.
    pub fn numbers(
        &self,
        number: impl Fn(&Task, &Pair) -> Option<(f64, f64)>,
    ) -> Result<Numbers<'a>, String> {
        let numbers = self.numbers_however_few(number)?;
        for on in &numbers.tasks {
            on.enough().map_err(|why| {
                let notes = numbers.notes.iter().cloned();
                once(why).chain(notes).collect::<Vec<_>>().join("; ")
            })?;
        }
        Ok(numbers)
    }

    /// Numbers as of [`Self::numbers`], with tasks that have fewer pairs than a verdict takes.
    pub(crate) fn numbers_however_few(
        &self,
        number: impl Fn(&Task, &Pair) -> Option<(f64, f64)>,
    ) -> Result<Numbers<'a>, String> {
        for on in &self.on {
            for (title, side) in [(&self.title_a, &on.a), (&self.title_b, &on.b)] {
                if side.is_missing() {
                    let note = side.note.as_deref().unwrap_or("no run");
                    return Err(format!("{title} on {}: {note}", on.task.title));
                }
            }
        }
        if let Some(on) = self
            .on
            .iter()
            .find(|on| on.a.fixed().is_some() && on.b.fixed().is_some())
        {
            return Err(format!(
                "{}: neither side has any randomness, so the difference cannot be tested",
                on.task.title
            ));
        }
        let numbers = self.numbers_so_far(number)?;
        if numbers.tasks.len() < self.on.len() {
            return Err(numbers.notes.join("; "));
        }
        Ok(numbers)
    }

    /// The same for a table: a task that was not run, or has no pair, is left out and named. Folds are no seeds, and refused
    /// here too.
    pub fn numbers_so_far(
        &self,
        number: impl Fn(&Task, &Pair) -> Option<(f64, f64)>,
    ) -> Result<Numbers<'a>, String> {
        let mut numbers = Numbers {
            tasks: vec![],
            notes: vec![],
        };
        let mut unpaired = 0;
        for on in &self.on {
            for (title, side) in [(&self.title_a, &on.a), (&self.title_b, &on.b)] {
                if side.is_folds() {
                    let task = &on.task.title;
                    return Err(format!(
                        "{title} on {task}: its runs are folds, which this quantity does not compare"
                    ));
                }
                if !side.lost.is_empty() {
                    numbers.notes.push(format!(
                        "{title} on {}: {} left out",
                        on.task.title,
                        side.lost_text()
                    ));
                }
            }
            unpaired += on.unpaired();
            let found: Vec<(f64, f64)> = on
                .pairs
                .iter()
                .filter_map(|pair| number(on.task, pair))
                .filter(|(a, b)| a.is_finite() && b.is_finite())
                .collect();
            if found.len() < on.pairs.len() {
                numbers.notes.push(format!(
                    "on {} {} no number and is left out",
                    on.task.title,
                    match on.pairs.len() - found.len() {
                        1 => "one pair has".to_owned(),
                        n => format!("{n} pairs have"),
                    }
                ));
            }
            if found.is_empty() {
                numbers.notes.push(format!(
                    "without {}, where no seed has both sides",
                    on.task.title
                ));
                continue;
            }
            let (a, b) = found.into_iter().unzip();
            numbers.tasks.push(On {
                task: on.task,
                a,
                b,
            });
        }
        if unpaired > 0 {
            numbers.notes.push(format!(
                "{} without a counterpart left out",
                counted(unpaired, "seed")
            ));
        }
        if numbers.tasks.is_empty() {
            return Err(format!(
                "no seed has both sides: {}",
                numbers.notes.join("; ")
            ));
        }
        Ok(numbers)
    }
}

impl Numbers<'_> {
    /// Pairs on all tasks.
    pub(crate) fn n(&self) -> usize {
        self.tasks.iter().map(|on| on.a.len()).sum()
    }

    /// `CoLA, RTE; 6 pairs of seeds`.
    pub fn of(&self) -> String {
        let titles: Vec<&str> = self.tasks.iter().map(|on| on.task.title.as_str()).collect();
        format!("{}; {}", titles.join(", "), pairs_text(self.n()))
    }

    /// The difference of the means on each task.
    pub(crate) fn differences(&self) -> Vec<f64> {
        let of = |on: &On| mean(&on.a) - mean(&on.b);
        self.tasks.iter().map(of).collect()
    }

    /// `by task: CoLA -1.20, RTE +0.30 points`; nothing for a single task.
    pub(crate) fn by_task(&self, values: &[f64], scale: Scale) -> Option<String> {
        let each = self.tasks.iter().zip(values);
        let parts: Vec<String> = each
            .map(|(on, &value)| format!("{} {}", on.task.title, scale.signed(value)))
            .collect();
        (parts.len() > 1).then(|| format!("by task: {}{}", parts.join(", "), scale.unit()))
    }

    /// The mean over tasks of either side's means.
    pub fn means(&self) -> (f64, f64) {
        let over = |side: fn(&On) -> f64| mean(&self.tasks.iter().map(side).collect::<Vec<_>>());
        (over(|on| mean(&on.a)), over(|on| mean(&on.b)))
    }

    /// Cohen's d over the tasks.
    pub(crate) fn effect(&self) -> Option<f64> {
        let sides = self.tasks.iter().map(|on| (on.a.clone(), on.b.clone()));
        effect(&sides.collect::<Vec<_>>())
    }

    /// The mean over the tasks of their differences, compared by sampling unit.
    pub fn compare_by(&self, unit: Unit) -> Result<Comparison, String> {
        let comparison = match unit {
            Unit::Dataset => in_general(self.differences()),
            _ => unpaired(&self.weighted(&vec![1.0 / self.tasks.len() as f64; self.tasks.len()])),
        };
        Ok(Comparison {
            effect: self.effect(),
            ..comparison?
        })
    }

    /// The numbers of both sides with a weight for each task.
    pub(crate) fn weighted(&self, weights: &[f64]) -> Vec<Weighted<'_>> {
        let each = self.tasks.iter().zip(weights);
        each.map(|(on, weight)| (*weight, &on.a[..], &on.b[..]))
            .collect()
    }
}
