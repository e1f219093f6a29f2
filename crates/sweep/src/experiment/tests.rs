use super::*;

const SPARSE: &str = r#"
paper = "p"
experiment = "e"
kind = "sparse"
datasets = ["a", "b"]
features = ["tf-idf", "count"]
logistic = { c = 1.0, max-iter = 100, tol = 1e-4 }

[[split]]
kind = "k-fold"
folds = 3
by = "file"

[[split]]
kind = "hold-out"
test = 0.2
seed = 13

[profiles.all]

[profiles.few]
datasets = ["a"]
"#;

fn parse(text: &str) -> Result<Experiment> {
    let path = Path::new("experiments/p/e.toml");
    Experiment::parse(path, text.to_string(), String::new(), String::new())
}

pub(super) fn expand(text: &str, profile: &str) -> Result<Vec<RunSpec>> {
    parse(text)?.expand(profile)
}

#[test]
fn every_plural_multiplies_the_runs() {
    // 2 datasets x (3 folds + 1 hold-out) x 2 kinds of features x 1 seed
    assert_eq!(expand(SPARSE, "all").expect("expands").len(), 16);
    let few = expand(SPARSE, "few").expect("expands");
    assert_eq!(few.len(), 8);
    assert!(
        few.iter()
            .all(|run| run.dataset == "a" && run.profile == "few")
    );
    let two_seeds = SPARSE.replace(
        "[[split]]\nkind = \"k-fold\"",
        "seeds = [1, 2]\n[[split]]\nkind = \"k-fold\"",
    );
    assert_eq!(expand(&two_seeds, "few").expect("expands").len(), 16);
}

#[test]
fn a_profile_extends_another_one() {
    let with =
        |extends: &str| format!("{SPARSE}\n[profiles.fewer]\n{extends}\nfeatures = \"count\"\n");
    let fewer = expand(&with("extends = \"few\""), "fewer").expect("expands");
    assert_eq!(fewer.len(), 4);
    assert!(
        fewer
            .iter()
            .all(|run| run.dataset == "a" && run.profile == "fewer")
    );
    for (extends, expected) in [
        (
            "extends = \"fwe\"",
            "profiles.fewer: extends: unknown profile `fwe`; did you mean `few`?",
        ),
        (
            "extends = 3",
            "profiles.fewer: extends: found 3, expected the name of a profile",
        ),
        (
            "extends = \"fewer\"",
            "profiles.fewer: extends: found `fewer`, which extends another profile itself",
        ),
    ] {
        let error = parse(&with(extends)).expect_err(extends);
        let text = format!("{error:#}");
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn the_runs_of_one_experiment_have_different_ids() {
    let ids: std::collections::BTreeSet<String> = expand(SPARSE, "all")
        .expect("expands")
        .iter()
        .map(RunSpec::id)
        .collect();
    assert_eq!(ids.len(), 16);
}

#[test]
fn typos_are_named_with_their_line_and_the_near_name() {
    for (good, bad, expected) in [
        (
            "datasets = [\"a\", \"b\"]",
            "dataset = [\"a\"]",
            "line 5: unknown key `dataset`; did you mean `datasets`?",
        ),
        (
            "\"tf-idf\"",
            "\"tfidf\"",
            "line 6: unknown choice `tfidf`; did you mean `tf-idf`?",
        ),
        (
            "max-iter = 100",
            "max-iters = 100",
            "line 7: unknown key `max-iters`; did you mean `max-iter`?",
        ),
        (
            "folds = 3",
            "fold = 3",
            "line 11: unknown key `fold`; did you mean `folds`?",
        ),
        (
            "kind = \"sparse\"",
            "kind = \"spares\"",
            "line 4: unknown choice `spares`; did you mean `sparse`?",
        ),
        (
            "features = [\"tf-idf\", \"count\"]",
            "",
            "missing key `features`",
        ),
        (
            "datasets = [\"a\", \"b\"]",
            "datasets = []",
            "datasets: the list is empty",
        ),
        (
            "datasets = [\"a\", \"b\"]",
            "datasets = [\"a\", \"a\"]",
            "two runs are the same",
        ),
        (
            "c = 1.0",
            "c = 0.0",
            "logistic.c: found 0, expected more than 0",
        ),
        ("test = 0.2", "test = 1.2", "1.2"),
        (
            "paper = \"p\"",
            "paper = \"q\"",
            "expected the names of its folder and file",
        ),
        (
            "datasets = [\"a\", \"b\"]",
            "datasets = 5",
            "invalid type: integer `5`, expected a string",
        ),
    ] {
        assert!(SPARSE.contains(good), "{good}");
        let error = expand(&SPARSE.replacen(good, bad, 1), "all").expect_err(bad);
        assert!(format!("{error:#}").contains(expected), "{bad}: {error:#}");
    }
}

#[test]
fn a_dataset_that_for_misspells_is_answered_with_each_known_one_once() {
    let text = format!(
        "{}[[override]]\ndatasets = [\"charlie\"]\nseeds = [1]\n\n[profiles.all]\n\n[profiles.few]\ndatasets = [\"a\"]\n",
        SPARSE.split("[profiles.all]").next().expect("a beginning")
    );
    for profile in ["all", "few"] {
        let error = format!("{:#}", expand(&text, profile).expect_err("refused"));
        let expected = "[[override]]: unknown dataset `charlie`; there are: a, b";
        assert!(error.contains(expected), "{error}");
        let good = text.replace("[\"charlie\"]", "[\"b\"]");
        assert!(expand(&good, profile).is_ok(), "a dataset of any profile");
    }
}

#[test]
fn a_typo_in_a_profile_is_found_too() {
    let error = expand(
        &SPARSE.replace("datasets = [\"a\"]\n", "datasests = [\"a\"]\n"),
        "few",
    )
    .expect_err("refused");
    assert!(
        format!("{error:#}").contains("unknown key `datasests`; did you mean `datasets`?"),
        "{error:#}"
    );
}

const TUNE: &str = r#"
paper = "p"
experiment = "e"
kind = "tune"
datasets = "a"
encoders = "x"
seeds = [1, 2]
split = { kind = "files", test = "dev", dev = 0.0, seed = 13 }
use = "common"

[[override]]
datasets = ["b"]
split = { test = "test" }

[[arm]]
name = "frozen"
adaptation = { preset = "frozen", lr = 1e-3 }

[[arm]]
name = "full-{adaptation.lr}"
title = "All layers at {adaptation.lr}"
use = "full"
each = { "adaptation.lr" = [1e-4, 2e-5] }

[profiles.few]
datasets = ["a", "b"]
arms = ["frozen", "full-2e-5"]
seeds = 1
split = { train-limit = 10 }
arm.full-2e-5.epochs = 5
"#;

const DEFAULTS_OF_P: &str = r#"
[settings.common]
head = { pooling = "pooler", dropout = 0.1 }
optimizer = { kind = "adam-w", betas = [0.9, 0.999], epsilon = 1e-8, weight-decay = 0.01, no-decay = [] }
schedule = { kind = "constant", warmup = 0.0 }
clip = { kind = "none" }
stop = { kind = "epochs" }
epochs = 3
batch-size = 16
evaluation-batch-size = 64
max-length = 24
dropout = 0.1
frozen-dropout = "on"
bucketing = "off"
dtype = "f32"

[settings.full]
adaptation = { kind = "full", lr = 5e-5, pooler = "trainable", embeddings = "trainable" }

[profiles.all]

[profiles.few.settings]
common.head.pooling = "mean"
"#;

const PRESETS_OF_ALL: &str = "[adaptation]\nfrozen = { kind = \"frozen\", pooler = \"frozen\" }\n";

fn tune(own: &str, profile: &str) -> Result<Vec<RunSpec>> {
    let path = Path::new("experiments/p/e.toml");
    let (defaults, presets) = (DEFAULTS_OF_P.to_string(), PRESETS_OF_ALL.to_string());
    Experiment::parse(path, own.to_string(), defaults, presets)?.expand(profile)
}

fn training(run: &RunSpec) -> &totune_adapt::Training {
    match &run.work {
        Work::Tune(work) => &work.training,
        other => panic!("found {other:?}, expected the training of an encoder"),
    }
}

#[test]
fn an_arm_names_its_runs_and_lies_over_all_else() {
    let all = tune(TUNE, "all").expect("expands");
    let of = |run: &RunSpec| (run.arm.clone(), run.dataset.clone(), training(run).epochs);
    assert_eq!(all.len(), 3 * 2);
    assert_eq!(of(&all[5]), ("full-2e-5".to_string(), "a".to_string(), 3));
    let few = tune(TUNE, "few").expect("expands");
    let found: Vec<_> = few.iter().map(of).collect();
    let expected = [
        ("frozen", "a", 3),
        ("full-2e-5", "a", 5),
        ("frozen", "b", 3),
        ("full-2e-5", "b", 5),
    ];
    assert_eq!(
        found,
        expected.map(|(arm, dataset, epochs)| (arm.to_string(), dataset.to_string(), epochs))
    );
    let json = few[3].canonical_json();
    for part in [
        r#""lr":0.00002"#,
        r#""pooling":"mean""#,
        r#""test":"test""#,
        r#""train-limit":10"#,
    ] {
        assert!(json.contains(part), "{part}: {json}");
    }
}

#[test]
fn a_misspelt_key_has_all_keys_of_an_experiment_to_be_meant() {
    for (bad, expected) in [
        (
            "seedz = [1, 2]",
            "unknown key `seedz`; did you mean `seeds`?",
        ),
        (
            "seeds = [1, 2]\nepoch = 1",
            "unknown key `epoch`; did you mean `epochs`?",
        ),
        (
            "seeds = [1, 2]\nbatch-size = \"x\"",
            "batch-size: invalid type: string \"x\", expected an integer, 0 or above",
        ),
        (
            "seeds = [1, 2]\ndropout = \"x\"",
            "dropout: invalid type: string \"x\", expected a number",
        ),
    ] {
        let text = TUNE.replacen("seeds = [1, 2]", bad, 1);
        let error = format!("{:#}", tune(&text, "all").expect_err(bad));
        assert!(error.contains(expected), "{bad}: {error}");
    }
}

#[test]
fn a_title_is_no_part_of_a_run_and_two_arms_are_not_the_same() {
    let renamed = TUNE.replace("All layers at", "Everything at");
    assert_eq!(
        tune(TUNE, "all").expect("expands"),
        tune(&renamed, "all").expect("expands")
    );
    let twice = TUNE.replace(
        "[profiles.few]",
        "[[arm]]\nname = \"again\"\nadaptation = { preset = \"frozen\", lr = 1e-3 }\n[profiles.few]",
    );
    let error = format!("{:#}", tune(&twice, "all").expect_err("refused"));
    assert!(
        error.contains("two runs are the same") && error.contains("arms frozen and again"),
        "{error}"
    );
}

#[test]
fn every_error_is_named_at_once_with_its_place() {
    let wrong = TUNE
        .replace("seeds = [1, 2]", "")
        .replace("encoders = \"x\"", "encoders = \"x\"\nepoch = 4")
        .replace("test = \"dev\"", "tests = \"dev\"")
        .replace(
            "adaptation = { preset = \"frozen\", lr = 1e-3 }",
            "adaptation = { preset = \"frozen\", rate = 1e-3 }",
        );
    let error = format!("{:#}", tune(&wrong, "all").expect_err("refused"));
    for expected in [
        "experiments/p/e.toml: 5 errors:",
        "\n  missing key `seeds`",
        "\n  line 7: unknown key `epoch`; did you mean `epochs`?",
        "unknown key `tests`; did you mean `test`?",
        "unknown key `rate`;",
        "(arm frozen)",
    ] {
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn an_unknown_preset_hides_no_other_error() {
    let wrong = TUNE
        .replace("seeds = [1, 2]", "")
        .replace("preset = \"frozen\"", "preset = \"frosen\"");
    let error = format!("{:#}", tune(&wrong, "all").expect_err("refused"));
    for expected in [
        "unknown preset `frosen`",
        "(arm frozen)",
        "missing key `seeds`",
    ] {
        assert!(error.contains(expected), "{expected}: {error}");
    }
}
