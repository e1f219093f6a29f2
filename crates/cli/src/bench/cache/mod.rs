//! `totune bench cache`: what keeping the states of frozen layers saves, beside the arithmetic and beside PyTorch.
//!
//! [`grid`] are the runs, [`worker`] is our side of the epochs, [`epochs`], [`sweep`] and [`share`] measure, and
//! [`results`] and [`page`] are what is written. Our sides are the library's own training loop and the `sweep` command.

mod epochs;
mod grid;
mod page;
mod results;
mod share;
mod sweep;
mod worker;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use totune_data::{Catalogue, Dataset, Encoded, Tokenizer};
use totune_model::EncoderCatalogue;
use totune_sweep::{Project, Roots, missing};

use super::table::machine;
use grid::{Grid, RATES};
use results::Results;

pub use grid::ENCODER;
pub use worker::worker;

/// Tasks whose epochs are timed.
pub const TASKS: [&str; 3] = ["rte", "mrpc", "cola"];
/// Steps that one side takes while the others sleep.
const CHUNK: usize = 16;
/// Epochs after which scores with the cache and without are compared.
const COMPARED: usize = 2;

/// What is measured, and how long.
#[derive(Debug)]
pub struct CacheOptions {
    /// Python with torch and transformers.
    pub python: PathBuf,
    /// Where the results go.
    pub out: PathBuf,
    /// Epochs of each side; the pair whose scores are compared takes at least two.
    pub rounds: usize,
    /// Threads of both sides.
    pub threads: usize,
    /// Tasks.
    pub tasks: Vec<String>,
    /// Numbers of top layers that move; 0 is `frozen`.
    pub layers: Vec<usize>,
    /// Tasks that are swept.
    pub sweeps: Vec<String>,
    /// Epochs of each run of a sweep.
    pub epochs: usize,
    /// Epochs of PyTorch that are timed for it.
    pub peer_epochs: usize,
    /// Orders of PyTorch's batches: `random`, `bucketed`.
    pub orders: Vec<String>,
    /// Megabytes that kept states may take.
    pub budget: u64,
}

/// Where things are while the benchmark runs.
pub struct Bench<'a> {
    options: &'a CacheOptions,
    project: &'a Project,
    roots: &'a Roots,
    /// A project of its own for the experiments.
    scratch: Project,
    /// Folder of the encoder's files.
    encoder: PathBuf,
    tokenizer: Tokenizer,
    /// Options of our processes, `--project` first.
    globals: Vec<OsString>,
    /// What ran, with versions.
    sides: RefCell<BTreeMap<String, String>>,
}

impl Bench<'_> {
    fn says(&self, side: &str, version: &str) {
        let mut sides = self.sides.borrow_mut();
        sides.insert(side.to_string(), version.to_string());
    }
}

/// Runs the comparison and writes `cache.json` and `cache.md` below `options.out`.
///
/// # Errors
/// When files, Python or its packages are not there, or a side fails.
pub fn cache(options: &CacheOptions, project: &Project, roots: &Roots) -> Result<PathBuf> {
    let folder = tempfile::Builder::new().prefix("totune-bench").tempdir()?;
    let (scratch, _) = grid::scratch(project, folder.path())?;
    check_files(options, &scratch, project, roots)?;
    let encoders = EncoderCatalogue::read(&project.root.join("encoders"))?;
    let card = encoders.find(ENCODER)?;
    let encoder = card
        .locate(std::slice::from_ref(&roots.encoders))
        .context("found above")?;
    let bench = Bench {
        options,
        project,
        roots,
        scratch,
        tokenizer: Tokenizer::open(&encoder, card.vocabulary.lowercase)?,
        encoder,
        globals: globals(options, project, roots),
        sides: RefCell::default(),
    };

    let file = options.out.join("cache.json");
    let new = Results {
        machine: machine(),
        threads: options.threads,
        budget: options.budget << 20,
        ..Results::default()
    };
    let mut results = Results::read(&file, new)?;
    let write = |results: &mut Results| {
        results.sides.append(&mut bench.sides.borrow_mut());
        // After each part: what was measured survives an interruption.
        page::write(&options.out, results)
    };
    results.shares = share::shares(&bench);
    write(&mut results)?;
    for name in &options.tasks {
        let task = results.tasks.entry(name.clone()).or_default();
        for &k in &options.layers {
            let rounds = if k == 1 {
                options.rounds.max(COMPARED)
            } else {
                options.rounds
            };
            let (about, found) = epochs::measure(&bench, name, k, rounds)?;
            (task.examples, task.tokens) = (about.examples, about.tokens);
            let label = page::strategy(k);
            eprintln!(
                "{name}, {label}: {:.1} times faster with the cache",
                found.ratio()
            );
            task.epochs.insert(label, found);
        }
        if !options.layers.is_empty() {
            task.fills = epochs::fills(&bench, name)?;
        }
        write(&mut results)?;
    }
    let orders: Vec<&str> = options.orders.iter().map(String::as_str).collect();
    for name in &options.sweeps {
        let found = sweep::measure(&bench, name, &orders)?;
        eprintln!("{name}: {} runs in {:.0} s", found.runs, found.seconds);
        results.tasks.entry(name.clone()).or_default().sweep = Some(found);
        write(&mut results)?;
    }
    Ok(options.out.join("cache.md"))
}

/// Says what is missing before anything is begun.
fn check_files(
    options: &CacheOptions,
    scratch: &Project,
    project: &Project,
    roots: &Roots,
) -> Result<()> {
    let catalogue = Catalogue::read(&project.root.join("datasets"))?;
    let mut specs = Vec::new();
    for dataset in options.tasks.iter().chain(&options.sweeps) {
        catalogue.find(dataset)?;
        let grid = Grid {
            name: "bench-files",
            dataset,
            seeds: 1,
            rates: &RATES[..1],
            strategies: &[0],
            epochs: 1,
            cache: None,
            train_limit: None,
        };
        specs.extend(grid.expand(scratch)?);
    }
    match missing(project, roots, &specs)? {
        Some(message) => bail!("files are missing; nothing was measured\n\n{message}"),
        None => Ok(()),
    }
}

/// What our processes are told, `--project` first.
fn globals(options: &CacheOptions, project: &Project, roots: &Roots) -> Vec<OsString> {
    let mut globals: Vec<OsString> = Vec::new();
    let mut add = |key: &str, value: OsString| globals.extend([OsString::from(key), value]);
    add("--project", project.root.clone().into());
    add("--data", roots.data.clone().into());
    add("--encoders", roots.encoders.clone().into());
    add("--threads", options.threads.to_string().into());
    add("--states-budget", options.budget.to_string().into());
    add("--device", "cpu".into());
    globals.push("--no-cache".into()); // of encoded texts
    globals
}

/// A split, and its texts as the encoder's tokenizer cuts them.
fn encoded(
    bench: &Bench,
    dataset: &str,
    split: &str,
    max_length: usize,
) -> Result<(Dataset, Vec<Encoded>)> {
    let catalogue = Catalogue::read(&bench.project.root.join("datasets"))?;
    let dataset = catalogue
        .find(dataset)?
        .load_split(&bench.roots.data, split)?;
    let texts = bench
        .tokenizer
        .encode_all(&dataset.examples, max_length, bench.options.threads)?;
    Ok((dataset, texts))
}
