//! Ensembles of classifiers: joint predictions from the probabilities of each.

/// Rule that combines the predictions of an ensemble's members.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Vote<'w> {
    /// The class with the highest mean probability.
    Mean,
    /// The class with the highest mean probability where each member counts by its weight, such as its score on dev.
    Weighted(&'w [f64]),
    /// The class that most members predict; among classes with as many votes, the one with the highest mean
    /// probability.
    Majority,
}

/// Class that `members` predict together for one example; each has a probability per class.
///
/// The first of equals, as NumPy's `argmax` takes it.
///
/// # Panics
/// If there is no member or no class, if members differ in their number of classes, or if weights are not as many as
/// members, are negative, or are all zero.
pub fn predict_together(members: &[&[f32]], vote: Vote) -> usize {
    match vote {
        Vote::Mean => highest(&mean_probabilities(members, None)),
        Vote::Weighted(weights) => highest(&mean_probabilities(members, Some(weights))),
        Vote::Majority => {
            let mean = mean_probabilities(members, None);
            let mut votes = vec![0; mean.len()];
            for member in members {
                votes[highest(member)] += 1;
            }
            let most = votes.iter().copied().max().unwrap_or(0);
            let tied = votes
                .iter()
                .zip(&mean)
                .map(|(&votes, &mean)| if votes == most { mean } else { -1.0 });
            highest(&tied.collect::<Vec<f64>>())
        }
    }
}

/// Mean over members of the probability of each class, weighted by `weights` if there are any.
///
/// # Panics
/// As [`predict_together`].
pub fn mean_probabilities(members: &[&[f32]], weights: Option<&[f64]>) -> Vec<f64> {
    assert!(!members.is_empty(), "no member");
    let classes = members[0].len();
    assert!(classes > 0, "no class");
    assert!(
        members.iter().all(|member| member.len() == classes),
        "members differ in their number of classes"
    );
    let even = vec![1.0; members.len()];
    let weights = weights.unwrap_or(&even);
    assert_eq!(weights.len(), members.len(), "weights and members differ");
    assert!(
        weights.iter().all(|&weight| weight >= 0.0),
        "a weight is below 0: {weights:?}"
    );
    let total: f64 = weights.iter().sum();
    assert!(total > 0.0, "all weights are 0");
    let of = |class: usize| {
        let each = members.iter().zip(weights);
        each.map(|(member, weight)| weight * f64::from(member[class]))
            .sum::<f64>()
            / total
    };
    (0..classes).map(of).collect()
}

/// Index of the highest of `scores`, the first of equals.
fn highest<T: PartialOrd>(scores: &[T]) -> usize {
    let mut best = 0;
    for (class, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = class;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    const CERTAIN: &[f32] = &[0.9, 0.1];
    const DOUBTFUL: &[f32] = &[0.4, 0.6];

    #[test]
    fn one_that_is_certain_outdoes_two_that_are_not_but_not_by_votes() {
        let members = [CERTAIN, DOUBTFUL, DOUBTFUL];
        check(&members, Vote::Mean, 0);
        check(&members, Vote::Majority, 1);
        check(&members, Vote::Weighted(&[0.1, 1.0, 1.0]), 1);
    }

    #[test]
    fn as_many_votes_are_settled_by_the_mean_probability() {
        let members: [&[f32]; 4] = [
            &[0.5, 0.1, 0.4],
            &[0.5, 0.1, 0.4],
            &[0.1, 0.3, 0.6],
            &[0.1, 0.3, 0.6],
        ];
        check(&members, Vote::Majority, 2);
        // A class without a vote cannot win a tie, whatever its mean.
        let none: [&[f32]; 2] = [&[0.51, 0.49, 0.0], &[0.0, 0.49, 0.51]];
        check(&none, Vote::Majority, 0);
        check(&none, Vote::Mean, 1);
    }

    #[test]
    fn one_member_is_what_it_predicts_and_equals_go_to_the_first_class() {
        for vote in [Vote::Mean, Vote::Majority, Vote::Weighted(&[0.3])] {
            check(&[DOUBTFUL], vote, 1);
            check(&[&[0.5, 0.5]], vote, 0);
        }
    }

    #[test]
    #[should_panic(expected = "members differ in their number of classes")]
    fn members_of_different_tasks_are_refused() {
        predict_together(&[CERTAIN, &[1.0]], Vote::Mean);
    }

    #[track_caller]
    fn check(members: &[&[f32]], vote: Vote, expected: usize) {
        assert_eq!(predict_together(members, vote), expected, "{vote:?}");
    }
}
