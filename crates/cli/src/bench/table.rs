//! Writes what was measured: as JSON with every step, and as a table.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use serde_json::json;
use totune_record::write_atomically;

use super::{Case, Mode, Outcome, Timing};

/// A case in a few words.
pub fn name(case: &Case) -> String {
    let mode = match case.mode {
        Mode::Train => format!("training, dropout {}", case.dropout),
        Mode::Inference => "inference".to_string(),
    };
    format!(
        "{}, batch {} x {}, {mode}",
        case.shape, case.batch, case.seq
    )
}

/// Writes `peer.json` and `peer.md` into `dir`.
pub fn write(dir: &Path, outcomes: &[Outcome]) -> Result<()> {
    std::fs::create_dir_all(dir)?;
    let machine = machine();
    let json = json!({ "machine": machine, "outcomes": outcomes });
    let json = format!("{}\n", serde_json::to_string_pretty(&json)?);
    write_atomically(&dir.join("peer.json"), json.as_bytes())?;
    write_atomically(
        &dir.join("peer.md"),
        markdown(&machine, outcomes).as_bytes(),
    )
}

fn markdown(machine: &str, outcomes: &[Outcome]) -> String {
    let mut text = String::from("# totune beside PyTorch + transformers\n\n");
    let _ = writeln!(text, "Written by `./justw bench peer`.");
    let _ = writeln!(text, "Machine: {machine}.");
    for version in versions(outcomes) {
        let _ = writeln!(text, "Side: {version}.");
    }
    text.push_str(
        "Each side runs alone while the others sleep; rounds alternate; medians over all steps after the warm-up.\n\
         A ratio above 1 means that totune does more tokens per second.\n\n\
         | case | side | median step | tokens/s | peak memory | totune / side |\n|---|---|--:|--:|--:|--:|\n",
    );
    for outcome in outcomes {
        for (i, timing) in outcome.timings.iter().enumerate() {
            let case = if i == 0 {
                name(&outcome.case)
            } else {
                String::new()
            };
            let ratio = match i {
                0 => String::new(),
                _ => format!("{:.2}", timing.median / outcome.timings[0].median),
            };
            let _ = writeln!(
                text,
                "| {case} | {} | {:.1} ms | {:.0} | {:.0} MB | {ratio} |",
                timing.side,
                timing.median * 1e3,
                timing.tokens_per_second,
                timing.peak_memory as f64 / 1e6,
            );
        }
    }
    text
}

fn versions(outcomes: &[Outcome]) -> Vec<String> {
    let mut all = Vec::new();
    let timings = outcomes.iter().flat_map(|outcome| &outcome.timings);
    for Timing { side, version, .. } in timings {
        let line = format!("{side} = {version}");
        if !all.contains(&line) {
            all.push(line);
        }
    }
    all
}

/// Processor, cores and memory, as Linux tells them.
pub fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    let cpu =
        field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| "unknown processor".into());
    let kib: f64 = field(&read("/proc/meminfo"), "MemTotal")
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .unwrap_or(0.0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{cpu}, {cores} cores, {:.0} GiB, {}",
        kib / 1048576.0,
        std::env::consts::OS
    )
}
