//! Runs of processes that are stopped past their lease, end without a word, or live on machines that nobody can ask.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use totune_sweep::State;

use crate::support::{Checkout, CommandOutput, TUNE};

/// Runs long enough to be stopped in the middle: two, of a few seconds each.
fn long() -> String {
    let one_arm = TUNE.split("[[arm]]\nname = \"last-1\"").next();
    let one_arm = one_arm.expect("the first arm");
    format!("{one_arm}[profiles.fixture]\n").replace("epochs = 2", "epochs = 10")
}

fn checkout() -> Checkout {
    Checkout::with(&[("tune", &long())])
}

/// A sweep whose leases are stale after two seconds.
fn sweep(checkout: &Checkout) -> Child {
    let mut command = checkout.command(&["sweep", "run", "trial", "fixture"]);
    command.env("TOTUNE_LEASE", "2").spawn().expect("starts")
}

fn end(child: Child) -> CommandOutput {
    CommandOutput::from(child.wait_with_output().expect("ended"))
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(status.expect("kill").success());
}

/// The run that a process works on.
fn running(checkout: &Checkout) -> String {
    let begun = Instant::now();
    loop {
        let plan = checkout.plan(&[]);
        let mut runs = plan["runs"].as_array().expect("runs").iter();
        if let Some(run) = runs.find(|run| run["state"] == "running") {
            return run["id"].as_str().expect("an id").to_string();
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "no run begins");
        sleep(Duration::from_millis(50));
    }
}

fn attempts(checkout: &Checkout, id: &str) -> usize {
    let folder = checkout.run_folder(id).join("attempts");
    fs::read_dir(folder).expect("attempts").count()
}

/// The files of a run in one of its folders, without those that a killed process was writing.
fn files(checkout: &Checkout, id: &str, of: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(checkout.run_folder(id).join(of)).expect("a folder");
    let entries = entries.map(|entry| entry.expect("an entry"));
    entries
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .map(|entry| entry.path())
        .collect()
}

#[test]
fn a_process_stopped_past_its_lease_loses_the_run_and_changes_nothing_when_it_continues() {
    let undisturbed = checkout();
    undisturbed.succeed(&["sweep", "run", "trial", "fixture"]);
    let expected = undisturbed.collected();

    let disturbed = checkout();
    let stopped = sweep(&disturbed);
    let id = running(&disturbed);
    signal(&stopped, "-STOP");
    // Takes over what the stopped process holds, once that is stale, and does the rest.
    let said = end(sweep(&disturbed));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(disturbed.count(State::Done), expected.runs.len());
    let published = fs::read(disturbed.published(&id).join("runs.parquet")).expect("a table");

    signal(&stopped, "-CONT");
    let said = end(stopped);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let now = fs::read(disturbed.published(&id).join("runs.parquet")).expect("a table");
    assert!(now == published, "the published table is replaced");
    assert_eq!(attempts(&disturbed, &id), 1);
    assert_eq!(files(&disturbed, &id, "results").len(), 1);
    let log = fs::read_to_string(disturbed.run_folder(&id).join("run.log")).expect("a log");
    assert!(
        log.contains("another process has taken this run over"),
        "{log}"
    );
    assert_eq!(disturbed.collected(), expected);
}

#[test]
fn a_run_of_a_machine_that_died_is_taken_over_when_its_lease_is_stale() {
    let checkout = checkout();
    let mut dead = sweep(&checkout);
    let id = running(&checkout);
    dead.kill().expect("SIGKILL");
    dead.wait().expect("ended");
    // The lease as it would be on a machine that cannot be asked, with a date of tomorrow's clock.
    for path in files(&checkout, &id, "leases") {
        let text = fs::read_to_string(&path).expect("a lease");
        let mut lease: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        lease["owner"]["host"] = "elsewhere".into();
        fs::write(&path, lease.to_string()).expect("write");
        let file = fs::File::options().write(true).open(&path).expect("a file");
        let tomorrow = std::time::SystemTime::now() + Duration::from_secs(86_400);
        file.set_modified(tomorrow).expect("a date");
    }
    assert_eq!(
        checkout.count(State::Running),
        1,
        "nobody knows that it has ended"
    );
    let begun = Instant::now();
    let said = end(sweep(&checkout));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(begun.elapsed() >= Duration::from_secs(2));
    assert_eq!(checkout.count(State::Done), 2);
}

#[test]
fn a_lease_of_no_length_is_refused() {
    let checkout = Checkout::new();
    let mut command = checkout.command(&["sweep", "run", "trial", "fixture"]);
    let said = checkout.end(command.env("TOTUNE_LEASE", "soon"));
    assert_eq!(said.code, Some(2));
    let expected = "TOTUNE_LEASE: found `soon`, expected seconds from 1 to 86400";
    assert!(said.err.contains(expected), "{}", said.err);
}
