//! The commands that are disturbed, each with a small checkout and with what an undisturbed one leaves.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use totune_record::read_pretraining;

use super::layer::{Fault, Watched};
use crate::support::{Checkout, CommandOutput, SPARSE, TUNE};

/// A command that is disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// Runs that share activations, one of them with checkpoints after every step, and sparse ones.
    Sweep,
    /// A search and the run that waits for it.
    Search,
    Collect,
    Restore,
    /// Tables and figures of collected runs.
    Report,
    /// Training of a model that is saved.
    Train,
    Pretrain,
    /// Submission to a SLURM that accepts everything.
    Submit,
}

pub const JOBS: [Job; 8] = [
    Job::Sweep,
    Job::Search,
    Job::Collect,
    Job::Restore,
    Job::Report,
    Job::Train,
    Job::Pretrain,
    Job::Submit,
];

/// Results of a job, without clocks, in a form that can be compared.
pub type Left = Vec<String>;

impl Job {
    /// A checkout in which the command can be started.
    pub fn prepare(self) -> Checkout {
        let checkout = match self {
            Self::Sweep => Checkout::with(&[("sparse", &sparse()), ("tune", &tune())]),
            Self::Search => Checkout::with(&[("tune", &search())]),
            Self::Pretrain => pretraining(),
            Self::Train => Checkout::with(&[]),
            Self::Collect | Self::Restore | Self::Report | Self::Submit => {
                Checkout::with(&[("sparse", &sparse())])
            }
        };
        if [Self::Collect, Self::Restore, Self::Report].contains(&self) {
            checkout.succeed(&["sweep", "run", "trial", "fixture"]);
        }
        if [Self::Restore, Self::Report].contains(&self) {
            checkout.succeed(&["collect", "trial", "fixture"]);
        }
        match self {
            Self::Restore => fs::remove_dir_all(checkout.path("runs")).expect("runs"),
            Self::Submit => scheduler(&checkout),
            _ => {}
        }
        checkout
    }

    /// The command.
    pub fn command(self, checkout: &Checkout) -> Command {
        let model = checkout.path("model");
        let model = model.to_str().expect("UTF-8");
        let line: Vec<&str> = match self {
            Self::Sweep => "sweep run trial fixture --checkpoint-every 0s".split(' ').collect(),
            Self::Search => "sweep run trial fixture --checkpoint-every off".split(' ').collect(),
            Self::Collect => vec!["collect", "trial", "fixture"],
            Self::Restore => vec!["sweep", "restore", "trial", "fixture"],
            Self::Report => vec!["report", "trial", "fixture"],
            Self::Train => "train fixture-tweets --encoder fixture-bert --strategy last-1 --lr 1e-3 --epochs 1 --save"
                .split(' ')
                .chain([model])
                .collect(),
            Self::Pretrain => vec!["pretrain", "tiny", "--resume"],
            Self::Submit => "sweep submit trial fixture --slurm --max-jobs 2".split(' ').collect(),
        };
        // One thread, so that a call has the same number each time.
        let mut command = checkout.command(&[&["--threads", "1"], &line[..]].concat());
        if self == Self::Submit {
            let path = std::env::var("PATH").expect("a path");
            let own = checkout.path("bin").display().to_string();
            command.env("PATH", format!("{own}:{path}"));
        }
        command
    }

    /// Runs the command to its end.
    pub fn run(self, checkout: &Checkout) -> CommandOutput {
        checkout.end(&mut self.command(checkout))
    }

    /// Runs the command, which has to succeed; a model that was saved in spite of a message is not trained again.
    #[track_caller]
    pub fn complete(self, checkout: &Checkout) {
        if self == Self::Train && checkout.path("model").is_dir() {
            return;
        }
        let said = self.run(checkout);
        assert_eq!(said.code, Some(0), "{self:?}: {}", said.err);
    }

    /// The command undisturbed; tests that need it at the same time share one.
    pub fn undisturbed(self) -> Arc<Undisturbed> {
        static SHARED: [Mutex<Weak<Undisturbed>>; JOBS.len()] =
            [const { Mutex::new(Weak::new()) }; JOBS.len()];
        let own = SHARED[self as usize].lock();
        let mut own = own.unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = own.upgrade() {
            return known;
        }
        let made = Arc::new(Undisturbed::of(self));
        *own = Arc::downgrade(&made);
        made
    }

    /// Results of the command.
    pub fn left(self, checkout: &Checkout) -> Left {
        let debug = |rows: &dyn std::fmt::Debug| format!("{rows:?}");
        match self {
            Self::Sweep | Self::Search | Self::Collect => {
                let tables = checkout.collected();
                let mut left: Left = tables.runs.iter().map(|row| debug(row)).collect();
                left.extend(tables.evals.iter().map(|row| debug(row)));
                left.extend(tables.predictions.iter().map(|row| debug(row)));
                left
            }
            Self::Restore => {
                let ids = checkout.ids();
                let tables = ids.iter().map(|id| debug(&checkout.tables(id)));
                tables.collect()
            }
            Self::Report => {
                assert!(checkout.path("reports/trial/fixture/index.html").is_file());
                let table = checkout.path("reports/trial/fixture/tables/scores.csv");
                vec![fs::read_to_string(table).expect("a table")]
            }
            Self::Train => {
                let files = fs::read_dir(checkout.path("model")).expect("a model");
                let names = files.map(|file| file.expect("a file").file_name());
                let names = names.map(|name| name.to_string_lossy().into_owned());
                // The temporary name that the safetensors crate gives, whose renaming the library of faults cannot see.
                let mut names: Left = names.filter(|name| !name.starts_with(".tmp")).collect();
                names.sort();
                names.push(debug(
                    &fs::read(checkout.path("model/model.safetensors")).expect("weights"),
                ));
                names
            }
            Self::Pretrain => {
                let rows = read_pretraining(&checkout.path("results/pretraining/tiny"));
                // A row that was interrupted covers fewer steps, so the last is compared.
                let last = rows.expect("a log").last().map(|row| row.step);
                let weights = checkout.path("runs/pretraining/tiny/encoder/model.safetensors");
                vec![debug(&last), debug(&fs::read(weights).expect("weights"))]
            }
            Self::Submit => {
                let mut command = checkout.command(&["sweep", "status", "trial", "fixture"]);
                let status = checkout.end(command.env("PATH", checkout.path("bin")));
                assert_eq!(status.code, Some(0), "{}", status.err);
                let counts = status.out.lines().last().unwrap_or_default();
                vec![counts.to_string()]
            }
        }
    }
}

/// A job that nothing disturbed.
pub struct Undisturbed {
    /// A checkout in which the command can be started.
    pub template: Checkout,
    /// One in which it has ended.
    pub store: Checkout,
    /// Its results.
    pub left: Left,
    /// Its wall time.
    pub took: Duration,
}

impl Undisturbed {
    fn of(job: Job) -> Self {
        let template = job.prepare();
        let store = template.again();
        let begun = Instant::now();
        job.complete(&store);
        let took = begun.elapsed();
        let left = job.left(&store);
        Self {
            template,
            store,
            left,
            took,
        }
    }
}

/// A checkout after a job that was killed soon after a file got this name.
pub fn killed(job: Job, name: &str) -> Checkout {
    let checkout = job.prepare();
    let mut command = job.command(&checkout);
    command.env("TOTUNE_LEASE", "2").env("FAULT_NAME", name);
    let below = checkout.path("").canonicalize().expect("a checkout");
    let _watched = Watched::new(&mut command, &below).disturb(&mut command, 0, Fault::Kill);
    let said = checkout.end(&mut command);
    assert_eq!(said.code, None, "{job:?}: {}", said.err);
    checkout
}

/// 1 feature x 2 folds.
fn sparse() -> String {
    SPARSE
        .replace(", \"hash\"", "")
        .replace("folds = 3", "folds = 2")
}

/// One run of few steps, whose frozen layers are cached.
fn tune() -> String {
    let (settings, arms) = TUNE.split_once("[[arm]]").expect("arms");
    let last = arms.split_once("[[arm]]").expect("two arms").1;
    let settings = settings
        .replace("epochs = 2", "epochs = 1")
        .replace("batch-size = 16", "batch-size = 96")
        .replace("seeds = [1, 2]", "seeds = [1]")
        .replace(
            "frozen-dropout = \"on\"",
            "frozen-dropout = \"off\"\ncache = { kind = \"on\", dtype = \"f32\" }",
        );
    format!("{settings}[[arm]]{last}")
}

/// Two trials and the run that has the better one's learning rate.
fn search() -> String {
    let split = "[[split]]\nkind = \"hold-out\"\ntest = 0.2\nseed = 13\n";
    let files = "[[split]]\nkind = \"files\"\ntest = \"dev\"\ndev = 0.3\nseed = 1\n";
    let search = "[search]\nkind = \"grid\"\nseeds = [7]\nmetric = \"accuracy\"\nranges = { \"work.training.adaptation.lr\" = [1e-3, 1e-2] }\n";
    tune()
        .replace(split, &(search.to_string() + files))
        .replace("\"fixture-tweets\"", "\"fixture-acceptability\"")
}

/// A few steps of pre-training, with a checkpoint after every second one.
fn pretraining() -> Checkout {
    let checkout = Checkout::with(&[]).paper("pretraining");
    let path = checkout.path("experiments/pretraining/fixture-mlm.toml");
    let text = fs::read_to_string(path).expect("the fixture's settings");
    let text = text
        .replace("\"fixture-mlm\"", "\"tiny\"")
        .replace("491_520", "2_048")
        .replace("checkpoint-every = 25", "checkpoint-every = 2");
    checkout.write("experiments/pretraining/tiny.toml", &text);
    checkout
}

/// Commands of a SLURM that accepts every job and has forgotten all of them.
fn scheduler(checkout: &Checkout) {
    for (name, text) in [
        ("sbatch", "echo 12"),
        ("scontrol", "echo 'MaxArraySize = 3'"),
        ("squeue", "exit 0"),
        ("sacct", "exit 0"),
    ] {
        checkout.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{text}\n"));
        let path = checkout.path(&format!("bin/{name}"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
    }
}
