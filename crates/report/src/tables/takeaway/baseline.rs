//! A group compared with the baseline, in numbers.

use totune_evidence::compare::paired::PairedComparison;
use totune_evidence::compare::strata::unpaired;
use totune_evidence::compare::{ALPHA, Comparison};
use totune_evidence::plan::{Task, Unit};
use totune_evidence::select::per_run::{TimePer, memory_of_both};
use totune_evidence::text::counted;
use totune_stats::{holm, mean};

use super::phrases::time_text;
use super::{CostRatio, cost_ratio, scores, time_ratio};

/// A point of a score.
pub(super) const POINT: f64 = 0.01;

/// A group compared with the baseline, in numbers.
#[derive(Debug)]
pub(super) struct BaselineComparison {
    pub(super) title: String,
    /// Its mean score minus the baseline's, on the same pairs.
    pub(super) difference: f64,
    /// Its gain over the floor as a share of the baseline's gain; `None` where a floor is not known or the baseline is
    /// not above it.
    pub(super) kept: Option<f64>,
    /// Its time to the stop as a share of the baseline's.
    pub(super) time: Option<f64>,
    /// Tasks that this share is a mean over.
    pub(super) timed: usize,
    /// Its memory as a share of the baseline's.
    pub(super) memory: Option<CostRatio>,
    pub(super) overall: Result<Comparison, String>,
    /// Groups that are compared with the baseline; the sentences name those that do well.
    pub(super) groups: usize,
    /// Tasks that the difference is a mean over.
    pub(super) tasks: usize,
    /// Tasks that have a test of their own, and on how many of these it is significantly lower and higher.
    pub(super) tested: usize,
    pub(super) below: usize,
    pub(super) above: usize,
}

impl BaselineComparison {
    /// Compares a group with the baseline. `floor` gives the score without training on a task, where that is known.
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
        let time = time_ratio(paired, TimePer::Run);
        Some(Self {
            title: paired.title_a.clone(),
            difference: a - b,
            kept: floor
                .filter(|floor| b > *floor)
                .map(|floor| (a - floor) / (b - floor)),
            tasks: numbers.tasks.len(),
            time: time.map(|time| time.ratio),
            timed: time.map_or(0, |time| time.tasks),
            memory: cost_ratio(paired, memory_of_both),
            overall: numbers.compare_by(Unit::Seed),
            groups: 1,
            tested: tests.len(),
            below: told(false),
            above: told(true),
        })
    }

    /// `on 2 of 5 tasks`, where a cost is a mean over fewer tasks than the difference.
    fn in_part(&self, measured: usize) -> Option<String> {
        let tasks = self.tasks;
        (measured < tasks).then(|| format!("on {measured} of {}", counted(tasks, "task")))
    }

    /// A note below the table where its times are of fewer tasks than its scores.
    pub(super) fn timed_note(&self) -> Option<String> {
        let part = self.time.and(self.in_part(self.timed))?;
        Some(format!("training times were measured {part} only"))
    }

    /// The same of its memory.
    pub(super) fn memory_note(&self) -> Option<String> {
        let part = self.in_part(self.memory?.tasks)?;
        Some(format!("memory was counted {part} only"))
    }

    /// In what time it was trained; `None` where that is not known.
    pub(super) fn in_time(&self) -> Option<String> {
        let part = self
            .in_part(self.timed)
            .map_or(String::new(), |part| format!(" ({part})"));
        self.time.map(|ratio| format!("{}{part}", time_text(ratio)))
    }

    /// Whether its mean score over the tasks is shown not to be a point below the baseline's, for all groups together. A
    /// non-significant difference does not suffice.
    pub(super) fn is_as_good(&self) -> bool {
        self.is_shown(|comparison| comparison.narrow.low > -POINT)
    }

    /// Whether its mean score over the tasks is shown not to be a point above the baseline's, for all groups together.
    pub(super) fn is_no_better(&self) -> bool {
        self.is_shown(|comparison| comparison.narrow.high < POINT)
    }

    /// Whether its mean score is shown to be above the baseline's, for all groups together.
    pub(super) fn is_above(&self) -> bool {
        self.is_shown(|comparison| comparison.interval.low > 0.0)
    }

    /// Whether its mean score would be shown to be above the baseline's if no other group were compared.
    pub(super) fn is_above_alone(&self) -> bool {
        let overall = self.overall.as_ref();
        overall.is_ok_and(|comparison| comparison.interval.low > 0.0)
    }

    /// Whether its mean score is shown to be below the baseline's, for all groups together.
    pub(super) fn is_below(&self) -> bool {
        self.is_shown(|comparison| comparison.interval.high < 0.0)
    }

    fn is_shown(&self, by: impl Fn(&Comparison) -> bool) -> bool {
        let overall = self.overall.as_ref();
        overall.is_ok_and(|comparison| by(&comparison.one_of(self.groups)))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use totune_stats::Estimate;

    pub(in crate::tables::takeaway) fn copy(each: &BaselineComparison) -> BaselineComparison {
        BaselineComparison {
            title: each.title.clone(),
            overall: each.overall.clone(),
            ..*each
        }
    }

    pub(in crate::tables::takeaway) fn detail(
        title: &str,
        kept: f64,
        time: Option<f64>,
    ) -> BaselineComparison {
        BaselineComparison {
            title: title.to_owned(),
            difference: 0.8 * (kept - 1.0),
            kept: Some(kept),
            time,
            timed: 4,
            memory: None,
            overall: Ok(comparison(0.8 * (kept - 1.0), 1.0)),
            groups: 1,
            tasks: 4,
            tested: 4,
            below: 0,
            above: 0,
        }
    }

    pub(in crate::tables::takeaway) fn comparison(difference: f64, half: f64) -> Comparison {
        let (value, error, df) = (difference, half / 1.96, f64::INFINITY);
        Comparison::of(Estimate { value, error, df }, "", 3.0, vec![value])
    }

    #[test]
    fn a_time_says_how_many_tasks_it_is_of() {
        let of = |timed, time| BaselineComparison {
            timed,
            ..detail("Few", 0.9, time)
        };
        let told = |each: BaselineComparison| each.in_time().unwrap_or_default();
        assert_eq!(told(of(4, Some(0.5))), "in 50 % of the training time");
        let part = "in 50 % of the training time (on 2 of 4 tasks)";
        assert_eq!(told(of(2, Some(0.5))), part);
        assert_eq!(told(of(0, None)), "");
    }
}
