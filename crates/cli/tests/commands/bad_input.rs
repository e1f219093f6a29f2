//! Wrong arguments, wrong settings, missing and damaged files: error messages, and that nothing is written.

use std::fs;

use totune_record::Tables;
use totune_sweep::State;

use crate::support::{Checkout, CommandOutput, DEVICE, SPARSE, TUNE};

#[test]
fn an_empty_variable_counts_as_unset() {
    let checkout = Checkout::new();
    let mut command = checkout.command(&["papers"]);
    for variable in ["TOTUNE_DATA", "TOTUNE_ENCODERS", "TOTUNE_CACHE"] {
        command.env(variable, "");
    }
    let said = checkout.end(&mut command);
    assert_eq!(said.code, Some(0), "{}", said.err);
}

#[test]
fn unknown_names_are_answered_with_the_near_one_and_the_list() {
    let checkout = Checkout::new();
    for (arguments, expected) in [
        (
            vec!["reproduce", "trail", "fixture"],
            "unknown paper `trail`; did you mean `trial`? there are: trial",
        ),
        (
            vec!["train", "reviews.csv"],
            ", and no dataset has this name",
        ),
        (vec!["train", "reviews.toml"], "reviews.toml: not found in "),
        (
            vec!["data", "check", "reviews.csv"],
            ", and no dataset has this name",
        ),
        (
            vec!["data", "check", "some/reviews.toml"],
            "some/reviews.toml: not found in ",
        ),
        (
            vec!["data", "check", "/"],
            "/: is a folder, expected a file",
        ),
        (vec!["data", "new", "/"], "/: is a folder, expected a file"),
        (vec!["compare", "/"], "/: is a folder, expected a file"),
        (
            vec!["reproduce", "trial", "fixtures"],
            "unknown profile `fixtures`; did you mean `fixture`? there are: fixture",
        ),
        (
            vec!["report", "trail"],
            "unknown paper `trail`; did you mean `trial`?",
        ),
        (
            vec!["sweep", "run", "trial", "fixture", "--only", "zz"],
            "no run zz in this plan",
        ),
        (
            vec!["sweep", "run", "trial", "fixture", "--shard", "3/2"],
            "expected i between 1 and N",
        ),
        (
            vec!["sweep", "run", "trial", "--checkpoint-every", "5"],
            "found `5`, expected a number with its unit, such as 90s, 10m or 2h, or `off`",
        ),
        (
            vec!["data", "check", "fixture-tweet"],
            "unknown dataset `fixture-tweet`; did you mean `fixture-tweets`?",
        ),
        (
            vec!["collect", "trial", "fixture"],
            "none of the 10 runs has results yet",
        ),
        (vec!["report", "trial", "fixture"], "no results there"),
        (
            vec!["report", "trial", "fixtur"],
            "trial: unknown profile `fixtur`; did you mean `fixture`?",
        ),
    ] {
        refused(&checkout, checkout.run(&arguments), expected);
    }
}

#[test]
fn unknown_datasets_and_encoders_of_an_experiment_are_named() {
    for (name, text, expected) in [
        (
            "sparse",
            SPARSE.replace("fixture-tweets", "fixture-tweet"),
            "unknown dataset `fixture-tweet`; did you mean `fixture-tweets`?",
        ),
        (
            "tune",
            TUNE.replace("fixture-bert", "fixture-brt"),
            "unknown encoder `fixture-brt`; did you mean `fixture-bert`? the nearest of",
        ),
        (
            "tune",
            TUNE.replace("kind = \"full\"", "kind = \"ful\""),
            "unknown choice `ful`; did you mean `full`?",
        ),
        (
            "tune",
            TUNE.replace("epochs = 2", "epoch = 2"),
            "line 8: unknown key `epoch`; did you mean `epochs`?",
        ),
        (
            "tune",
            TUNE.replace("epochs = 2", "epochs = 0"),
            "epochs: found 0, expected at least 1",
        ),
        (
            "tune",
            TUNE.replace("lr = 1e-3", "lr = -1.0"),
            "adaptation.lr: found -1, expected more than 0",
        ),
        ("sparse", SPARSE.replace("folds = 3", "folds = 1"), "folds"),
        (
            "sparse",
            SPARSE.replace("[profiles.fixture]", ""),
            "expected a table [profiles.<name>]",
        ),
        (
            "sparse",
            SPARSE.replace("datasets = ", "datasets "),
            "line 5",
        ),
    ] {
        let checkout = Checkout::with(&[(name, &text)]);
        refused(
            &checkout,
            checkout.run(&["sweep", "run", "trial", "fixture"]),
            expected,
        );
    }
}

#[test]
fn missing_files_are_all_named_in_one_message_and_nothing_is_written() {
    let tweets = SPARSE.replace("fixture-tweets", "disaster-tweets");
    let bert = TUNE
        .replace("fixture-tweets", "disaster-tweets")
        .replace("fixture-bert", "bert-base-uncased");
    let checkout = Checkout::with(&[("sparse", &tweets), ("tune", &bert)]);
    let empty = checkout.path("empty");
    let empty = empty.to_string_lossy();
    let said = checkout.run(&[
        "reproduce",
        "trial",
        "fixture",
        "--data",
        &empty,
        "--encoders",
        &empty,
    ]);
    assert_eq!(said.err.matches("error: ").count(), 1, "{}", said.err);
    for expected in [
        "disaster-tweets",
        "bert-base-uncased",
        "nothing was written",
    ] {
        assert!(said.err.contains(expected), "{expected}: {}", said.err);
    }
    refused(&checkout, said, "files are missing");
}

#[test]
fn a_dataset_that_is_not_the_one_of_its_card_is_refused() {
    let checkout = Checkout::new();
    let path = checkout.path("fixtures/data/tweets.csv");
    let text = fs::read_to_string(&path).expect("fixture");
    fs::write(&path, text.replacen('a', "b", 1)).expect("write");
    refused(
        &checkout,
        checkout.run(&["sweep", "run", "trial", "fixture"]),
        "sha256",
    );
}

#[test]
fn a_checkpoint_that_was_cut_short_is_refused() {
    let checkout = Checkout::new();
    let folder = checkout.path("fixtures/encoders/fixture-bert");
    let weights = fs::read_dir(&folder)
        .expect("folder")
        .map(|entry| entry.expect("entry").path());
    let weights = weights
        .into_iter()
        .find(|path| path.extension().is_some_and(|kind| kind == "safetensors"));
    let weights = weights.expect("weights");
    let bytes = fs::read(&weights).expect("weights");
    fs::write(&weights, &bytes[..bytes.len() / 2]).expect("write");
    refused(
        &checkout,
        checkout.run(&["sweep", "run", "trial", "fixture"]),
        "model.safetensors",
    );
}

#[test]
fn a_device_that_is_not_there_is_an_error_and_no_other_device() {
    let checkout = Checkout::new();
    let mut command =
        checkout.command(&["sweep", "run", "trial", "fixture", "--device", "cuda:99"]);
    refused(&checkout, checkout.end(&mut command), "--device cuda:99");
    refused(
        &checkout,
        checkout.run(&["sweep", "run", "trial", "fixture", "--device", "gpu"]),
        "expected auto, cpu, cuda",
    );
}

#[test]
fn a_run_that_fails_is_a_row_and_the_others_go_on() {
    // The fixture's encoder has no state to carry, which only the run itself can know.
    let tune = TUNE.replace("k = 1,", "k = 2,");
    let tune = tune.replacen(
        "name = \"last-1\"",
        "name = \"last-2\"\nstate = \"carry\"",
        1,
    );
    let checkout = Checkout::with(&[("tune", &tune), ("sparse", SPARSE)]);
    let said = checkout.run(&["sweep", "run", "trial", "fixture"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(said.err.contains("2 of 10 runs failed"), "{}", said.err);
    assert_eq!(
        (checkout.count(State::Done), checkout.count(State::Failed)),
        (8, 2)
    );

    let said = checkout.run(&["collect", "trial", "fixture"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    let tables =
        totune_record::Tables::read(&checkout.path("results/trial/fixture")).expect("tables");
    let failed: Vec<_> = tables
        .runs
        .iter()
        .filter(|run| run.status == "failed")
        .collect();
    assert_eq!(failed.len(), 2);
    assert!(
        failed[0].error.contains("state: found \"carry\""),
        "{}",
        failed[0].error
    );

    // Skipped the second time, unless requested; still an exit code of 1.
    assert_eq!(
        checkout.run(&["sweep", "run", "trial", "fixture"]).code,
        Some(1)
    );
    assert_eq!(
        checkout.plan(&["--retry-failed"])["runs"]
            .as_array()
            .expect("runs")
            .iter()
            .filter(|run| run["will-run"] == true)
            .count(),
        2
    );
}

#[test]
fn a_run_that_diverges_is_done_and_says_so() {
    let checkout = Checkout::with(&[("tune", &TUNE.replacen("lr = 1e-3", "lr = 1e30", 1))]);
    checkout.succeed(&["sweep", "run", "trial", "fixture"]);
    let tables = checkout.collected();
    let diverged: Vec<_> = tables
        .runs
        .iter()
        .filter(|run| run.status == "diverged")
        .collect();
    assert_eq!((tables.runs.len(), diverged.len()), (4, 2));
    assert_eq!(diverged[0].stop_reason, "diverged");
    assert!(
        diverged[0].steps <= 2,
        "noticed within a step, not after {}",
        diverged[0].steps
    );
}

#[test]
fn a_table_that_was_cut_short_is_run_again() {
    let checkout = Checkout::with(&[("sparse", SPARSE)]);
    checkout.succeed(&["sweep", "run", "trial", "fixture"]);
    let expected = checkout.collected();
    let ids = checkout.ids();
    for (id, table) in ids.iter().zip(["runs", "evals", "predictions"]) {
        let path = checkout.published(id).join(format!("{table}.parquet"));
        let bytes = fs::read(&path).expect("table");
        fs::write(&path, &bytes[..bytes.len() / 2]).expect("write");
    }
    assert_eq!(
        (
            checkout.count(State::Interrupted),
            checkout.count(State::Done)
        ),
        (3, 3)
    );
    checkout.succeed(&["sweep", "run", "trial", "fixture"]);
    assert_eq!(checkout.collected(), expected);
}

#[test]
fn runs_of_other_data_than_now_are_stale_and_kept_and_come_back_with_the_data() {
    let checkout = Checkout::with(&[("sparse", SPARSE)]);
    checkout.succeed(&["sweep", "run", "trial", "fixture"]);
    let first = checkout.ids();
    // The card reads the same file in another way: another dataset under the same name.
    let card = checkout.path("datasets/fixture-tweets.toml");
    let before = fs::read_to_string(&card).expect("card");
    fs::write(&card, before.replace(", group = \"keyword\"", "")).expect("write");
    let plan = checkout.succeed(&["sweep", "plan", "trial", "fixture"]);
    let stale = "6 stale: dataset `fixture-tweets` has changed;";
    assert!(plan.contains(stale), "{plan}");
    let said = checkout.run(&["collect", "trial", "fixture"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("none of the 6 runs"), "{}", said.err);

    let second = checkout.ids();
    assert!(second.iter().all(|id| !first.contains(id)), "{second:?}");
    checkout.succeed(&["sweep", "run", "trial", "fixture", "--only", &second[0]]);
    checkout.succeed(&["sweep", "run", "trial", "fixture"]);
    let plan = checkout.succeed(&["sweep", "plan", "trial", "fixture"]);
    assert!(!plan.contains("stale"), "{plan}");
    let ids = |tables: Tables| -> Vec<String> {
        let mut ids: Vec<_> = tables.runs.into_iter().map(|run| run.run_id).collect();
        ids.sort();
        ids
    };
    let sorted = |mut ids: Vec<String>| {
        ids.sort();
        ids
    };
    assert_eq!(ids(checkout.collected()), sorted(second));

    fs::write(&card, &before).expect("write");
    assert_eq!(ids(checkout.collected()), sorted(first));
    // Other metrics are other scores.
    let all = r#"["accuracy", "f1-positive", "f1-macro"]"#;
    let other = before.replace(all, r#"["f1-macro"]"#);
    assert_ne!(other, before);
    fs::write(&card, other).expect("write");
    let plan = checkout.succeed(&["sweep", "plan", "trial", "fixture"]);
    let stale = "6 stale: the card of `fixture-tweets` names other metrics;";
    assert!(plan.contains(stale), "{plan}");
}

#[test]
fn a_broken_card_stops_no_command_that_does_not_use_it() {
    let checkout = Checkout::with(&[("sparse", SPARSE)]);
    checkout.write("datasets/mine.toml", "name = \"mine\"\nlables = []\n");
    checkout.write("encoders/mine.toml", "name = \"mine\"\ntitle = 3\n");
    let of_dataset = "datasets/mine.toml: line 2: unknown key `lables`";
    let of_encoder = "encoders/mine.toml: line 2: invalid type: integer `3`";
    for (command, code, error) in [
        (&["data", "list"][..], 1, of_dataset),
        (&["data", "check"], 1, of_dataset),
        (&["encoders", "list"], 1, of_encoder),
        (&["encoders", "check"], 1, of_encoder),
        (&["papers"], 0, ""),
        (&["sweep", "plan", "trial", "fixture"], 0, ""),
        (&["sweep", "run", "trial", "fixture"], 0, ""),
        (&["data", "list", "fixture-tweets"], 0, ""),
        (&["data", "show", "mine"], 2, of_dataset),
    ] {
        let said = checkout.run(command);
        assert_eq!(said.code, Some(code), "{command:?}: {}", said.err);
        assert!(said.err.contains(error), "{command:?}: {}", said.err);
        assert!(code > 0 || !said.err.contains("mine"), "{}", said.err);
        assert!(code == 2 || !said.out.is_empty() || command[1] == "run");
    }
    let doctor = checkout.succeed(&["doctor"]);
    let line = doctor.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(line.contains("unknown key `lables`"), "{doctor}");
    let experiment = SPARSE.replace("fixture-tweets", "mine");
    checkout.write("experiments/trial/sparse.toml", &experiment);
    let said = checkout.run(&["sweep", "plan", "trial", "fixture"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains(of_dataset), "{}", said.err);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_clean_error_and_the_sweep_goes_on_later() {
    let checkout = Checkout::with(&[("sparse", SPARSE)]);
    // No file may grow beyond 512 bytes, and the signal that says so is ignored: writes fail as on a full disk.
    let binary = env!("CARGO_BIN_EXE_totune");
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    let mut command = std::process::Command::new("sh");
    command
        .arg("-c")
        .arg(script)
        .arg(binary)
        .arg("--project")
        .arg(checkout.path(""));
    command.args(["--device", DEVICE, "sweep", "run", "trial", "fixture"]);
    let said = CommandOutput::from(command.output().expect("starts"));
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(
        said.err.contains(".parquet: could not be written"),
        "{}",
        said.err
    );
    assert_eq!(checkout.count(State::Done), 0);
    let left: Vec<_> = fs::read_dir(checkout.path("runs")).expect("runs").collect();
    assert!(!left.is_empty(), "it got as far as writing");

    checkout.succeed(&["sweep", "run", "trial", "fixture"]);
    assert_eq!(checkout.count(State::Done), 6);
}

/// Checks for exit code 2, the message, and neither runs nor results.
#[track_caller]
fn refused(checkout: &Checkout, said: CommandOutput, expected: &str) {
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(
        said.err.contains(expected),
        "expected {expected:?} in: {}",
        said.err
    );
    assert!(
        said.err.lines().any(|line| line.starts_with("error: ")),
        "{}",
        said.err
    );
    let written = |part: &str| checkout.path(part).exists();
    assert!(
        !written("runs") && !written("results"),
        "something was written"
    );
}

/// `/dev/full` accepts nothing, like a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_an_error() {
    let checkout = Checkout::new();
    let commands: [&[&str]; 4] = [
        &["papers"],
        &["data", "list"],
        &["completions", "bash"],
        &["--help"],
    ];
    for arguments in commands {
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let mut command = checkout.command(arguments);
        let ended = command.stdout(full.expect("a device")).output();
        let ended = ended.expect("runs");
        let err = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{err}");
        assert!(
            err.starts_with("error: cannot write to standard output: "),
            "{err}"
        );
    }
}

#[test]
fn shells_complete_every_command() {
    let checkout = Checkout::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = checkout.succeed(&["completions", shell]);
        for command in totune_cli::command().get_subcommands() {
            assert!(script.contains(command.get_name()), "{shell}: {command}");
        }
    }
}

/// Conflicts with cards are reported when a grid is planned, all at once, and not when its runs have begun.
#[test]
fn settings_that_fit_no_dataset_or_encoder_are_refused_in_the_plan() {
    let bimpm = r#"head = { kind = "bimpm", context = "bi-lstm", context-hidden = 4, perspectives = 2, reading = "paper", aggregation = { kind = "bi-lstm", hidden = 4 }, mlp-hidden = 4, dropout = 0.1 }"#;
    let linear = r#"head = { pooling = "pooler", dropout = 0.1 }"#;
    let text = TUNE
        .replace("max-length = 24", "max-length = 5120")
        .replace(linear, bimpm)
        .replace("k = 1", "k = 9");
    let checkout = Checkout::with(&[("tune", &text)]);
    for command in ["plan", "run"] {
        let said = checkout.run(&["sweep", command, "trial", "fixture"]);
        assert_eq!(said.code, Some(2), "{}", said.err);
        let file = "experiments/trial/tune.toml: ";
        for expected in [
            "max-length: found 5120, but `fixture-bert` reads at most 64 tokens",
            "head.kind: found `bimpm`, which compares the texts of a pair; `fixture-tweets` has single texts",
            "adaptation.k: found 9",
        ] {
            let expected = format!("{file}{expected}");
            assert!(said.err.contains(&expected), "{expected}: {}", said.err);
        }
        assert!(!checkout.path("runs").exists());
    }
    let files = r#"kind = "files"
test = "tset"
dev = 0.1"#;
    let text = TUNE.replace("kind = \"hold-out\"\ntest = 0.2", files);
    let said = Checkout::with(&[("tune", &text)]).run(&["sweep", "plan", "trial", "fixture"]);
    let expected = "split.test: found `tset`, but `fixture-tweets` has ";
    assert!(said.err.contains(expected), "{}", said.err);
    let full = r#"kind = "full", lr = 1e-3, pooler = "trainable", embeddings = "trainable""#;
    let adapters = r#"kind = "adapters", lr = 1e-3, width = 2, after = ["attention"], norms = "frozen", pooler = "frozen""#;
    let text = TUNE.replace("fixture-bert", "fixture-elmo");
    let text = text.replace(full, adapters);
    let said = Checkout::with(&[("tune", &text)]).run(&["sweep", "plan", "trial", "fixture"]);
    let expected = "adaptation.kind: found `adapters-2 after attention`, expected another strategy: `elmo` has no \
                    layers of a transformer (of `fixture-elmo`)";
    assert!(said.err.contains(expected), "{}", said.err);
    let lora = r#"kind = "lora", lr = 1e-3, rank = 2, alpha = 2.0, targets = ["attention.query"], dropout = 0.0, pooler = "frozen""#;
    let text = TUNE.replace("fixture-bert", "modernbert-tiny");
    let text = text.replace(full, lora);
    let said = Checkout::with(&[("tune", &text)]).run(&["sweep", "plan", "trial", "fixture"]);
    let expected = "adaptation.targets: found `attention.query`, expected one of attention.query_key_value, \
                    attention.output, feed_forward.intermediate, feed_forward.output, the linear layers of `modernbert` \
                    (of `modernbert-tiny`)";
    assert!(said.err.contains(expected), "{}", said.err);
}
