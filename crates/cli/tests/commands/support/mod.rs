//! A checkout of its own for each test, with a small paper to run.

pub mod forks;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use totune_record::Tables;
use totune_sweep::{Places, Plan, Project, Roots, Selection, State, Store, collect};

/// A temporary project: the repository's cards and fixtures, and the paper `trial`.
pub struct Checkout {
    folder: TempDir,
    /// The device of its commands.
    device: &'static str,
    /// Whether each of its commands is a process of the binary.
    in_processes: bool,
}

/// Output and exit code of a command.
pub struct CommandOutput {
    /// Exit code; none when a signal ended it.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// The device of the commands: LibTorch where it is built in, which is the faster one.
pub const DEVICE: &str = if cfg!(feature = "tch") { "cpu" } else { "flex" };

/// 2 features x 3 folds.
pub const SPARSE: &str = r#"
paper = "trial"
experiment = "sparse"
kind = "sparse"
datasets = ["fixture-tweets"]
features = ["tf-idf", "hash"]
logistic = { c = 1.0, max-iter = 100, tol = 1e-4 }

[[split]]
kind = "k-fold"
folds = 3
by = "file"

[profiles.fixture]
"#;

/// 2 adaptations x 2 seeds.
pub const TUNE: &str = r#"
paper = "trial"
experiment = "tune"
kind = "tune"
datasets = ["fixture-tweets"]
encoders = ["fixture-bert"]
seeds = [1, 2]
epochs = 2
batch-size = 16
evaluation-batch-size = 64
max-length = 24
dropout = 0.1
head = { pooling = "pooler", dropout = 0.1 }
optimizer = { kind = "adam-w", betas = [0.9, 0.999], epsilon = 1e-8, weight-decay = 0.01, no-decay = ['\.bias$', 'norm\.'] }
schedule = { kind = "polynomial", power = 1.0, end = 0.0 }
clip = { kind = "none" }
stop = { kind = "epochs" }
frozen-dropout = "on"
bucketing = "off"
dtype = "f32"

[[split]]
kind = "hold-out"
test = 0.2
seed = 13

[[arm]]
name = "full"
adaptation = { kind = "full", lr = 1e-3, pooler = "trainable", embeddings = "trainable" }

[[arm]]
name = "last-1"
adaptation = { kind = "last-k", k = 1, lr = 1e-3, pooler = "trainable", embeddings = "frozen" }

[profiles.fixture]
"#;

/// Number of runs of the two files.
pub const RUNS: usize = 10;

/// Environment of a program whose results are compared bit for bit: each process measures which products are faster, and
/// where they are close, two may choose differently, and round so.
pub const SAME_PRODUCTS: [(&str, &str); 2] = [
    ("TOTUNE_F32_PRODUCTS", "default"),
    ("TOTUNE_BF16_PRODUCTS", "as-f32"),
];

impl Checkout {
    /// A fresh checkout whose paper `trial` has the two experiments above.
    pub fn new() -> Self {
        Self::with(&[("sparse", SPARSE), ("tune", TUNE)])
    }

    /// A fresh checkout whose paper `trial` has these experiments.
    pub fn with(experiments: &[(&str, &str)]) -> Self {
        let checkout = Self::empty();
        for part in ["datasets", "encoders", "fixtures/data", "fixtures/encoders"] {
            copy(&repository().join(part), &checkout.path(part));
        }
        let presets = include_str!("../../../../../experiments/presets.toml");
        checkout.write("experiments/presets.toml", presets);
        for (name, text) in experiments {
            checkout.write(&format!("experiments/trial/{name}.toml"), text);
        }
        checkout
    }

    /// A folder with nothing in it.
    pub fn empty() -> Self {
        Self {
            folder: tempfile::tempdir().expect("temporary folder"),
            device: DEVICE,
            in_processes: false,
        }
    }

    /// The same checkout with another device.
    pub fn on(self, device: &'static str) -> Self {
        Self { device, ..self }
    }

    /// The same checkout whose commands are all processes of the binary: some are spawned and killed, and what they leave
    /// names the program; or they start the program themselves.
    pub fn in_processes(self) -> Self {
        Self {
            in_processes: true,
            ..self
        }
    }

    /// Adds a paper of the repository.
    pub fn paper(self, paper: &str) -> Self {
        let part = format!("experiments/{paper}");
        copy(&repository().join(&part), &self.path(&part));
        self
    }

    /// The folder of a run.
    pub fn run_folder(&self, id: &str) -> PathBuf {
        self.path("runs").join(&id[..2]).join(id)
    }

    /// A copy of it, with all that commands have left in it.
    pub fn again(&self) -> Self {
        let again = Self::empty();
        for entry in fs::read_dir(self.folder.path()).expect("the checkout") {
            let entry = entry.expect("an entry");
            let (name, target) = (
                entry.file_name(),
                again.folder.path().join(entry.file_name()),
            );
            let is_input = ["datasets", "encoders", "fixtures"].contains(&&*name.to_string_lossy());
            match (entry.path().is_dir(), is_input) {
                // Commands write no file of these.
                (true, true) => {
                    each_file(&entry.path(), &target, |from, to| fs::hard_link(from, to))
                }
                (true, false) => copy(&entry.path(), &target),
                (false, _) => drop(fs::copy(entry.path(), target).expect("copy")),
            }
        }
        again
    }

    /// A path in the checkout.
    pub fn path(&self, part: &str) -> PathBuf {
        self.folder.path().join(part)
    }

    /// Writes a file of the checkout.
    pub fn write(&self, part: &str, text: &str) {
        let path = self.path(part);
        fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("folder");
        fs::write(path, text).expect("write");
    }

    /// A command of the binary on the checkout's device.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_totune"));
        for (name, _) in std::env::vars()
            .filter(|(name, _)| name.starts_with("TOTUNE_") || name.starts_with("HF_"))
        {
            command.env_remove(name);
        }
        command
            .envs(SAME_PRODUCTS)
            .arg("--project")
            .arg(self.folder.path())
            .args(["--device", self.device])
            .args(arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.end(&mut self.command(arguments))
    }

    /// Runs a command of this checkout to its end.
    pub fn end(&self, command: &mut Command) -> CommandOutput {
        CommandOutput::from(if self.in_processes {
            command.output().expect("the binary starts")
        } else {
            forks::output(command)
        })
    }

    /// Runs a command that has to succeed; returns its output.
    #[track_caller]
    pub fn succeed(&self, arguments: &[&str]) -> String {
        let said = self.run(arguments);
        assert_eq!(said.code, Some(0), "{arguments:?}: {}", said.err);
        said.out
    }

    /// The plan as JSON.
    pub fn plan(&self, arguments: &[&str]) -> serde_json::Value {
        let arguments = [&["sweep", "plan", "trial", "fixture", "--json"], arguments].concat();
        serde_json::from_str(&self.succeed(&arguments)).expect("JSON")
    }

    /// The plan, made in this process, which takes a fraction of what a command does.
    fn planned<T>(&self, with: impl FnOnce(Places, &Plan) -> T) -> T {
        let project = Project::open(self.folder.path()).expect("a project");
        let store = Store::new(self.path("runs"));
        let roots = Roots {
            data: self.path("data"),
            encoders: self.path("encoders"),
            cache: None,
        };
        let places = Places {
            project: &project,
            store: &store,
            roots: &roots,
        };
        let plan = Plan::new(places, "trial", "fixture", &Selection::default());
        with(places, &plan.expect("a plan"))
    }

    /// The ids of all runs.
    pub fn ids(&self) -> Vec<String> {
        self.planned(|_, plan| plan.runs.iter().map(|run| run.id.clone()).collect())
    }

    /// Number of runs of the plan in a state.
    pub fn count(&self, state: State) -> usize {
        self.planned(|_, plan| plan.count(state))
    }

    /// The collected tables without clock times and memory use.
    pub fn collected(&self) -> Tables {
        let folder = self.planned(|places, plan| collect(places, plan, false));
        let folder = folder.expect("collected tables").folder;
        without_clocks(Tables::read(&folder).expect("tables"))
    }

    /// The folder with the published tables of one run.
    pub fn published(&self, id: &str) -> PathBuf {
        let run = self.run_folder(id);
        let rounds = fs::read_dir(run.join("results")).expect("published rounds");
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<u64>().ok();
        let last = rounds.filter_map(|entry| number(entry.expect("an entry")));
        let last = last.max().expect("a published round").to_string();
        let manifest = fs::read(run.join("results").join(last)).expect("a manifest");
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).expect("JSON");
        run.join("attempts")
            .join(manifest["attempt"].as_str().expect("the name of a folder"))
    }

    /// The tables of one run, likewise without clock times.
    pub fn tables(&self, id: &str) -> Tables {
        without_clocks(Tables::read(&self.published(id)).expect("tables"))
    }
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Self {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }
}

fn without_clocks(mut tables: Tables) -> Tables {
    for run in &mut tables.runs {
        (run.train_seconds, run.eval_seconds, run.cache_seconds) = (0.0, 0.0, 0.0);
        (run.cpu_seconds, run.load_average) = (None, None);
        (run.peak_memory, run.started) = (0, 0);
    }
    tables
        .evals
        .iter_mut()
        .for_each(|eval| eval.train_seconds = 0.0);
    tables
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn copy(from: &Path, to: &Path) {
    each_file(from, to, |from, to| fs::copy(from, to).map(drop));
}

/// Makes the folders of `from` in `to`, and calls `put` for each file.
fn each_file(from: &Path, to: &Path, put: impl Fn(&Path, &Path) -> io::Result<()> + Copy) {
    fs::create_dir_all(to).expect("folder");
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let entry = entry.expect("entry").path();
        let target = to.join(entry.file_name().expect("name"));
        if entry.is_dir() {
            each_file(&entry, &target, put);
        } else {
            put(&entry, &target).expect("copy");
        }
    }
}
