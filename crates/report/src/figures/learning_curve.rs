//! Learning curves: the score by number of training examples, one panel per task, one line per group of runs, and a
//! table of the same numbers.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::Value;
use totune_evidence::plan::{Measure, Plan, Task, Where};
use totune_evidence::select::label::labelled;
use totune_evidence::select::panel::test;
use totune_evidence::select::runs::Run;
use totune_evidence::select::scope::Scope;
use totune_evidence::text::counted;
use totune_plot::series::Stroke;

use super::by_number::{Line, Number, TaskLines, draw};
use super::{FigureKind, RenderedFigure};
use crate::item::Heading;

/// `kind = "learning-curve"`: groups whose runs differ in the number of training examples.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LearningCurve {
    /// One line each.
    groups: Vec<String>,
    /// A dashed line each: runs that train no encoder.
    #[serde(default)]
    floors: Vec<String>,
    /// One panel each; all tasks unless named.
    #[serde(default)]
    tasks: Vec<String>,
    /// The split of the scores.
    #[serde(default = "test")]
    split: String,
    /// Number of training examples of runs without a limit, by dataset: all that the split leaves for training.
    #[serde(default)]
    without_limit: BTreeMap<String, u32>,
    /// Further conditions on every line.
    #[serde(default, rename = "where")]
    conditions: Where,
}

/// The setting with the number of training examples.
const EXAMPLES: &str = "split.train-limit";

impl FigureKind for LearningCurve {
    fn table_suffix(&self) -> Option<&'static str> {
        Some("-numbers")
    }

    fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        ensure!(
            !self.groups.is_empty(),
            "{from}: found no groups, expected at least one"
        );
        plan.check_groups(self.groups.iter().chain(&self.floors), from)?;
        plan.tasks_named(&self.tasks, from).map(|_| ())
    }

    fn draw(&self, heading: &Heading, scope: &Scope) -> Result<RenderedFigure> {
        let tasks = scope.plan.tasks_named(&self.tasks, &scope.from)?;
        let tasks = tasks.into_iter().map(|task| {
            let solid = self.groups.iter().map(|group| (group, Stroke::Solid));
            let dashed = self.floors.iter().map(|group| (group, Stroke::Dashed));
            let lines = solid.chain(dashed).enumerate();
            let lines = lines.map(|(colour, (group, stroke))| {
                let line = self.line(group, task, scope)?;
                Ok(Line {
                    colour,
                    stroke,
                    ..line
                })
            });
            Ok(TaskLines {
                task: &task.title,
                title: &task.title,
                unit: &task.unit,
                lines: lines.collect::<Result<_>>()?,
            })
        });
        let tasks = tasks.collect::<Result<Vec<TaskLines>>>()?;
        // A panel of floors alone would look like a result.
        let has_runs = |task: &TaskLines| {
            let mut trained = task.lines.iter().take(self.groups.len());
            trained.any(|line| line.runs > 0)
        };
        let (with, without): (Vec<TaskLines>, Vec<TaskLines>) =
            tasks.into_iter().partition(has_runs);
        if with.is_empty() {
            return Ok(draw(Number::Examples, (heading, &self.split), &without));
        }
        let mut figure = draw(Number::Examples, (heading, &self.split), &with);
        let missing: Vec<&str> = without.iter().map(|task| task.title).collect();
        if !missing.is_empty() {
            figure
                .notes
                .push(format!("not run yet: {}", missing.join(", ")));
        }
        Ok(figure)
    }
}

impl LearningCurve {
    fn line(&self, group: &str, task: &Task, scope: &Scope) -> Result<Line> {
        let Scope { plan, runs, from } = scope;
        let group = plan.group(group, from)?;
        let conditions = group.narrowed([&self.conditions, &task.conditions()]);
        let selection = runs.select(&conditions, from)?;
        let measure = Measure::score(&task.metric, &self.split);
        let labels: Vec<String> = selection.labels().into_iter().cloned().collect();
        let mut line = Line {
            title: labelled(&group.title, &labels),
            metric: task.metric.clone(),
            labels,
            ..Line::default()
        };
        for run in &selection.runs {
            if let Some((examples, score)) = self.examples(run).zip(run.number(&measure)) {
                line.scores.entry(examples).or_default().push(score);
                line.runs += 1;
            }
        }
        let without = selection.runs.len() - line.runs;
        let unscored = (without > 0).then(|| {
            let runs = counted(without, "run");
            format!("{runs} without a score or without `{EXAMPLES}`")
        });
        line.note = selection.note.or(unscored);
        Ok(line)
    }

    /// The number of a run's training examples, where its settings or those of the figure say it.
    fn examples(&self, run: &Run) -> Option<u32> {
        let limit = run.fact(EXAMPLES).and_then(Value::as_u64);
        let limit = limit.and_then(|limit| u32::try_from(limit).ok());
        limit.or_else(|| self.without_limit.get(&run.row.dataset).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use totune_evidence::select::runs::Runs;
    use totune_evidence::toml_file::parse;
    use totune_plot::Panel;
    use totune_synthetic::probes;

    use crate::item::Item;
    use crate::report_file::ReportFile;

    const FIGURE: &str = "id = 'size'\ntitle = 'Size'\nkind = 'learning-curve'\ntasks = ['letters']\n\
         groups = ['frozen', 'full']";

    /// The runs of two strategies: seeds 1 and 2 were trained on 100 examples, and those above `without` say no number.
    fn figure(without: u64) -> RenderedFigure {
        let mut tables = probes::tables();
        for run in &mut tables.runs {
            let mut spec: Value = serde_json::from_str(&run.spec).expect("JSON");
            if run.seed <= without {
                spec["split"]["train-limit"] = json!(if run.seed < 3 { 100 } else { 1000 });
            }
            run.spec = spec.to_string();
        }
        let plan: ReportFile = parse(probes::PLAN, "report.toml").expect("a plan");
        let item: Item<super::super::Kind> = parse(FIGURE, "report.toml").expect("a figure");
        item.kind
            .get()
            .check(&plan, "report.toml")
            .expect("its groups exist");
        let runs = Runs::new(tables).expect("valid rows");
        item.draw(&Scope::new(&plan, &runs, "here"))
            .expect("it is drawn")
    }

    #[test]
    fn scores_are_grouped_by_the_number_of_examples() {
        let drawing = figure(3);
        let table = drawing.table.expect("a table");
        let titles: Vec<&str> = table
            .columns
            .iter()
            .map(|column| column.title.as_str())
            .collect();
        assert_eq!(
            titles,
            ["Strategy", "100 examples", "1,000 examples", "Runs"]
        );
        let cell = |row: usize, column: usize| &table.parts[0].rows[row][column];
        // Seeds 1 and 2 have 0.800 and 0.801 frozen, 0.861 and 0.859 fine-tuned; seed 3 has 0.799 and 0.860.
        let shown = |row, column| {
            (
                cell(row, column).main.as_str(),
                cell(row, column).detail.as_str(),
            )
        };
        assert_eq!(shown(0, 1).1, "0.800–0.801");
        assert_eq!(shown(0, 2), ("0.799", ""));
        assert_eq!(shown(1, 1), ("0.860", "0.859–0.861"));
        assert_eq!(shown(1, 2), ("0.860", ""));
        assert!(cell(1, 1).best && !cell(0, 1).best);
        let Panel::Series(panel) = &drawing.panels[0] else {
            panic!("a panel of series");
        };
        let sizes = panel.lines[0].points.iter().map(|(size, _)| *size);
        assert_eq!(sizes.collect::<Vec<_>>(), [100, 1000]);
        assert!(
            drawing
                .notes
                .iter()
                .all(|note| !note.contains("train-limit"))
        );
    }

    #[test]
    fn runs_without_a_number_of_examples_are_named() {
        let notes = figure(2).notes;
        let note = "1 run without a score or without `split.train-limit`";
        assert!(notes.iter().any(|found| found.ends_with(note)), "{notes:?}");
    }
}
