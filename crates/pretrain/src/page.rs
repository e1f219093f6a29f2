//! Report page of all pre-training runs: settings, losses, perplexities, and a figure for each objective.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use totune_disk::write_atomically;
use totune_plot::curves::{Curve, CurvePanel};
use totune_plot::{Figure, Panel};
use totune_record::{PerplexityRow, PretrainingRow, read_perplexity, read_pretraining};
use totune_stats::number::{count, fixed};

use crate::settings::{Objective, Settings, Stage};

/// Number of points of a curve, to which rows are averaged down.
const POINTS: usize = 200;

/// Results of one run.
#[derive(Debug)]
pub struct Run {
    /// Name of the run, and of its folder.
    pub name: String,
    /// Settings of the run, if its configuration still exists.
    pub settings: Option<Settings>,
    /// Training log of the run.
    pub log: Vec<PretrainingRow>,
    /// Perplexity of held-out texts; empty before the run is exported.
    pub perplexity: Vec<PerplexityRow>,
}

impl Run {
    /// Reads all runs below `results`, by name, with the settings found in one of the folders `configs`.
    ///
    /// # Errors
    /// When a table or a configuration cannot be read.
    pub fn all(results: &Path, configs: &[&Path]) -> Result<Vec<Self>> {
        let listing = || format!("{}: cannot be listed", results.display());
        let mut runs = BTreeMap::new();
        for entry in std::fs::read_dir(results).with_context(listing)? {
            let folder = entry.with_context(listing)?.path();
            if !folder.join("pretraining.parquet").is_file() {
                continue;
            }
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            let file = configs
                .iter()
                .map(|config| config.join(format!("{name}.toml")))
                .find(|file| file.is_file());
            let run = Self {
                name: name.to_string(),
                settings: file
                    .map(|file| Settings::read(&file))
                    .transpose()?
                    .map(|(it, _)| it),
                log: read_pretraining(&folder)?,
                perplexity: if folder.join("perplexity.parquet").is_file() {
                    read_perplexity(&folder)?
                } else {
                    Vec::new()
                },
            };
            runs.insert(run.name.clone(), run);
        }
        Ok(runs.into_values().collect())
    }

    fn objective(&self) -> &'static str {
        match self.settings.as_ref().map(|settings| &settings.objective) {
            Some(Objective::MaskedLm(_)) => "masked language modelling",
            Some(Objective::Bilm(_)) => "bidirectional language modelling",
            None => "unknown objective",
        }
    }

    /// Mean loss of the last tenth of the log, in nats.
    fn last_loss(&self) -> f64 {
        let last = &self.log[self.log.len() - self.log.len().div_ceil(10)..];
        last.iter().map(|row| row.loss).sum::<f64>() / last.len() as f64
    }

    fn curve(&self) -> Curve {
        let chunk = self.log.len().div_ceil(POINTS).max(1);
        let mean = |rows: &[PretrainingRow]| {
            let tokens = rows.last().map_or(0, |row| row.tokens);
            let loss = rows.iter().map(|row| row.loss).sum::<f64>() / rows.len() as f64;
            (tokens as f64 / 1e6, loss)
        };
        Curve {
            title: self.name.clone(),
            points: self.log.chunks(chunk).map(mean).collect(),
        }
    }
}

/// Writes `README.md` and the figures of `runs` into `results`.
///
/// # Errors
/// When a file cannot be written.
pub fn write_page(results: &Path, runs: &[Run]) -> Result<()> {
    let mut page = String::from(
        "<!-- Written by `totune pretrain --page`. -->\n# Pre-training runs\n\n\
         How they are trained: [docs/pretraining.md](../../docs/pretraining.md).\n",
    );
    let mut by_objective: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
    for run in runs.iter().filter(|run| !run.log.is_empty()) {
        by_objective.entry(run.objective()).or_default().push(run);
    }
    for (objective, runs) in by_objective {
        let file = format!("loss-{}.svg", objective.replace(' ', "-"));
        write_atomically(
            &results.join(&file),
            figure(objective, &runs).svg()?.as_bytes(),
        )?;
        let title = objective[..1].to_uppercase() + &objective[1..];
        let _ = write!(
            page,
            "\n## {title}\n\n![Training loss over tokens read]({file})\n\n"
        );
        page += &table_of_runs(&runs);
        for run in runs.iter().filter(|run| !run.perplexity.is_empty()) {
            let name = &run.name;
            let _ = write!(page, "\nPerplexity of held-out text, `{name}`:\n\n");
            page += &table_of_perplexity(&run.perplexity);
        }
    }
    write_atomically(&results.join("README.md"), page.as_bytes())
}

fn figure(objective: &str, runs: &[&Run]) -> Figure {
    let panel = CurvePanel {
        title: format!("Training loss, {objective}"),
        measure: "nats per prediction".to_string(),
        across: "Tokens read (millions)".to_string(),
        curves: runs.iter().map(|run| run.curve()).collect(),
        levels: Vec::new(),
    };
    Figure {
        panels: vec![Panel::Curves(panel)],
        stamp: None,
    }
}

fn table_of_runs(runs: &[&Run]) -> String {
    let mut table = String::from(
        "| run | learning rate | batch | tokens (M) | loss (nats) |\n|---|--:|--:|--:|--:|\n",
    );
    for run in runs {
        let rate = |settings: &Settings| format!("{:e}", settings.learning_rate);
        let batch = |settings: &Settings| {
            let stage = Stage::main(&settings.stages);
            format!("{} x {}", stage.batch_size, stage.length)
        };
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_string());
        let last = &run.log[run.log.len() - 1];
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} | {} |",
            run.name,
            or_dash(run.settings.as_ref().map(rate)),
            or_dash(run.settings.as_ref().map(batch)),
            fixed(last.tokens as f64 / 1e6, 1),
            fixed(run.last_loss(), 3),
        );
    }
    table
}

fn table_of_perplexity(rows: &[PerplexityRow]) -> String {
    let mut table = String::from(
        "| text | trained | random weights | word frequencies | predictions |\n|---|--:|--:|--:|--:|\n",
    );
    for of_text in rows.chunk_by(|a, b| a.text == b.text) {
        let of = |model: &str| {
            let row = of_text.iter().find(|row| row.model == model);
            row.map_or_else(|| "–".to_string(), |row| fixed(row.perplexity, 1))
        };
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} |",
            of_text[0].text,
            of("trained"),
            of("random-weights"),
            of("unigram"),
            count(of_text[0].n),
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_line_for_each_run_and_text() {
        let rows: Vec<PretrainingRow> = (1..=500)
            .map(|n| PretrainingRow {
                run: "own".to_string(),
                step: n,
                tokens: n * 2_000,
                loss: 9.0 - n as f64 / 100.0,
                gradient_norm: 1.0,
                learning_rate: 1e-3,
                seconds: n as f64,
                tokens_per_second: 2_000.0,
            })
            .collect();
        let scored = |model: &str, perplexity: f64| PerplexityRow {
            run: "own".to_string(),
            text: "prose".to_string(),
            model: model.to_string(),
            step: 500,
            tokens: 1_000_000,
            n: 1_234,
            nats: perplexity.ln(),
            perplexity,
        };
        let run = Run {
            name: "own".to_string(),
            settings: None,
            log: rows,
            perplexity: vec![scored("trained", 31.42), scored("random-weights", 8192.0)],
        };
        assert_eq!(run.curve().points.len(), 167, "three rows a point");
        assert!(
            (run.last_loss() - 4.245).abs() < 1e-9,
            "{}",
            run.last_loss()
        );
        let folder = tempfile::tempdir().expect("a temporary folder");
        write_page(folder.path(), &[run]).expect("a page");
        let page = std::fs::read_to_string(folder.path().join("README.md")).expect("a page");
        assert!(page.contains("| `own` | – | – | 1.0 | 4.245 |"), "{page}");
        assert!(
            page.contains("| prose | 31.4 | 8192.0 | – | 1,234 |"),
            "{page}"
        );
        assert!(folder.path().join("loss-unknown-objective.svg").is_file());
    }
}
