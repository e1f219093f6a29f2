//! `probes.json` and `probes.md`.

use std::fmt::Write as _;
use std::fs;

use anyhow::Result;
use serde_json::json;
use totune_record::write_atomically;

use super::{Outcome, ProbesOptions, TASKS};
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
    if let Some(peer) = outcomes.first().and_then(|outcome| outcome.timings.get(1)) {
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
         All sides have the same scores, within what stopping early leaves open.\n\
         A ratio above 1 means that totune is faster.\n\n\
         | step | side | median | peak memory | side / totune |\n|---|---|--:|--:|--:|\n",
        options.threads, options.rounds
    );
    for outcome in outcomes {
        for (at, timing) in outcome.timings.iter().enumerate() {
            let (name, ratio) = match at {
                0 => (outcome.name.as_str(), String::new()),
                _ => (
                    "",
                    format!("{:.1}", timing.median / outcome.timings[0].median),
                ),
            };
            let _ = writeln!(
                text,
                "| {name} | {} | {:.3} s | {:.0} MB | {ratio} |",
                timing.side,
                timing.median,
                timing.peak_memory as f64 / 1e6
            );
        }
    }
    let total = |at: usize| -> f64 {
        let medians = outcomes
            .iter()
            .filter_map(|outcome| outcome.timings.get(at));
        medians.map(|timing| timing.median).sum()
    };
    if let Some(first) = outcomes.first() {
        for (at, timing) in first.timings.iter().enumerate() {
            let (name, ratio) = match at {
                0 => ("all of these", String::new()),
                _ => ("", format!("{:.1}", total(at) / total(0))),
            };
            let side = &timing.side;
            let _ = writeln!(text, "| {name} | {side} | {:.3} s | | {ratio} |", total(at));
        }
    }
    text
}
