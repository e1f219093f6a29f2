//! Reasons not to recommend the choice: nothing is better than the most frequent answer, or no strategy was
//! trained. The tests are those of the sentence.

use super::row::Row;
use crate::floors::MAJORITY;
use crate::runner::NO_TIME;
use crate::scorer::Estimate;

/// Accuracy of the most frequent label from which on it leaves little room for a difference.
const FREQUENT: f64 = 0.8;

/// A sentence for the reader where no strategy has a score: the choice is one among baselines.
pub(crate) fn untrained(rows: &[Row], stopped: bool) -> Option<String> {
    let mut strategies = rows.iter().filter(|row| row.is_strategy);
    if strategies.clone().any(|row| row.test.is_some()) {
        return None;
    }
    if stopped {
        return Some(
            "It was interrupted before any strategy that trains on the encoder had a score.".into(),
        );
    }
    let is_short = strategies.any(|row| row.note.as_deref() == Some(NO_TIME));
    is_short.then(|| {
        "No strategy that trains on the encoder had time: a larger `--budget` lets them take part."
            .into()
    })
}

/// The row of the most frequent answer, where the choice is that or not shown to be better.
pub(crate) fn unbeaten(rows: &[Row], chosen: usize) -> Option<&Row> {
    let majority = rows.iter().find(|row| row.name == MAJORITY)?;
    (majority.test.is_some() && !rows[chosen].beats_majority).then_some(majority)
}

/// The first part of the sentence where the choice is not shown to be better than the most frequent answer.
pub(crate) fn no_better(
    majority: &Row,
    rows: &[Row],
    chosen: usize,
    (metric, score): (&str, Estimate),
) -> String {
    let floor = majority.title.replacen("predict", "predicting", 1);
    let score = with_interval(score);
    if rows[chosen].name == MAJORITY {
        return format!("Nothing is shown to be better than {floor}: {metric} {score}");
    }
    let subject = if rows.iter().any(|row| row.beats_majority) {
        "The choice is not"
    } else {
        "Nothing is"
    };
    let of_floor = majority.test.map_or(f64::NAN, |test| test.value);
    format!(
        "{subject} shown to be better than {floor} ({metric} {of_floor:.3}): the choice, {}, has {score}",
        rows[chosen].noun
    )
}

/// A hint where nearly all examples have one label, of which accuracy tells little.
pub(crate) fn imbalance_hint(majority: &Row, metric: &str) -> Option<String> {
    let is_frequent = majority.test.is_some_and(|test| test.value >= FREQUENT);
    (metric == "accuracy" && is_frequent).then(|| {
        "Accuracy says little where one label is so frequent: put `f1-macro` first in `metrics` of the card, perhaps with \
         `loss = { class-weights = \"balanced\" }`."
            .to_string()
    })
}

/// "0.842 [0.832, 0.852]".
pub(crate) fn with_interval(score: Estimate) -> String {
    let Estimate { value, low, high } = score;
    format!("{value:.3} [{low:.3}, {high:.3}]")
}
