//! The answer: which strategy, how sure, and what the others would have given.

use anyhow::{Context, Result};
use serde::Serialize;
use totune_adapt::Recipe;

use crate::answers::{Answers, Estimate, Scorer};
use crate::desk::Trained;
use crate::floors::Ground;
use crate::race::Entrant;
use crate::strategies::recipe;

/// Examples that were learned from, and the score on dev after it.
pub type LearningCurve = Vec<(usize, f64)>;

/// What a comparison found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Answer {
    /// Name of the dataset.
    pub dataset: String,
    /// For people.
    pub title: String,
    /// Whether committed fixtures were read, so that nothing here means anything.
    pub fixture: bool,
    /// Name of the encoder.
    pub encoder: String,
    /// What scores are of.
    pub metric: String,
    /// Differences up to this one do not matter.
    pub margin: f64,
    /// The answer in a sentence.
    pub sentence: String,
    /// Name of the chosen row; none where nothing could be compared.
    pub chosen: Option<String>,
    /// Floors, then strategies.
    pub rows: Vec<Row>,
    /// Scores on dev after learning from a part of the data: examples and score, the most last.
    pub learning_curve: LearningCurve,
    /// What a reader should know of the data and its parts.
    pub notes: Vec<String>,
    /// Seconds that were given.
    pub budget_seconds: f64,
    /// Seconds that it took.
    pub spent_seconds: f64,
    /// Whether it was stopped before it was done.
    pub stopped: bool,
}

/// A floor or a strategy.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Row {
    /// Its name in results.
    pub name: String,
    /// What one does, as the end of "the best was to …".
    pub title: String,
    /// Its name as the subject of a sentence.
    pub noun: String,
    /// Whether it trains the encoder, or a head on it.
    pub is_strategy: bool,
    /// What trains such a model; none of a floor, and of a strategy that had no time.
    #[serde(skip)]
    pub recipe: Option<Recipe>,
    /// Mean score on what is chosen on.
    pub dev: Option<f64>,
    /// Mean score on what is reported on.
    pub test: Option<Estimate>,
    /// That score minus the one of the chosen row, on the same examples.
    pub difference: Option<Estimate>,
    /// Learning rate.
    pub learning_rate: Option<f64>,
    /// Models that were trained for the score.
    pub seeds: usize,
    /// Passes over how many examples each learned from.
    pub epochs: usize,
    /// Those examples.
    pub examples: usize,
    /// Median seconds of training one model.
    pub train_seconds: Option<f64>,
    /// Share of the parameters that are trained.
    pub trained_share: Option<f64>,
    /// Why it has no score, or fewer models than others.
    pub note: Option<String>,
    /// Seconds and score on dev along the run of the median score.
    pub course: Vec<(f64, f64)>,
}

/// What rows are made of.
pub(crate) struct Side<'a> {
    pub row: Row,
    pub on_dev: Vec<&'a Answers>,
    pub on_test: Vec<&'a Answers>,
}

impl<'a> Side<'a> {
    pub fn of_floor(ground: &'a Ground, scorer: &Scorer) -> Self {
        let on_dev: Vec<&Answers> = ground.on_dev.iter().collect();
        Self {
            row: Row {
                name: ground.name.to_string(),
                title: ground.title.to_string(),
                noun: ground.noun.to_string(),
                is_strategy: false,
                recipe: None,
                dev: on_dev.first().map(|answers| scorer.score(answers)),
                test: None,
                difference: None,
                learning_rate: None,
                seeds: 1,
                epochs: 0,
                examples: ground.examples,
                train_seconds: Some(ground.seconds),
                trained_share: None,
                note: None,
                course: Vec::new(),
            },
            on_dev,
            on_test: ground.on_test.iter().collect(),
        }
    }

    pub fn of_strategy(entrant: &'a Entrant) -> Self {
        let runs = entrant.runs();
        let seconds: Vec<f64> = runs.iter().map(|run| run.train_seconds).collect();
        let first = runs.first();
        let share = |run: &&Trained| run.params_trained as f64 / run.params_total.max(1) as f64;
        Self {
            row: Row {
                name: entrant.strategy.to_string(),
                title: entrant.strategy.advice(),
                noun: entrant.strategy.noun(),
                is_strategy: true,
                recipe: first.map(|run| recipe(entrant.strategy, entrant.lr, run.size.epochs)),
                dev: entrant.dev(),
                test: None,
                difference: None,
                learning_rate: Some(entrant.lr),
                seeds: runs.len(),
                epochs: first.map_or(0, |run| run.size.epochs),
                examples: first.map_or(0, |run| run.size.examples),
                train_seconds: (!seconds.is_empty()).then(|| totune_stats::quartiles(&seconds)[2]),
                trained_share: first.map(share),
                note: entrant.out.clone(),
                course: median(&runs)
                    .map(|run| run.course.clone())
                    .unwrap_or_default(),
            },
            on_dev: runs.iter().filter_map(|run| run.on_dev.as_ref()).collect(),
            on_test: runs.iter().filter_map(|run| run.on_test.as_ref()).collect(),
        }
    }
}

/// The run of the median score on dev.
fn median<'a>(runs: &[&'a Trained]) -> Option<&'a Trained> {
    let mut runs: Vec<&Trained> = runs.to_vec();
    runs.sort_by(|a, b| a.dev.unwrap_or(0.0).total_cmp(&b.dev.unwrap_or(0.0)));
    runs.get(runs.len().saturating_sub(1) / 2).copied()
}

/// Chooses on dev and scores on test; the place of the chosen side, if one can be chosen.
///
/// The highest mean on dev is chosen, and of those that are equivalent to it (the interval of the difference lies within
/// the margin) the cheapest.
pub(crate) fn choose(sides: &mut [Side], scorer: &Scorer, margin: f64) -> Result<Option<usize>> {
    for side in sides.iter_mut().filter(|side| !side.on_test.is_empty()) {
        side.row.test = Some(scorer.mean(&side.on_test)?);
    }
    let candidates: Vec<usize> = (0..sides.len())
        .filter(|&at| sides[at].row.test.is_some() && !sides[at].on_dev.is_empty())
        .collect();
    // Of folds there is no other part to choose on.
    let own = |row: &Row| row.test.map(|test| test.value);
    let dev = |at: usize| {
        sides[at]
            .row
            .dev
            .or(own(&sides[at].row))
            .unwrap_or(f64::NEG_INFINITY)
    };
    let Some(best) = candidates
        .iter()
        .copied()
        .max_by(|&a, &b| dev(a).total_cmp(&dev(b)))
    else {
        return Ok(None);
    };
    let seconds = |at: usize| sides[at].row.train_seconds.unwrap_or(f64::INFINITY);
    let mut chosen = best;
    for &at in candidates.iter().filter(|&&at| at != best) {
        let found = scorer.difference(&sides[at].on_dev, &sides[best].on_dev)?;
        let equivalent = found.low >= -margin && found.high <= margin;
        if equivalent && seconds(at) < seconds(chosen) {
            chosen = at;
        }
    }
    let of_chosen = sides[chosen].on_test.clone();
    for (at, side) in sides.iter_mut().enumerate() {
        if at != chosen && !side.on_test.is_empty() {
            side.row.difference = Some(scorer.difference(&side.on_test, &of_chosen)?);
        }
    }
    Ok(Some(chosen))
}

/// The answer in a sentence.
///
/// # Errors
/// When the chosen row has no score.
pub(crate) fn sentence(rows: &[Row], chosen: usize, metric: &str, margin: f64) -> Result<String> {
    let best = &rows[chosen];
    let test = best.test.context("the chosen strategy has no score")?;
    let mut said = vec![format!(
        "{}: {metric} {:.3} [{:.3}, {:.3}]",
        capital(&best.title),
        test.value,
        test.low,
        test.high
    )];
    let full = rows.iter().find(|row| row.name == "full");
    if let (Some(full), Some(seconds)) = (full, best.train_seconds)
        && best.name != "full"
        && let Some(of_full) = full.train_seconds.filter(|of_full| *of_full > 0.0)
    {
        let percent = 100.0 * seconds / of_full;
        said[0] += &format!(", {percent:.0} % of the training time of full fine-tuning");
    }
    let named = ["full", "frozen", "vectors", "words"];
    let others = rows.iter().enumerate();
    let others = others.filter(|(at, row)| *at != chosen && row.name != "majority");
    let mut others: Vec<&Row> = others.map(|(_, row)| row).collect();
    // The next best on dev may be another one than those that everybody asks about.
    others.sort_by(|a, b| b.dev.unwrap_or(-1.0).total_cmp(&a.dev.unwrap_or(-1.0)));
    let next = others.first().map(|row| row.name.clone());
    for row in others {
        let asked = named.contains(&row.name.as_str()) || next.as_ref() == Some(&row.name);
        if let Some(found) = row.difference.filter(|_| asked) {
            said.push(format!("{} {}", row.noun, relation(found, margin)));
        }
    }
    Ok(format!("{}.", said.join("; ")))
}

/// What a difference to the chosen row says.
pub(crate) fn relation(found: Estimate, margin: f64) -> String {
    let Estimate { value, low, high } = found;
    if low > 0.0 {
        format!("is better by {value:.3} on the examples that are reported on")
    } else if high < 0.0 {
        format!("loses {:.3}", -value)
    } else if low >= -margin && high <= margin {
        format!("is as good within {margin}")
    } else if high <= margin {
        format!("is not better by more than {margin}")
    } else {
        format!("is not decided (from {low:+.3} to {high:+.3})")
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// How many more examples to report on would decide a difference that is not decided, if it is as large as it looks: the
/// interval shrinks with the root of their number. `None` where it is decided or looks like nothing.
fn examples_to_decide(found: Estimate, n: usize) -> Option<usize> {
    let half = (found.high - found.low) / 2.0;
    let decided = found.low > 0.0 || found.high < 0.0;
    (!decided && found.value.abs() > half / 10.0).then(|| {
        let times = (half / found.value.abs()).powi(2);
        ((times - 1.0) * n as f64).ceil().max(1.0) as usize
    })
}

/// What would decide between the choice and a row that is not decided, for people; `n` examples were reported on.
pub(crate) fn what_would_decide(row: &Row, n: usize) -> Option<String> {
    let found = row.difference.filter(|_| row.name != "majority")?;
    let more = examples_to_decide(found, n)?;
    Some(format!(
        "About {more} more examples to report on would decide between the choice and {}, if they differ by {:.3}.",
        row.noun,
        found.value.abs()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            recipe: None,
            dev: Some(dev),
            test: Some(estimate((test, test - 0.01, test + 0.01))),
            difference: difference.map(estimate),
            learning_rate: None,
            seeds: 3,
            epochs: 1,
            examples: 10,
            train_seconds: Some(seconds),
            trained_share: None,
            note: None,
            course: Vec::new(),
        }
    }

    #[test]
    fn the_sentence_says_what_was_chosen_and_what_others_would_give() {
        let rows = [
            row(
                ("majority", "the majority class"),
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
            row(
                ("last-2", "fine-tuning the last 2 layers"),
                0.85,
                0.842,
                None,
                41.0,
            ),
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
            sentence(&rows, 2, "accuracy", 0.01).unwrap(),
            "Fine-tune the last 2 layers: accuracy 0.842 [0.832, 0.852], 41 % of the training time of full fine-tuning; \
             full fine-tuning is not better by more than 0.01; a regression on frozen vectors loses 0.050."
        );
    }

    #[test]
    fn a_difference_is_told_by_its_interval() {
        for ((value, low, high), said) in [
            (
                (0.02, 0.01, 0.03),
                "is better by 0.020 on the examples that are reported on",
            ),
            ((-0.02, -0.03, -0.01), "loses 0.020"),
            ((0.0, -0.005, 0.005), "is as good within 0.01"),
            ((-0.01, -0.03, 0.008), "is not better by more than 0.01"),
            (
                (0.01, -0.01, 0.03),
                "is not decided (from -0.010 to +0.030)",
            ),
        ] {
            assert_eq!(relation(Estimate { value, low, high }, 0.01), said);
        }
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
