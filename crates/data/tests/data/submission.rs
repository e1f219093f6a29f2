//! Files for GLUE's site, compared with those that `fixtures/make/tables.py` writes with Python's csv module.

use std::path::{Path, PathBuf};
use totune_data::{Catalogue, Target, Task};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The same predictions as the Python script: classes in turn, and scores that grow.
fn predict(task: Task, n_labels: usize, index: usize) -> Target {
    match task {
        Task::Regression => Target::Value(index as f64 * 0.7 + 0.12345),
        _ => Target::Class(index % n_labels),
    }
}

#[test]
fn predictions_are_written_as_the_site_wants_them_whatever_their_order() {
    let catalogue = Catalogue::read(&project().join("datasets")).expect("valid cards");
    for (name, split, file) in [
        ("fixture-acceptability", "test", "CoLA.tsv"),
        ("fixture-similarity", "test-unlabelled", "STS-B.tsv"),
        ("fixture-inference", "test-matched", "MNLI-m.tsv"),
    ] {
        let card = catalogue.find(name).expect("a fixture");
        let test = card
            .load_split(Path::new("nowhere"), split)
            .expect("the fixture");
        let mut rows: Vec<(&str, Target)> = test
            .examples
            .iter()
            .enumerate()
            .map(|(index, row)| {
                (
                    row.id.as_str(),
                    predict(card.task, card.labels.len(), index),
                )
            })
            .collect();
        rows.reverse();
        let (ids, predicted): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let submission = card.submission(split, ids, &predicted).expect("a file");
        assert_eq!(submission.file, file);
        let expected = std::fs::read(project().join("fixtures/data/submission").join(file));
        assert_eq!(submission.bytes, expected.expect("the fixture"), "{file}");
    }
}

#[test]
fn predictions_that_are_not_all_there_once_are_refused() {
    let catalogue = Catalogue::read(&project().join("datasets")).expect("valid cards");
    let card = catalogue.find("fixture-acceptability").expect("a fixture");
    let ids = ["0", "1", "2", "3", "4", "5"];
    let classes = |classes: [usize; 6]| classes.map(Target::Class);
    for (ids, predicted, expected) in [
        (
            &ids[..5],
            &classes([0; 6])[..5],
            "5 predictions; expected 6, one for each example of `test`",
        ),
        (
            &["0", "1", "2", "3", "4", "6"],
            &classes([0; 6]),
            "no prediction for id `5`; expected one for each from 0 to 5",
        ),
        (
            &["0", "1", "2", "3", "4", "4"],
            &classes([0; 6]),
            "id `4` is predicted twice; expected it once",
        ),
        (
            &["0", "1", "2", "3", "4", "x"],
            &classes([0; 6]),
            "id `x`; expected a number from 0: invalid digit found in string",
        ),
        (
            &ids,
            &classes([0, 1, 2, 0, 0, 0]),
            "id `2`: class 2; expected one below 2",
        ),
        (
            &ids,
            &ids.map(|_| Target::Unknown),
            "id `0`: no class; expected one",
        ),
    ] {
        let error = card.submission("test", ids.iter().copied(), predicted);
        assert_eq!(format!("{:#}", error.expect_err(expected)), expected);
    }
    let error = card
        .submission("dev", [], &[])
        .expect_err("a split that is not sent in");
    assert!(
        error
            .to_string()
            .contains("submission.dev: not given; expected the name of a file"),
        "{error}"
    );
}

#[test]
fn the_files_of_glue_have_the_names_its_site_asks_for() {
    let catalogue = Catalogue::read(&project().join("datasets")).expect("valid cards");
    // As jiant's formatter for the site names them.
    for (name, files) in [
        ("cola", &["CoLA.tsv"][..]),
        ("sst-2", &["SST-2.tsv"]),
        ("mrpc", &["MRPC.tsv"]),
        ("sts-b", &["STS-B.tsv"]),
        ("qqp", &["QQP.tsv"]),
        ("mnli", &["MNLI-m.tsv", "MNLI-mm.tsv"]),
        ("qnli", &["QNLI.tsv"]),
        ("rte", &["RTE.tsv"]),
    ] {
        let card = catalogue.find(name).expect("its card");
        let found: Vec<&str> = card.submission.values().map(String::as_str).collect();
        assert_eq!(found, files);
    }
}
