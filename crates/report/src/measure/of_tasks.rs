//! Scores over tasks, how far repeats lie apart, how much is trained.

use anyhow::Result;
use totune_stats::quartiles;

use super::{Court, Evidence, Measured, Settled};
use crate::claims::{OverTasks, Repeats, Share, Side, Tasks, Which};
use crate::compare::Comparison;
use crate::contest::{Contender, Contest, On};
use crate::panel::{Runners, SPLIT, average};
use crate::plan::{Measure, Task, Where};
use crate::runs::Run;
use crate::strata::linear_over_tasks;
use crate::text::{Scale, counted, decimals, fixed};
use crate::verdict::{self, Rule, within};

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

/// What the paper says of the difference of scores, and how it is held against ours.
pub(super) fn claimed(contest: &Contest, papers: &[f64], tolerance: Option<f64>) -> (String, Rule) {
    let Some(tolerance) = tolerance else {
        let text = format!("{} above {}", contest.title_a, contest.title_b);
        return (text, Rule::Order);
    };
    let scale = Scale::Points;
    let each: Vec<String> = papers.iter().map(|&paper| scale.signed(paper)).collect();
    let papers = papers.to_vec();
    let rule = Rule::Differences { papers, tolerance };
    (format!("{}{}", each.join(", "), scale.unit()), rule)
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

#[cfg(test)]
mod tests {
    use crate::claims::Claims;
    use crate::fixture;
    use crate::judge::judge;
    use crate::measure::Court;
    use crate::runs::Runs;
    use crate::verdict::Verdict;

    use Verdict::{Contradicted, DirectionOnly, NotTestable, Reproduced, WithinNoise};

    #[test]
    fn made_up_runs_decide_scores_over_tasks() {
        // The made-up scores are chosen so that each verdict occurs; see `fixture::task_tables`.
        let difference = "kind = 'task-difference'\na = 'last-2'\nb = 'full'";
        check(
            difference,
            "among = 'few'\npaper = -0.02\ntolerance = 0.005",
            Reproduced,
        );
        check(
            difference,
            "among = 'few'\npaper = -0.05\ntolerance = 0.005",
            DirectionOnly,
        );
        check(
            difference,
            "among = 'few'\npaper = 0.02\ntolerance = 0.005",
            Contradicted,
        );
        check(
            difference,
            "tasks = ['sounds']\npaper = 0.001\ntolerance = 0.01",
            WithinNoise,
        );
        check(difference, "among = 'few'\nscore = 'best'", Contradicted);
        let order = "kind = 'task-difference'\na = 'full'\nb = 'last-1'";
        check(order, "among = 'few'", Reproduced);
        check(order, "tasks = ['letters', 'digits']", Reproduced);
    }

    #[test]
    fn made_up_runs_decide_relative_losses() {
        let relative = "kind = 'task-relative'\na = 'full-hot'\nb = 'full'\ntolerance = 0.02";
        check(relative, "paper = 0.6", Reproduced);
        check(relative, "paper = 0.4", DirectionOnly);
        check(relative, "paper = -0.6", Contradicted);
    }

    #[test]
    fn made_up_runs_decide_times() {
        let saving = "kind = 'saving'\na = 'last-2'\nb = 'full'\ntolerance = 0.05";
        // 3 epochs of 6 against 4 of 10: 55 % saved; an epoch saves 40 %.
        check(saving, "among = 'few'\npaper = 0.55", Reproduced);
        check(saving, "among = 'few'\npaper = 0.3", DirectionOnly);
        check(saving, "among = 'few'\npaper = -0.3", Contradicted);
        check(saving, "per = 'epoch'\npaper = 0.4", Reproduced);
        check(saving, "among = 'many'\npaper = 0.2", Contradicted);
        let slower = "kind = 'slower'\na = 'last-2'\nb = 'full'";
        check(slower, "among = 'many'", Reproduced);
        check(slower, "among = 'few'", Contradicted);
        let as_long = "kind = 'as-long'\nb = 'full'";
        check(as_long, "among = 'few'\na = 'last-2'", Contradicted);
    }

    #[test]
    fn made_up_runs_decide_what_is_reached_in_a_time() {
        // Within an epoch of full tuning the last layer has finished two, and nears its score by halves.
        let early = "kind = 'same-time'\na = 'last-1'\nb = 'full'";
        check(early, "tasks = ['words']\nat = [1.0]", Reproduced);
        check(early, "tasks = ['letters']\nat = [4.0]", Contradicted);
        check(early, "tasks = ['letters']\nat = [0.5]", NotTestable);
        let sized = "kind = 'same-time'\na = 'full'\nb = 'last-1'\nepochs-of = 'a'\ntasks = ['letters']\nat = [4.0, 5.0]";
        check(sized, "paper = [0.04, 0.04]\ntolerance = 0.01", Reproduced);
        check(
            sized,
            "paper = [0.04, 0.09]\ntolerance = 0.01",
            DirectionOnly,
        );
        let budget = "kind = 'budget'\na = 'last-1'\nb = 'full'\ntasks = ['words']";
        // Within 1.2 epochs of full tuning: one epoch of it (-0.05 + 0.00625), three of the last layer (-0.0125 + 0.00625).
        check(
            budget,
            "epochs-of-b = 1.2\npaper = 0.0375\ntolerance = 0.005",
            Reproduced,
        );
        check(budget, "epochs-of-b = 1.2", Reproduced);
    }

    #[test]
    fn made_up_runs_decide_repeats_and_shares() {
        let repeats = "kind = 'repeats'\ngroups = ['full', 'last-k']";
        check(repeats, "limit = 0.02", Reproduced);
        check(repeats, "limit = 0.0001", Contradicted);
        let share = "kind = 'share'\ngroups = ['last-1', 'last-2']\ntolerance = 0.001";
        // 421 and 821 of 4,321.
        check(share, "printed = [0.0974, 0.19]", Reproduced);
        check(share, "printed = [0.0974, 0.25]", Contradicted);
        check(
            "kind = 'share'\ngroups = ['last-3']\ntolerance = 0.001",
            "printed = [0.1, 0.2]",
            NotTestable,
        );
    }

    #[test]
    fn a_diverged_run_takes_its_seed_along_and_is_named() {
        let text = claim(
            "kind = 'task-relative'\na = 'full-hot'\nb = 'full'\ntolerance = 0.02\npaper = 0.6",
        );
        let reasons = judged(&text).1;
        assert!(
            reasons.contains("All layers, high rate on Sounds: 1 diverged left out"),
            "{reasons}"
        );
        assert!(reasons.contains("11 pairs of seeds"), "{reasons}");
        assert!(
            reasons.contains("1 seed without a counterpart left out"),
            "{reasons}"
        );
    }

    #[test]
    fn what_was_not_run_is_waited_for() {
        let text = claim("kind = 'task-difference'\na = 'last-3'\nb = 'full'\ntasks = ['letters']");
        let (verdict, reasons) = judged(&text);
        assert_eq!(verdict, NotTestable);
        assert!(
            reasons.contains(
                "Last three layers on Letters: no run has work.training.adaptation.k = 3"
            ),
            "{reasons}"
        );
    }

    #[test]
    fn two_settings_where_one_is_meant_are_refused() {
        let text =
            claim("kind = 'task-difference'\na = 'last-2'\nb = 'any-dtype'\ntasks = ['letters']");
        let claims: Claims = toml::from_str(&text).unwrap();
        let plan = fixture::task_plan();
        let runs = Runs::new(&fixture::task_tables()).unwrap();
        let court = Court {
            plan: &plan,
            runs: &runs,
            profile: "fixture",
        };
        let error = judge(&claims, &court, "claims.toml")
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "claims.toml: claim `x`: group `any-dtype` on Letters: at seed 1 found two runs that differ in \
             `work.training.dtype`, expected one; name it in the group's `where`"
        );
    }

    #[track_caller]
    fn check(kind: &str, rest: &str, expected: Verdict) {
        let (verdict, reasons) = judged(&claim(&format!("{kind}\n{rest}")));
        assert_eq!(verdict, expected, "{reasons}");
    }

    fn claim(check: &str) -> String {
        format!(
            "[[claim]]\nid = 'x'\ntitle = ''\nsays = ''\nsource = ''\nby = 'authors'\n[claim.check]\n{check}\n"
        )
    }

    fn judged(text: &str) -> (Verdict, String) {
        let claims: Claims = toml::from_str(text).unwrap();
        let plan = fixture::task_plan();
        claims.check(&plan, "claims.toml").unwrap();
        let runs = Runs::new(&fixture::task_tables()).unwrap();
        let court = Court {
            plan: &plan,
            runs: &runs,
            profile: "fixture",
        };
        let judged = &judge(&claims, &court, "claims.toml").unwrap()[0];
        (
            judged.verdict,
            format!("{}; ours: {}", judged.reasons.join("; "), judged.ours),
        )
    }
}
