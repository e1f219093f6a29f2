//! Sentences composed from the numbers of groups compared with a baseline; right for any numbers.

use std::collections::BTreeSet;

use totune_evidence::text::{Scale, counted, in_sentence, joined};

use super::baseline::BaselineComparison;
use super::headline::{by_score, by_time, first};
use super::phrases::{closed, share};

/// One or two sentences: the first group, and the fastest, the best or the worst of the others.
pub(super) fn sentences(compared: &[BaselineComparison], baseline: &str) -> Vec<String> {
    let Some(first) = first(compared) else {
        let baseline = in_sentence(baseline);
        return vec![format!("No group can be compared with {baseline} yet.")];
    };
    let told = |detail: &BaselineComparison| {
        format!("{}; {}.", detail.cost_and_gain(baseline), detail.apart())
    };
    let mut result = vec![format!("{} {}", closed(&first.title), told(first))];
    let another = |found: Option<&'_ BaselineComparison>| {
        found.filter(|other| other.title != first.title).map(told)
    };
    let title = |found: Option<&BaselineComparison>| {
        found.map_or(String::new(), |other| in_sentence(&other.title))
    };
    let timed = compared.iter().filter(|other| other.time.is_some());
    let (fastest, best) = (timed.min_by(by_time), compared.iter().max_by(by_score));
    let below = compared.iter().filter(|other| other.is_below());
    let worst = below.min_by(by_score);
    if let Some(text) = another(fastest) {
        result.push(format!("The fastest was {}: it {text}", title(fastest)));
    } else if let Some(text) = another(best) {
        result.push(format!(
            "The highest score was that of {}: it {text}",
            title(best)
        ));
    } else if let Some(text) = another(worst) {
        result.push(format!(
            "The lowest score was that of {}: it {text}",
            title(worst)
        ));
    }
    result
}

impl BaselineComparison {
    /// `kept 98 % of the gain of all layers over the floor in 31 % of the training time`.
    fn cost_and_gain(&self, baseline: &str) -> String {
        let last = in_sentence(baseline);
        let baseline = closed(&last);
        let score = match self.kept {
            Some(kept) if kept <= 0.0 => {
                format!("kept nothing of the gain of {baseline} over the floor")
            }
            Some(kept) => {
                let verb = if kept < 1.0 { "kept" } else { "reached" };
                format!(
                    "{verb} {} of the gain of {baseline} over the floor",
                    share(kept)
                )
            }
            None => {
                let side = if self.difference < 0.0 {
                    "below"
                } else {
                    "above"
                };
                let points = Scale::Points.number(self.difference.abs());
                let baseline = self.time.map_or(&last, |_| &baseline);
                format!("scored {points} points {side} {baseline}")
            }
        };
        let time = self
            .in_time()
            .map_or(String::new(), |time| format!(" {time}"));
        let shown = match (self.is_as_good(), self.groups) {
            (false, _) => String::new(),
            (true, 1) => ", not behind by a point (one-sided, 95 %)".to_owned(),
            (true, n) => {
                format!(", not behind by a point (one-sided, 95 % for all {n} groups)")
            }
        };
        format!("{score}{time}{shown}")
    }

    /// `on 5 of 8 tasks the two do not differ significantly, on 3 the score is lower`.
    fn apart(&self) -> String {
        let same = self.tested - self.below - self.above;
        let mut parts = Vec::new();
        match (same, self.tested) {
            (_, 0) => {
                return "with these seeds no difference can be told from noise".to_owned();
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

/// The encoder, and the numbers of tasks, runs and seeds.
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
    use super::super::baseline::tests::{comparison, detail};
    use super::*;

    #[test]
    fn sentences_are_right_for_any_numbers() {
        // (kept, time, tasks significantly below and above of 4, words)
        for (kept, time, below, above, words) in [
            (
                0.98,
                0.31,
                1,
                0,
                "Few kept 98 % of the gain of all layers over the floor in 31 % of the training time; on 3 of 4 tasks the two do not differ significantly, on 1 the score is lower.",
            ),
            (
                0.9962,
                0.5,
                0,
                0,
                "Few kept 99.6 % of the gain of all layers over the floor in 50 % of the training time; on none of 4 tasks do the two differ significantly.",
            ),
            (
                1.02,
                1.25,
                0,
                2,
                "Few reached 102 % of the gain of all layers over the floor in 25 % more training time; on 2 of 4 tasks the two do not differ significantly, on 2 the score is higher.",
            ),
            (
                0.5,
                2.34,
                4,
                0,
                "Few kept 50 % of the gain of all layers over the floor in 2.3 times the training time; on 4 of 4 tasks the score is lower.",
            ),
            (
                1.0,
                1.001,
                2,
                2,
                "Few reached 100.0 % of the gain of all layers over the floor in the same training time; on 2 of 4 tasks the score is lower, on 2 the score is higher.",
            ),
        ] {
            let few = BaselineComparison {
                below,
                above,
                ..detail("Few", kept, Some(time))
            };
            assert_eq!(sentences(&[few], "All layers"), [words]);
        }
    }

    #[test]
    fn a_title_with_an_apposition_closes_it() {
        let few = detail("Few, 2e-5", 0.98, Some(0.3));
        let said = &sentences(&[few], "All layers, fine-tuned")[0];
        let start =
            "Few, 2e-5, kept 98 % of the gain of all layers, fine-tuned, over the floor in 30 %";
        assert!(said.starts_with(start), "{said}");
        let few = BaselineComparison {
            kept: None,
            ..detail("Few", 0.9, None)
        };
        let said = &sentences(&[few], "All, tuned")[0];
        assert!(
            said.starts_with("Few scored 8.00 points below all, tuned; "),
            "{said}"
        );
    }

    #[test]
    fn sentences_without_repeats_or_times_say_no_more_than_there_is() {
        let once = BaselineComparison {
            tested: 0,
            overall: Err("a single pair".to_owned()),
            ..detail("Few", 0.98, None)
        };
        assert_eq!(
            sentences(&[once], "All layers"),
            [
                "Few kept 98 % of the gain of all layers over the floor; with these seeds no difference can be told from noise."
            ]
        );
        let negative = BaselineComparison {
            kept: None,
            tested: 1,
            ..detail("Few", 0.9, Some(0.5))
        };
        assert_eq!(
            sentences(&[negative], "All layers"),
            [
                "Few scored 8.00 points below all layers in 50 % of the training time; the two do not differ significantly."
            ]
        );
    }

    #[test]
    fn the_first_sentence_is_about_the_group_of_the_headline() {
        let firsts = |compared: &[BaselineComparison]| {
            let sentences = sentences(compared, "All layers");
            let words =
                |text: &String| text.split([':', ' ']).take(6).collect::<Vec<_>>().join(" ");
            sentences.iter().map(words).collect::<Vec<_>>()
        };
        let sure = |title, kept, time, difference| BaselineComparison {
            overall: Ok(comparison(difference, 0.005)),
            ..detail(title, kept, Some(time))
        };
        let [four, one] = [sure("Four", 0.99, 0.7, 0.0), sure("One", 0.9, 0.2, -0.1)];
        assert_eq!(
            firsts(&[four, one]),
            ["Four kept 99 % of the", "The fastest was one  it"]
        );
        let [four, one] = [sure("Four", 0.99, 0.7, 0.0), sure("One", 0.97, 0.2, 0.0)];
        assert_eq!(
            firsts(&[four, one]),
            ["One kept 97 % of the", "The highest score was that of"]
        );
        // Without times nobody is the fastest.
        let timeless = |title, kept, difference| BaselineComparison {
            time: None,
            ..sure(title, kept, 0.7, difference)
        };
        let [four, one] = [timeless("Four", 0.9, 0.0), timeless("One", 1.1, 0.1)];
        assert_eq!(firsts(&[four, one]), ["One reached 110 % of the"]);
        let [four, one] = [timeless("Four", 0.9, -0.1), timeless("One", 1.1, 0.1)];
        assert_eq!(
            firsts(&[four, one]),
            ["One reached 110 % of the", "The lowest score was that of"]
        );
        // All are worse: the least bad one comes first.
        let [four, one] = [sure("Four", 0.95, 0.7, -0.1), sure("One", 0.9, 0.2, -0.1)];
        assert_eq!(firsts(&[four, one])[0], "Four kept 95 % of the");
    }
}
