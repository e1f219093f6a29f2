//! The most frequent target, whatever the example.

use super::{FloorSplit, Predicted, Predictor};
use crate::work::gold::GoldTargets;

/// The most frequent label, the first of several; where each example has several, those that more than half have; the mean of scores; the most frequent tag, which is `O` in most data.
/// Probabilities are the shares of the training part.
pub(super) fn fit<'a>(train: &FloorSplit) -> Predictor<'a> {
    let n_labels = train.dataset().labels.len();
    match &train.answers {
        GoldTargets::Classes(classes) => {
            let shares = shares(classes.iter(), n_labels);
            let class = most_frequent(&shares);
            Predictor::computed(n_labels, move |part| {
                let n = part.answers.len();
                Ok(Predicted::Classes {
                    classes: vec![class; n],
                    probabilities: shares.repeat(n),
                })
            })
        }
        GoldTargets::Labels(sets) => {
            let mut counts = vec![0_usize; n_labels];
            sets.iter().flatten().for_each(|&label| counts[label] += 1);
            let counts = counts.into_iter();
            let shares: Vec<f64> = counts.map(|n| n as f64 / sets.len() as f64).collect();
            Predictor::computed(n_labels, move |part| {
                Ok(Predicted::of_labels(
                    shares.repeat(part.answers.len()),
                    n_labels,
                ))
            })
        }
        GoldTargets::Scores(scores) => {
            let mean = scores.iter().sum::<f64>() / scores.len() as f64;
            Predictor::computed(1, move |part| {
                Ok(Predicted::Scores(vec![mean; part.answers.len()]))
            })
        }
        GoldTargets::Tags(sentences) => {
            let shares = shares(sentences.iter().flatten(), n_labels);
            let tag = most_frequent(&shares);
            Predictor::computed(n_labels, move |part| {
                let words = part
                    .inputs()
                    .map(|input| input.words().map_or(0, <[_]>::len));
                Ok(Predicted::Tags {
                    tags: words.map(|n| vec![tag; n]).collect(),
                    probabilities: shares.clone(),
                })
            })
        }
    }
}

/// The share of each label.
fn shares<'a>(labels: impl Iterator<Item = &'a usize>, n_labels: usize) -> Vec<f64> {
    let (mut counts, mut n) = (vec![0.0; n_labels], 0.0);
    for label in labels {
        counts[*label] += 1.0;
        n += 1.0;
    }
    counts.iter().map(|count| count / n).collect()
}

/// The first of the labels with the largest share or count.
pub(super) fn most_frequent<T: PartialOrd>(counts: &[T]) -> usize {
    let mut best = 0;
    for (label, count) in counts.iter().enumerate() {
        if *count > counts[best] {
            best = label;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_label_is_the_first_of_several() {
        let shares = shares([2, 1, 2, 1].iter(), 4);
        assert_eq!(shares, [0.0, 0.5, 0.5, 0.0]);
        assert_eq!(most_frequent(&shares), 1);
    }
}
