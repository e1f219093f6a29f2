//! Writes what was measured: as JSON with every step, and as a table.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use serde_json::json;
use totune_record::write_atomically;

use super::super::table::machine;
use super::Outcome;

/// Writes `<name>.json` and `<name>.md` into `dir`.
pub fn write(dir: &Path, name: &str, outcomes: &[Outcome]) -> Result<()> {
    std::fs::create_dir_all(dir)?;
    let machine = machine();
    let json = json!({ "machine": machine, "outcomes": outcomes });
    let json = format!("{}\n", serde_json::to_string_pretty(&json)?);
    write_atomically(&dir.join(format!("{name}.json")), json.as_bytes())?;
    let page = markdown(&machine, name, outcomes);
    write_atomically(&dir.join(format!("{name}.md")), page.as_bytes())
}

fn markdown(machine: &str, name: &str, outcomes: &[Outcome]) -> String {
    let title = match name {
        "lstm" => "LSTM layers: totune beside PyTorch and burn",
        "elmo" => "ELMo's LSTM with projection and clipping: totune beside PyTorch and burn",
        "heads" => "Heads of wang2019: totune beside PyTorch",
        _ => "Conditional random fields: totune beside PyTorch",
    };
    let mut text = format!("# {title}\n\nWritten by `./justw bench {name}`.\n");
    let _ = writeln!(text, "Machine: {machine}.");
    let mut versions: Vec<String> = Vec::new();
    for timing in outcomes.iter().flat_map(|outcome| &outcome.timings) {
        let line = format!("Side: {} = {}.", timing.side, timing.version);
        if !versions.contains(&line) {
            versions.push(line);
        }
    }
    for line in versions {
        let _ = writeln!(text, "{line}");
    }
    if let Some(case) = outcomes.first().map(|outcome| &outcome.case) {
        let (batch, seq, threads) = (case.lengths.len(), case.seq(), case.threads);
        let _ = match name {
            "lstm" => writeln!(
                text,
                "Input {}, hidden {}, batch {batch}, {seq} steps, f32, {threads} threads.",
                case.input, case.hidden
            ),
            "elmo" => writeln!(
                text,
                "One direction of one layer; widths of states and cells as named, sentences of 5 to 24 words and a mark, \
                 f32, {threads} threads.\n\
                 PyTorch has no such layer: its side is the loop over steps with autograd.\n\
                 burn's side is `burn::nn::Lstm` with the same input and as many cells, over padded rows; it neither \
                 projects nor clips, so its result is another one and is not compared."
            ),
            "heads" => writeln!(
                text,
                "States of {} numbers, {batch} texts or pairs of {seq} tokens, f32, {threads} threads; a step is the whole head, dropout off.\n\
                 BiMPM: all four matchings, BiLSTMs of 100; PyTorch's side has all tokens, pairs of tokens and perspectives at once.\n\
                 Highway LSTM: two layers of 200 in each direction; PyTorch has no such layer, its side is the loop over steps with autograd.",
                case.input
            ),
            _ => writeln!(
                text,
                "{} tags, batch {batch}, {seq} words, f32, {threads} threads.",
                case.tags
            ),
        };
    }
    text.push_str(
        "Each side runs alone while the others sleep; rounds alternate; medians over all steps after the warm-up.\n\
         All sides have the same weights and input, and what they give was compared.\n\
         A ratio above 1 means that totune takes less time.\n\n\
         | case | side | median step | peak memory | side / totune |\n|---|---|--:|--:|--:|\n",
    );
    for outcome in outcomes {
        for (i, timing) in outcome.timings.iter().enumerate() {
            let (case, ratio) = match i {
                0 => (outcome.case.name.as_str(), String::new()),
                _ => (
                    "",
                    format!("{:.2}", timing.median / outcome.timings[0].median),
                ),
            };
            let _ = writeln!(
                text,
                "| {case} | {} | {:.2} ms | {:.0} MB | {ratio} |",
                timing.side,
                timing.median * 1e3,
                timing.peak_memory as f64 / 1e6,
            );
        }
    }
    text
}
