//! The choice among floors and strategies, and how far the others are from it.

use anyhow::Result;

use super::row::ScoredRow;
use crate::floors::MAJORITY;
use crate::predictions::Predictions;
use crate::scorer::{Estimate, Scorer};

/// Flags the strategies that are no better than the most frequent answer by more than `margin`, nor shown to be better than it:
/// that they lose to others would be a statement about their time and not about them.
fn mark_unlearned(rows: &mut [ScoredRow], margin: f64) {
    let majority = rows.iter().find(|scored| scored.row.name == MAJORITY);
    // The correlation is undefined if all predictions are equal.
    let floor = majority.and_then(|scored| scored.row.deciding());
    let floor = floor.filter(|score| score.is_finite()).unwrap_or(0.0);
    for row in rows.iter_mut().map(|scored| &mut scored.row) {
        let is_near = row.deciding().is_some_and(|score| score <= floor + margin);
        row.unlearned = row.is_strategy && is_near && !row.beats_majority;
        if row.unlearned {
            let seconds = row.train_seconds.unwrap_or(0.0);
            row.note = Some(format!("learned nothing in {seconds:.0} s"));
        }
    }
}

/// Chooses a row on dev and scores all on test; the index of the choice, if there is one.
///
/// The highest mean dev score is chosen, and of those that are equivalent to it (the interval of the difference lies within
/// the margin) the one that trains fastest.
pub(crate) fn choose(
    rows: &mut [ScoredRow],
    scorer: &Scorer,
    margin: f64,
) -> Result<Option<usize>> {
    for scored in rows.iter_mut().filter(|one| !one.on_test.is_empty()) {
        scored.row.test = Some(scorer.mean(&scored.on_test)?);
    }
    mark_better(rows, scorer)?;
    mark_unlearned(rows, margin);
    let candidates: Vec<usize> = (0..rows.len())
        .filter(|&at| rows[at].row.test.is_some() && !rows[at].on_dev.is_empty())
        .filter(|&at| rows[at].part.is_none())
        .collect();
    let score = |at: usize| rows[at].row.deciding().unwrap_or(f64::NEG_INFINITY);
    let seconds = |at: usize| rows[at].row.train_seconds.unwrap_or(f64::INFINITY);
    let order = |&a: &usize, &b: &usize| {
        let by_score = score(a).total_cmp(&score(b));
        by_score.then(seconds(b).total_cmp(&seconds(a)))
    };
    let Some(best) = candidates.iter().copied().max_by(order) else {
        return Ok(None);
    };
    let mut chosen = best;
    for &at in candidates.iter().filter(|&&at| at != best) {
        let found = scorer.difference(&rows[at].on_dev, &rows[best].on_dev)?;
        let is_equivalent = found.low >= -margin && found.high <= margin;
        if is_equivalent && seconds(at) < seconds(chosen) {
            chosen = at;
        }
    }
    let (before, after) = rows.split_at_mut(chosen);
    let Some((chosen_row, after)) = after.split_first_mut() else {
        return Ok(None);
    };
    for other in before.iter_mut().chain(after) {
        if !other.on_test.is_empty() && !other.row.unlearned {
            let (difference, is_after_same_time) = difference(other, chosen_row, scorer)?;
            other.row.difference = Some(difference);
            other.row.is_after_same_time = is_after_same_time;
        }
    }
    Ok(Some(chosen))
}

/// Flags the rows that are better than the most frequent answer on the same test examples.
fn mark_better(rows: &mut [ScoredRow], scorer: &Scorer) -> Result<()> {
    let mut named = rows.iter();
    let majority = named.position(|one| one.row.name == MAJORITY && !one.on_test.is_empty());
    let Some(majority) = majority else {
        return Ok(());
    };
    for at in (0..rows.len()).filter(|&at| at != majority) {
        if !rows[at].on_test.is_empty() {
            let (found, _) = difference(&rows[at], &rows[majority], scorer)?;
            rows[at].row.beats_majority = found.low > 0.0;
        }
    }
    Ok(())
}

/// The test score of a row minus that of the choice on the same examples, and whether it is that after the same time:
/// a strategy that left the race before the last stage would lose to one that did not by its shorter training alone.
fn difference(own: &ScoredRow, chosen: &ScoredRow, scorer: &Scorer) -> Result<(Estimate, bool)> {
    let differ = own.is_of_last != chosen.is_of_last;
    let at_same_time = differ && own.row.is_strategy && chosen.row.is_strategy;
    let of_own = own.on_test_or_before(at_same_time);
    let mut of_chosen = chosen.on_test_or_before(at_same_time);
    let on_part: Vec<Predictions>;
    if let Some(part) = own.part {
        on_part = of_chosen.iter().map(|all| all.part(part)).collect();
        of_chosen = on_part.iter().collect();
    }
    let has_before = own.before.or(chosen.before).is_some();
    Ok((
        scorer.difference(&of_own, &of_chosen)?,
        at_same_time && has_before,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::row::Row;
    use crate::test_support::{dataset, predictions};

    /// A strategy with the predictions of a model, after a shorter training first where it reached the last stage.
    fn strategy<'a>(
        name: &str,
        dev: f64,
        on_test: &'a Predictions,
        before: Option<&'a Predictions>,
    ) -> ScoredRow<'a> {
        let row = Row {
            name: name.into(),
            is_strategy: name != "words",
            dev: Some(dev),
            train_seconds: Some(1.0),
            ..Row::default()
        };
        ScoredRow {
            on_dev: vec![on_test],
            on_test: vec![on_test],
            is_of_last: before.is_some(),
            before,
            ..ScoredRow::without_scores(row)
        }
    }

    #[test]
    fn strategies_are_compared_after_the_same_time() {
        let every = |wrong: usize| predictions(1000, |at| at.is_multiple_of(wrong));
        let (good, medium, bad) = (every(10), every(5), every(4));
        let mut rows = [
            strategy("full", 0.9, &good, Some(&medium)),
            strategy("lora", 0.89, &medium, Some(&bad)),
            strategy("frozen", 0.75, &bad, None),
            strategy("words", 0.75, &bad, None),
        ];
        let scorer = Scorer::of(&dataset(4)).unwrap();
        let chosen = choose(&mut rows, &scorer, 0.01).unwrap();
        assert_eq!(chosen, Some(0));
        let found = rows[1..].iter().map(|scored| {
            let difference = scored.row.difference.unwrap();
            let points = (difference.value * 100.0).round();
            (scored.row.is_after_same_time, points)
        });
        // Both of the last stage have all their time; a floor has none that could be the same.
        let expected = [(false, -10.0), (true, -5.0), (false, -15.0)];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_strategy_that_beats_a_frequent_majority_has_learned() {
        let majority = predictions(1000, |at| at < 10);
        let learned = |n_wrong: usize| {
            let other = predictions(1000, |at| at < n_wrong);
            let mut rows = [
                strategy(MAJORITY, 0.99, &majority, None),
                strategy("full", 1.0 - n_wrong as f64 / 1000.0, &other, None),
            ];
            choose(&mut rows, &Scorer::of(&dataset(4)).unwrap(), 0.01).unwrap();
            !rows[1].row.unlearned
        };
        assert_eq!([0, 9].map(learned), [true, false]);
    }

    #[test]
    fn what_is_better_than_the_majority_is_so_on_the_same_examples() {
        let better = |n_wrong: usize| {
            let (majority, other) = (
                predictions(300, |at| at.is_multiple_of(3)),
                predictions(300, |at| at < n_wrong),
            );
            let mut rows = [
                strategy(MAJORITY, 0.6, &majority, None),
                strategy("words", 0.7, &other, None),
            ];
            let scorer = Scorer::of(&dataset(4)).unwrap();
            assert_eq!(choose(&mut rows, &scorer, 0.01).unwrap(), Some(1));
            rows.map(|scored| scored.row.beats_majority)
        };
        assert_eq!(better(30), [false, true]);
        assert_eq!(better(97), [false, false]);
    }
}
