//! Regressions on vectors of a pretrained encoder.

use anyhow::{Result, bail};
use totune_stats::{Matrix, Scaler, Solver};

use super::regression::Model;
use super::texts::{Texts, Vectors};
use super::{FloorSplit, Predictor};
use crate::spec::Floor;

impl Vectors {
    /// The features of a regression: the vector, or `[u; v; |u - v|; u * v]` for the two vectors of a pair.
    fn features(self) -> Matrix<f32> {
        let width = self.width;
        let Some(second) = self.second else {
            return Matrix::new(self.first, width);
        };
        let mut values = Vec::with_capacity(4 * self.first.len());
        for (u, v) in self.first.chunks(width).zip(second.chunks(width)) {
            values.extend_from_slice(u);
            values.extend_from_slice(v);
            values.extend(u.iter().zip(v).map(|(u, v)| (u - v).abs()));
            values.extend(u.iter().zip(v).map(|(u, v)| u * v));
        }
        Matrix::new(values, 4 * width)
    }
}

/// A regression on vectors.
pub(super) fn fit<'a>(
    train: &FloorSplit,
    texts: Texts<'a>,
    floor: &Floor,
) -> Result<Predictor<'a>> {
    let Floor::Vectors {
        standardise,
        regression,
        ..
    } = floor
    else {
        bail!("no regression on vectors");
    };
    let mut x = texts.vectors(train)?.features();
    let scaler = standardise.is_on().then(|| Scaler::fit(&x));
    if let Some(scaler) = &scaler {
        x = scaler.apply(&x);
    }
    let answers = (&train.answers, train.dataset().labels.len());
    let model = Model::fit(&x, answers, regression, Solver::Preconditioned)?;
    let (steps, stop) = model.end();
    Ok(Predictor {
        trained: model.n_parameters(),
        encoder: texts.n_parameters(),
        steps,
        stop,
        chosen: model.chosen(),
        saved: texts.saved.clone(),
        predict: Box::new(move |part| {
            let x = texts.vectors(part)?.features();
            let scaled = scaler.as_ref().map(|scaler| scaler.apply(&x));
            Ok(model.predict(scaled.as_ref().unwrap_or(&x)))
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_features_of_a_pair_are_both_vectors_their_distance_and_product() {
        let vectors = Vectors {
            first: vec![1.0, -2.0, 0.5, 0.0],
            second: Some(vec![3.0, 1.0, 0.5, 4.0]),
            width: 2,
        };
        let expected = vec![
            1.0, -2.0, 3.0, 1.0, 2.0, 3.0, 3.0, -2.0, // of the first pair
            0.5, 0.0, 0.5, 4.0, 0.0, 4.0, 0.25, 0.0,
        ];
        assert_eq!(vectors.features(), Matrix::new(expected, 8));
    }
}
