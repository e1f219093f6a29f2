//! Rankings of groups: ranks of their mean scores on each task, and the mean rank over tasks.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use serde::Deserialize;
use totune_evidence::claims::Judged;
use totune_evidence::plan::{Plan, Side, Task};
use totune_evidence::select::label::labelled;
use totune_evidence::select::panel::TaskRuns;
use totune_evidence::select::per_run::mean_score;
use totune_evidence::select::scope::Scope;
use totune_evidence::text::{counted, fixed};
use totune_stats::mean;

use super::rendered::number;
use super::{Cell, Csv, RenderedTable, TableKind};
use crate::item::Heading;

/// `kind = "ranks"`: rows of groups, columns of tasks, each by its own metric.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Ranks {
    /// Heading over the names of the rows.
    stub: String,
    groups: Vec<String>,
    /// Names of tasks; none means all.
    #[serde(default)]
    tasks: Vec<String>,
}

impl TableKind for Ranks {
    fn check(&self, plan: &Plan, from: &str) -> Result<()> {
        ensure!(
            self.groups.len() > 1,
            "{from}: found {}, expected at least two to rank",
            counted(self.groups.len(), "group")
        );
        plan.check_groups(&self.groups, from)?;
        plan.tasks_named(&self.tasks, from).map(|_| ())
    }

    fn render(&self, heading: &Heading, scope: &Scope, _: &[Judged]) -> Result<RenderedTable> {
        let tasks = scope.plan.tasks_named(&self.tasks, &scope.from)?;
        let mut titles = Vec::new();
        let mut means: Vec<Vec<Option<f64>>> = Vec::new();
        for name in &self.groups {
            let (title, of_tasks) = self.means(name, &tasks, scope)?;
            titles.push(title);
            means.push(of_tasks);
        }
        let column = |at: usize| {
            means
                .iter()
                .map(|row| row[at])
                .collect::<Option<Vec<f64>>>()
        };
        let by_task: Vec<Option<Vec<f64>>> = (0..tasks.len())
            .map(|at| column(at).map(|scores| ranks(&scores)))
            .collect();
        let mut csv = Csv::new("table,row,task,metric,mean,rank");
        let rank = |task: usize, row: usize| by_task[task].as_ref().map(|ranks| ranks[row]);
        let over_tasks = |row: usize| {
            let ranks: Vec<f64> = (0..tasks.len())
                .filter_map(|task| rank(task, row))
                .collect();
            (!ranks.is_empty()).then(|| mean(&ranks))
        };
        let best = (0..titles.len())
            .filter_map(over_tasks)
            .min_by(f64::total_cmp);
        let rows = titles.iter().enumerate().map(|(row, title)| {
            let mut cells = vec![Cell::of(title)];
            for (at, task) in tasks.iter().enumerate() {
                let score = means[row][at];
                let shown = |value: f64, digits| fixed(value, digits);
                let main = rank(at, row).map_or(String::new(), |rank| shown(rank, 1));
                let detail = score.map_or("no run".to_owned(), |score| shown(score, 3));
                cells.push(Cell::of(main).detail(detail));
                let names = [&heading.id, title, &task.title, &task.metric].map(String::clone);
                csv.line(names.into_iter().chain([score, rank(at, row)].map(number)));
            }
            let all = over_tasks(row);
            cells.push(Cell {
                best: all.is_some() && all == best,
                ..Cell::of(all.map_or(String::new(), |rank| fixed(rank, 2)))
            });
            cells
        });
        let parts = RenderedTable::single_part(rows.collect());
        let ranked = by_task.iter().flatten().count();
        let heads = tasks.iter().map(|task| task.title.clone());
        Ok(RenderedTable {
            columns: RenderedTable::columns_of(&self.stub, heads.chain(["Mean rank".to_owned()])),
            parts,
            notes: vec![format!(
                "rank / mean score: 1 is the highest mean over seeds, equal means share a rank; the mean rank is over the {} on \
                 which every row has a score",
                counted(ranked, "task")
            )],
            csv,
            ..RenderedTable::default()
        })
    }
}

impl Ranks {
    /// The title of a group with the labels of its runs, and its mean score on each task.
    fn means(
        &self,
        name: &str,
        tasks: &[&Task],
        scope: &Scope,
    ) -> Result<(String, Vec<Option<f64>>)> {
        let on = TaskRuns::of_tasks(&Side::One(name.to_owned()), tasks, scope)?;
        let labels: BTreeSet<&String> = on.iter().flat_map(|on| &on.labels).collect();
        let title = labelled(&scope.plan.group(name, &scope.from)?.title, labels);
        let means = tasks.iter().zip(&on);
        let means = means.map(|(task, task_runs)| mean_score(task_runs, task));
        Ok((title, means.collect()))
    }
}

/// Ranks from 1 for the highest; equal values share the mean of their places.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let above = values.iter().filter(|other| *other > value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        above as f64 + 0.5 * (equal as f64 + 1.0)
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn equal_values_share_a_rank() {
        // scipy.stats.rankdata([-0.9, -0.8, -0.9, -0.7, -0.9]) of scipy 1.17.1.
        assert_eq!(ranks(&[0.9, 0.8, 0.9, 0.7, 0.9]), [2.0, 4.0, 2.0, 5.0, 2.0]);
    }

    #[test]
    fn groups_are_ranked_on_each_task_and_over_all() {
        let settings = "kind = 'ranks'\nstub = 'Strategy'\ngroups = ['full', 'last-2', 'last-1']";
        let table = fixture::table_of_tasks(settings).unwrap();
        let of_row = |row: usize| -> Vec<&str> {
            let cells = table.parts[0].rows[row].iter();
            cells.map(|cell| cell.main.as_str()).collect()
        };
        // All layers are best on the two tasks of few examples, the last layer on those of many; see `fixture`.
        assert_eq!(
            of_row(0),
            ["All layers", "1.0", "1.0", "3.0", "3.0", "2.00"]
        );
        assert_eq!(of_row(1)[5], "1.75");
        // 0.8 and the noise of three seeds: 0.004 (1.5 - 1.5 - 4.5) / 3.0277 / 3.
        let letters = "table,All layers,Letters,accuracy,0.798";
        assert!(table.csv.text().contains(letters));
    }

    #[test]
    fn a_task_without_all_groups_is_not_ranked() {
        let settings = "kind = 'ranks'\nstub = 'Strategy'\ngroups = ['full', 'last-3']";
        let table = fixture::table_of_tasks(settings).unwrap();
        assert_eq!(table.parts[0].rows[1][1].detail, "no run");
        assert!(
            table.notes[0].contains("over the 0 tasks"),
            "{:?}",
            table.notes
        );
        let error =
            fixture::table_of_tasks("kind = 'ranks'\nstub = ''\ngroups = ['full']").unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("found 1 group, expected at least two to rank")
        );
    }
}
