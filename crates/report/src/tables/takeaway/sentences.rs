//! Sentences composed from the numbers of groups beside a baseline; right for any numbers.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use totune_evidence::compare::paired::PairedComparison;
use totune_evidence::compare::strata::unpaired;
use totune_evidence::compare::{ALPHA, Comparison};
use totune_evidence::plan::{Task, Unit};
use totune_evidence::select::per_run::TimePer;
use totune_evidence::text::{Scale, counted, fixed, in_sentence, joined};
use totune_stats::{holm, mean};

use super::{scores, time_ratio};

/// A point of a score.
const POINT: f64 = 0.01;

/// A group beside the baseline, in numbers.
#[derive(Debug)]
pub(super) struct BaselineComparison {
    pub(super) title: String,
    /// Its mean score less the baseline's, on the same pairs.
    pub(super) difference: f64,
    /// What its score is above the floor, as a share of what the baseline's is; `None` where a floor is not known or the
    /// baseline is not above it.
    pub(super) kept: Option<f64>,
    /// Its time to the stop as a share of the baseline's.
    pub(super) time: Option<f64>,
    pub(super) overall: Result<Comparison, String>,
    /// Tasks that the difference is a mean over.
    pub(super) tasks: usize,
    /// Tasks that have a test of their own, and on how many of these it is significantly lower and higher.
    pub(super) tested: usize,
    pub(super) below: usize,
    pub(super) above: usize,
}

impl BaselineComparison {
    /// `floor` gives the score of no training on a task, where that is known.
    pub(super) fn of(
        paired: &PairedComparison,
        floor: impl Fn(&Task) -> Option<f64>,
    ) -> Option<Self> {
        let numbers = scores(paired).ok()?;
        let (a, b) = numbers.means();
        let floors = numbers.tasks.iter().map(|on| floor(on.task));
        let floor = floors
            .collect::<Option<Vec<f64>>>()
            .map(|floors| mean(&floors));
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
            kept: floor
                .filter(|floor| b > *floor)
                .map(|floor| (a - floor) / (b - floor)),
            tasks: numbers.tasks.len(),
            time: time_ratio(paired, TimePer::Run),
            overall: numbers.compare_by(Unit::Seed),
            tested: tests.len(),
            below: told(false),
            above: told(true),
        })
    }

    /// Whether its mean score over the tasks is shown not to be a point below: that no difference was found shows nothing.
    fn is_as_good(&self) -> bool {
        let overall = self.overall.as_ref();
        overall.is_ok_and(|comparison| comparison.narrow.low > -POINT)
    }

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
            .time
            .map_or(String::new(), |ratio| format!(" {}", time_text(ratio)));
        let shown = if self.is_as_good() {
            ", not behind by a point (one-sided, 95 %)"
        } else {
            ""
        };
        format!("{score}{time}{shown}")
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

/// A title with an apposition, such as "Last layer, 2e-5", closes it before the next word.
fn closed(title: &str) -> String {
    let comma = if title.contains(", ") { "," } else { "" };
    format!("{title}{comma}")
}

/// `62 %`; what is not all of it is not rounded to 100 %.
fn share(kept: f64) -> String {
    let digits = usize::from((kept - 1.0).abs() < 0.0095);
    format!("{} %", fixed(kept * 100.0, digits))
}

/// What a page says first: what to do, and the numbers that say so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Headline {
    /// `Choose last 4 layers, 2e-5, over all layers`, or that it is not decided.
    pub(crate) advice: String,
    /// `Last 4 layers, 2e-5, minus all layers`: what the numbers are of, where no advice may be given.
    pub(crate) compares: String,
    /// `+0.71 points (95 % interval [-0.45, 1.87], 8 tasks) in 65 % of the training time`.
    pub(crate) measured: String,
    /// Whether the numbers tell what to do.
    pub(crate) decided: bool,
}

/// What a comparison with the baseline says to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// It takes less time and is as good.
    Cheaper,
    /// Its score is higher, in more time.
    Better,
    /// It is lower, or takes longer for less than a point.
    Worse,
    Open,
}

impl BaselineComparison {
    fn choice(&self) -> Choice {
        let Ok(Comparison { interval, .. }) = &self.overall else {
            return Choice::Open;
        };
        let is_faster = self.time.is_some_and(|time| time < 1.0);
        match () {
            () if is_faster && self.is_as_good() => Choice::Cheaper,
            () if interval.low > 0.0 => Choice::Better,
            () if interval.high < 0.0 || (!is_faster && interval.high < POINT) => Choice::Worse,
            () => Choice::Open,
        }
    }

    /// The difference with its interval, over how many tasks, and in what time.
    fn measured(&self) -> String {
        let interval = match &self.overall {
            Ok(Comparison { interval, .. }) => {
                let ends = [interval.low, interval.high].map(|end| Scale::Points.number(end));
                format!("95 % interval [{}, {}]", ends[0], ends[1])
            }
            Err(_) => "one seed, so no interval".to_owned(),
        };
        let kept = self.kept.filter(|kept| *kept > 0.0);
        let kept = kept.map_or(String::new(), |kept| {
            format!(", {} of the gain over the floor", share(kept))
        });
        let time = self
            .time
            .map_or(String::new(), |ratio| format!(", {}", time_text(ratio)));
        let difference = Scale::Points.signed(self.difference);
        format!(
            "{difference} points ({interval}, {}){kept}{time}",
            counted(self.tasks, "task")
        )
    }
}

/// The group to speak of first: the fastest of those that take less time than the baseline and are at most a point lower, else the
/// best of those that are better, else of those that are open, else of all.
fn first(compared: &[BaselineComparison]) -> Option<&BaselineComparison> {
    let of = |choice: Choice| compared.iter().filter(move |each| each.choice() == choice);
    let best = |choice: Choice| of(choice).max_by(by_score);
    let chosen = of(Choice::Cheaper).min_by(by_time);
    let chosen = chosen.or_else(|| best(Choice::Better));
    let chosen = chosen.or_else(|| best(Choice::Open));
    chosen.or_else(|| compared.iter().max_by(by_score))
}

fn by_time(a: &&BaselineComparison, b: &&BaselineComparison) -> Ordering {
    let time = |each: &BaselineComparison| each.time.unwrap_or(f64::INFINITY);
    time(a).total_cmp(&time(b))
}

fn by_score(a: &&BaselineComparison, b: &&BaselineComparison) -> Ordering {
    a.difference.total_cmp(&b.difference)
}

/// What to do about the first group, with its numbers; `None` where nothing can be compared.
pub(super) fn headline(compared: &[BaselineComparison], baseline: &str) -> Option<Headline> {
    let first = first(compared)?;
    let (title, baseline) = (in_sentence(&first.title), in_sentence(baseline));
    let advice = match first.choice() {
        Choice::Cheaper | Choice::Better => format!("Choose {} over {baseline}", closed(&title)),
        Choice::Open => format!("Not decided between {} and {baseline}", closed(&title)),
        Choice::Worse => format!("Stay with {baseline}; closest is {title}"),
    };
    Some(Headline {
        advice,
        compares: format!("{} minus {baseline}", closed(&first.title)),
        measured: first.measured(),
        decided: first.choice() != Choice::Open,
    })
}

/// One or two sentences: the first group, and the fastest or the best of the others.
pub(super) fn sentences(compared: &[BaselineComparison], baseline: &str) -> Vec<String> {
    let Some(first) = first(compared) else {
        let baseline = in_sentence(baseline);
        return vec![format!("No group can be compared with {baseline} yet.")];
    };
    let told = |beside: &BaselineComparison| {
        format!("{}; {}.", beside.cost_and_gain(baseline), beside.apart())
    };
    let mut result = vec![format!("{} {}", closed(&first.title), told(first))];
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
                ..beside("Few", kept, Some(time))
            };
            assert_eq!(sentences(&[few], "All layers"), [words]);
        }
    }

    #[test]
    fn a_title_with_an_apposition_closes_it() {
        let few = beside("Few, 2e-5", 0.98, Some(0.3));
        let said = &sentences(&[few], "All layers, fine-tuned")[0];
        let start =
            "Few, 2e-5, kept 98 % of the gain of all layers, fine-tuned, over the floor in 30 %";
        assert!(said.starts_with(start), "{said}");
        let few = BaselineComparison {
            kept: None,
            ..beside("Few", 0.9, None)
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
            ..beside("Few", 0.98, None)
        };
        assert_eq!(
            sentences(&[once], "All layers"),
            [
                "Few kept 98 % of the gain of all layers over the floor; with one seed each, the noise in a difference is unknown."
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
    fn the_first_sentence_is_about_the_group_of_the_headline() {
        let firsts = |compared: &[BaselineComparison]| {
            let sentences = sentences(compared, "All layers");
            let words =
                |text: &String| text.split([':', ' ']).take(6).collect::<Vec<_>>().join(" ");
            sentences.iter().map(words).collect::<Vec<_>>()
        };
        let sure = |title, kept, time, difference| BaselineComparison {
            overall: Ok(comparison(difference, 0.005)),
            ..beside(title, kept, Some(time))
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
        // All are worse: the least bad one comes first.
        let [four, one] = [sure("Four", 0.95, 0.7, -0.1), sure("One", 0.9, 0.2, -0.1)];
        assert_eq!(firsts(&[four, one])[0], "Four kept 95 % of the");
    }

    #[test]
    fn the_headline_says_what_to_do_and_how_sure_that_is() {
        let each = |title: &str, difference, half, time| BaselineComparison {
            difference,
            overall: Ok(comparison(difference, half)),
            ..beside(title, 0.9, Some(time))
        };
        let said = |compared: &[BaselineComparison]| {
            let Headline {
                advice,
                measured,
                decided,
                ..
            } = headline(compared, "All layers").unwrap();
            (format!("{advice}: {measured}"), decided)
        };
        let close = each("Three, 2e-5", -0.002, 0.005, 0.5);
        let far = each("One", -0.1, 0.005, 0.2);
        let wide = each("Two", -0.002, 0.05, 0.3);
        let slow = each("Two phases", 0.03, 0.005, 2.5);
        for (compared, expected, decided) in [
            (
                vec![&far, &wide, &close, &slow],
                "Choose three, 2e-5, over all layers: -0.20 points (95 % interval [-0.70, 0.30], 4 tasks), 90 % of the gain over the floor, in 50 % of the training time",
                true,
            ),
            (
                vec![&far, &wide, &slow],
                "Choose two phases over all layers: +3.00 points (95 % interval [2.50, 3.50], 4 tasks), 90 % of the gain over the floor, in 2.5 times the training time",
                true,
            ),
            (
                vec![&far, &wide],
                "Not decided between two and all layers: -0.20 points (95 % interval [-5.20, 4.80], 4 tasks), 90 % of the gain over the floor, in 30 % of the training time",
                false,
            ),
            (
                vec![&far],
                "Stay with all layers; closest is one: -10.00 points (95 % interval [-10.50, -9.50], 4 tasks), 90 % of the gain over the floor, in 20 % of the training time",
                true,
            ),
        ] {
            let compared: Vec<BaselineComparison> = compared.into_iter().map(copy).collect();
            assert_eq!(said(&compared), (expected.to_owned(), decided));
        }
        // A longer training for less than a point is no choice either, and without an interval nothing is decided.
        assert_eq!(each("Long", 0.002, 0.005, 2.0).choice(), Choice::Worse);
        let once = BaselineComparison {
            overall: Err("one pair".into()),
            kept: None,
            ..beside("Few", 0.9, None)
        };
        assert_eq!(
            said(&[once]),
            ("Not decided between few and all layers: -8.00 points (one seed, so no interval, 4 tasks)".to_owned(), false)
        );
        assert_eq!(headline(&[], "All layers"), None);
    }

    fn copy(each: &BaselineComparison) -> BaselineComparison {
        BaselineComparison {
            title: each.title.clone(),
            overall: each.overall.clone(),
            ..*each
        }
    }

    fn beside(title: &str, kept: f64, time: Option<f64>) -> BaselineComparison {
        BaselineComparison {
            title: title.to_owned(),
            difference: 0.8 * (kept - 1.0),
            kept: Some(kept),
            time,
            overall: Ok(comparison(0.8 * (kept - 1.0), 1.0)),
            tasks: 4,
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
