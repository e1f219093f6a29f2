//! Scores of files with labels.

use super::*;
use crate::support::sentences;
use totune_keep::{Prediction, TaskFacts};

#[test]
fn rows_without_a_label_are_not_scored() {
    let scored = |files: &Files, name: &str, text: &str| {
        let mut source = files.source(name, text, true).expect("a file");
        let found = evaluate(
            &files.model,
            &mut source,
            &mut |_| ControlFlow::Continue(()),
        );
        found.map(|found| (found.rows, found.unlabelled))
    };
    let mut files = Files::new(Task::Classification, &texts());
    let csv = "text,label\nA kite,01\nA mill,\nA hill,-1\n";
    let error = scored(&files, "a.csv", csv).expect_err("-1 is no label");
    assert!(
        error.to_string().contains("line 4: `-1` is no label"),
        "{error}"
    );
    let decimal = "text,label\nA kite,01.0\nA mill,\n";
    assert_eq!(scored(&files, "b.csv", decimal).expect("scores"), (1, 1));
    files.model.manifest.layout.unlabelled = Some("-1".into());
    assert_eq!(scored(&files, "a.csv", csv).expect("scores"), (1, 2));
    let null =
        "{\"text\": \"A kite\", \"label\": null}\n{\"text\": \"A mill\", \"label\": \"01\"}\n";
    assert_eq!(scored(&files, "a.jsonl", null).expect("scores"), (1, 1));
    let error = scored(&files, "a.csv", "text,label\nA kite,\n").expect_err("no label");
    assert!(
        error
            .to_string()
            .ends_with("a.csv: found 1 rows and none with a label, expected at least one"),
        "{error}"
    );
    let files = Files::new(Task::Regression, &texts());
    let csv = "text,label\nA kite,1.5\nA mill,\nA hill,2\n";
    assert_eq!(scored(&files, "a.csv", csv).expect("scores"), (2, 1));
    let mut files = Files::new(Task::Tagging, &sentences());
    if let TaskFacts::Tagging { labels, values } = &mut files.model.manifest.task {
        values.clone_from(labels);
    }
    let numbers = "{\"text\": [\"My\", \"lanterns\"], \"label\": [0, 1]}\n";
    assert_eq!(scored(&files, "a.jsonl", numbers).expect("scores"), (1, 0));
}

#[test]
fn scores_are_those_of_the_predictions() {
    let files = Files::new(Task::Classification, &texts());
    let predictions = files.model.predict(texts()).expect("predictions");
    let labels = files.model.manifest.task.labels();
    // All correct by name, one of them by the value in the training file.
    let mut csv = "text,label\n".to_string();
    for (i, (input, prediction)) in texts().iter().zip(&predictions).enumerate() {
        let class = prediction.predicted.class().expect("a label");
        let label = if i == 0 {
            class.to_string()
        } else {
            labels[class].clone()
        };
        csv.push_str(&format!("\"{}\",\"{label}\"\n", input.texts()[0]));
    }
    let mut source = files.source("test.csv", &csv, true).expect("a file");
    let found = evaluate(
        &files.model,
        &mut source,
        &mut |_| ControlFlow::Continue(()),
    )
    .expect("scores");
    assert_eq!(found.rows, 3);
    assert_eq!(found.metrics[0], ("accuracy".to_string(), 1.0));
    let right: usize = (0..3).map(|label| found.confusion[label][label]).sum();
    assert_eq!(right, 3);
    // All right, so in every bin the error is the distance of the probabilities from 1.
    let probability = |prediction: &Prediction| {
        let class = prediction.predicted.class().expect("a label");
        f64::from(prediction.scores[class])
    };
    let mean = predictions.iter().map(probability).sum::<f64>() / 3.0;
    let score = |name: &str| {
        let found = found.metrics.iter().find(|(metric, _)| metric == name);
        found.expect("a score").1
    };
    assert!((score("ece") - (1.0 - mean)).abs() < 1e-6);
    assert!(score("brier") > 0.0 && score("brier") < 2.0);
}

#[test]
fn several_labels_come_out_between_bars_and_are_scored_in_each_layout() {
    let files = Files::new(Task::MultiLabel, &texts());
    let columns = "n,text,predicted,\"p_late, or lost\",p_01,p_Zoë";
    let out = files.predicted("new.csv", "n,text\n1,A red kite\n", false);
    let (head, row) = out.trim_end().split_once('\n').expect("a header and a row");
    assert_eq!(head, columns);
    let fields: Vec<&str> = row.split(',').collect();
    let p: Vec<f64> = fields[fields.len() - 3..]
        .iter()
        .map(|p| p.parse().expect("a probability"))
        .collect();
    let labels = ["late, or lost", "01", "Zoë"];
    let likely = labels.iter().zip(&p).filter(|(_, p)| **p > 0.5);
    let likely: Vec<&str> = likely.map(|(label, _)| *label).collect();
    let one: serde_json::Value = serde_json::from_str(
        files
            .predicted("new.csv", "n,text\n1,A red kite\n", true)
            .trim_end(),
    )
    .expect("JSON");
    assert_eq!(one["predicted"], serde_json::json!(likely));
    assert_eq!(
        one["probabilities"]["01"].as_f64().map(|p| p as f32),
        Some(p[1] as f32)
    );
    assert!(row.contains(&likely.join("|")), "{row}");

    // Gold labels by the values of the training file (0, 1, 2) or by name.
    let metrics = |name: &str, text: &str| {
        let mut source = files.source(name, text, true).expect("a file");
        let found = evaluate(
            &files.model,
            &mut source,
            &mut |_| ControlFlow::Continue(()),
        );
        let found = found.expect("scores");
        assert_eq!(found.of_labels.len(), 3);
        let support: Vec<usize> = found.of_labels.iter().map(|of| of.support).collect();
        (found.metrics, support)
    };
    let delimited = metrics("a.csv", "text,label\nA red kite,0;Zoë\nA mill,\n");
    assert_eq!(delimited.1, [1, 0, 1]);
    let lists = "{\"text\": \"A red kite\", \"label\": [0, \"Zoë\"]}\n{\"text\": \"A mill\", \"label\": []}\n";
    assert_eq!(metrics("a.jsonl", lists), delimited);
    let names: Vec<&str> = delimited.0.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["f1-micro", "f1-macro", "exact-match", "map", "lrap"]
    );
    let error = files.error("b.csv", "text,label\nA red kite,0;Zoe\n", true);
    assert!(
        error.ends_with("b.csv: line 2: `Zoe` is no label of the model; did you mean `Zoë`? expected one of `late, or lost`, `01`, `Zoë`"),
        "{error}"
    );
}

#[test]
fn labels_in_an_order_are_predicted_by_a_head_that_only_totune_has() {
    let files = Files::new(Task::Ordinal, &texts());
    let card = fs::read_to_string(files.folder.path().join("m/README.md")).expect("a card");
    assert!(
        card.contains("transformers has no ordinal classification"),
        "{card}"
    );
    assert!(card.contains("in an order, from the lowest to the highest: `low`, `middle`, `high`"));
    let out = files.predicted("new.csv", "text\nA red kite\n", false);
    let (head, row) = out.trim_end().split_once('\n').expect("a header and a row");
    assert_eq!(head, "text,predicted,p_low,p_middle,p_high");
    let fields: Vec<&str> = row.split(',').collect();
    let p: Vec<f64> = fields[2..]
        .iter()
        .map(|p| p.parse().expect("a probability"))
        .collect();
    assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{p:?}");
    // The median.
    let expected = match p {
        _ if p[0] >= 0.5 => "low",
        _ if p[2] > 0.5 => "high",
        _ => "middle",
    };
    assert_eq!(fields[1], expected);
    let mut source = files
        .source("a.csv", "text,label\nA red kite,low\nA mill,high\n", true)
        .expect("a file");
    let found = evaluate(
        &files.model,
        &mut source,
        &mut |_| ControlFlow::Continue(()),
    );
    let found = found.expect("scores");
    let names: Vec<&str> = found
        .metrics
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert!(
        names.contains(&"quadratic-kappa") && names.contains(&"brier"),
        "{names:?}"
    );
    assert_eq!(found.confusion.iter().flatten().sum::<usize>(), 2);
}
