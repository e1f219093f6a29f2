//! `bf16.json` and `bf16.md`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::json;
use totune_model::fused::{self, Bf16Products, F32Products};
use totune_record::write_atomically;

use super::Outcome;
use crate::bench::table::machine;
use crate::bench::{Case, Mode};

/// What is to be reached: this many times the tokens per second of our f32, in training and in inference, and of
/// PyTorch's autocast.
const TARGETS: [f64; 3] = [1.5, 1.8, 1.1];

/// How this processor multiplies, for people.
fn products() -> String {
    let found = fused::products();
    let bf16 = match found.bf16 {
        Bf16Products::Native => "as bfloat16",
        Bf16Products::AsF32 => "as f32 numbers",
    };
    let f32 = match found.f32 {
        F32Products::Default => "LibTorch's default (MKL)",
        F32Products::OneDnn => "oneDNN",
    };
    let speeds = found.speeds.map_or(String::new(), |speeds| {
        format!(
            ", by a measurement on one thread: f32 {:.0} GFLOP/s by default and {:.0} by oneDNN, bfloat16 {:.0}",
            speeds.default, speeds.onednn, speeds.bf16
        )
    });
    format!("bfloat16 operands are multiplied {bf16}, f32 operands by {f32}{speeds}")
}

/// The vector units for f32 and bfloat16 that the processor says it has.
fn flags() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("flags"));
    let has = |flag: &&str| line.is_some_and(|line| line.split_whitespace().any(|f| f == *flag));
    let known = ["avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16"];
    known.into_iter().filter(has).collect::<Vec<_>>().join(" ")
}

/// Writes both into `out`.
pub fn write(out: &Path, outcomes: &[Outcome]) -> Result<()> {
    fs::create_dir_all(out)?;
    let machine = format!("{} ({})", machine(), flags());
    let products = products();
    let json = json!({ "machine": machine, "products": products, "outcomes": outcomes });
    let json = format!("{}\n", serde_json::to_string_pretty(&json)?);
    write_atomically(&out.join("bf16.json"), json.as_bytes())?;
    write_atomically(
        &out.join("bf16.md"),
        markdown(&machine, &products, outcomes).as_bytes(),
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
    let reached = outcomes.iter().filter(|outcome| outcome.reached()).count();
    let [train, inference, pytorch] = TARGETS;
    let _ = write!(
        text,
        "{}\n\
         Here {products}.\n\
         MiniLM: 6 layers, 384 wide, with a linear classifier. Masked LM: 6 layers, 256 wide, every {}th token predicted.\n\
         Training: everything is trained, dropout 0.1, AdamW. Weights, normalisation, softmax, loss and updates are f32 on \
         all sides. PyTorch: autocast is `torch.autocast(\"cpu\", torch.bfloat16)`; fused AdamW.\n\
         Each side runs alone while the others sleep; rounds alternate; medians over rounds after the warm-up. Padding is \
         not counted as tokens.\n\n\
         Targets: bf16 at least {train} times our f32 in training and {inference} in inference, and {pytorch} times \
         PyTorch's autocast. Reached in {reached} of {} cases.\n\n\
         | case | threads | totune f32 | totune bf16 | pytorch f32 | pytorch autocast | bf16 / f32 | f32 / pytorch | bf16 / autocast | reached |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n",
        versions.join("\n"),
        Case::MASKED,
        outcomes.len(),
    );
    for outcome in outcomes {
        let [f32, bf16, pytorch, autocast] = outcome.medians();
        let _ = writeln!(
            text,
            "| {} | {} | {f32:.0} | {bf16:.0} | {pytorch:.0} | {autocast:.0} | {:.2} | {:.2} | {:.2} | {} |",
            outcome.name,
            outcome.threads,
            bf16 / f32,
            f32 / pytorch,
            bf16 / autocast,
            if outcome.reached() { "yes" } else { "**no**" },
        );
    }
    text
}

impl Outcome {
    fn medians(&self) -> [f64; 4] {
        [0, 1, 2, 3].map(|side: usize| self.timings[side].median)
    }

    fn reached(&self) -> bool {
        let [f32, bf16, _, autocast] = self.medians();
        let [train, inference, pytorch] = TARGETS;
        let ours = match self.mode {
            Mode::Train => train,
            Mode::Inference => inference,
        };
        bf16 / f32 >= ours && bf16 / autocast >= pytorch
    }
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
        let outcome = |mode, bf16| Outcome {
            name: "a".to_string(),
            mode,
            threads: 1,
            timings: [100.0, bf16, 40.0, 50.0]
                .map(|median| timing("side", median))
                .into(),
        };
        let outcomes = [outcome(Mode::Train, 150.0), outcome(Mode::Inference, 150.0)];
        let page = markdown("m", "somehow", &outcomes);
        assert!(page.contains("Reached in 1 of 2 cases"), "{page}");
        for reached in ["yes", "**no**"] {
            let row = format!("| a | 1 | 100 | 150 | 40 | 50 | 1.50 | 2.50 | 3.00 | {reached} |");
            assert!(page.contains(&row), "{page}");
        }
    }
}
