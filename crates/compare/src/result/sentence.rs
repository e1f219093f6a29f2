//! The result of a comparison in words.

use super::caveats::{imbalance_hint, no_better, unbeaten, untrained, with_interval};
use super::row::Row;
use crate::floors::MAJORITY;
use crate::scorer::Estimate;

/// Names of the rows that the sentence always mentions.
const ALWAYS: [&str; 4] = ["full", "frozen", "vectors", "words"];

/// The result in a sentence or two, with the score of the chosen row by `metric`; `stopped` where the comparison was
/// interrupted.
pub(crate) fn sentence(
    rows: &[Row],
    chosen: usize,
    (metric, score): (&str, Estimate),
    margin: f64,
    stopped: bool,
) -> String {
    let best = &rows[chosen];
    let unbeaten = unbeaten(rows, chosen);
    let mut parts = vec![match unbeaten {
        Some(majority) => no_better(majority, rows, chosen, (metric, score)),
        None => format!(
            "{}: {metric} {}",
            capital(&best.title),
            with_interval(score)
        ),
    }];
    let full = rows
        .iter()
        .find(|row| row.is_full_on_encoder_of(best) && !row.unlearned);
    // All of them train for about the same time; what they differ in is how far they come in it.
    if let (Some(full), Some(seconds)) = (full, best.seconds_per_example())
        && best.name != full.name
        && let Some(of_full) = full.seconds_per_example()
    {
        let percent = 100.0 * seconds / of_full;
        parts[0] += &format!(", at {percent:.0} % of the time of full fine-tuning per epoch");
    }
    let others = rows.iter().enumerate();
    let others = others.filter(|(at, row)| *at != chosen && row.name != MAJORITY);
    let mut others: Vec<&Row> = others.map(|(_, row)| row).collect();
    // The second best is mentioned even if it is not one of those.
    let score = |row: &Row| row.deciding().unwrap_or(f64::NEG_INFINITY);
    others.sort_by(|a, b| score(b).total_cmp(&score(a)));
    let second = others.iter().find(|row| !row.is_partial);
    let second = second.map(|row| row.name.clone());
    // Those of other encoders would make the sentence as long as the table. A regression on words has none, and the
    // best encoder is near it.
    let of_others = others.iter().find_map(|row| row.encoder.as_ref());
    let near = best.encoder.as_ref().or(of_others);
    for row in others {
        let is_near = row.encoder.is_none() || row.encoder.as_ref() == near;
        let is_named = is_near && ALWAYS.contains(&row.strategy());
        let is_named = is_named || second.as_ref() == Some(&row.name);
        match (row.relation(margin), &row.note) {
            _ if !is_named => {}
            (Some(relation), _) => parts.push(format!("{} {relation}", row.noun)),
            (None, Some(note)) if row.unlearned => parts.push(format!("{} {note}", row.noun)),
            (None, _) => {}
        }
    }
    let hint = unbeaten.and_then(|majority| imbalance_hint(majority, metric));
    let sentences = [format!("{}.", parts.join("; "))].into_iter();
    let sentences = sentences.chain(hint).chain(untrained(rows, stopped));
    sentences.collect::<Vec<_>>().join(" ")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// The number of additional test examples that would decide a difference, if it is as large as it looks: the interval
/// shrinks with the square root of their number. `None` where it is decided or close to zero.
fn examples_to_decide(found: Estimate, n: usize) -> Option<usize> {
    let half = (found.high - found.low) / 2.0;
    let decided = found.low > 0.0 || found.high < 0.0;
    (!decided && found.value.abs() > half / 10.0).then(|| {
        let times = (half / found.value.abs()).powi(2);
        ((times - 1.0) * n as f64).ceil().max(1.0) as usize
    })
}

/// A note with the number of test examples, in addition to `n`, that would decide between the choice and a row; none
/// where that is decided or close to zero.
pub(crate) fn examples_note(row: &Row, n: usize) -> Option<String> {
    let found = row
        .difference
        .filter(|_| row.name != MAJORITY && !row.is_partial && !row.is_after_same_time)?;
    let more = examples_to_decide(found, n)?;
    // The bootstrap is not as exact as a handful of examples.
    let more = match more {
        0..10 => "A few".to_owned(),
        more => format!("About {more}"),
    };
    Some(format!(
        "{more} more test examples would decide between the choice and {}, if they differ by {:.3}.",
        row.noun,
        found.value.abs()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::NO_TIME;

    fn row(
        (name, noun): (&str, &str),
        dev: f64,
        test: f64,
        difference: Option<(f64, f64, f64)>,
        seconds: f64,
    ) -> Row {
        let estimate = |(value, low, high)| Estimate { value, low, high };
        Row {
            name: name.into(),
            title: "fine-tune the last 2 layers".into(),
            noun: noun.into(),
            is_strategy: true,
            beats_majority: true,
            dev: Some(dev),
            test: Some(estimate((test, test - 0.01, test + 0.01))),
            difference: difference.map(estimate),
            train_seconds: Some(seconds),
            examples: 1000,
            epochs: 2,
            ..Row::default()
        }
    }

    fn last_2() -> Row {
        let name = ("last-2", "fine-tuning the last 2 layers");
        row(name, 0.85, 0.842, None, 41.0)
    }

    #[test]
    fn the_sentence_has_the_choice_and_what_others_would_give() {
        let rows = [
            row(
                (MAJORITY, "the majority class"),
                0.5,
                0.5,
                Some((-0.3, -0.4, -0.2)),
                0.0,
            ),
            row(
                ("vectors", "a regression on frozen vectors"),
                0.8,
                0.79,
                Some((-0.05, -0.07, -0.03)),
                1.0,
            ),
            last_2(),
            row(
                ("full", "full fine-tuning"),
                0.846,
                0.838,
                Some((-0.004, -0.015, 0.007)),
                100.0,
            ),
            row(("lora", "LoRA"), 0.7, 0.7, Some((-0.14, -0.2, -0.1)), 100.0),
        ];
        assert_eq!(
            sentence(&rows, 2, ("accuracy", rows[2].test.unwrap()), 0.01, false),
            "Fine-tune the last 2 layers: accuracy 0.842 [0.832, 0.852], at 41 % of the time of full fine-tuning per epoch; \
             full fine-tuning is not better by more than 0.01; a regression on frozen vectors loses 0.050."
        );
    }

    #[test]
    fn with_folds_the_second_best_is_that_by_the_same_scores() {
        let of_folds = |(name, score, difference)| {
            let mut row = row((name, name), score, score, difference, 9.0);
            row.dev = None;
            row
        };
        let loses = Some((-0.1, -0.2, -0.05));
        let mut rows = [
            ("words", 0.70, loses),
            ("last-2", 0.84, None),
            ("bitfit", 0.60, loses),
            ("lora", 0.83, Some((-0.01, -0.05, 0.03))),
            ("prefix", 0.90, loses),
        ]
        .map(of_folds);
        rows[4].is_partial = true;
        let sentence = sentence(&rows, 1, ("accuracy", rows[1].test.unwrap()), 0.01, false);
        assert!(
            sentence.contains("; lora may be worse or better"),
            "{sentence}"
        );
        assert!(
            !sentence.contains("bitfit") && !sentence.contains("prefix"),
            "{sentence}"
        );
    }

    #[test]
    fn of_several_encoders_only_that_of_the_choice_is_compared_in_full() {
        let on = |encoder: &str, name: &str, dev: f64, difference| {
            let (name, noun) = (
                format!("{name} on {encoder}"),
                format!("{name} on {encoder}"),
            );
            let mut row = row((&name, &noun), dev, dev, difference, 10.0);
            row.encoder = Some(encoder.to_string());
            row.title = name;
            row
        };
        let loses = Some((-0.1, -0.12, -0.08));
        let rows = [
            on("large", "last-2", 0.85, None),
            on("large", "full", 0.75, loses),
            on("large", "lora", 0.74, loses),
            on("small", "full", 0.76, loses),
            on("small", "vectors", 0.70, loses),
        ];
        assert_eq!(
            sentence(&rows, 0, ("accuracy", rows[0].test.unwrap()), 0.01, false),
            "Last-2 on large: accuracy 0.850 [0.840, 0.860], at 100 % of the time of full fine-tuning per epoch; \
             full on small loses 0.100; full on large loses 0.100."
        );
    }

    #[test]
    fn next_to_a_regression_on_words_the_best_encoder_is_compared() {
        let better = Some((0.01, -0.01, 0.03));
        let mut rows = [
            row(("words", "words"), 0.80, 0.76, None, 0.1),
            row(("frozen on small", "frozen"), 0.79, 0.77, better, 9.0),
            row(("vectors on small", "vectors"), 0.78, 0.78, better, 9.0),
            row(("vectors on large", "others"), 0.77, 0.78, better, 9.0),
        ];
        for (row, encoder) in rows[1..].iter_mut().zip(["small", "small", "large"]) {
            row.encoder = Some(encoder.into());
        }
        let sentence = sentence(&rows, 0, ("accuracy", rows[0].test.unwrap()), 0.01, false);
        assert!(
            sentence.contains("; vectors may be worse or better"),
            "{sentence}"
        );
        assert!(!sentence.contains("others"), "{sentence}");
    }

    #[test]
    fn that_no_strategy_had_time_is_said() {
        let said = |note: Option<&str>, test: Option<Estimate>, stopped: bool| {
            let mut rows = [
                row(("words", "words"), 0.8, 0.8, None, 0.1),
                row(("full", "full"), 0.7, 0.7, None, 9.0),
            ];
            rows[0].is_strategy = false;
            rows[1].note = note.map(str::to_string);
            rows[1].test = test;
            let score = ("accuracy", rows[0].test.unwrap());
            sentence(&rows, 0, score, 0.01, stopped)
        };
        assert!(said(Some(NO_TIME), None, false).contains("a larger `--budget`"));
        assert!(said(Some(NO_TIME), None, true).contains("It was interrupted before any"));
        assert!(!said(Some("diverged at every learning rate"), None, false).contains("--budget"));
        let trained = Estimate {
            value: 0.7,
            low: 0.6,
            high: 0.8,
        };
        assert!(!said(None, Some(trained), true).contains("interrupted"));
    }

    #[test]
    fn a_choice_that_is_not_shown_to_be_better_than_the_majority_is_not_recommended() {
        let majority = ("majority", "the majority class");
        let words = ("words", "a regression on word counts");
        let said = |of_majority: f64, beat: [bool; 2], chosen: usize| {
            let mut rows = [
                row(majority, of_majority, of_majority, None, 0.0),
                row(words, 0.96, 0.963, None, 0.1),
                row(("lora", "LoRA"), 0.95, 0.95, None, 9.0),
            ];
            rows[0].title = "predict the majority class".into();
            for (row, beats) in rows.iter_mut().zip([false, beat[0], beat[1]]) {
                row.beats_majority = beats;
            }
            sentence(
                &rows,
                chosen,
                ("accuracy", rows[chosen].test.unwrap()),
                0.01,
                false,
            )
        };
        let hint = " Accuracy says little where one label is so frequent: put `f1-macro` first in `metrics` of the card, \
                    perhaps with `loss = { class-weights = \"balanced\" }`.";
        let nothing = "Nothing is shown to be better than predicting the majority class";
        let choice = "the choice, a regression on word counts, has 0.963 [0.953, 0.973].";
        assert_eq!(
            said(0.963, [false; 2], 1),
            format!("{nothing} (accuracy 0.963): {choice}{hint}")
        );
        assert_eq!(
            said(0.963, [false; 2], 0),
            format!("{nothing}: accuracy 0.963 [0.953, 0.973].{hint}")
        );
        // With labels that are about as frequent the metric is not the reason.
        assert_eq!(
            said(0.5, [false; 2], 1),
            format!("{nothing} (accuracy 0.500): {choice}")
        );
        assert_eq!(
            said(0.5, [false, true], 1),
            format!(
                "The choice is not shown to be better than predicting the majority class (accuracy 0.500): {choice}"
            )
        );
        assert!(said(0.5, [true; 2], 1).starts_with("Fine-tune the last 2 layers: accuracy 0.963"));
    }

    #[test]
    fn a_strategy_that_learned_nothing_is_not_compared() {
        let mut full = row(("full", "full fine-tuning"), 0.5, 0.5, None, 5.0);
        full.unlearned = true;
        full.note = Some("learned nothing in 5 s".into());
        let rows = [last_2(), full];
        assert_eq!(
            sentence(&rows, 0, ("accuracy", rows[0].test.unwrap()), 0.01, false),
            "Fine-tune the last 2 layers: accuracy 0.842 [0.832, 0.852]; full fine-tuning learned nothing in 5 s."
        );
    }

    #[test]
    fn more_examples_shrink_an_interval_by_the_root_of_their_number() {
        let found = |value, half| Estimate {
            value,
            low: value - half,
            high: value + half,
        };
        assert_eq!(examples_to_decide(found(0.01, 0.02), 1000), Some(3000));
        assert_eq!(examples_to_decide(found(0.02, 0.01), 1000), None);
        assert_eq!(examples_to_decide(found(0.0, 0.01), 1000), None);
    }
}
