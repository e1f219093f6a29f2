//! One self-contained page: the answer, the table, time against score, and where the chosen model is wrong.

use anyhow::Result;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use serde::Serialize;
use totune_data::{Dataset, Input, Target};
use totune_plot::lines::{LinePanel, LineSeries};
use totune_plot::series::{Level, Series, SeriesPanel};
use totune_plot::time::Time;
use totune_plot::{Figure, Panel};
use totune_stats::for_class;

use crate::answer::{Answer, Row, relation};
use crate::answers::Answers;

/// Labels up to which a matrix of confusions can be read.
const MOST_LABELS: usize = 12;
/// Errors that are shown.
const SHOWN: usize = 20;

/// Where the chosen model is wrong.
#[derive(Debug, Default, Serialize)]
pub struct Errors {
    labels: Vec<String>,
    /// Of each label, how often each was said.
    confusion: Vec<Vec<usize>>,
    /// Of each label: precision, recall, F1 and how many there are.
    classes: Vec<Class>,
    worst: Vec<Wrong>,
}

#[derive(Debug, Serialize)]
struct Class {
    label: String,
    precision: f64,
    recall: f64,
    f1: f64,
    n: usize,
}

#[derive(Debug, Serialize)]
struct Wrong {
    id: String,
    text: String,
    gold: String,
    said: String,
    #[serde(skip)]
    by: f64,
}

impl Errors {
    /// Those of answers to the examples of a dataset.
    pub fn of(dataset: &Dataset, answers: &Answers) -> Self {
        let labels = dataset.labels.clone();
        let class = |targets: &[Target]| -> Vec<usize> {
            targets.iter().filter_map(Target::class).collect()
        };
        let (gold, said) = (class(&answers.gold), class(&answers.said));
        let mut confusion = Vec::new();
        let mut classes = Vec::new();
        if !gold.is_empty() {
            if labels.len() <= MOST_LABELS {
                confusion = vec![vec![0; labels.len()]; labels.len()];
                for (gold, said) in gold.iter().zip(&said) {
                    confusion[*gold][*said] += 1;
                }
            }
            classes = labels
                .iter()
                .enumerate()
                .map(|(at, label)| {
                    let scores = for_class(&gold, &said, at);
                    Class {
                        label: label.clone(),
                        precision: scores.precision,
                        recall: scores.recall,
                        f1: scores.f1,
                        n: gold.iter().filter(|class| **class == at).count(),
                    }
                })
                .collect();
        }
        let mut worst: Vec<Wrong> = dataset
            .examples
            .iter()
            .enumerate()
            .filter_map(|(at, example)| {
                let (gold, said) = (&answers.gold[at], &answers.said[at]);
                let by = distance(gold, said, answers.sure.get(at).copied());
                (by > 0.0).then(|| Wrong {
                    id: example.id.clone(),
                    text: shown_text(&example.input),
                    gold: shown(gold, &labels),
                    said: shown(said, &labels),
                    by,
                })
            })
            .collect();
        worst.sort_by(|a, b| b.by.total_cmp(&a.by));
        worst.truncate(SHOWN);
        Self {
            labels,
            confusion,
            classes,
            worst,
        }
    }
}

/// How wrong an answer is: 0 where it is right; of labels, how sure the model was.
fn distance(gold: &Target, said: &Target, sure: Option<f32>) -> f64 {
    match (gold, said) {
        (Target::Value(gold), Target::Value(said)) => (gold - said).abs(),
        (Target::Tags(gold), Target::Tags(said)) => gold
            .iter()
            .zip(said)
            .filter(|(gold, said)| gold != said)
            .count() as f64,
        (gold, said) if gold == said => 0.0,
        _ => f64::from(sure.unwrap_or(1.0)),
    }
}

fn shown(target: &Target, labels: &[String]) -> String {
    match target {
        Target::Class(class) => labels[*class].clone(),
        Target::Value(value) => format!("{value:.2}"),
        Target::Tags(tags) => {
            let named = tags.iter().map(|tag| labels[*tag].as_str());
            named.collect::<Vec<_>>().join(" ")
        }
        Target::Unknown => String::new(),
    }
}

fn shown_text(input: &Input) -> String {
    let text = match input {
        Input::Text(text) => text.clone(),
        Input::Pair(first, second) => format!("{first} ⏵ {second}"),
        Input::Words(words) => words.join(" "),
    };
    match text.char_indices().nth(300) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// The page as one HTML file: style and figures inside, no script, nothing to fetch.
///
/// `command` is the one that made the page, `train` the one that trains the chosen model, if there is one.
///
/// # Errors
/// When a figure cannot be drawn.
pub fn page(
    answer: &Answer,
    errors: &Errors,
    command: &str,
    train: Option<&str>,
) -> Result<String> {
    let mut environment = Environment::new();
    environment.add_template("compare.html", include_str!("../templates/compare.html"))?;
    let template = environment.get_template("compare.html")?;
    let rows: Vec<Shown> = answer
        .rows
        .iter()
        .map(|row| Shown::of(row, answer))
        .collect();
    let stamp = answer.fixture.then(|| "fixture: not a result".to_string());
    let figure = |panel: Panel| {
        Figure {
            panels: vec![panel],
            stamp: stamp.clone(),
        }
        .svg()
    };
    let time = time_panel(answer).map(&figure).transpose()?;
    let curve = learning_panel(answer).map(&figure).transpose()?;
    let safe = |svg: Option<String>| svg.map(Value::from_safe_string);
    Ok(template.render(context! {
        style => Value::from_safe_string(include_str!("../templates/compare.css").to_string()),
        answer => Value::from(Serde(answer)),
        rows => Value::from(Serde(&rows)),
        has_dev => answer.rows.iter().any(|row| row.dev.is_some()),
        errors => Value::from(Serde(errors)),
        time => safe(time),
        curve => safe(curve),
        command => command,
        train => train,
    })?)
}

/// A row as the table shows it.
#[derive(Debug, Serialize)]
struct Shown {
    title: String,
    chosen: bool,
    dev: String,
    test: String,
    interval: String,
    relation: String,
    seconds: String,
    runs: String,
    note: String,
}

impl Shown {
    fn of(row: &Row, answer: &Answer) -> Self {
        let number =
            |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
        let interval = |low: f64, high: f64| format!("[{low:.3}, {high:.3}]");
        let learned = match (row.epochs, row.examples) {
            (0, 0) => String::new(),
            (0, n) => format!("{n}"),
            (epochs, n) => format!("{n} × {epochs}"),
        };
        let chosen = answer.chosen.as_ref() == Some(&row.name);
        Self {
            title: row.title.clone(),
            chosen,
            dev: number(row.dev),
            test: number(row.test.map(|test| test.value)),
            interval: row
                .test
                .map_or(String::new(), |test| interval(test.low, test.high)),
            relation: match row.difference {
                Some(found) => relation(found, answer.margin),
                None if chosen => "the choice".into(),
                None => String::new(),
            },
            seconds: row
                .train_seconds
                .map_or(String::new(), |seconds| format!("{seconds:.1}")),
            runs: match row.learning_rate {
                Some(lr) if row.seeds > 0 => {
                    format!("{} of {learned}, learning rate {lr:e}", row.seeds)
                }
                _ if !row.is_strategy => learned,
                _ => String::new(),
            },
            note: row.note.clone().unwrap_or_default(),
        }
    }
}

/// Time against score: the run of the median of each strategy, and the floors as levels.
fn time_panel(answer: &Answer) -> Option<Panel> {
    let lines: Vec<LineSeries> = answer
        .rows
        .iter()
        .filter(|row| !row.course.is_empty())
        .map(|row| LineSeries {
            title: row.noun.clone(),
            epochs: crate::page::course(&row.course),
            runs: 1,
            switches: Vec::new(),
        })
        .collect();
    let floors = answer.rows.iter().filter(|row| !row.is_strategy);
    let levels = floors.filter_map(|row| {
        let text = row.noun.clone();
        Some(Level { at: row.dev?, text })
    });
    (!lines.is_empty()).then(|| {
        Panel::Lines(LinePanel {
            title: "Time against score".into(),
            measure: format!("{} on dev", answer.metric),
            time: Time::Linear,
            lines,
            frontier: Vec::new(),
            levels: levels.collect(),
        })
    })
}

/// Seconds and scores as the epochs of one run.
fn course(points: &[(f64, f64)]) -> Vec<totune_stats::curve::Epoch> {
    let curve = totune_stats::Curve::new(points.to_vec());
    let curves: Vec<_> = curve.into_iter().collect();
    totune_stats::curve::epochs(&curves, totune_stats::curve::Stopped::Leaves)
}

/// What more labels would bring.
fn learning_panel(answer: &Answer) -> Option<Panel> {
    let points = answer
        .learning_curve
        .iter()
        .filter_map(|(n, score)| Some((*n as u32, totune_stats::curve::Spread::of(&[*score])?)));
    let points: Vec<_> = points.collect();
    (points.len() > 1).then(|| {
        Panel::Series(SeriesPanel {
            title: "Would more labels help?".into(),
            measure: format!("{} on dev", answer.metric),
            across: "Training examples".into(),
            lines: vec![Series {
                title: "the choice".into(),
                points,
                ..Series::default()
            }],
            uprights: Vec::new(),
            levels: Vec::new(),
            words: Vec::new(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_command_that_trains_the_choice() {
        let answer = Answer {
            dataset: "own".into(),
            title: "Own".into(),
            fixture: false,
            encoder: "minilm".into(),
            metric: "accuracy".into(),
            margin: 0.01,
            sentence: "Fine-tune all layers: accuracy 0.8.".into(),
            chosen: Some("full".into()),
            rows: Vec::new(),
            learning_curve: Vec::new(),
            notes: Vec::new(),
            budget_seconds: 60.0,
            spent_seconds: 50.0,
            stopped: false,
        };
        let train = "totune train own.toml --strategy full --lr 1e-4";
        let with =
            |train| page(&answer, &Errors::default(), "totune compare own.csv", train).unwrap();
        assert!(with(Some(train)).contains(train));
        assert!(!with(None).contains("totune train"));
    }
}
