//! Two ways of doing the same, run by run: frozen layers with and without dropout, one precision and another.

mod conclusion;
mod output;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use totune_stats::{HedgesG, Pairing, hedges_g, mean, permutation_test, sd};

use self::conclusion::{Found, conclusion};
use crate::compare::Comparison;
use crate::compare::contest::{Contender, Contest, On};
use crate::compare::strata::linear_over_tasks;
use crate::plan::{Measure, Plan, Side, Task, Where};
use crate::select::label::labelled;
use crate::select::panel::{SPLIT, average};
use crate::select::per_run::{Per, seconds_of_both};
use crate::select::sample::LEVEL;
use crate::select::scope::Scope;
use crate::text::{Scale, fixed, p_value, signed};

/// Seeds from which on a difference is given in standard deviations between seeds too.
const SEEDS_OF_EFFECT: usize = 3;
/// Digits of scores.
const DIGITS: usize = 4;
/// Exchanges of signs looked at; up to 14 seeds that is all of them.
const ROUNDS: u64 = 1 << 14;

/// `[[paired]]` in `report.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct PairedPlan {
    /// Name of its files and of its place on the page.
    pub(crate) id: String,
    pub(crate) title: String,
    /// A paragraph above the table.
    #[serde(default)]
    pub(crate) text: String,
    pub(crate) a: Way,
    pub(crate) b: Way,
    /// Names of tasks; none means all.
    #[serde(default)]
    pub(crate) tasks: Vec<String>,
    /// Rows of each task.
    pub(crate) groups: Vec<String>,
    /// Name of a metric, or `task` for the one that each task is judged by.
    pub(crate) metric: String,
}

/// One of the two ways.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Way {
    pub(crate) title: String,
    /// What its runs meet beyond what their group says.
    #[serde(rename = "where")]
    pub(crate) conditions: Where,
}

impl PairedPlan {
    /// Checks the names; `from` says who asks.
    pub(crate) fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        ensure!(
            !self.groups.is_empty(),
            "{from}: found no groups, expected at least one"
        );
        for group in &self.groups {
            plan.group(group, from)?;
        }
        plan.tasks_named(&self.tasks, from)?;
        Ok(())
    }
}

/// A table of pairs with its numbers.
#[derive(Debug, Serialize)]
pub(crate) struct Paired {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) text: String,
    /// Titles of the two ways.
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) rows: Vec<Row>,
    /// What the table comes to, composed from the rows.
    pub(crate) conclusion: Vec<String>,
    pub(crate) notes: Vec<String>,
}

/// One group on one task, as text; what does not exist is empty.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Row {
    pub(crate) task: String,
    pub(crate) group: String,
    pub(crate) seeds: usize,
    pub(crate) score_a: String,
    pub(crate) score_b: String,
    /// Standard deviation between the seeds of `a`, in points.
    pub(crate) sd: String,
    /// `b - a`, in points.
    pub(crate) difference: String,
    pub(crate) interval: String,
    /// Hedges' g of `b` over `a`, with its interval; from three seeds on.
    pub(crate) effect: String,
    pub(crate) effect_interval: String,
    pub(crate) p: String,
    pub(crate) p_signs: String,
    pub(crate) epoch_a: String,
    pub(crate) epoch_b: String,
    /// `b / a` of the seconds of an epoch.
    pub(crate) ratio: String,
}

impl Paired {
    /// Fills the rows of `asked`.
    pub(crate) fn build(asked: &PairedPlan, scope: &Scope) -> Result<Self> {
        let scope = &scope.at(format_args!("paired `{}`", asked.id));
        let (mut rows, mut notes, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for task in scope.plan.tasks_named(&asked.tasks, &scope.from)? {
            for name in &asked.groups {
                let title = &scope.plan.group(name, &scope.from)?.title;
                let side = Side::One(name.clone());
                // `b` is the new way: what it adds is what is asked.
                let sides = [asked.b.contender(&side), asked.a.contender(&side)];
                let contest = Contest::new(sides, &[task], scope)?;
                let mut row = Row {
                    task: task.title.clone(),
                    group: labelled(title, &contest.labels),
                    ..Row::default()
                };
                let place = format!("{title} on {}", task.title);
                match contest.numbers(|task, pair| {
                    let measure = asked.measure(task);
                    let of = |runs| average(runs, |run| run.number(&measure));
                    Some((of(&pair.a)?, of(&pair.b)?))
                }) {
                    Ok(numbers) => {
                        let on = &numbers.tasks[0];
                        let epochs = contest.numbers(seconds_of_both(Per::Epoch)).ok();
                        found.push(row.fill(on, epochs.as_ref().map(|all| &all.tasks[0]), place));
                        notes.extend(
                            numbers
                                .notes
                                .into_iter()
                                .map(|note| format!("{title}: {note}")),
                        );
                    }
                    Err(why) => notes.push(format!("{place}: empty, since {why}")),
                }
                rows.push(row);
            }
        }
        Ok(Self {
            id: asked.id.clone(),
            title: asked.title.clone(),
            text: asked.text.clone(),
            a: asked.a.title.clone(),
            b: asked.b.title.clone(),
            conclusion: conclusion(&found, &asked.a.title, &asked.b.title),
            rows,
            notes,
        })
    }
}

impl Way {
    fn contender<'p>(&'p self, side: &'p Side) -> Contender<'p> {
        Contender {
            title: &self.title,
            side,
            conditions: &self.conditions,
        }
    }
}

impl PairedPlan {
    fn measure(&self, task: &Task) -> Measure {
        let metric = match self.metric.as_str() {
            "task" => &task.metric,
            metric => metric,
        };
        Measure::score(metric, SPLIT)
    }
}

impl Row {
    /// Writes the numbers of the pairs of one task, `a` of which is the new way.
    fn fill(&mut self, on: &On, epochs: Option<&On>, title: String) -> Found {
        let scale = Scale::Points;
        let values: Vec<f64> = on.a.iter().zip(&on.b).map(|(new, old)| new - old).collect();
        let difference = mean(&values);
        let spread = (on.b.len() > 1).then(|| sd(&on.b));
        self.seeds = values.len();
        (self.score_a, self.score_b) = (fixed(mean(&on.b), DIGITS), fixed(mean(&on.a), DIGITS));
        self.sd = spread.map_or(String::new(), |sd| scale.number(sd));
        self.difference = scale.signed(difference);
        let test: Option<Comparison> = linear_over_tasks(std::slice::from_ref(&values)).ok();
        if let Some(test) = &test {
            let (low, high) = (test.interval.low, test.interval.high);
            self.interval = format!("[{}, {}]", scale.number(low), scale.number(high));
            self.p = p_value(test.p);
        }
        if let Some(HedgesG { g, interval }) =
            hedges_g(&on.a, &on.b, LEVEL).filter(|_| values.len() >= SEEDS_OF_EFFECT)
        {
            self.effect = signed(g, 2);
            self.effect_interval =
                format!("[{}, {}]", fixed(interval.low, 1), fixed(interval.high, 1));
        }
        if values.len() > 1 {
            let signs = permutation_test(&on.a, &on.b, Pairing::Paired, ROUNDS, 0);
            self.p_signs = signs.map_or(String::new(), |signs| p_value(signs.p));
        }
        let ratio = epochs.map(|epochs| {
            let (new, old) = (mean(&epochs.a), mean(&epochs.b));
            (self.epoch_a, self.epoch_b) = (fixed(old, 2), fixed(new, 2));
            self.ratio = fixed(new / old, 2);
            new / old
        });
        Found {
            title,
            difference,
            sd: spread,
            p: test.map(|test| test.p),
            ratio,
            values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::select::runs::Runs;
    use crate::toml_file::parse;

    const NUMBER_TYPES: &str = r#"
        id = "bf16"
        title = "Half & full precision"
        a = { title = "f32", where = { "work.training.dtype" = "f32" } }
        b = { title = "bf16-mixed", where = { "work.training.dtype" = "bf16-mixed" } }
        groups = ["any-dtype"]
        metric = "task"
    "#;

    #[test]
    fn pairs_in_markdown() {
        insta::assert_snapshot!(built(NUMBER_TYPES).markdown());
    }

    #[test]
    fn pairs_in_latex() {
        insta::assert_snapshot!(built(NUMBER_TYPES).latex());
    }

    #[test]
    fn pairs_in_csv() {
        insta::assert_snapshot!(built(NUMBER_TYPES).csv());
    }

    #[test]
    fn a_row_without_pairs_says_why() {
        let paired = built(&NUMBER_TYPES.replace("any-dtype", "last-3"));
        assert_eq!(paired.rows[0].seeds, 0);
        assert_eq!(paired.conclusion, ["No seed has both sides yet."]);
        assert!(
            paired.notes[0].contains("on Letters: empty, since")
                || paired.notes[0].contains("on Digits: empty, since"),
            "{:?}",
            paired.notes
        );
    }

    fn built(text: &str) -> Paired {
        let asked: PairedPlan = parse(text, "report.toml").unwrap();
        let plan = fixture::task_plan();
        asked.check(&plan, "report.toml: paired").unwrap();
        let runs = Runs::new(&fixture::task_tables()).unwrap();
        Paired::build(&asked, &Scope::new(&plan, &runs, "report.toml")).unwrap()
    }
}
