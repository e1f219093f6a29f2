//! Time: what is saved, who takes longer, what is reached in the same time. A run that diverged has no time.

use anyhow::Result;
use totune_stats::mean;

use super::of_tasks::claimed;
use super::{Court, Evidence, Measured};
use crate::claims::{Budget, Duration, Epochs, Per, SameTime, Saving};
use crate::compare::Comparison;
use crate::contest::{Contest, Numbers, On};
use crate::panel::{Pair, SPLIT, average, pairs_text};
use crate::plan::Task;
use crate::runs::Run;
use crate::strata::{linear_over_tasks, ratio};
use crate::text::{Scale, fixed};
use crate::verdict::Rule;

/// Seconds of training, to the stop or by epochs finished.
fn seconds(run: &Run, per: Per) -> Option<f64> {
    let all = Some(run.row.train_seconds).filter(|&seconds| seconds > 0.0);
    match per {
        Per::Run => all,
        Per::Epoch if run.row.epochs == 0 => None,
        Per::Epoch => all.map(|seconds| seconds / f64::from(run.row.epochs)),
    }
}

/// For each task the time that `a` saves as a share of `b`'s, moved by what each pair adds to it.
fn saved(numbers: &Numbers) -> Vec<Vec<f64>> {
    let of = |on: &On| ratio(&on.a, &on.b).into_iter().map(|r| 1.0 - r).collect();
    numbers.tasks.iter().map(of).collect()
}

impl Court<'_> {
    pub(super) fn saving(&self, check: &Saving, from: &str) -> Result<Measured> {
        let paper = saving_text(check.paper);
        let rule = Rule::Differences {
            papers: vec![check.paper],
            tolerance: check.tolerance,
        };
        let contest = self.contest((&check.a, &check.b), check.tasks(), from)?;
        Ok(measured_saving(&contest, check.per, paper, rule))
    }

    pub(super) fn as_long(&self, check: &Duration, from: &str) -> Result<Measured> {
        let contest = self.contest((&check.a, &check.b), check.tasks(), from)?;
        let paper = "no difference in time".to_owned();
        Ok(measured_saving(
            &contest,
            Per::Run,
            paper,
            Rule::NoDifference,
        ))
    }

    /// Every task is a comparison of its own.
    pub(super) fn slower(&self, check: &Duration, from: &str) -> Result<Measured> {
        let tasks = check.tasks().of(self.plan, from)?;
        let contest = self.contest((&check.a, &check.b), check.tasks(), from)?;
        let (title_a, title_b) = (&contest.title_a, &contest.title_b);
        let paper = format!("{title_a} takes longer than {title_b}");
        let numbers = match contest.numbers(seconds_of_both(Per::Run)) {
            Ok(numbers) if numbers.tasks.len() == tasks.len() => numbers,
            Ok(numbers) => return Ok(Measured::untestable(&paper, &numbers.notes.join("; "))),
            Err(why) => return Ok(Measured::untestable(&paper, &why)),
        };
        let scale = Scale::Percent;
        let mut evidence = Evidence::new(paper.clone(), String::new(), Rule::Order);
        evidence.scale = scale;
        let mut ours = Vec::new();
        for on in &numbers.tasks {
            let longer = ratio(&on.a, &on.b).into_iter().map(|r| r - 1.0).collect();
            let comparison = match linear_over_tasks(&[longer]) {
                Ok(comparison) => comparison,
                Err(why) => {
                    let why = format!("{}: {why}", on.task.title);
                    return Ok(Measured::untestable(&paper, &why));
                }
            };
            ours.push(format!(
                "{} {}",
                on.task.title,
                scale.text(comparison.difference)
            ));
            evidence.labels.push(format!(
                "time of {title_a} beyond that of {title_b}, as a share of it ({}, {})",
                on.task.title,
                pairs_text(on.a.len())
            ));
            evidence.comparisons.push(comparison);
        }
        evidence.ours = ours.join(", ");
        evidence.notes = numbers.notes;
        Ok(Measured::Compared(evidence))
    }

    pub(super) fn same_time(&self, check: &SameTime, from: &str) -> Result<Measured> {
        let contest = self.contest((&check.a, &check.b), check.tasks(), from)?;
        let (paper, rule) = claimed(&contest, &check.paper, check.tolerance);
        let unit = match check.epochs_of {
            Epochs::A => &contest.title_a,
            Epochs::B => &contest.title_b,
        };
        let moments = check.at.iter().map(|&at| {
            let label = format!("within {} of {unit}", epochs_text(at));
            let found = contest.numbers(|task, pair| {
                let of_unit = match check.epochs_of {
                    Epochs::A => &pair.a,
                    Epochs::B => &pair.b,
                };
                let budget = at * average(of_unit, |run| seconds(run, Per::Epoch))?;
                let best = |runs: &[&Run]| {
                    average(runs, |run| {
                        run.curve(&task.metric, SPLIT)?.best_within(budget)
                    })
                };
                Some((best(&pair.a)?, best(&pair.b)?))
            });
            (label, found)
        });
        let moments = moments.collect();
        Ok(measured_scores(&contest, moments, paper, rule))
    }

    pub(super) fn budget(&self, check: &Budget, from: &str) -> Result<Measured> {
        let contest = self.contest((&check.a, &check.b), check.tasks(), from)?;
        let found = contest.numbers(|task, pair| {
            let budget = check.epochs_of_b * average(&pair.b, |run| seconds(run, Per::Epoch))?;
            let finished = |runs: &[&Run]| {
                average(runs, |run| {
                    let curve = run.curve(&task.metric, SPLIT)?;
                    curve.completed_within(budget)
                })
            };
            Some((finished(&pair.a)?, finished(&pair.b)?))
        });
        let label = format!(
            "with the epochs finished within {} of {}",
            epochs_text(check.epochs_of_b),
            contest.title_b
        );
        let (paper, rule) = claimed(&contest, check.paper.as_slice(), check.tolerance);
        Ok(measured_scores(&contest, vec![(label, found)], paper, rule))
    }
}

/// Seconds of both sides of a pair.
pub(crate) fn seconds_of_both(per: Per) -> impl Fn(&Task, &Pair) -> Option<(f64, f64)> {
    move |_, pair| {
        let of = |runs| average(runs, |run| seconds(run, per));
        Some((of(&pair.a)?, of(&pair.b)?))
    }
}

/// The mean over tasks of the share of `b`'s time that `a` saves.
fn measured_saving(contest: &Contest, per: Per, paper: String, rule: Rule) -> Measured {
    let (title_a, title_b) = (&contest.title_a, &contest.title_b);
    let compared = contest.numbers(seconds_of_both(per)).and_then(|numbers| {
        let values = saved(&numbers);
        Ok((linear_over_tasks(&values)?, values, numbers))
    });
    let (comparison, values, numbers) = match compared {
        Ok(compared) => compared,
        Err(why) => return Measured::untestable(&paper, &why),
    };
    let scale = Scale::Percent;
    let mut evidence = Evidence::new(paper, comparison.difference_in(scale), rule);
    evidence.scale = scale;
    evidence.labels.push(format!(
        "time that {title_a} saves {}, as a share of that of {title_b} ({})",
        match per {
            Per::Run => "to the stop",
            Per::Epoch => "in an epoch",
        },
        numbers.of()
    ));
    evidence.comparisons.push(comparison);
    evidence.notes.extend(numbers.by_task(&values, scale));
    let seconds: Vec<String> = numbers
        .tasks
        .iter()
        .map(|on| {
            format!(
                "{} {} against {}",
                on.task.title,
                fixed(mean(&on.a), 1),
                fixed(mean(&on.b), 1)
            )
        })
        .collect();
    evidence
        .notes
        .push(format!("seconds: {}", seconds.join(", ")));
    evidence.notes.extend(numbers.notes);
    Measured::Compared(evidence)
}

/// Scores compared at one or several moments.
fn measured_scores(
    contest: &Contest,
    moments: Vec<(String, Result<Numbers, String>)>,
    paper: String,
    rule: Rule,
) -> Measured {
    let scale = Scale::Points;
    let mut evidence = Evidence::new(paper, String::new(), rule);
    evidence.scale = scale;
    let mut ours = Vec::new();
    for (label, found) in moments {
        let compared: Result<(Comparison, Numbers), String> =
            found.and_then(|numbers| Ok((numbers.compare_scores()?, numbers)));
        let (comparison, numbers) = match compared {
            Ok(compared) => compared,
            Err(why) => return Measured::untestable(&evidence.paper, &format!("{label}: {why}")),
        };
        ours.push(scale.signed(comparison.difference));
        evidence.labels.push(format!(
            "{label}: {} \u{2212} {} ({})",
            contest.title_a,
            contest.title_b,
            numbers.of()
        ));
        evidence.comparisons.push(comparison);
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
    Measured::Compared(evidence)
}

/// `+33.48 %`.
pub(super) fn saving_text(share: f64) -> String {
    format!("{} %", Scale::Percent.printed(share))
}

/// `1.26 epochs`, `1 epoch`.
fn epochs_text(n: f64) -> String {
    format!("{n} epoch{}", if n == 1.0 { "" } else { "s" })
}
