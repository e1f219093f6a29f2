//! Sweeps on a real SLURM of one node, disturbed in every way that a cluster disturbs them.
//!
//! Ignored unless asked for, since they need `slurm-wlm` and `munge` and take minutes: `./justw test-slurm`.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use totune_record::Tables;

use crate::support::{Checkout, CommandOutput, SPARSE, TUNE};

/// A SLURM of its own; ended when dropped.
struct Cluster {
    folder: TempDir,
    /// One at a time: the node has a fixed name, and each test wants both of its GPUs.
    _turn: MutexGuard<'static, ()>,
}

static TURN: Mutex<()> = Mutex::new(());

fn setup(verb: &str, folder: &Path) -> bool {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../setup/slurm");
    let status = Command::new(script).arg(verb).arg(folder).status();
    status.expect("setup/slurm starts").success()
}

impl Cluster {
    fn start() -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().expect("temporary folder");
        assert!(setup("start", folder.path()), "no SLURM");
        Self {
            folder,
            _turn: turn,
        }
    }

    /// A command that reaches this SLURM.
    fn reach<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        // Leases that go stale within a test.
        command
            .env("SLURM_CONF", self.folder.path().join("slurm.conf"))
            .env("TOTUNE_LEASE", "5")
    }

    #[track_caller]
    fn call(&self, line: &str) -> String {
        let mut words = line.split(' ');
        let mut command = Command::new(words.next().expect("a command"));
        let output = self.reach(command.args(words)).output().expect("starts");
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn node(&self) -> String {
        self.call("sinfo --noheader --format %n").trim().to_string()
    }

    /// Runs a command of totune that has to succeed; returns its output.
    #[track_caller]
    fn totune(&self, checkout: &Checkout, line: &str) -> String {
        let words: Vec<&str> = line.split(' ').collect();
        let output = self.reach(&mut checkout.command(&words)).output();
        let said = CommandOutput::from(output.expect("starts"));
        assert_eq!(said.code, Some(0), "{line}: {}", said.err);
        said.out + &said.err
    }

    /// Submits the paper; returns the folder of the submission.
    fn submit(&self, checkout: &Checkout, options: &str) -> PathBuf {
        // With a GPU, although they compute on the CPU: so each node has as many jobs as it has GPUs.
        let line = format!("--quiet sweep submit trial fixture --slurm --gpus 1 {options}");
        PathBuf::from(self.totune(checkout, &line).trim())
    }

    fn status(&self, checkout: &Checkout) -> serde_json::Value {
        let said = self.totune(checkout, "--quiet sweep status trial fixture --json");
        serde_json::from_str(&said).expect("JSON")
    }

    /// Waits until no job is left in the queue.
    #[track_caller]
    fn drain(&self, folder: &Path) {
        let begun = Instant::now();
        while !self.call("squeue --noheader").is_empty() {
            let waited = begun.elapsed() > Duration::from_secs(900);
            assert!(!waited, "{}\n{}", self.call("squeue"), logs(folder));
            sleep(Duration::from_millis(500));
        }
    }

    /// Waits until a run is at work; returns the id of its job.
    #[track_caller]
    fn working(&self, checkout: &Checkout) -> String {
        let begun = Instant::now();
        loop {
            let status = self.status(checkout);
            let why = status["running"][0]["why"].as_str().unwrap_or_default();
            if let Some((_, job)) = why.split_once("slurm ") {
                return job.to_string();
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "no run begins");
            sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let mut cancel = Command::new("scancel");
        let _ = self.reach(cancel.args(["--me", "--full"])).status();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(15) {
            let mut queue = Command::new("squeue");
            let left = self.reach(queue.arg("--noheader")).output();
            if left.is_ok_and(|left| left.stdout.is_empty()) {
                break;
            }
            sleep(Duration::from_millis(300));
        }
        setup("stop", self.folder.path());
    }
}

/// The logs of a submission.
fn logs(folder: &Path) -> String {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let logs = entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "log"));
    let texts = logs.map(|log| {
        let text = fs::read_to_string(log.path()).expect("a log");
        format!("--- {}\n{text}", log.path().display())
    });
    texts.collect()
}

/// Four trials and two seeds for each of two strategies: twelve runs in two stages, of `epochs` each.
fn searching(epochs: usize) -> Checkout {
    let search = "[search]\nkind = \"grid\"\nseeds = [7]\nmetric = \"accuracy\"\nranges = { \"work.training.adaptation.lr\" = [1e-6, 1e-3] }\n\n";
    let text = TUNE
        .replace(
            "[[split]]\nkind = \"hold-out\"\ntest = 0.2\nseed = 13\n",
            &format!("{search}[[split]]\nkind = \"files\"\ntest = \"dev\"\ndev = 0.3\nseed = 1\n"),
        )
        .replace("\"fixture-tweets\"", "\"fixture-acceptability\"")
        .replace("epochs = 2", &format!("epochs = {epochs}"));
    Checkout::with(&[("sparse", SPARSE), ("tune", &text)])
}

/// Runs without a search.
fn plain(epochs: usize) -> Checkout {
    let text = TUNE.replace("epochs = 2", &format!("epochs = {epochs}"));
    Checkout::with(&[("tune", &text)])
}

/// The bytes of tables.
fn bytes(tables: &Tables) -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("temporary folder");
    tables.write(folder.path()).expect("written");
    let files = ["runs", "evals", "predictions"];
    let read = |name| fs::read(folder.path().join(format!("{name}.parquet"))).expect("a table");
    files.map(read).to_vec()
}

/// Every planned run is there exactly once, with the bytes of a sweep without a scheduler but for the clocks.
#[track_caller]
fn check_results(checkout: &Checkout, undisturbed: &Checkout) {
    undisturbed.succeed(&["sweep", "run", "trial", "fixture"]);
    let (found, expected) = (checkout.collected(), undisturbed.collected());
    let ids: Vec<&String> = found.runs.iter().map(|run| &run.run_id).collect();
    let planned = undisturbed.ids();
    let unique: BTreeSet<&String> = ids.iter().copied().collect();
    assert_eq!(
        (ids.len(), unique),
        (planned.len(), planned.iter().collect())
    );
    for id in &planned {
        let rounds = fs::read_dir(checkout.run_folder(id).join("results"));
        assert_eq!(rounds.expect("rounds").count(), 1, "run {id}");
    }
    assert_eq!(found, expected);
    assert!(bytes(&found) == bytes(&expected), "the bytes differ");
}

#[test]
#[ignore = "needs SLURM"]
fn a_sweep_with_a_search_is_run_and_collected_by_jobs() {
    let (cluster, checkout) = (Cluster::start(), searching(4));
    let folder = cluster.submit(&checkout, "--time 10 --max-jobs 3");
    cluster.drain(&folder);
    let collected = checkout.path("results/trial/fixture/runs.parquet");
    assert!(
        collected.is_file(),
        "the last job collects\n{}",
        logs(&folder)
    );
    let before = fs::read(&collected).expect("a table");
    check_results(&checkout, &searching(4));
    assert!(
        fs::read(&collected).expect("a table") == before,
        "collected again: the same"
    );
    let said = cluster.totune(&checkout, "sweep status trial fixture");
    assert!(said.contains("jobs have ended without an error"), "{said}");
    let status = cluster.status(&checkout);
    assert_eq!(status["states"]["done"], status["runs"], "{status}");
    let said = cluster.totune(&checkout, "sweep submit trial fixture --slurm");
    assert!(said.contains("nothing to submit"), "{said}");
}

#[test]
#[ignore = "needs SLURM"]
fn a_requeued_task_continues() {
    let (cluster, checkout) = (Cluster::start(), plain(8));
    let folder = cluster.submit(&checkout, "--time 10 --max-jobs 2");
    let job = cluster.working(&checkout);
    cluster.call(&format!("scontrol requeue {job}"));
    cluster.drain(&folder);
    check_results(&checkout, &plain(8));
}

/// Number of epochs with which a run takes about `wanted` here and now.
fn epochs_of(wanted: Duration) -> usize {
    let short = plain(4);
    let begun = Instant::now();
    short.succeed(&["sweep", "run", "trial", "fixture"]);
    // Four runs of four epochs.
    let epoch = begun.elapsed() / 16;
    (wanted.as_secs_f64() / epoch.as_secs_f64()).ceil() as usize
}

#[test]
#[ignore = "needs SLURM"]
fn a_time_limit_in_the_middle_of_a_run_costs_that_run_only() {
    // Four runs of a minute in one job of two minutes, which is warned after 70 to 100 seconds: too many also where
    // the machine was twice as busy when an epoch was timed.
    let epochs = epochs_of(Duration::from_secs(60));
    let (cluster, checkout) = (Cluster::start(), plain(epochs));
    let folder = cluster.submit(&checkout, "--time 2 --notice 20 --max-jobs 1");
    cluster.drain(&folder);
    let said = logs(&folder);
    assert!(
        said.contains("interrupted after"),
        "no job met its limit: {said}"
    );
    check_results(&checkout, &plain(epochs));
}

#[test]
#[ignore = "needs SLURM"]
fn a_node_that_goes_down_gives_its_runs_back() {
    let (cluster, checkout) = (Cluster::start(), plain(12));
    let folder = cluster.submit(&checkout, "--time 10 --max-jobs 2");
    cluster.working(&checkout);
    let node = cluster.node();
    cluster.call(&format!(
        "scontrol update NodeName={node} State=DOWN Reason=test"
    ));
    sleep(Duration::from_secs(2));
    cluster.call(&format!("scontrol update NodeName={node} State=RESUME"));
    cluster.drain(&folder);
    let said = logs(&folder);
    assert!(said.contains("Node failure"), "{said}");
    check_results(&checkout, &plain(12));
}

#[test]
#[ignore = "needs SLURM"]
fn two_arrays_on_one_store_share_the_runs() {
    let (cluster, checkout) = (Cluster::start(), searching(4));
    let first = cluster.submit(&checkout, "--time 10 --max-jobs 1");
    let second = cluster.submit(&checkout, "--time 10 --max-jobs 1");
    assert_ne!(first, second);
    cluster.drain(&first);
    check_results(&checkout, &searching(4));
}

#[test]
#[ignore = "needs SLURM"]
fn a_cancelled_sweep_is_submitted_again() {
    let (cluster, checkout) = (Cluster::start(), plain(8));
    let folder = cluster.submit(&checkout, "--time 10 --max-jobs 2");
    cluster.working(&checkout);
    let said = cluster.totune(&checkout, "sweep cancel trial fixture");
    assert!(said.starts_with("cancelled: "), "{said}");
    cluster.drain(&folder);
    let left = cluster.status(&checkout);
    assert_ne!(left["states"]["done"], left["runs"], "{left}");
    let said = cluster.totune(&checkout, "sweep status trial fixture");
    assert!(said.contains("CANCELLED"), "{said}");
    assert!(said.contains("are left and no job is at work"), "{said}");
    let said = cluster.totune(&checkout, "sweep cancel trial fixture");
    assert!(said.starts_with("no submission"), "{said}");

    let folder = cluster.submit(&checkout, "--time 10 --max-jobs 2");
    cluster.drain(&folder);
    check_results(&checkout, &plain(8));
}
