use std::collections::BTreeMap;

use totune_record::{EvalRow, PredictionRow, RunRow, Tables};

use super::*;
use crate::Experiment;

const HEAD: &str = r#"
paper = "p"
experiment = "e"
kind = "tune"
datasets = ["a", "b"]
encoders = ["x"]
seeds = [1, 2]
epochs = 2
batch-size = 16
evaluation-batch-size = 64
max-length = 24
dropout = 0.1
head = { pooling = "pooler", dropout = 0.1 }
optimizer = { kind = "adam-w", betas = [0.9, 0.999], epsilon = 1e-8, weight-decay = 0.01, no-decay = [] }
schedule = { kind = "constant", warmup = 0.0 }
clip = { kind = "none" }
stop = { kind = "epochs" }
frozen-dropout = "on"
bucketing = "off"
dtype = "f32"
split = [{ kind = "files", test = "dev", dev = 0.2, seed = 13 }]
arm = [
    { name = "frozen", adaptation = { kind = "frozen", lr = 1.0, pooler = "frozen" } },
    { name = "last-1", adaptation = { kind = "last-k", k = 1, lr = 1.0, pooler = "trainable", embeddings = "frozen" } },
]
"#;

const GRID: &str = r#"
[search]
kind = "grid"
seeds = [100]
[search.ranges]
"work.training.head.dropout" = [0.1, 0.5]
"work.training.adaptation.lr" = [1e-5, 3e-5, 1e-4]
[profiles.all]
[profiles.few]
datasets = ["a"]
search = { kind = "random", trials = 2, seed = 1, seeds = [100, 101], ranges = { "work.training.adaptation.lr" = { from = 1e-5, to = 1e-3, scale = "log" } } }
[profiles.none]
search = { kind = "none" }
"#;

fn experiment(search: &str) -> Experiment {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("p").join("e.toml");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, format!("{HEAD}{search}")).expect("a file");
    Experiment::read(&path).expect("an experiment")
}

fn cells(search: &str, profile: &str) -> Result<Vec<Cell>> {
    Ok(experiment(search).grid(profile)?.1)
}

fn lr(run: &RunSpec) -> f64 {
    serde_json::to_value(run).expect("a spec")["work"]["training"]["adaptation"]["lr"]
        .as_f64()
        .expect("a rate")
}

#[test]
fn every_cell_of_the_grid_has_the_same_trials() {
    let cells = cells(GRID, "all").expect("cells");
    // 2 datasets x 2 strategies; 2 x 3 settings, the rate first in the alphabet and the dropout varying fastest
    assert_eq!(cells.len(), 4);
    for cell in &cells {
        assert_eq!(cell.own.len(), 2);
        let settings: Vec<(f64, f64)> = cell
            .trials
            .iter()
            .map(|(setting, runs)| {
                assert_eq!((runs.len(), runs[0].seed), (1, 100));
                assert_eq!(runs[0].experiment, "e-search");
                assert_eq!(setting[0].0, "work.training.adaptation.lr");
                (lr(&runs[0]), setting[1].1.as_f64().expect("a share"))
            })
            .collect();
        let expected = [1e-5, 3e-5, 1e-4].map(|lr| [(lr, 0.1), (lr, 0.5)]);
        assert_eq!(settings, expected.concat());
    }
    let ids: std::collections::BTreeSet<String> = cells
        .iter()
        .flat_map(|cell| cell.trials.iter().flat_map(|(_, runs)| runs))
        .map(RunSpec::id)
        .collect();
    assert_eq!(ids.len(), 24);
}

#[test]
fn a_profile_replaces_the_search_or_goes_without() {
    let few = cells(GRID, "few").expect("cells");
    assert_eq!(few.len(), 2);
    assert!(few.iter().all(|cell| cell.trials.len() == 2));
    let settings = |cell: &Cell| -> Vec<Setting> {
        cell.trials
            .iter()
            .map(|(setting, _)| setting.clone())
            .collect()
    };
    assert_eq!(settings(&few[0]), settings(&few[1]), "equally hard");
    assert_eq!(
        few[0].trials[0].1.len(),
        2,
        "a run for each seed of the search"
    );
    let (runs, cells) = experiment(GRID).grid("none").expect("a grid");
    assert_eq!((runs.len(), cells.len()), (8, 0));
    assert!(runs.iter().all(|run| run.search.is_empty()));
}

#[test]
fn a_dataset_or_a_variant_may_search_elsewhere() {
    let text = GRID.to_string()
        + "[[override]]\ndatasets = ['b']\nsearch = { kind = 'grid', seeds = [7], ranges = { 'work.training.epochs' = [1, 2] } }\n";
    let cells = cells(&text, "all").expect("cells");
    let trials: Vec<usize> = cells.iter().map(|cell| cell.trials.len()).collect();
    assert_eq!(trials, [6, 6, 2, 2]);
}

#[test]
fn more_trials_leave_those_before_as_they_are() {
    let random = |trials: usize| {
        let mut grid: toml::Table = toml::from_str(&format!(
            "[search]\nkind = 'random'\ntrials = {trials}\nseed = 3\nseeds = [1]\n[search.ranges]\n'work.a' = [1, 2, 3]\n'work.b' = [1, 2]"
        ))
        .expect("TOML");
        Search::take(&mut grid, &SourceTexts::new([]))
            .map(|search| search.expect("a search").settings())
    };
    let six = random(6).expect("all six");
    assert_eq!(random(4).expect("four of them"), six[..4]);
    assert!((0..6).all(|i| !six[..i].contains(&six[i])), "each once");
    assert_eq!(
        random(7).expect_err("there are six").to_string(),
        "search.trials: found 7, expected at most 6, the number of different settings"
    );
}

fn cell() -> Cell {
    cells(GRID, "all").expect("cells").remove(0)
}

/// Chooses among trials: those with these learning rates and dropouts of 0.1 have the given states, the others a score
/// of 0.
fn choose(cell: &Cell, stand: &[(f64, Scored)]) -> Choice {
    let stand: BTreeMap<String, Scored> = stand
        .iter()
        .map(|(lr, scored)| (lr.to_string(), scored.clone()))
        .collect();
    let of = |run: &RunSpec| {
        let is_first = run.canonical_json().contains(r#""head":{"dropout":0.1"#);
        let scored = is_first.then(|| stand.get(&lr(run).to_string())).flatten();
        Ok(scored.cloned().unwrap_or(Scored::Score(0.0)))
    };
    cell.choose(of).expect("a choice")
}

#[test]
fn the_best_on_dev_gives_its_values_to_the_runs_of_the_cell() {
    let cell = cell();
    let Choice::Made(runs) = choose(
        &cell,
        &[(3e-5, Scored::Score(0.6)), (1e-4, Scored::Score(0.6))],
    ) else {
        panic!("all trials are done");
    };
    let found: Vec<(u64, f64, &str)> = runs
        .iter()
        .map(|run| (run.seed, lr(run), run.experiment.as_str()))
        .collect();
    // The first of two equal ones, with the cell's own seeds.
    assert_eq!(found, [(1, 3e-5, "e"), (2, 3e-5, "e")]);
    assert_eq!(
        runs[0].search,
        ["work.training.adaptation.lr", "work.training.head.dropout"]
    );
}

#[test]
fn a_search_waits_for_all_of_its_trials() {
    let open = choose(&cell(), &[(1e-5, Scored::Open), (3e-5, Scored::Score(0.6))]);
    assert_eq!(open, Choice::Open { done: 5, of: 6 });
}

#[test]
fn what_failed_counts_as_worst() {
    let worst = || Scored::Worst("diverged: the loss was NaN".into());
    let Choice::Made(runs) = choose(&cell(), &[(1e-5, worst()), (3e-5, Scored::Score(-0.2))])
    else {
        panic!("all trials are done");
    };
    // The next trial in order is the same rate with the other dropout, at 0.
    assert_eq!(lr(&runs[0]), 1e-5);
    let all_failed = cell().choose(|_| Ok(worst())).expect("an answer");
    let why = "diverged: the loss was NaN".to_string();
    assert_eq!(all_failed, Choice::None { of: 6, why });
}

#[test]
fn a_trial_that_gives_all_the_same_answer_is_chosen_only_where_all_do() {
    let scored = |of_first: Scored, of_last: Scored| [(1e-5, of_first), (1e-4, of_last)];
    let rates = [(3e-5, Scored::Constant(0.9))];
    let chosen = |scored: [(f64, Scored); 2]| {
        let all: Vec<(f64, Scored)> = scored.into_iter().chain(rates.clone()).collect();
        match choose(&cell(), &all) {
            Choice::Made(runs) => lr(&runs[0]),
            other => panic!("all trials are done: {other:?}"),
        }
    };
    let learned = scored(Scored::Score(0.1), Scored::Constant(0.8));
    assert_eq!(chosen(learned), 1e-5);
    let none = cell()
        .choose(|run| Ok(Scored::Constant(lr(run))))
        .expect("a choice");
    assert!(matches!(none, Choice::Made(runs) if lr(&runs[0]) == 1e-4));
}

/// A run with an accuracy on dev and these answers, each with its split.
fn answered(answers: &[(&str, &str)]) -> Tables {
    let row = |(split, predicted): &(&str, &str)| PredictionRow {
        split: split.to_string(),
        predicted: predicted.to_string(),
        run_id: String::new(),
        example_id: String::new(),
        position: 0,
        gold: "0".into(),
        scores: Vec::new(),
    };
    Tables {
        runs: vec![RunRow {
            status: "ok".into(),
            ..RunRow::default()
        }],
        evals: vec![EvalRow {
            split: "dev".into(),
            metric: "accuracy".into(),
            value: 0.7,
            is_final: true,
            run_id: String::new(),
            phase: 0,
            epoch: 1,
            step: 1,
            n: 10,
            train_seconds: 1.0,
        }],
        predictions: answers.iter().map(row).collect(),
    }
}

#[test]
fn a_correlation_that_is_not_defined_is_the_worst_score() {
    let run = answered(&[("dev", "a"), ("dev", "a")]);
    let found = Scored::of(&run, "spearman").expect("a score");
    assert!(matches!(&found, Scored::Worst(why) if why == "its spearman on dev is not defined"));
    assert!(Scored::of(&run, "accurracy").is_err());
}

#[test]
fn a_run_is_constant_by_its_answers_on_dev() {
    let of =
        |answers: &[(&str, &str)]| Scored::of(&answered(answers), "accuracy").expect("a score");
    let same = [("dev", "1"), ("test", "0"), ("dev", "1")];
    assert_eq!(of(&same), Scored::Constant(0.7));
    let differs = [("dev", "1"), ("dev", "0")];
    assert_eq!(of(&differs), Scored::Score(0.7));
    // Without predictions it is not known.
    assert_eq!(of(&[]), Scored::Score(0.7));
}

#[test]
fn trials_may_see_fewer_examples_than_the_runs_that_follow() {
    let search = r#"
search = { kind = "grid", seeds = [100], ranges = { "work.training.adaptation.lr" = [1e-4, 1e-3] }, split = { train-limit = 50, dev = 0.5 } }
[profiles.all]
"#;
    for cell in cells(search, "all").expect("a grid") {
        let trials: Vec<&RunSpec> = cell.trials.iter().flat_map(|(_, runs)| runs).collect();
        let split = |run: &RunSpec| {
            let json = serde_json::to_value(&run.split).expect("JSON");
            (json["train-limit"].clone(), json["dev"].clone())
        };
        assert!(
            trials
                .iter()
                .all(|run| split(run) == (50.into(), 0.5.into()))
        );
        assert!(
            cell.own
                .iter()
                .all(|run| split(run) == (Value::Null, 0.2.into()))
        );
    }
    let misspelt = search.replace("train-limit", "train-limits");
    let error = format!("{:#}", cells(&misspelt, "all").expect_err("an unknown key"));
    assert!(
        error.contains("search.split") && error.contains("train-limits"),
        "{error}"
    );
}

#[test]
fn errors_are_named() {
    for (good, bad, expected) in [
        (
            r#"kind = "grid""#,
            r#"kind = "gird""#,
            "unknown choice `gird`; did you mean `grid`?",
        ),
        ("seeds = [100]\n", "", "search: missing key `seeds`"),
        (
            "seeds = [100]\n",
            "seeds = []\n",
            "search.seeds: the list is empty",
        ),
        (
            "[0.1, 0.5]",
            "{ from = 0.1, to = 0.5 }",
            "ranges are for kind = \"random\"",
        ),
        (
            "work.training.head.dropout",
            "work.training.heat.dropout",
            "unknown key `heat`; did you mean `head`?",
        ),
        (
            "work.training.head.dropout",
            "work.training.head.drop",
            "unknown key `drop`",
        ),
        (
            "work.training.head.dropout",
            "seed",
            "expected a path into the work",
        ),
        (
            "work.training.head.dropout",
            "work.encoder.x.y",
            "`work.encoder` has no settings below it",
        ),
        ("[0.1, 0.5]", "[0.1, 1.5]", "head.dropout: found 1.5"),
        ("[0.1, 0.5]", "[0.1, 'a']", "invalid type: string \"a\""),
    ] {
        assert!(GRID.contains(good), "{good}");
        let error = experiment(&GRID.replacen(good, bad, 1)).expand("all");
        let error = format!("{:#}", error.expect_err(bad));
        assert!(error.contains(expected), "{bad}: {error}");
    }
    let without_dev = HEAD.replace("dev = 0.2", "dev = 0.0");
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(folder.path().join("p")).expect("a folder");
    let path = folder.path().join("p/e.toml");
    std::fs::write(&path, without_dev + GRID).expect("a file");
    let error = Experiment::read(&path).expect("reads").expand("all");
    let error = format!("{:#}", error.expect_err("nothing to choose by"));
    assert!(error.contains("search: looks at scores on dev"), "{error}");
    let of_its_own = HEAD.replace("dev = 0.2", "dev = 0.0, dev-split = 'b'");
    std::fs::write(&path, of_its_own + GRID).expect("a file");
    let experiment = Experiment::read(&path).expect("reads");
    assert_eq!(experiment.expand("all").expect("expands").len(), 32);
}

#[test]
fn a_run_knows_how_many_trials_chose_its_settings_and_a_trial_does_not() {
    for (profile, expected) in [("all", 6), ("few", 2)] {
        for cell in cells(GRID, profile).expect("cells") {
            assert!(!cell.own.is_empty());
            for run in &cell.own {
                assert_eq!(run.search_trials, Some(expected), "{profile}");
            }
            for (_, runs) in &cell.trials {
                assert!(runs.iter().all(|run| run.search_trials.is_none()));
            }
        }
    }
    let (runs, _) = experiment(GRID).grid("none").expect("a grid");
    assert!(runs.iter().all(|run| run.search_trials.is_none()));
}

#[test]
fn arms_that_are_not_searched_equally_are_named_with_their_trials() {
    let unequal = |text: &str| {
        let (runs, cells) = experiment(text).grid("all").expect("a grid");
        let own = cells.iter().flat_map(|cell| &cell.own);
        let trials = cells.iter().flat_map(|cell| cell.trials.iter());
        let trials = trials.flat_map(|(_, runs)| runs);
        let found = UnequalSearch::among(runs.iter().chain(own).chain(trials));
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(unequal(GRID).is_empty());
    let none = GRID.replace(
        "[profiles.all]",
        "[profiles.all.arm.frozen]\nsearch = { kind = 'none' }",
    );
    assert_eq!(unequal(&none), ["e: no search (frozen), 6 trials (last-1)"]);
    // On one dataset of two; the other is searched alike.
    let fewer = GRID.replace(
        "[profiles.all]",
        "[profiles.all.arm.frozen]\ndatasets = ['b']\nsearch = { kind = 'random', trials = 1, seed = 1, seeds = [1], ranges = { 'work.training.epochs' = [1, 2] } }",
    );
    assert_eq!(unequal(&fewer), ["e: 1 trial (frozen), 6 trials (last-1)"]);
}
