//! Two ways of doing the same, run by run: frozen layers with and without dropout, one precision and another.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use totune_stats::{Pairing, holm, mean, permutation_test, sd};

use crate::claims::{Per, Side};
use crate::compare::{ALPHA, Comparison};
use crate::contest::{Contender, Contest, On};
use crate::measure::seconds_of_both;
use crate::panel::{SPLIT, average};
use crate::plan::{Measure, Plan, Task, Where};
use crate::runs::Runs;
use crate::strata::{linear_over_tasks, over_tasks};
use crate::table::pipe_table;
use crate::text::{Scale, csv_field, fixed, latex, p_equals, p_value};

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
    pub(crate) p: String,
    pub(crate) p_signs: String,
    pub(crate) epoch_a: String,
    pub(crate) epoch_b: String,
    /// `b / a` of the seconds of an epoch.
    pub(crate) ratio: String,
}

/// The numbers of a row that the conclusion needs.
struct Found {
    /// `Last layer on RTE`.
    title: String,
    difference: f64,
    /// Between seeds of `a`.
    sd: Option<f64>,
    p: Option<f64>,
    ratio: Option<f64>,
    /// Differences, pair by pair.
    values: Vec<f64>,
}

impl Paired {
    /// Fills the rows of `asked`; `shown` is how errors name `report.toml`.
    pub(crate) fn build(asked: &PairedPlan, plan: &Plan, runs: &Runs, shown: &str) -> Result<Self> {
        let from = format!("{shown}: paired `{}`", asked.id);
        let (mut rows, mut notes, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for task in plan.tasks_named(&asked.tasks, &from)? {
            for name in &asked.groups {
                let title = &plan.group(name, &from)?.title;
                let side = Side::One(name.clone());
                // `b` is the new way: what it adds is what is asked.
                let sides = [asked.b.contender(&side), asked.a.contender(&side)];
                let contest = Contest::new(sides, &[task], (plan, runs), &from)?;
                let mut row = Row {
                    task: task.title.clone(),
                    group: title.clone(),
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

    fn cells(&self) -> [String; 13] {
        [
            self.task.clone(),
            self.group.clone(),
            self.seeds.to_string(),
            self.score_a.clone(),
            self.score_b.clone(),
            self.sd.clone(),
            self.difference.clone(),
            self.interval.clone(),
            self.p.clone(),
            self.p_signs.clone(),
            self.epoch_a.clone(),
            self.epoch_b.clone(),
            self.ratio.clone(),
        ]
    }
}

/// What the rows come to: how many differences count, whether the largest is below what seeds do, what it costs.
fn conclusion(found: &[Found], a: &str, b: &str) -> Vec<String> {
    let Some(largest) = found
        .iter()
        .max_by(|one, other| one.difference.abs().total_cmp(&other.difference.abs()))
    else {
        return vec!["No seed has both sides yet.".to_owned()];
    };
    let mut sentences = Vec::new();
    let tests: Vec<f64> = found.iter().filter_map(|found| found.p).collect();
    let corrected = holm(&tests);
    let count = corrected.iter().filter(|&&p| p < ALPHA).count();
    sentences.push(match (count, tests.len()) {
        (_, 0) => {
            "No row has two seeds that differ, so none of the differences can be tested.".to_owned()
        }
        (0, 1) => "The difference does not count at 0.05.".to_owned(),
        (_, 1) => "The difference counts at 0.05.".to_owned(),
        (0, n) => format!("None of the {n} differences counts at 0.05 (paired t-tests, Holm)."),
        (count, n) => format!(
            "{count} of {} at 0.05 (paired t-tests, Holm).",
            match count {
                1 => format!("{n} differences counts"),
                _ => format!("{n} differences count"),
            }
        ),
    });
    if found.len() > 1 {
        let tasks: Vec<Vec<f64>> = found.iter().map(|found| found.values.clone()).collect();
        if let Ok(all) = over_tasks(&tasks) {
            sentences.push(format!(
                "Over all rows “{b}” differs from “{a}” by {} ({}).",
                all.difference_in(Scale::Points),
                p_equals(all.p)
            ));
        }
    }
    let points = |value: f64| format!("{} points", Scale::Points.number(value.abs()));
    let with_sd: Vec<&Found> = found.iter().filter(|found| found.sd.is_some()).collect();
    let below = |found: &&&Found| found.sd.is_some_and(|sd| found.difference.abs() < sd);
    let n_below = with_sd.iter().filter(below).count();
    let of = match largest.sd {
        None => "a single seed, whose noise is unknown".to_owned(),
        Some(sd) if largest.difference.abs() < sd => {
            format!(
                "below the standard deviation between seeds there (“{a}”), {}",
                points(sd)
            )
        }
        Some(sd) => format!(
            "not below the standard deviation between seeds there (“{a}”), {}",
            points(sd)
        ),
    };
    let rest = match (n_below, with_sd.len()) {
        (_, 0 | 1) => String::new(),
        (below, all) if below == all => "; that holds of every row".to_owned(),
        (1, all) => format!("; 1 of {all} rows has a difference below it"),
        (below, all) => format!("; {below} of {all} rows have a difference below it"),
    };
    let place = if found.len() > 1 {
        format!(
            "The largest difference, {} ({}), is",
            points(largest.difference),
            largest.title
        )
    } else {
        format!("The difference, {}, is", points(largest.difference))
    };
    sentences.push(format!("{place} {of}{rest}."));
    let ratios: Vec<f64> = found
        .iter()
        .filter_map(|found| found.ratio)
        .map(f64::ln)
        .collect();
    if !ratios.is_empty() {
        let ratio = mean(&ratios).exp();
        let share = fixed((ratio - 1.0).abs() * 100.0, 0);
        sentences.push(match ratio {
            _ if share == "0" => "An epoch takes the same time either way.".to_owned(),
            r if r < 1.0 => {
                format!("An epoch with “{b}” takes {share} % less time (geometric mean).")
            }
            _ => format!("An epoch with “{b}” takes {share} % more time (geometric mean)."),
        });
    }
    sentences
}

impl Paired {
    fn head(&self) -> [String; 13] {
        let (a, b) = (&self.a, &self.b);
        [
            "Task".to_owned(),
            "Strategy".to_owned(),
            "Seeds".to_owned(),
            format!("Score: {a}"),
            format!("Score: {b}"),
            "sd between seeds (points)".to_owned(),
            "Difference (points)".to_owned(),
            "95 % interval".to_owned(),
            "p (t)".to_owned(),
            "p (signs)".to_owned(),
            format!("Seconds of an epoch: {a}"),
            format!("Seconds of an epoch: {b}"),
            "Ratio".to_owned(),
        ]
    }

    /// A pipe table under its title.
    pub(crate) fn markdown(&self) -> String {
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| row.cells().to_vec()).collect();
        let table = pipe_table(&self.head(), &rows);
        let mut text = format!("**{}**\n\n{table}\n", self.title);
        text.push_str(&format!(
            "{}\n\n{}\n",
            self.conclusion.join("\n"),
            self.legend()
        ));
        for note in &self.notes {
            text.push_str(&format!("\n{note}.\n"));
        }
        text
    }

    /// A `booktabs` table; the preamble needs `\usepackage{booktabs}`.
    pub(crate) fn latex(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| latex(cell)).collect();
            format!("{} \\\\\n", cells.join(" & "))
        };
        let mut text = String::from("% \\usepackage{booktabs}\n\\begin{table}\n\\centering\n");
        text.push_str(&format!(
            "\\caption{{{}}}\n\\label{{tab:{}}}\n\\begin{{tabular}}{{ll{}}}\n\\toprule\n",
            latex(&self.title),
            self.id,
            "r".repeat(11)
        ));
        text.push_str(&line(&self.head()));
        text.push_str("\\midrule\n");
        for row in &self.rows {
            text.push_str(&line(&row.cells()));
        }
        text.push_str("\\bottomrule\n\\end{tabular}\n");
        for note in self.conclusion.iter().chain([&self.legend()]) {
            text.push_str(&format!("\\par\\footnotesize {}\n", latex(note)));
        }
        for note in &self.notes {
            text.push_str(&format!("\\par\\footnotesize {}.\n", latex(note)));
        }
        text.push_str("\\end{table}\n");
        text
    }

    /// One line per row, for programs.
    pub(crate) fn csv(&self) -> String {
        let mut text = String::from(
            "table,task,group,seeds,score_a,score_b,sd_a_points,difference_points,interval_points,p_t,p_signs,epoch_seconds_a,epoch_seconds_b,epoch_ratio\n",
        );
        for row in &self.rows {
            let fields = [self.id.clone()].into_iter().chain(row.cells());
            let fields: Vec<String> = fields.map(|field| csv_field(&field)).collect();
            text.push_str(&fields.join(","));
            text.push('\n');
        }
        text
    }

    /// What holds for every such table.
    pub(crate) fn legend(&self) -> String {
        format!(
            "Differences are {} \u{2212} {} at equal seeds, with Student's 95 % interval of the pairs; p of the paired t-test and of the exact exchange of signs, both uncorrected; the standard deviation is that between seeds of {}.",
            self.b, self.a, self.a
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
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

    #[test]
    fn conclusions_are_right_for_any_numbers() {
        let row = |difference: f64, sd: f64, p: f64, ratio: f64| Found {
            title: "Last layer on RTE".to_owned(),
            difference,
            sd: Some(sd),
            p: Some(p),
            ratio: Some(ratio),
            values: vec![difference; 2],
        };
        let (small, large) = (row(0.001, 0.01, 0.5, 0.5), row(-0.05, 0.01, 0.001, 2.0));
        for (found, expected) in [
            (
                vec![&small],
                vec![
                    "The difference does not count at 0.05.",
                    "The difference, 0.10 points, is below the standard deviation between seeds there (“on”), 1.00 points.",
                    "An epoch with “off” takes 50 % less time (geometric mean).",
                ],
            ),
            (
                vec![&small, &large],
                vec![
                    "1 of 2 differences counts at 0.05 (paired t-tests, Holm).",
                    "The largest difference, 5.00 points (Last layer on RTE), is not below the standard deviation between seeds there (“on”), 1.00 points; 1 of 2 rows has a difference below it.",
                    "An epoch takes the same time either way.",
                ],
            ),
        ] {
            let found: Vec<Found> = found
                .into_iter()
                .map(|found| Found {
                    title: found.title.clone(),
                    values: found.values.clone(),
                    ..*found
                })
                .collect();
            assert_eq!(conclusion(&found, "on", "off"), expected);
        }
        assert_eq!(
            conclusion(&[], "on", "off"),
            ["No seed has both sides yet."]
        );
    }

    fn built(text: &str) -> Paired {
        let asked: PairedPlan = parse(text, "report.toml").unwrap();
        let plan = fixture::task_plan();
        asked.check(&plan, "report.toml: paired").unwrap();
        let runs = Runs::new(&fixture::task_tables()).unwrap();
        Paired::build(&asked, &plan, &runs, "report.toml").unwrap()
    }
}
