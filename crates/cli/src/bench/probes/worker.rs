//! Our side: goes over all layers when asked on standard input.

use std::io::{BufRead, Write};
use std::time::Instant;

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde_json::json;
use totune_stats::{Dense, Edge, Linear, Logistic, accuracy, pearson};

use super::matrices::{Case, What, read_f32, read_f64};

/// Works for a comparison.
pub fn worker(case: &str) -> Result<()> {
    let case: Case = serde_json::from_str(case).context("not a case")?;
    let matrix = |split: &str| read_f32(&case.folder.join(format!("{split}.f32")));
    let gold = |split: &str| read_f64(&case.folder.join(format!("{split}.gold")));
    let (train, test) = (matrix("train")?, matrix("test")?);
    let (train_gold, test_gold) = (gold("train")?, gold("test")?);
    let classes = |gold: &[f64]| gold.iter().map(|&class| class as usize).collect::<Vec<_>>();
    let (train_classes, test_classes) = (classes(&train_gold), classes(&test_gold));
    let of_layer = |rows: usize, layer: usize| {
        let size = rows * case.columns;
        layer * size..(layer + 1) * size
    };
    let score = |layer: usize| -> f64 {
        let x = &train[of_layer(train_gold.len(), layer)];
        let new = &test[of_layer(test_gold.len(), layer)];
        let (x, new) = (Dense::new(x, case.columns), Dense::new(new, case.columns));
        match case.what {
            What::Logistic => {
                let settings = Logistic {
                    solver: case.solver,
                    ..Logistic::default()
                };
                let fitted = settings.fit_dense(&x, &train_classes, 2);
                accuracy(&test_classes, &fitted.predict(&new))
            }
            What::Linear => {
                let predicted = Linear::fit(&x, &train_gold).predict(&new);
                pearson(&test_gold, &predicted).unwrap_or(f64::NAN)
            }
            What::Edge => Edge::default()
                .estimate_classes(&new, &test_classes)
                .map_or(f64::NAN, |estimate| estimate.first_pass),
        }
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(case.threads)
        .build()?;
    let mut out = std::io::stdout();
    let mut say = |value: serde_json::Value| -> Result<()> {
        writeln!(out, "{value}")?;
        Ok(out.flush()?)
    };
    say(json!({ "version": format!("totune {}", env!("CARGO_PKG_VERSION")) }))?;
    let mut scores: Vec<f64> = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let n: usize = line?.trim().parse().context("not a number of runs")?;
        let mut seconds = Vec::with_capacity(n);
        for _ in 0..n {
            let start = Instant::now();
            scores = pool.install(|| (0..case.layers).into_par_iter().map(score).collect());
            seconds.push(start.elapsed().as_secs_f64());
        }
        say(json!({ "seconds": seconds }))?;
    }
    say(json!({ "peak_memory": crate::memory::peak(), "scores": scores }))
}
