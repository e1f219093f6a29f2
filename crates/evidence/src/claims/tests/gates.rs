//! Reasons not to test a claim that has runs, and caveats about runs that decide one.

use serde_json::{Value, json};
use totune_record::{EvalRow, PredictionRow, RunRow, Tables};

use super::{Paper, Verdict};

use Verdict::{Contradicted, NotDecided, NotTestable, Reproduced};

const SCORE: &str = "tasks = ['letters']\nquantity = 'task-score'\nrelation = 'greater'";

/// The synthetic paper after a change of its rows.
fn paper(change: impl FnOnce(&mut Tables)) -> Paper {
    let mut paper = Paper::of_tasks();
    change(&mut paper.tables);
    paper
}

/// The ids of the runs of a strategy on the letters, by a part of their spec.
fn letters(tables: &Tables, says: &str) -> Vec<String> {
    let of = |run: &&RunRow| run.dataset == "synthetic-letters" && run.spec.contains(says);
    let ids = tables.runs.iter().filter(of).map(|run| run.run_id.clone());
    ids.collect()
}

const FULL: &str = r#""kind":"full","lr":0.00002"#;
const HOT: &str = r#""kind":"full","lr":0.001"#;
const LAST_ONE: &str = r#""k":1"#;
const LAST_TWO: &str = r#""k":2"#;

/// Makes runs give every test example the same answer.
fn unlearn(tables: &mut Tables, ids: &[String]) {
    tables.predictions.retain(|row| !ids.contains(&row.run_id));
    let answer = |(run, example): (&String, usize)| PredictionRow {
        run_id: run.clone(),
        split: "test".into(),
        example_id: example.to_string(),
        position: 0,
        gold: if example % 2 == 0 {
            "vowel"
        } else {
            "consonant"
        }
        .into(),
        predicted: "vowel".into(),
        scores: vec![],
    };
    let answers = ids
        .iter()
        .flat_map(|run| (0..12).map(move |example| (run, example)));
    tables.predictions.extend(answers.map(answer));
}

/// Says that the settings of runs were chosen by so many trials on so many dev examples.
fn search(tables: &mut Tables, says: &str, trials: Value, n_dev: u64) {
    let ids = letters(tables, says);
    for run in tables
        .runs
        .iter_mut()
        .filter(|run| ids.contains(&run.run_id))
    {
        let mut spec: Value = serde_json::from_str(&run.spec).unwrap();
        spec["search"] = json!(["work.training.adaptation.lr"]);
        spec["search-trials"] = trials.clone();
        run.spec = spec.to_string();
    }
    let of = |eval: &&EvalRow| eval.is_final && ids.contains(&eval.run_id);
    let dev: Vec<EvalRow> = tables.evals.iter().filter(of).cloned().collect();
    tables.evals.extend(dev.into_iter().map(|eval| EvalRow {
        split: "dev".into(),
        n: n_dev,
        ..eval
    }));
}

#[test]
fn a_side_that_did_not_learn_decides_nothing_unless_that_is_the_claim() {
    let dead = paper(|tables| {
        let ids = letters(tables, HOT);
        unlearn(tables, &ids[..2]);
    });
    let sides = "sides = ['full', 'full-hot']";
    let (verdict, reasons) = dead.verdict(&[sides, SCORE]);
    assert_eq!(verdict, NotTestable);
    let expected = "a side did not learn: 2 of 3 runs of All layers, high rate learned nothing";
    assert_eq!(reasons, expected);
    dead.check(&[sides, SCORE, "about-failure = true"], Reproduced);
    Paper::of_tasks().check(&[sides, SCORE], Reproduced);
}

#[test]
fn the_task_on_which_a_side_did_not_learn_is_named() {
    let dead = paper(|tables| {
        let ids = letters(tables, HOT);
        unlearn(tables, &ids[..2]);
    });
    let score = "quantity = 'task-score'\nrelation = 'greater'";
    let (verdict, reasons) = dead.verdict(&["sides = ['full', 'full-hot']", score]);
    assert_eq!(verdict, NotTestable);
    let expected =
        "a side did not learn: on Letters 2 of 3 runs of All layers, high rate learned nothing";
    assert_eq!(reasons, expected);
}

#[test]
fn runs_that_did_not_learn_are_counted_where_enough_did() {
    let some = paper(|tables| {
        let ids = letters(tables, LAST_ONE);
        unlearn(tables, &ids[..1]);
    });
    let (verdict, reasons) = some.verdict(&["sides = ['full', 'last-k']", SCORE]);
    assert_eq!(verdict, Reproduced);
    let expected = "1 of 6 runs of Last one or two layers did not learn";
    assert!(reasons.ends_with(expected), "{reasons}");
}

#[test]
fn unequal_searches_are_not_compared_and_small_dev_sets_are_named() {
    let sides = "sides = ['full', 'last-2']";
    let runs = |full: Option<Value>, two: Option<Value>, n_dev| {
        paper(|tables| {
            for (says, trials) in [(FULL, full), (LAST_TWO, two)] {
                if let Some(trials) = trials {
                    search(tables, says, trials, n_dev);
                }
            }
        })
    };
    let searched = |full, two, n_dev| runs(full, two, n_dev).verdict(&[sides, SCORE]);
    for (full, two, expected) in [
        (
            Some(json!(6)),
            None,
            "6 trials, those of another by no trial",
        ),
        (
            Some(json!(6)),
            Some(json!(3)),
            "6 trials, those of another by 3 trials",
        ),
        (
            Some(Value::Null),
            Some(json!(3)),
            "an unknown number of trials, those of another by 3 trials",
        ),
    ] {
        let (verdict, reasons) = searched(full, two, 400);
        assert_eq!(verdict, NotTestable);
        let start = "its sides are not equal: the settings of one were chosen by ";
        assert_eq!(reasons, format!("{start}{expected}"));
    }
    runs(Some(json!(6)), None, 400).check(&[sides, SCORE, "about-search = true"], Reproduced);
    let equal = |n_dev| searched(Some(json!(6)), Some(json!(6)), n_dev);
    let few = "Settings of 6 runs were chosen on fewer than 300 dev examples (at least 45)";
    for (n_dev, named) in [(45, true), (300, false)] {
        let (verdict, reasons) = equal(n_dev);
        assert_eq!(
            (verdict, reasons.ends_with(few)),
            (Reproduced, named),
            "{reasons}"
        );
    }
}

#[test]
fn failing_to_learn_is_a_quantity_of_its_own() {
    let dead = paper(|tables| {
        let ids = letters(tables, HOT);
        unlearn(tables, &ids[..2]);
    });
    for (side, task, relation, expected) in [
        // Two of three, which is more than chance gives where one of ten fails.
        ("full-hot", "letters", "at-least = 0.1", Reproduced),
        ("full-hot", "letters", "at-least = 0.6", NotDecided),
        ("full-hot", "letters", "at-least = 0.8", NotDecided),
        ("full-hot", "letters", "at-most = 0.05", Contradicted),
        ("full", "letters", "at-least = 0.8", Contradicted),
        ("full", "letters", "at-most = 0.7", Reproduced),
        ("full", "letters", "at-most = 0.1", NotDecided),
        // One of three diverged.
        ("full-hot", "sounds", "at-least = 0.01", Reproduced),
        ("last-3", "letters", "at-most = 0.1", NotTestable),
    ] {
        let claim = format!(
            "sides = ['{side}']\ntasks = ['{task}']\nquantity = 'failed-share'\nrelation = {{ {relation} }}"
        );
        dead.check(&[&claim], expected);
    }
}

#[test]
fn without_stored_answers_a_class_that_is_never_right_tells() {
    for (f1, expected) in [(0.0, Reproduced), (0.3, NotDecided)] {
        let scored = paper(|tables| {
            let ids = letters(tables, HOT);
            let of = |eval: &&EvalRow| eval.is_final && ids.contains(&eval.run_id);
            let finals: Vec<EvalRow> = tables.evals.iter().filter(of).cloned().collect();
            tables.evals.extend(finals.into_iter().map(|eval| EvalRow {
                metric: "f1-negative".into(),
                value: f1,
                ..eval
            }));
        });
        let share = "quantity = 'failed-share'\nrelation = { at-least = 0.3 }";
        scored.check(
            &["sides = ['full-hot']\ntasks = ['letters']", share],
            expected,
        );
    }
}

#[test]
fn a_run_that_is_there_twice_is_no_further_sample() {
    let twice = paper(|tables| {
        let again = |id: &str| format!("again-{id}");
        let runs = tables.runs.clone().into_iter().map(|row| RunRow {
            run_id: again(&row.run_id),
            ..row
        });
        let evals = tables.evals.clone().into_iter().map(|row| EvalRow {
            run_id: again(&row.run_id),
            ..row
        });
        tables.runs.extend(runs);
        tables.evals.extend(evals);
    });
    for relation in ["'greater'", "'equivalent'", "{ near = { paper = 0.02 } }"] {
        let claim = format!(
            "sides = ['full', 'last-2']\namong = 'few'\nquantity = 'task-score'\nrelation = {relation}"
        );
        let found = |paper: &Paper| {
            let of =
                |judged: &super::Judged| (judged.verdict, judged.p.clone(), judged.ours.clone());
            paper.judged(&super::claim("x", &[&claim]), of).unwrap()
        };
        assert_eq!(found(&twice), found(&Paper::of_tasks()), "{relation}");
    }
}
