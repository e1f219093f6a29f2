//! How much of what is computed is real, with length bucketing and without.

use anyhow::Result;
use totune_data::{BatchPlan, Catalogue, Fill};

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

/// Shares of the tasks whose training file is there: of each the first card that finds one.
pub fn shares(bench: &Bench) -> Result<Vec<Share>> {
    let catalogue = Catalogue::read(&bench.project.root.join("datasets"))?;
    let mut shares = Vec::new();
    for cards in TASKS {
        let there = |name: &&&str| {
            let card = catalogue.find(name);
            card.is_ok_and(|card| card.missing(&bench.roots.data, &["train"]).is_none())
        };
        let Some(name) = cards.iter().find(there) else {
            eprintln!("{}: no training file below the data root", cards[0]);
            continue;
        };
        let (_, texts) = encoded(bench, name, "train", MAX_LENGTH)?;
        let lengths: Vec<usize> = texts.iter().map(|text| text.ids.len()).collect();
        shares.push(share(name, &lengths));
    }
    Ok(shares)
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
