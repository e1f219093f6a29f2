//! Scores over tasks.

use anyhow::Result;

use super::{Court, Evidence, Measured};
use crate::claims::{OverTasks, Side, Tasks, Which};
use crate::compare::Comparison;
use crate::contest::{Contender, Contest, On};
use crate::panel::{SPLIT, average};
use crate::plan::{Measure, Task, Where};
use crate::runs::Run;
use crate::strata::linear_over_tasks;
use crate::text::{Scale, fixed};
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
