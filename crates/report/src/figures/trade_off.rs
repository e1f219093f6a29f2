//! Trade-offs: the score of each group, as a mean over tasks, against what it costs, one panel per cost, and a table of
//! the same numbers.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use serde::Deserialize;
use totune_evidence::plan::{Measure, Plan, Side, Task, Where};
use totune_evidence::select::label::labelled;
use totune_evidence::select::panel::{TaskRuns, average, test};
use totune_evidence::select::scope::Scope;
use totune_evidence::text::{fixed, readable};
use totune_plot::Panel;
use totune_plot::points::{Point, PointPanel};
use totune_stats::curve::Spread;
use totune_stats::mean;

use super::{FigureKind, RenderedFigure, spread_cell};
use crate::item::Heading;
use crate::tables::rendered::{Cell, Csv, RenderedTable, number, spread_fields};
use crate::tasks::{Missing, left_out, with_runs};

/// `kind = "trade-off"`: groups whose runs differ in what they cost.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TradeOff {
    /// Title of the axis of scores.
    measure: String,
    /// One point each.
    groups: Vec<String>,
    /// Tasks whose main metrics are averaged; all unless named.
    #[serde(default)]
    tasks: Vec<String>,
    /// The split of the scores.
    #[serde(default = "test")]
    split: String,
    #[serde(rename = "panel")]
    panels: Vec<Cost>,
    /// Further conditions on every point.
    #[serde(default, rename = "where")]
    conditions: Where,
}

/// One panel.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Cost {
    /// Title of the axis, with its unit.
    title: String,
    /// A number that every run has, such as `params_trainable`.
    field: String,
    /// Units of the field in one of the axis, such as 1e6 bytes in a megabyte.
    #[serde(default = "one")]
    per: f64,
    /// Digits after the point in the table.
    #[serde(default)]
    decimals: usize,
}

impl Cost {
    fn field(&self) -> Measure {
        Measure::Field {
            field: self.field.clone(),
        }
    }
}

fn one() -> f64 {
    1.0
}

/// A group in numbers.
struct Traded {
    title: String,
    /// The mean over tasks at each seed that all tasks have.
    scores: Vec<f64>,
    /// The mean over tasks of the mean over runs, by panel; `None` where a run lacks it.
    costs: Vec<Option<f64>>,
    runs: usize,
    notes: Vec<String>,
}

impl FigureKind for TradeOff {
    fn table_suffix(&self) -> Option<&'static str> {
        Some("-numbers")
    }

    fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        ensure!(
            !self.groups.is_empty() && !self.panels.is_empty(),
            "{from}: found no groups or no panel, expected at least one of each"
        );
        for Cost { title, per, .. } in &self.panels {
            ensure!(
                per.is_finite() && *per > 0.0,
                "{from}: panel `{title}`: per: found {per}, expected a number above 0"
            );
        }
        plan.check_groups(&self.groups, from)?;
        plan.tasks_named(&self.tasks, from).map(|_| ())
    }

    fn draw(&self, heading: &Heading, scope: &Scope) -> Result<RenderedFigure> {
        for cost in &self.panels {
            scope.runs.check_measure(&cost.field(), &scope.from)?;
        }
        let tasks = scope.plan.tasks_named(&self.tasks, &scope.from)?;
        let (tasks, not_run) = with_runs(self.groups.iter(), tasks, &self.conditions, scope)?;
        let traded = self
            .groups
            .iter()
            .map(|group| self.group(group, &tasks, scope));
        let traded = traded.collect::<Result<Vec<Traded>>>()?;
        // Without a point a panel would only look like one of zeros.
        let is_drawn = |at: usize| {
            let mut points = traded.iter();
            points.any(|each| each.costs[at].is_some() && !each.scores.is_empty())
        };
        let panels = self.panels.iter().enumerate();
        let panels = panels.filter(|(at, _)| is_drawn(*at)).map(|(at, cost)| {
            let points = traded.iter().map(|each| Point {
                title: each.title.clone(),
                cost: each.costs[at],
                score: Spread::of(&each.scores),
            });
            Panel::Points(PointPanel {
                title: cost.title.clone(),
                measure: self.measure.clone(),
                across: cost.title.clone(),
                points: points.collect(),
            })
        });
        let notes = traded.iter().flat_map(|each| each.notes.clone());
        Ok(RenderedFigure {
            panels: panels.collect(),
            notes: left_out("a run", &not_run)
                .into_iter()
                .chain(notes)
                .collect(),
            table: Some(self.table(heading, &traded)),
            ..RenderedFigure::default()
        })
    }
}

impl TradeOff {
    fn group(&self, name: &str, tasks: &[&Task], scope: &Scope) -> Result<Traded> {
        let side = Side::One(name.to_owned());
        let group = scope.plan.group(name, &scope.from)?;
        let (mut notes, mut without) = (Vec::new(), Missing::default());
        let mut by_seed: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        let mut costs: Vec<Vec<f64>> = vec![Vec::new(); self.panels.len()];
        let mut labels = BTreeSet::new();
        let mut n_runs = 0;
        for task in tasks {
            let found = TaskRuns::of(&side, task, &self.conditions, scope)?;
            let mut of_seed: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
            let measure = Measure::score(&task.metric, &self.split);
            let mut runs = Vec::new();
            for run in found.all() {
                if let Some(score) = run.number(&measure) {
                    of_seed.entry(run.row.seed).or_default().push(score);
                    runs.push(run);
                }
            }
            if found.all().next().is_none() {
                without.add(task, found.pending);
            } else if runs.is_empty() {
                let why = found.why_unscored();
                notes.push(format!("{}, {}: {why}", group.title, task.title));
            }
            for (seed, scores) in of_seed {
                by_seed.entry(seed).or_default().push(mean(&scores));
            }
            for (cost, costs) in self.panels.iter().zip(&mut costs) {
                let measure = cost.field();
                let number = average(&runs, |run| run.number(&measure));
                costs.extend(number.map(|number| number / cost.per));
            }
            labels.extend(found.labels);
            n_runs += runs.len();
        }
        notes.extend(without.notes(&group.title));
        let whole = |numbers: &[f64]| numbers.len() == tasks.len();
        let scores = by_seed.values().filter(|scores| whole(scores));
        Ok(Traded {
            title: labelled(&group.title, &labels),
            scores: scores.map(|scores| mean(scores)).collect(),
            costs: costs
                .iter()
                .map(|costs| whole(costs).then(|| mean(costs)))
                .collect(),
            runs: n_runs,
            notes,
        })
    }

    fn table(&self, heading: &Heading, traded: &[Traded]) -> RenderedTable {
        let costs = self.panels.iter().map(|cost| cost.title.clone());
        let titles = [self.measure.clone()].into_iter().chain(costs);
        let fields = self.panels.iter().map(|cost| cost.field.as_str());
        let fields = fields.collect::<Vec<_>>().join(",");
        let mut csv = Csv::new(&format!(
            "figure,group,split,mean,low,high,sd,runs,{fields}"
        ));
        let rows = traded.iter().map(|each| {
            let spread = Spread::of(&each.scores);
            let score = spread.as_ref().map_or_else(Cell::default, spread_cell);
            let costs = each.costs.iter().zip(&self.panels).map(|(cost, panel)| {
                Cell::of(cost.map_or(String::new(), |cost| readable(&fixed(cost, panel.decimals))))
            });
            if let Some(spread) = &spread {
                let names = [&heading.id, &each.title, &self.split].map(String::clone);
                let runs = each.runs.to_string();
                let costs = each.costs.iter().map(|cost| number(*cost));
                let scores = spread_fields(spread, &each.scores).into_iter();
                csv.line(names.into_iter().chain(scores).chain([runs]).chain(costs));
            }
            let runs = Cell::of(each.runs.to_string());
            let cells = [Cell::of(&each.title), score].into_iter();
            cells.chain(costs).chain([runs]).collect()
        });
        let rows = rows.collect();
        RenderedTable {
            heading: heading.of_part("-numbers", "the numbers"),
            columns: RenderedTable::columns_of("Strategy", titles.chain(["Runs".to_owned()])),
            parts: RenderedTable::single_part(rows),
            notes: vec![
                "scores are means over tasks, with the lowest and the highest seed; costs are means over the same runs"
                    .to_owned(),
            ],
            csv,
            ..RenderedTable::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use totune_evidence::select::runs::Runs;
    use totune_evidence::toml_file::parse;
    use totune_synthetic::probes;

    use crate::item::Item;
    use crate::report_file::ReportFile;

    const FIGURE: &str = "id = 'cost'\ntitle = 'Cost'\nkind = 'trade-off'\nmeasure = 'Accuracy'\ntasks = ['letters']\n\
         groups = ['frozen', 'full']\npanel = [{ title = 'Trained parameters', field = 'params_trainable' }, \
         { title = 'Memory (MB)', field = 'peak_memory', per = 1e6 }]";

    fn draw(figure: &str, tables: totune_record::Tables) -> Result<RenderedFigure> {
        let plan: ReportFile = parse(probes::PLAN, "report.toml").expect("a plan");
        let item: Item<super::super::Kind> = parse(figure, "report.toml").expect("a figure");
        let kind = item.kind.get();
        kind.check(&plan, "report.toml").expect("its groups exist");
        let runs = Runs::new(tables).expect("valid rows");
        item.draw(&Scope::new(&plan, &runs, "here"))
    }

    #[test]
    fn each_group_is_a_point_in_each_panel_and_a_row() {
        let mut tables = probes::tables();
        for run in &mut tables.runs {
            run.params_trainable = if run.spec.contains("frozen") {
                10
            } else {
                1000
            };
            run.peak_memory = 5_000_000;
        }
        let drawn = draw(FIGURE, tables).expect("drawn");
        assert_eq!(drawn.panels.len(), 2);
        for (panel, costs) in drawn.panels.iter().zip([[10.0, 1000.0], [5.0, 5.0]]) {
            let Panel::Points(panel) = panel else {
                panic!("{panel:?}")
            };
            let found: Vec<Option<f64>> = panel.points.iter().map(|point| point.cost).collect();
            assert_eq!(found, costs.map(Some));
            assert!(panel.points.iter().all(|point| point.score.is_some()));
        }
        let table = drawn.table.expect("a table");
        assert_eq!(table.parts[0].rows.len(), 2);
        assert_eq!(table.parts[0].rows[0].len(), 5);
    }

    #[test]
    fn memory_of_runs_on_a_gpu_is_that_of_the_process_and_is_left_out() {
        let mut tables = probes::tables();
        for run in &mut tables.runs {
            run.params_trainable = 10;
            run.peak_memory = 5_000_000;
            run.device = "cuda:0 (NVIDIA H200)".to_owned();
        }
        let drawn = draw(FIGURE, tables).expect("drawn");
        assert_eq!(drawn.panels.len(), 1);
    }

    #[test]
    fn a_cost_that_no_run_has_is_an_error_with_the_nearest_name() {
        let misspelt = FIGURE.replace("'peak_memory'", "'peak_memmory'");
        let error = draw(&misspelt, probes::tables()).expect_err("no such number");
        assert_eq!(
            error.to_string(),
            "here: figure `cost`: no run has a number called `peak_memmory`; did you mean `peak_memory`?"
        );
    }

    #[test]
    fn without_a_timing_pass_the_panel_of_tensors_is_left_out() {
        let tensors = FIGURE.replace("'peak_memory'", "'tensor_memory'");
        let drawn = draw(&tensors, probes::tables()).expect("drawn");
        assert_eq!(drawn.panels.len(), 1);
    }
}
