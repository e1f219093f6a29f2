//! Scores over tasks.

use anyhow::Result;
use totune_stats::{Interval, pearson_test, spearman_test, t_two_sided_p};

use super::{Court, Evidence, Measured, labels_text};
use crate::claims::{NoCorrelation, OverTasks, Side, TaskContrast, Tasks, Which, matrix};
use crate::compare::{ALPHA, Comparison};
use crate::contest::{Contender, Contest, On};
use crate::matrix::words;
use crate::panel::{SPLIT, average, pairs_text};
use crate::plan::{Measure, Task, Where};
use crate::runs::Run;
use crate::sample::LEVEL;
use crate::strata::{linear_over_tasks, over_tasks};
use crate::text::{Scale, fixed, joined};
use crate::verdict::Rule;

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
        let (title_a, title_b) = (self.title(a, from)?, self.title(b, from)?);
        let none = Where::new();
        let contender = |side, title| Contender {
            title,
            side,
            conditions: &none,
        };
        let sides = [contender(a, &title_a), contender(b, &title_b)];
        let tasks = tasks.of(self.plan, from)?;
        Contest::new(sides, &tasks, (self.plan, self.runs), from)
    }

    /// Scores of both sides, with what the paper says of their difference.
    fn scores(&self, check: &OverTasks, from: &str) -> Result<(String, Contest<'_>, Rule)> {
        let contest = self.contest((&check.a, &check.b), check.tasks(), from)?;
        let (paper, rule) = claimed(&contest, check.paper.as_slice(), check.tolerance);
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

    /// Every task is a comparison of its own.
    pub(super) fn each_task(&self, check: &OverTasks, from: &str) -> Result<Measured> {
        let (paper, contest, rule) = self.scores(check, from)?;
        let paper = format!("{paper} on each task");
        let (title_a, title_b) = (&contest.title_a, &contest.title_b);
        let found = contest.numbers(|task, pair| {
            let of = |runs| average(runs, |run| score(run, task, check.score));
            Some((of(&pair.a)?, of(&pair.b)?))
        });
        let numbers = match found {
            Ok(numbers) => numbers,
            Err(why) => return Ok(Measured::untestable(&paper, &why)),
        };
        let wanted = check.tasks().of(self.plan, from)?.len();
        if numbers.tasks.len() < wanted {
            return Ok(Measured::untestable(&paper, &numbers.notes.join("; ")));
        }
        let scale = Scale::Points;
        let mut evidence = Evidence::new(paper.clone(), String::new(), rule);
        evidence.scale = scale;
        let mut ours = Vec::new();
        for (on, differences) in numbers.tasks.iter().zip(numbers.differences()) {
            let comparison = match over_tasks(std::slice::from_ref(&differences)) {
                Ok(comparison) => comparison,
                Err(why) => {
                    let why = format!("{}: {why}", on.task.title);
                    return Ok(Measured::untestable(&paper, &why));
                }
            };
            ours.push(format!(
                "{} {}",
                on.task.title,
                scale.signed(comparison.difference)
            ));
            evidence.labels.push(format!(
                "{}: {title_a} \u{2212} {title_b} ({})",
                on.task.title,
                pairs_text(on.a.len())
            ));
            evidence.comparisons.push(comparison);
        }
        evidence.ours = format!("{}{}", ours.join(", "), scale.unit());
        evidence.notes = numbers.notes;
        Ok(Measured::Compared(evidence))
    }

    /// The mean difference over some tasks less that over others.
    pub(super) fn task_contrast(&self, check: &TaskContrast, from: &str) -> Result<Measured> {
        let weights = check.weights();
        let names: Vec<String> = weights.iter().map(|(name, _)| (*name).clone()).collect();
        let tasks = Tasks {
            names: &names,
            among: None,
        };
        let contest = self.contest((&check.a, &check.b), tasks, from)?;
        let titles = |names: &[String]| -> Result<String> {
            let tasks = self.plan.tasks_named(names, from)?;
            let titles: Vec<&str> = tasks.iter().map(|task| task.title.as_str()).collect();
            Ok(joined(&titles))
        };
        let (title_a, title_b) = (&contest.title_a, &contest.title_b);
        let paper = format!(
            "{title_a} \u{2212} {title_b} is larger on {} than on {}",
            titles(&check.tasks)?,
            titles(&check.than)?
        );
        let found = contest.numbers(|task, pair| {
            let of = |runs| average(runs, |run| final_score(run, task));
            Some((of(&pair.a)?, of(&pair.b)?))
        });
        let numbers = match found {
            Ok(numbers) if numbers.tasks.len() == weights.len() => numbers,
            Ok(numbers) => return Ok(Measured::untestable(&paper, &numbers.notes.join("; "))),
            Err(why) => return Ok(Measured::untestable(&paper, &why)),
        };
        // The mean over tasks of these is the contrast.
        let n = weights.len() as f64;
        let differences = numbers.differences();
        let weighted: Vec<Vec<f64>> = differences
            .iter()
            .zip(&weights)
            .map(|(values, (_, weight))| values.iter().map(|value| value * weight * n).collect())
            .collect();
        let comparison = match linear_over_tasks(&weighted) {
            Ok(comparison) => comparison,
            Err(why) => return Ok(Measured::untestable(&paper, &why)),
        };
        let scale = Scale::Points;
        let mut evidence = Evidence::new(paper, comparison.difference_in(scale), Rule::Order);
        evidence.scale = scale;
        evidence.comparisons.push(comparison);
        evidence
            .labels
            .push(format!("difference of differences ({})", numbers.of()));
        evidence.notes.extend(numbers.by_task(&differences, scale));
        evidence.notes.extend(numbers.notes);
        Ok(Measured::Compared(evidence))
    }

    /// Two rows of a matrix over its columns.
    pub(super) fn no_correlation(&self, check: &NoCorrelation, from: &str) -> Result<Measured> {
        let table = matrix(self.plan, &check.table, from)?;
        let both = table.both((&check.x, &check.y), self.plan, self.runs, from)?;
        let paper = format!("no correlation of {} with {}", both.title_y, both.title_x);
        if !both.labels.is_empty() {
            return Ok(Measured::untestable(&paper, &labels_text(&both.labels)));
        }
        if let Some(note) = &both.note {
            return Ok(Measured::untestable(&paper, note));
        }
        if both.pairs.len() < both.columns {
            let why = format!("{} of {} columns have both", both.pairs.len(), both.columns);
            return Ok(Measured::untestable(&paper, &why));
        }
        let (x, y): (Vec<f64>, Vec<f64>) = both.pairs.iter().copied().unzip();
        let tests = pearson_test(&x, &y, LEVEL).zip(spearman_test(&x, &y, LEVEL));
        let Some((pearson, spearman)) = tests else {
            let why = format!("{} columns, or rows that do not vary", x.len());
            return Ok(Measured::untestable(&paper, &why));
        };
        let mut evidence = Evidence::new(paper, words("Pearson", &pearson), Rule::NoDifference);
        evidence.scale = Scale::Plain(2);
        evidence.comparisons.push(Comparison {
            difference: pearson.r,
            interval: pearson.interval.unwrap_or(Interval {
                low: -1.0,
                high: 1.0,
            }),
            p: pearson.p,
            effect: None,
            test: "Student's t for correlations".to_owned(),
            beside: Some(words("beside it: Spearman", &spearman)),
            detectable: None,
        });
        evidence
            .labels
            .push(format!("Pearson's correlation over {} columns", x.len()));
        evidence.notes.push(format!(
            "over {} columns a correlation counts from {} on; smaller ones may be there unseen",
            x.len(),
            fixed(smallest_that_counts(x.len()), 2)
        ));
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
}

/// The smallest correlation over `n` pairs with p below 0.05, by bisection on Student's test.
fn smallest_that_counts(n: usize) -> f64 {
    let df = n as f64 - 2.0;
    let p = |r: f64| t_two_sided_p(r * (df / (1.0 - r * r)).sqrt(), df);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if p(middle) < ALPHA {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// What the paper says of the difference of scores, and how it is held against ours.
pub(super) fn claimed(contest: &Contest, papers: &[f64], tolerance: Option<f64>) -> (String, Rule) {
    let Some(tolerance) = tolerance else {
        let text = format!("{} above {}", contest.title_a, contest.title_b);
        return (text, Rule::Order);
    };
    let text = points_text(papers);
    let papers = papers.to_vec();
    (text, Rule::Differences { papers, tolerance })
}

/// `+0.66, +0.39 points`.
pub(super) fn points_text(papers: &[f64]) -> String {
    let scale = Scale::Points;
    let each: Vec<String> = papers.iter().map(|&paper| scale.printed(paper)).collect();
    format!("{}{}", each.join(", "), scale.unit())
}

/// `64.0 % lower`, `3.0 % higher`.
pub(super) fn share_lower(share: f64) -> String {
    let word = if share >= 0.0 { "lower" } else { "higher" };
    format!("{} % {word}", Scale::Percent.number(share.abs()))
}
