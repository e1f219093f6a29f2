//! A linear-chain CRF over tags (Lafferty et al. 2001).

mod constraints;
mod viterbi;

use burn::module::{Module, Param};
use burn::tensor::{Device, Int, Tensor, TensorData};

pub use constraints::Constraints;

use crate::fused::{self, CrfWeights};
use crate::init::Draws;

/// Scores of neighbouring tags, learned with the scores of each word's tags (Lafferty et al. 2001).
///
/// A path's score is the sum of its emissions and of `transitions[before, tag]`, with `start` of its first and `end` of
/// its last tag where there are boundaries; its probability is the softmax over all paths.
#[derive(Module, Debug)]
pub struct Crf {
    /// Transition scores, `[tags, tags]`: from the row's tag to the column's.
    pub transitions: Param<Tensor<2>>,
    /// Scores of the first word's tag, `[tags]`.
    pub start: Option<Param<Tensor<1>>>,
    /// Scores of the last word's tag, `[tags]`.
    pub end: Option<Param<Tensor<1>>>,
}

impl Crf {
    /// Returns new transitions as in AllenNLP: normal with variance 2 / (tags + tags) (Glorot and Bengio 2010); with
    /// `boundaries`, start and end are standard normal.
    pub fn new(tags: usize, boundaries: bool, seed: u64, device: &Device) -> Self {
        let mut draws = Draws::new(seed);
        let sd = (1.0 / tags as f64).sqrt();
        let transitions = TensorData::new(draws.normals(tags * tags, sd), [tags, tags]);
        let mut boundary = || {
            let values = TensorData::new(draws.normals(tags, 1.0), [tags]);
            boundaries.then(|| Param::from_tensor(Tensor::from_data(values, device)))
        };
        Self {
            start: boundary(),
            end: boundary(),
            transitions: Param::from_tensor(Tensor::from_data(transitions, device)),
        }
    }

    /// Number of tags.
    pub fn n_tags(&self) -> usize {
        self.transitions.dims()[0]
    }

    /// The log probability of `tags` `[batch, words]` for each row, `[batch]`.
    ///
    /// `emissions` is `[batch, words, tags]`, `mask` `[batch, words]` 1 for words and 0 for padding, on the right; the
    /// values of `tags` there do not matter. Each row has at least one word.
    pub fn log_likelihood(
        &self,
        emissions: Tensor<3>,
        tags: Tensor<2, Int>,
        mask: Tensor<2>,
    ) -> Tensor<1> {
        fused::crf_log_likelihood(emissions, self.weights(), tags, mask)
    }

    /// The most probable path of each row that violates no constraint of `allowed`; as long as its mask.
    ///
    /// If every path violates some, the one with the fewest violations. It needs one transfer from the device, not one
    /// per word.
    ///
    /// # Panics
    /// When `allowed` is for another number of tags.
    pub fn decode(
        &self,
        emissions: Tensor<3>,
        mask: Tensor<2>,
        allowed: &Constraints,
    ) -> Vec<Vec<usize>> {
        let [_, words, n_tags] = emissions.dims();
        let weights = self.weights();
        let flat = |data: TensorData| data.try_to_vec::<f32>().expect("f32");
        let scores = viterbi::Scores::new(
            flat(weights.transitions.into_data()),
            flat(weights.start.into_data()),
            flat(weights.end.into_data()),
            allowed,
        );
        let emissions = flat(emissions.into_data());
        let lengths = flat(mask.sum_dim(1).into_data());
        let rows = emissions.chunks(words * n_tags).zip(lengths);
        rows.map(|(row, n)| scores.best(&row[..n as usize * n_tags]))
            .collect()
    }

    fn weights(&self) -> CrfWeights {
        let transitions = self.transitions.val();
        let device = transitions.device().inner();
        let boundary = |param: &Option<Param<Tensor<1>>>| match param {
            Some(param) => param.val(),
            None => Tensor::zeros([self.n_tags()], &device),
        };
        CrfWeights {
            start: boundary(&self.start),
            end: boundary(&self.end),
            transitions,
        }
    }
}
