//! Scores of a multi-label classifier: the labels of each example in, fractions out.
//!
//! The definitions are scikit-learn's, with `zero_division=0`; an average over labels runs over all of them.

use super::counts::{Counts, PrecisionRecallF1, assert_same_length, ratio};

/// Counts of each of `n_labels` labels; `gold` and `predicted` have the labels of each example, each at most once.
///
/// # Panics
/// If the slices differ in length, or a label is not below `n_labels`.
pub fn label_counts(gold: &[&[usize]], predicted: &[&[usize]], n_labels: usize) -> Vec<Counts> {
    assert_same_length(gold, predicted);
    let mut counts = vec![Counts::default(); n_labels];
    for (gold, predicted) in gold.iter().zip(predicted) {
        for &label in *gold {
            counts[label].gold += 1;
            counts[label].both += usize::from(predicted.contains(&label));
        }
        predicted
            .iter()
            .for_each(|&label| counts[label].predicted += 1);
    }
    counts
}

/// The share of examples whose labels are all predicted right and no others with them (subset accuracy, scikit-learn's
/// `accuracy_score`); 0 for no examples. Labels are in ascending order.
///
/// # Panics
/// If the slices differ in length.
pub fn exact_match(gold: &[&[usize]], predicted: &[&[usize]]) -> f64 {
    assert_same_length(gold, predicted);
    let right = gold.iter().zip(predicted).filter(|(g, p)| g == p).count();
    ratio(right, gold.len())
}

/// Average precision of a ranking by `scores`, in which `relevant` are to come first: `Σ (R_n - R_{n-1}) P_n` over the
/// thresholds, each a distinct score (`average_precision_score`); 0 where nothing is relevant.
///
/// # Panics
/// If the slices differ in length.
pub fn average_precision(relevant: &[bool], scores: &[f64]) -> f64 {
    assert_same_length(relevant, scores);
    let all = relevant.iter().filter(|is| **is).count();
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let (mut above, mut found, mut sum) = (0, 0, 0.0);
    for tied in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let more = tied.iter().filter(|&&at| relevant[at]).count();
        above += tied.len();
        found += more;
        sum += ratio(more, all) * ratio(found, above);
    }
    sum
}

/// The mean over labels of [`average_precision`], mAP (`average="macro"`); 0 for no labels. `scores` are rows of
/// `n_labels` scores, one row for each example.
///
/// # Panics
/// If the slices differ in length, or a row has another number of scores.
pub fn mean_average_precision(gold: &[&[usize]], scores: &[Vec<f64>], n_labels: usize) -> f64 {
    let of_labels = (0..n_labels).map(|label| label_average_precision(gold, scores, label));
    of_labels.sum::<f64>() / n_labels.max(1) as f64
}

/// [`average_precision`] of one label.
///
/// # Panics
/// If the slices differ in length, or a row has no score of the label.
pub fn label_average_precision(gold: &[&[usize]], scores: &[Vec<f64>], label: usize) -> f64 {
    let relevant: Vec<bool> = gold.iter().map(|labels| labels.contains(&label)).collect();
    let scores: Vec<f64> = scores.iter().map(|row| row[label]).collect();
    average_precision(&relevant, &scores)
}

/// Label ranking average precision, LRAP (`label_ranking_average_precision_score`): the mean over examples and their
/// labels of the share of labels that apply among those ranked at least as high. An example with no labels or with all
/// counts 1; 0 for no examples.
///
/// # Panics
/// If the slices differ in length.
pub fn label_ranking_average_precision(gold: &[&[usize]], scores: &[Vec<f64>]) -> f64 {
    assert_same_length(gold, scores);
    let of_example = |(labels, scores): (&&[usize], &Vec<f64>)| {
        if labels.is_empty() || labels.len() == scores.len() {
            return 1.0;
        }
        let share = |&label: &usize| {
            let is_above = |other: f64| other >= scores[label];
            let all = scores.iter().filter(|score| is_above(**score)).count();
            let right = labels.iter().filter(|at| is_above(scores[**at])).count();
            ratio(right, all)
        };
        labels.iter().map(share).sum::<f64>() / labels.len() as f64
    };
    let sum: f64 = gold.iter().zip(scores).map(of_example).sum();
    sum / gold.len().max(1) as f64
}

/// All scores of a multi-label classifier under the names of the result rows: `f1-micro`, `f1-macro` and `exact-match`;
/// with `scores`, the probability of each label for each example, also `map` and `lrap`; and for each label in `asked`
/// `f1:<label>` and `ap:<label>`.
///
/// # Panics
/// If the slices differ in length, or a label is not below the number of `labels`.
pub fn multi_label_scores<'a>(
    gold: &[&[usize]],
    predicted: &[&[usize]],
    scores: Option<&[Vec<f64>]>,
    labels: &[String],
    asked: impl IntoIterator<Item = &'a str>,
) -> Vec<(String, f64)> {
    let counts = label_counts(gold, predicted, labels.len());
    let f1 = |counts: &Counts| counts.scores().f1;
    let total = counts
        .iter()
        .fold(Counts::default(), |sum, of| sum.plus(*of));
    let mut found = vec![
        ("f1-micro".to_string(), f1(&total)),
        (
            "f1-macro".to_string(),
            counts.iter().map(f1).sum::<f64>() / labels.len().max(1) as f64,
        ),
        ("exact-match".to_string(), exact_match(gold, predicted)),
    ];
    if let Some(scores) = scores {
        let map = mean_average_precision(gold, scores, labels.len());
        found.push(("map".to_string(), map));
        let lrap = label_ranking_average_precision(gold, scores);
        found.push(("lrap".to_string(), lrap));
    }
    for name in asked {
        let Some((kind, label)) = name.split_once(':') else {
            continue;
        };
        let Some(at) = labels.iter().position(|known| known == label) else {
            continue;
        };
        let value = match (kind, scores) {
            ("f1", _) => Some(f1(&counts[at])),
            ("ap", Some(scores)) => Some(label_average_precision(gold, scores, at)),
            _ => None,
        };
        found.extend(value.map(|value| (name.to_string(), value)));
    }
    found
}

/// Precision, recall and F1 of each label, in their order.
///
/// # Panics
/// As [`label_counts`].
pub fn for_labels(
    gold: &[&[usize]],
    predicted: &[&[usize]],
    n_labels: usize,
) -> Vec<PrecisionRecallF1> {
    let counts = label_counts(gold, predicted, n_labels).into_iter();
    counts.map(Counts::scores).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_examples_score_zero() {
        let labels = ["a".to_string(), "b".to_string()];
        let asked = ["f1:a", "ap:b", "ap:c", "other"];
        let found = multi_label_scores(&[], &[], Some(&[]), &labels, asked);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "f1-micro",
            "f1-macro",
            "exact-match",
            "map",
            "lrap",
            "f1:a",
            "ap:b",
        ];
        assert_eq!(names, expected);
        assert!(found.iter().all(|(_, value)| *value == 0.0), "{found:?}");
    }

    #[test]
    fn an_example_without_labels_counts_when_nothing_is_predicted() {
        let (gold, predicted): ([&[usize]; 3], [&[usize]; 3]) =
            ([&[], &[0, 1], &[1]], [&[], &[0], &[1]]);
        assert_eq!(exact_match(&gold, &predicted), 2.0 / 3.0);
        let labels = ["a".to_string(), "b".to_string()];
        let found = multi_label_scores(&gold, &predicted, None, &labels, []);
        // Of a: 1 of 1 found; of b: 1 of 2; together 2 of 3 and none wrong: 2·2 / (3 + 2).
        assert_eq!(found[0], ("f1-micro".to_string(), 0.8));
        assert_eq!(found[1], ("f1-macro".to_string(), (1.0 + 2.0 / 3.0) / 2.0));
    }
}
