//! Measures: the numbers of a run that a column, a panel or a claim can be about.

/// The split whose scores a task is judged by.
pub const TEST: &str = "test";
/// The split whose scores settings are chosen by.
pub const DEV: &str = "dev";

/// A number of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Measure {
    /// The final score of a metric on a split.
    Score {
        /// Such as `accuracy`.
        metric: String,
        /// Such as `test`.
        split: String,
    },
    /// A number that stands in the run's row, such as `train_seconds`.
    Field {
        /// Its dotted path.
        field: String,
    },
}

impl Measure {
    /// The final score of `metric` on `split`.
    pub fn score(metric: &str, split: &str) -> Self {
        Self::Score {
            metric: metric.to_owned(),
            split: split.to_owned(),
        }
    }
}
