//! `probes.json` and `probes.md`.

use std::fmt::Write as _;
use std::fs;

use anyhow::Result;
use serde_json::json;
use totune_record::write_atomically;

use super::{Outcome, PRECONDITIONED, ProbesOptions, TASKS};
use crate::bench::table::machine;

/// Writes both below `options.out`.
pub fn write(options: &ProbesOptions, outcomes: &[Outcome]) -> Result<()> {
    fs::create_dir_all(&options.out)?;
    let machine = machine();
    let json = json!({
        "machine": machine, "layers": options.layers, "columns": options.columns, "threads": options.threads,
        "outcomes": outcomes,
    });
    let json = format!("{}\n", serde_json::to_string_pretty(&json)?);
    write_atomically(&options.out.join("probes.json"), json.as_bytes())?;
    let page = markdown(&machine, options, outcomes);
    write_atomically(&options.out.join("probes.md"), page.as_bytes())
}

fn markdown(machine: &str, options: &ProbesOptions, outcomes: &[Outcome]) -> String {
    let mut text =
        String::from("# Diagnostic classifiers and mutual information beside Python\n\n");
    let _ = writeln!(text, "Written by `./justw bench probes`.");
    let _ = writeln!(text, "Machine: {machine}.");
    let timings = outcomes.iter().flat_map(|outcome| &outcome.timings);
    if let Some(peer) = timings.clone().find(|timing| timing.side == "python") {
        let _ = writeln!(text, "Peer: {}.", peer.version);
    }
    let sizes: Vec<String> = TASKS
        .iter()
        .map(|task| format!("{} {} and {}", task.name, task.train, task.test))
        .collect();
    let _ = writeln!(
        text,
        "Matrices: made up, {} layers of {} columns, 32-bit floats; training and test rows: {}.",
        options.layers,
        options.columns,
        sizes.join(", ")
    );
    let _ = write!(
        text,
        "A step is one task over all layers: fitting to the training rows and answering the test rows, or EDGE on the test rows.\n\
         Threads: {}; `python` takes layer after layer with that many threads in its products, `layers at once` as many layers on one thread each.\n\
         EDGE in Python is `fixtures/make/edge.py`; linear regression there is in 64-bit floats, as ours is.\n\
         Each side runs alone while the others sleep; rounds alternate; medians over {} rounds after the warm-up.\n\
         The scores of all sides agree to 0.02 in each layer; the means over the layers are below.\n\
         `totune` takes scikit-learn's L-BFGS steps and stops where it stops; each step reads the matrix once and computes in 64 bits, where scikit-learn reads it twice and computes in 32: so it gains at most about twice beside one layer on each core.\n\
         `preconditioned` minimises the same objective to the same tolerance in other coordinates, in fewer steps, and ends nearer to the minimum.\n\
         A ratio above 1 means that totune is faster.\n\n\
         | step | side | median | peak memory | mean score | side / totune | side / preconditioned |\n|---|---|--:|--:|--:|--:|--:|\n",
        options.threads, options.rounds
    );
    for outcome in outcomes {
        for (at, timing) in outcome.timings.iter().enumerate() {
            let name = if at == 0 { outcome.name.as_str() } else { "" };
            let ratio = |of: Option<f64>| match of {
                Some(ours) if timing.side.starts_with("python") => {
                    format!("{:.1}", timing.median / ours)
                }
                _ => String::new(),
            };
            let _ = writeln!(
                text,
                "| {name} | {} | {:.3} s | {:.0} MB | {:.4} | {} | {} |",
                timing.side,
                timing.median,
                timing.peak_memory as f64 / 1e6,
                timing.scores.iter().sum::<f64>() / timing.scores.len().max(1) as f64,
                ratio(outcome.of("totune")),
                ratio(outcome.of(PRECONDITIONED)),
            );
        }
    }
    text.push_str(
        "\n## Beside the faster Python side\n\n| step | totune | preconditioned |\n|---|--:|--:|\n",
    );
    for outcome in outcomes {
        let times = |of: Option<f64>| {
            of.map_or(String::new(), |ours| {
                format!("{:.1}x", outcome.fastest_peer() / ours)
            })
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            outcome.name,
            times(outcome.of("totune")),
            times(outcome.of(PRECONDITIONED))
        );
    }
    let peers: f64 = outcomes.iter().map(Outcome::fastest_peer).sum();
    let ours = |first: &str| -> f64 {
        let quickest = outcomes
            .iter()
            .filter_map(|outcome| outcome.of(first).or(outcome.of("totune")));
        quickest.sum()
    };
    let _ = writeln!(
        text,
        "| all of these | {:.1}x | {:.1}x |",
        peers / ours("totune"),
        peers / ours(PRECONDITIONED)
    );
    text
}
