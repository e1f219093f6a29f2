//! `bf16.json` and `bf16.md`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::json;
use totune_model::fused::{self, Bf16Products};
use totune_record::write_atomically;

use super::Outcome;
use crate::bench::table::machine;

/// What is to be reached: this many times the tokens per second of f32.
const TARGET: f64 = 1.5;

/// How this processor multiplies, for people.
fn products() -> &'static str {
    match fused::products().bf16 {
        Bf16Products::Native => {
            "as bfloat16, which was measured to be faster than f32 on this processor"
        }
        Bf16Products::AsF32 => {
            "as f32, since bfloat16 was not measured to be faster on this processor"
        }
    }
}

/// Writes both into `out`.
pub fn write(out: &Path, outcomes: &[Outcome]) -> Result<()> {
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
    use super::super::Timing;
    use super::*;

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
