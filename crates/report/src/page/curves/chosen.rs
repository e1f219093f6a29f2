//! The parts of a request: the task, the conditions, the metric, the groups.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use totune_evidence::plan::{Task, Where, narrow};
use totune_evidence::select::runs::Run;
use totune_evidence::select::scope::Scope;
use totune_evidence::toml_file::{did_you_mean, unknown};

use super::CurvesRequest;
use crate::figures::Kind;
use crate::figures::curves::{Chosen, Curves, STOP_METRIC, auto};
use crate::generic::USUAL_METRICS;
use crate::report_file::ReportFile;

/// The requested task: one of the plan, or a dataset; the latter without a metric where no task has it.
pub(super) fn task(request: &CurvesRequest, scope: &Scope) -> Result<(String, Task)> {
    let (name, tasks) = (&request.task, &scope.plan.tasks);
    if let Some(task) = tasks.get(name) {
        return Ok((name.clone(), task.clone()));
    }
    let runs = scope.runs.all().iter();
    let datasets: BTreeSet<&str> = runs.map(|run| run.row.dataset.as_str()).collect();
    if !datasets.contains(name.as_str()) {
        let known: BTreeSet<&str> = tasks.keys().map(String::as_str).chain(datasets).collect();
        let near = did_you_mean(name, known.iter().copied());
        let known: Vec<&str> = known.into_iter().collect();
        bail!(
            "{}: unknown task `{name}`, expected a task or a dataset: {}{near}",
            scope.from,
            known.join(", ")
        );
    }
    // A dataset of a task is judged as the task is.
    let owner = tasks.values().find(|task| task.datasets.contains(name));
    let (metric, unit) = owner.map_or_else(Default::default, |task| {
        (task.metric.clone(), task.unit.clone())
    });
    let task = Task {
        title: name.clone(),
        datasets: vec![name.clone()],
        metric,
        unit,
        among: vec![],
    };
    Ok((name.clone(), task))
}

/// Conditions as they are typed; numbers and booleans are looked for as text too.
pub(super) fn conditions(typed: &[(String, String)]) -> Where {
    let values = |text: &str| {
        let values = text.split(',').map(str::trim).flat_map(|word| {
            let number = word.parse::<i64>().map(toml::Value::Integer);
            let number = number.or_else(|_| word.parse::<f64>().map(toml::Value::Float));
            let truth = word.parse::<bool>().map(toml::Value::Boolean);
            let text = toml::Value::String(word.to_owned());
            [Some(text), number.ok(), truth.ok()].into_iter().flatten()
        });
        toml::Value::Array(values.collect())
    };
    let mut all = Where::new();
    narrow(
        &mut all,
        typed
            .iter()
            .map(|(path, text)| (path.clone(), values(text))),
    );
    all
}

/// The metric by which the runs of a bare dataset are judged.
pub(super) fn usual_metric(runs: &[&Run], split: &str, from: &str) -> Result<String> {
    let watched: BTreeSet<&str> = runs
        .iter()
        .filter_map(|run| run.fact(STOP_METRIC).and_then(Value::as_str))
        .collect();
    if let (Some(&metric), 1) = (watched.first(), watched.len()) {
        return Ok(metric.to_owned());
    }
    let has = |metric: &&str| runs.iter().any(|run| !run.epochs(metric, split).is_empty());
    USUAL_METRICS
        .into_iter()
        .find(has)
        .map(str::to_owned)
        .with_context(|| {
            format!(
                "{from}: the runs have none of {} on `{split}`; name a metric",
                USUAL_METRICS.join(", ")
            )
        })
}

/// The groups to draw, and notes on settings that differ within those that nobody named.
pub(super) fn groups(
    request: &CurvesRequest,
    (file, task): (&ReportFile, &str),
    runs: &[&Run],
    scope: &Scope,
) -> Result<(Vec<Chosen>, Vec<String>)> {
    let Scope { plan, from, .. } = scope;
    let (found, mixed) = auto::groups(runs);
    if request.groups.is_empty() {
        if let Some(figure) = figure_of(file, task) {
            let chosen = Chosen::of_plan(plan, &figure.groups, &figure.conditions, from)?;
            return Ok((chosen, vec![]));
        }
        ensure!(
            !found.is_empty(),
            "{from}: no run of the task adapts an encoder (`work.training.adaptation.kind`), so none has a line"
        );
        return Ok((found, mixed));
    }
    let chosen = request.groups.iter().map(|name| {
        if let Some(group) = plan.groups.get(name) {
            return Ok(Chosen::of_group(name, group, &Where::new()));
        }
        if let Some(group) = found.iter().find(|group| group.name == *name) {
            return Ok(group.clone());
        }
        let found = found.iter().map(|group| &group.name);
        let known = plan.groups.keys().chain(found).map(String::as_str);
        Err(unknown([from, "group", name], known))
    });
    let chosen = chosen.collect::<Result<Vec<Chosen>>>()?;
    let of_chosen = |note: &String| {
        let mut titles = chosen.iter().map(|group| format!("{}: ", group.title));
        titles.any(|title| note.starts_with(&title))
    };
    let mixed = mixed.into_iter().filter(of_chosen).collect();
    Ok((chosen, mixed))
}

/// The first figure of lines that shows the task, or else the first of all.
fn figure_of<'a>(plan: &'a ReportFile, task: &str) -> Option<&'a Curves> {
    let figures = || {
        plan.figures.iter().filter_map(|figure| match &figure.kind {
            Kind::Curves(figure) => Some(figure),
            _ => None,
        })
    };
    let shows = |figure: &&Curves| figure.panels.iter().any(|panel| panel.task == task);
    figures().find(shows).or_else(|| figures().next())
}
