//! Shares of real tokens in batches, with length bucketing and without.

use std::fmt::Write as _;

use totune_data::{BatchPlan, Fill};

use super::Setting;
use super::grid::BATCH;

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

/// A table of the tasks whose training file is there, as one of their cards describes it.
pub fn section(setting: &Setting) -> String {
    let tasks: &[&[&str]] = if setting.desk.tiny {
        &[&["fixture-acceptability"]]
    } else {
        &TASKS
    };
    let mut text = format!(
        "## Share of real tokens\n\n\
         Batches of {BATCH}, each padded to its longest example; the first epoch of seed 1.\n\n\
         | training file | examples | random order | bucketed |\n|---|--:|--:|--:|\n"
    );
    for cards in tasks {
        let found = cards.iter().find_map(|name| {
            let (_, texts) = setting.encoded(name, "train").ok()?;
            Some((name, texts))
        });
        let Some((name, texts)) = found else {
            eprintln!("{}: left out of the table of padding, no file", cards[0]);
            continue;
        };
        let lengths: Vec<usize> = texts.iter().map(|text| text.ids.len()).collect();
        let [random, bucketed] = shares(&lengths).map(|share| share * 100.0);
        let _ = writeln!(
            text,
            "| {name} | {} | {random:.1} % | {bucketed:.1} % |",
            lengths.len()
        );
    }
    text
}

/// Shares for random order and for bucketing, in the first epoch with seed 1.
fn shares(lengths: &[usize]) -> [f64; 2] {
    [false, true].map(|bucketing| {
        let plan = BatchPlan {
            size: BATCH,
            bucketing,
        };
        Fill::of(&plan.shuffled(lengths, 1, 0), lengths).share()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucketing_leaves_less_padding_and_equal_lengths_none() {
        let mixed: Vec<usize> = (0..2000).map(|i| 5 + i * 7919 % 120).collect();
        let [random, bucketed] = shares(&mixed);
        assert!(random < 0.6 && bucketed > 0.95, "{random} {bucketed}");
        assert_eq!(shares(&[9; 100]), [1.0, 1.0]);
    }
}
