//! Errors of the file system at each call that changes a file.

use super::jobs::{JOBS, Job};
use super::kills::{Random, most};
use super::layer::Errno::{InputOutput, Quota, ReadOnly, StorageFull};
use super::layer::{Fault, Watched, library};
use crate::support::Checkout;

const FAULTS: [Fault; 7] = [
    Fault::Once(StorageFull),
    Fault::Once(InputOutput),
    Fault::From(StorageFull),
    Fault::From(ReadOnly),
    Fault::From(Quota),
    Fault::Short(StorageFull),
    Fault::After(InputOutput),
];

/// Disturbs each of `jobs` at about `most` of its calls, with one of the faults after the other, and repeats the command
/// undisturbed.
fn try_all(jobs: &[Job], most: usize) {
    if library().is_none() {
        return;
    }
    for &job in jobs {
        let undisturbed = job.undisturbed();
        let watched_one = undisturbed.template.again();
        let mut command = job.command(&watched_one);
        let watched = Watched::new(
            &mut command,
            &watched_one.path("").canonicalize().expect("it"),
        );
        let said = watched_one.end(&mut command);
        assert_eq!(said.code, Some(0), "{job:?}: {}", said.err);
        let calls = watched.calls();
        assert!(calls > 0, "{job:?}: no call was counted");
        let (mut tried, mut ended, mut went_on) = (0, 0, 0);
        let mut random = Random::new();
        let turn = random.below(FAULTS.len());
        let step = calls.div_ceil(most);
        for at in (1 + random.below(step)..=calls).step_by(step) {
            let fault = FAULTS[(turn + tried) % FAULTS.len()];
            let disturbed = undisturbed.template.again();
            let is_ended = disturb(job, &disturbed, at, fault);
            (ended, went_on) = (
                ended + usize::from(is_ended),
                went_on + usize::from(!is_ended),
            );
            job.complete(&disturbed);
            assert!(
                job.left(&disturbed) == undisturbed.left,
                "{job:?}: other results after {fault:?} at call {at} of {calls}"
            );
            tried += 1;
        }
        println!("{job:?}: {calls} calls, {tried} faults, {ended} ended it, {went_on} did not");
    }
}

/// Runs a command with a fault; true if it ended with an error, which names the cause and what to do.
fn disturb(job: Job, checkout: &Checkout, at: usize, fault: Fault) -> bool {
    let mut command = job.command(checkout);
    let below = checkout.path("").canonicalize().expect("a checkout");
    let _watched = Watched::new(&mut command, &below).disturb(&mut command, at, fault);
    let said = checkout.end(&mut command);
    let about = format!(
        "{job:?}, {fault:?} at call {at}: {:?}\n{}",
        said.code, said.err
    );
    assert!(!said.err.contains("panicked"), "{about}");
    if said.code == Some(0) {
        return false;
    }
    assert_eq!(said.code, Some(2), "{about}");
    let [cause, advice] = fault.errno().expect("an error").words();
    assert!(
        said.err.contains(cause) && said.err.contains(advice),
        "{about}"
    );
    // The file or folder that it is about.
    let folder = below.display().to_string();
    assert!(said.err.contains(&folder), "{about}");
    true
}

#[test]
fn a_sweep_ends_with_the_cause_or_goes_on_and_its_repetition_completes() {
    try_all(&[Job::Sweep], FAULTS.len());
}

#[test]
fn other_commands_end_with_the_cause_or_go_on_and_their_repetition_completes() {
    try_all(&JOBS[1..], 2);
}

#[test]
fn a_store_that_cannot_be_written_to_can_be_looked_at() {
    if library().is_none() {
        return;
    }
    let undisturbed = Job::Report.undisturbed();
    let store = undisturbed.template.again();
    let below = store.path("").canonicalize().expect("a checkout");
    for line in [
        "sweep plan trial fixture",
        "sweep status trial fixture",
        "sweep run trial fixture",
    ] {
        let mut command = store.command(&line.split(' ').collect::<Vec<_>>());
        let fault = Fault::From(ReadOnly);
        let _watched = Watched::new(&mut command, &below).disturb(&mut command, 1, fault);
        let said = store.end(&mut command);
        assert_eq!(said.code, Some(0), "{line}: {}", said.err);
    }
}

#[test]
#[ignore = "an hour; `./justw test-faults`"]
fn every_call_of_every_command() {
    try_all(&JOBS, most());
}
