//! Parts of a split in memory, as the folds of a cross-validation are: what an encoder computes for each example is
//! computed once for the whole, and a run on a part gives what it gives without the others.

use std::path::Path;

use crate::support::Demo;
use totune_adapt::{DataFacts, Recipe, Regression, Strategy, Switch};
use totune_data::{Dataset, Files, Pairs, Split};
use totune_record::Tables;
use totune_sweep::{Floor, FloorWork, Inputs, ProbeInput, RunSpec, TuneWork, Work};

const NAMES: [&str; 2] = ["part", "alone"];

/// The whole, a part of it as `part`, and the same examples as data of their own, as `alone`.
fn inputs(demo: &Demo, dataset: &str, states: &Path) -> (Inputs, Dataset) {
    let environment = demo.environment();
    let cards = environment.project.datasets().expect("cards");
    let card = cards.find(dataset).expect("a card");
    let whole = card.load_split(&demo.roots.data, "train").expect("train");
    let splits = [("train".to_string(), whole.clone())];
    let encoders = ["fixture-bert".to_string()];
    let mut inputs = Inputs::of(environment, splits, &encoders, states).expect("inputs");
    for (split, remainder) in [("train", 1), ("test", 0)] {
        let n = whole.examples.len();
        let indices: Vec<usize> = (0..n).filter(|at| (at % 3).min(1) == remainder).collect();
        let [part, alone] = NAMES.map(|name| whole.part(&indices, name));
        inputs.insert_part(split, part, (&whole.name, "train"), indices);
        inputs.insert(split, alone);
    }
    (inputs, whole)
}

/// The rows of the work on the part and on the same examples alone, and the files that the first one left.
fn rows(demo: &Demo, inputs: &Inputs, states: &Path, work: &Work) -> ([Tables; 2], usize) {
    let mut files = Vec::new();
    let tables = NAMES.map(|name| {
        let split = Split::Files(Files::whole("test", None));
        let spec = RunSpec::unlisted("arm", (name, split), 1, work.clone());
        let rows = inputs.perform(&spec, &demo.machine).expect("a run");
        files.push(std::fs::read_dir(states).map_or(0, |entries| {
            let names = entries.map(|entry| entry.expect("a file").file_name());
            names
                .filter(|name| name.to_string_lossy().ends_with(".states"))
                .count()
        }));
        rows.expect("nobody stopped it")
    });
    (tables, files[0])
}

fn is_the_same([part, alone]: &[Tables; 2]) {
    assert_eq!(part.predictions.len(), alone.predictions.len());
    assert!(part.predictions.len() >= 3);
    for (one, other) in part.predictions.iter().zip(&alone.predictions) {
        assert_eq!(
            (&one.example_id, &one.gold),
            (&other.example_id, &other.gold)
        );
        let [one, other] = [one, other].map(|row| row.predicted.parse::<f64>().expect("a score"));
        assert!((one - other).abs() < 1e-3, "{one} {other}");
    }
}

#[test]
fn vectors_of_a_part_are_those_of_the_whole() {
    let demo = Demo::new("");
    let states = tempfile::tempdir().expect("a temporary folder");
    let (inputs, _) = inputs(&demo, "fixture-similarity", states.path());
    let floor = |floor| {
        Work::Floor(Box::new(FloorWork {
            encoder: Some("fixture-bert".to_string()),
            max_length: Some(32),
            evaluation_batch_size: Some(16),
            floor,
        }))
    };
    let pooling = ProbeInput::Mean;
    let vectors = floor(Floor::Vectors {
        pooling,
        layer: None,
        pairs: Pairs::Separate,
        standardise: Switch::On,
        regression: Regression {
            c: vec![1.0],
            alpha: vec![1.0],
            folds: 5,
            max_iter: 1000,
            tol: 1e-4,
        },
    });
    let (tables, files) = rows(&demo, &inputs, states.path(), &vectors);
    is_the_same(&tables);
    assert_eq!(files, 2, "first and second texts of the whole");
    let cosine = floor(Floor::Cosine {
        pooling,
        layer: None,
        scaled: Switch::On,
    });
    let (tables, _) = rows(&demo, &inputs, states.path(), &cosine);
    is_the_same(&tables);
    let run = &tables[0].runs[0];
    assert!(run.train_seconds > 0.0);
}

#[test]
fn cached_activations_of_a_part_are_those_of_the_whole() {
    let demo = Demo::new("");
    let states = tempfile::tempdir().expect("a temporary folder");
    let (inputs, whole) = inputs(&demo, "fixture-similarity", states.path());
    let cards = demo.project.encoders().expect("cards");
    let card = cards.find("fixture-bert").expect("a card");
    let facts = DataFacts {
        has_dev: false,
        ..inputs.facts(&whole.name, card).expect("facts")
    };
    let recipe = Recipe {
        epochs: Some(2),
        ..Recipe::new(Strategy::Frozen)
    };
    let work = Work::Tune(Box::new(TuneWork {
        encoder: "fixture-bert".to_string(),
        training: recipe.training(card, &facts).expect("settings"),
    }));
    let (tables, files) = rows(&demo, &inputs, states.path(), &work);
    is_the_same(&tables);
    assert_eq!(files, 1, "train and test are parts of the same whole");
}
