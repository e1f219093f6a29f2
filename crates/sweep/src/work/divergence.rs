//! Divergence of the terms of a dataset from those of other texts.

use std::time::Instant;

use anyhow::{Context, Result};
use totune_record::RunRow;
use totune_stats::{Terms, count_terms, term_divergence};

use super::{Outcome, final_score};
use crate::{DivergenceWork, Inputs, RunSpec};

pub(super) fn perform(
    spec: &RunSpec,
    work: &DivergenceWork,
    mut run: RunRow,
    inputs: &Inputs,
) -> Result<Outcome> {
    let dataset = inputs.dataset(&spec.dataset, "train")?;
    let clock = Instant::now();
    let mut of_dataset = Terms::new();
    for example in &dataset.examples {
        for text in example.input.texts() {
            count_terms(text, &mut of_dataset);
        }
    }
    let mut of_texts = Terms::new();
    for name in &work.texts {
        for (term, count) in inputs.terms(name)? {
            *of_texts.entry(term.clone()).or_insert(0) += count;
        }
    }
    let divergence = term_divergence(&of_dataset, &of_texts, work.terms)
        .context("one side has none of the terms that count; expected some words on both")?;

    run.device = "cpu".to_string();
    run.dtype = "f64".to_string();
    run.threads = 1;
    run.stop_reason = "computed".to_string();
    run.eval_seconds = clock.elapsed().as_secs_f64();
    let place = ("train", dataset.examples.len());
    let eval = final_score(&run, place, "js-divergence", divergence);
    Ok(Outcome {
        run,
        evals: vec![eval],
        predictions: Vec::new(),
    })
}
