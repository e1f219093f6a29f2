//! The binary by itself, in folders that are no checkout: its own cards and encoder, and a project of the user's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::support::{DEVICE, forks};

/// A folder outside of everything, and a command in it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, part: &str) -> PathBuf {
        self.0.path().join(part)
    }

    fn write(&self, part: &str, text: &str) {
        let path = self.path(part);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    /// Exit code, output and messages of a command that is run in the folder `below`.
    fn run(&self, below: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_totune"));
        for (name, _) in std::env::vars() {
            if name.starts_with("TOTUNE_") || name.starts_with("HF_") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(self.path(below))
            .env("HOME", self.path("home"))
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .args(["--device", DEVICE])
            .args(arguments);
        let output = forks::output(&mut command);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    #[track_caller]
    fn succeed(&self, below: &str, arguments: &[&str]) -> String {
        let (code, out, err) = self.run(below, arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {out} {err}");
        out
    }
}

/// Reviews with a word that gives their label away.
fn reviews(rows: usize) -> String {
    let row = |at: usize| {
        let (word, label) = if at.is_multiple_of(3) {
            ("bad", "negative")
        } else {
            ("good", "positive")
        };
        format!("\"this one is {word}, number {at}\",{label}\n")
    };
    format!("text,label\n{}", (0..rows).map(row).collect::<String>())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry.expect("an entry")))
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_and_the_binary_suffice_to_compare_strategies() {
    let place = Place::new();
    place.write("mine/reviews.csv", &reviews(90));
    let short = ["--budget", "10s", "--strategies", "frozen", "--json"];
    let json = place.succeed("mine", &[&["compare", "reviews.csv"], &short[..]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["encoders"], serde_json::json!(["totune-bert-mini"]));
    assert!(json["chosen"].is_string(), "{json}");
    assert_eq!(
        names(&place.path("mine")),
        ["compare", "reviews.csv", "reviews.toml"]
    );
}

#[test]
fn what_needs_a_project_says_how_to_make_one() {
    let place = Place::new();
    fs::create_dir(place.path("mine")).expect("a folder");
    for arguments in [
        &["papers"][..],
        &["reproduce", "hart2020", "fixture"],
        &["experiment", "new", "fixture-tweets"],
    ] {
        let (code, _, err) = place.run("mine", arguments);
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains("`totune init` makes a project"), "{err}");
    }
    assert_eq!(names(&place.path("mine")), [""; 0]);
    // What is about cards works.
    assert!(
        place
            .succeed("mine", &["data", "list", "sst-2"])
            .contains("classification")
    );
    place.succeed("mine", &["doctor"]);
}

#[test]
fn a_cache_that_cannot_be_written_is_a_finding_of_doctor() {
    let place = Place::new();
    place.write("mine/cache", "a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_totune"));
    command
        .current_dir(place.path("mine"))
        .env("XDG_CACHE_HOME", place.path("mine/cache"))
        .args(["--device", DEVICE, "doctor"]);
    let output = forks::output(&mut command);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("own files") && said.contains("XDG_CACHE_HOME"),
        "{said}"
    );
}

#[test]
fn a_new_project_runs_its_example_and_has_cards_of_its_own() {
    let place = Place::new();
    place.succeed(".", &["init", "mine"]);
    let (code, _, err) = place.run(".", &["init", "mine"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("is already there"), "{err}");

    let path = "mine/experiments/example/strategies.toml";
    let text = fs::read_to_string(place.path(path)).expect("the example");
    let short = text
        .replace("\"totune-bert-mini\"", "\"fixture-bert\"")
        .replace("seeds = [1, 2]", "seeds = [1]\nmax-length = 32")
        .replace(", epochs = 5", "")
        .replace("epochs = 2", "epochs = 1");
    place.write(path, &short);
    // Below the root as well as in it.
    place.succeed("mine/datasets", &["reproduce", "example", "own"]);
    let page = fs::read_to_string(place.path("mine/reports/example/own/index.html"));
    assert!(page.expect("a page").contains("Frozen encoder"));

    // Invalid files are named, and hide no other.
    place.write("mine/experiments/example/half.toml", "paper = \"example\"");
    place.write("mine/experiments/example/other.toml", "paper = ");
    let (code, out, err) = place.run("mine", &["papers"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(out.contains("\n  strategies runs: own 2"), "{out}");
    assert!(
        err.contains("half.toml: ") && err.contains("other.toml: "),
        "{err}"
    );
    let (code, _, err) = place.run("mine", &["sweep", "plan", "example", "own"]);
    assert_eq!(code, Some(2));
    assert!(
        err.contains("half.toml: ") && err.contains("other.toml: "),
        "{err}"
    );
    for name in ["half", "other"] {
        let path = format!("mine/experiments/example/{name}.toml");
        fs::remove_file(place.path(&path)).expect("removed");
    }

    // The examples of the READMEs are cards; a project's own card takes precedence over the one of that name in the
    // binary.
    let block = |readme: &str| {
        let text = fs::read_to_string(place.path(readme)).expect("a README");
        let block = text.split("```toml\n").nth(1).expect("an example");
        block.split("```").next().expect("its end").to_string()
    };
    place.write(
        "mine/encoders/my-encoder.toml",
        &block("mine/encoders/README.md"),
    );
    let encoders = place.succeed("mine", &["encoders", "list"]);
    assert!(
        encoders.contains("my-encoder") && encoders.contains("totune-bert-mini"),
        "{encoders}"
    );
    let card = block("mine/datasets/README.md").replace("\"reviews\"", "\"sst-2\"");
    place.write("mine/datasets/sst-2.toml", &card);
    let listed = place.succeed("mine", &["data", "list", "sst-2", "--json"]);
    assert!(listed.contains("Reviews of our shop"), "{listed}");
}

#[test]
fn a_card_next_to_its_file_is_used_in_an_experiment() {
    let place = Place::new();
    place.succeed(".", &["init", "mine"]);
    for (file, target) in [
        (
            "mine/elsewhere/films.csv",
            "\"../elsewhere/films\"".to_string(),
        ),
        ("downloads/books.csv", String::new()),
    ] {
        place.write(file, &reviews(60));
        let name = Path::new(file)
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let file = place.path(file).display().to_string();
        place.succeed("mine", &["data", "new", &file]);
        let card = file.replace(".csv", ".toml");
        place.succeed("mine", &["experiment", "new", &card]);
        let link = fs::read_to_string(place.path(&format!("mine/datasets/{name}.toml")));
        assert!(
            link.expect("a card")
                .contains(&format!("extends = {target}"))
        );
        let check = place.succeed("mine", &["data", "check", &name]);
        assert!(check.contains("agrees"), "{check}");
        let plan = place.succeed("mine", &["sweep", "plan", &name, "own", "--json"]);
        let plan: serde_json::Value = serde_json::from_str(&plan).expect("JSON");
        assert_eq!(plan["runs"].as_array().map(Vec::len), Some(9), "{plan}");
    }
    // A file below the data root has its card among those of the project.
    place.write("mine/data/plays.csv", &reviews(60));
    place.succeed("mine", &["data", "new", "data/plays.csv"]);
    assert!(place.path("mine/datasets/plays.toml").is_file());
}

/// Runs the commands of docs/your-data.md in their order, in a folder with the files that they name, with short
/// training.
#[test]
fn the_documentation_of_own_data_can_be_followed() {
    let place = Place::new();
    place.write("reviews.csv", &reviews(90));
    place.write("test.csv", &reviews(20));
    place.write("new.csv", "text\nthis one is good\nthis one is bad\n");
    let row = |i: usize| {
        let topics = ["bill|delivery", "delivery", "", "bill"][i % 4];
        format!("letter {i} about a parcel,{topics}\n")
    };
    let letters: String = (0..40).map(row).collect();
    place.write("letters.csv", &format!("text,topics\n{letters}"));
    let row = |i: usize| format!("stay {i} by the sea,{}\n", i % 5 + 1);
    let stays: String = (0..40).map(row).collect();
    place.write("stays.csv", &format!("text,stars\n{stays}"));
    let page = include_str!("../../../../docs/your-data.md");
    let lines = page
        .lines()
        .filter_map(|line| line.strip_prefix("$ totune "));
    let lines: Vec<&str> = lines.collect();
    assert!(lines.len() > 6, "{lines:?}");
    for line in lines {
        let mut words: Vec<&str> = line
            .split(' ')
            .map(|word| word.trim_matches('\''))
            .collect();
        words.extend(match words[0] {
            "train" => &["--epochs", "1", "--max-length", "16"][..],
            "compare" => &["--budget", "10s", "--strategies", "frozen"],
            _ => &[],
        });
        let (code, out, err) = place.run(".", &words);
        // On a busy machine there may be no time to train anything.
        let busy = words[0] == "compare" && err.contains("no model was saved");
        assert_eq!(code, Some(i32::from(busy)), "{line}: {out} {err}");
        if words[0] == "experiment" {
            let path = "my-project/experiments/reviews/strategies.toml";
            let text = fs::read_to_string(place.path(path)).expect("an experiment");
            let short = text
                .replace("seeds = [1, 2, 3]", "seeds = [1]\nmax-length = 16")
                .replace(", epochs = 10", "")
                .replace("[profiles.own]", "[profiles.own]\nepochs = 1");
            place.write(path, &short);
        }
    }
    let predictions = fs::read_to_string(place.path("predictions.csv")).expect("predictions");
    assert!(predictions.starts_with("text,predicted,p_negative,p_positive\n"));
    assert_eq!(predictions.lines().count(), 3);
    assert!(place.path("my-model/config.json").is_file());
    assert!(
        place
            .path("my-project/reports/reviews/own/index.html")
            .is_file()
    );
}
