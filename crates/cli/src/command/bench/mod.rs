//! `totune bench`: comparisons with other programs, and with other settings of totune.

mod regret;
mod scale;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use totune_bench::{
    ALL, Benchmark, Desk, Results, StartWorker, Worker, regret as regrets, scale as scales,
};
use totune_toml::near;

use self::regret::RegretArgs;
use self::scale::ScaleArgs;
use crate::context::Context;
use crate::exit;

/// Time totune next to PyTorch, scikit-learn and others, alternating in one run
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune bench                                      list the benchmarks
  totune bench peer --only 'MiniLM, batch 16' --rounds 3
  totune bench pretrain --python .venv/bin/python
  totune bench peer --compare results/bench/peer.json       what moved since these results
  totune bench gpu --device cuda --only 'BERT-base, 128'
  totune bench lstm --tiny --side totune --out out/bench     does it work? no Python, a second
  totune bench regret --datasets sst-2 --rows 500,2000 --threads 1
  totune bench scale --runs 1000,10000 --workers 64

Writes <name>.json and <name>.md after each case; cases that are not measured again stay as they
were on the same machine. Nothing else should run meanwhile: the page says what the load was.")]
pub struct Bench {
    /// The benchmark; without one, all are listed with what each needs
    name: Option<String>,
    /// Python with the packages that the benchmark needs
    #[arg(long, default_value = "python3", env = "TOTUNE_PYTHON")]
    python: PathBuf,
    /// Folder for the results [default: results/bench in the project]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Rounds of alternation [default: 2 to 5, depending on the benchmark]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,
    /// Steps of each side in a round [default: about three seconds' worth]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    steps: Option<u16>,
    /// Only cases whose name contains this; may be given several times
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Only sides whose name contains this, such as totune; may be given several times
    #[arg(long, value_name = "TEXT", requires = "out")]
    side: Vec<String>,
    /// Earlier results of the same benchmark, such as an old peer.json: say what moved since
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Tiny cases that only show that a benchmark works; their times are meaningless
    #[arg(long, requires = "out")]
    tiny: bool,
    /// Folder for what regret and scale make [default: runs/bench-<name> in the project]; the same command of regret
    /// resumes, and several at once share the work
    #[arg(long, value_name = "FOLDER")]
    work: Option<PathBuf>,
    #[command(flatten)]
    regret: RegretArgs,
    #[command(flatten)]
    scale: ScaleArgs,
}

/// One side of a comparison, started by `totune bench`
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct BenchWorker {
    /// Kind of work
    kind: String,
    /// Case of the work, as JSON
    case: String,
}

impl Bench {
    /// Lists the benchmarks, or runs one and prints the path of its page.
    pub fn run(self, context: &Context) -> Result<u8> {
        let Some(name) = &self.name else {
            let timed = ALL.iter().map(|one| [one.name, one.about, one.needs]);
            for [name, about, needs] in timed.chain([regrets::LISTED, scales::LISTED]) {
                println!("{name:<9} {about}\n{:<9} needs {needs}", "");
            }
            return Ok(exit::OK);
        };
        let out = self.out.clone();
        let out = out.unwrap_or_else(|| context.project.root.join("results/bench"));
        if [regrets::NAME, scales::NAME].contains(&name.as_str()) {
            self.only_timed(name)?;
        }
        if name != scales::NAME {
            self.scale.none()?;
        }
        if name == regrets::NAME {
            return self.regret.run(context, self.work, out);
        }
        self.regret.none()?;
        if name == scales::NAME {
            return self.scale.run(context, self.work, out);
        }
        ensure!(
            self.work.is_none(),
            "--work: expected only with `{}` and `{}`",
            regrets::NAME,
            scales::NAME
        );
        let Some(benchmark) = Benchmark::find(name) else {
            let timed = ALL.iter().map(|benchmark| benchmark.name);
            let names: Vec<&str> = timed.chain([regrets::NAME, scales::NAME]).collect();
            let near = near(name, names.iter().copied());
            let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
            bail!(
                "unknown benchmark `{name}`; {near}expected one of {}",
                names.join(", ")
            );
        };
        let desk = Desk {
            project: context.project.clone(),
            roots: context.roots.clone(),
            python: self.python,
            out,
            rounds: self.rounds.map(usize::from),
            steps: self.steps.map(usize::from),
            threads: context.threads(),
            device: context.global.device.on_cpu().to_string(),
            only: self.only,
            sides: self.side,
            tiny: self.tiny,
            worker: start_worker(context)?,
        };
        // Read first: it may be the file that the results of this run replace.
        let before = self.compare.as_deref().map(Results::read).transpose()?;
        if let Some(before) = &before {
            ensure!(
                before.benchmark == benchmark.name,
                "--compare: found results of `{}`, expected those of `{}`",
                before.benchmark,
                benchmark.name
            );
        }
        let (results, page) = desk.run(benchmark)?;
        if let Some(before) = &before {
            print!("{}", results.moved(before));
        }
        println!("{}", page.display());
        Ok(exit::OK)
    }
}

impl Bench {
    /// Refuses options that only benchmarks of time have.
    fn only_timed(&self, name: &str) -> Result<()> {
        for (option, is_given) in [
            ("--rounds", self.rounds.is_some()),
            ("--steps", self.steps.is_some()),
            ("--only", !self.only.is_empty()),
            ("--side", !self.side.is_empty()),
            ("--compare", self.compare.is_some()),
            ("--tiny", self.tiny),
        ] {
            ensure!(!is_given, "{option}: `{name}` has no such option");
        }
        Ok(())
    }
}

/// Starts this binary again, with the roots, the budget and the device of this command.
fn start_worker(context: &Context) -> Result<StartWorker> {
    let binary = std::env::current_exe().context("this program cannot be found")?;
    let roots = &context.roots;
    let (project, data) = (context.project.root.clone(), roots.data.clone());
    let encoders = roots.encoders.clone();
    let device = context.global.device.on_cpu().to_string();
    let budget = context.global.cache_budget.to_string();
    Ok(Box::new(move |threads| {
        let mut command = Command::new(&binary);
        command.arg("--project").arg(&project);
        command.arg("--data").arg(&data);
        command.arg("--encoders").arg(&encoders);
        command.args(["--device", &device, "--threads", &threads.to_string()]);
        // Encoded texts are made anew, so that reading them is part of what is timed.
        command.args(["--cache-budget", &budget, "--no-cache", "bench-worker"]);
        command
    }))
}

impl BenchWorker {
    /// Takes steps on requests from standard input.
    pub fn run(self, context: &Context) -> Result<u8> {
        let worker = Worker {
            project: context.project.clone(),
            roots: context.roots.clone(),
            machine: context.machine()?,
        };
        totune_bench::worker(&self.kind, &self.case, &worker)?;
        Ok(exit::OK)
    }
}
