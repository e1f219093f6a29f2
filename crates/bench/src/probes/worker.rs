//! Our side: computes all layers on request, by lines on standard input.

use anyhow::Result;
use rayon::prelude::*;
use totune_stats::{Dense, Edge, Linear, Logistic, accuracy, pearson};

use super::matrices::{Case, What, read_f32, read_f64};
use crate::worker::{Worker, answer};

/// Computes all layers on request.
pub fn work(case: &Case, _: &Worker) -> Result<()> {
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
    let version = format!("totune {}", env!("CARGO_PKG_VERSION"));
    answer(&version, || {
        Ok(pool.install(|| (0..case.layers).into_par_iter().map(score).collect()))
    })
}
