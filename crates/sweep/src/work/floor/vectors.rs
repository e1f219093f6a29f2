//! Vectors of a pretrained encoder, and regressions on them.

use anyhow::{Context, Result, bail, ensure};
use totune_adapt::{Activations, EntryLayer, InputEncoding, StoredDtype};
use totune_data::{Encoded, Pairs};
use totune_model::{AnyEncoder, Encoder, Layers, PooledInput};
use totune_stats::{Dense, Matrix, Solver};

use super::regression::Model;
use super::{FloorSplit, Predictor};
use crate::spec::Floor;
use crate::{FloorWork, Inputs, RunSpec};

/// Encoding of texts as vectors.
pub(super) struct Texts<'a> {
    inputs: &'a Inputs,
    dataset: &'a str,
    name: &'a str,
    encoder: &'a AnyEncoder,
    encoding: InputEncoding,
    /// Entry layer of the vectors: only the top one, or one of all.
    start: EntryLayer,
    layer: Option<usize>,
    batch_size: usize,
}

/// One vector for each example, or two.
pub(super) struct Vectors {
    /// Vector of the text, of the first text of a pair, or of a pair as one input: `[examples, width]`.
    pub first: Vec<f32>,
    /// Vector of the second text of a pair that was encoded separately.
    pub second: Option<Vec<f32>>,
    pub width: usize,
}

impl<'a> Texts<'a> {
    /// # Errors
    /// When the encoder was not loaded, or lacks the layer.
    pub fn of(spec: &'a RunSpec, work: &'a FloorWork, inputs: &'a Inputs) -> Result<Self> {
        let (pooling, layer, pairs) = match &work.floor {
            Floor::Vectors {
                pooling,
                layer,
                pairs,
                ..
            } => (pooling, *layer, *pairs),
            Floor::Cosine { pooling, layer, .. } => (pooling, *layer, Pairs::Separate),
            Floor::Majority {} | Floor::WordCounts { .. } => bail!("no floor of vectors"),
        };
        let given = "validated to be given";
        let name = work.encoder.as_deref().context(given)?;
        let encoder = &inputs.encoder(name)?.loaded.encoder;
        let n_layers = encoder.n_layers();
        if let Some(layer) = layer {
            ensure!(
                layer <= n_layers,
                "floor.layer: found {layer}, expected at most {n_layers}, the number of layers of the encoder"
            );
        }
        let layers = match layer {
            None => Layers::Top,
            Some(_) => Layers::mix(true),
        };
        Ok(Self {
            inputs,
            dataset: &spec.dataset,
            name,
            encoder,
            encoding: InputEncoding::of_texts(work.max_length.context(given)?, pairs),
            start: EntryLayer::Pooled(PooledInput {
                pooling: pooling.pooling(),
                layers,
            }),
            layer,
            batch_size: work.evaluation_batch_size.context(given)?,
        })
    }

    /// Parameters of the encoder.
    pub fn n_parameters(&self) -> u64 {
        burn::module::Module::num_params(self.encoder) as u64
    }

    /// The vectors of a part's examples.
    pub fn vectors(&self, part: &FloorSplit) -> Result<Vectors> {
        ensure!(
            part.dataset().tagging.is_none(),
            "a floor of vectors has one vector for each text; expected a dataset with a label or a score for each, `{}` has tags",
            part.dataset().name
        );
        let (split, indices) = (part.of.split, &part.of.indices);
        let rows = self
            .inputs
            .rows(self.dataset, split, self.name, &self.encoding)?;
        let mut firsts: Vec<Encoded> = indices
            .iter()
            .map(|&row| rows.encoded[row].clone())
            .collect();
        let mut seconds = Vec::new();
        if firsts.iter().any(|row| row.apart) {
            let split = firsts.iter_mut().zip(indices).map(|(row, index)| {
                second_text(row).with_context(|| {
                    let id = &part.dataset().examples[*index].id;
                    format!("example {id}: the second text is empty")
                })
            });
            seconds = split.collect::<Result<_>>()?;
        }
        Ok(Vectors {
            first: self.encode(&firsts)?,
            second: if seconds.is_empty() {
                None
            } else {
                Some(self.encode(&seconds)?)
            },
            width: self.encoder.hidden(),
        })
    }

    fn encode(&self, rows: &[Encoded]) -> Result<Vec<f32>> {
        let (start, dtype) = (self.start, StoredDtype::F32);
        let all = Activations::compute(self.encoder, rows, start, dtype, self.batch_size)?;
        let (all, width) = (all.vectors(), self.encoder.hidden());
        let Some(layer) = self.layer else {
            return Ok(all);
        };
        let all = Dense::new(&all, width * (self.encoder.n_layers() + 1));
        let of_layer = all.columns(layer * width..(layer + 1) * width);
        Ok(of_layer.rows().flatten().copied().collect())
    }
}

/// Takes the second text out of a pair whose texts are encoded separately, as an input of its own; `None` where there
/// is none.
fn second_text(row: &mut Encoded) -> Option<Encoded> {
    let at = row.type_ids.iter().position(|&kind| kind == 1)?;
    let second = Encoded {
        ids: row.ids.split_off(at),
        // A single text has only segment 0.
        type_ids: vec![0; row.type_ids.split_off(at).len()],
        characters: row.characters.split_off(at.min(row.characters.len())),
        ..Encoded::default()
    };
    row.apart = false;
    row.second_opened = false;
    Some(second)
}

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

/// Brings columns to mean 0 and variance 1 on the training part, as scikit-learn's `StandardScaler`.
struct Scaler {
    means: Vec<f64>,
    deviations: Vec<f64>,
}

impl Scaler {
    fn fit(x: &Matrix<f32>) -> Self {
        let means = x.view().means();
        let mut deviations = x.view().deviations(&means);
        for deviation in deviations.iter_mut().filter(|deviation| **deviation == 0.0) {
            *deviation = 1.0;
        }
        Self { means, deviations }
    }

    fn apply(&self, x: &Matrix<f32>) -> Matrix<f32> {
        let view = x.view();
        let values = view.rows().flat_map(|row| {
            let scales = self.means.iter().zip(&self.deviations);
            let scaled = row.iter().zip(scales);
            scaled.map(|(x, (mean, deviation))| ((f64::from(*x) - mean) / deviation) as f32)
        });
        Matrix::new(values.collect(), view.n_columns())
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

    #[test]
    fn columns_are_standardised_and_those_without_spread_centred() {
        let x = Matrix::new(vec![1.0, 7.0, 3.0, 7.0], 2);
        let scaled = Scaler::fit(&x).apply(&x);
        assert_eq!(scaled, Matrix::new(vec![-1.0, 0.0, 1.0, 0.0], 2));
    }

    #[test]
    fn a_pair_is_taken_apart_into_texts_that_stand_alone() {
        let mut first = Encoded {
            ids: vec![101, 7, 102, 101, 8, 9, 102],
            type_ids: vec![0, 0, 0, 1, 1, 1, 1],
            second_opened: true,
            apart: true,
            characters: Vec::new(),
        };
        let second = second_text(&mut first).expect("a second text");
        assert_eq!(
            (&first.ids[..], &first.type_ids[..]),
            (&[101, 7, 102][..], &[0; 3][..])
        );
        assert_eq!(
            (&second.ids[..], &second.type_ids[..]),
            (&[101, 8, 9, 102][..], &[0; 4][..])
        );
        assert!(!first.apart && !first.second_opened && !second.apart);
        assert!(second_text(&mut first).is_none());
    }
}
