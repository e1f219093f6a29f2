//! Epochs with the cache and without, and what filling it costs.

use anyhow::{Context, Result};
use serde_json::Value;

use super::grid::{Grid, RATES};
use super::results::{Epochs, Fill};
use super::worker::{Case, Kept};
use super::{Bench, CHUNK};
use crate::bench::side::{Side, alternate};

/// Examples of which every number type is kept, for comparing their cost.
const FILLED: usize = 512;

/// What a worker said of its run.
pub struct About {
    pub examples: u64,
    pub tokens: u64,
    steps: usize,
    kept: Vec<Kept>,
}

impl About {
    fn of(side: &Side) -> Result<Self> {
        let number = |key: &str| {
            let value = side.hello[key].as_u64();
            value.with_context(|| format!("{}: did not say its {key}", side.name))
        };
        Ok(Self {
            examples: number("examples")?,
            tokens: number("tokens")?,
            steps: number("steps")? as usize,
            kept: serde_json::from_value(side.hello["kept"].clone())?,
        })
    }
}

/// Trains the last `k` layers (0: the head alone) of one run with the cache and of the same run without, in turns.
pub fn measure(bench: &Bench, dataset: &str, k: usize, epochs: usize) -> Result<(About, Epochs)> {
    let lr = RATES[0];
    let side = |cache: Option<&str>| {
        let name = if cache.is_some() { "with" } else { "without" };
        start(bench, name, dataset, k, epochs, cache, None)
    };
    let mut sides = [side(Some("f32"))?, side(None)?];
    let about = About::of(&sides[0])?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..epochs {
        let seconds = alternate(&mut sides, about.steps, CHUNK)?;
        with.push(seconds[0].iter().sum());
        without.push(seconds[1].iter().sum());
    }
    let [a, b] = sides.map(Side::finish);
    let (a, b) = (a?, b?);
    let found = Epochs {
        k,
        lr,
        with,
        without,
        kept: about.kept.clone(),
        score_difference: difference(&a["scores"], &b["scores"])?,
        answer_difference: difference(&a["answers"], &b["answers"])?,
        peak_with: a["peak_memory"].as_u64().unwrap_or(0),
        peak_without: b["peak_memory"].as_u64().unwrap_or(0),
    };
    Ok((about, found))
}

/// Fills the cache for the first examples in each number type.
pub fn fills(bench: &Bench, dataset: &str) -> Result<Vec<Fill>> {
    let fill = |dtype: &str| -> Result<Fill> {
        let side = start(bench, dtype, dataset, 1, 1, Some(dtype), Some(FILLED))?;
        let kept = About::of(&side)?.kept;
        let kept = kept.into_iter().find(|kept| kept.split == "train");
        Ok(Fill {
            dtype: dtype.to_string(),
            kept: kept.context("nothing was kept: is the budget too small?")?,
            peak: side.finish()?["peak_memory"].as_u64().unwrap_or(0),
        })
    };
    ["f32", "f16", "bf16"].into_iter().map(fill).collect()
}

fn start(
    bench: &Bench,
    name: &str,
    dataset: &str,
    k: usize,
    epochs: usize,
    cache: Option<&str>,
    train_limit: Option<usize>,
) -> Result<Side> {
    let grid = Grid {
        name: "bench-epochs",
        dataset,
        seeds: 1,
        rates: &RATES[..1],
        strategies: &[k],
        epochs,
        cache,
        train_limit,
    };
    let specs = grid.expand(&bench.scratch)?;
    let spec = specs.into_iter().next().context("a grid of one run")?;
    let states = bench.scratch.root.join("states");
    let case = Case { spec, states };
    Side::worker(
        name,
        &bench.globals,
        "cache-worker",
        &case,
        bench.options.threads,
    )
}

/// The largest absolute difference of two lists of numbers.
fn difference(a: &Value, b: &Value) -> Result<f64> {
    let numbers = |value: &Value| serde_json::from_value::<Vec<f64>>(value.clone());
    let (a, b) = (numbers(a)?, numbers(b)?);
    anyhow::ensure!(
        a.len() == b.len() && !a.is_empty(),
        "{} scores with the cache and {} without",
        a.len(),
        b.len()
    );
    let pairs = a.iter().zip(&b);
    Ok(pairs.fold(0.0, |worst, (a, b)| worst.max((a - b).abs())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::difference;

    #[test]
    fn scores_differ_by_their_largest_distance_and_must_be_as_many() {
        let found = difference(&json!([1.0, 2.0, -1.0]), &json!([1.0, 2.5, -1.25]));
        assert_eq!(found.expect("as many"), 0.5);
        for (a, b) in [
            (json!([1.0]), json!([])),
            (json!([]), json!([])),
            (json!(["x"]), json!([1.0])),
        ] {
            assert!(difference(&a, &b).is_err(), "{a} {b}");
        }
    }
}
