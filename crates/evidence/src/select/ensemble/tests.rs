//! Ensembles of synthetic runs: six examples, two classes, every number by hand.

use serde_json::json;
use totune_record::{EvalRow, PredictionRow, Tables};

use crate::fixture;
use crate::plan::{Measure, Plan, Unit};
use crate::select::runs::Runs;
use crate::select::sample::Sample;

/// Gold labels of the examples; class 0 is `no`.
const GOLD: [&str; 6] = ["no", "no", "no", "yes", "yes", "yes"];
/// Probabilities of `yes` by model. Each is wrong twice, and never the same two; `c` is sure where it is wrong.
const A: [f32; 6] = [0.6, 0.2, 0.2, 0.4, 0.8, 0.8];
const B: [f32; 6] = [0.2, 0.6, 0.2, 0.8, 0.4, 0.8];
const C: [f32; 6] = [0.3, 0.3, 0.99, 0.7, 0.7, 0.01];

const PLAN: &str = r#"
    [[ensemble]]
    id = "three"
    title = "Three"
    members = ["a", "b", "c"]
    [[ensemble]]
    id = "three-majority"
    title = "Three, majority"
    members = ["a", "b", "c"]
    rule = { kind = "majority" }
    [[ensemble]]
    id = "three-weighted"
    title = "Three, weighted"
    members = ["a", "b", "c"]
    rule = { kind = "weighted", metric = "accuracy" }
    [[ensemble]]
    id = "seeds"
    title = "Seeds of a"
    group = "a"
    size = 2
    [groups.a]
    title = "A"
    where = { experiment = "a" }
    [groups.b]
    title = "B"
    where = { experiment = "b" }
    [groups.c]
    title = "C"
    where = { experiment = "c" }
    [groups.c-too]
    title = "C"
    where = { experiment = "c", ensemble = "three" }
"#;

#[test]
fn joint_answers_are_scored_as_those_of_a_run() {
    // Means of `yes`: 0.37, 0.37, 0.46, 0.63, 0.63, 0.54, all six right, as by votes. Where `c` counts four times as much
    // as either of the others, the third and the last go by it: 0.73 and 0.27.
    check("three", &[1.0, 1.0]);
    check("three-majority", &[1.0, 1.0]);
    check("three-weighted", &[4.0 / 6.0, 4.0 / 6.0]);
}

#[test]
fn an_ensemble_is_a_group_with_the_cost_of_its_members() {
    let seconds = sample(
        "three",
        &Measure::Field {
            field: "train_seconds".into(),
        },
    );
    assert_eq!(seconds.values, [6.0, 6.0]);
    assert_eq!(seconds.unit(), "2 seeds");
    let own = sample("a", &accuracy());
    assert_eq!(own.values.len(), 4, "members stay what they are");
    let three = sample("three", &accuracy());
    // Two of four seeds have all members.
    let (ensembles, single) = three.matched(&own, Unit::Seed).unwrap();
    assert_eq!((ensembles.len(), single.len()), (2, 2));
}

#[test]
fn seeds_of_one_group_are_in_one_ensemble_each() {
    let (plan, runs) = formed(tables()).unwrap();
    let selection = runs
        .select(&plan.groups["seeds"].conditions, "here")
        .unwrap();
    let members: Vec<String> = selection
        .runs
        .iter()
        .map(|run| run.fact("members").unwrap().to_string())
        .collect();
    assert_eq!(members, [r#"["a-1","a-3"]"#, r#"["a-2","a-4"]"#]);
    let seeds: Vec<u64> = selection.runs.iter().map(|run| run.row.seed).collect();
    assert_eq!(seeds, [1, 2]);
}

#[test]
fn a_lost_member_is_lost_to_the_ensemble_and_a_missing_one_leaves_none() {
    let mut rows = tables();
    rows.runs
        .iter_mut()
        .find(|row| row.run_id == "b-1")
        .unwrap()
        .status = "diverged".into();
    let (plan, runs) = formed(rows).unwrap();
    let found = runs
        .sample(&plan.groups["three"].conditions, &accuracy(), "here")
        .unwrap();
    assert_eq!(
        (found.values.len(), found.lost_text().as_str()),
        (1, "1 diverged")
    );

    let mut rows = tables();
    rows.runs.retain(|row| !row.run_id.starts_with('c'));
    let (plan, runs) = formed(rows).unwrap();
    let found = runs
        .sample(&plan.groups["three"].conditions, &accuracy(), "here")
        .unwrap();
    assert_eq!(found.values.len(), 0);
    assert!(found.note.unwrap().starts_with("C: no run has experiment"));
}

#[test]
fn only_a_selection_that_names_an_ensemble_sees_it() {
    let (plan, runs) = formed(tables()).unwrap();
    let n = |conditions: &str| {
        let conditions = toml::from_str(conditions).unwrap();
        runs.select(&conditions, "here").unwrap().runs.len()
    };
    assert_eq!(n("seed = 1"), 3);
    assert_eq!(n("seed = 1\nensemble = 'three'"), 1);
    assert_eq!(n("seed = 1\nensemble = ['three', 'seeds']"), 2);
    assert_eq!(n("ensemble = 'three'\n'split.kind' = 'hold-out'"), 2);
    // Members do not agree in their experiment, so the ensemble is of none.
    let both = &plan.groups["c-too"].conditions;
    let selection = runs.select(both, "here").unwrap();
    assert!(selection.runs.is_empty() && selection.note.is_some());
}

#[test]
fn members_that_answered_something_else_are_refused() {
    for (spoil, expected) in [
        (
            (|row| row.example_id = "x9".into()) as fn(&mut PredictionRow),
            "runs `a-1` and `b-1` did not answer the same examples: `b-1` lacks `x3`",
        ),
        (
            |row| row.gold = "no".into(),
            "example `x3`: found the label `yes` in run `a-1` and `no` in run `b-1`, expected the same",
        ),
        (
            |row| row.scores = vec![0.1, 0.8, 0.1],
            "run `b-1`, example `x3`: found 3 scores at position 0, expected those of 2 classes at 0",
        ),
        (
            |row| row.predicted = "no".into(),
            "has the highest score as class 0 and as class 1",
        ),
    ] {
        let mut rows = tables();
        let row = rows.predictions.iter_mut();
        let mut row = row.filter(|row| row.run_id == "b-1" && row.example_id == "x3");
        spoil(row.next().unwrap());
        refused(rows, expected);
    }
    let mut rows = tables();
    let mut evals = rows.evals.iter_mut();
    evals
        .find(|row| row.run_id == "c-2" && row.split == "test")
        .unwrap()
        .value = 0.9;
    refused(rows, "run `c-2`: its predictions have accuracy 0.66");
    let mut rows = tables();
    rows.evals
        .retain(|row| row.split != "dev" || row.run_id != "c-2");
    refused(rows, "run `c-2` has no final score `accuracy` on `dev`");
    let mut rows = tables();
    rows.predictions.retain(|row| row.run_id != "c-2");
    refused(rows, "run `c-2` has no predictions of `test`");
}

#[test]
fn a_plan_that_cannot_be_formed_is_refused() {
    for (from, to, expected) in [
        (
            "members = [\"a\", \"b\", \"c\"]",
            "members = [\"a\"]",
            "found 1 members, expected at least two",
        ),
        ("size = 2", "", "expected `members`, or `group` and `size`"),
        (
            "group = \"a\"",
            "group = \"aa\"",
            "ensemble `seeds`: unknown group `aa`",
        ),
        (
            "id = \"seeds\"",
            "id = \"b\"",
            "ensemble `b`: found a group of that name",
        ),
        (
            "kind = \"majority\"",
            "kind = \"mayority\"",
            "did you mean `majority`?",
        ),
    ] {
        let error = plan(&PLAN.replace(from, to)).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[track_caller]
fn check(group: &str, expected: &[f64]) {
    let found = sample(group, &accuracy()).values;
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(near),
        "{group}: {found:?}"
    );
    assert_eq!(
        sample(group, &Measure::score("f1-macro", "test"))
            .values
            .len(),
        expected.len()
    );
}

#[track_caller]
fn refused(rows: Tables, expected: &str) {
    let error = format!("{:#}", formed(rows).unwrap_err());
    assert!(
        error.starts_with("report.toml: ensemble `three") && error.contains(expected),
        "{error}"
    );
}

fn sample(group: &str, measure: &Measure) -> Sample {
    let (plan, runs) = formed(tables()).unwrap();
    runs.sample(&plan.groups[group].conditions, measure, "here")
        .unwrap()
}

fn accuracy() -> Measure {
    Measure::score("accuracy", "test")
}

fn plan(text: &str) -> Result<Plan, String> {
    let mut plan = fixture::plan(text).map_err(|error| format!("{error:#}"))?;
    plan.add_ensembles("report.toml")
        .map_err(|error| format!("{error:#}"))?;
    Ok(plan)
}

fn formed(rows: Tables) -> anyhow::Result<(Plan, Runs)> {
    let plan = plan(PLAN).unwrap();
    let mut runs = Runs::new(rows).unwrap();
    runs.form(&plan, "report.toml")?;
    Ok((plan, runs))
}

/// `a` at four seeds, `b` and `c` at two.
fn tables() -> Tables {
    let model = totune_synthetic::tables().runs.remove(0);
    let mut tables = Tables::default();
    for (name, scores, seeds, dev) in [("a", A, 4, 0.2), ("b", B, 2, 0.2), ("c", C, 2, 0.8)] {
        for seed in 1..=seeds {
            let mut row = model.clone();
            row.run_id = format!("{name}-{seed}");
            row.experiment = name.into();
            row.seed = seed;
            row.status = "ok".into();
            row.train_seconds = 2.0;
            row.spec = json!({ "experiment": name, "seed": seed, "split": { "kind": "hold-out" } })
                .to_string();
            tables
                .evals
                .extend(
                    [("test", 4.0 / 6.0), ("dev", dev)].map(|(split, value)| EvalRow {
                        run_id: row.run_id.clone(),
                        phase: 0,
                        epoch: 1,
                        step: 1,
                        split: split.into(),
                        metric: "accuracy".into(),
                        value,
                        n: 6,
                        train_seconds: 2.0,
                        is_final: true,
                    }),
                );
            if let Some(test) = tables
                .evals
                .iter()
                .rev()
                .find(|eval| eval.split == "test")
                .cloned()
            {
                tables.evals.push(EvalRow {
                    metric: "f1-macro".into(),
                    ..test
                });
            }
            for (number, (gold, yes)) in GOLD.iter().zip(scores).enumerate() {
                tables.predictions.push(PredictionRow {
                    run_id: row.run_id.clone(),
                    split: "test".into(),
                    example_id: format!("x{number}"),
                    position: 0,
                    gold: (*gold).into(),
                    predicted: if yes > 0.5 { "yes" } else { "no" }.into(),
                    scores: vec![1.0 - yes, yes],
                });
            }
            tables.runs.push(row);
        }
    }
    tables
}
