//! A note on a training after which one answer for every example would have been as good on dev.

use totune_adapt::{Objective, Outcome, Prediction, Score, has_learned};
use totune_model::AnyEncoder;

/// Suggestions for the next training.
const HELP: &str = "More epochs (--epochs), another learning rate (--lr) or another strategy may help; `totune compare` tries \
                    several";

/// The note, where one answer would have been as good; the first of `metrics` is the main one.
pub(super) fn note(
    outcome: &Outcome<AnyEncoder>,
    objective: &Objective,
    metrics: &[String],
) -> Option<String> {
    if has_learned(&outcome.predictions, objective) {
        return None;
    }
    let on_dev = |score: &&Score| {
        score.is_final && score.split == "dev" && metrics.first() == Some(&score.metric)
    };
    let score = outcome.scores.iter().find(on_dev);
    let score = score.map(|score| (score.metric.as_str(), score.value));
    Some(match objective {
        Objective::Score {} => of_numbers(&outcome.predictions, score),
        _ => format!(
            "the model has learned nothing: on dev it is no better than one answer for every example. {HELP}"
        ),
    })
}

/// The note on predicted numbers. Their order may be learned, so that they correlate, and yet their errors be those of the
/// mean.
fn of_numbers(predictions: &[Prediction], score: Option<(&str, f64)>) -> String {
    let dev = predictions.iter().filter(|one| one.split == "dev");
    let values = dev.filter_map(|one| Some((one.gold.value()?, one.predicted.value()?)));
    let values: Vec<(f64, f64)> = values.collect();
    let n = values.len().max(1) as f64;
    let mean = values.iter().map(|(gold, _)| gold).sum::<f64>() / n;
    let error = |of: &dyn Fn(&(f64, f64)) -> f64| {
        values.iter().map(|pair| of(pair).powi(2)).sum::<f64>() / n
    };
    let of_model = error(&|(gold, predicted)| gold - predicted);
    let of_mean = error(&|(gold, _)| gold - mean);
    let score = score.map(|(metric, value)| format!(" ({metric} {value:.4})"));
    format!(
        "on dev the model is no better than predicting the mean for every example: its mean squared error is {of_model:.4}, \
         that of the mean {of_mean:.4}{}. {HELP}",
        score.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use totune_data::Target;

    use super::*;

    #[test]
    fn numbers_may_correlate_and_be_no_better_than_the_mean() {
        let prediction = |(gold, predicted): (f64, f64)| Prediction {
            split: "dev".to_string(),
            example_id: String::new(),
            gold: Target::Value(gold),
            predicted: Target::Value(predicted),
            scores: Vec::new(),
        };
        let predictions = [(1.0, 5.0), (3.0, 7.0)].map(prediction);
        let note = of_numbers(&predictions, Some(("pearson", 1.0)));
        let expected =
            "its mean squared error is 16.0000, that of the mean 1.0000 (pearson 1.0000). ";
        assert!(note.contains(expected), "{note}");
        assert!(!note.contains("learned nothing"), "{note}");
    }
}
