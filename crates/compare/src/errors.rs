//! The errors of the chosen model on the test examples.

use serde::Serialize;
use totune_data::{Dataset, Input, Target};
use totune_stats::for_class;

use crate::predictions::Predictions;

/// Labels up to which a confusion matrix can be read.
const MOST_LABELS: usize = 12;
/// Errors that are shown.
const SHOWN: usize = 20;

/// The errors of the chosen model on the test examples.
#[derive(Debug, Default, Serialize)]
pub struct Errors {
    labels: Vec<String>,
    /// The confusion matrix: for each gold label, how often each was predicted.
    confusion: Vec<Vec<usize>>,
    /// For each label: precision, recall, F1 and support.
    classes: Vec<Class>,
    worst: Vec<Misprediction>,
    /// True if they are sorted, the worst first; a classifier without probabilities gives no such order.
    ranked: bool,
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
struct Misprediction {
    id: String,
    text: String,
    gold: String,
    predicted: String,
    #[serde(skip)]
    by: f64,
}

impl Errors {
    /// The errors of predictions for the examples of a dataset.
    pub fn of(dataset: &Dataset, predictions: &Predictions) -> Self {
        let labels = dataset.labels.clone();
        let class = |targets: &[Target]| -> Vec<usize> {
            targets.iter().filter_map(Target::class).collect()
        };
        let (gold, predicted) = (class(&predictions.gold), class(&predictions.predicted));
        let mut confusion = Vec::new();
        let mut classes = Vec::new();
        if !gold.is_empty() {
            if labels.len() <= MOST_LABELS {
                confusion = vec![vec![0; labels.len()]; labels.len()];
                for (gold, predicted) in gold.iter().zip(&predicted) {
                    confusion[*gold][*predicted] += 1;
                }
            }
            classes = labels
                .iter()
                .enumerate()
                .map(|(at, label)| {
                    let scores = for_class(&gold, &predicted, at);
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
        let mut worst: Vec<Misprediction> = dataset
            .examples
            .iter()
            .enumerate()
            .filter_map(|(at, example)| {
                let (gold, predicted) = (&predictions.gold[at], &predictions.predicted[at]);
                let by = distance(gold, predicted, predictions.probabilities.get(at).copied());
                (by > 0.0).then(|| Misprediction {
                    id: example.id.clone(),
                    text: shown_text(&example.input),
                    gold: shown(gold, &labels),
                    predicted: shown(predicted, &labels),
                    by,
                })
            })
            .collect();
        worst.sort_by(|a, b| b.by.total_cmp(&a.by));
        let ranked = worst.first().map(|one| one.by) != worst.last().map(|one| one.by);
        worst.truncate(SHOWN);
        Self {
            labels,
            confusion,
            classes,
            worst,
            ranked,
        }
    }
}

/// The error of a prediction: 0 where it is right; for a label, its probability; for a score, the absolute difference;
/// for tags, the number of wrong ones.
fn distance(gold: &Target, predicted: &Target, probability: Option<f32>) -> f64 {
    match (gold, predicted) {
        (Target::Value(gold), Target::Value(predicted)) => (gold - predicted).abs(),
        (Target::Tags(gold), Target::Tags(predicted)) => gold
            .iter()
            .zip(predicted)
            .filter(|(gold, predicted)| gold != predicted)
            .count() as f64,
        (gold, predicted) if gold == predicted => 0.0,
        _ => f64::from(probability.unwrap_or(1.0)),
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
