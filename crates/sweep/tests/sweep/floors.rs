//! Each kind of floor on each kind of task, from an experiment's file to rows.

use std::collections::BTreeSet;

use crate::support::{run, score};
use totune_record::Tables;

/// An experiment of a floor on a dataset; settings of training and seeds are present, as in a paper's defaults.
fn experiment(floor: &str, dataset: &str) -> String {
    let split = match dataset {
        "fixture-tweets" => r#"{ kind = "hold-out", test = 0.3, seed = 13 }"#,
        "fixture-ner" => {
            r#"{ kind = "files", test = "test", dev = 0.0, dev-split = "dev", seed = 1 }"#
        }
        _ => r#"{ kind = "files", test = "dev", dev = 0.25, seed = 1 }"#,
    };
    format!(
        r#"
        paper = "demo"
        experiment = "runs"
        kind = "floor"
        datasets = ["{dataset}"]
        encoders = ["fixture-bert"]
        split = {split}
        max-length = 32
        evaluation-batch-size = 32
        epochs = 3
        seeds = [1, 2]
        floor = {floor}
        [profiles.fixture]
        "#
    )
}

/// Runs the experiment's only run and returns its tables.
fn floor(floor: &str, dataset: &str) -> Tables {
    let (summary, mut tables) = run(&experiment(floor, dataset));
    assert_eq!(tables.len(), 1);
    let run = &tables[0].runs[0];
    assert_eq!((summary.finished, summary.failed), (1, 0), "{}", run.error);
    assert_eq!((run.seed, run.epochs), (0, 0));
    tables.remove(0)
}

fn value(tables: &Tables, split: &str, metric: &str) -> f64 {
    let row = score(tables, split, metric);
    let row = row.unwrap_or_else(|| panic!("{metric} on {split}"));
    assert!(row.is_final);
    row.value
}

/// The distinct predictions on test.
fn predicted(tables: &Tables) -> BTreeSet<&str> {
    let test = tables.predictions.iter().filter(|row| row.split == "test");
    test.map(|row| row.predicted.as_str()).collect()
}

#[test]
fn the_majority_is_the_same_answer_for_every_example() {
    let tweets = floor(r#""majority""#, "fixture-tweets");
    assert_eq!(predicted(&tweets).len(), 1);
    let rows = &tweets.predictions;
    let right = rows.iter().filter(|row| row.gold == row.predicted).count();
    let accuracy = value(&tweets, "test", "accuracy");
    assert_eq!(accuracy, right as f64 / rows.len() as f64);
    assert!(accuracy >= 0.5);
    // Guessing by shares costs at most as much as by the toss of a coin, on a test part with the same shares.
    assert!((value(&tweets, "test", "loss") - 2f64.ln()).abs() < 0.05);
    assert_eq!(tweets.runs[0].encoder, "");
    assert_eq!(tweets.runs[0].stop_reason, "computed");

    let similarity = floor(r#""majority""#, "fixture-similarity");
    assert_eq!(predicted(&similarity).len(), 1);
    assert!(value(&similarity, "test", "mse") > 0.0);
    // A constant has no correlation.
    for metric in ["pearson", "spearman", "spearman-textbook"] {
        assert!(score(&similarity, "test", metric).is_none(), "{metric}");
    }

    let ner = floor(r#""majority""#, "fixture-ner");
    assert_eq!(predicted(&ner), BTreeSet::from(["O"]));
    assert_eq!(value(&ner, "test", "span-f1"), 0.0);
    assert!(value(&ner, "test", "token-accuracy") > 0.5);
}

#[test]
fn word_counts_learn_from_texts_pairs_and_words() {
    let tweets = floor(r#""word-counts""#, "fixture-tweets");
    let majority = floor(r#""majority""#, "fixture-tweets");
    let accuracy = |tables| value(tables, "test", "accuracy");
    assert!(
        accuracy(&tweets) > accuracy(&majority),
        "{}",
        accuracy(&tweets)
    );
    assert!(value(&tweets, "train", "chosen-c") > 0.0);
    assert_eq!(tweets.runs[0].stop_reason, "converged");
    let scores = &tweets.predictions[0].scores;
    assert!(
        (scores.iter().sum::<f32>() - 1.0).abs() < 1e-6,
        "{scores:?}"
    );

    // Three labels and two texts.
    let entailment = floor(r#""word-counts""#, "fixture-entailment");
    assert!((0.0..=1.0).contains(&value(&entailment, "test", "accuracy")));
    assert_eq!(entailment.predictions[0].scores.len(), 3);

    let similarity = floor(r#""word-counts""#, "fixture-similarity");
    assert!(predicted(&similarity).len() > 1);
    assert!(value(&similarity, "train", "chosen-alpha") > 0.0);
    value(&similarity, "dev", "pearson");

    let ner = floor(r#""word-counts""#, "fixture-ner");
    assert!(value(&ner, "test", "span-f1") > 0.0);
    assert!(predicted(&ner).contains("O"));
}

#[test]
fn frozen_vectors_of_any_layer_are_regressed_on() {
    let of = |pooling: &str, layer: usize, standardise: &str| {
        let floor = format!(
            r#"{{ preset = "mean-vectors", pooling = "{pooling}", layer = {layer}, standardise = "{standardise}" }}"#
        );
        self::floor(&floor, "fixture-tweets")
    };
    let tweets = floor(r#""mean-vectors""#, "fixture-tweets");
    let run = &tweets.runs[0];
    assert_eq!(run.encoder, "fixture-bert");
    assert_eq!(run.params_trainable, 32 + 1);
    assert!(run.params_total > run.params_trainable);
    // The top one of its four layers by number.
    let top = of("mean", 4, "off");
    assert_eq!(top.predictions.len(), tweets.predictions.len());
    for (a, b) in top.predictions.iter().zip(&tweets.predictions) {
        assert_eq!(a.scores, b.scores);
    }
    for (pooling, layer) in [("first", 2), ("max", 0)] {
        let accuracy = value(&of(pooling, layer, "on"), "test", "accuracy");
        assert!(
            (0.3..=1.0).contains(&accuracy),
            "{pooling} {layer}: {accuracy}"
        );
    }

    let relatedness = floor(r#""mean-vectors""#, "fixture-relatedness");
    // [u; v; |u - v|; u * v] of 32 dimensions, and the intercept.
    assert_eq!(relatedness.runs[0].params_trainable, 4 * 32 + 1);
    let joint = floor(
        r#"{ preset = "mean-vectors", pairs = "joint" }"#,
        "fixture-relatedness",
    );
    assert_eq!(joint.runs[0].params_trainable, 32 + 1);
}

#[test]
fn a_cosine_is_a_similarity_or_decides_between_two_labels() {
    let similarity = floor(r#""cosine""#, "fixture-similarity");
    value(&similarity, "test", "pearson");
    value(&similarity, "test", "spearman");
    assert!(score(&similarity, "test", "mse").is_none());
    assert_eq!(similarity.runs[0].params_trainable, 0);
    for row in &similarity.predictions {
        let cosine: f64 = row.predicted.parse().expect("a number");
        assert!((-1.0..=1.0).contains(&cosine), "{cosine}");
    }

    let paraphrase = floor(r#""cosine""#, "fixture-paraphrase");
    let threshold = value(&paraphrase, "dev", "threshold");
    assert!((-2.0..=2.0).contains(&threshold), "{threshold}");
    assert!(value(&paraphrase, "dev", "accuracy") >= 0.5);
    value(&paraphrase, "test", "f1-positive");
    assert_eq!(paraphrase.runs[0].params_trainable, 1);
}

#[test]
fn what_a_floor_is_not_for_is_an_error_of_the_run() {
    for (floor, dataset, expected) in [
        (
            r#""cosine""#,
            "fixture-tweets",
            "found single texts, expected pairs",
        ),
        (
            r#""cosine""#,
            "fixture-entailment",
            "a cosine tells 2 labels apart",
        ),
        (
            r#""mean-vectors""#,
            "fixture-ner",
            "has one vector for each text",
        ),
    ] {
        let (summary, tables) = run(&experiment(floor, dataset));
        assert_eq!(
            (summary.finished, summary.failed),
            (0, 1),
            "{floor} {dataset}"
        );
        let error = &tables[0].runs[0].error;
        assert!(error.contains(expected), "{floor} {dataset}: {error}");
    }
}
