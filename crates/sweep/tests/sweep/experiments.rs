//! Every experiment file of the repository parses, expands in each of its profiles, and names cards that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use totune_data::{Catalogue, Split};
use totune_model::EncoderCatalogue;
use totune_sweep::{Information, ProbeInput, Project, RunSpec, Work};

fn project() -> Project {
    Project::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).expect("the repository")
}

/// All runs of all papers, with the profile they belong to; expanded once for all tests.
fn all_runs() -> &'static [RunSpec] {
    static RUNS: LazyLock<Vec<RunSpec>> = LazyLock::new(|| {
        let project = project();
        let mut runs = Vec::new();
        for paper in project.papers().expect("papers") {
            for experiment in project.experiments(&paper).expect("experiments") {
                for profile in experiment.profiles() {
                    runs.extend(experiment.expand(profile).expect("expands"));
                }
            }
        }
        runs
    });
    &RUNS
}

#[test]
fn every_experiment_names_known_cards() {
    let root = project().root;
    let datasets = Catalogue::read(&root.join("datasets")).expect("dataset cards");
    let encoders = EncoderCatalogue::read(&root.join("encoders")).expect("encoder cards");
    for run in all_runs() {
        datasets.find(&run.dataset).expect("a dataset card");
        if let Some(encoder) = run.encoder() {
            encoders.find(encoder).expect("an encoder card");
        }
    }
}

#[test]
fn all_runs_of_all_papers_and_profiles_have_different_ids() {
    let runs = all_runs();
    let ids: BTreeSet<String> = runs.iter().map(RunSpec::id).collect();
    assert_eq!(ids.len(), runs.len());
}

/// Studies of our own, without a paper, and the experiment that their floors belong to.
const OWN_STUDIES: [(&str, &str); 4] = [
    ("encoders", "tasks"),
    ("data-size", "curve"),
    ("strategies", "strategies"),
    ("restarts", "restarts"),
];

fn own_study(paper: &str) -> Option<&str> {
    let found = OWN_STUDIES.iter().find(|(name, _)| *name == paper);
    found.map(|(_, experiment)| *experiment)
}

#[test]
fn every_experiment_has_the_profiles_of_its_paper() {
    let project = project();
    for paper in project.papers().expect("papers") {
        let experiments = project.experiments(&paper).expect("experiments");
        let profiles = experiments[0].profiles();
        let expected = match own_study(&paper) {
            Some(_) => &["fixture", "mini"][..],
            None => &["base", "fixture", "paper", "small"],
        };
        for profile in expected {
            assert!(profiles.contains(profile), "{paper}: {profile}");
        }
        for experiment in &experiments {
            assert_eq!(
                experiment.profiles(),
                profiles,
                "{paper}/{}",
                experiment.name
            );
        }
    }
}

#[test]
fn hart2020_is_126_sparse_runs_and_30_of_bert() {
    for profile in ["paper", "small", "fixture"] {
        let of = |experiment: &str| {
            let runs = all_runs().iter();
            runs.filter(|run| {
                run.paper == "hart2020" && run.profile == profile && run.experiment == experiment
            })
            .count()
        };
        // 3 features x (4 x 10 folds + 2 hold-out splits); 3 adaptations x 10 seeds
        assert_eq!((of("table-1"), of("table-2")), (126, 30), "{profile}");
    }
}

#[test]
fn fixture_profiles_read_fixtures_alone() {
    let root = project().root;
    let datasets = Catalogue::read(&root.join("datasets")).expect("dataset cards");
    let encoders = EncoderCatalogue::read(&root.join("encoders")).expect("encoder cards");
    for run in all_runs().iter().filter(|run| run.profile == "fixture") {
        assert!(
            datasets.find(&run.dataset).expect("card").fixture,
            "{}",
            run.dataset
        );
        if let Some(encoder) = run.encoder() {
            assert!(encoders.find(encoder).expect("card").fixture, "{encoder}");
        }
    }
}

/// `choices-probe.toml` repeats `layers.toml` with other inputs, so nothing else may differ. A pretrained encoder has
/// no seed, and information is estimated only for the means.
#[test]
fn probes_of_other_inputs_differ_in_the_input_alone() {
    let like_a_mean = |mut run: RunSpec| {
        run.experiment = "layers".to_string();
        run.arm.clear();
        if let Work::Probe(work) = &mut run.work {
            work.input = ProbeInput::Mean;
            work.mi = Information::Off;
        }
        run.canonical_json()
    };
    let of = |experiment: &str| -> Vec<RunSpec> {
        let runs = all_runs().iter();
        runs.filter(|run| run.paper == "peters2019" && run.experiment == experiment)
            .cloned()
            .collect()
    };
    let means: BTreeSet<String> = of("layers").into_iter().map(like_a_mean).collect();
    let others = of("choices-probe");
    // Four tasks, two inputs: pretrained in all five profiles, and fine-tuned with three seeds in `paper` and `base` and one
    // in `fixture`.
    assert_eq!(others.len(), 4 * 2 * (5 + 2 * 3 + 1));
    for run in others {
        let label = format!("{}: {}", run.profile, run.label());
        assert!(means.contains(&like_a_mean(run)), "{label}");
    }
}

/// Arms that are compared in a table were tuned equally hard. `small` was sized for its time, and `fixture` is for
/// tests.
#[test]
fn all_arms_of_an_experiment_are_searched_with_as_many_trials() {
    let mut counts: BTreeMap<String, BTreeSet<Option<usize>>> = BTreeMap::new();
    let runs = all_runs().iter();
    let own = runs.filter(|run| {
        ["paper", "base"].contains(&run.profile.as_str())
            && matches!(run.work, Work::Tune(_))
            && !run.experiment.ends_with("-search")
    });
    for run in own {
        let table = format!("{} {} {}", run.profile, run.paper, run.experiment);
        counts.entry(table).or_default().insert(run.search_trials);
    }
    let unequal: Vec<_> = counts.iter().filter(|(_, n)| n.len() > 1).collect();
    assert!(unequal.is_empty(), "{unequal:?}");
    let of = |table: &str| counts[table].first().copied().flatten();
    assert_eq!(of("base hart2020 tuned-lr"), Some(6));
    assert_eq!(of("paper hart2020 tuned-lr"), Some(6));
    assert_eq!(of("base wang2023 tables"), Some(6));
    for table in [
        "table-2",
        "table-2-elmo",
        "table-3",
        "table-4",
        "table-5",
        "table-6",
    ] {
        assert_eq!(of(&format!("paper peters2019 {table}")), Some(8), "{table}");
        assert_eq!(of(&format!("base peters2019 {table}")), Some(6), "{table}");
    }
    for table in ["table-2", "table-3", "table-4", "readings"] {
        assert_eq!(of(&format!("paper wang2019 {table}")), Some(4), "{table}");
    }
}

/// Settings are chosen by at least this many examples, to keep chance out of the choice.
#[test]
fn searches_of_whole_datasets_choose_by_three_hundred_examples() {
    let root = project().root;
    let datasets = Catalogue::read(&root.join("datasets")).expect("dataset cards");
    let few = all_runs().iter().filter_map(|run| {
        if !["paper", "base"].contains(&run.profile.as_str()) || run.search.is_empty() {
            return None;
        }
        let card = datasets.find(&run.dataset).expect("a card");
        let rows = |split: &str| card.splits.get(split).map(|facts| facts.rows as f64);
        let n = match &run.split {
            Split::Files(files) => match &files.dev_split {
                Some(split) => rows(split)?,
                None => rows("train")? * files.dev,
            },
            Split::HoldOut(split) => rows("train")? * (1.0 - split.test) * split.dev,
            Split::KFold(_) => return None,
        };
        (n < 300.0).then(|| format!("{} {} {}: {n}", run.profile, run.paper, run.label()))
    });
    let few: Vec<String> = few.collect();
    assert!(few.is_empty(), "{few:#?}");
}

/// A floor is comparable with a table only where both have the same examples.
#[test]
fn floors_have_the_examples_of_the_tables_above_them() {
    let tables = ["table-2", "table-3", "table-4", "tables"];
    let above = |paper: &str, experiment: &str| match (paper, own_study(paper)) {
        ("data-size", Some(own)) => [own, "all", "entities"].contains(&experiment),
        (_, Some(own)) => experiment == own,
        ("hart2020", None) => ["table-2", "tuned-lr"].contains(&experiment),
        ("peters2019", None) => experiment == "table-2",
        _ => tables.contains(&experiment),
    };
    let part = |run: &RunSpec| {
        let split = serde_json::to_string(&run.split).expect("a split is plain data");
        format!("{} {} {} {split}", run.paper, run.profile, run.dataset)
    };
    let runs = all_runs();
    let (floors, others): (Vec<&RunSpec>, Vec<&RunSpec>) = runs
        .iter()
        .partition(|run| matches!(run.work, Work::Floor(_)));
    let others = others.into_iter();
    let tables: BTreeSet<String> = others
        .filter(|run| above(&run.paper, &run.experiment))
        .map(part)
        .collect();
    let floors: BTreeSet<String> = floors.into_iter().map(part).collect();
    let differing: Vec<_> = tables.symmetric_difference(&floors).collect();
    assert!(differing.is_empty(), "{differing:#?}");
}

/// A card may name only metrics that results have: `data` lists the names, `stats` computes the scores.
#[test]
fn cards_know_the_metrics_that_are_computed() {
    use totune_data::Task;
    use totune_stats::metrics::{
        CLASSIFICATION_EXTRAS, SpanEvaluation, classification_scores_with, regression_scores,
        tagging_scores,
    };
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    let known = |task: Task| sorted(task.metrics().into_iter().map(String::from).collect());
    let (gold, predicted) = ([0, 1, 1, 0], [0, 1, 0, 1]);
    let scores = classification_scores_with(&gold, &predicted, 2, Some(1), CLASSIFICATION_EXTRAS);
    let names = scores.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(known(Task::Classification), sorted(names));
    let scores = regression_scores(&[0.0, 1.0, 2.0], &[0.0, 2.0, 1.0]);
    let names = scores.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(known(Task::Regression), sorted(names));
    let steps = totune_stats::ordinal_scores(&[0, 1, 2], &[0, 2, 1], 3);
    let names = steps.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(known(Task::Ordinal), sorted(names));
    let sets: [&[usize]; 2] = [&[0], &[]];
    let (scores, labels) = ([vec![0.7], vec![0.2]], ["a".to_string()]);
    let names = totune_stats::multi_label_scores(&sets, &sets, Some(&scores), &labels, []);
    let names = names.into_iter().map(|(name, _)| name).collect();
    assert_eq!(known(Task::MultiLabel), sorted(names));
    let tags = [vec!["B-PER", "O"]];
    let names = tagging_scores(&tags, &tags, SpanEvaluation::Conlleval).into_iter();
    let names = names
        .map(|(name, _)| name)
        .filter(|name| name != "span-f1:PER");
    assert_eq!(known(Task::Tagging), sorted(names.collect()));
}
