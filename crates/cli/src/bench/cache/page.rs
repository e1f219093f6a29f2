//! `cache.md`: the tables, with what was to be reached beside what was.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use totune_record::write_atomically;

use super::grid::{BATCH, EVALUATION_BATCH, LAYERS, MAX_LENGTH};
use super::results::{Epochs, Results, Sweep};
use crate::bench::median;

/// An epoch may be this far from the arithmetic.
const OFF: f64 = 0.15;
/// How many times faster an epoch of `frozen` is to be.
const FROZEN: f64 = 20.0;
/// How far scores may be apart.
const APART: f64 = 1e-4;
/// How many times faster than PyTorch a sweep is to be.
const SWEEP: f64 = 4.0;
/// Real tokens per computed token.
const SHARE: f64 = 0.92;

/// The name of a strategy that moves `k` layers.
pub fn strategy(k: usize) -> String {
    match k {
        0 => "frozen".to_string(),
        k => format!("last-{k}"),
    }
}

/// Writes `cache.json` and `cache.md` into `out`.
pub fn write(out: &Path, results: &Results) -> Result<()> {
    std::fs::create_dir_all(out)?;
    let json = format!("{}\n", serde_json::to_string_pretty(results)?);
    write_atomically(&out.join("cache.json"), json.as_bytes())?;
    write_atomically(&out.join("cache.md"), markdown(results).as_bytes())
}

fn markdown(results: &Results) -> String {
    let mut text = String::from("# The activation cache\n\n");
    let _ = writeln!(text, "Written by `./justw bench cache`.");
    let _ = writeln!(
        text,
        "Machine: {}; {} thread(s).",
        results.machine, results.threads
    );
    for (side, version) in &results.sides {
        let _ = writeln!(text, "Side: {side} = {version}.");
    }
    let _ = writeln!(
        text,
        "all-MiniLM-L6-v2 ({LAYERS} layers), mean pooling, batch {BATCH} ({EVALUATION_BATCH} when scoring), at most \
         {MAX_LENGTH} tokens, whole training files, f32, dropout 0.1 in what moves and none in what is fixed, length \
         bucketing on our side.\n\
         Each side runs alone while the others sleep; they take turns every {} steps.",
        super::CHUNK
    );
    epochs(&mut text, results);
    scores(&mut text, results);
    fills(&mut text, results);
    sweeps(&mut text, results);
    shares(&mut text, results);
    text
}

/// Whether a target was reached.
fn verdict(reached: bool) -> &'static str {
    if reached { "yes" } else { "**no**" }
}

fn all(results: &Results) -> impl Iterator<Item = (&String, &String, &Epochs)> {
    results.tasks.iter().flat_map(|(name, task)| {
        let epochs = task.epochs.iter();
        epochs.map(move |(label, found)| (name, label, found))
    })
}

fn epochs(text: &mut String, results: &Results) {
    if all(results).next().is_none() {
        return;
    }
    let _ = write!(
        text,
        "\n## An epoch with the cache and without\n\n\
         Medians of whole epochs of training, without scoring and without what filling the cache took once (below).\n\
         Arithmetic: (L + 2k) / 3k for L layers of which k move, a backward pass counting two forward passes; to reach: \
         within {:.0} %, and {FROZEN:.0} times for `frozen`.\n\n\
         | task | examples | strategy | epochs | without | with | times faster | arithmetic | off by | reached |\n\
         |---|--:|---|--:|--:|--:|--:|--:|--:|---|\n",
        OFF * 100.0
    );
    for (name, label, found) in all(results) {
        let ratio = found.ratio();
        let (expected, off, reached) = match found.expected(LAYERS) {
            Some(expected) => {
                let off = ratio / expected - 1.0;
                (
                    format!("{expected:.2}"),
                    format!("{:+.0} %", off * 100.0),
                    off.abs() <= OFF,
                )
            }
            None => (String::new(), String::new(), ratio >= FROZEN),
        };
        let _ = writeln!(
            text,
            "| {name} | {} | {label} | {} | {:.2} s | {:.2} s | {ratio:.2} | {expected} | {off} | {} |",
            results.tasks[name].examples,
            found.with.len(),
            median(&found.without),
            median(&found.with),
            verdict(reached),
        );
    }
}

fn scores(text: &mut String, results: &Results) {
    if all(results).next().is_none() {
        return;
    }
    let _ = write!(
        text,
        "\n## Scores and memory with the cache and without\n\n\
         The same runs, of one seed: the largest absolute difference of all scores after each epoch (losses and metrics), \
         and of all probabilities that the final model gives on dev. To reach: {APART:e} at most.\n\
         Kept states are mapped files, which count as memory of the process while they are read; the budget is {}.\n\n\
         | task | strategy | rate | epochs | scores differ by | probabilities by | reached | states kept | peak with | peak without |\n\
         |---|---|--:|--:|--:|--:|---|--:|--:|--:|\n",
        mebibytes(results.budget)
    );
    for (name, label, found) in all(results) {
        let worst = found.score_difference.max(found.answer_difference);
        let kept: u64 = found.kept.iter().map(|kept| kept.bytes).sum();
        let _ = writeln!(
            text,
            "| {name} | {label} | {:e} | {} | {:.1e} | {:.1e} | {} | {} | {} | {} |",
            found.lr,
            found.with.len(),
            found.score_difference,
            found.answer_difference,
            verdict(worst <= APART),
            megabytes(kept),
            megabytes(found.peak_with),
            megabytes(found.peak_without),
        );
    }
}

fn fills(text: &mut String, results: &Results) {
    if all(results).next().is_none() {
        return;
    }
    text.push_str(
        "\n## What filling the cache costs\n\n\
         Once for each strategy and dataset, by whichever run comes first: a pass through the frozen part, without \
         gradients. Whole training files as f32, and the first examples of each in every number type.\n\n\
         | task | strategy | begins at | kept as | examples | seconds | states |\n|---|---|---|---|--:|--:|--:|\n",
    );
    let mut row = |task: &str, label: &str, dtype: &str, kept: &super::worker::Kept| {
        let _ = writeln!(
            text,
            "| {task} | {label} | {} | {dtype} | {} | {:.2} | {} |",
            kept.start,
            kept.examples,
            kept.seconds,
            megabytes(kept.bytes),
        );
    };
    for (name, task) in &results.tasks {
        for (label, found) in &task.epochs {
            for kept in found.kept.iter().filter(|kept| kept.split == "train") {
                row(name, label, "f32", kept);
            }
        }
        for fill in &task.fills {
            row(name, &strategy(1), &fill.dtype, &fill.kept);
        }
    }
}

fn sweeps(text: &mut String, results: &Results) {
    let sweeps: Vec<(&String, &Sweep)> = results
        .tasks
        .iter()
        .filter_map(|(name, task)| Some((name, task.sweep.as_ref()?)))
        .collect();
    if sweeps.is_empty() {
        return;
    }
    let _ = write!(
        text,
        "\n## A whole sweep beside PyTorch\n\n\
         `frozen` and `last-1` at 10 seeds and 2 rates, scored on dev after each epoch. Ours is `totune sweep run`, run \
         whole and timed from start to end: reading, encoding, filling the cache, training, scoring, writing rows.\n\
         PyTorch: the same model by `AutoModel`, what is fixed without `requires_grad` and without dropout, fused AdamW, \
         no cache; its epochs and its pass over dev were timed and multiplied; loading and encoding are left out.\n\
         To reach: {SWEEP:.0} times faster than in random order with padding to the longest of a batch, as `Trainer` \
         and `DataCollatorWithPadding` have it.\n\n\
         | task | side | epochs | how | in all | totune is faster | reached |\n|---|---|--:|---|--:|--:|---|\n"
    );
    for (name, sweep) in &sweeps {
        let _ = writeln!(
            text,
            "| {name} | totune | {} | {} runs whole: training {:.0} s, scoring {:.0} s, filling {:.0} s | {:.0} s | | |",
            sweep.epochs, sweep.runs, sweep.training, sweep.scoring, sweep.filling, sweep.seconds,
        );
        for (order, title) in [("random", "random order"), ("bucketed", "length-bucketed")] {
            let Some(seconds) = sweep.peer_seconds(order) else {
                continue;
            };
            let peers = sweep.peers.iter().filter(|peer| peer.order == order);
            let how: Vec<String> = peers
                .map(|peer| {
                    format!(
                        "{} {:.1} s + dev {:.1} s, measured on {} epoch(s), times {}",
                        peer.strategy,
                        median(&peer.epochs),
                        peer.scoring,
                        peer.epochs.len(),
                        sweep.runs / 2 * sweep.epochs
                    )
                })
                .collect();
            let ratio = seconds / sweep.seconds;
            let _ = writeln!(
                text,
                "| | pytorch, {title} | {} | {} | {seconds:.0} s | {ratio:.2} | {} |",
                sweep.epochs,
                how.join("; "),
                if order == "random" {
                    verdict(ratio >= SWEEP)
                } else {
                    ""
                },
            );
        }
    }
    for (name, sweep) in &sweeps {
        let _ = write!(
            text,
            "\nStates of {name} on disk: {} of a budget of {}; peak memory of the sweep: {}.",
            megabytes(sweep.states),
            mebibytes(results.budget),
            megabytes(sweep.peak)
        );
    }
    text.push('\n');
}

fn shares(text: &mut String, results: &Results) {
    let _ = write!(
        text,
        "\n## Real tokens per computed token\n\n\
         Batches of {BATCH}, each padded to its longest example; the first epoch of seed 1. To reach: {:.0} % with \
         bucketing.\n\n\
         | training file | examples | random order | bucketed | reached |\n|---|--:|--:|--:|---|\n",
        SHARE * 100.0
    );
    for share in &results.shares {
        let _ = writeln!(
            text,
            "| {} | {} | {:.1} % | {:.1} % | {} |",
            share.dataset,
            share.examples,
            share.random * 100.0,
            share.bucketed * 100.0,
            verdict(share.bucketed >= SHARE),
        );
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// A budget, as it was typed.
fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

#[cfg(test)]
mod tests {
    use super::super::results::{Peer, Share, Task};
    use super::*;

    fn results() -> Results {
        let found = Epochs {
            k: 1,
            lr: 2e-5,
            with: vec![10.0],
            without: vec![20.0],
            kept: Vec::new(),
            score_difference: 2e-9,
            answer_difference: 3e-4,
            peak_with: 2_000_000,
            peak_without: 1_000_000,
        };
        let peer = |strategy: &str| Peer {
            strategy: strategy.to_string(),
            order: "random".to_string(),
            epochs: vec![9.5],
            scoring: 0.5,
            peak: 0,
        };
        let sweep = Sweep {
            runs: 40,
            epochs: 2,
            seconds: 100.0,
            filling: 1.0,
            training: 90.0,
            scoring: 5.0,
            states: 7_000_000,
            peak: 0,
            peers: vec![peer("frozen"), peer("last-1")],
        };
        let mut task = Task {
            examples: 2490,
            sweep: Some(sweep),
            ..Task::default()
        };
        task.epochs.insert("last-1".to_string(), found);
        let mut results = Results {
            budget: 4096 << 20,
            ..Results::default()
        };
        results.tasks.insert("rte".to_string(), task);
        results.shares.push(Share {
            dataset: "rte".to_string(),
            examples: 2490,
            bucketed: 0.5,
            random: 0.25,
        });
        results
    }

    #[test]
    fn each_table_says_what_was_reached_and_what_was_not() {
        let page = markdown(&results());
        for line in [
            "| rte | 2490 | last-1 | 1 | 20.00 s | 10.00 s | 2.00 | 2.67 | -25 % | **no** |",
            "| rte | last-1 | 2e-5 | 1 | 2.0e-9 | 3.0e-4 | **no** | 0.0 MB | 2.0 MB | 1.0 MB |",
            "frozen 9.5 s + dev 0.5 s, measured on 1 epoch(s), times 40; last-1 9.5 s + dev 0.5 s, measured on 1 epoch(s), \
             times 40 | 800 s | 8.00 | yes |",
            "States of rte on disk: 7.0 MB of a budget of 4096 MiB",
            "| rte | 2490 | 25.0 % | 50.0 % | **no** |",
        ] {
            assert!(page.contains(line), "expected {line} in\n{page}");
        }
    }

    #[test]
    fn tables_of_what_was_not_measured_are_left_out() {
        let page = markdown(&Results::default());
        assert!(
            !page.contains("whole sweep") && !page.contains("filling"),
            "{page}"
        );
    }
}
