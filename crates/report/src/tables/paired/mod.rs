//! Two variants of the same runs, seed by seed: frozen layers with and without dropout, one precision and another.

mod conclusion;

use anyhow::{Result, ensure};
use serde::Deserialize;
use totune_evidence::claims::Judged;
use totune_evidence::compare::Comparison;
use totune_evidence::compare::paired::{ComparedSide, On, PairedComparison};
use totune_evidence::compare::strata::{paired, unpaired};
use totune_evidence::plan::{Plan, Side, Where};
use totune_evidence::select::label::labelled;
use totune_evidence::select::per_run::{TimePer, scores_of_both, seconds_of_both};
use totune_evidence::select::sample::LEVEL;
use totune_evidence::select::scope::Scope;
use totune_evidence::text::{Scale, fixed, p_value, signed};
use totune_stats::{HedgesG, hedges_g, mean, sd};

use self::conclusion::{Found, conclusion};
use super::{Cell, Column, Csv, RenderedTable, TableKind};
use crate::item::Heading;

/// Seeds from which on a difference is given in standard deviations between seeds too.
const SEEDS_OF_EFFECT: usize = 3;
/// Digits of scores.
const DIGITS: usize = 4;

/// `kind = "paired"`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Paired {
    a: Variant,
    /// The new variant: its difference from `a` is shown.
    b: Variant,
    /// Names of tasks; none means all.
    #[serde(default)]
    tasks: Vec<String>,
    /// Rows of each task.
    groups: Vec<String>,
    #[serde(default)]
    test: Test,
}

/// The test that compares the variants.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Test {
    /// Welch's t-test, as in claims.
    #[default]
    Welch,
    /// By differences at each seed, for variants that share initial weights and the order of examples.
    Paired,
}

impl Test {
    fn compare(self, on: &On) -> Result<Comparison, String> {
        match self {
            Self::Welch => unpaired(&[(1.0, &on.a, &on.b)]),
            Self::Paired => paired(&on.a, &on.b),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Welch => "Welch's t-test",
            Self::Paired => "paired t-test",
        }
    }
}

/// One of the two variants.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Variant {
    title: String,
    /// Conditions on its runs beyond those of their group.
    #[serde(rename = "where")]
    conditions: Where,
}

impl TableKind for Paired {
    fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        ensure!(
            !self.groups.is_empty(),
            "{from}: found no groups, expected at least one"
        );
        plan.check_groups(&self.groups, from)?;
        plan.tasks_named(&self.tasks, from).map(|_| ())
    }

    fn render(&self, heading: &Heading, scope: &Scope, _: &[Judged]) -> Result<RenderedTable> {
        let mut csv = Csv::new(
            "table,task,group,seeds,score_a,score_b,sd_a_points,difference_points,interval_points,examples_interval_points,hedges_g,hedges_g_interval,p_t,p_permutation,epoch_seconds_a,epoch_seconds_b,epoch_ratio",
        );
        let (mut rows, mut notes, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for task in scope.plan.tasks_named(&self.tasks, &scope.from)? {
            for name in &self.groups {
                let title = &scope.plan.group(name, &scope.from)?.title;
                let side = Side::One(name.clone());
                let sides = [self.b.side_of(&side), self.a.side_of(&side)];
                let pairs = PairedComparison::new(sides, &[task], scope)?;
                let mut row = Row::default();
                let numbers = pairs.numbers_so_far(scores_of_both);
                let any = numbers.and_then(|numbers| match numbers.tasks[..] {
                    [] => Err(numbers.notes.join("; ")),
                    _ => Ok(numbers),
                });
                match any {
                    Ok(numbers) => {
                        let epochs = pairs.numbers_so_far(seconds_of_both(TimePer::Epoch)).ok();
                        let epochs = epochs.as_ref().and_then(|all| all.tasks.first());
                        found.push(Found {
                            title: format!("{title} on {}", task.title),
                            ..row.fill(&numbers.tasks[0], epochs, self.test)
                        });
                        let examples = pairs.over_examples()[0];
                        row.examples =
                            examples.map_or(String::new(), |ends| Scale::Points.interval(ends));
                        let of_row = numbers.notes.into_iter();
                        notes.extend(of_row.map(|note| format!("{title}: {note}")));
                    }
                    Err(why) => {
                        // The comparison names the task too.
                        let task_and = format!("{}: ", task.title);
                        let why = why.strip_prefix(&task_and).unwrap_or(&why);
                        notes.push(format!("{title} on {}: empty, because {why}", task.title))
                    }
                }
                let cells = row.cells(&task.title, &labelled(title, &pairs.labels));
                let texts = self.columns();
                let texts =
                    texts
                        .iter()
                        .zip(&cells)
                        .flat_map(|(column, cell)| match column.interval {
                            Some(_) => vec![&cell.main, &cell.detail],
                            None => vec![&cell.main],
                        });
                csv.line([&heading.id].into_iter().chain(texts));
                rows.push(cells);
            }
        }
        Ok(RenderedTable {
            columns: self.columns(),
            parts: RenderedTable::single_part(rows),
            conclusion: conclusion(&found, [&self.a.title, &self.b.title], self.test.name()),
            legend: self.legend(),
            notes,
            csv,
            ..RenderedTable::default()
        })
    }
}

impl Paired {
    fn columns(&self) -> Vec<Column> {
        let (a, b) = (&self.a.title, &self.b.title);
        vec![
            Column::stub("Task"),
            Column::stub("Strategy"),
            Column::of("Seeds"),
            Column::of(a).under("Score"),
            Column::of(b).under("Score"),
            Column::of("sd between seeds (points)").class("sd"),
            Column::of("Difference (points)")
                .class("ours")
                .with_interval("95 % interval"),
            Column::of("95 % interval over test examples"),
            Column::of("Hedges’ g").with_interval("95 % interval of g"),
            Column::of("p (t)"),
            Column::of("p (permutation)"),
            Column::of(a).under("Seconds of an epoch"),
            Column::of(b).under("Seconds of an epoch"),
            Column::of("Ratio"),
        ]
    }

    /// The legend of every such table.
    fn legend(&self) -> String {
        let (a, b, test) = (&self.a.title, &self.b.title, self.test.name());
        format!(
            "Differences are “{b}” minus “{a}” at equal seeds, with the 95 % interval of the {test}; p of that test and of the permutation test, both uncorrected. The interval over test examples is a percentile bootstrap: the runs stay as they are, and their test set is resampled 2,000 times; it is empty where predictions were not stored. The standard deviation is that between seeds of “{a}”. Hedges’ g is the difference in standard deviations between seeds, pooled over both sides, with the correction for small samples, from three seeds on; its 95 % interval is from the noncentral t distribution."
        )
    }
}

impl Variant {
    fn side_of<'p>(&'p self, side: &'p Side) -> ComparedSide<'p> {
        ComparedSide {
            title: &self.title,
            side,
            conditions: &self.conditions,
        }
    }
}

/// One group on one task, as text; missing values are empty.
#[derive(Debug, Default)]
struct Row {
    seeds: usize,
    /// Scores of `a` and of `b`.
    scores: [String; 2],
    /// Standard deviation between the seeds of `a`, in points.
    sd: String,
    /// `b - a` in points, with its interval.
    difference: [String; 2],
    /// Interval of the same over draws of test examples, in points.
    examples: String,
    /// Hedges' g of `b` over `a`, with its interval; from three seeds on.
    effect: [String; 2],
    /// p-values of the t-test and of the permutation test.
    p: [String; 2],
    /// Seconds of an epoch, and `b / a` of them.
    epochs: [String; 3],
}

impl Row {
    /// Writes the numbers of the pairs of one task, `a` of which is the new variant.
    fn fill(&mut self, on: &On, epochs: Option<&On>, test: Test) -> Found {
        let scale = Scale::Points;
        let difference = mean(&on.a) - mean(&on.b);
        let spread = (on.b.len() > 1).then(|| sd(&on.b));
        self.seeds = on.a.len();
        self.scores = [&on.b, &on.a].map(|scores| fixed(mean(scores), DIGITS));
        self.sd = spread.map_or(String::new(), |sd| scale.number(sd));
        self.difference[0] = scale.signed(difference);
        let test = test.compare(on).ok();
        if let Some(test) = &test {
            self.difference[1] = scale.interval(test.interval);
            self.p[0] = p_value(test.p);
        }
        let effect = hedges_g(&on.a, &on.b, LEVEL).filter(|_| on.a.len() >= SEEDS_OF_EFFECT);
        if let Some(HedgesG { g, interval }) = effect {
            self.effect = [signed(g, 2), Scale::Plain(1).interval(interval)];
        }
        let permutation = test.as_ref().and_then(|test| test.permutation.as_ref());
        self.p[1] = permutation.map_or(String::new(), |(p, _)| p_value(*p));
        let ratio = epochs.map(|epochs| {
            let (new, old) = (mean(&epochs.a), mean(&epochs.b));
            self.epochs = [old, new, new / old].map(|number| fixed(number, 2));
            new / old
        });
        Found {
            title: String::new(),
            difference,
            sd: spread,
            p: test.map(|test| test.p),
            ratio,
        }
    }

    fn cells(self, task: &str, group: &str) -> Vec<Cell> {
        let [difference, interval] = self.difference;
        let [effect, of_effect] = self.effect;
        let difference = Cell::of(difference).detail(interval).or("no pair");
        let mut cells: Vec<Cell> = [task.to_owned(), group.to_owned(), self.seeds.to_string()]
            .into_iter()
            .chain(self.scores)
            .chain([self.sd])
            .map(Cell::of)
            .collect();
        let effect = Cell::of(effect).detail(of_effect);
        cells.extend([difference, Cell::of(self.examples), effect]);
        cells.extend(self.p.into_iter().chain(self.epochs).map(Cell::of));
        cells
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture;

    const NUMBER_TYPES: &str = r#"
        kind = "paired"
        a = { title = "f32", where = { "work.training.dtype" = "f32" } }
        b = { title = "bf16-mixed", where = { "work.training.dtype" = "bf16-mixed" } }
        groups = ["any-dtype"]
    "#;

    #[test]
    fn pairs_in_markdown_latex_and_csv() {
        let table = fixture::table_of_tasks(NUMBER_TYPES).unwrap();
        insta::assert_snapshot!("pairs_in_markdown", table.markdown());
        insta::assert_snapshot!("pairs_in_latex", table.latex());
        insta::assert_snapshot!("pairs_in_csv", table.csv.text());
    }

    #[test]
    fn a_row_without_pairs_says_why() {
        let settings = NUMBER_TYPES.replace("any-dtype", "last-3");
        let table = fixture::table_of_tasks(&settings).unwrap();
        let cells: Vec<&str> = table.parts[0].rows[0]
            .iter()
            .map(|cell| cell.main.as_str())
            .collect();
        assert_eq!(cells[2..7], ["0", "", "", "", ""]);
        assert_eq!(table.conclusion, ["No seed has both sides yet."]);
        let why = &table.notes[0];
        assert!(why.contains("empty, because"), "{:?}", table.notes);
    }
}
