//! The errors of the chosen model on the test examples.

use serde::Serialize;
use totune_data::{Dataset, Input, Target, Task, label_sets};
use totune_stats::{PrecisionRecallF1, for_class, for_labels};

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

impl Class {
    fn of(label: &str, scores: PrecisionRecallF1) -> Self {
        Self {
            label: label.to_string(),
            precision: scores.precision,
            recall: scores.recall,
            f1: scores.f1,
            n: scores.support,
        }
    }
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
                .map(|(at, label)| Class::of(label, for_class(&gold, &predicted, at)))
                .collect();
        }
        if dataset.task == Task::MultiLabel {
            let (gold, predicted) = (sets(&predictions.gold), sets(&predictions.predicted));
            let scores = for_labels(&gold, &predicted, labels.len());
            let of_labels = labels.iter().zip(scores);
            classes = of_labels.map(|(label, of)| Class::of(label, of)).collect();
        }
        let mut worst: Vec<Misprediction> = dataset
            .examples
            .iter()
            .enumerate()
            .filter_map(|(at, example)| {
                let (gold, predicted) = (&predictions.gold[at], &predictions.predicted[at]);
                let by = match (gold, predicted) {
                    (Target::Class(gold), Target::Class(predicted))
                        if dataset.task == Task::Ordinal =>
                    {
                        gold.abs_diff(*predicted) as f64
                    }
                    (Target::Labels(gold), Target::Labels(predicted)) => {
                        let probabilities = predictions.of_labels.get(at);
                        wrong_labels(gold, predicted, probabilities.map(Vec::as_slice))
                    }
                    _ => distance(gold, predicted, predictions.probabilities.get(at).copied()),
                };
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

/// The error of a prediction: 0 where it is right; for one label, its probability; for a score, the absolute difference;
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

/// The labels of each example.
fn sets(targets: &[Target]) -> Vec<&[usize]> {
    targets.iter().filter_map(Target::labels).collect()
}

/// The error of several labels: the sum over the wrong ones of the probability of the error, or their number.
fn wrong_labels(gold: &[usize], predicted: &[usize], probabilities: Option<&[f32]>) -> f64 {
    let missed = gold.iter().filter(|label| !predicted.contains(label));
    let added = predicted.iter().filter(|label| !gold.contains(label));
    let p = |label: &usize| probabilities.and_then(|all| Some(f64::from(*all.get(*label)?)));
    let missed = missed.map(|label| 1.0 - p(label).unwrap_or(0.0));
    let added = added.map(|label| p(label).unwrap_or(1.0));
    missed.chain(added).sum()
}

fn shown(target: &Target, labels: &[String]) -> String {
    match target {
        Target::Class(class) => labels[*class].clone(),
        Target::Labels(several) if several.is_empty() => "(no label)".to_string(),
        Target::Labels(several) => label_sets::joined(several, labels),
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
        Input::Pair(first, second) => format!("{first} | {second}"),
        Input::Words(words) => words.join(" "),
    };
    match text.char_indices().nth(300) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
