//! The headline of a page: advice, and how certain it is.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use totune_evidence::compare::Comparison;
use totune_evidence::text::{Scale, counted};

use super::baseline::{BaselineComparison, POINT};
use super::phrases::share;

/// The headline of a page: advice, and the numbers behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Headline {
    /// `“Last 4 layers” loses less than a point against “All layers”, in less time`, or that it is not decided.
    pub(crate) advice: String,
    /// `“Last 4 layers” minus “All layers”`: the comparison that the numbers are of, where no advice may be given.
    pub(crate) compares: String,
    /// `+0.71 points, 95 % interval [-0.45, 1.87], 8 tasks, none significantly different; in 65 % of the training time`.
    pub(crate) measured: String,
    /// Whether the numbers decide between the group and the baseline.
    pub(crate) decided: bool,
}

/// The share of the baseline's time from which on a group is called faster: passes on a quiet machine differ by some percent.
const FASTER: f64 = 0.9;

/// The advice from a comparison with the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// It takes less time and is as good.
    Cheaper,
    /// Its score is higher, in more time.
    Better,
    /// It is lower, or takes longer for less than a point.
    Worse,
    /// It is shown to be as good and no better, in about the same time or one that is not known.
    Same,
    Open,
}

impl BaselineComparison {
    fn choice(&self) -> Choice {
        let Ok(Comparison { interval, .. }) = &self.overall else {
            return Choice::Open;
        };
        let is_faster = self.time.is_some_and(|time| time < FASTER);
        let is_slower = self.time.is_some_and(|time| time >= 1.0);
        match () {
            () if is_faster && self.is_as_good() => Choice::Cheaper,
            () if self.is_above() => Choice::Better,
            () if interval.high < 0.0 || (is_slower && interval.high < POINT) => Choice::Worse,
            () if self.is_as_good() && self.is_no_better() => Choice::Same,
            () => Choice::Open,
        }
    }

    /// The difference with its interval, over how many tasks, and in what time.
    fn measured(&self, floor: &str) -> String {
        let interval = match &self.overall {
            Ok(Comparison { interval, .. }) => {
                format!("95 % interval {}", Scale::Points.interval(*interval))
            }
            Err(why) => format!("no interval: {why}"),
        };
        let kept = self.kept.filter(|kept| *kept > 0.0);
        let kept = kept.map(|kept| format!("{} of the gain over {floor}", share(kept)));
        let cost: Vec<String> = kept.into_iter().chain(self.in_time()).collect();
        let cost = if cost.is_empty() {
            String::new()
        } else {
            format!("; {}", cost.join(", "))
        };
        let difference = Scale::Points.signed(self.difference);
        format!("{difference} points, {interval}, {}{cost}", self.by_task())
    }

    /// `6 tasks: 1 higher, 1 lower, 4 not significantly different`, since a mean may be due to one of them.
    fn by_task(&self) -> String {
        let tasks = counted(self.tasks, "task");
        if self.overall.is_err() || self.tasks < 2 || self.tested < self.tasks {
            return tasks;
        }
        let same = self.tested - self.above - self.below;
        if same == self.tested {
            return format!("{tasks}, none significantly different");
        }
        let parts = [
            (self.above, "higher"),
            (self.below, "lower"),
            (same, "not significantly different"),
        ];
        let parts = parts.into_iter().filter(|(n, _)| *n > 0);
        let parts: Vec<String> = parts.map(|(n, word)| format!("{n} {word}")).collect();
        format!("{tasks}: {}", parts.join(", "))
    }
}

/// The group to mention first: the fastest of those that take clearly less time than the baseline and are at most a point
/// lower, else the best of those that are better, else of those that are as good or open, else of all.
pub(super) fn first(compared: &[BaselineComparison]) -> Option<&BaselineComparison> {
    let of = |choice: Choice| compared.iter().filter(move |each| each.choice() == choice);
    let best = |choice: Choice| of(choice).max_by(by_score);
    let chosen = of(Choice::Cheaper).min_by(by_time);
    let chosen = chosen.or_else(|| best(Choice::Better));
    let undecided = [Choice::Open, Choice::Same].into_iter().filter_map(best);
    let chosen = chosen.or_else(|| undecided.max_by(by_score));
    chosen.or_else(|| compared.iter().max_by(by_score))
}

pub(super) fn by_time(a: &&BaselineComparison, b: &&BaselineComparison) -> Ordering {
    let time = |each: &BaselineComparison| each.time.unwrap_or(f64::INFINITY);
    time(a).total_cmp(&time(b))
}

pub(super) fn by_score(a: &&BaselineComparison, b: &&BaselineComparison) -> Ordering {
    a.difference.total_cmp(&b.difference)
}

/// Advice on the first group, with its numbers, the gain over `floor` among them; `None` where nothing can be compared.
pub(super) fn headline(
    compared: &[BaselineComparison],
    baseline: &str,
    floor: &str,
) -> Option<Headline> {
    let first = first(compared)?;
    let [title, baseline] = [&first.title, baseline].map(|title| format!("“{title}”"));
    let advice = match first.choice() {
        Choice::Cheaper if first.is_above() => {
            format!("{title} scores higher than {baseline}, in less time")
        }
        Choice::Cheaper if first.difference > 0.0 => {
            format!("{title} keeps up with {baseline}, in less time")
        }
        Choice::Cheaper => {
            format!("{title} loses less than a point against {baseline}, in less time")
        }
        // A mean may be due to few of the tasks.
        Choice::Better if first.tested > 1 && 2 * first.above < first.tested => {
            let on = match first.above {
                0 => "on no task by itself".to_owned(),
                n => format!("on {n} of {} tasks", first.tested),
            };
            format!("{title} scores higher than {baseline} on average, significantly so {on}")
        }
        Choice::Better => format!("{title} scores higher than {baseline}"),
        Choice::Same => format!("{title} and {baseline} score within a point of each other"),
        Choice::Open if first.is_above_alone() => format!(
            "Not decided between {title} and {baseline}: significant for this pair alone, not as one of {} comparisons",
            first.groups
        ),
        Choice::Open => format!("Not decided between {title} and {baseline}"),
        Choice::Worse => {
            format!("Stay with {baseline}; the closest of the others is {title}")
        }
    };
    Some(Headline {
        advice,
        compares: format!("{title} minus {baseline}"),
        measured: first.measured(floor),
        decided: first.choice() != Choice::Open,
    })
}

#[cfg(test)]
mod tests {
    use super::super::baseline::tests::{comparison, copy, detail};
    use super::*;

    fn each(title: &str, difference: f64, half: f64, time: f64) -> BaselineComparison {
        BaselineComparison {
            difference,
            overall: Ok(comparison(difference, half)),
            ..detail(title, 0.9, Some(time))
        }
    }

    fn said(compared: &[BaselineComparison]) -> (String, bool) {
        let Headline {
            advice,
            measured,
            decided,
            ..
        } = headline(compared, "All layers", "the floor").unwrap();
        (format!("{advice} ({measured})"), decided)
    }

    #[test]
    fn the_headline_says_what_to_do_and_how_sure_that_is() {
        let close = each("Three, 2e-5", -0.002, 0.005, 0.5);
        let far = each("One", -0.1, 0.005, 0.2);
        let wide = each("Two", -0.002, 0.05, 0.3);
        let slow = each("Two phases", 0.03, 0.005, 2.5);
        let both = each("LoRA", 0.02, 0.005, 0.8);
        let even = each("Head first", 0.001, 0.005, 0.96);
        let cheap = each("Biases", 0.001, 0.005, 0.4);
        for (compared, expected, decided) in [
            (
                vec![&far, &wide, &close, &slow],
                "“Three, 2e-5” loses less than a point against “All layers”, in less time (-0.20 points, 95 % interval [-0.70, 0.30], 4 tasks, none significantly different; 90 % of the gain over the floor, in 50 % of the training time)",
                true,
            ),
            (
                vec![&far, &wide, &slow],
                "“Two phases” scores higher than “All layers” on average, significantly so on no task by itself (+3.00 points, 95 % interval [2.50, 3.50], 4 tasks, none significantly different; 90 % of the gain over the floor, in 2.5 times the training time)",
                true,
            ),
            (
                vec![&far, &both],
                "“LoRA” scores higher than “All layers”, in less time (+2.00 points, 95 % interval [1.50, 2.50], 4 tasks, none significantly different; 90 % of the gain over the floor, in 80 % of the training time)",
                true,
            ),
            (
                vec![&far, &wide],
                "Not decided between “Two” and “All layers” (-0.20 points, 95 % interval [-5.20, 4.80], 4 tasks, none significantly different; 90 % of the gain over the floor, in 30 % of the training time)",
                false,
            ),
            (
                vec![&far, &cheap],
                "“Biases” keeps up with “All layers”, in less time (+0.10 points, 95 % interval [-0.40, 0.60], 4 tasks, none significantly different; 90 % of the gain over the floor, in 40 % of the training time)",
                true,
            ),
            (
                vec![&far, &even],
                "“Head first” and “All layers” score within a point of each other (+0.10 points, 95 % interval [-0.40, 0.60], 4 tasks, none significantly different; 90 % of the gain over the floor, in 96 % of the training time)",
                true,
            ),
            (
                vec![&far],
                "Stay with “All layers”; the closest of the others is “One” (-10.00 points, 95 % interval [-10.50, -9.50], 4 tasks, none significantly different; 90 % of the gain over the floor, in 20 % of the training time)",
                true,
            ),
        ] {
            let compared: Vec<BaselineComparison> = compared.into_iter().map(copy).collect();
            assert_eq!(said(&compared), (expected.to_owned(), decided));
        }
    }

    #[test]
    fn a_choice_is_sure_for_all_groups_together() {
        // One of many groups has to be further above than one alone.
        let one_of = |groups| BaselineComparison {
            groups,
            ..each("Two phases", 0.006, 0.005, 2.5)
        };
        assert_eq!(one_of(1).choice(), Choice::Better);
        assert_eq!(one_of(7).choice(), Choice::Open);
        let (advice, _) = said(&[one_of(7)]);
        let alone = "Not decided between “Two phases” and “All layers”: significant for this pair alone, not as one of 7 comparisons (";
        assert!(advice.starts_with(alone), "{advice}");
        let one_of = |groups| BaselineComparison {
            groups,
            ..each("Three", -0.004, 0.005, 0.5)
        };
        assert_eq!(one_of(1).choice(), Choice::Cheaper);
        assert_eq!(one_of(7).choice(), Choice::Open);
        // A longer training for less than a point is no choice either, and without an interval nothing is decided.
        assert_eq!(each("Long", 0.002, 0.005, 2.0).choice(), Choice::Worse);
        let untimed = BaselineComparison {
            time: None,
            ..each("Long", 0.002, 0.005, 2.0)
        };
        assert_eq!(untimed.choice(), Choice::Same);
        let once = BaselineComparison {
            overall: Err("one pair".into()),
            kept: None,
            ..detail("Few", 0.9, None)
        };
        assert_eq!(
            said(&[once]),
            ("Not decided between “Few” and “All layers” (-8.00 points, no interval: one pair, 4 tasks)".to_owned(), false)
        );
        assert_eq!(headline(&[], "All layers", "the floor"), None);
    }
}
