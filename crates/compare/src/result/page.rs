//! One self-contained page: the result, the table, the command that trains the choice, learning curves, errors.

use anyhow::Result;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, HtmlEscape, context};
use serde::Serialize;
use totune_plot::levels::Level;
use totune_plot::lines::{LinePanel, LineSeries};
use totune_plot::series::{Series, SeriesPanel};
use totune_plot::time::Time;
use totune_plot::{Figure, Panel};
use totune_stats::number::counted;

use super::Comparison;
use super::errors::Errors;
use super::row::Row;

/// The page as one HTML file: style and figures inside, no script, nothing to fetch.
///
/// `command` is the one that made the page, `train` the one that trains the chosen model, if there is one.
///
/// # Errors
/// When a figure cannot be made.
pub fn page(
    comparison: &Comparison,
    errors: &Errors,
    command: &str,
    train: Option<&str>,
) -> Result<String> {
    let mut environment = Environment::new();
    environment.add_template("compare.html", include_str!("../../templates/compare.html"))?;
    let template = environment.get_template("compare.html")?;
    let rows: Vec<PageRow> = comparison
        .rows
        .iter()
        .map(|row| PageRow::of(row, comparison))
        .collect();
    let stamp = comparison
        .fixture
        .then(|| "fixture: not a result".to_string());
    let figure = |panel: Panel| {
        Figure {
            panels: vec![panel],
            stamp: stamp.clone(),
        }
        .svg()
    };
    let time = time_panel(comparison).map(&figure).transpose()?;
    let curve = learning_panel(comparison).map(&figure).transpose()?;
    let safe = |svg: Option<String>| svg.map(Value::from_safe_string);
    Ok(template.render(context! {
        style => Value::from_safe_string(include_str!("../../templates/compare.css").to_string()),
        comparison => Value::from(Serde(comparison)),
        sentence => with_code(&comparison.sentence),
        rows => Value::from(Serde(&rows)),
        notes => comparison.notes.iter().map(|note| with_code(note)).collect::<Vec<_>>(),
        has_dev => comparison.rows.iter().any(|row| row.dev.is_some()),
        same_time => comparison.rows.iter().any(|row| row.is_after_same_time),
        errors => Value::from(Serde(errors)),
        time => safe(time),
        curve => safe(curve),
        command => command,
        train => train,
    })?)
}

/// A sentence or note as HTML, with what is in backticks as code.
fn with_code(note: &str) -> Value {
    let parts = note.split('`').enumerate().map(|(at, part)| {
        let part = HtmlEscape(part);
        if at % 2 == 1 {
            format!("<code>{part}</code>")
        } else {
            part.to_string()
        }
    });
    Value::from_safe_string(parts.collect())
}

/// A row as the table shows it.
#[derive(Debug, Serialize)]
struct PageRow {
    title: String,
    chosen: bool,
    dev: String,
    test: String,
    interval: String,
    relation: String,
    seconds: String,
    models: String,
    note: String,
}

impl PageRow {
    fn of(row: &Row, comparison: &Comparison) -> Self {
        let number =
            |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
        let interval = |low: f64, high: f64| format!("[{low:.3}, {high:.3}]");
        let learned = match (row.epochs, row.examples) {
            (0, 0) => String::new(),
            (0, n) => counted(n, "example"),
            (epochs, n) => format!("{} × {}", counted(n, "example"), counted(epochs, "epoch")),
        };
        let chosen = comparison.chosen.as_ref() == Some(&row.name);
        Self {
            title: row.title.clone(),
            chosen,
            dev: number(row.dev),
            test: number(row.test.map(|test| test.value)),
            interval: row
                .test
                .map_or(String::new(), |test| interval(test.low, test.high)),
            relation: match row.relation(comparison.margin) {
                Some(relation) => relation,
                None if chosen => "the choice".into(),
                None => String::new(),
            },
            seconds: row
                .train_seconds
                .map_or(String::new(), |seconds| format!("{seconds:.1}")),
            models: match row.learning_rate {
                Some(lr) if row.seeds > 0 => {
                    format!(
                        "{} of {learned}, learning rate {lr:e}",
                        counted(row.seeds, "model")
                    )
                }
                _ if !row.is_strategy => learned,
                _ => String::new(),
            },
            note: row.note.clone().unwrap_or_default(),
        }
    }
}

/// Score over training time: the trial with the median score of each strategy, and the floors as levels.
fn time_panel(comparison: &Comparison) -> Option<Panel> {
    let lines: Vec<LineSeries> = comparison
        .rows
        .iter()
        .filter(|row| !row.learning.is_empty())
        .map(|row| LineSeries {
            title: row.noun.clone(),
            epochs: epochs(&row.learning),
            runs: 1,
            switches: Vec::new(),
        })
        .collect();
    let floors = comparison.rows.iter().filter(|row| !row.is_strategy);
    let levels = floors.filter_map(|row| {
        let text = row.noun.clone();
        Some(Level { at: row.dev?, text })
    });
    (!lines.is_empty()).then(|| {
        Panel::Lines(LinePanel {
            title: "Score over training time".into(),
            measure: format!("{} on dev", comparison.metric),
            time: Time::Linear,
            lines,
            frontier: Vec::new(),
            levels: levels.collect(),
        })
    })
}

/// Seconds and scores as the epochs of one run.
fn epochs(points: &[(f64, f64)]) -> Vec<totune_stats::curve::Epoch> {
    let curve = totune_stats::Curve::new(points.to_vec());
    let curves: Vec<_> = curve.into_iter().collect();
    totune_stats::curve::epochs(&curves, totune_stats::curve::Stopped::Leaves)
}

/// Score over training examples.
fn learning_panel(comparison: &Comparison) -> Option<Panel> {
    let points = comparison
        .learning_curve
        .iter()
        .filter_map(|(n, score)| Some((*n as u32, totune_stats::curve::Spread::of(&[*score])?)));
    let points: Vec<_> = points.collect();
    (points.len() > 1).then(|| {
        Panel::Series(SeriesPanel {
            title: "Would more labels help?".into(),
            measure: format!("{} on dev", comparison.metric),
            across: "Training examples".into(),
            lines: vec![Series {
                title: "the choice".into(),
                points,
                ..Series::default()
            }],
            ..SeriesPanel::default()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_command_that_trains_the_choice() {
        let comparison = Comparison {
            dataset: "own".into(),
            title: "Own".into(),
            card: "own.toml".into(),
            hash: "00".into(),
            fixture: false,
            encoders: vec!["minilm".into()],
            dtype: "f32",
            metric: "accuracy".into(),
            margin: 0.01,
            score: None,
            sentence: "Fine-tune all layers: accuracy 0.8. Put `f1-macro` first.".into(),
            chosen: Some("full".into()),
            rows: Vec::new(),
            learning_curve: Vec::new(),
            notes: vec!["With `--pairs joint`, a < b.".into()],
            budget_seconds: 60.0,
            spent_seconds: 50.0,
            stopped: false,
        };
        let train = "totune train own.toml --strategy full --lr 1e-4";
        let with = |train| {
            page(
                &comparison,
                &Errors::default(),
                "totune compare own.csv",
                train,
            )
            .unwrap()
        };
        assert!(with(Some(train)).contains(train));
        assert!(!with(None).contains("totune train"));
        assert!(with(None).contains("Put <code>f1-macro</code> first."));
        assert!(with(None).contains("With <code>--pairs joint</code>, a &lt; b."));
    }
}
