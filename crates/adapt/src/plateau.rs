//! Learning rate that is reduced when the score on dev no longer rises.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::stop::check_metric;

/// PyTorch's `ReduceLROnPlateau` with `mode="max"`: after more than `patience` epochs in a row without a rise the rate
/// is multiplied by `factor`, and the count restarts.
///
/// A rise is a score above `best · 1.0001`, as there. It needs no epochs to be known in advance, and starts anew in
/// each phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Plateau {
    /// Factor of each reduction of the learning rate.
    #[serde(default = "half")]
    pub factor: f64,
    /// Epochs without a rise that are tolerated.
    #[serde(default)]
    pub patience: usize,
    /// Name of one of the dataset's metrics; by default its main one.
    #[serde(default)]
    pub metric: Option<String>,
}

/// Default factor of AllenNLP's configurations.
fn half() -> f64 {
    0.5
}

/// PyTorch's `threshold`, a share of the best score.
const RISE: f64 = 1e-4;

impl Plateau {
    /// Factor of the learning rate after epochs with these scores.
    pub(crate) fn scale(&self, scores: &[f64]) -> f64 {
        let mut scale = 1.0;
        let (mut best, mut bad) = (f64::NEG_INFINITY, 0);
        for &score in scores {
            if score > best * (1.0 + RISE) {
                (best, bad) = (score, 0);
            } else {
                bad += 1;
            }
            if bad > self.patience {
                scale *= self.factor;
                bad = 0;
            }
        }
        scale
    }

    /// Refuses values out of range, naming the key.
    pub(crate) fn validate(&self) -> Result<()> {
        check_metric("schedule", self.metric.as_ref())?;
        ensure!(
            self.factor > 0.0 && self.factor < 1.0,
            "schedule.factor: found {}, expected more than 0 and less than 1",
            self.factor
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Schedule, SlantedTriangular};

    #[track_caller]
    fn check(patience: usize, scores: &[f64], expected: &[f64]) {
        let plateau = Plateau {
            factor: 0.5,
            patience,
            metric: None,
        };
        let found: Vec<f64> = (1..=scores.len())
            .map(|epochs| plateau.scale(&scores[..epochs]))
            .collect();
        assert_eq!(found, expected, "patience {patience}, {scores:?}");
    }

    #[test]
    fn the_rate_halves_with_each_epoch_that_does_not_rise() {
        check(
            0,
            &[0.5, 0.6, 0.6, 0.7, 0.65, 0.7],
            &[1.0, 1.0, 0.5, 0.5, 0.25, 0.125],
        );
        // Less than a ten-thousandth of the best is no rise.
        check(0, &[0.5, 0.50004, 0.5001], &[1.0, 0.5, 0.5]);
    }

    #[test]
    fn patience_lets_epochs_pass_and_begins_again_after_each_fall() {
        check(1, &[0.5, 0.4, 0.4, 0.4, 0.4], &[1.0, 1.0, 0.5, 0.5, 0.25]);
        check(1, &[0.5, 0.4, 0.6, 0.5, 0.7], &[1.0; 5]);
    }

    /// Reference written by `fixtures/make/schedules.py`.
    const REFERENCE: &str = include_str!("../../../fixtures/adapt/schedules.json");

    #[derive(Deserialize)]
    struct Reference {
        plateaus: Vec<Case>,
        slanted: Vec<Slanted>,
    }

    #[derive(Deserialize)]
    struct Case {
        factor: f64,
        patience: usize,
        scores: Vec<f64>,
        scales: Vec<f64>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct Slanted {
        steps: usize,
        cut_frac: f64,
        ratio: f64,
        peak: f64,
        rates: Vec<f64>,
    }

    #[test]
    fn scales_are_those_of_pytorch() {
        let reference: Reference = serde_json::from_str(REFERENCE).expect("reference values");
        for case in reference.plateaus {
            let plateau = Plateau {
                factor: case.factor,
                patience: case.patience,
                metric: None,
            };
            for (epoch, expected) in case.scales.iter().enumerate() {
                let found = plateau.scale(&case.scores[..=epoch]);
                assert!((found / expected - 1.0).abs() < 1e-9, "{:?}", case.scores);
            }
        }
        for case in reference.slanted {
            let schedule = Schedule::SlantedTriangular(SlantedTriangular {
                cut_frac: case.cut_frac,
                ratio: case.ratio,
            });
            for (step, expected) in case.rates.iter().enumerate() {
                let found = schedule.rate(case.peak, step, case.steps);
                assert!((found / expected - 1.0).abs() < 1e-9, "step {step}");
            }
        }
    }

    #[test]
    fn a_factor_that_does_not_shrink_is_refused() {
        let plateau: Plateau = toml::from_str("factor = 1.0").expect("settings");
        assert_eq!(
            plateau.validate().expect_err("out of range").to_string(),
            "schedule.factor: found 1, expected more than 0 and less than 1"
        );
    }
}
