//! How much of what is computed is real, with length bucketing and without.

use totune_data::{BatchPlan, Fill};

use super::grid::{BATCH, MAX_LENGTH};
use super::results::Share;
use super::{Bench, encoded};

/// GLUE without WNLI: the whole card, and one of a part of the file.
const TASKS: [&[&str]; 8] = [
    &["cola"],
    &["sst-2"],
    &["mrpc"],
    &["sts-b"],
    &["qqp", "qqp-subset"],
    &["mnli", "mnli-subset"],
    &["qnli", "qnli-subset"],
    &["rte"],
];

/// Shares of the tasks whose training file is there, as one of its cards describes it.
pub fn shares(bench: &Bench) -> Vec<Share> {
    let of = |cards: &&[&str]| {
        let mut why = None;
        for name in *cards {
            match encoded(bench, name, "train", MAX_LENGTH) {
                Ok((_, texts)) => {
                    let lengths: Vec<usize> = texts.iter().map(|text| text.ids.len()).collect();
                    return Some(share(name, &lengths));
                }
                Err(error) => why = Some(error),
            }
        }
        let why = why.map(|error| format!("{error:#}")).unwrap_or_default();
        let line = why.lines().next().unwrap_or_default();
        eprintln!(
            "{}: left out of the shares of real tokens: {line}",
            cards[0]
        );
        None
    };
    TASKS.iter().filter_map(of).collect()
}

/// Of the first epoch with seed 1.
fn share(dataset: &str, lengths: &[usize]) -> Share {
    let of = |bucketing| {
        let plan = BatchPlan {
            size: BATCH,
            bucketing,
        };
        Fill::of(&plan.shuffled(lengths, 1, 0), lengths).share()
    };
    Share {
        dataset: dataset.to_string(),
        examples: lengths.len(),
        bucketed: of(true),
        random: of(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucketing_leaves_less_padding_and_equal_lengths_none() {
        let mixed: Vec<usize> = (0..2000).map(|i| 5 + i * 7919 % 120).collect();
        let found = share("mixed", &mixed);
        assert!(found.random < 0.6 && found.bucketed > 0.95, "{found:?}");
        let equal = share("equal", &[9; 100]);
        assert_eq!((equal.bucketed, equal.random), (1.0, 1.0));
    }
}
