//! A paper's advice, line by line, with what our runs have to say about each.

use anyhow::{Result, ensure};
use serde::Deserialize;
use totune_evidence::compare::Comparison;
use totune_evidence::compare::paired::{ComparedSide, Numbers, PairedComparison};
use totune_evidence::plan::{Plan, Side, Tasks, Unit, Where};
use totune_evidence::select::per_run::scores_of_both;
use totune_evidence::select::scope::Scope;
use totune_evidence::text::{Scale, fixed};
use totune_stats::mean;

use super::rendered::number;
use super::{Cell, Column, Csv, RenderedTable, TableKind};
use crate::item::Heading;

/// `kind = "guidelines"`: the advice as a table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Guidelines {
    /// Headings over what a line is for, such as `Pretraining`.
    head: Vec<String>,
    #[serde(rename = "line")]
    lines: Vec<GuidelinePlan>,
}

/// One line of advice.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct GuidelinePlan {
    /// What it is for, one text under each heading.
    pub(crate) cells: Vec<String>,
    /// The advice.
    pub(crate) says: String,
    /// Differences that speak for or against it; none where no run can.
    #[serde(default)]
    pub(crate) evidence: Vec<EvidencePlan>,
}

/// A difference of two groups over tasks, and what the advice leads one to expect of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct EvidencePlan {
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) tasks: Vec<String>,
    pub(crate) among: Option<String>,
    pub(crate) a: Side,
    pub(crate) b: Side,
    pub(crate) expect: Expect,
    /// For `similar`: the largest difference that still is, in units of the score.
    pub(crate) limit: Option<f64>,
}

/// How `a` should lie to `b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Expect {
    Above,
    Below,
    Similar,
}

/// Whether runs point where the advice does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Points {
    Same,
    Other,
    Unclear,
}

impl Points {
    fn words(self) -> &'static str {
        match self {
            Self::Same => "the same way",
            Self::Other => "the other way",
            Self::Unclear => "cannot tell",
        }
    }
}

impl Expect {
    /// Where a difference points: its 95 % interval decides, for `similar` the 90 % interval within the limit, as in claims.
    fn points(self, comparison: &Comparison, limit: f64) -> Points {
        let (low, high) = (comparison.interval.low, comparison.interval.high);
        let (same, other) = match self {
            Self::Above => (low > 0.0, high < 0.0),
            Self::Below => (high < 0.0, low > 0.0),
            Self::Similar => {
                let narrow = comparison.narrow;
                let within = -limit < narrow.low && narrow.high < limit;
                (within, low > limit || high < -limit)
            }
        };
        match (same, other) {
            (true, _) => Points::Same,
            (_, true) => Points::Other,
            _ => Points::Unclear,
        }
    }
}

impl TableKind for Guidelines {
    fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        for (at, line) in self.lines.iter().enumerate() {
            let from = format!("{from}: line {}", at + 1);
            ensure!(
                line.cells.len() == self.head.len(),
                "{from}: found {} cells, expected one under each of {} headings",
                line.cells.len(),
                self.head.len()
            );
            for evidence in &line.evidence {
                let from = format!("{from}: `{}`", evidence.title);
                plan.check_groups(evidence.a.names(), &from)?;
                plan.check_groups(evidence.b.names(), &from)?;
                evidence.tasks().of(plan, &from)?;
                ensure!(
                    (evidence.expect == Expect::Similar) == evidence.limit.is_some(),
                    "{from}: found {}, expected a `limit` with `expect = \"similar\"` and with nothing else",
                    match evidence.limit {
                        Some(limit) => format!("limit = {limit}"),
                        None => "no `limit`".to_owned(),
                    }
                );
            }
        }
        Ok(())
    }

    fn render(&self, _heading: &Heading, scope: &Scope) -> Result<RenderedTable> {
        let mut rows = Vec::new();
        let mut csv = Csv::new("line,says,evidence,expected,difference,low,high,points");
        let mut notes = vec![
            "differences of scores in points (hundredths) at equal seeds, averaged over the tasks, with 95 % intervals; \
             runs support a direction where the interval excludes 0, and similarity where the 90 % interval lies within the limit"
                .to_owned(),
        ];
        for (number, line) in (1..).zip(&self.lines) {
            let mut first: Vec<Cell> = line.cells.iter().chain([&line.says]).map(words).collect();
            if line.evidence.is_empty() {
                first.extend([words("no run can test it"), Cell::default()]);
                rows.push(first);
                continue;
            }
            for evidence in &line.evidence {
                let found = evidence.find(scope)?;
                for note in &found.notes {
                    if !notes.contains(note) {
                        notes.push(note.clone());
                    }
                }
                evidence.csv((number, &line.says), &found, &mut csv);
                let blank = vec![Cell::default(); first.len()];
                // The advice stands in its first row only.
                let row = std::mem::replace(&mut first, blank).into_iter();
                rows.push(row.chain(evidence.cells(&found)).collect());
            }
        }
        let titles = self.head.iter().map(String::as_str);
        let titles = titles.chain(["Guideline", "Our runs", "They point"]);
        let mut columns: Vec<Column> = titles.map(Column::of).collect();
        columns[0].class = "stub";
        Ok(RenderedTable {
            columns,
            parts: RenderedTable::single_part(rows),
            notes,
            csv,
            ..RenderedTable::default()
        })
    }
}

/// Words that may be broken into lines.
fn words(text: impl Into<String>) -> Cell {
    Cell::of(text).class("words")
}

/// What was found for a piece of evidence.
#[derive(Default)]
struct Found {
    /// The difference, with its interval where there are seeds for one.
    difference: Option<f64>,
    interval: Option<[f64; 2]>,
    /// Of what.
    of: String,
    /// Which way, or why not.
    points: String,
    notes: Vec<String>,
}

impl EvidencePlan {
    fn tasks(&self) -> Tasks<'_> {
        Tasks {
            names: &self.tasks,
            among: self.among.as_ref(),
        }
    }

    fn find(&self, scope: &Scope) -> Result<Found> {
        let none = Where::new();
        let side_of = |title, side| ComparedSide {
            title,
            side,
            conditions: &none,
        };
        let sides = [side_of("a", &self.a), side_of("b", &self.b)];
        let tasks = self.tasks().of(scope.plan, &scope.from)?;
        let paired = PairedComparison::new(sides, &tasks, scope)?;
        let numbers = paired.numbers_so_far(scores_of_both);
        let Ok(numbers) = numbers else {
            return Ok(Found {
                points: "no run".to_owned(),
                ..Found::default()
            });
        };
        let mut found = self.measure(&numbers);
        if !paired.labels.is_empty() {
            let labels: Vec<&str> = paired.labels.iter().map(String::as_str).collect();
            found.points = labels.join("; ");
        }
        if numbers.tasks.len() < tasks.len() {
            let missing: Vec<&str> = tasks
                .iter()
                .filter(|task| numbers.tasks.iter().all(|on| on.task.title != task.title))
                .map(|task| task.title.as_str())
                .collect();
            let note = format!("{}: without {}", self.title, missing.join(", "));
            found.notes.push(note);
        }
        Ok(found)
    }

    fn measure(&self, numbers: &Numbers) -> Found {
        match numbers.compare_by(Unit::Seed) {
            Ok(comparison) => Found {
                difference: Some(comparison.difference),
                interval: Some([comparison.interval.low, comparison.interval.high]),
                of: numbers.of(),
                points: self
                    .expect
                    .points(&comparison, self.limit.unwrap_or(0.0))
                    .words()
                    .to_owned(),
                notes: vec![],
            },
            Err(why) => {
                let means = numbers.differences();
                let means: Vec<f64> = means.iter().map(|values| mean(values)).collect();
                Found {
                    difference: Some(mean(&means)),
                    interval: None,
                    of: numbers.of(),
                    points: Points::Unclear.words().to_owned(),
                    notes: vec![format!("{}: {why}", self.title)],
                }
            }
        }
    }

    fn cells(&self, found: &Found) -> [Cell; 2] {
        let scale = Scale::Points;
        let numbers = match (found.difference, found.interval) {
            (None, _) => "no run".to_owned(),
            (Some(difference), None) => scale.text(difference),
            (Some(difference), Some(ends)) => {
                let [low, high] = ends.map(|end| scale.number(end));
                let (signed, unit) = (scale.signed(difference), scale.unit());
                format!("{signed} [{low}, {high}]{unit}")
            }
        };
        let limit = self.limit.map_or(String::new(), |limit| {
            let limit = fixed(limit * 100.0, 1);
            format!(", similar within {limit}{}", scale.unit())
        });
        let of = match found.of.is_empty() {
            true => String::new(),
            false => format!(": {}{limit}", found.of),
        };
        let title = &self.title;
        [
            words(numbers).beside(format!("{title}{of}")),
            words(&found.points),
        ]
    }

    fn csv(&self, (line, says): (usize, &str), found: &Found, csv: &mut Csv) {
        let expected = match self.expect {
            Expect::Above => "above",
            Expect::Below => "below",
            Expect::Similar => "similar",
        };
        let [low, high] = [0, 1].map(|end| number(found.interval.map(|interval| interval[end])));
        csv.line([
            &line.to_string(),
            says,
            &self.title,
            expected,
            &number(found.difference),
            &low,
            &high,
            &found.points,
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn runs_point_the_way_of_the_advice_or_another() {
        // Last two layers lose two points on the tasks of few examples and none on those of many; see `fixture`.
        for (evidence, expected) in [
            (
                "a = 'full'\nb = 'last-2'\namong = 'few'\nexpect = 'above'",
                "the same way",
            ),
            (
                "a = 'last-2'\nb = 'full'\namong = 'few'\nexpect = 'above'",
                "the other way",
            ),
            (
                "a = 'last-2'\nb = 'full'\namong = 'few'\nexpect = 'below'",
                "the same way",
            ),
            (
                "a = 'full'\nb = 'last-2'\namong = 'many'\nexpect = 'similar'\nlimit = 0.02",
                "the same way",
            ),
            (
                "a = 'full'\nb = 'last-2'\namong = 'few'\nexpect = 'similar'\nlimit = 0.01",
                "the other way",
            ),
            (
                "a = 'full'\nb = 'last-2'\namong = 'many'\nexpect = 'above'",
                "cannot tell",
            ),
            (
                "a = 'full'\nb = 'last-3'\namong = 'many'\nexpect = 'above'",
                "no run",
            ),
        ] {
            let table = built(evidence).unwrap();
            let row = &table.parts[0].rows[0];
            assert_eq!(row[3].main, expected, "{evidence}: {row:?}");
        }
    }

    #[test]
    fn a_difference_stands_with_its_interval_and_what_it_is_of() {
        let table =
            built("a = 'full'\nb = 'last-2'\ntasks = ['letters']\nexpect = 'above'").unwrap();
        let cell = &table.parts[0].rows[0][2];
        assert!(
            cell.main.ends_with(" points") && cell.main.contains('['),
            "{cell:?}"
        );
        assert_eq!(cell.beside, "Full against two: Letters; 3 pairs of seeds");
    }

    #[test]
    fn a_limit_belongs_to_what_is_similar() {
        let side = "a = 'full'\nb = 'last-2'\ntasks = ['letters']";
        for (evidence, expected) in [
            (format!("{side}\nexpect = 'similar'"), "found no `limit`"),
            (
                format!("{side}\nexpect = 'above'\nlimit = 0.1"),
                "found limit = 0.1",
            ),
        ] {
            let error = built(&evidence).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    fn built(evidence: &str) -> Result<RenderedTable> {
        fixture::table_of_tasks(&format!(
            "kind = 'guidelines'\nhead = ['For']\n[[line]]\ncells = ['all']\nsays = 'tune'\n\
             [[line.evidence]]\ntitle = 'Full against two'\n{evidence}\n"
        ))
    }
}
