//! Folds compared with scikit-learn 1.9.1, example for example; `fixtures/make/splits.py` wrote the expected ones.

use serde::Deserialize;
use std::path::{Path, PathBuf};
use totune_data::{Catalogue, Dataset, Example, Input, Split, Target};

/// The output of `splits.py`.
#[derive(Deserialize)]
struct Witness {
    columns: Option<Columns>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Columns {
    classes: Vec<usize>,
    groups: Vec<String>,
}

#[derive(Deserialize)]
struct Case {
    split: serde_json::Value,
    /// The fold that tests each row.
    of: Vec<usize>,
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn witness(path: &Path) -> Witness {
    let text = std::fs::read_to_string(path).expect("a file written by splits.py");
    serde_json::from_str(&text).expect("what splits.py writes")
}

fn tweets() -> Dataset {
    let catalogue = Catalogue::read(&project().join("datasets")).expect("the cards");
    let card = catalogue.find("fixture-tweets").expect("the fixture");
    card.load(Path::new("unused")).expect("the fixture file")
}

#[track_caller]
fn check(dataset: &Dataset, cases: &[Case]) {
    for case in cases {
        let mut settings = case.split.clone();
        settings["kind"] = "k-fold".into();
        let split: Split = serde_json::from_value(settings).expect("a split");
        let mut of = vec![usize::MAX; dataset.examples.len()];
        for fold in 0..split.n_folds() {
            let parts = split.divide(dataset, fold).expect("a division");
            assert_eq!(parts.train.len() + parts.test.len(), of.len());
            parts.test.iter().for_each(|&index| of[index] = fold);
        }
        assert_eq!(of, case.of, "{}", case.split);
    }
}

#[test]
fn folds_of_the_fixture_tweets_are_scikit_learns() {
    let witness = witness(&project().join("fixtures/splits/tweets.json"));
    assert_eq!(witness.cases.len(), 18);
    check(&tweets(), &witness.cases);
}

#[test]
fn folds_of_twelve_uneven_classes_are_scikit_learns() {
    let witness = witness(&project().join("fixtures/splits/many.json"));
    let columns = witness.columns.expect("the columns");
    let examples = columns
        .classes
        .into_iter()
        .zip(columns.groups)
        .enumerate()
        .map(|(index, (class, group))| Example {
            id: index.to_string(),
            input: Input::Text(index.to_string()),
            target: Target::Class(class),
            group: Some(group),
        })
        .collect();
    let dataset = Dataset {
        name: "many".into(),
        loss: totune_data::ClassLoss::PLAIN,
        task: totune_data::Task::Classification,
        hash: String::new(),
        labels: (0..12).map(|class| class.to_string()).collect(),
        positive: None,
        examples,
        metrics: Vec::new(),
        tagging: None,
    };
    assert_eq!(witness.cases.len(), 15);
    check(&dataset, &witness.cases);
}

/// `python fixtures/make/splits.py train.csv FOLDER`, then
/// `TOTUNE_DATA=… TOTUNE_WITNESS=FOLDER cargo test -p totune-data -- --ignored`.
#[test]
#[ignore = "needs the real tweets under TOTUNE_DATA and their folds under TOTUNE_WITNESS"]
fn folds_of_the_tweets_are_scikit_learns() {
    let variable = |name| PathBuf::from(std::env::var_os(name).expect("both variables set"));
    let catalogue = Catalogue::read(&project().join("datasets")).expect("the cards");
    let card = catalogue.find("disaster-tweets").expect("its card");
    let dataset = card
        .load(&variable("TOTUNE_DATA"))
        .expect("the real tweets");
    check(
        &dataset,
        &witness(&variable("TOTUNE_WITNESS").join("tweets.json")).cases,
    );
}
