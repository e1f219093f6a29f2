//! Encoder input: a padded batch of tokens, and the positions of texts and words in it.

use std::ops::Range;

use burn::module::Param;
use burn::tensor::module::embedding;
use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::fused::{Unpadding, upload, upload_ids};

/// Bias on the attention scores of a hidden key, as in BERT's released code: large enough that its probability is exactly
/// zero in f32.
pub(crate) const MASKED: f32 = -10_000.0;

/// A padded batch on a device.
#[derive(Debug, Clone)]
pub struct TokenBatch {
    /// Token ids, `[batch, seq]`.
    pub ids: Tensor<2, Int>,
    /// Segment of each token, 0 or 1, `[batch, seq]`.
    pub type_ids: Tensor<2, Int>,
    /// Row of each token in the table of word embeddings, `[batch, seq]`, where that has not the rows of all ids.
    pub(crate) word_rows: Option<Tensor<2, Int>>,
    /// 1 for a real token, 0 for padding, `[batch, seq]`; none where nothing is padded.
    pub mask: Option<Tensor<2>>,
    /// Places of the real tokens, where taking out the padding saves time.
    unpadding: Option<Unpadding>,
    /// Character ids of each word, `[batch, seq, 50]`, for encoders that read those.
    pub characters: Option<Tensor<3, Int>>,
    /// Masks attention between the two texts of a pair that share a row; `type_ids` identify the text of each token.
    pub apart: bool,
    /// Ranges of the texts of each row, without special tokens.
    pub texts: Vec<Vec<Range<usize>>>,
    /// Positions of the words to be tagged; none outside tagging.
    pub words: Option<Words>,
}

/// Positions of the scored words of a batch: for each row those of their first and of their last subwords.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Words {
    /// Positions of first subwords.
    pub starts: Vec<Vec<u32>>,
    /// Positions of last subwords.
    pub ends: Vec<Vec<u32>>,
}

/// States of one text of each row, or of whole rows.
#[derive(Debug, Clone)]
pub struct Segment {
    /// `[batch, seq, width]`; zero at padding.
    pub states: Tensor<3>,
    /// 1 for a real position, 0 for padding, `[batch, seq]`.
    pub mask: Tensor<2>,
}

/// Positions of words as tensors, each `[batch, words]`; padding points at position 0.
#[derive(Debug, Clone)]
pub struct WordPlaces {
    /// Positions of first subwords.
    pub starts: Tensor<2, Int>,
    /// Positions of last subwords.
    pub ends: Tensor<2, Int>,
    /// 1 for a word, 0 for padding.
    pub mask: Tensor<2>,
}

impl TokenBatch {
    /// Puts a row-major `[batch, seq]` batch of single texts on `device`.
    ///
    /// # Panics
    /// When a slice does not have `batch * seq` elements.
    pub fn new(
        ids: Vec<i64>,
        type_ids: Vec<i64>,
        mask: &[bool],
        shape: [usize; 2],
        device: &Device,
    ) -> Self {
        let n = shape[0] * shape[1];
        assert!(
            ids.len() == n && type_ids.len() == n && mask.len() == n,
            "a batch of shape {shape:?} needs {n} ids, type ids and mask values, got {}, {}, {}",
            ids.len(),
            type_ids.len(),
            mask.len()
        );
        let unpadding = Unpadding::new(mask, shape, device);
        let padded = mask.iter().any(|real| !real);
        let mask = padded.then(|| {
            let values: Vec<f32> = mask.iter().map(|&real| f32::from(u8::from(real))).collect();
            upload(TensorData::new(values, shape), device)
        });
        Self {
            ids: upload_ids(TensorData::new(ids, shape), device),
            type_ids: upload_ids(TensorData::new(type_ids, shape), device),
            word_rows: None,
            mask,
            unpadding,
            characters: None,
            apart: false,
            texts: Vec::new(),
            words: None,
        }
    }

    /// `[batch, seq]`.
    pub fn shape(&self) -> [usize; 2] {
        self.ids.dims()
    }

    /// The embedding of each token, `[batch, seq, width]`, from the encoder's table of them.
    pub(crate) fn embedded(&self, table: &Param<Tensor<2>>) -> Tensor<3> {
        let rows = self.word_rows.as_ref().unwrap_or(&self.ids);
        embedding(table.val(), rows.clone())
    }

    /// Places of the real tokens, by which layers compute nothing for padding; none where they do, or there is none.
    pub(crate) fn unpadding(&self) -> Option<&Unpadding> {
        self.unpadding.as_ref()
    }

    /// The same batch outside any graph.
    pub(crate) fn inner(&self) -> Self {
        Self {
            ids: self.ids.clone().inner(),
            type_ids: self.type_ids.clone().inner(),
            word_rows: self.word_rows.clone().map(Tensor::inner),
            mask: self.mask.clone().map(Tensor::inner),
            characters: self.characters.clone().map(Tensor::inner),
            ..self.clone()
        }
    }

    /// The mask as weights, `[batch, seq]`: ones where nothing is padded.
    pub fn weights(&self) -> Tensor<2> {
        match &self.mask {
            Some(mask) => mask.clone(),
            None => Tensor::ones(self.shape(), &self.ids.device()),
        }
    }

    /// Bias on attention scores, 0 or [`MASKED`]: `[batch, 1, 1, seq]`; where texts are masked from each other
    /// `[batch, 1, seq, seq]`; none where nothing is masked.
    pub(crate) fn attention_bias(&self) -> Option<Tensor<4>> {
        let [batch, seq] = self.shape();
        let padding = self.mask.clone();
        let padding = padding.map(|mask| ((mask - 1.0) * -MASKED).reshape([batch, 1, 1, seq]));
        if !self.apart {
            return padding;
        }
        let text = self.type_ids.clone().float();
        let (query, key): (Tensor<4>, Tensor<4>) = (
            text.clone().reshape([batch, 1, seq, 1]),
            text.reshape([batch, 1, 1, seq]),
        );
        let other = (query - key).square() * MASKED; // [batch, 1, seq, seq]
        Some(match padding {
            Some(padding) => other + padding,
            None => other,
        })
    }

    /// Position of each token in its text, `[batch, seq]`, where the second text starts again from 0; none where it
    /// does not.
    pub(crate) fn positions(&self) -> Option<Tensor<2, Int>> {
        let [batch, seq] = self.shape();
        self.apart.then(|| {
            let places = self.texts.iter().flat_map(|texts| {
                // The second text begins with its `[CLS]`.
                let second = texts.get(1).map_or(seq, |text| text.start - 1);
                (0..seq).map(move |at| if at < second { at } else { at - second } as i64)
            });
            let places: Vec<i64> = places.collect();
            Tensor::from_data(TensorData::new(places, [batch, seq]), &self.ids.device())
        })
    }

    /// Row of each token in a position table that starts after the row of padding, `[batch, seq]`: padding, identified
    /// by its id `pad` and not by the mask, takes row `pad`, and other tokens the rows after it in their order,
    /// restarting for each text where texts are masked from each other (`create_position_ids_from_input_ids` in
    /// transformers' modeling_roberta.py).
    pub(crate) fn positions_after(&self, pad: u32) -> Tensor<2, Int> {
        let real = self.ids.clone().not_equal_elem(i64::from(pad)).int();
        let count = |of: Tensor<2, Int>| of.clone().cumsum(1) * of;
        let counted = if self.apart {
            let second = self.type_ids.clone() * real.clone();
            count(real - second.clone()) + count(second)
        } else {
            count(real)
        };
        counted + i64::from(pad)
    }

    /// States of whole rows, including special tokens.
    pub fn whole(&self, states: Tensor<3>) -> Segment {
        Segment {
            states,
            mask: self.weights(),
        }
    }

    /// States of text `text` (0 or 1) of each row, out of `states` `[batch, seq, width]`, without special tokens.
    ///
    /// # Panics
    /// When a row does not have such a text.
    pub fn segment(&self, states: &Tensor<3>, text: usize) -> Segment {
        let ranges: Vec<Range<usize>> = self.texts.iter().map(|row| row[text].clone()).collect();
        gather(states, &ranges)
    }

    /// Returns [`TokenBatch::segment`] with the `[CLS]` before the text, for encoders that have one.
    pub fn segment_from_first(&self, states: &Tensor<3>, text: usize) -> Segment {
        let marked = usize::from(self.characters.is_none());
        let ranges = self.texts.iter().map(|row| {
            let Range { start, end } = row[text].clone();
            start - marked..end
        });
        gather(states, &ranges.collect::<Vec<_>>())
    }

    /// Positions of the scored words as tensors; none outside tagging.
    pub fn word_places(&self) -> Option<WordPlaces> {
        let words = self.words.as_ref()?;
        let device = self.ids.device();
        let batch = words.starts.len();
        let n = words.starts.iter().map(Vec::len).max().unwrap_or(0);
        let places = |rows: &[Vec<u32>]| {
            let mut places = vec![0i64; batch * n];
            for (row, to) in rows.iter().zip(places.chunks_mut(n.max(1))) {
                for (&place, to) in row.iter().zip(to) {
                    *to = i64::from(place);
                }
            }
            Tensor::from_data(TensorData::new(places, [batch, n]), &device)
        };
        let mut mask = vec![0f32; batch * n];
        for (row, to) in words.starts.iter().zip(mask.chunks_mut(n.max(1))) {
            to[..row.len()].fill(1.0);
        }
        Some(WordPlaces {
            starts: places(&words.starts),
            ends: places(&words.ends),
            mask: Tensor::from_data(TensorData::new(mask, [batch, n]), &device),
        })
    }
}

/// Gathers the states in a range of positions of each row, padded with zeros.
fn gather(states: &Tensor<3>, ranges: &[Range<usize>]) -> Segment {
    let [batch, seq, width] = states.dims();
    let device = states.device();
    let n = ranges.iter().map(Range::len).max().unwrap_or(0);
    let mut places = vec![0i64; batch * n];
    let mut mask = vec![0f32; batch * n];
    for (row, range) in ranges.iter().enumerate() {
        for (column, place) in range.clone().enumerate() {
            places[row * n + column] = (row * seq + place) as i64;
            mask[row * n + column] = 1.0;
        }
    }
    let places: Tensor<1, Int> = Tensor::from_data(TensorData::new(places, [batch * n]), &device);
    let mask: Tensor<2> = Tensor::from_data(TensorData::new(mask, [batch, n]), &device);
    let flat: Tensor<2> = states.clone().reshape([batch * seq, width]);
    let chosen: Tensor<3> = flat.select(0, places).reshape([batch, n, width]);
    Segment {
        states: chosen * mask.clone().unsqueeze_dim::<3>(2),
        mask,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(apart: bool) -> TokenBatch {
        let mask = [true, true, true, true, true, false];
        let types = vec![0, 0, 0, 1, 1, 0];
        let mut batch = TokenBatch::new(vec![1; 6], types, &mask, [1, 6], &Device::flex());
        batch.texts = vec![vec![1..2, 4..5]];
        batch.apart = apart;
        batch
    }

    #[test]
    fn texts_that_are_apart_neither_see_each_other_nor_count_on() {
        let bias = pair(true).attention_bias().expect("a bias").into_data();
        let bias: Vec<f32> = bias.try_to_vec().expect("f32");
        let seen: Vec<Vec<usize>> = bias
            .chunks(6)
            .map(|row| (0..6).filter(|&key| row[key] == 0.0).collect())
            .collect();
        assert_eq!(
            seen[..5],
            [
                vec![0, 1, 2],
                vec![0, 1, 2],
                vec![0, 1, 2],
                vec![3, 4],
                vec![3, 4]
            ]
        );
        let places = pair(true).positions().expect("places").into_data();
        let places: Vec<i64> = places.iter::<i64>().collect();
        assert_eq!(places, [0, 1, 2, 0, 1, 2]);
        assert!(pair(false).positions().is_none());
    }

    #[test]
    fn positions_behind_padding_count_what_is_no_padding() {
        let mut batch = pair(false);
        let ids: Vec<i64> = vec![0, 7, 2, 2, 1, 1]; // the fifth is a literal `<pad>`
        batch.ids = Tensor::from_data(TensorData::new(ids, [1, 6]), &Device::flex());
        let places = |batch: &TokenBatch| -> Vec<i64> {
            batch.positions_after(1).into_data().iter::<i64>().collect()
        };
        assert_eq!(places(&batch), [2, 3, 4, 5, 1, 1]);
        batch.apart = true;
        assert_eq!(places(&batch), [2, 3, 4, 2, 1, 1]);
    }

    #[test]
    fn a_segment_is_the_states_of_its_text_and_zero_elsewhere() {
        let states: Vec<f32> = (0..12).map(|i| i as f32).collect();
        let states = Tensor::from_data(TensorData::new(states, [2, 6, 1]), &Device::flex());
        let segment = gather(&states, &[1..4, 2..3]);
        let values = |tensor: TensorData| tensor.try_to_vec::<f32>().expect("f32");
        assert_eq!(
            values(segment.states.into_data()),
            [1.0, 2.0, 3.0, 8.0, 0.0, 0.0]
        );
        assert_eq!(
            values(segment.mask.into_data()),
            [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]
        );
    }
}
