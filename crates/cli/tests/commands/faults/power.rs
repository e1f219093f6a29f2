//! Power losses: what was not synchronised is gone.
//!
//! A command is killed before one of its calls, and the log of its calls says what a disk may have by then: the bytes that
//! a file had when it was last synchronised, and the names that a folder had when it was.

use totune_sweep::State;

use super::disk::{Disk, Names};
use super::jobs::Job;
use super::kills::{Random, most};
use super::layer::{Fault, Watched, library};
use crate::support::Checkout;

/// Loses power before call number `at` of a job, or after its end; what is left.
fn lose_power(
    job: Job,
    template: &Checkout,
    at: Option<usize>,
    names: Names,
    random: &mut Random,
) -> (Checkout, usize) {
    let disturbed = template.again();
    let below = disturbed.path("").canonicalize().expect("a checkout");
    let mut command = job.command(&disturbed);
    let mut watched = Watched::new(&mut command, &below).with_shadow(&mut command);
    if let Some(at) = at {
        watched = watched.disturb(&mut command, at, Fault::Kill);
    }
    let said = disturbed.end(&mut command);
    assert_eq!(
        said.code,
        at.map_or(Some(0), |_| None),
        "{job:?}: {}",
        said.err
    );
    let mut disk = Disk::new(&template.path("").canonicalize().expect("it"), &below);
    for line in watched.log() {
        disk.call(&line, &watched.shadow());
    }
    let left = Checkout::empty();
    disk.write(0, &left.path(""), names, random);
    (left, watched.calls())
}

/// Loses power at about `most` moments of each job, and completes and compares it.
fn lose_power_often(jobs: &[Job], most: usize) {
    if library().is_none() {
        return;
    }
    let mut random = Random::new();
    for &job in jobs {
        let undisturbed = job.undisturbed();
        let (template, expected) = (&undisturbed.template, &undisturbed.left);
        let (ended, calls) = lose_power(job, template, None, Names::Lost, &mut random);
        // What the command said is done is on the disk.
        if matches!(job, Job::Sweep | Job::Search) {
            assert_eq!(
                ended.count(State::Done),
                ended.ids().len(),
                "{job:?}: results are lost"
            );
        }
        assert!(job.left(&ended) == *expected, "{job:?}: lost after its end");
        let step = calls.div_ceil(most);
        let mut tried = 1;
        for at in (1 + random.below(step)..=calls).step_by(step) {
            let names = [Names::Lost, Names::Kept, Names::Mixed][at / step % 3];
            let (left, _) = lose_power(job, template, Some(at), names, &mut random);
            job.complete(&left);
            assert!(
                job.left(&left) == *expected,
                "{job:?}: other results after a power loss before call {at} of {calls}, {names:?}"
            );
            tried += 1;
        }
        println!("{job:?}: {tried} power losses at {calls} calls");
    }
}

const JOBS: [Job; 6] = [
    Job::Sweep,
    Job::Search,
    Job::Collect,
    Job::Restore,
    Job::Train,
    Job::Pretrain,
];

#[test]
fn a_power_loss_takes_nothing_that_was_said_to_be_done() {
    lose_power_often(&JOBS, 2);
}

#[test]
#[ignore = "an hour; `./justw test-faults`"]
fn a_power_loss_before_every_call() {
    lose_power_often(&JOBS, most());
}
