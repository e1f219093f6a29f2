//! Files with a changed bit: named and not used.

use std::fs;
use std::path::{Path, PathBuf};

use super::jobs::{Job, killed};
use super::kills::Random;
use super::layer::library;
use crate::support::{Checkout, CommandOutput};

/// Changes a bit of a file.
fn flip(path: &Path, random: &mut Random) {
    let mut bytes = fs::read(path).expect("a file");
    let bit = random.below(8 * bytes.len());
    bytes[bit / 8] ^= 1 << (bit % 8);
    fs::write(path, bytes).expect("damaged");
}

/// Files below a folder of a checkout, as parts of its path.
fn files(checkout: &Checkout, below: &str) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), vec![PathBuf::from(below)]);
    while let Some(part) = open.pop() {
        let path = checkout.path(&part.to_string_lossy());
        if path.is_dir() {
            let entries = fs::read_dir(path).expect("a folder");
            open.extend(entries.map(|entry| part.join(entry.expect("an entry").file_name())));
        } else {
            found.push(part.to_string_lossy().into_owned());
        }
    }
    found.sort();
    found
}

/// Changes bits of every `step`-th file of a finished store, from a random one of the first on, each `times` times.
fn flip_store(times: usize, step: usize) {
    let mut random = Random::new();
    let undisturbed = Job::Sweep.undisturbed();
    let (store, expected) = (undisturbed.store.again(), &undisturbed.left);
    fs::remove_dir_all(store.path("results")).expect("collected tables");
    let all = files(&store, "runs");
    let (mut named, mut tried) = (0, 0);
    let damageable = all.iter().filter(|file| !file.ends_with(".states"));
    for file in damageable.skip(random.below(step)).step_by(step) {
        for _ in 0..times {
            let damaged = store.again();
            flip(&damaged.path(file), &mut random);
            tried += 1;
            let plan = damaged.plan(&[]);
            let runs = plan["runs"].as_array().expect("runs").iter();
            let open: Vec<_> = runs.filter(|run| run["state"] != "done").collect();
            for run in &open {
                let why = run["why"].as_str().expect("a reason");
                assert!(
                    why.starts_with("its results cannot be read: "),
                    "{file}: {why}"
                );
                let id = file.split('/').nth(1).expect("a run");
                assert!(why.contains(id), "{file}: {why}");
                named += 1;
            }
            assert!(
                open.len() == 1 || !file.contains("/results/"),
                "{file}: not noticed"
            );
            let said = Job::Sweep.run(&damaged);
            assert_eq!(said.code, Some(0), "{file}: {}", said.err);
            assert!(
                Job::Sweep.left(&damaged) == *expected,
                "{file}: other results"
            );
        }
    }
    println!(
        "{} files of a store: {named} of {tried} changed bits named",
        all.len(),
    );
}

#[test]
fn a_changed_bit_in_a_store_is_named_and_the_run_done_again() {
    flip_store(1, 3);
}

#[test]
#[ignore = "a quarter of an hour; `./justw test-faults`"]
fn many_changed_bits_in_a_store() {
    flip_store(12, 1);
}

#[test]
fn changed_activations_are_named_and_computed_again() {
    let mut random = Random::new();
    let undisturbed = Job::Sweep.undisturbed();
    let store = undisturbed.store.again();
    let cached = files(&store, "runs/activations");
    let cached: Vec<&String> = cached
        .iter()
        .filter(|file| file.ends_with(".states"))
        .collect();
    assert!(!cached.is_empty());
    // All runs again, from the activations that are there.
    for file in files(&store, "runs") {
        if !file.starts_with("runs/activations") {
            fs::remove_file(store.path(&file)).expect("a file of a run");
        }
    }
    for file in cached {
        let damaged = store.again();
        flip(&damaged.path(file), &mut random);
        let said = Job::Sweep.run(&damaged);
        assert_eq!(said.code, Some(0), "{}", said.err);
        let name = file.rsplit('/').next().expect("a name");
        let note = said.err.lines().find(|line| line.starts_with("note: "));
        assert!(
            note.is_some_and(|note| note.contains(name) && note.ends_with("; computed again")),
            "{}",
            said.err
        );
        assert!(
            Job::Sweep.left(&damaged) == undisturbed.left,
            "other results"
        );
    }
}

#[test]
fn a_changed_checkpoint_lease_or_hash_changes_no_result() {
    if library().is_none() {
        return;
    }
    let mut random = Random::new();
    let undisturbed = Job::Sweep.undisturbed();
    let store = killed(Job::Sweep, "checkpoint-00000002.safetensors");
    let all = files(&store, "");
    let of = |part: &str| {
        all.iter()
            .filter(|file| file.contains(part))
            .collect::<Vec<_>>()
    };
    let (checkpoints, leases, hashes) = (of("/checkpoint-"), of("/leases/"), of("hashes.json"));
    assert!(
        checkpoints.len() >= 2 && leases.len() >= 2,
        "{checkpoints:?} {leases:?}"
    );
    for file in checkpoints.iter().chain(&leases).chain(&hashes) {
        let damaged = store.again();
        flip(&damaged.path(file), &mut random);
        let said = Job::Sweep.run(&damaged);
        assert_eq!(said.code, Some(0), "{file}: {}", said.err);
        assert!(
            Job::Sweep.left(&damaged) == undisturbed.left,
            "{file}: other results"
        );
    }
    // With both changed, nothing is left to resume from.
    for file in &checkpoints {
        let mut bytes = fs::read(store.path(file)).expect("a checkpoint");
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(store.path(file), bytes).expect("damaged");
    }
    let said = Job::Sweep.run(&store);
    assert_eq!(
        said.err.matches("the file is damaged").count(),
        checkpoints.len(),
        "{}",
        said.err
    );
    assert!(Job::Sweep.left(&store) == undisturbed.left, "other results");
}

#[test]
fn changed_collected_tables_are_refused_by_name() {
    let mut random = Random::new();
    let store = Job::Report.prepare();
    let expected = Job::Collect.left(&store);
    for table in ["runs", "evals", "predictions"] {
        let damaged = store.again();
        let path = damaged.path(&format!("results/trial/fixture/{table}.parquet"));
        let mut bytes = fs::read(&path).expect("a table");
        // Not in the last part, which has the key of the checksum.
        let bit = random.below(8 * bytes.len() / 2);
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, bytes).expect("damaged");
        for line in ["report trial fixture", "sweep restore trial fixture"] {
            let line: Vec<&str> = line.split(' ').collect();
            let said = damaged.run(&line);
            assert_eq!(said.code, Some(2), "{line:?} {table}");
            assert!(
                said.err.contains(&format!("{table}.parquet")),
                "{}",
                said.err
            );
        }
        if damaged.run(&["collect", "trial", "fixture"]).code != Some(0) {
            // The ids of collected runs are needed, so that it says what to do.
            let said = damaged.run(&["collect", "trial", "fixture"]);
            assert!(said.err.contains("remove the file"), "{}", said.err);
            fs::remove_file(path).expect("the table");
        }
        assert!(
            Job::Collect.left(&damaged) == expected,
            "{table}: other results"
        );
    }
}

#[test]
fn a_changed_checkpoint_of_pretraining_is_refused_with_what_to_do() {
    if library().is_none() {
        return;
    }
    let undisturbed = Job::Pretrain.undisturbed();
    let store = killed(Job::Pretrain, "step-00000004.safetensors");
    let newest = store.path("runs/pretraining/tiny/step-00000004.safetensors");
    let mut bytes = fs::read(&newest).expect("a checkpoint");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&newest, bytes).expect("damaged");
    let said: CommandOutput = Job::Pretrain.run(&store);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(
        said.err.contains("remove it to go on from step 2"),
        "{}",
        said.err
    );
    assert!(said.err.contains("step-00000004"), "{}", said.err);
    fs::remove_file(newest).expect("the checkpoint");
    Job::Pretrain.complete(&store);
    assert!(
        Job::Pretrain.left(&store) == undisturbed.left,
        "other weights"
    );
}
