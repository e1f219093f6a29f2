//! The best path through a row (Viterbi 1967).

use super::Constraints;

/// Penalty on the score of a forbidden transition, as in AllenNLP.
const FORBIDDEN: f32 = 10_000.0;

/// Transition, start and end scores, with penalties on forbidden ones.
pub(super) struct Scores {
    /// `[tags, tags]`: to the row's tag from the column's, so that the compared scores are contiguous.
    to_from: Vec<f32>,
    start: Vec<f32>,
    end: Vec<f32>,
}

impl Scores {
    /// Collects `transitions` `[tags, tags]` (from the row's tag to the column's), `start` and `end` `[tags]`.
    pub(super) fn new(
        transitions: Vec<f32>,
        mut start: Vec<f32>,
        mut end: Vec<f32>,
        allowed: &Constraints,
    ) -> Self {
        let n = start.len();
        assert!(
            allowed.from_to.len() == n * n && allowed.start.len() == n && allowed.end.len() == n,
            "constraints are for {} tags, the scores for {n}",
            allowed.start.len()
        );
        let forbid = |scores: &mut [f32], allowed: &[bool]| {
            for (score, _) in scores
                .iter_mut()
                .zip(allowed)
                .filter(|(_, allowed)| !**allowed)
            {
                *score -= FORBIDDEN;
            }
        };
        let mut from_to = transitions;
        forbid(&mut from_to, &allowed.from_to);
        forbid(&mut start, &allowed.start);
        forbid(&mut end, &allowed.end);
        let to_from = (0..n * n).map(|i| from_to[i % n * n + i / n]).collect();
        Self {
            to_from,
            start,
            end,
        }
    }

    /// The best path through `emissions` `[words, tags]`; of equal ones the one with the lower tags, from the end.
    pub(super) fn best(&self, emissions: &[f32]) -> Vec<usize> {
        let n = self.start.len();
        let mut words = emissions.chunks_exact(n);
        let Some(first) = words.next() else {
            return Vec::new();
        };
        let mut scores = sum(first, &self.start);
        let mut next = vec![0.0; n];
        let mut before = Vec::with_capacity(emissions.len());
        for word in words {
            for (tag, from) in self.to_from.chunks_exact(n).enumerate() {
                let (best, score) = largest(scores.iter().zip(from).map(|(a, b)| a + b));
                before.push(best);
                next[tag] = score + word[tag];
            }
            std::mem::swap(&mut scores, &mut next);
        }
        let (mut tag, _) = largest(sum(&scores, &self.end).into_iter());
        let mut path = vec![tag];
        for before in before.chunks_exact(n).rev() {
            tag = before[tag];
            path.push(tag);
        }
        path.reverse();
        path
    }
}

fn sum(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// The first of the largest values, with its index.
fn largest(values: impl Iterator<Item = f32>) -> (usize, f32) {
    let start = (0, f32::NEG_INFINITY);
    values.enumerate().fold(
        start,
        |best, (i, value)| {
            if value > best.1 { (i, value) } else { best }
        },
    )
}
