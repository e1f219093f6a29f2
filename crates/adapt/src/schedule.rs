//! Learning rates over the steps of a phase, each with the formula of the program it comes from.
//!
//! Steps count from 0: the rate of step `t` is the one its update uses, so a warm-up begins with a rate of 0,
//! as it does in the programs named below.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::plateau::Plateau;

/// The learning rate over the `T` steps of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Schedule {
    /// The peak rate throughout, after an optional warm-up.
    Constant(Constant),
    /// Linear warm-up to the peak and linear decay to 0, as in transformers.
    Linear(Linear),
    /// The schedule of the released BERT code, with its drop at the end of the warm-up.
    Bert(Bert),
    /// TensorFlow's `polynomial_decay`, without warm-up.
    Polynomial(Polynomial),
    /// A short rise and a long fall (Howard and Ruder 2018, section 3.2).
    SlantedTriangular(SlantedTriangular),
    /// The peak rate until the score on dev no longer rises, and a part of it from there on.
    Plateau(Plateau),
}

/// `lr · t/W` for `t < W`, then `lr`; `W = ⌈warmup · T⌉`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Constant {
    /// Share of the steps spent rising to the peak; 0 for none.
    pub warmup: f64,
}

/// `lr · t/W` for `t < W`, then `lr · (T−t)/(T−W)`; `W = ⌈warmup · T⌉`. The peak is reached at `t = W`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Linear {
    /// Share of the steps spent rising to the peak; 0 for none.
    pub warmup: f64,
}

/// `lr · t/W` for `t < W`, then `lr · (1 − t/T)`; `W = ⌊warmup · T⌋`.
///
/// The decay counts from the first step, so the rate drops from nearly `lr` to `lr · (1 − W/T)` where the warm-up
/// ends, and with a tenth of warm-up nothing after it exceeds `0.9 · lr`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Bert {
    /// Share of the steps spent rising; 0 for none.
    pub warmup: f64,
}

/// `(lr − end) · (1 − t/T)^power + end`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Polynomial {
    /// Exponent; 1 is a straight line.
    pub power: f64,
    /// Rate at the end (an absolute rate, not a share of the peak).
    pub end: f64,
}

/// `lr · (1 + p · (ratio − 1)) / ratio`, where `p = t/C` for `t < C`, then `p = 1 − (t−C)/(T−C)`; `C = ⌊cut-frac · T⌋`.
///
/// Howard and Ruder write `C · (1/cut-frac − 1)` for `T − C`. Both are the same where `cut-frac · T` is whole; else
/// theirs falls below `lr / ratio` before the end, and AllenNLP, like this, divides by the steps that are left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SlantedTriangular {
    /// Share of the steps spent rising.
    #[serde(default = "tenth")]
    pub cut_frac: f64,
    /// Ratio of the peak to the lowest rate.
    #[serde(default = "thirty_two")]
    pub ratio: f64,
}

/// Default of Howard and Ruder.
fn tenth() -> f64 {
    0.1
}

/// Default of Howard and Ruder.
fn thirty_two() -> f64 {
    32.0
}

impl Schedule {
    /// Learning rate of step `step` (from 0) of `steps`, where the group's own rate is `peak`.
    ///
    /// From `step = steps` on the rate keeps its final value. The part that depends on scores is [`Schedule::scale`].
    pub fn rate(&self, peak: f64, step: usize, steps: usize) -> f64 {
        let (t, total) = (step.min(steps) as f64, steps.max(1) as f64);
        match self {
            Self::Constant(Constant { warmup }) => {
                let rise = (warmup * total).ceil();
                if t < rise { peak * t / rise } else { peak }
            }
            Self::Linear(Linear { warmup }) => {
                let rise = (warmup * total).ceil();
                if t < rise {
                    peak * t / rise
                } else {
                    peak * (total - t) / (total - rise).max(1.0)
                }
            }
            Self::Bert(Bert { warmup }) => {
                let rise = (warmup * total).floor();
                if t < rise {
                    peak * t / rise
                } else {
                    peak * (1.0 - t / total)
                }
            }
            Self::Polynomial(Polynomial { power, end }) => {
                (peak - end) * (1.0 - t / total).powf(*power) + end
            }
            Self::SlantedTriangular(SlantedTriangular { cut_frac, ratio }) => {
                let cut = (cut_frac * total).floor();
                let p = if t < cut {
                    t / cut
                } else {
                    1.0 - (t - cut) / (total - cut)
                };
                peak * (1.0 + p * (ratio - 1.0)) / ratio
            }
            Self::Plateau(_) => peak,
        }
    }

    /// Returns true if it depends on scores on dev.
    pub(crate) fn looks_at_dev(&self) -> bool {
        match self {
            Self::Constant(_)
            | Self::Linear(_)
            | Self::Bert(_)
            | Self::Polynomial(_)
            | Self::SlantedTriangular(_) => false,
            Self::Plateau(_) => true,
        }
    }

    /// Factor of the learning rate after epochs of this phase with these scores on dev.
    pub(crate) fn scale(&self, scores: impl FnOnce(&Plateau) -> Result<Vec<f64>>) -> Result<f64> {
        match self {
            Self::Plateau(plateau) => Ok(plateau.scale(&scores(plateau)?)),
            _ => Ok(1.0),
        }
    }

    /// Refuses values outside their range, naming the key.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Constant(Constant { warmup })
            | Self::Linear(Linear { warmup })
            | Self::Bert(Bert { warmup }) => ensure!(
                (0.0..1.0).contains(warmup),
                "schedule.warmup: found {warmup}, expected a share of the steps, from 0 to less than 1"
            ),
            Self::Polynomial(Polynomial { power, end }) => {
                ensure!(
                    power.is_finite() && *power > 0.0,
                    "schedule.power: found {power}, expected more than 0"
                );
                ensure!(
                    end.is_finite() && *end >= 0.0,
                    "schedule.end: found {end}, expected a rate of 0 or more"
                );
            }
            Self::SlantedTriangular(SlantedTriangular { cut_frac, ratio }) => {
                ensure!(
                    (0.0..1.0).contains(cut_frac),
                    "schedule.cut-frac: found {cut_frac}, expected a share of the steps, from 0 to less than 1"
                );
                ensure!(
                    ratio.is_finite() && *ratio >= 1.0,
                    "schedule.ratio: found {ratio}, expected 1 or more"
                );
            }
            Self::Plateau(plateau) => plateau.validate()?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates of ten steps with a peak of 1, in thousandths.
    #[track_caller]
    fn check(schedule: Schedule, expected: [i64; 10]) {
        let rates = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
            .map(|step| (schedule.rate(1.0, step, 10) * 1000.0).round() as i64);
        assert_eq!(rates, expected, "{schedule:?}");
    }

    #[test]
    fn constant_stays_at_the_peak_after_its_warmup() {
        check(Schedule::Constant(Constant { warmup: 0.0 }), [1000; 10]);
        check(
            Schedule::Constant(Constant { warmup: 0.4 }),
            [0, 250, 500, 750, 1000, 1000, 1000, 1000, 1000, 1000],
        );
    }

    #[test]
    fn linear_reaches_the_peak_and_ends_one_step_above_zero() {
        check(
            Schedule::Linear(Linear { warmup: 0.2 }),
            [0, 500, 1000, 875, 750, 625, 500, 375, 250, 125],
        );
        check(
            Schedule::Linear(Linear { warmup: 0.0 }),
            [1000, 900, 800, 700, 600, 500, 400, 300, 200, 100],
        );
        // A fraction of a step of warm-up is a whole step.
        check(
            Schedule::Linear(Linear { warmup: 0.01 }),
            [0, 1000, 889, 778, 667, 556, 444, 333, 222, 111],
        );
    }

    #[test]
    fn bert_drops_where_its_warmup_ends() {
        check(
            Schedule::Bert(Bert { warmup: 0.3 }),
            [0, 333, 667, 700, 600, 500, 400, 300, 200, 100],
        );
        // A fraction of a step of warm-up is none.
        check(
            Schedule::Bert(Bert { warmup: 0.09 }),
            [1000, 900, 800, 700, 600, 500, 400, 300, 200, 100],
        );
    }

    #[test]
    fn polynomial_decays_to_its_end_rate() {
        check(
            Schedule::Polynomial(Polynomial {
                power: 1.0,
                end: 0.0,
            }),
            [1000, 900, 800, 700, 600, 500, 400, 300, 200, 100],
        );
        check(
            Schedule::Polynomial(Polynomial {
                power: 2.0,
                end: 0.1,
            }),
            [1000, 829, 676, 541, 424, 325, 244, 181, 136, 109],
        );
    }

    #[test]
    fn slanted_triangular_rises_for_its_share_and_falls_for_the_rest() {
        let slanted =
            |cut_frac, ratio| Schedule::SlantedTriangular(SlantedTriangular { cut_frac, ratio });
        check(
            slanted(0.2, 5.0),
            [200, 600, 1000, 900, 800, 700, 600, 500, 400, 300],
        );
        // A fraction of a step of rising is none.
        check(
            slanted(0.09, 10.0),
            [1000, 910, 820, 730, 640, 550, 460, 370, 280, 190],
        );
        check(slanted(0.5, 1.0), [1000; 10]);
        assert_eq!(slanted(0.1, 32.0).rate(3.2, 99, 10), 0.1);
        let read: Schedule = toml::from_str("kind = 'slanted-triangular'").expect("defaults");
        assert_eq!(read, slanted(0.1, 32.0));
    }

    #[test]
    fn past_the_last_step_the_rate_stays_at_its_end() {
        let end = |schedule: Schedule| schedule.rate(1.0, 99, 10);
        assert_eq!(end(Schedule::Linear(Linear { warmup: 0.1 })), 0.0);
        assert_eq!(end(Schedule::Bert(Bert { warmup: 0.1 })), 0.0);
        assert_eq!(
            end(Schedule::Polynomial(Polynomial {
                power: 3.0,
                end: 0.25
            })),
            0.25
        );
    }

    #[test]
    fn a_single_step_has_a_finite_rate() {
        for warmup in [0.0, 0.5] {
            let rate = Schedule::Linear(Linear { warmup }).rate(1.0, 0, 1);
            assert!(rate.is_finite(), "{rate}");
        }
    }

    #[test]
    fn values_out_of_range_name_their_key() {
        let message =
            |schedule: Schedule| schedule.validate().expect_err("out of range").to_string();
        assert_eq!(
            message(Schedule::Linear(Linear { warmup: 1.0 })),
            "schedule.warmup: found 1, expected a share of the steps, from 0 to less than 1"
        );
        assert_eq!(
            message(Schedule::Polynomial(Polynomial {
                power: 0.0,
                end: 0.0
            })),
            "schedule.power: found 0, expected more than 0"
        );
        assert_eq!(
            message(Schedule::Polynomial(Polynomial {
                power: 1.0,
                end: f64::NAN
            })),
            "schedule.end: found NaN, expected a rate of 0 or more"
        );
    }
}
