//! Two versions of the program in one store.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use totune_data::sha256_hex;

use super::jobs::{Job, killed};
use super::layer::library;
use crate::support::{Checkout, CommandOutput, SAME_PRODUCTS};

/// Position of the value of a key in the metadata of a table.
fn value(bytes: &[u8], key: &str, length: u8) -> usize {
    let mark = [key.as_bytes(), &[0x18, length]].concat();
    let last = bytes.windows(mark.len()).rposition(|part| part == mark);
    last.expect("the key") + mark.len()
}

/// Makes a table one of another version of the schema, whole in every other respect.
fn change_version(path: &Path, version: u8) {
    let mut bytes = fs::read(path).expect("a table");
    let at = value(&bytes, "totune.schema-version", 1);
    bytes[at] = version;
    let at = value(&bytes, "totune.sha256", 64);
    bytes[at..at + 64].fill(b'0');
    let digits = sha256_hex(&bytes);
    bytes[at..at + 64].copy_from_slice(digits.as_bytes());
    fs::write(path, bytes).expect("written");
}

/// The program as another one: with a byte more at its end.
fn other_program(folder: &Path) -> PathBuf {
    let path = folder.join("totune");
    fs::copy(env!("CARGO_BIN_EXE_totune"), &path).expect("a copy");
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .expect("the copy");
    file.write_all(b"\n").expect("a byte");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    path
}

/// A job's command with another program.
fn with_program(job: Job, checkout: &Checkout, program: &Path) -> Command {
    let own = job.command(checkout);
    let mut command = Command::new(program);
    command.args(own.get_args()).env_clear().envs(
        std::env::vars()
            .filter(|(name, _)| !name.starts_with("TOTUNE_") && !name.starts_with("HF_")),
    );
    command
        .envs(SAME_PRODUCTS)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    command
}

#[test]
fn results_of_a_newer_version_are_refused_and_stay() {
    let store = Job::Sweep.undisturbed().store.again();
    let id = &store.ids()[0];
    let table = store.published(id).join("runs.parquet");
    change_version(&table, b'7');
    let before = fs::read(&table).expect("the table");
    for line in [
        "sweep plan trial fixture",
        "sweep run trial fixture",
        "collect trial fixture",
    ] {
        let said = store.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(said.code, Some(2), "{line}: {}", said.err);
        for part in [
            &**id,
            "runs.parquet",
            "schema version `7`",
            "a newer totune wrote it",
        ] {
            assert!(
                said.err.contains(part),
                "{line}: no `{part}` in {}",
                said.err
            );
        }
    }
    assert!(fs::read(table).expect("the table") == before);
    let rounds = fs::read_dir(store.run_folder(id).join("results")).expect("rounds");
    assert_eq!(rounds.count(), 1);
}

#[test]
fn tables_from_before_there_were_checksums_are_read() {
    let undisturbed = Job::Collect.undisturbed();
    let (store, expected) = (undisturbed.store.again(), &undisturbed.left);
    fs::remove_dir_all(store.path("results")).expect("collected tables");
    for id in store.ids() {
        let published = store.published(&id);
        for table in ["runs", "evals", "predictions"] {
            let path = published.join(format!("{table}.parquet"));
            let mut bytes = fs::read(&path).expect("a table");
            for (key, length) in [("totune.sha256", 64), ("totune.written-with", 0)] {
                let mark = key.as_bytes();
                let at = bytes.windows(mark.len()).rposition(|part| part == mark);
                // Runs alone name the others.
                if let Some(at) = at {
                    bytes[at + mark.len() - 1] = b'x';
                }
                assert!(at.is_some() || length == 0, "{table}: no checksum");
            }
            fs::write(path, bytes).expect("an earlier table");
        }
    }
    assert!(Job::Collect.left(&store) == *expected, "other results");
}

#[test]
fn activations_of_an_earlier_version_are_computed_again() {
    let undisturbed = Job::Sweep.undisturbed();
    let (store, expected) = (undisturbed.store.again(), &undisturbed.left);
    for id in store.ids() {
        fs::remove_dir_all(store.run_folder(&id)).expect("a run");
    }
    let folder = fs::read_dir(store.path("runs/activations")).expect("activations");
    for entry in folder {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|ending| ending == "states") {
            let mut bytes = fs::read(&path).expect("activations");
            bytes[15] = b'1';
            fs::write(path, bytes).expect("an earlier file");
        }
    }
    let said = Job::Sweep.run(&store);
    let expected_note = "not cached activations of this version; computed again";
    assert!(said.err.contains(expected_note), "{}", said.err);
    assert!(Job::Sweep.left(&store) == *expected, "other results");
}

#[test]
fn a_checkpoint_of_another_program_is_named_and_ignored() {
    if library().is_none() {
        return;
    }
    let undisturbed = Job::Sweep.undisturbed();
    let store = killed(Job::Sweep, "checkpoint-00000001.safetensors");
    let folder = tempfile::tempdir().expect("a folder");
    let program = other_program(folder.path());
    let output = with_program(Job::Sweep, &store, &program)
        .output()
        .expect("starts");
    let said = CommandOutput::from(output);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.err.contains("a checkpoint is ignored: "),
        "{}",
        said.err
    );
    assert!(said.err.contains("`program` was "), "{}", said.err);
    assert!(Job::Sweep.left(&store) == undisturbed.left, "other results");
}

#[test]
fn two_programs_at_work_in_one_store_do_each_run_once() {
    let undisturbed = Job::Sweep.undisturbed();
    let folder = tempfile::tempdir().expect("a folder");
    let program = other_program(folder.path());
    let shared = undisturbed.template.again();
    let other = with_program(Job::Sweep, &shared, &program)
        .spawn()
        .expect("starts");
    Job::Sweep.complete(&shared);
    let said = CommandOutput::from(other.wait_with_output().expect("ended"));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        Job::Sweep.left(&shared) == undisturbed.left,
        "other results"
    );
}
