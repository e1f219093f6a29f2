//! Some batches of real examples, in a file that both sides read.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use burn::tensor::{Device, Int, Tensor};
use serde::{Deserialize, Serialize};
use totune_data::{BatchPlan, Encoded, Padded, Target, Tokenizer};
use totune_model::TokenBatch;

use crate::desk::Desk;

/// The encoder whose tokenizer encodes the texts.
pub const ENCODER: &str = "all-minilm-l6-v2";
/// Tasks of long, shorter and short texts.
pub const TASKS: [&str; 3] = ["rte", "mrpc", "cola"];
/// Examples in a batch, if no other number is named.
pub const BATCH: usize = 32;
const MAX_LENGTH: usize = 128;
/// Real tokens that a lap is to have, about.
const TOKENS: usize = 6000;

/// One example of a batch in a file of batches.
#[derive(Debug, Serialize, Deserialize)]
pub struct Row {
    /// Wordpieces.
    pub ids: Vec<u32>,
    /// Segment of each.
    types: Vec<u8>,
    /// Class.
    label: i64,
}

/// Some batches of a task.
pub struct TaskBatches {
    /// The task.
    pub task: &'static str,
    /// Examples in a batch.
    pub size: usize,
    /// The word for their order: `shuffled`, or `bucketed` for texts of similar length.
    pub order: &'static str,
    /// The file that has them.
    pub file: PathBuf,
    /// Number of batches.
    pub n: usize,
    /// Their tokens, without padding.
    pub tokens: usize,
}

/// Some batches of each of `tasks`, named with their examples in a batch, in files in `folder`. Tasks whose files are
/// missing are left out, each with a line that says so.
pub fn of_tasks(
    desk: &Desk,
    tasks: &[(&'static str, usize)],
    bucketing: bool,
    folder: &Path,
) -> Vec<TaskBatches> {
    let mut all = Vec::new();
    for &(task, size) in tasks {
        let plan = BatchPlan { size, bucketing };
        match write(desk, task, &plan, folder) {
            Ok(batches) => all.push(batches),
            Err(why) => {
                let why = format!("{why:#}");
                // Further lines say how to get the files, and are long.
                let why = why.lines().next().unwrap_or_default();
                eprintln!("left out batches of {task}: {why}");
            }
        }
    }
    all
}

/// Writes some batches of `task` into `folder`, spread evenly from the shortest to the longest.
///
/// # Errors
/// When files of the task or of the encoder are missing.
fn write(desk: &Desk, task: &'static str, plan: &BatchPlan, folder: &Path) -> Result<TaskBatches> {
    let catalogue = desk.project.datasets()?;
    let encoders = desk.project.encoders()?;
    let (card, encoder) = (catalogue.find(task)?, encoders.find(ENCODER)?);
    let places = [desk.roots.encoders.clone()];
    let missing = card.missing(&desk.roots.data, &["train"]);
    if let Some(missing) = missing.or_else(|| encoder.missing(&places)) {
        bail!(missing);
    }
    let vocabulary = encoder.locate(&places).context("found above")?;
    let tokenizer = Tokenizer::open(&vocabulary, encoder.vocabulary.lowercase)?;
    let dataset = card.load_split(&desk.roots.data, "train")?;
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
    let chosen = spread(&lengths, plan);
    let batches = chosen.iter().map(|batch| batch.iter().map(row).collect());
    let batches: Vec<Vec<Row>> = batches.collect();
    let order = if plan.bucketing {
        "bucketed"
    } else {
        "shuffled"
    };
    let file = folder.join(format!("{task}-{}-{order}.json", plan.size));
    fs::write(&file, serde_json::to_vec(&batches)?)?;
    Ok(TaskBatches {
        task,
        size: plan.size,
        order,
        file,
        n: batches.len(),
        tokens: batches.iter().flatten().map(|row| row.ids.len()).sum(),
    })
}

/// Whole batches of an epoch that together have about [`TOKENS`] tokens, at least two.
fn spread(lengths: &[usize], plan: &BatchPlan) -> Vec<Vec<usize>> {
    let mut batches = plan.shuffled(lengths, 1, 0);
    batches.retain(|batch| batch.len() == plan.size);
    let tokens = |batch: &Vec<usize>| batch.iter().map(|&at| lengths[at]).sum::<usize>();
    batches.sort_by_key(tokens);
    let all: usize = batches.iter().map(tokens).sum();
    let n = (TOKENS * batches.len() / all.max(1)).clamp(2, batches.len().max(2));
    let places = (0..n).map(|i| (2 * i + 1) * batches.len() / (2 * n));
    places.filter_map(|at| batches.get(at).cloned()).collect()
}

/// The batches of a file.
fn read(file: &Path) -> Result<Vec<Vec<Row>>> {
    let text =
        fs::read_to_string(file).with_context(|| format!("{}: cannot be read", file.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("{}: not a file of batches", file.display()))
}

/// The batches of a file on `device`.
pub fn on_device(file: &Path, device: &Device) -> Result<Vec<(TokenBatch, Tensor<1, Int>)>> {
    let batch = |rows: Vec<Row>| {
        let labels: Vec<i64> = rows.iter().map(|row| row.label).collect();
        let texts = rows.into_iter().map(|row| Encoded {
            ids: row.ids,
            type_ids: row.types,
            ..Encoded::default()
        });
        let texts: Vec<Encoded> = texts.collect();
        let padded = Padded::new(&texts.iter().collect::<Vec<_>>(), 0);
        let shape = [padded.batch, padded.seq];
        let tokens = TokenBatch::new(padded.ids, padded.type_ids, &padded.mask, shape, device);
        (tokens, Tensor::from_data(labels.as_slice(), device))
    };
    Ok(read(file)?.into_iter().map(batch).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_spread_over_all_lengths_and_hold_about_as_many_tokens() {
        let lengths: Vec<usize> = (0..3200).map(|i| 5 + i * 7919 % 100).collect();
        let plan = BatchPlan {
            size: BATCH,
            bucketing: true,
        };
        let chosen = spread(&lengths, &plan);
        let tokens: usize = chosen.iter().flatten().map(|&at| lengths[at]).sum();
        assert!((TOKENS / 2..TOKENS * 2).contains(&tokens), "{tokens}");
        let mean = |batch: &Vec<usize>| batch.iter().map(|&at| lengths[at]).sum::<usize>() / BATCH;
        let (short, long) = (mean(&chosen[0]), mean(&chosen[chosen.len() - 1]));
        assert!(short < 40 && long > 70, "{short} to {long}");
        assert!(chosen.iter().all(|batch| batch.len() == BATCH));
    }
}
