//! Processes that are killed at random moments, several of them at work in one folder.

use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::jobs::{JOBS, Job};

/// Random numbers that follow from a seed (xorshift64).
pub struct Random(u64);

impl Random {
    /// The seed of the environment's `TOTUNE_TEST_SEED`, or of the clock; printed, to be used again.
    pub fn new() -> Self {
        let clock = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("after 1970");
        let given = std::env::var("TOTUNE_TEST_SEED").ok();
        let given = given.and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or(clock.as_nanos() as u64) | 1;
        println!("TOTUNE_TEST_SEED={seed}");
        Self(seed)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end.max(1)
    }
}

/// Number of calls of each command that a thorough test disturbs: all, unless `TOTUNE_TEST_CALLS` says otherwise.
pub fn most() -> usize {
    let given = std::env::var("TOTUNE_TEST_CALLS").ok();
    let given = given.and_then(|calls| calls.parse().ok());
    given.unwrap_or(usize::MAX)
}

/// Number of processes at work in one folder; the others have one that may.
fn workers(job: Job, random: &mut Random) -> usize {
    match job {
        Job::Sweep | Job::Search | Job::Restore | Job::Collect => 2 + random.below(3),
        _ => 1,
    }
}

/// Kills processes of each job in turn until there were `most` kills, and completes and compares each folder.
fn kill(most: usize) {
    let mut random = Random::new();
    let jobs = JOBS.map(|job| (job, job.undisturbed()));
    let mut kills = vec![0; jobs.len()];
    let mut folders = vec![0; jobs.len()];
    while kills.iter().sum::<usize>() < most {
        // Those that were killed least, since some end before.
        let fewest = (0..jobs.len()).min_by_key(|&at| kills[at]).expect("jobs");
        let (job, undisturbed) = &jobs[fewest];
        let disturbed = undisturbed.template.again().in_processes();
        folders[fewest] += 1;
        for _ in 0..2 + random.below(7) {
            let n = workers(*job, &mut random);
            let mut alive: Vec<Child> = (0..n)
                .map(|_| job.command(&disturbed).spawn().expect("starts"))
                .collect();
            while !alive.is_empty() {
                let longest = (undisturbed.took.as_micros() as usize * n).max(1);
                sleep(Duration::from_micros(
                    random.below(longest / alive.len()) as u64
                ));
                let mut child = alive.swap_remove(random.below(alive.len()));
                child.kill().expect("SIGKILL");
                let ended = child.wait_with_output().expect("ended");
                let err = String::from_utf8_lossy(&ended.stderr);
                assert!(!err.contains("panicked"), "{job:?}: {err}");
                kills[fewest] += usize::from(ended.status.code().is_none());
            }
        }
        job.complete(&disturbed);
        assert!(
            job.left(&disturbed) == undisturbed.left,
            "{job:?}: other results after {kills:?} kills"
        );
    }
    for (at, (job, ..)) in jobs.iter().enumerate() {
        println!("{job:?}: {} kills in {} folders", kills[at], folders[at]);
    }
}

#[test]
fn what_is_killed_and_repeated_ends_as_if_undisturbed() {
    kill(JOBS.len());
}

#[test]
#[ignore = "an hour; `./justw test-faults`"]
fn five_hundred_kills() {
    kill(500);
}
