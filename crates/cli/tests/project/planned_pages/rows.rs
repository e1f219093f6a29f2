//! Rows of runs that never ran: synthetic predictions, which are scored like those of a trained run.

use std::hash::{DefaultHasher, Hash, Hasher};

use totune_data::{Card, Catalogue, Task};
use totune_record::{EvalRow, PredictionRow, RunRow, Tables};
use totune_stats::{SpanEvaluation, classification_scores_with, regression_scores, tagging_scores};
use totune_sweep::{Information, RunSpec, Work};

/// Examples of a split.
const EXAMPLES: usize = 100;

/// One run of each spec, with scores and predictions.
pub fn tables(runs: &[RunSpec], cards: &Catalogue) -> Tables {
    let mut tables = Tables::default();
    for run in runs {
        let card = cards.find(&run.dataset).expect("a card");
        add(&mut tables, run, card);
    }
    tables.sort();
    tables
}

fn add(tables: &mut Tables, run: &RunSpec, card: &Card) {
    let (first_phase, epochs) = epochs(run);
    let is_trial = run.experiment.ends_with("-search");
    let splits = [
        ("dev", run.split.has_dev()),
        (
            "test",
            !is_trial && !matches!(run.work, Work::Divergence(_)),
        ),
    ];
    let mut eval = |at: u32, split: &str, metric: &str, value: f64| {
        tables.evals.push(EvalRow {
            run_id: run.id(),
            phase: u32::from(at > first_phase && first_phase > 0),
            epoch: at,
            step: u64::from(at),
            split: split.to_owned(),
            metric: metric.to_owned(),
            value,
            n: EXAMPLES as u64,
            train_seconds: f64::from(at) + drawn((run.id(), "seconds")),
            is_final: at == epochs,
        });
    };
    for (split, _) in splits.into_iter().filter(|(_, is_scored)| *is_scored) {
        let SplitOutputs { scores, rows } = SplitOutputs::of(run, card, split);
        match &run.work {
            Work::Probe(work) => by_layer(card, &scores, work.mi, |metric, value| {
                eval(epochs, split, metric, value);
            }),
            // Increases by 0.01 per epoch; work without training is scored once.
            _ => (epochs.min(1)..=epochs).for_each(|at| {
                let lower = 0.01 * f64::from(epochs - at);
                scores
                    .iter()
                    .for_each(|(metric, value)| eval(at, split, metric, value - lower));
            }),
        }
        if split == "test" {
            tables.predictions.extend(rows);
        }
    }
    (1..=first_phase).for_each(|at| eval(at, "train", "gap", 0.03 * f64::from(at)));
    if let Work::Divergence(_) = run.work {
        eval(0, "train", "js-divergence", drawn(run.id()));
    }
    tables.runs.push(row(run, epochs));
}

/// Epochs of the first of two phases, where there are two, and of all.
fn epochs(run: &RunSpec) -> (u32, u32) {
    let Work::Tune(work) = &run.work else {
        return (0, 0);
    };
    let first = match work.training.adaptation.label() {
        label if label.starts_with("stack-and-finetune") => 1 + (run.seed % 2) as u32,
        _ => 0,
    };
    (first, first + work.training.epochs.min(3) as u32)
}

/// The row of a run that ended well.
fn row(run: &RunSpec, epochs: u32) -> RunRow {
    let is_trained = matches!(&run.work, Work::Tune(_));
    RunRow {
        run_id: run.id(),
        paper: run.paper.clone(),
        experiment: run.experiment.clone(),
        profile: run.profile.clone(),
        spec: run.canonical_json(),
        dataset: run.dataset.clone(),
        encoder: run.encoder().unwrap_or_default().to_owned(),
        seed: run.seed,
        threads: 1,
        params_total: 100,
        params_trainable: 50,
        epochs,
        steps: u64::from(epochs),
        stop_reason: if is_trained { "epochs" } else { "converged" }.to_owned(),
        train_seconds: f64::from(epochs) + drawn((run.id(), "seconds")),
        status: "ok".to_owned(),
        ..RunRow::default()
    }
}

/// Scores of the card's metrics at five layers, and the mutual information of layers and labels.
fn by_layer(
    card: &Card,
    scores: &[(String, f64)],
    mi: Information,
    mut eval: impl FnMut(&str, f64),
) {
    for layer in 0..5 {
        let higher = 0.01 * f64::from(layer);
        for (metric, score) in scores
            .iter()
            .filter(|(name, _)| card.metrics.contains(name))
        {
            eval(&format!("{metric}@layer-{layer}"), score + higher);
        }
        for metric in ["mi", "mi-first-pass", "mi-2"] {
            for control in ["", "-random-labels", "-random-states"] {
                if mi == Information::Edge {
                    eval(&format!("{metric}{control}@layer-{layer}"), higher);
                }
            }
        }
    }
}

/// The predictions of a run on a split, about 70 to 95 % of which are correct.
struct SplitOutputs {
    scores: Vec<(String, f64)>,
    rows: Vec<PredictionRow>,
}

impl SplitOutputs {
    fn of(run: &RunSpec, card: &Card, split: &str) -> Self {
        let id = run.id();
        let known = 0.7 + 0.25 * drawn((&id, split));
        let is_known = |example: usize| drawn((&id, split, example)) < known;
        match card.task {
            Task::MultiLabel | Task::Ordinal => panic!("no paper has a task of this kind"),
            Task::Classification => {
                let n = card.labels.len();
                let gold: Vec<usize> = (0..EXAMPLES).map(|example| example % n).collect();
                let found = |example: usize| (example + usize::from(!is_known(example))) % n;
                let found: Vec<usize> = (0..EXAMPLES).map(found).collect();
                let positive = card.positive.as_ref();
                let positive =
                    positive.and_then(|of| card.labels.iter().position(|label| label == of));
                let asked = card.metrics.iter().map(String::as_str);
                let scores = classification_scores_with(&gold, &found, n, positive, asked);
                let rows = gold
                    .iter()
                    .zip(&found)
                    .enumerate()
                    .map(|(example, (gold, found))| {
                        let likely = |class| {
                            if class == *found {
                                0.9
                            } else {
                                0.1 / (n - 1) as f32
                            }
                        };
                        PredictionRow {
                            run_id: id.clone(),
                            split: split.to_owned(),
                            example_id: format!("{example:03}"),
                            position: 0,
                            gold: card.labels[*gold].clone(),
                            predicted: card.labels[*found].clone(),
                            scores: (0..n).map(likely).collect(),
                        }
                    });
                Self {
                    rows: rows.collect(),
                    scores: owned(scores),
                }
            }
            Task::Regression => {
                let gold: Vec<f64> = (0..EXAMPLES).map(|example| (example % 7) as f64).collect();
                let found = (0..EXAMPLES)
                    .map(|example| gold[example] + f64::from(u8::from(!is_known(example))));
                let scores = regression_scores(&gold, &found.collect::<Vec<_>>());
                Self {
                    scores: owned(scores),
                    rows: vec![],
                }
            }
            Task::Tagging => {
                let sentence = |known| vec![if known { "B-PER" } else { "O" }, "O"];
                let gold: Vec<Vec<&str>> = (0..EXAMPLES).map(|_| sentence(true)).collect();
                let found: Vec<Vec<&str>> =
                    (0..EXAMPLES).map(|at| sentence(is_known(at))).collect();
                Self {
                    scores: tagging_scores(&gold, &found, SpanEvaluation::Conlleval),
                    rows: vec![],
                }
            }
        }
    }
}

fn owned(scores: Vec<(&str, f64)>) -> Vec<(String, f64)> {
    let scores = scores.into_iter();
    scores
        .map(|(metric, value)| (metric.to_owned(), value))
        .collect()
}

/// A number from 0 to 1 that is always the same for the same value.
fn drawn(of: impl Hash) -> f64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    (hasher.finish() >> 11) as f64 / (1u64 << 53) as f64
}
