//! The largest range between repeats of one setting on one task.

use super::prelude::*;

/// Over all tasks and sides.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Repeatability {}

/// Repeats of all settings.
#[derive(Default)]
struct Repeats {
    /// Range and name of each setting.
    ranges: Vec<(f64, String)>,
    /// Absolute differences between any two repeats of one setting.
    gaps: Vec<f64>,
    /// Most repeats of one setting.
    most: usize,
}

impl Quantity for Repeatability {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::of_tasks(&["at-most"]).sides(at_least(1))
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        Ok(format!(
            "within {}",
            Scale::Points.amount(terms.relation.limit())
        ))
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let mut repeats = Repeats::default();
        for task in terms.tasks()? {
            for side in terms.sides {
                let task_runs = terms.task_runs(side, task, runs)?;
                let title = format!("{} on {}", terms.title(side)?, task.title);
                for runs in task_runs.by_kind().values() {
                    let scores = runs.iter();
                    let scores = scores.filter_map(|run| final_score(run, task));
                    repeats.add(scores.collect(), &title);
                }
            }
        }
        Ok(repeats.finding(terms))
    }
}

impl Repeats {
    fn add(&mut self, scores: Vec<f64>, title: &str) {
        if scores.len() < 2 {
            return;
        }
        let [low, _, _, _, high] = quartiles(&scores);
        self.ranges.push((high - low, title.to_owned()));
        self.most = self.most.max(scores.len());
        for (at, one) in scores.iter().enumerate() {
            let others = scores[at + 1..].iter();
            self.gaps.extend(others.map(|other| (one - other).abs()));
        }
    }

    fn finding(&self, terms: &Terms) -> Finding {
        let largest = self.ranges.iter().max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((largest, title)) = largest else {
            return Finding::Untestable("no setting was run twice".to_owned());
        };
        let ranges: Vec<f64> = self.ranges.iter().map(|(range, _)| *range).collect();
        let [_, _, median, _, _] = quartiles(&ranges);
        let kept = |value: &&f64| terms.relation.keeps(**value);
        let beyond = ranges.len() - ranges.iter().filter(kept).count();
        let near = self.gaps.iter().filter(kept).count();
        let limit = Scale::Points.amount(terms.relation.limit());
        let reasons = vec![
            format!(
                "the largest range between repeats is {}, {title}; the median range is {}",
                Scale::Points.amount(*largest),
                Scale::Points.amount(median)
            ),
            format!(
                "{beyond} of {} have a larger range than {limit} (up to {} repeats each)",
                counted(ranges.len(), "setting"),
                self.most
            ),
            format!(
                "of {} of repeats, {near} lie within {limit}",
                counted(self.gaps.len(), "pair")
            ),
        ];
        let verdict = verdict::of_limits(beyond == 0);
        Finding::settled(
            format!("up to {}", Scale::Points.amount(*largest)),
            verdict,
            reasons,
        )
    }
}
