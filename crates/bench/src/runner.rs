//! Lets the sides of each case take turns.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use totune_stats::quartiles;
use totune_sweep::{code, load_average, timestamp};

use crate::benchmark::Benchmark;
use crate::comparison::{Case, Measure, SideSpec, Steps};
use crate::desk::Desk;
use crate::product::Product;
use crate::results::{Outcome, Results, Timing};
use crate::side::Side;

/// Seconds that a side works in a round of [`Steps::Timed`].
const ROUND: f64 = 3.0;
/// The most steps of such a round.
const MOST: usize = 200;
/// Seconds of a plain product next to which a side can take its turns; without instructions for bf16 a CPU takes minutes.
const LONGEST_PRODUCT: f64 = 10.0;
/// Steps of [`Steps::Cold`] that a side takes while the others sleep.
const CHUNK: usize = 16;

impl Desk {
    /// Runs `benchmark` and writes its results after each case, so that measurements survive an interruption; returns
    /// them and the path of the page.
    ///
    /// # Errors
    /// When something that it needs is not there, no case is left, a side fails, or sides do not agree.
    pub fn run(&self, benchmark: &Benchmark) -> Result<(Results, PathBuf)> {
        let rounds = self.rounds(benchmark.rounds);
        let mut comparison = benchmark.comparison(self)?;
        let wanted =
            |name: &str| self.only.is_empty() || self.only.iter().any(|only| name.contains(only));
        let mut results = Results::begin(benchmark.name, &comparison, &self.out)?;
        comparison.cases.retain(|case| wanted(&case.titled()));
        ensure!(
            !comparison.cases.is_empty(),
            "--only: found no case of `{}` with {} in its name",
            benchmark.name,
            self.only.join(" or ")
        );
        if self.tiny {
            let note = "Tiny cases: they show that the benchmark works, whatever sizes are named below; their times mean nothing.";
            results.notes.insert(0, note.to_string());
        }
        for case in &comparison.cases {
            eprintln!("{}", case.titled());
            let mut outcome = self.measure(case, rounds, comparison.square)?;
            if comparison.measure == Measure::Operators {
                outcome.load = None;
                for timing in &mut outcome.sides {
                    timing.seconds.clear();
                }
            }
            if let Some(heading) = comparison.mean_value {
                for timing in &mut outcome.sides {
                    let mean = timing.values.iter().sum::<f64>() / timing.values.len() as f64;
                    timing.facts.insert(heading.to_string(), mean);
                }
            }
            results.add(outcome);
            results.write(&self.out)?;
        }
        let page = self.out.join(format!("{}.md", benchmark.name));
        Ok((results, page))
    }

    fn measure(&self, case: &Case, rounds: usize, square: usize) -> Result<Outcome> {
        if let Some(prepare) = &case.prepare {
            prepare()?;
        }
        let load = load_average();
        let wanted = |side: &&SideSpec| {
            self.sides.is_empty() || self.sides.iter().any(|name| side.name.contains(name))
        };
        let specs: Vec<&SideSpec> = case.sides.iter().filter(wanted).collect();
        ensure!(
            !specs.is_empty(),
            "--side: `{}` has no side with {} in its name; expected one of {}",
            case.name,
            self.sides.join(" or "),
            case.sides
                .iter()
                .map(|side| side.name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        );
        // The machine's own speed takes turns with the sides, so that a disturbance affects all of them.
        let products = self.products(case, &specs, square)?;
        let product_sides = products
            .iter()
            .map(Product::side)
            .collect::<Result<Vec<_>>>()?;
        let all = specs.iter().copied().chain(&product_sides);
        let start = |spec: &SideSpec| self.start(spec, case.threads);
        let mut sides = all.map(start).collect::<Result<Vec<_>>>()?;
        let mut seconds = self.rounds_of(case, &mut sides, rounds)?;
        let of_products = seconds.split_off(specs.len());
        for side in sides.split_off(specs.len()) {
            side.finish()?;
        }
        let product = |spec: &SideSpec| {
            let at = products
                .iter()
                .position(|one| one.dtype() == spec.dtype())?;
            Some(products[at].flop() / quartiles(&of_products[at])[2] / 1e9)
        };
        let mut timings = Vec::new();
        for ((side, seconds), spec) in sides.into_iter().zip(seconds).zip(&specs) {
            let (name, version) = (side.name.clone(), side.version.clone());
            let on_gpu = self.on_gpu().then(|| side.gpu_memory()).flatten();
            let mut last = side.finish()?;
            last.facts
                .extend(on_gpu.map(|megabytes| ("GPU memory (MB)".to_string(), megabytes)));
            let timing = Timing {
                side: name,
                version,
                seconds,
                peak_memory: last.peak_memory,
                product: product(spec),
                values: last.values,
                facts: last.facts,
                operators: last.operators,
            };
            eprintln!("  {:<28} {:>10.3} ms", timing.side, timing.median() * 1e3);
            timings.push(timing);
        }
        check(case, &specs, &timings)?;
        Ok(Outcome {
            case: case.name.clone(),
            threads: case.threads,
            day: timestamp().chars().take(10).collect(),
            commit: code(&self.project.root),
            load,
            unit: case.unit.clone(),
            flop: case.flop,
            targets: case.targets.clone(),
            sides: timings,
        })
    }

    /// A plain product in each dtype of the sides, without those that this machine takes too long for.
    fn products(&self, case: &Case, specs: &[&SideSpec], square: usize) -> Result<Vec<Product>> {
        let mut products: Vec<Product> = Vec::new();
        for dtype in specs.iter().map(|spec| spec.dtype()) {
            if case.flop.is_none() || products.iter().any(|one| one.dtype() == dtype) {
                continue;
            }
            let product = Product::new(dtype, square);
            // On a GPU a small product takes as long as its start, which says nothing of a large one.
            if let Some(sample) = product.sample().filter(|_| !self.on_gpu()) {
                let mut side = self.start(&sample.side()?, case.threads)?;
                // The first is longer than the others.
                let seconds = side.run(2)?[1] * product.flop() / sample.flop();
                side.finish()?;
                if seconds > LONGEST_PRODUCT {
                    let label = dtype.label();
                    eprintln!(
                        "  without a plain product in {label}, which takes about {seconds:.0} s here"
                    );
                    continue;
                }
            }
            products.push(product);
        }
        Ok(products)
    }

    /// Seconds of every lap of each side.
    fn rounds_of(&self, case: &Case, sides: &mut [Side], rounds: usize) -> Result<Vec<Vec<f64>>> {
        let mut laps = vec![Vec::new(); sides.len()];
        let n_sides = sides.len();
        let all = |steps| vec![steps; n_sides];
        let (lap, per_round, chunk) = match case.steps {
            Steps::Timed => (1, self.warmed_up(sides)?, usize::MAX),
            Steps::Lap(lap) => {
                for side in &mut *sides {
                    side.run(lap)?;
                }
                (lap, all(lap * self.steps.unwrap_or(1)), usize::MAX)
            }
            Steps::Cold(lap) => (lap, all(lap), CHUNK),
            Steps::Once => (1, all(1), CHUNK),
        };
        let rounds = if case.steps == Steps::Once { 1 } else { rounds };
        for _ in 0..rounds {
            let found = alternate(sides, &per_round, chunk)?;
            for (laps, seconds) in laps.iter_mut().zip(found) {
                laps.extend(seconds.chunks(lap).map(|lap| lap.iter().sum::<f64>()));
            }
        }
        Ok(laps)
    }

    /// Warms all sides up; how many steps of each take as long as a round.
    fn warmed_up(&self, sides: &mut [Side]) -> Result<Vec<usize>> {
        let mut per_round = Vec::new();
        for side in sides {
            // The first step is longer than the others, with a compiler many times.
            side.run(1)?;
            let seconds = side.run(1)?[0];
            let timed = ((ROUND / seconds.max(1e-6)).round() as usize).clamp(1, MOST);
            per_round.push(self.steps.unwrap_or(if self.tiny { 1 } else { timed }));
        }
        Ok(per_round)
    }
}

/// Takes the number of `steps` of each side, `chunk` at a time in turns, so that a disturbance of the machine affects
/// all sides; returns the seconds of each step, by side.
fn alternate(sides: &mut [Side], steps: &[usize], chunk: usize) -> Result<Vec<Vec<f64>>> {
    let mut seconds: Vec<Vec<f64>> = vec![Vec::new(); sides.len()];
    let most = steps.iter().copied().max().unwrap_or(0);
    for done in (0..most).step_by(chunk) {
        for ((side, seconds), steps) in sides.iter_mut().zip(&mut seconds).zip(steps) {
            let n = chunk.min(steps.saturating_sub(done));
            if n > 0 {
                seconds.extend(side.run(n)?);
            }
        }
    }
    Ok(seconds)
}

/// Checks that the sides computed the same values.
fn check(case: &Case, specs: &[&SideSpec], timings: &[Timing]) -> Result<()> {
    let (Some(tolerance), Some(first)) = (case.tolerance, timings.first()) else {
        return Ok(());
    };
    for (spec, other) in specs.iter().zip(timings).filter(|(spec, _)| spec.compared) {
        let (ours, theirs) = (&first.values, &other.values);
        ensure!(
            ours.len() == theirs.len() && !ours.is_empty(),
            "{}: {} has {} values, {} has {}; expected as many, and at least one",
            case.name,
            spec.name,
            theirs.len(),
            first.side,
            ours.len()
        );
        for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            let apart = (ours - theirs).abs();
            if apart.is_nan() || apart > tolerance.absolute + tolerance.relative * ours.abs() {
                bail!(
                    "{}: value {at} of {} is {theirs}, expected {ours} as of {}",
                    case.name,
                    spec.name,
                    first.side
                );
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(values: &[&[f64]]) -> Result<()> {
        let side = |_| SideSpec::ours("a", "transformer", &()).expect("JSON");
        let sides: Vec<SideSpec> = values.iter().map(side).collect();
        let timing = |values: &&[f64]| Timing {
            values: values.to_vec(),
            ..Timing::default()
        };
        let timings: Vec<Timing> = values.iter().map(timing).collect();
        let case = Case::new("c", 1, sides).agreeing(0.1, 0.01);
        check(&case, &case.sides.iter().collect::<Vec<_>>(), &timings)
    }

    #[test]
    fn sides_agree_within_the_tolerance_and_in_number() {
        checked(&[&[1.0, 100.0], &[1.1, 101.0]]).expect("close enough");
        for wrong in [
            &[&[1.0][..], &[1.2]][..],
            &[&[1.0], &[f64::NAN]],
            &[&[1.0], &[]],
            &[&[], &[]],
        ] {
            assert!(checked(wrong).is_err(), "{wrong:?}");
        }
    }
}
