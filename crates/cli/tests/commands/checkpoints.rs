//! Runs that are asked to end, or killed, go on from a checkpoint and end with the rows of undisturbed ones.

#![cfg(unix)]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use totune_sweep::State;

use crate::support::{Checkout, CommandOutput, TUNE};

/// Checkpoints after every step.
pub const RUN: [&str; 6] = [
    "sweep",
    "run",
    "trial",
    "fixture",
    "--checkpoint-every",
    "0s",
];

/// One run that takes a few seconds, scored after each of many epochs.
fn long() -> String {
    let (settings, _) = TUNE
        .split_once("[[arm]]\nname = \"last-1\"")
        .expect("two arms");
    let settings = settings.replace("epochs = 2", "epochs = 8");
    let settings = settings.replace("seeds = [1, 2]", "seeds = [1]");
    settings + "[profiles.fixture]\n"
}

pub fn checkout() -> Checkout {
    Checkout::with(&[("tune", &long())]).in_processes()
}

/// The id of the only run.
pub fn id(checkout: &Checkout) -> String {
    let ids = checkout.ids();
    assert_eq!(ids.len(), 1);
    ids[0].clone()
}

/// Checkpoints of the run, the oldest first.
pub fn checkpoints(checkout: &Checkout, id: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(checkout.run_folder(id));
    let paths = entries.into_iter().flatten().flatten().map(|e| e.path());
    let mut found: Vec<PathBuf> = paths
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("checkpoint-")
        })
        .collect();
    found.sort();
    found
}

pub fn log(checkout: &Checkout, id: &str) -> String {
    fs::read_to_string(checkout.run_folder(id).join("run.log")).expect("a log")
}

fn spawn(checkout: &Checkout) -> Child {
    checkout.command(&RUN).spawn().expect("starts")
}

/// Waits until the run has a checkpoint other than those before.
pub fn wait_for_progress(checkout: &Checkout, id: &str, before: &[PathBuf]) {
    let begun = Instant::now();
    while checkpoints(checkout, id).last() == before.last() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no progress");
        sleep(Duration::from_millis(5));
    }
}

pub fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(sent.expect("kill").success());
}

pub fn end(child: Child) -> CommandOutput {
    CommandOutput::from(child.wait_with_output().expect("ended"))
}

#[test]
fn a_run_that_is_asked_to_end_or_killed_goes_on_where_it_was() {
    let undisturbed = checkout();
    let id = id(&undisturbed);
    undisturbed.succeed(&RUN);
    let expected = undisturbed.tables(&id);
    assert!(checkpoints(&undisturbed, &id).is_empty());

    let disturbed = checkout();
    for (name, code) in [
        ("-TERM", Some(75)),
        ("-KILL", None),
        ("-USR1", Some(75)),
        ("-INT", Some(130)),
        ("-USR2", Some(75)),
    ] {
        let before = checkpoints(&disturbed, &id);
        let child = spawn(&disturbed);
        wait_for_progress(&disturbed, &id, &before);
        signal(&child, name);
        let said = end(child);
        assert_eq!(said.code, code, "{name}: {}", said.err);
        assert_eq!(
            said.err.contains("resuming after step "),
            name != "-TERM", // the first
            "{name}: {}",
            said.err
        );
        assert_eq!(
            said.err.contains("rerun the same command to resume"),
            code.is_some(),
            "{name}: {}",
            said.err
        );
        // A kill may come between the newest one and the removal of the oldest.
        let (left, most) = (
            checkpoints(&disturbed, &id).len(),
            2 + usize::from(code.is_none()),
        );
        assert!((1..=most).contains(&left), "{name}: {left} checkpoints");
        let plan = disturbed.plan(&[]);
        let why = plan["runs"][0]["why"].as_str().expect("a reason");
        assert!(why.ends_with("; there is a checkpoint"), "{name}: {why}");
    }
    disturbed.succeed(&RUN);
    assert_eq!(disturbed.tables(&id), expected);
    assert!(checkpoints(&disturbed, &id).is_empty());
    let log = log(&disturbed, &id);
    assert_eq!(log.matches("resuming after step").count(), 5, "{log}");
    assert_eq!(log.matches("interrupted").count(), 4, "{log}");
}

/// A second request to end comes while the first is obeyed, as from SLURM at the end of the time it gives.
#[test]
fn requests_to_end_that_follow_the_first_change_nothing() {
    let checkout = checkout();
    let id = id(&checkout);
    let child = spawn(&checkout);
    wait_for_progress(&checkout, &id, &[]);
    for _ in 0..3 {
        signal(&child, "-USR1");
        signal(&child, "-TERM");
    }
    let said = end(child);
    assert_eq!(said.code, Some(75), "{}", said.err);
    assert!(log(&checkout, &id).contains("interrupted"));
}

#[test]
fn a_damaged_checkpoint_gives_way_to_the_one_before_and_none_is_used_that_is_of_another_machine() {
    // On flex, which takes its time, sums are the same with any number of threads.
    let brief = long().replace("epochs = 8", "epochs = 4");
    let checkout = || {
        Checkout::with(&[("tune", &brief)])
            .on("flex")
            .in_processes()
    };
    let undisturbed = checkout();
    let id = id(&undisturbed);
    undisturbed.succeed(&RUN);
    let expected = undisturbed.tables(&id);

    let disturbed = checkout();
    let stop = |disturbed: &Checkout| {
        let before = checkpoints(disturbed, &id);
        let child = spawn(disturbed);
        wait_for_progress(disturbed, &id, &before);
        let first = checkpoints(disturbed, &id);
        wait_for_progress(disturbed, &id, &first); // two of them
        signal(&child, "-TERM");
        end(child)
    };
    stop(&disturbed);
    let kept = checkpoints(&disturbed, &id);
    assert_eq!(kept.len(), 2);
    let mut bytes = fs::read(&kept[1]).expect("the newest");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&kept[1], bytes).expect("damaged");
    let said = stop(&disturbed);
    let name = kept[1].file_name().expect("a name").to_string_lossy();
    let ignored = said.err.find("a checkpoint is ignored: ");
    let resumed = said.err.find("resuming after step ");
    assert!(ignored < resumed && ignored.is_some(), "{}", said.err);
    assert!(said.err.contains(&*name), "{}", said.err);
    assert!(said.err.contains("the file is damaged"), "{}", said.err);

    // On other devices sums of another number of threads are rounded differently.
    let arguments = [&RUN[..], &["--threads", "3"]].concat();
    let said = disturbed.run(&arguments);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let found = said.err.matches("`threads` was ").count();
    assert_eq!(found, 2, "{}", said.err);
    assert!(!said.err.contains("resuming"), "{}", said.err);
    let mut tables = disturbed.tables(&id);
    tables.runs[0].threads = expected.runs[0].threads;
    assert_eq!(tables, expected);
}

#[test]
fn without_checkpoints_an_interrupted_run_begins_again() {
    let checkout = checkout();
    let id = id(&checkout);
    let off = [
        "sweep",
        "run",
        "trial",
        "fixture",
        "--checkpoint-every",
        "off",
    ];
    let child = checkout.command(&off).spawn().expect("starts");
    let begun = Instant::now();
    while checkout.count(State::Running) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no run begins");
        sleep(Duration::from_millis(20));
    }
    signal(&child, "-TERM");
    assert_eq!(end(child).code, Some(75));
    assert!(checkpoints(&checkout, &id).is_empty());
}
