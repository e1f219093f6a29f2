//! Sweeps on several devices, and submissions without a scheduler: scripts, refusals, and fake commands of SLURM where
//! they stand for what a real one does rarely. `slurm.rs` has the real one.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use totune_sweep::State;

use crate::support::{Checkout, CommandOutput, DEVICE, RUNS, SAME_PRODUCTS, TUNE};

/// The lines of a script, and that bash takes it.
#[track_caller]
pub fn script(path: &str) -> String {
    let checked = Command::new("bash").args(["-n", path]).status();
    assert!(checked.expect("bash starts").success(), "{path}");
    fs::read_to_string(path).expect("a script")
}

#[test]
fn workers_on_several_devices_share_the_runs() {
    let alone = Checkout::new();
    alone.succeed(&["--threads", "1", "sweep", "run", "trial", "fixture"]);
    let shared = Checkout::new();
    let arguments = ["--threads", "2", "sweep", "run", "trial", "fixture"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_totune"));
    command
        .envs(SAME_PRODUCTS)
        .arg("--project")
        .arg(shared.path(""))
        .args(arguments);
    let devices = format!("{DEVICE},{DEVICE}");
    let output = command.args(["--devices", &devices]).output();
    let said = CommandOutput::from(output.expect("starts"));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.err.contains(&format!("[{DEVICE}] ")), "{}", said.err);
    // Two threads among two devices are one each.
    let (expected, found) = (alone.collected(), shared.collected());
    assert_eq!(found, expected);
}

#[test]
fn each_worker_does_all_runs_and_its_own_first() {
    let order = |worker: &str| {
        let checkout = Checkout::with(&[("tune", TUNE)]);
        let line = ["sweep", "run", "trial", "fixture", "--worker", worker];
        let said = checkout.run(&[&line[..], &["--log-format", "json"]].concat());
        assert_eq!(
            (said.code, checkout.count(State::Done)),
            (Some(0), 4),
            "{}",
            said.err
        );
        let events = said.err.lines().map(|line| {
            let event: serde_json::Value = serde_json::from_str(line).expect("JSON");
            event
        });
        let starts = events.filter(|event| event["event"] == "run-started");
        let arms = starts.map(|event| event["label"].as_str().expect("a label").contains("last-1"));
        arms.collect::<Vec<bool>>()
    };
    let (first, second) = (order("1/2"), order("2/2"));
    assert_eq!(first.len(), 4);
    // Two groups of two runs each, and each worker begins with another one.
    assert_eq!(first[0], first[1], "{first:?}");
    assert_eq!(first.iter().map(|last| !last).collect::<Vec<_>>(), second);
}

#[test]
fn a_dry_run_writes_scripts_that_can_be_read() {
    let checkout = Checkout::new();
    let line = "sweep submit trial fixture --slurm --dry-run --gpus 2 --time 2:00:00 --partition long --cpus 4 --memory 8G --sbatch=--qos=low";
    let mut words: Vec<&str> = line.split(' ').collect();
    words.extend(["--setup", "module load 'a b'", "--max-jobs", "3"]);
    let paths = checkout.succeed(&words);
    let paths: Vec<&str> = paths.lines().collect();
    assert_eq!(paths.len(), 2, "no search, so one array");
    let runs = script(paths[0]);
    let sweep = format!(
        " --threads 4 --device {DEVICE} sweep run trial fixture --checkpoint-every 10m --worker \"$SLURM_ARRAY_TASK_ID/3\" --no-wait\n"
    );
    for expected in [
        "#SBATCH --array=1-3\n",
        "#SBATCH --time=2:00:00\n",
        "#SBATCH --gres=gpu:2\n",
        "#SBATCH --partition=long\n",
        "#SBATCH --qos=low\n",
        "\nmodule load 'a b'\n",
        &sweep,
    ] {
        assert!(runs.contains(expected), "{expected}\n{runs}");
    }
    let collect = script(paths[1]);
    assert!(collect.contains(" collect trial fixture\n"), "{collect}");
    assert!(!collect.contains("--gres"), "{collect}");
    assert_eq!(checkout.count(State::Missing), RUNS);
}

#[test]
fn what_cannot_be_submitted_is_refused_with_its_name() {
    let checkout = Checkout::new();
    for (options, expected) in [
        (vec!["--shard", "1/2"], "--shard: a submission divides"),
        (
            vec!["--time", "4 hours"],
            "--time: found `4 hours`, expected a time such as 4:00:00",
        ),
        (
            vec!["--partition", "a\nb"],
            "--partition: found `a\nb`, expected one word such as gpu",
        ),
        (
            vec!["--memory", "32 G"],
            "--memory: found `32 G`, expected one word such as 32G",
        ),
        (
            vec!["--time", "2", "--notice", "120"],
            "--notice: found 120 seconds, expected fewer than the 120 of --time 2",
        ),
        (
            vec!["--sbatch", "qos=low"],
            "--sbatch: found `qos=low`, expected an option such as",
        ),
        (vec!["--max-jobs", "0"], "expected a whole number above 0"),
    ] {
        let line = [
            "sweep",
            "submit",
            "trial",
            "fixture",
            "--slurm",
            "--dry-run",
        ];
        let said = checkout.run(&[&line[..], &options].concat());
        assert_eq!(said.code, Some(2), "{options:?}");
        assert!(said.err.contains(expected), "{}", said.err);
    }
    let said = checkout.run(&["sweep", "submit", "trial", "fixture", "--dry-run"]);
    assert!(said.err.contains("--slurm"), "{}", said.err);
}

/// Fake commands of SLURM, by name and script.
pub fn with_commands(
    checkout: &Checkout,
    commands: &[(&str, &str)],
    line: &[&str],
) -> CommandOutput {
    for (name, text) in commands {
        checkout.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{text}\n"));
        let path = checkout.path(&format!("bin/{name}"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
    }
    let mut command = checkout.command(line);
    command.env("PATH", checkout.path("bin"));
    checkout.end(&mut command)
}

pub const SUBMIT: [&str; 5] = ["sweep", "submit", "trial", "fixture", "--slurm"];

#[test]
fn a_job_that_was_accepted_with_an_error_is_not_submitted_twice() {
    let checkout = Checkout::new();
    let log = checkout.path("calls");
    let sbatch = format!(
        "echo \"$@\" >> {log}\necho 'sbatch: error: Batch job submission failed: Socket timed out' >&2\nexit 1",
        log = log.display()
    );
    // The queue has it under the name that was asked for: array 7, then job 8.
    let squeue = "case \"$*\" in *--name=*-runs*) echo '7_[1-4]|PENDING||Priority' ;; *--name=*) echo '8|PENDING||Dependency' ;; esac";
    let commands = [
        ("sbatch", sbatch.as_str()),
        ("squeue", squeue),
        ("scontrol", "exit 1"),
    ];
    let said = with_commands(&checkout, &commands, &SUBMIT);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let calls = fs::read_to_string(log).expect("calls");
    assert_eq!(calls.lines().count(), 2, "{calls}");
    assert!(
        calls
            .lines()
            .nth(1)
            .expect("a call")
            .contains("--dependency=afterany:7 "),
        "{calls}"
    );
    let record = fs::read_to_string(
        checkout
            .path("")
            .join(said.out.trim())
            .join("submission.json"),
    );
    let record: serde_json::Value = serde_json::from_str(&record.expect("a record")).expect("JSON");
    assert_eq!(
        (&record["arrays"][0], &record["collect"]),
        (&"7".into(), &"8".into())
    );
}

#[test]
fn the_words_of_a_scheduler_that_refuses_are_repeated() {
    let checkout = Checkout::new();
    let refuse = "echo 'sbatch: error: invalid partition specified: gpu' >&2; exit 1";
    let commands = [
        ("sbatch", refuse),
        ("squeue", "exit 0"),
        ("scontrol", "echo 'MaxArraySize = 3'"),
    ];
    let said = with_commands(&checkout, &commands, &SUBMIT);
    assert_eq!(said.code, Some(2));
    assert!(
        said.err.contains("invalid partition specified: gpu"),
        "{}",
        said.err
    );
    let said = with_commands(&checkout, &[], &["sweep", "status", "trial", "fixture"]);
    assert_eq!(
        said.code,
        Some(0),
        "nothing is recorded, so nothing is asked: {}",
        said.err
    );
}

#[test]
fn a_status_without_accounting_says_so_and_counts_runs_all_the_same() {
    let checkout = Checkout::new();
    let commands = [
        ("sbatch", "echo 12"),
        ("scontrol", "echo 'MaxArraySize = 3'"),
        ("squeue", "echo '12_[1-2]|PENDING||Priority'"),
        (
            "sacct",
            "echo 'Slurm accounting storage is disabled' >&2; exit 1",
        ),
    ];
    let said = with_commands(&checkout, &commands, &SUBMIT);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.err.starts_with("2 jobs for the runs,"),
        "MaxArraySize 3: {}",
        said.err
    );
    let said = with_commands(
        &checkout,
        &commands,
        &["sweep", "status", "trial", "fixture"],
    );
    assert_eq!(said.code, Some(0), "{}", said.err);
    for expected in [
        "job      12_[1-2]          PENDING  Priority\n",
        "sacct says nothing, so jobs that have ended may be missing\n",
        "10 runs: 10 missing\n",
    ] {
        assert!(said.out.contains(expected), "{expected}\n{}", said.out);
    }
    fs::remove_dir_all(checkout.path("bin")).expect("commands");
    let said = with_commands(&checkout, &[], &["sweep", "cancel", "trial", "fixture"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.err.contains("scancel: cannot be started"),
        "{}",
        said.err
    );
}
