//! The three counts behind precision, recall and F1.

/// Frequencies of examples of a class, or of spans, in gold, in the predictions, and in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// TP + FN: number in gold.
    pub gold: usize,
    /// TP + FP: number predicted.
    pub predicted: usize,
    /// TP: number in both.
    pub both: usize,
}

/// Precision, recall and F1 of one class against all others, of spans, or of an average over classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrecisionRecallF1 {
    /// TP / (TP + FP): share of the predictions of this class that are right.
    pub precision: f64,
    /// TP / (TP + FN): share of this class that was found.
    pub recall: f64,
    /// 2 TP / (2 TP + FP + FN), the harmonic mean of the two.
    pub f1: f64,
    /// TP + FN: number of examples of this class.
    pub support: usize,
}

impl Counts {
    /// Counts the examples of `class`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn of(gold: &[usize], predicted: &[usize], class: usize) -> Self {
        assert_same_length(gold, predicted);
        let mut counts = Self::default();
        for (&g, &p) in gold.iter().zip(predicted) {
            counts.both += usize::from(g == class && p == class);
            counts.gold += usize::from(g == class);
            counts.predicted += usize::from(p == class);
        }
        counts
    }

    /// The ratios of these counts; one whose denominator is zero is 0.
    pub fn scores(self) -> PrecisionRecallF1 {
        PrecisionRecallF1 {
            precision: ratio(self.both, self.predicted),
            recall: ratio(self.both, self.gold),
            f1: ratio(2 * self.both, self.gold + self.predicted),
            support: self.gold,
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            gold: self.gold + other.gold,
            predicted: self.predicted + other.predicted,
            both: self.both + other.both,
        }
    }
}

/// `part / whole`, and 0 where `whole` is 0 (scikit-learn's `zero_division=0`).
pub(super) fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[track_caller]
pub(super) fn assert_same_length<T, U>(gold: &[T], predicted: &[U]) {
    assert_eq!(
        gold.len(),
        predicted.len(),
        "gold and predicted values differ in length"
    );
}
