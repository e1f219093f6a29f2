//! What a practitioner should take from a page: what each group costs and what it gives, beside one of them.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use totune_stats::mean;

use crate::claims::{Per, Side};
use crate::compare::{ALPHA, Comparison};
use crate::contest::{Contender, Contest, Numbers};
use crate::measure::{final_score, seconds_of_both, trained_share};
use crate::panel::{Runners, average};
use crate::plan::{Plan, Task, Where};
use crate::runs::{Run, Runs};
use crate::strata::over_tasks;
use crate::table::pipe_table;
use crate::text::{Scale, counted, csv_field, fixed, in_sentence, joined};

/// `[takeaway]` in `report.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TakeawayPlan {
    pub(crate) title: String,
    /// Group that the others are held against.
    pub(crate) baseline: String,
    /// Rows, in order; the baseline comes first unless it is among them.
    pub(crate) groups: Vec<String>,
    /// Names of tasks; none means all.
    #[serde(default)]
    pub(crate) tasks: Vec<String>,
    /// A paragraph below the sentences.
    #[serde(default)]
    pub(crate) text: String,
}

impl TakeawayPlan {
    /// Checks the names; `from` says who asks.
    pub(crate) fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        plan.group(&self.baseline, from)?;
        for group in &self.groups {
            plan.group(group, from)?;
        }
        ensure!(
            self.groups.iter().any(|group| *group != self.baseline),
            "{from}: found no group but the baseline, expected at least one"
        );
        plan.tasks_named(&self.tasks, from)?;
        Ok(())
    }
}

/// The block at the top of a page.
#[derive(Debug, Serialize)]
pub(crate) struct Takeaway {
    pub(crate) title: String,
    pub(crate) text: String,
    /// Composed from the rows.
    pub(crate) sentences: Vec<String>,
    pub(crate) rows: Vec<Row>,
    pub(crate) notes: Vec<String>,
}

/// What a group costs and gives, as text; what does not exist is empty.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Row {
    pub(crate) title: String,
    pub(crate) baseline: bool,
    pub(crate) score: String,
    /// In points.
    pub(crate) difference: String,
    pub(crate) interval: String,
    /// In percent of the baseline's, to the stop and of an epoch.
    pub(crate) time: String,
    pub(crate) epoch: String,
    /// Trained parameters in percent of all.
    pub(crate) trained: String,
    pub(crate) runs: usize,
    pub(crate) lost: String,
}

/// A group beside the baseline, in numbers.
#[derive(Debug)]
struct Beside {
    title: String,
    /// Its mean score less the baseline's, on the same pairs.
    difference: f64,
    /// That score as a share of the baseline's; `None` where one of them is not above 0.
    kept: Option<f64>,
    /// Its time to the stop as a share of the baseline's.
    time: Option<f64>,
    overall: Result<Comparison, String>,
    /// Tasks that have a test of their own, and on how many of these it is told apart, below and above.
    tested: usize,
    below: usize,
    above: usize,
}

impl Takeaway {
    /// Reads the rows off the runs; `shown` is how errors name `report.toml`.
    pub(crate) fn build(
        asked: &TakeawayPlan,
        plan: &Plan,
        runs: &Runs,
        shown: &str,
    ) -> Result<Self> {
        let from = format!("{shown}: takeaway");
        let tasks = plan.tasks_named(&asked.tasks, &from)?;
        let baseline = plan.group(&asked.baseline, &from)?;
        let base_side = Side::One(asked.baseline.clone());
        let none = Where::new();
        let (mut rows, mut notes, mut besides) = (Vec::new(), Vec::new(), Vec::new());
        let (mut encoders, mut seeds, mut n_runs) = (BTreeSet::new(), BTreeSet::new(), 0);
        let first = (!asked.groups.contains(&asked.baseline)).then_some(&asked.baseline);
        for name in first.into_iter().chain(&asked.groups) {
            let group = plan.group(name, &from)?;
            let side = Side::One(name.clone());
            let on = tasks
                .iter()
                .map(|task| Runners::of(&side, task, &none, (plan, runs), &from))
                .collect::<Result<Vec<_>>>()?;
            for run in on.iter().flat_map(Runners::all) {
                encoders.insert(run.row.encoder.as_str());
                n_runs += 1;
            }
            let mut row = Row::of(&group.title, &tasks, &on);
            row.baseline = *name == asked.baseline;
            for (task, runners) in tasks.iter().zip(&on) {
                let lost = runners.lost_text();
                if !lost.is_empty() {
                    notes.push(format!("{} on {}: {lost}", group.title, task.title));
                }
                let scores = runners.per_seed(|run| final_score(run, task));
                seeds.insert(scores.len());
                if scores.is_empty() {
                    let why = runners
                        .note
                        .clone()
                        .unwrap_or_else(|| "no run ended well".into());
                    notes.push(format!(
                        "{} has no score on {}: {why}",
                        group.title, task.title
                    ));
                }
            }
            if row.baseline {
                (row.time, row.epoch) = ("100".to_owned(), "100".to_owned());
            } else {
                let contender = |title, side| Contender {
                    title,
                    side,
                    conditions: &none,
                };
                let sides = [
                    contender(&group.title, &side),
                    contender(&baseline.title, &base_side),
                ];
                let contest = Contest::new(sides, &tasks, (plan, runs), &from)?;
                if let Some(beside) = Beside::of(&contest) {
                    row.compare(&beside, &contest);
                    besides.push(beside);
                }
            }
            rows.push(row);
        }
        let mut sentences = sentences(&besides, &baseline.title);
        sentences.push(provenance(&encoders, tasks.len(), n_runs, &seeds));
        Ok(Self {
            title: asked.title.clone(),
            text: asked.text.clone(),
            sentences,
            rows,
            notes,
        })
    }

    /// A pipe table with its sentences above.
    pub(crate) fn markdown(&self) -> String {
        let head = HEAD.map(str::to_owned);
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| row.cells().to_vec()).collect();
        let mut text = format!("**{}**\n\n{}\n\n", self.title, self.sentences.join("\n"));
        text.push_str(&pipe_table(&head, &rows));
        text.push_str(&format!("\n{LEGEND}\n"));
        for note in &self.notes {
            text.push_str(&format!("\n{note}.\n"));
        }
        text
    }

    /// One line per row, for programs.
    pub(crate) fn csv(&self) -> String {
        let mut text = String::from(
            "row,baseline,score,difference_points,interval_points,time_percent,epoch_percent,trained_percent,runs,lost\n",
        );
        for row in &self.rows {
            let (baseline, runs) = (row.baseline.to_string(), row.runs.to_string());
            let fields = [
                &row.title,
                &baseline,
                &row.score,
                &row.difference,
                &row.interval,
                &row.time,
                &row.epoch,
                &row.trained,
                &runs,
                &row.lost,
            ];
            let fields: Vec<String> = fields.iter().map(|field| csv_field(field)).collect();
            text.push_str(&fields.join(","));
            text.push('\n');
        }
        text
    }
}

const HEAD: [&str; 8] = [
    "Strategy",
    "Mean score",
    "Difference (points)",
    "95 % interval",
    "Training time (%)",
    "An epoch (%)",
    "Trained (%)",
    "Runs",
];

/// What holds for every such block.
pub(crate) const LEGEND: &str = "Scores are each task's own. Differences are paired by seed within tasks, with a 95 % interval (Student's t); times are shares of the baseline's, as their geometric mean over tasks; trained is the share of all parameters. A task counts as told apart where a paired t-test over its seeds has p < 0.05, uncorrected.";

impl Row {
    /// What a group is by itself. A mean over other tasks than those asked for would not be comparable, so there is
    /// none where a task has no score.
    fn of(title: &str, tasks: &[&Task], on: &[Runners]) -> Self {
        let scores: Option<Vec<f64>> = tasks
            .iter()
            .zip(on)
            .map(|(task, runners)| {
                let scores = runners.per_seed(|run| final_score(run, task));
                (!scores.is_empty()).then(|| mean(&scores))
            })
            .collect();
        let all: Vec<&Run> = on.iter().flat_map(Runners::all).collect();
        let trained = average(&all, trained_share);
        let lost: usize = on.iter().flat_map(|runners| runners.lost.values()).sum();
        Self {
            title: title.to_owned(),
            score: scores.map_or(String::new(), |scores| fixed(mean(&scores), 3)),
            trained: trained.map_or(String::new(), |share| Scale::Percent.number(share)),
            runs: all.len(),
            lost: match lost {
                0 => String::new(),
                n => format!("{n} lost"),
            },
            ..Self::default()
        }
    }

    fn compare(&mut self, beside: &Beside, contest: &Contest) {
        let scale = Scale::Points;
        match &beside.overall {
            Ok(comparison) => {
                let interval = comparison.interval;
                self.difference = scale.signed(comparison.difference);
                self.interval = format!(
                    "[{}, {}]",
                    scale.number(interval.low),
                    scale.number(interval.high)
                );
            }
            // Without a second pair there is a difference all the same.
            Err(_) => {
                if let Ok(numbers) = scores(contest) {
                    let (a, b) = numbers.means();
                    self.difference = scale.signed(a - b);
                }
            }
        }
        let percent = |ratio: Option<f64>| ratio.map_or(String::new(), |r| fixed(r * 100.0, 0));
        self.time = percent(beside.time);
        self.epoch = percent(time_ratio(contest, Per::Epoch));
    }

    fn cells(&self) -> [String; 8] {
        [
            self.title.clone(),
            self.score.clone(),
            self.difference.clone(),
            self.interval.clone(),
            self.time.clone(),
            self.epoch.clone(),
            self.trained.clone(),
            match self.lost.as_str() {
                "" => self.runs.to_string(),
                lost => format!("{} ({lost})", self.runs),
            },
        ]
    }
}

impl Beside {
    fn of(contest: &Contest) -> Option<Self> {
        let numbers = scores(contest).ok()?;
        let (a, b) = numbers.means();
        let differences = numbers.differences();
        let tests: Vec<Comparison> = differences
            .iter()
            .filter_map(|values| over_tasks(std::slice::from_ref(values)).ok())
            .collect();
        let told = |up: bool| {
            let apart = |test: &&Comparison| test.p < ALPHA && (test.difference > 0.0) == up;
            tests.iter().filter(apart).count()
        };
        Some(Self {
            title: contest.title_a.clone(),
            difference: a - b,
            kept: (a > 0.0 && b > 0.0).then(|| a / b),
            time: time_ratio(contest, Per::Run),
            overall: numbers.compare_scores(),
            tested: tests.len(),
            below: told(false),
            above: told(true),
        })
    }

    /// Whether its mean score over the tasks is known to be lower.
    fn is_worse(&self) -> bool {
        match &self.overall {
            Ok(comparison) => comparison.interval.high < 0.0,
            Err(_) => false,
        }
    }

    /// `kept 98 % of the mean score of all layers in 31 % of the training time`.
    fn cost_and_gain(&self, baseline: &str) -> String {
        let baseline = in_sentence(baseline);
        let score = match self.kept {
            Some(kept) => {
                let verb = if kept < 1.0 { "kept" } else { "reached" };
                // What is not all of it is not rounded to 100 %.
                let digits = usize::from((kept - 1.0).abs() < 0.0095);
                let share = fixed(kept * 100.0, digits);
                format!("{verb} {share} % of the mean score of {baseline}")
            }
            None => {
                let side = if self.difference < 0.0 {
                    "below"
                } else {
                    "above"
                };
                let points = Scale::Points.number(self.difference.abs());
                format!("scored {points} points {side} {baseline}")
            }
        };
        let time = self
            .time
            .map_or(String::new(), |ratio| format!(" {}", time_text(ratio)));
        format!("{score}{time}")
    }

    /// `on 5 of 8 tasks the two cannot be told apart, on 3 the score is lower`.
    fn apart(&self) -> String {
        let same = self.tested - self.below - self.above;
        let mut parts = Vec::new();
        match (same, self.tested) {
            (_, 0) => {
                return "with one seed each, nothing says how much of a difference is noise"
                    .to_owned();
            }
            (1, 1) => return "the two cannot be told apart".to_owned(),
            (0, _) => {}
            (same, tested) if same == tested => {
                parts.push(format!(
                    "on none of {tested} tasks can the two be told apart"
                ));
            }
            (same, tested) => {
                parts.push(format!(
                    "on {same} of {tested} tasks the two cannot be told apart"
                ));
            }
        }
        for (n, word) in [(self.below, "lower"), (self.above, "higher")] {
            let of = match (parts.is_empty(), self.tested) {
                (true, tested) => format!(" of {}", counted(tested, "task")),
                _ => String::new(),
            };
            if n > 0 {
                parts.push(format!("on {n}{of} the score is {word}"));
            }
        }
        parts.join(", ")
    }
}

/// One or two sentences: the group that a practitioner would try first, and the fastest or the best of the others.
///
/// First comes the fastest of those that are not known to score lower than the baseline over all tasks; if all are, the
/// one that scores highest.
fn sentences(besides: &[Beside], baseline: &str) -> Vec<String> {
    let by_time = |a: &&Beside, b: &&Beside| {
        let time = |beside: &Beside| beside.time.unwrap_or(f64::INFINITY);
        time(a).total_cmp(&time(b))
    };
    let by_score = |a: &&Beside, b: &&Beside| a.difference.total_cmp(&b.difference);
    let as_good = besides.iter().filter(|beside| !beside.is_worse());
    let Some(first) = as_good.min_by(by_time).or(besides.iter().max_by(by_score)) else {
        let baseline = in_sentence(baseline);
        return vec![format!("No group can be held against {baseline} yet.")];
    };
    let told = |beside: &Beside| format!("{}; {}.", beside.cost_and_gain(baseline), beside.apart());
    let mut result = vec![format!("{} {}", first.title, told(first))];
    let another =
        |found: Option<&'_ Beside>| found.filter(|other| other.title != first.title).map(told);
    let title =
        |found: Option<&Beside>| found.map_or(String::new(), |other| in_sentence(&other.title));
    let (fastest, best) = (
        besides.iter().min_by(by_time),
        besides.iter().max_by(by_score),
    );
    if let Some(text) = another(fastest) {
        result.push(format!("The fastest was {}: it {text}", title(fastest)));
    } else if let Some(text) = another(best) {
        result.push(format!(
            "The highest score was that of {}: it {text}",
            title(best)
        ));
    }
    result
}

/// `in 31 % of the training time`, `in 2.3 times the training time`.
fn time_text(ratio: f64) -> String {
    match ratio {
        r if (r - 1.0).abs() < 0.005 => "in the same training time".to_owned(),
        r if r < 1.0 => format!("in {} % of the training time", fixed(r * 100.0, 0)),
        r if r < 2.0 => format!("in {} % more training time", fixed((r - 1.0) * 100.0, 0)),
        r => format!("in {} times the training time", fixed(r, 1)),
    }
}

fn provenance(
    encoders: &BTreeSet<&str>,
    tasks: usize,
    runs: usize,
    seeds: &BTreeSet<usize>,
) -> String {
    let encoders: Vec<&str> = encoders
        .iter()
        .copied()
        .filter(|name| !name.is_empty())
        .collect();
    let encoder = match encoders.as_slice() {
        [] => "no encoder".to_owned(),
        names => joined(names),
    };
    let each = match (seeds.first(), seeds.last()) {
        (Some(least), Some(most)) if least == most => counted(*most, "seed"),
        (Some(least), Some(most)) => format!("{least} to {}", counted(*most, "seed")),
        _ => counted(0, "seed"),
    };
    format!(
        "Measured with {encoder} on {}: {}, {each} for each row and task.",
        counted(tasks, "task"),
        counted(runs, "run")
    )
}

fn scores<'a>(contest: &Contest<'a>) -> Result<Numbers<'a>, String> {
    contest.numbers_so_far(|task, pair| {
        let of = |runs| average(runs, |run| final_score(run, task));
        Some((of(&pair.a)?, of(&pair.b)?))
    })
}

/// The geometric mean over tasks of the ratios of mean seconds: twice as long on one task and half as long on another
/// come to the same.
fn time_ratio(contest: &Contest, per: Per) -> Option<f64> {
    let numbers = contest.numbers_so_far(seconds_of_both(per)).ok()?;
    let logs: Vec<f64> = numbers
        .tasks
        .iter()
        .map(|on| (mean(&on.a) / mean(&on.b)).ln())
        .collect();
    Some(mean(&logs).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::toml_file::parse;
    use totune_stats::Interval;

    #[test]
    fn a_takeaway_in_markdown() {
        insta::assert_snapshot!(built("groups = ['last-2', 'last-1']").markdown());
    }

    #[test]
    fn a_takeaway_in_csv() {
        insta::assert_snapshot!(built("groups = ['last-2', 'full-hot', 'full']").csv());
    }

    #[test]
    fn a_group_without_runs_is_a_row_without_numbers() {
        let takeaway = built("groups = ['last-3']\ntasks = ['letters']");
        assert_eq!(
            takeaway.sentences[0],
            "No group can be held against all layers yet."
        );
        let row = &takeaway.rows[1];
        assert_eq!(
            (row.score.as_str(), row.time.as_str(), row.runs),
            ("", "", 0)
        );
        assert!(
            takeaway.notes[0].starts_with("Last three layers has no score on Letters: no run has"),
            "{:?}",
            takeaway.notes
        );
    }

    #[test]
    fn a_row_counts_what_was_lost_and_compares_what_is_left() {
        let takeaway = built("groups = ['full-hot']");
        let row = &takeaway.rows[1];
        assert_eq!((row.runs, row.lost.as_str()), (11, "1 lost"));
        assert!(
            takeaway
                .notes
                .contains(&"All layers, high rate on Sounds: 1 diverged".to_owned())
        );
        assert!(takeaway.sentences.last().unwrap().contains("2 to 3 seeds"));
    }

    #[test]
    fn sentences_are_right_for_any_numbers() {
        // (kept, time, tasks told apart below and above of 4, words)
        for (kept, time, below, above, words) in [
            (
                0.98,
                0.31,
                1,
                0,
                "Few kept 98 % of the mean score of all layers in 31 % of the training time; on 3 of 4 tasks the two cannot be told apart, on 1 the score is lower.",
            ),
            (
                0.9962,
                0.5,
                0,
                0,
                "Few kept 99.6 % of the mean score of all layers in 50 % of the training time; on none of 4 tasks can the two be told apart.",
            ),
            (
                1.02,
                1.25,
                0,
                2,
                "Few reached 102 % of the mean score of all layers in 25 % more training time; on 2 of 4 tasks the two cannot be told apart, on 2 the score is higher.",
            ),
            (
                0.5,
                2.34,
                4,
                0,
                "Few kept 50 % of the mean score of all layers in 2.3 times the training time; on 4 of 4 tasks the score is lower.",
            ),
            (
                1.0,
                1.001,
                2,
                2,
                "Few reached 100.0 % of the mean score of all layers in the same training time; on 2 of 4 tasks the score is lower, on 2 the score is higher.",
            ),
        ] {
            let few = Beside {
                below,
                above,
                ..beside("Few", kept, Some(time))
            };
            assert_eq!(sentences(&[few], "All layers"), [words]);
        }
    }

    #[test]
    fn sentences_without_repeats_or_times_say_no_more_than_there_is() {
        let once = Beside {
            tested: 0,
            overall: Err("a single pair".to_owned()),
            ..beside("Few", 0.98, None)
        };
        assert_eq!(
            sentences(&[once], "All layers"),
            [
                "Few kept 98 % of the mean score of all layers; with one seed each, nothing says how much of a difference is noise."
            ]
        );
        let negative = Beside {
            kept: None,
            tested: 1,
            ..beside("Few", 0.9, Some(0.5))
        };
        assert_eq!(
            sentences(&[negative], "All layers"),
            [
                "Few scored 8.00 points below all layers in 50 % of the training time; the two cannot be told apart."
            ]
        );
    }

    #[test]
    fn the_fastest_that_is_not_worse_comes_first() {
        let firsts = |besides: &[Beside]| {
            let sentences = sentences(besides, "All layers");
            let words =
                |text: &String| text.split([':', ' ']).take(6).collect::<Vec<_>>().join(" ");
            sentences.iter().map(words).collect::<Vec<_>>()
        };
        let worse = |title, kept, time| Beside {
            overall: Ok(comparison(-0.1, 0.05)),
            ..beside(title, kept, Some(time))
        };
        assert_eq!(
            firsts(&[beside("Four", 0.99, Some(0.7)), worse("One", 0.9, 0.2)]),
            ["Four kept 99 % of the", "The fastest was one  it"]
        );
        assert_eq!(
            firsts(&[
                beside("Four", 0.99, Some(0.7)),
                beside("One", 0.97, Some(0.2))
            ]),
            ["One kept 97 % of the", "The highest score was that of"]
        );
        // All are worse: the least bad one comes first.
        assert_eq!(
            firsts(&[worse("Four", 0.95, 0.7), worse("One", 0.9, 0.2)])[0],
            "Four kept 95 % of the"
        );
    }

    fn beside(title: &str, kept: f64, time: Option<f64>) -> Beside {
        Beside {
            title: title.to_owned(),
            difference: 0.8 * (kept - 1.0),
            kept: Some(kept),
            time,
            overall: Ok(comparison(0.8 * (kept - 1.0), 1.0)),
            tested: 4,
            below: 0,
            above: 0,
        }
    }

    fn comparison(difference: f64, half: f64) -> Comparison {
        Comparison {
            difference,
            interval: Interval::around(difference, half),
            p: 0.5,
            effect: None,
            test: String::new(),
            beside: None,
            detectable: None,
        }
    }

    fn built(rest: &str) -> Takeaway {
        let text = format!("title = 'What to take'\nbaseline = 'full'\n{rest}\n");
        let asked: TakeawayPlan = parse(&text, "report.toml").unwrap();
        let plan = fixture::task_plan();
        asked.check(&plan, "report.toml: takeaway").unwrap();
        let runs = Runs::new(&fixture::task_tables()).unwrap();
        Takeaway::build(&asked, &plan, &runs, "report.toml").unwrap()
    }
}
