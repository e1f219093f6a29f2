//! The cosine of the vectors of two texts.

use anyhow::{Context, Result, ensure};

use super::texts::{Texts, Vectors};
use super::{Choice, FloorSplit, Predicted, Predictor};
use crate::work::gold::GoldTargets;

/// The prediction that follows from a cosine.
enum Prediction {
    /// The cosine itself.
    Similarity,
    /// The score on this line.
    Score(Line),
    /// The label on its side of this boundary.
    Class(Threshold),
}

/// Fits the floor: for scores, the cosine itself is the prediction, or if it is `scaled` the score on the line through the
/// examples of `decide`; for two labels, these give the threshold with the best accuracy and the label above it.
pub(super) fn fit<'a>(
    decide: &FloorSplit,
    texts: Texts<'a>,
    scaled: bool,
) -> Result<Predictor<'a>> {
    let labels = &decide.dataset().labels;
    let (encoder, saved) = (texts.n_parameters(), texts.saved.clone());
    let (prediction, trained, chosen) = match &decide.answers {
        GoldTargets::Scores(scores) if scaled => {
            let line = Line::fit(&cosines(&texts.vectors(decide)?)?, scores);
            (Prediction::Score(line), 2, None)
        }
        GoldTargets::Scores(_) => (Prediction::Similarity, 0, None),
        GoldTargets::Classes(classes) => {
            ensure!(
                labels.len() == 2,
                "a cosine tells 2 labels apart; `{}` has {}",
                decide.dataset().name,
                labels.len()
            );
            let cosines = cosines(&texts.vectors(decide)?)?;
            let threshold = Threshold::choose(&cosines, classes);
            let chosen = Choice {
                on: decide.name,
                name: "threshold",
                value: threshold.at,
            };
            (Prediction::Class(threshold), 1, Some(chosen))
        }
        GoldTargets::Labels(_) => anyhow::bail!("found several labels, expected one or a score"),
        GoldTargets::Tags(_) => anyhow::bail!("found tags, expected pairs of texts"),
    };
    let predict = move |part: &FloorSplit| {
        let cosines = cosines(&texts.vectors(part)?)?;
        Ok(match &prediction {
            Prediction::Similarity => Predicted::Similarities(cosines),
            Prediction::Score(line) => {
                Predicted::Scores(cosines.iter().map(|&c| line.at(c)).collect())
            }
            Prediction::Class(threshold) => Predicted::Classes {
                classes: cosines.iter().map(|&c| threshold.class(c)).collect(),
                probabilities: Vec::new(),
            },
        })
    };
    Ok(Predictor {
        encoder,
        chosen,
        saved,
        ..Predictor::computed(trained, predict)
    })
}

/// The cosine of each pair of vectors; 0 where one of them is 0.
fn cosines(vectors: &Vectors) -> Result<Vec<f64>> {
    let second = vectors.second.as_ref();
    let second =
        second.context("found single texts, expected pairs: a cosine is of two vectors")?;
    let width = vectors.width;
    let pairs = vectors.first.chunks(width).zip(second.chunks(width));
    let cosine = |(u, v): (&[f32], &[f32])| {
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            let products = a.iter().zip(b);
            products.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        let lengths = (dot(u, u) * dot(v, v)).sqrt();
        if lengths > 0.0 {
            dot(u, v) / lengths
        } else {
            0.0
        }
    };
    Ok(pairs.map(cosine).collect())
}

/// A line through points.
#[derive(Debug, PartialEq)]
struct Line {
    slope: f64,
    intercept: f64,
}

impl Line {
    /// The line with the least squares of differences in `y`; a level one where all `x` are equal.
    fn fit(x: &[f64], y: &[f64]) -> Self {
        let (mean_x, mean_y) = (totune_stats::mean(x), totune_stats::mean(y));
        let products = x.iter().zip(y);
        let products: f64 = products.map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let squares: f64 = x.iter().map(|x| (x - mean_x).powi(2)).sum();
        let slope = if squares > 0.0 {
            products / squares
        } else {
            0.0
        };
        Self {
            slope,
            intercept: mean_y - slope * mean_x,
        }
    }

    fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}

/// A boundary between two labels.
#[derive(Debug, PartialEq)]
struct Threshold {
    at: f64,
    /// The label above the boundary; the other one is below or on it.
    above: usize,
}

impl Threshold {
    /// The threshold with the best accuracy: halfway between two neighbouring values, or outside all of them. Ties go
    /// to the lowest one, and to label 1 above.
    fn choose(values: &[f64], classes: &[usize]) -> Self {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        // With everything above, those of label 1 are right.
        let mut right = classes.iter().filter(|class| **class == 1).count();
        let lowest = order.first().map_or(0.0, |&first| values[first]);
        let mut best = (right.max(classes.len() - right), lowest - 1.0, right);
        for (place, &index) in order.iter().enumerate() {
            match classes[index] {
                1 => right -= 1,
                _ => right += 1,
            }
            let next = order.get(place + 1).map(|&next| values[next]);
            if next == Some(values[index]) {
                continue;
            }
            let at = next.map_or(values[index] + 1.0, |next| (values[index] + next) / 2.0);
            let accuracy = right.max(classes.len() - right);
            if accuracy > best.0 {
                best = (accuracy, at, right);
            }
        }
        Self {
            at: best.1,
            above: usize::from(2 * best.2 >= classes.len()),
        }
    }

    fn class(&self, value: f64) -> usize {
        if value > self.at {
            self.above
        } else {
            1 - self.above
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_with_the_most_right_labels_is_chosen() {
        for (values, classes, at, above) in [
            (&[0.1, 0.9, 0.5, 0.3][..], &[0, 1, 1, 0][..], 0.4, 1),
            (&[0.1, 0.9, 0.5, 0.3], &[1, 0, 0, 1], 0.4, 0),
            // Equal values are on one side.
            (&[0.5, 0.5, 0.5, 0.9], &[0, 0, 1, 1], 0.7, 1),
            (&[0.2, 0.4], &[1, 1], -0.8, 1),
            (&[0.2, 0.4], &[0, 0], -0.8, 0),
        ] {
            let found = Threshold::choose(values, classes);
            assert!((found.at - at).abs() < 1e-12, "{values:?}: {found:?}");
            assert_eq!(found.above, above, "{values:?}");
        }
        let threshold = Threshold { at: 0.4, above: 1 };
        assert_eq!([0.3, 0.4, 0.5].map(|v| threshold.class(v)), [0, 0, 1]);
    }

    #[test]
    fn the_line_is_that_of_numpy() {
        // numpy.polyfit([0.1, 0.4, 0.5, 0.9], [1.0, 2.0, 4.5, 4.0], 1)
        let line = Line::fit(&[0.1, 0.4, 0.5, 0.9], &[1.0, 2.0, 4.5, 4.0]);
        assert!((line.slope - 3.9312977099236637).abs() < 1e-12, "{line:?}");
        assert!(
            (line.at(0.5) - 2.9732824427480926).abs() < 1e-12,
            "{line:?}"
        );
        let level = Line::fit(&[0.5, 0.5], &[1.0, 2.0]);
        assert_eq!((level.slope, level.at(0.7)), (0.0, 1.5));
    }

    #[test]
    fn cosines_are_those_of_numpy() {
        let vectors = Vectors {
            first: vec![3.0, 4.0, 1.0, 0.0, 0.0, 0.0],
            second: Some(vec![4.0, 3.0, -2.0, 0.0, 1.0, 1.0]),
            width: 2,
        };
        assert_eq!(cosines(&vectors).expect("pairs"), [0.96, -1.0, 0.0]);
    }
}
