//! `totune bench bf16`: bfloat16 products against f32, ours and PyTorch's, on synthetic and on real batches.
//!
//! Our sides and PyTorch's are those of `bench peer`, told another dtype.

mod batches;
mod page;

use std::path::PathBuf;

use anyhow::{Result, bail};
use serde::Serialize;
use totune_adapt::Dtype;
use totune_sweep::{Project, Roots};

use super::side::Side;
use super::{Case, Head, Mode, median};

pub use batches::on_device;

/// What is measured, and how long.
#[derive(Debug)]
pub struct Bf16Options {
    /// Python with torch and transformers.
    pub python: PathBuf,
    /// Where the results go.
    pub out: PathBuf,
    /// Rounds of alternation.
    pub rounds: usize,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Only cases whose name contains one of these; all where there is none.
    pub only: Vec<String>,
}

/// Tokens per second of one side.
#[derive(Debug, Serialize)]
struct Timing {
    side: String,
    version: String,
    /// Of each round, real tokens alone.
    tokens_per_second: Vec<f64>,
    median: f64,
    peak_memory: u64,
}

/// One case with its four sides: f32 and bf16, ours and PyTorch's.
#[derive(Debug, Serialize)]
struct Outcome {
    name: String,
    mode: Mode,
    threads: usize,
    timings: Vec<Timing>,
}

/// Real tokens that a round is to have, about.
const TOKENS: usize = 6000;
const BATCH: usize = 32;

/// What goes through which network.
struct Input {
    name: String,
    /// Tokens in each example of a synthetic batch.
    seq: usize,
    head: Head,
    /// File with real batches.
    batches: Option<PathBuf>,
}

impl Input {
    fn synthetic(name: &str, seq: usize, head: Head) -> Self {
        Self {
            name: name.to_string(),
            seq,
            head,
            batches: None,
        }
    }

    fn case(&self, mode: Mode, dropout: f64, threads: usize, dtype: Dtype) -> Case {
        let (shape, hidden, heads) = match self.head {
            Head::Classifier => ("MiniLM", 384, 12),
            Head::MaskedLm => ("6 x 256", 256, 8),
        };
        Case {
            shape: shape.to_string(),
            mode,
            optimizer: "fused".to_string(),
            batch: BATCH,
            seq: self.seq,
            dropout,
            threads,
            vocab: 30522,
            hidden,
            layers: 6,
            heads,
            intermediate: 4 * hidden,
            dtype,
            batches: self.batches.clone(),
            head: self.head,
        }
    }
}

/// Runs the comparison and writes `bf16.json` and `bf16.md` below `options.out`.
///
/// # Errors
/// When files, Python or its packages are not there, or a side fails.
pub fn bf16(options: &Bf16Options, project: &Project, roots: &Roots) -> Result<PathBuf> {
    let scratch = tempfile::Builder::new().prefix("totune-bench").tempdir()?;
    let mut inputs = vec![
        Input::synthetic("MiniLM, 32 x 64", 64, Head::Classifier),
        Input::synthetic("MiniLM, 32 x 128", 128, Head::Classifier),
        Input::synthetic("6 x 256 masked LM, 32 x 128", 128, Head::MaskedLm),
    ];
    for (task, file) in batches::write(project, roots, scratch.path())? {
        inputs.push(Input {
            name: format!("MiniLM, {task}, 32 bucketed"),
            seq: 0,
            head: Head::Classifier,
            batches: Some(file),
        });
    }
    let mut outcomes = Vec::new();
    for input in &inputs {
        for (mode, dropout, title) in [
            (Mode::Train, 0.1, "training"),
            (Mode::Inference, 0.0, "inference"),
        ] {
            for &threads in &options.threads {
                let name = format!("{}, {title}", input.name);
                let named = format!("{name}, {threads} thread(s)");
                if !options.only.is_empty() && !options.only.iter().any(|only| named.contains(only))
                {
                    continue;
                }
                let case = |dtype| input.case(mode, dropout, threads, dtype);
                eprintln!("{named}");
                let timings = compare(options, project, case)?;
                outcomes.push(Outcome {
                    name,
                    mode,
                    threads,
                    timings,
                });
                // Written after each: what was measured survives an interruption.
                page::write(&options.out, &outcomes)?;
            }
        }
    }
    if outcomes.is_empty() {
        bail!("--only: no case matches");
    }
    Ok(options.out.join("bf16.md"))
}

fn compare(
    options: &Bf16Options,
    project: &Project,
    case: impl Fn(Dtype) -> Case,
) -> Result<Vec<Timing>> {
    let (f32, bf16) = (case(Dtype::F32), case(Dtype::Bf16Mixed));
    let script = project.root.join("bench/peer.py");
    let python =
        |name: &str, case: &Case| Side::python(name, &options.python, &script, case, case.threads);
    let mut sides = [
        Side::ours(&f32)?,
        Side::ours(&bf16)?,
        python("pytorch f32", &f32)?,
        python("pytorch autocast", &bf16)?,
    ];
    sides[0].name = "totune f32".to_string();
    sides[1].name = "totune bf16".to_string();
    // A round goes through all batches of a file; a synthetic one is repeated.
    let (steps, tokens) = match &f32.batches {
        Some(file) => {
            let batches = batches::read(file)?;
            let tokens = batches.iter().flatten().map(|row| row.ids.len()).sum();
            (batches.len(), tokens)
        }
        None => {
            let steps = (TOKENS / (BATCH * f32.seq)).max(1);
            (steps, steps * BATCH * f32.seq)
        }
    };
    let mut found = vec![Vec::new(); sides.len()];
    for side in &mut sides {
        side.run(steps)?; // warm-up
    }
    for _ in 0..options.rounds {
        for (side, found) in sides.iter_mut().zip(&mut found) {
            found.push(tokens as f64 / side.run(steps)?.iter().sum::<f64>());
        }
    }
    let timing = |(side, tokens_per_second): (Side, Vec<f64>)| {
        let timing = Timing {
            side: side.name.clone(),
            version: side.version.clone(),
            median: median(&tokens_per_second),
            tokens_per_second,
            peak_memory: side.finish()?["peak_memory"].as_u64().unwrap_or(0),
        };
        eprintln!("  {:<17} {:>7.0} tokens/s", timing.side, timing.median);
        Ok(timing)
    };
    sides.into_iter().zip(found).map(timing).collect()
}
