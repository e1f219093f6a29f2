//! Scores over tasks, how far repeats lie apart, how much is trained.

use anyhow::Result;
use totune_stats::{mean, quartiles};

use super::{Court, Evidence, Measured, Settled};
use crate::claims::{OverTasks, Repeats, Share, Side, Tasks, Which};
use crate::compare::Comparison;
use crate::panel::{OnTask, Pair, Runners, SPLIT, average, pairs_text};
use crate::plan::{Measure, Task, Where};
use crate::runs::Run;
use crate::strata::{effect, linear_over_tasks, over_tasks};
use crate::text::{Scale, counted, decimals, fixed};
use crate::verdict::{self, Rule, within};

/// Two sides on several tasks.
pub(super) struct Contest<'a> {
    pub(super) title_a: String,
    pub(super) title_b: String,
    on: Vec<OnTask<'a>>,
}

/// A number of each side for every pair of seeds that has both, by task.
pub(super) struct Numbers<'a> {
    pub(super) tasks: Vec<On<'a>>,
    /// What was left out.
    pub(super) notes: Vec<String>,
}

/// The pairs of one task; at least one, as many on either side.
pub(super) struct On<'a> {
    pub(super) task: &'a Task,
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
}

impl<'a> Contest<'a> {
    /// Reads `number` off each pair. `Err` says which task has not been run, or that no pair is left.
    ///
    /// A task that was run and has no pair, since all its runs diverged, is left out and named; one that was not run
    /// yet is waited for.
    pub(super) fn numbers(
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
                if side.is_missing() {
                    let note = side.note.as_deref().unwrap_or("no run");
                    return Err(format!("{title} on {}: {note}", on.task.title));
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
                numbers
                    .notes
                    .push(format!("without {}, where no seed has both sides", on.task.title));
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
            return Err(format!("no seed has both sides: {}", numbers.notes.join("; ")));
        }
        Ok(numbers)
    }
}

impl Numbers<'_> {
    /// Pairs on all tasks.
    pub(super) fn n(&self) -> usize {
        self.tasks.iter().map(|on| on.a.len()).sum()
    }

    /// `CoLA, RTE; 6 pairs of seeds`.
    pub(super) fn of(&self) -> String {
        let titles: Vec<&str> = self.tasks.iter().map(|on| on.task.title.as_str()).collect();
        format!("{}; {}", titles.join(", "), pairs_text(self.n()))
    }

    /// Differences, by task.
    pub(super) fn differences(&self) -> Vec<Vec<f64>> {
        let of = |on: &On| on.a.iter().zip(&on.b).map(|(a, b)| a - b).collect();
        self.tasks.iter().map(of).collect()
    }

    /// `by task: CoLA -1.20, RTE +0.30 points`; nothing for a single task.
    pub(super) fn by_task(&self, values: &[Vec<f64>], scale: Scale) -> Option<String> {
        let each = self.tasks.iter().zip(values);
        let parts: Vec<String> = each
            .map(|(on, values)| format!("{} {}", on.task.title, scale.signed(mean(values))))
            .collect();
        (parts.len() > 1).then(|| format!("by task: {}{}", parts.join(", "), scale.unit()))
    }

    /// The mean over tasks of either side's means.
    fn means(&self) -> (f64, f64) {
        let over = |side: fn(&On) -> f64| mean(&self.tasks.iter().map(side).collect::<Vec<_>>());
        (over(|on| mean(&on.a)), over(|on| mean(&on.b)))
    }

    /// Cohen's d over the tasks.
    fn effect(&self) -> Option<f64> {
        let sides = self.tasks.iter().map(|on| (on.a.clone(), on.b.clone()));
        effect(&sides.collect::<Vec<_>>())
    }

    /// Scores compared within tasks.
    pub(super) fn compare_scores(&self) -> Result<Comparison, String> {
        let comparison = over_tasks(&self.differences())?;
        Ok(Comparison {
            effect: self.effect(),
            ..comparison
        })
    }
}

/// The score of a task that a run stands for.
pub(crate) fn final_score(run: &Run, task: &Task) -> Option<f64> {
    run.number(&Measure::score(&task.metric, SPLIT))
}

pub(super) fn score(run: &Run, task: &Task, which: Which) -> Option<f64> {
    match which {
        Which::Final => final_score(run, task),
        Which::Best => Some(run.curve(&task.metric, SPLIT)?.best()),
    }
}

impl Court<'_> {
    pub(super) fn contest(
        &self,
        (a, b): (&Side, &Side),
        tasks: Tasks,
        from: &str,
    ) -> Result<Contest<'_>> {
        let on = tasks.of(self.plan, from)?.into_iter().map(|task| {
            let of = |side| Runners::of(side, task, &Where::new(), (self.plan, self.runs), from);
            Ok(OnTask::new(task, of(a)?, of(b)?))
        });
        Ok(Contest {
            title_a: self.title(a, from)?,
            title_b: self.title(b, from)?,
            on: on.collect::<Result<_>>()?,
        })
    }

    /// Scores of both sides, with what the paper says of their difference.
    fn scores(&self, check: &OverTasks, from: &str) -> Result<(String, Contest<'_>, Rule)> {
        let contest = self.contest((&check.a, &check.b), check.tasks(), from)?;
        let (paper, rule) = match (check.paper, check.tolerance) {
            (Some(paper), Some(tolerance)) => (
                Scale::Points.text(paper),
                Rule::Differences {
                    papers: vec![paper],
                    tolerance,
                },
            ),
            _ => (
                format!("{} above {}", contest.title_a, contest.title_b),
                Rule::Order,
            ),
        };
        Ok((paper, contest, rule))
    }

    pub(super) fn task_difference(&self, check: &OverTasks, from: &str) -> Result<Measured> {
        let (paper, contest, rule) = self.scores(check, from)?;
        let (title_a, title_b) = (&contest.title_a, &contest.title_b);
        let found = contest.numbers(|task, pair| {
            let of = |runs| average(runs, |run| score(run, task, check.score));
            Some((of(&pair.a)?, of(&pair.b)?))
        });
        let compared = found.and_then(|numbers| Ok((numbers.compare_scores()?, numbers)));
        let (comparison, numbers) = match compared {
            Ok(compared) => compared,
            Err(why) => return Ok(Measured::untestable(&paper, &why)),
        };
        let scale = Scale::Points;
        let mut evidence = Evidence::new(paper, comparison.difference_in(scale), rule);
        evidence.scale = scale;
        evidence.comparisons.push(comparison);
        evidence
            .labels
            .push(format!("{title_a} \u{2212} {title_b} ({})", numbers.of()));
        let (a, b) = numbers.means();
        evidence.notes.push(format!(
            "mean {}: {title_a} {}, {title_b} {}",
            match check.score {
                Which::Final => "score at the stop",
                Which::Best => "best score",
            },
            fixed(a, 4),
            fixed(b, 4)
        ));
        evidence
            .notes
            .extend(numbers.by_task(&numbers.differences(), scale));
        evidence.notes.extend(numbers.notes);
        Ok(Measured::Compared(evidence))
    }

    /// How much lower the mean over tasks of one side is, as a share of the other's.
    pub(super) fn task_relative(&self, check: &OverTasks, from: &str) -> Result<Measured> {
        let (paper, contest, rule) = self.scores(check, from)?;
        let paper = match check.paper {
            Some(share) => share_lower(share),
            None => paper,
        };
        let (title_a, title_b) = (&contest.title_a, &contest.title_b);
        let found = contest.numbers(|task, pair| {
            let of = |runs| average(runs, |run| score(run, task, check.score));
            Some((of(&pair.a)?, of(&pair.b)?))
        });
        let compared = found.and_then(|numbers| {
            let (a, b) = numbers.means();
            if b <= 0.0 {
                return Err(format!("the mean score of {title_b} is not above 0"));
            }
            // As in `strata::ratio`, with both means taken over the tasks.
            let ratio = a / b;
            let lower = |on: &On| {
                let each = on.a.iter().zip(&on.b);
                each.map(|(a, score)| 1.0 - ratio - (a - ratio * score) / b)
                    .collect()
            };
            // A task's own share is of the scores of all, so the means by task are not shown.
            let values: Vec<Vec<f64>> = numbers.tasks.iter().map(lower).collect();
            Ok((linear_over_tasks(&values)?, numbers))
        });
        let (comparison, numbers) = match compared {
            Ok(compared) => compared,
            Err(why) => return Ok(Measured::untestable(&paper, &why)),
        };
        let comparison = Comparison {
            effect: numbers.effect().map(|effect| -effect),
            ..comparison
        };
        let (a, b) = numbers.means();
        let scale = Scale::Percent;
        let mut evidence = Evidence::new(paper, share_lower(comparison.difference), rule);
        evidence.scale = scale;
        evidence.comparisons.push(comparison);
        evidence.labels.push(format!(
            "how much lower {title_a} is than {title_b} ({})",
            numbers.of()
        ));
        evidence.notes.push(format!(
            "mean score over tasks: {title_a} {}, {title_b} {}",
            fixed(a, 4),
            fixed(b, 4)
        ));
        evidence.notes.extend(numbers.notes);
        Ok(Measured::Compared(evidence))
    }

    /// The largest range between repeats of one setting on one task.
    pub(super) fn repeats(&self, check: &Repeats, from: &str) -> Result<Measured> {
        let scale = Scale::Points;
        let paper = format!("within {}{}", scale.number(check.limit), scale.unit());
        // Range and name of each cell, and the gaps between any two of its repeats.
        let (mut cells, mut gaps, mut most) = (Vec::new(), Vec::new(), 0);
        for task in check.tasks().of(self.plan, from)? {
            for name in &check.groups {
                let side = Side::One(name.clone());
                let place = (self.plan, self.runs);
                let runners = Runners::of(&side, task, &Where::new(), place, from)?;
                for runs in runners.by_kind().values() {
                    let scores: Vec<f64> = runs
                        .iter()
                        .filter_map(|run| score(run, task, check.score))
                        .collect();
                    if scores.len() < 2 {
                        continue;
                    }
                    let [low, _, _, _, high] = quartiles(&scores);
                    let title = format!("{} on {}", self.title(&side, from)?, task.title);
                    cells.push((high - low, title));
                    most = most.max(scores.len());
                    for (at, one) in scores.iter().enumerate() {
                        gaps.extend(scores[at + 1..].iter().map(|other| (one - other).abs()));
                    }
                }
            }
        }
        let Some((largest, title)) = cells.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else {
            return Ok(Measured::untestable(&paper, "no setting was run twice"));
        };
        let ranges: Vec<f64> = cells.iter().map(|(range, _)| *range).collect();
        let [_, _, median, _, _] = quartiles(&ranges);
        let kept = |value: &f64| within(*value, check.limit);
        let beyond = ranges.iter().filter(|range| !kept(range)).count();
        let near = gaps.iter().filter(|gap| kept(gap)).count();
        let points = |value: f64| format!("{}{}", scale.number(value), scale.unit());
        Ok(Measured::Settled(Settled {
            paper,
            ours: format!("up to {}", points(*largest)),
            effect: None,
            verdict: verdict::of_limits(beyond == 0),
            own: None,
            reasons: vec![
                format!(
                    "the largest range between repeats is {}, {title}; the median range is {}",
                    points(*largest),
                    points(median)
                ),
                format!(
                    "{beyond} of {} have a larger range than {} (up to {most} repeats each)",
                    counted(cells.len(), "setting"),
                    points(check.limit)
                ),
                format!(
                    "of {} of repeats, {near} lie within {}",
                    counted(gaps.len(), "pair"),
                    points(check.limit)
                ),
            ],
        }))
    }

    /// From the smallest to the largest share of trained parameters.
    pub(super) fn share(&self, check: &Share, from: &str) -> Result<Measured> {
        let [low, high] = check.printed;
        let digits = |value: f64| decimals(value).saturating_sub(2);
        let paper = format!(
            "{} % to {} %",
            fixed(low * 100.0, digits(low)),
            fixed(high * 100.0, digits(high))
        );
        let (mut shares, mut reasons) = (Vec::new(), Vec::new());
        for name in &check.groups {
            let side = Side::One(name.clone());
            let mut of_group = Vec::new();
            for task in check.tasks().of(self.plan, from)? {
                let place = (self.plan, self.runs);
                let runners = Runners::of(&side, task, &Where::new(), place, from)?;
                of_group.extend(runners.all().filter_map(trained_share));
            }
            let title = self.title(&side, from)?;
            if of_group.is_empty() {
                return Ok(Measured::untestable(&paper, &format!("{title}: no run")));
            }
            reasons.push(format!("{title}: {}", range_text(&of_group)));
            shares.extend(of_group);
        }
        let [least, _, _, _, most] = quartiles(&shares);
        let kept = within(least - low, check.tolerance) && within(most - high, check.tolerance);
        Ok(Measured::Settled(Settled {
            paper,
            ours: range_text(&shares),
            effect: None,
            verdict: verdict::of_limits(kept),
            own: None,
            reasons,
        }))
    }
}

/// Trained parameters by all parameters.
pub(crate) fn trained_share(run: &Run) -> Option<f64> {
    let (trained, total) = (run.row.params_trainable, run.row.params_total);
    (total > 0).then(|| trained as f64 / total as f64)
}

/// `7.0 %`, `7.0 % to 26.4 %`.
fn range_text(shares: &[f64]) -> String {
    let [low, _, _, _, high] = quartiles(shares).map(|share| Scale::Percent.number(share));
    if low == high {
        format!("{low} %")
    } else {
        format!("{low} % to {high} %")
    }
}

/// `64.0 % lower`, `3.0 % higher`.
fn share_lower(share: f64) -> String {
    let word = if share >= 0.0 { "lower" } else { "higher" };
    format!("{} % {word}", Scale::Percent.number(share.abs()))
}
