//! Sweeps that are killed, run twice at once, or stopped end with the rows of an undisturbed one.

use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use totune_sweep::State;

use crate::support::{Checkout, CommandOutput, RUNS, TUNE};

/// Number of kills in the kill test; `TOTUNE_TEST_KILLS=500` for a thorough one.
fn kills() -> usize {
    std::env::var("TOTUNE_TEST_KILLS")
        .ok()
        .and_then(|kills| kills.parse().ok())
        .unwrap_or(8)
}

#[test]
fn a_sweep_killed_again_and_again_ends_with_the_same_rows() {
    let undisturbed = Checkout::new();
    let clock = Instant::now();
    undisturbed.succeed(&["sweep", "run", "trial", "fixture"]);
    let whole = clock.elapsed();
    let expected = undisturbed.collected();
    assert_eq!(expected.runs.len(), RUNS);

    let mut moments = Moments(0x2545_f491_4f6c_dd1d);
    let mut killed = 0;
    while killed < kills() {
        // A store is killed until it is finished; then the next one.
        let disturbed = Checkout::new().in_processes();
        while disturbed.count(State::Done) < RUNS && killed < kills() {
            let mut child = disturbed
                .command(&["sweep", "run", "trial", "fixture"])
                .spawn()
                .expect("starts");
            sleep(moments.below(whole));
            child.kill().expect("SIGKILL");
            let status = child.wait().expect("ended");
            killed += usize::from(status.code().is_none());
        }
        disturbed.succeed(&["sweep", "run", "trial", "fixture"]);
        assert_eq!(disturbed.collected(), expected, "after {killed} kills");
    }
}

#[test]
fn two_sweeps_on_one_store_share_the_work() {
    let alone = Checkout::new();
    alone.succeed(&["sweep", "run", "trial", "fixture"]);
    let shared = Checkout::new();
    let sweep = || {
        shared
            .command(&["sweep", "run", "trial", "fixture"])
            .spawn()
            .expect("starts")
    };
    for said in [sweep(), sweep(), sweep()].map(end) {
        assert_eq!(said.code, Some(0), "{}", said.err);
    }
    assert_eq!(shared.collected(), alone.collected());
}

#[test]
fn a_run_does_not_depend_on_the_runs_before_it() {
    let all = Checkout::new();
    all.succeed(&["sweep", "run", "trial", "fixture"]);
    let alone = Checkout::new();
    for id in all.ids().iter().rev() {
        alone.succeed(&["sweep", "run", "trial", "fixture", "--only", id]);
        assert_eq!(alone.tables(id), all.tables(id));
    }
}

#[test]
fn shards_together_are_the_whole() {
    let checkout = Checkout::new();
    for shard in ["1/3", "3/3", "2/3"] {
        checkout.succeed(&["sweep", "run", "trial", "fixture", "--shard", shard]);
    }
    assert_eq!(checkout.count(State::Done), RUNS);
}

#[test]
fn a_part_of_a_plan_is_selected_by_experiment_arm_and_dataset() {
    let checkout = Checkout::new();
    let runs = |arguments: &[&str]| {
        let plan = checkout.plan(arguments);
        plan["runs"].as_array().expect("runs").len()
    };
    let sparse = runs(&["--experiment", "sparse"]);
    let tune = runs(&["--experiment", "tune", "--dataset", "fixture-tweets"]);
    assert!(sparse > 0 && tune > 0 && sparse + tune == RUNS);
    let both = ["--experiment", "sparse", "--experiment", "tune"];
    assert_eq!(runs(&both), RUNS);
    let (full, last) = (runs(&["--arm", "full"]), runs(&["--arm", "last-1"]));
    assert!(full > 0 && last > 0 && full + last == tune);

    let wrong = ["sweep", "plan", "trial", "fixture", "--arm", "ful"];
    let said = checkout.run(&wrong);
    assert_eq!(said.code, Some(2));
    assert!(
        said.err
            .starts_with("error: unknown arm of this plan `ful`; did you mean `full`?"),
        "{}",
        said.err
    );

    let wrong = ["sweep", "plan", "trial", "fixture", "--dataset", "tweets"];
    let said = checkout.run(&wrong);
    assert_eq!(said.code, Some(2));
    assert_eq!(
        said.err,
        "error: unknown dataset of this plan `tweets`; did you mean `fixture-tweets`? there are: fixture-tweets\n"
    );
}

#[cfg(unix)]
#[test]
fn a_request_to_terminate_stops_cleanly_and_says_how_to_resume() {
    // Long enough to be caught while running.
    let long = TUNE.replace("epochs = 2", "epochs = 5000");
    let checkout = Checkout::with(&[("tune", &long)]);
    let child = checkout
        .command(&["sweep", "run", "trial", "fixture"])
        .spawn()
        .expect("starts");
    let begun = Instant::now();
    while checkout.count(State::Running) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no run begins");
        sleep(Duration::from_millis(50));
    }
    let asked = std::process::Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(asked.expect("kill").success());
    let said = end(child);
    assert_eq!(said.code, Some(75), "{}", said.err);
    assert!(
        said.err.contains("rerun the same command to resume"),
        "{}",
        said.err
    );
    assert_eq!(
        (
            checkout.count(State::Interrupted),
            checkout.count(State::Missing)
        ),
        (1, 3)
    );
}

#[test]
fn what_is_done_is_not_run_again() {
    let checkout = Checkout::new();
    checkout.succeed(&["sweep", "run", "trial", "fixture"]);
    let before = checkout.collected();
    let bytes = std::fs::read(checkout.path("results/trial/fixture/runs.parquet")).expect("table");
    checkout.succeed(&["sweep", "run", "trial", "fixture"]);
    assert_eq!(checkout.collected(), before);
    // The clocks are in these bytes: nothing ran, and the same runs give the same bytes.
    assert_eq!(
        std::fs::read(checkout.path("results/trial/fixture/runs.parquet")).expect("table"),
        bytes
    );
}

#[test]
fn a_sweep_continues_from_collected_runs() {
    let undisturbed = Checkout::new();
    undisturbed.succeed(&["sweep", "run", "trial", "fixture"]);
    let moved = Checkout::new();
    moved.succeed(&["sweep", "run", "trial", "fixture", "--shard", "1/2"]);
    moved.succeed(&["collect", "trial", "fixture", "--partial"]);
    let done = moved.count(State::Done);
    std::fs::remove_dir_all(moved.path("runs")).expect("runs");
    assert_eq!(moved.count(State::Missing), RUNS);

    let said = moved.run(&["sweep", "restore", "trial", "fixture"]);
    assert_eq!(said.err, format!("{done} runs restored, 0 were there\n"));
    assert_eq!(moved.count(State::Done), done);
    moved.succeed(&["sweep", "run", "trial", "fixture"]);
    let said = moved.run(&["sweep", "restore", "trial", "fixture"]);
    assert_eq!(said.err, format!("0 runs restored, {done} were there\n"));
    assert_eq!(moved.collected(), undisturbed.collected());
}

/// Tables that have more runs than the folder of runs are not replaced: nothing is lost.
#[test]
fn collected_runs_are_not_replaced_by_fewer() {
    let checkout = Checkout::new();
    checkout.succeed(&["sweep", "run", "trial", "fixture"]);
    checkout.succeed(&["collect", "trial", "fixture"]);
    let table = || std::fs::read(checkout.path("results/trial/fixture/runs.parquet"));
    let all = table().expect("collected");
    std::fs::remove_dir_all(checkout.path("runs")).expect("runs");
    checkout.succeed(&["sweep", "run", "trial", "fixture", "--shard", "1/2"]);
    let done = checkout.count(State::Done);

    let said = checkout.run(&["collect", "trial", "fixture", "--partial"]);
    assert_eq!(said.code, Some(2));
    let lost = format!(
        "error: {} collected runs have no folder below runs/, such as ",
        RUNS - done
    );
    assert!(said.err.starts_with(&lost), "{}", said.err);
    assert_eq!(table().expect("not replaced"), all);

    checkout.succeed(&["sweep", "restore", "trial", "fixture"]);
    checkout.succeed(&["collect", "trial", "fixture", "--partial"]);
    assert_eq!(checkout.count(State::Done), RUNS);
}

fn end(child: Child) -> CommandOutput {
    CommandOutput::from(child.wait_with_output().expect("ended"))
}

/// Random moments that are the same in every run of the test (xorshift64).
struct Moments(u64);

impl Moments {
    fn below(&mut self, longest: Duration) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        longest.mul_f64((self.0 >> 11) as f64 / (1u64 << 53) as f64)
    }
}
