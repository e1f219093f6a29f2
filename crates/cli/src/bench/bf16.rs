//! `totune bench bf16`: bfloat16 products against f32, ours and PyTorch's, on made-up and on real batches.
//!
//! Our sides and PyTorch's are those of `bench peer`, told another number type.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use burn::tensor::{Device, Int, Tensor};
use serde::{Deserialize, Serialize};
use serde_json::json;
use totune_adapt::Dtype;
use totune_data::{BatchPlan, Catalogue, Encoded, Padded, Target, Tokenizer};
use totune_model::fused::{Bf16Products, bf16_products};
use totune_model::{EncoderCatalogue, TokenBatch};
use totune_record::write_atomically;
use totune_sweep::{Project, Roots};

use super::side::Side;
use super::table::machine;
use super::{Case, Mode, median};

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

/// One example of a batch in a file of batches.
#[derive(Debug, Serialize, Deserialize)]
pub struct Row {
    ids: Vec<u32>,
    types: Vec<u8>,
    label: i64,
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

/// One case with its three sides: f32, bf16, PyTorch's autocast.
#[derive(Debug, Serialize)]
struct Outcome {
    name: String,
    threads: usize,
    timings: Vec<Timing>,
}

/// What is to be reached: this many times the tokens per second of f32.
const TARGET: f64 = 1.5;
/// Real tokens that a round is to have, about.
const TOKENS: usize = 6000;
const BATCH: usize = 32;
const MAX_LENGTH: usize = 128;
const TASKS: [&str; 3] = ["rte", "mrpc", "cola"];

/// Runs the comparison and writes `bf16.json` and `bf16.md` below `options.out`.
///
/// # Errors
/// When files, Python or its packages are not there, or a side fails.
pub fn bf16(options: &Bf16Options, project: &Project, roots: &Roots) -> Result<PathBuf> {
    let scratch = tempfile::Builder::new().prefix("totune-bench").tempdir()?;
    let mut inputs = vec![
        ("32 x 64".to_string(), 64, None),
        ("32 x 128".to_string(), 128, None),
    ];
    for (task, file) in write_batches(project, roots, scratch.path())? {
        inputs.push((format!("{task}, 32 bucketed"), 0, Some(file)));
    }
    let mut outcomes = Vec::new();
    for (shape, seq, file) in &inputs {
        for (mode, dropout, title) in [
            (Mode::Train, 0.1, "training"),
            (Mode::Inference, 0.0, "inference"),
        ] {
            for &threads in &options.threads {
                let name = format!("{shape}, {title}");
                let named = format!("{name}, {threads} thread(s)");
                if !options.only.is_empty() && !options.only.iter().any(|only| named.contains(only))
                {
                    continue;
                }
                let case = |dtype| Case {
                    shape: "MiniLM".to_string(),
                    mode,
                    optimizer: "fused".to_string(),
                    batch: BATCH,
                    seq: *seq,
                    dropout,
                    threads,
                    vocab: 30522,
                    hidden: 384,
                    layers: 6,
                    heads: 12,
                    intermediate: 1536,
                    dtype,
                    batches: file.clone(),
                };
                eprintln!("{named}");
                let timings = compare(options, project, case)?;
                outcomes.push(Outcome {
                    name,
                    threads,
                    timings,
                });
                // Written after each: what was measured survives an interruption.
                write(&options.out, &outcomes)?;
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
    let mut sides = [
        Side::ours(&f32)?,
        Side::ours(&bf16)?,
        Side::python(
            "pytorch autocast",
            &options.python,
            &script,
            &bf16,
            bf16.threads,
        )?,
    ];
    sides[0].name = "totune f32".to_string();
    sides[1].name = "totune bf16".to_string();
    // A round goes through all batches of a file; a made-up one is repeated.
    let (steps, tokens) = match &f32.batches {
        Some(file) => {
            let batches = read(file)?;
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

/// Some batches of each task, bucketed by length, spread evenly from the shortest to the longest.
fn write_batches(
    project: &Project,
    roots: &Roots,
    folder: &Path,
) -> Result<Vec<(&'static str, PathBuf)>> {
    let catalogue = Catalogue::read(&project.root.join("datasets"))?;
    let encoders = EncoderCatalogue::read(&project.root.join("encoders"))?;
    let encoder = encoders.find(super::cache::ENCODER)?;
    let mut missing: Vec<String> = Vec::new();
    for task in TASKS {
        missing.extend(catalogue.find(task)?.missing(&roots.data, &["train"]));
    }
    let places = [roots.encoders.clone()];
    missing.extend(encoder.missing(&places));
    if !missing.is_empty() {
        bail!(
            "files are missing; nothing was measured\n\n{}",
            missing.join("\n\n")
        );
    }
    let vocabulary = encoder.locate(&places).context("found above")?;
    let tokenizer = Tokenizer::open(&vocabulary, encoder.vocabulary.lowercase)?;
    let mut files = Vec::new();
    for task in TASKS {
        let dataset = catalogue.find(task)?.load_split(&roots.data, "train")?;
        let texts = tokenizer.encode_all(&dataset.examples, MAX_LENGTH, 1)?;
        let lengths: Vec<usize> = texts.iter().map(|text| text.ids.len()).collect();
        let row = |&at: &usize| Row {
            ids: texts[at].ids.clone(),
            types: texts[at].type_ids.clone(),
            label: match dataset.examples[at].target {
                Target::Class(label) => label as i64,
                _ => 0,
            },
        };
        let batches: Vec<Vec<Row>> = spread(&lengths)
            .iter()
            .map(|batch| batch.iter().map(row).collect())
            .collect();
        let file = folder.join(format!("{task}.json"));
        fs::write(&file, serde_json::to_vec(&batches)?)?;
        files.push((task, file));
    }
    Ok(files)
}

/// Whole batches of an epoch with bucketing that together have about [`TOKENS`] tokens, at least two.
fn spread(lengths: &[usize]) -> Vec<Vec<usize>> {
    let plan = BatchPlan {
        size: BATCH,
        bucketing: true,
    };
    let mut batches = plan.shuffled(lengths, 1, 0);
    batches.retain(|batch| batch.len() == BATCH);
    let tokens = |batch: &Vec<usize>| batch.iter().map(|&at| lengths[at]).sum::<usize>();
    batches.sort_by_key(tokens);
    let all: usize = batches.iter().map(tokens).sum();
    let n = (TOKENS * batches.len() / all.max(1)).clamp(2, batches.len().max(2));
    let places = (0..n).map(|i| (2 * i + 1) * batches.len() / (2 * n));
    places.filter_map(|at| batches.get(at).cloned()).collect()
}

fn read(file: &Path) -> Result<Vec<Vec<Row>>> {
    let text =
        fs::read_to_string(file).with_context(|| format!("{}: cannot read", file.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("{}: not a file of batches", file.display()))
}

/// The batches of a file on `device`.
pub fn batches(file: &Path, device: &Device) -> Result<Vec<(TokenBatch, Tensor<1, Int>)>> {
    let on_device = |rows: Vec<Row>| {
        let labels: Vec<i64> = rows.iter().map(|row| row.label).collect();
        let texts = rows.into_iter().map(|row| Encoded {
            ids: row.ids,
            type_ids: row.types,
        });
        let texts: Vec<Encoded> = texts.collect();
        let padded = Padded::new(&texts.iter().collect::<Vec<_>>(), 0);
        let shape = [padded.batch, padded.seq];
        let batch = TokenBatch::new(padded.ids, padded.type_ids, &padded.mask, shape, device);
        (batch, Tensor::from_data(labels.as_slice(), device))
    };
    Ok(read(file)?.into_iter().map(on_device).collect())
}

/// How this processor multiplies, for people.
fn products() -> &'static str {
    match bf16_products() {
        Bf16Products::Tiles => "in the processor's tile units (AMX)",
        Bf16Products::AsF32 => {
            "as f32, since the processor has no tile units (AMX): its other bfloat16 instructions are slower than f32's"
        }
    }
}

fn write(out: &Path, outcomes: &[Outcome]) -> Result<()> {
    fs::create_dir_all(out)?;
    let machine = machine();
    let json = json!({ "machine": machine, "products": products(), "outcomes": outcomes });
    let json = format!("{}\n", serde_json::to_string_pretty(&json)?);
    write_atomically(&out.join("bf16.json"), json.as_bytes())?;
    write_atomically(
        &out.join("bf16.md"),
        markdown(&machine, products(), outcomes).as_bytes(),
    )
}

fn markdown(machine: &str, products: &str, outcomes: &[Outcome]) -> String {
    let mut text = String::from("# bfloat16 products against f32\n\n");
    let _ = writeln!(text, "Written by `./justw bench bf16`.");
    let _ = writeln!(text, "Machine: {machine}.");
    let mut versions: Vec<String> = Vec::new();
    for timing in outcomes.iter().flat_map(|outcome| &outcome.timings) {
        let line = format!("Side: {} = {}.", timing.side, timing.version);
        if !versions.contains(&line) {
            versions.push(line);
        }
    }
    let ratio = |outcome: &Outcome| outcome.timings[1].median / outcome.timings[0].median;
    let reached = outcomes
        .iter()
        .filter(|outcome| ratio(outcome) >= TARGET)
        .count();
    let _ = write!(
        text,
        "{}\n\
         MiniLM shape (6 layers, 384 wide). Training: everything moves, dropout 0.1, AdamW. Weights, normalisation, softmax, \
         loss and updates are f32 on all sides. PyTorch: `torch.autocast(\"cpu\", torch.bfloat16)`, fused AdamW.\n\
         Our bfloat16 factors are multiplied {products}.\n\
         Each side runs alone while the others sleep; rounds alternate; medians over rounds after the warm-up. Padding is not \
         counted as tokens.\n\n\
         To reach: {TARGET} times the tokens per second of f32. Reached in {reached} of {} cases.\n\n\
         | case | threads | totune f32 | totune bf16 | pytorch autocast | bf16 / f32 | bf16 / pytorch | reached |\n\
         |---|--:|--:|--:|--:|--:|--:|---|\n",
        versions.join("\n"),
        outcomes.len(),
    );
    for outcome in outcomes {
        let [f32, bf16, pytorch] = [0, 1, 2].map(|side: usize| outcome.timings[side].median);
        let _ = writeln!(
            text,
            "| {} | {} | {f32:.0} | {bf16:.0} | {pytorch:.0} | {:.2} | {:.2} | {} |",
            outcome.name,
            outcome.threads,
            ratio(outcome),
            bf16 / pytorch,
            if ratio(outcome) >= TARGET {
                "yes"
            } else {
                "**no**"
            },
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_spread_over_all_lengths_and_hold_about_as_many_tokens() {
        let lengths: Vec<usize> = (0..3200).map(|i| 5 + i * 7919 % 100).collect();
        let chosen = spread(&lengths);
        let tokens: usize = chosen.iter().flatten().map(|&at| lengths[at]).sum();
        assert!((TOKENS / 2..TOKENS * 2).contains(&tokens), "{tokens}");
        let mean = |batch: &Vec<usize>| batch.iter().map(|&at| lengths[at]).sum::<usize>() / BATCH;
        let (short, long) = (mean(&chosen[0]), mean(&chosen[chosen.len() - 1]));
        assert!(short < 40 && long > 70, "{short} to {long}");
        assert!(chosen.iter().all(|batch| batch.len() == BATCH));
    }

    #[test]
    fn the_page_says_where_the_target_was_missed() {
        let timing = |side: &str, median| Timing {
            side: side.to_string(),
            version: "1".to_string(),
            tokens_per_second: vec![median],
            median,
            peak_memory: 0,
        };
        let outcome = |bf16| Outcome {
            name: "a".to_string(),
            threads: 1,
            timings: vec![timing("f", 100.0), timing("b", bf16), timing("p", 50.0)],
        };
        let page = markdown("m", "somehow", &[outcome(150.0), outcome(90.0)]);
        assert!(page.contains("Reached in 1 of 2 cases"), "{page}");
        assert!(
            page.contains("| a | 1 | 100 | 150 | 50 | 1.50 | 3.00 | yes |"),
            "{page}"
        );
        assert!(
            page.contains("| a | 1 | 100 | 90 | 50 | 0.90 | 1.80 | **no** |"),
            "{page}"
        );
    }
}
