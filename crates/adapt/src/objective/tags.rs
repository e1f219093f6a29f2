//! Tags of words as tensors and back.

use burn::tensor::{Device, Int, Tensor, TensorData};
use totune_data::Target;
use totune_model::fused::upload_ids;
use totune_model::{Output, Tags};

use super::{Predicted, largest};
use crate::examples::Row;

/// The most probable tag of each of `n_words` words, from rows of log-probabilities.
pub(super) fn tagged(row: &[f32], n_tags: usize, (n_words, target): (usize, &Target)) -> Predicted {
    let gold = target.tags().unwrap_or_default();
    let words = row.chunks(n_tags);
    let losses = words
        .clone()
        .zip(gold)
        .map(|(word, &tag)| -f64::from(word[tag]));
    Predicted {
        loss: losses.sum::<f64>() / gold.len().max(1) as f64,
        predicted: Target::Tags(words.take(n_words).map(largest).collect()),
        scores: Vec::new(),
    }
}

/// The names of the tags of whole sentences, whose parts are `rows`: a long one is several of one name.
pub(super) fn sentences<'a, 'b>(
    rows: &[Row],
    tags: impl Iterator<Item = &'b Target>,
    labels: &'a [String],
) -> Vec<Vec<&'a str>> {
    let mut sentences: Vec<Vec<&str>> = Vec::new();
    for (i, tags) in tags.enumerate() {
        if i == 0 || rows[i].id != rows[i - 1].id {
            sentences.push(Vec::new());
        }
        let sentence = sentences.last_mut().expect("just begun");
        sentence.extend(names(tags, labels));
    }
    sentences
}

/// The names of tags.
pub(super) fn names<'a>(tags: &Target, labels: &'a [String]) -> Vec<&'a str> {
    let tags = tags_of(tags).iter();
    tags.map(|&tag| labels[tag].as_str()).collect()
}

/// Rows of tags as `[batch, words]`, zeros after the shorter ones.
pub(super) fn padded<'a>(
    rows: impl Iterator<Item = &'a [usize]>,
    [batch, words]: [usize; 2],
    device: &Device,
) -> Tensor<2, Int> {
    let mut padded = vec![0i64; batch * words];
    for (row, to) in rows.zip(padded.chunks_mut(words.max(1))) {
        for (&tag, to) in row.iter().zip(to) {
            *to = tag as i64;
        }
    }
    upload_ids(TensorData::new(padded, [batch, words]), device)
}

pub(super) fn tags(output: Output) -> Tags {
    match output {
        Output::Tags(tags) => tags,
        Output::Labels(_) => panic!("an objective about words needs a tagger"),
    }
}

/// The tags of a target that [`Objective::check`] has seen.
pub(super) fn tags_of(target: &Target) -> &[usize] {
    target.tags().expect("checked to be tags")
}
