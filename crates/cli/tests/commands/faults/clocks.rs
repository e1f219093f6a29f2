//! Clocks that jump by an hour, forth or back.

use std::fs;
use std::process::Child;

use super::jobs::Job;
use super::layer::{Watched, library};
use crate::support::{Checkout, CommandOutput};

const JUMPS: [&str; 2] = ["3600", "-3600"];

/// A command whose clock jumps after a number of calls.
fn spawn(job: Job, checkout: &Checkout, jump: &str, at: usize) -> (Child, Watched) {
    let mut command = job.command(checkout);
    let below = checkout.path("").canonicalize().expect("a checkout");
    let watched = Watched::new(&mut command, &below);
    command
        .env("FAULT_CLOCK", jump)
        .env("FAULT_CLOCK_AT", at.to_string());
    (command.spawn().expect("starts"), watched)
}

fn end(child: Child) -> CommandOutput {
    CommandOutput::from(child.wait_with_output().expect("ended"))
}

#[test]
fn a_clock_that_jumps_changes_no_result() {
    if library().is_none() {
        return;
    }
    for job in [Job::Sweep, Job::Search, Job::Train, Job::Pretrain] {
        let undisturbed = job.undisturbed();
        let counted = undisturbed.template.again();
        let (child, watched) = spawn(job, &counted, "0", 0);
        assert_eq!(end(child).code, Some(0));
        let calls = watched.calls();
        for (number, jump) in JUMPS.into_iter().enumerate() {
            let disturbed = undisturbed.template.again();
            let (child, _watched) = spawn(job, &disturbed, jump, calls * (1 + number) / 3);
            let said = end(child);
            assert_eq!(said.code, Some(0), "{job:?} {jump}: {}", said.err);
            assert!(
                job.left(&disturbed) == undisturbed.left,
                "{job:?} {jump}: other results"
            );
        }
        println!("{job:?}: {} jumps", JUMPS.len());
    }
}

/// Each believes that the other one's leases are of another time of day, and that is not asked.
#[test]
fn workers_whose_clocks_are_two_hours_apart_do_each_run_once() {
    if library().is_none() {
        return;
    }
    let undisturbed = Job::Sweep.undisturbed();
    let shared = undisturbed.template.again();
    let workers = JUMPS.map(|jump| spawn(Job::Sweep, &shared, jump, 0));
    for (child, _watched) in workers {
        let said = end(child);
        assert_eq!(said.code, Some(0), "{}", said.err);
    }
    for id in shared.ids() {
        for folder in ["attempts", "results"] {
            let entries = fs::read_dir(shared.run_folder(&id).join(folder));
            assert_eq!(entries.expect("a folder").count(), 1, "{id}/{folder}");
        }
    }
    assert!(
        Job::Sweep.left(&shared) == undisturbed.left,
        "other results"
    );
}
