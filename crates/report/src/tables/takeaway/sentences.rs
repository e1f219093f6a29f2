//! Sentences composed from the numbers of groups beside a baseline; right for any numbers.

use std::collections::BTreeSet;

use totune_evidence::compare::paired::PairedComparison;
use totune_evidence::compare::strata::unpaired;
use totune_evidence::compare::{ALPHA, Comparison};
use totune_evidence::plan::Unit;
use totune_evidence::select::per_run::TimePer;
use totune_evidence::text::{Scale, counted, fixed, in_sentence, joined};
use totune_stats::holm;

use super::{scores, time_ratio};

/// A group beside the baseline, in numbers.
#[derive(Debug)]
pub(super) struct BaselineComparison {
    pub(super) title: String,
    /// Its mean score less the baseline's, on the same pairs.
    pub(super) difference: f64,
    /// That score as a share of the baseline's; `None` where one of them is not above 0.
    pub(super) kept: Option<f64>,
    /// Its time to the stop as a share of the baseline's.
    pub(super) time: Option<f64>,
    pub(super) overall: Result<Comparison, String>,
    /// Tasks that have a test of their own, and on how many of these it is significantly lower and higher.
    pub(super) tested: usize,
    pub(super) below: usize,
    pub(super) above: usize,
}

impl BaselineComparison {
    pub(super) fn of(paired: &PairedComparison) -> Option<Self> {
        let numbers = scores(paired).ok()?;
        let (a, b) = numbers.means();
        let tests: Vec<Comparison> = numbers
            .tasks
            .iter()
            .filter_map(|on| unpaired(&[(1.0, &on.a, &on.b)]).ok())
            .collect();
        let p = holm(&tests.iter().map(|test| test.p).collect::<Vec<f64>>());
        let told = |up: bool| {
            let apart =
                |(test, p): &(&Comparison, &f64)| **p < ALPHA && (test.difference > 0.0) == up;
            tests.iter().zip(&p).filter(apart).count()
        };
        Some(Self {
            title: paired.title_a.clone(),
            difference: a - b,
            kept: (a > 0.0 && b > 0.0).then(|| a / b),
            time: time_ratio(paired, TimePer::Run),
            overall: numbers.compare_by(Unit::Seed),
            tested: tests.len(),
            below: told(false),
            above: told(true),
        })
    }

    /// Whether its mean score over the tasks is known to be lower.
    fn is_worse(&self) -> bool {
        match &self.overall {
            Ok(comparison) => comparison.interval.high < 0.0,
            Err(_) => false,
        }
    }

    /// `kept 98 % of the mean score of all layers in 31 % of the training time`.
    fn cost_and_gain(&self, baseline: &str) -> String {
        let baseline = in_sentence(baseline);
        let score = match self.kept {
            Some(kept) => {
                let verb = if kept < 1.0 { "kept" } else { "reached" };
                // What is not all of it is not rounded to 100 %.
                let digits = usize::from((kept - 1.0).abs() < 0.0095);
                let share = fixed(kept * 100.0, digits);
                format!("{verb} {share} % of the mean score of {baseline}")
            }
            None => {
                let side = if self.difference < 0.0 {
                    "below"
                } else {
                    "above"
                };
                let points = Scale::Points.number(self.difference.abs());
                format!("scored {points} points {side} {baseline}")
            }
        };
        let time = self
            .time
            .map_or(String::new(), |ratio| format!(" {}", time_text(ratio)));
        format!("{score}{time}")
    }

    /// `on 5 of 8 tasks the two do not differ significantly, on 3 the score is lower`.
    fn apart(&self) -> String {
        let same = self.tested - self.below - self.above;
        let mut parts = Vec::new();
        match (same, self.tested) {
            (_, 0) => {
                return "with one seed each, the noise in a difference is unknown".to_owned();
            }
            (1, 1) => return "the two do not differ significantly".to_owned(),
            (0, _) => {}
            (same, tested) if same == tested => {
                parts.push(format!(
                    "on none of {tested} tasks do the two differ significantly"
                ));
            }
            (same, tested) => {
                parts.push(format!(
                    "on {same} of {tested} tasks the two do not differ significantly"
                ));
            }
        }
        for (n, word) in [(self.below, "lower"), (self.above, "higher")] {
            let of = match (parts.is_empty(), self.tested) {
                (true, tested) => format!(" of {}", counted(tested, "task")),
                _ => String::new(),
            };
            if n > 0 {
                parts.push(format!("on {n}{of} the score is {word}"));
            }
        }
        parts.join(", ")
    }
}

/// One or two sentences: the group that a practitioner would try first, and the fastest or the best of the others.
///
/// First comes the fastest of those that are not known to score lower than the baseline over all tasks; if all are, the
/// one that scores highest.
pub(super) fn sentences(compared: &[BaselineComparison], baseline: &str) -> Vec<String> {
    let by_time = |a: &&BaselineComparison, b: &&BaselineComparison| {
        let time = |beside: &BaselineComparison| beside.time.unwrap_or(f64::INFINITY);
        time(a).total_cmp(&time(b))
    };
    let by_score =
        |a: &&BaselineComparison, b: &&BaselineComparison| a.difference.total_cmp(&b.difference);
    let as_good = compared.iter().filter(|beside| !beside.is_worse());
    let Some(first) = as_good.min_by(by_time).or(compared.iter().max_by(by_score)) else {
        let baseline = in_sentence(baseline);
        return vec![format!("No group can be compared with {baseline} yet.")];
    };
    let told = |beside: &BaselineComparison| {
        format!("{}; {}.", beside.cost_and_gain(baseline), beside.apart())
    };
    // A title with an apposition, such as "Last layer, 2e-5", closes it before the verb.
    let comma = if first.title.contains(", ") { "," } else { "" };
    let mut result = vec![format!("{}{comma} {}", first.title, told(first))];
    let another = |found: Option<&'_ BaselineComparison>| {
        found.filter(|other| other.title != first.title).map(told)
    };
    let title = |found: Option<&BaselineComparison>| {
        found.map_or(String::new(), |other| in_sentence(&other.title))
    };
    let (fastest, best) = (
        compared.iter().min_by(by_time),
        compared.iter().max_by(by_score),
    );
    if let Some(text) = another(fastest) {
        result.push(format!("The fastest was {}: it {text}", title(fastest)));
    } else if let Some(text) = another(best) {
        result.push(format!(
            "The highest score was that of {}: it {text}",
            title(best)
        ));
    }
    result
}

/// `in 31 % of the training time`, `in 2.3 times the training time`.
fn time_text(ratio: f64) -> String {
    match ratio {
        r if (r - 1.0).abs() < 0.005 => "in the same training time".to_owned(),
        r if r < 1.0 => format!("in {} % of the training time", fixed(r * 100.0, 0)),
        r if r < 2.0 => format!("in {} % more training time", fixed((r - 1.0) * 100.0, 0)),
        r => format!("in {} times the training time", fixed(r, 1)),
    }
}

/// Which encoder, how many tasks, runs and seeds.
pub(super) fn provenance(
    encoders: &BTreeSet<&str>,
    tasks: usize,
    runs: usize,
    seeds: &BTreeSet<usize>,
) -> String {
    let encoders: Vec<&str> = encoders
        .iter()
        .copied()
        .filter(|name| !name.is_empty())
        .collect();
    let encoder = match encoders.as_slice() {
        [] => "no encoder".to_owned(),
        names => joined(names),
    };
    let each = match (seeds.first(), seeds.last()) {
        (Some(least), Some(most)) if least == most => counted(*most, "seed"),
        (Some(least), Some(most)) => format!("{least} to {}", counted(*most, "seed")),
        _ => counted(0, "seed"),
    };
    format!(
        "Measured with {encoder} on {}: {}, {each} for each row and task.",
        counted(tasks, "task"),
        counted(runs, "run")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use totune_stats::Estimate;

    #[test]
    fn sentences_are_right_for_any_numbers() {
        // (kept, time, tasks significantly below and above of 4, words)
        for (kept, time, below, above, words) in [
            (
                0.98,
                0.31,
                1,
                0,
                "Few kept 98 % of the mean score of all layers in 31 % of the training time; on 3 of 4 tasks the two do not differ significantly, on 1 the score is lower.",
            ),
            (
                0.9962,
                0.5,
                0,
                0,
                "Few kept 99.6 % of the mean score of all layers in 50 % of the training time; on none of 4 tasks do the two differ significantly.",
            ),
            (
                1.02,
                1.25,
                0,
                2,
                "Few reached 102 % of the mean score of all layers in 25 % more training time; on 2 of 4 tasks the two do not differ significantly, on 2 the score is higher.",
            ),
            (
                0.5,
                2.34,
                4,
                0,
                "Few kept 50 % of the mean score of all layers in 2.3 times the training time; on 4 of 4 tasks the score is lower.",
            ),
            (
                1.0,
                1.001,
                2,
                2,
                "Few reached 100.0 % of the mean score of all layers in the same training time; on 2 of 4 tasks the score is lower, on 2 the score is higher.",
            ),
        ] {
            let few = BaselineComparison {
                below,
                above,
                ..beside("Few", kept, Some(time))
            };
            assert_eq!(sentences(&[few], "All layers"), [words]);
        }
    }

    #[test]
    fn a_title_with_an_apposition_closes_it() {
        let few = beside("Few, 2e-5", 0.98, Some(0.3));
        assert!(sentences(&[few], "All layers")[0].starts_with("Few, 2e-5, kept 98 %"));
    }

    #[test]
    fn sentences_without_repeats_or_times_say_no_more_than_there_is() {
        let once = BaselineComparison {
            tested: 0,
            overall: Err("a single pair".to_owned()),
            ..beside("Few", 0.98, None)
        };
        assert_eq!(
            sentences(&[once], "All layers"),
            [
                "Few kept 98 % of the mean score of all layers; with one seed each, the noise in a difference is unknown."
            ]
        );
        let negative = BaselineComparison {
            kept: None,
            tested: 1,
            ..beside("Few", 0.9, Some(0.5))
        };
        assert_eq!(
            sentences(&[negative], "All layers"),
            [
                "Few scored 8.00 points below all layers in 50 % of the training time; the two do not differ significantly."
            ]
        );
    }

    #[test]
    fn the_fastest_that_is_not_worse_comes_first() {
        let firsts = |compared: &[BaselineComparison]| {
            let sentences = sentences(compared, "All layers");
            let words =
                |text: &String| text.split([':', ' ']).take(6).collect::<Vec<_>>().join(" ");
            sentences.iter().map(words).collect::<Vec<_>>()
        };
        let worse = |title, kept, time| BaselineComparison {
            overall: Ok(comparison(-0.1, 0.05)),
            ..beside(title, kept, Some(time))
        };
        assert_eq!(
            firsts(&[beside("Four", 0.99, Some(0.7)), worse("One", 0.9, 0.2)]),
            ["Four kept 99 % of the", "The fastest was one  it"]
        );
        assert_eq!(
            firsts(&[
                beside("Four", 0.99, Some(0.7)),
                beside("One", 0.97, Some(0.2))
            ]),
            ["One kept 97 % of the", "The highest score was that of"]
        );
        // All are worse: the least bad one comes first.
        assert_eq!(
            firsts(&[worse("Four", 0.95, 0.7), worse("One", 0.9, 0.2)])[0],
            "Four kept 95 % of the"
        );
    }

    fn beside(title: &str, kept: f64, time: Option<f64>) -> BaselineComparison {
        BaselineComparison {
            title: title.to_owned(),
            difference: 0.8 * (kept - 1.0),
            kept: Some(kept),
            time,
            overall: Ok(comparison(0.8 * (kept - 1.0), 1.0)),
            tested: 4,
            below: 0,
            above: 0,
        }
    }

    fn comparison(difference: f64, half: f64) -> Comparison {
        let (value, error, df) = (difference, half / 1.96, f64::INFINITY);
        Comparison::of(Estimate { value, error, df }, "", 3.0, vec![value])
    }
}
