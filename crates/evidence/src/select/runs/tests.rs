//! Tests of the module above.

use super::*;
use crate::plan::TEST;
use totune_record::RunRow;

#[test]
fn conditions_reach_rows_and_specs() {
    check(r#"experiment = "table-2""#, 30);
    check(r#""work.training.adaptation.kind" = "frozen""#, 10);
    check(
        "experiment = \"table-2\"\n\"work.training.adaptation.kind\" = [\"frozen\", \"full\"]",
        20,
    );
    check("seed = 5\n\"work.kind\" = \"tune\"", 3);
    check("seed = 5.0\n\"work.kind\" = \"tune\"", 3);
    check(r#"dataset = "synthetic-letters""#, 93);
}

#[test]
fn a_misspelt_path_is_an_error_that_names_the_near_one() {
    let error = select(r#""work.training.adaption.kind" = "frozen""#).unwrap_err();
    assert_eq!(
        error,
        "here: where: found path `work.training.adaption.kind`, which no run's spec or row has; \
         did you mean `work.training.adaptation.kind`?"
    );
}

#[test]
fn a_value_no_run_has_selects_nothing_and_says_what_there_is() {
    let (n, note) = select("experiment = \"table-1\"\n\"work.features\" = \"tfidf\"").unwrap();
    assert_eq!(n, 0);
    assert_eq!(
        note.as_deref(),
        Some(r#"no run has work.features = "tfidf" (found: "count", "hash", "tf-idf")"#)
    );
}

#[test]
fn a_selection_without_runs_says_whether_they_are_still_to_be_made() {
    let folder = tempfile::tempdir().unwrap();
    let specs = [r#"{"experiment":"table-2","arm":"later"}"#.to_owned()];
    totune_record::write_missing(folder.path(), &specs).unwrap();
    let tables = totune_synthetic::tables().into();
    let runs = Runs::read(&[], folder.path(), tables).unwrap();
    let measure = Measure::score("accuracy", TEST);
    for (arm, absent, why) in [
        ("later", NOT_YET, NOT_YET),
        ("never", "\u{2013}", "no run has arm = \"never\""),
    ] {
        let conditions = Where::from([
            ("experiment".to_owned(), "table-2".into()),
            ("arm".to_owned(), arm.into()),
        ]);
        let sample = runs.sample(&conditions, &measure, "here").unwrap();
        assert_eq!(sample.absent(), absent);
        assert_eq!(sample.note.as_deref(), Some(why));
    }
}

#[test]
fn a_condition_of_another_kind_is_refused() {
    assert!(
        select("seed = { from = 1 }")
            .unwrap_err()
            .contains("found a table")
    );
}

#[test]
fn an_unknown_metric_is_named_with_the_near_one() {
    let runs = Runs::new(totune_synthetic::tables()).unwrap();
    let error = runs
        .sample(&Where::new(), &Measure::score("acuracy", "test"), "here")
        .unwrap_err()
        .to_string();
    assert!(error.ends_with("did you mean `accuracy`?"), "{error}");
    let error = runs
        .sample(&Where::new(), &Measure::score("accuracy", "tset"), "here")
        .unwrap_err()
        .to_string();
    assert!(error.ends_with("did you mean `test`?"), "{error}");
}

#[test]
fn runs_that_went_wrong_are_counted() {
    let mut tables = totune_synthetic::tables();
    let frozen = |row: &&mut RunRow| row.spec.contains("frozen");
    for row in tables.runs.iter_mut().filter(frozen).take(2) {
        row.status = "diverged".into();
    }
    let runs = Runs::new(tables).unwrap();
    let conditions = toml::from_str(r#""work.training.adaptation.kind" = "frozen""#).unwrap();
    let sample = runs
        .sample(&conditions, &Measure::score("accuracy", "test"), "here")
        .unwrap();
    assert_eq!(sample.values.len(), 8);
    assert_eq!(sample.lost, BTreeMap::from([("diverged".to_owned(), 2)]));
}

#[test]
fn guessing_scores_nothing_or_the_most_frequent_class() {
    let mut tables = totune_synthetic::tables();
    let answer = tables.predictions.remove(0);
    let gold = |n: usize| if n < 8 { "vowel" } else { "consonant" };
    tables.predictions = (0..10)
        .map(|n| PredictionRow {
            example_id: n.to_string(),
            gold: gold(n).into(),
            ..answer.clone()
        })
        .collect();
    let runs = Runs::new(tables).unwrap();
    let run = runs
        .all()
        .iter()
        .find(|run| run.row.run_id == answer.run_id);
    let guess = |metric, split| run.unwrap().guess(&Measure::score(metric, split));
    assert_eq!(guess("accuracy", TEST), Some(0.8));
    assert_eq!(guess("span-f1", "dev"), Some(0.0));
    assert_eq!(guess("matthews", TEST), Some(0.0));
    // F1 depends on which class is called positive, and only predictions on test are stored.
    assert_eq!(guess("f1-positive", TEST), None);
    assert_eq!(guess("accuracy", "dev"), None);
}

#[test]
fn a_run_is_judged_by_matthews_where_its_accuracy_is_that_of_guessing() {
    for (matthews, unlearned) in [(0.4, false), (0.05, true)] {
        let mut tables = totune_synthetic::tables();
        let answer = tables.predictions.remove(0);
        let class = |rare: bool| if rare { "consonant" } else { "vowel" };
        // Eighty of a hundred are right, as for guesses, but not all answers are the same.
        tables.predictions = (0..100)
            .map(|n| PredictionRow {
                example_id: n.to_string(),
                gold: class(n < 20).into(),
                predicted: class((10..30).contains(&n)).into(),
                ..answer.clone()
            })
            .collect();
        let of_run = |row: &&totune_record::EvalRow| {
            row.run_id == answer.run_id && row.is_final && row.split == TEST
        };
        let mut row = tables.evals.iter().find(of_run).unwrap().clone();
        (row.metric, row.value, row.n) = ("matthews".into(), matthews, 100);
        tables.evals.push(row);
        let runs = Runs::new(tables).unwrap();
        let run = (runs.all().iter()).find(|run| run.row.run_id == answer.run_id);
        let (run, accuracy) = (run.unwrap(), Measure::score("accuracy", TEST));
        assert_eq!(run.learned(&accuracy), Some(false));
        assert_eq!(run.is_unlearned(&accuracy), unlearned);
        let dev = Measure::score("accuracy", "dev");
        assert!(!run.is_unlearned(&dev), "only test is judged");
    }
}

fn select(conditions: &str) -> Result<(usize, Option<String>), String> {
    let runs = Runs::new(totune_synthetic::tables()).unwrap();
    let selection = runs
        .select(&toml::from_str(conditions).unwrap(), "here")
        .map_err(|error| format!("{error:#}"))?;
    Ok((selection.runs.len(), selection.note))
}

#[track_caller]
fn check(conditions: &str, expected: usize) {
    assert_eq!(select(conditions).unwrap().0, expected);
}
