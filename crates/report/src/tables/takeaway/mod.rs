//! What a practitioner should take from a page: what each group costs and what it gives, beside one of them.

mod sentences;

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use totune_stats::mean;

use self::sentences::{Beside, provenance, sentences};
use crate::compare::contest::{Contender, Contest, Numbers};
use crate::plan::{Plan, Side, Task, Where};
use crate::select::label::labelled;
use crate::select::panel::{Runners, average};
use crate::select::per_run::{Per, final_score, scores_of_both, seconds_of_both, trained_share};
use crate::select::runs::Run;
use crate::select::scope::Scope;
use crate::tables::frame::Frame;
use crate::text::{Scale, csv_line, fixed};

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

impl Takeaway {
    /// Reads the rows off the runs.
    pub(crate) fn build(asked: &TakeawayPlan, scope: &Scope) -> Result<Self> {
        let scope = &scope.at("takeaway");
        let (plan, from) = (scope.plan, &scope.from);
        let tasks = plan.tasks_named(&asked.tasks, from)?;
        let baseline = plan.group(&asked.baseline, from)?;
        let base_side = Side::One(asked.baseline.clone());
        let none = Where::new();
        let (mut rows, mut notes, mut besides) = (Vec::new(), Vec::new(), Vec::new());
        let (mut encoders, mut seeds, mut n_runs) = (BTreeSet::new(), BTreeSet::new(), 0);
        let first = (!asked.groups.contains(&asked.baseline)).then_some(&asked.baseline);
        for name in first.into_iter().chain(&asked.groups) {
            let group = plan.group(name, from)?;
            let side = Side::One(name.clone());
            let on = tasks
                .iter()
                .map(|task| Runners::of(&side, task, &none, scope))
                .collect::<Result<Vec<_>>>()?;
            for run in on.iter().flat_map(Runners::all) {
                encoders.insert(run.row.encoder.as_str());
                n_runs += 1;
            }
            let labels: BTreeSet<&String> = on.iter().flat_map(|on| &on.labels).collect();
            let mut row = Row::of(&labelled(&group.title, labels), &tasks, &on);
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
                let contest = Contest::new(sides, &tasks, scope)?;
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
        let frame = Frame {
            title: &self.title,
            lead: &self.sentences,
            below: vec![LEGEND.to_owned()],
            notes: self.notes.clone(),
            ..Frame::default()
        };
        frame.markdown(&head, &rows)
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
            text.push_str(&csv_line(fields));
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

/// Final scores of both sides of a contest, of the tasks that have any.
fn scores<'a>(contest: &Contest<'a>) -> Result<Numbers<'a>, String> {
    contest.numbers_so_far(scores_of_both)
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
    use crate::select::runs::Runs;
    use crate::toml_file::parse;

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

    fn built(rest: &str) -> Takeaway {
        let text = format!("title = 'What to take'\nbaseline = 'full'\n{rest}\n");
        let asked: TakeawayPlan = parse(&text, "report.toml").unwrap();
        let plan = fixture::task_plan();
        asked.check(&plan, "report.toml: takeaway").unwrap();
        let runs = Runs::new(&fixture::task_tables()).unwrap();
        Takeaway::build(&asked, &Scope::new(&plan, &runs, "report.toml")).unwrap()
    }
}
