//! Scores by layer. Everything is read off means over runs, since a probe of pretrained states has no seed.

use anyhow::Result;
use totune_stats::{Interval, spearman_test};

use super::{Court, Evidence, Measured, Settled};
use crate::claims::{
    LateRise, LayerTrend, LayersAbove, LayersFlat, LayersNear, LayersZero, Side, Tasks,
};
use crate::compare::Comparison;
use crate::layers::ByLayer;
use crate::panel::Runners;
use crate::plan::{Task, Where};
use crate::sample::LEVEL;
use crate::text::{Scale, fixed};
use crate::verdict::{self, Rule, Verdict, within};

/// Means by layer of one task.
struct On<'a> {
    task: &'a Task,
    /// From the lowest layer to the highest; at least one.
    means: Vec<(u32, f64)>,
}

impl Court<'_> {
    /// The means of a group on each task; `Err` says what has not been run.
    fn by_layer(
        &self,
        group: &str,
        tasks: Tasks,
        (metric, split): (Option<&String>, &str),
        first: u32,
        from: &str,
    ) -> Result<Result<Vec<On<'_>>, String>> {
        let side = Side::One(group.to_owned());
        let mut found = Vec::new();
        for task in tasks.of(self.plan, from)? {
            let place = (self.plan, self.runs);
            let runners = Runners::of(&side, task, &Where::new(), place, from)?;
            let metric = metric.unwrap_or(&task.metric);
            let scores = ByLayer::of(&runners, metric, split);
            let means = scores.means().into_iter();
            let means: Vec<(u32, f64)> = means.filter(|(layer, _)| *layer >= first).collect();
            if means.is_empty() {
                let title = &self.plan.group(group, from)?.title;
                let why = scores.note.unwrap_or_else(|| "no run".to_owned());
                return Ok(Err(format!("{title} on {}: {why}", task.title)));
            }
            found.push(On { task, means });
        }
        Ok(Ok(found))
    }

    /// Scores rise with the layer: Spearman's correlation of both, a comparison for each task.
    pub(super) fn layer_trend(&self, check: &LayerTrend, from: &str) -> Result<Measured> {
        let measure = (check.metric.as_ref(), check.split.as_str());
        let paper = "higher layers score higher".to_owned();
        let found = match self.by_layer(&check.group, check.tasks(), measure, check.from, from)? {
            Ok(found) => found,
            Err(why) => return Ok(Measured::untestable(&paper, &why)),
        };
        let mut evidence = Evidence::new(paper, String::new(), Rule::Order);
        evidence.scale = Scale::Plain(2);
        let mut ours = Vec::new();
        for On { task, means } in found {
            let layers: Vec<f64> = means.iter().map(|(layer, _)| f64::from(*layer)).collect();
            let scores: Vec<f64> = means.iter().map(|(_, score)| *score).collect();
            let Some(test) = spearman_test(&layers, &scores, LEVEL) else {
                let why = format!(
                    "{}: {} layers, or the same score at each, have no order",
                    task.title,
                    layers.len()
                );
                return Ok(Measured::untestable(&evidence.paper, &why));
            };
            ours.push(format!("{} {}", task.title, fixed(test.r, 2)));
            evidence.labels.push(format!(
                "{}: Spearman's correlation of layer and score over {} layers",
                task.title,
                layers.len()
            ));
            evidence.comparisons.push(Comparison {
                difference: test.r,
                interval: test.interval.unwrap_or(Interval {
                    low: test.r,
                    high: test.r,
                }),
                p: test.p,
                effect: None,
                test: match test.exact {
                    true => "all orders of the layers".to_owned(),
                    false => "Student's t for ranks".to_owned(),
                },
                beside: None,
                detectable: None,
            });
            evidence.notes.push(shown(task, &means));
        }
        evidence.ours = ours.join(", ");
        Ok(Measured::Compared(evidence))
    }

    /// One group above another at every layer.
    pub(super) fn layers_above(&self, check: &LayersAbove, from: &str) -> Result<Measured> {
        let measure = (check.metric.as_ref(), check.split.as_str());
        let title = |name: &str| Ok::<_, anyhow::Error>(&self.plan.group(name, from)?.title);
        let (title_a, title_b) = (title(&check.a)?, title(&check.b)?);
        let paper = format!("{title_a} above {title_b} at every layer");
        let side = |group: &str| self.by_layer(group, check.tasks(), measure, check.from, from);
        let (a, b) = match (side(&check.a)?, side(&check.b)?) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(why), _) | (_, Err(why)) => return Ok(Measured::untestable(&paper, &why)),
        };
        let (mut above, mut all, mut reasons, mut rises) = (0, 0, Vec::new(), Vec::new());
        for (a, b) in a.iter().zip(&b) {
            let both = shared(a, b);
            let below: Vec<String> = both
                .iter()
                .filter(|(_, difference)| *difference <= 0.0)
                .map(|(layer, _)| layer.to_string())
                .collect();
            if both.is_empty() {
                let why = format!("{}: no layer has both", a.task.title);
                return Ok(Measured::untestable(&paper, &why));
            }
            let differences: Vec<f64> = both.iter().map(|(_, difference)| *difference).collect();
            rises.push(totune_stats::mean(&differences));
            above += both.len() - below.len();
            all += both.len();
            let not = match below.is_empty() {
                true => String::new(),
                false => format!(", not at {}", below.join(", ")),
            };
            reasons.push(format!(
                "{}: {} of {} layers{not}; {title_a} less {title_b} is {} on average",
                a.task.title,
                both.len() - below.len(),
                both.len(),
                fixed(totune_stats::mean(&differences), 3),
            ));
        }
        let verdict = verdict::of_layers(above, all, &rises);
        Ok(settled(
            paper,
            format!("{above} of {all} layers"),
            verdict,
            reasons,
        ))
    }

    /// Two groups that score alike: the mean over layers of how far apart they are, on each task.
    pub(super) fn layers_near(&self, check: &LayersNear, from: &str) -> Result<Measured> {
        let measure = (check.metric.as_ref(), check.split.as_str());
        let paper = format!("at most {} apart in the mean over layers", check.limit);
        let side = |group: &str| self.by_layer(group, check.tasks(), measure, check.from, from);
        let (a, b) = match (side(&check.a)?, side(&check.b)?) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(why), _) | (_, Err(why)) => return Ok(Measured::untestable(&paper, &why)),
        };
        let (mut kept, mut ours, mut reasons) = (true, Vec::new(), Vec::new());
        for (a, b) in a.iter().zip(&b) {
            let both = shared(a, b);
            if both.is_empty() {
                let why = format!("{}: no layer has both", a.task.title);
                return Ok(Measured::untestable(&paper, &why));
            }
            let apart: Vec<f64> = both.iter().map(|(_, apart)| apart.abs()).collect();
            let apart = totune_stats::mean(&apart);
            kept &= within(apart, check.limit);
            ours.push(format!("{} {}", a.task.title, fixed(apart, 3)));
            let (layer, most) = both.into_iter().fold((0, 0.0_f64), |most, found| {
                if found.1.abs() > most.1.abs() {
                    found
                } else {
                    most
                }
            });
            reasons.push(format!(
                "{}: {} apart on average, most at layer {layer} with {}",
                a.task.title,
                fixed(apart, 3),
                fixed(most, 3)
            ));
        }
        let verdict = verdict::of_limits(kept);
        Ok(settled(paper, ours.join(", "), verdict, reasons))
    }

    /// Scores that stay where they are after some layer.
    pub(super) fn layers_flat(&self, check: &LayersFlat, from: &str) -> Result<Measured> {
        let measure = (check.metric.as_ref(), check.split.as_str());
        let paper = format!("a range of at most {} there", check.limit);
        let found = match self.by_layer(&check.group, check.tasks(), measure, 1, from)? {
            Ok(found) => found,
            Err(why) => return Ok(Measured::untestable(&paper, &why)),
        };
        let (mut kept, mut ours, mut reasons) = (true, Vec::new(), Vec::new());
        for On { task, means } in &found {
            let start = after(means, check.after);
            let scores = || {
                let late = means.iter().filter(|(layer, _)| *layer >= start);
                late.map(|(_, score)| *score)
            };
            let range = scores().fold(f64::MIN, f64::max) - scores().fold(f64::MAX, f64::min);
            kept &= within(range, check.limit);
            ours.push(format!("{} {}", task.title, fixed(range, 3)));
            reasons.push(format!(
                "{}: from layer {start} on the scores span {}; {}",
                task.title,
                fixed(range, 3),
                shown(task, means)
            ));
        }
        let verdict = verdict::of_limits(kept);
        Ok(settled(paper, ours.join(", "), verdict, reasons))
    }

    /// The share of the rise that comes after some layer.
    pub(super) fn late_rise(&self, check: &LateRise, from: &str) -> Result<Measured> {
        let measure = (check.metric.as_ref(), check.split.as_str());
        let percent = |share: f64| format!("{} %", Scale::Percent.number(share));
        let paper = match (check.at_least, check.at_most) {
            (Some(share), _) => format!("at least {} of the rise comes late", percent(share)),
            (None, share) => format!(
                "at most {} of the rise comes late",
                percent(share.unwrap_or(1.0))
            ),
        };
        let found = match self.by_layer(&check.group, check.tasks(), measure, check.from, from)? {
            Ok(found) => found,
            Err(why) => return Ok(Measured::untestable(&paper, &why)),
        };
        let (mut kept, mut ours, mut reasons) = (true, Vec::new(), Vec::new());
        for On { task, means } in &found {
            let (Some((lowest, first)), Some((highest, last))) = (means.first(), means.last())
            else {
                continue;
            };
            let start = after(means, check.after);
            let at = means.iter().find(|(layer, _)| *layer >= start);
            let begin = at.map_or(*last, |(_, score)| *score);
            let rise = last - first;
            if rise <= 0.0 {
                kept = false;
                ours.push(format!("{} no rise", task.title));
                reasons.push(format!("no rise; {}", shown(task, means)));
                continue;
            }
            let late = (last - begin) / rise;
            kept &= check.at_least.is_none_or(|share| late >= share - 1e-9)
                && check.at_most.is_none_or(|share| late <= share + 1e-9);
            ours.push(format!("{} {}", task.title, percent(late)));
            reasons.push(format!(
                "{} of the rise from layer {lowest} to layer {highest} comes after layer {start}; {}",
                percent(late),
                shown(task, means)
            ));
        }
        let verdict = verdict::of_limits(kept);
        Ok(settled(paper, ours.join(", "), verdict, reasons))
    }

    /// A number that is next to nothing at every layer, for every group and metric.
    pub(super) fn layers_zero(&self, check: &LayersZero, from: &str) -> Result<Measured> {
        let paper = format!("at most {} at every layer", check.limit);
        let (mut largest, mut reasons): (f64, Vec<String>) = (0.0, Vec::new());
        let (mut near, mut all) = (0, 0);
        for group in &check.groups {
            for metric in &check.metrics {
                let measure = (Some(metric), check.split.as_str());
                let found = self.by_layer(group, check.tasks(), measure, check.from, from)?;
                let found = match found {
                    Ok(found) => found,
                    Err(why) => return Ok(Measured::untestable(&paper, &why)),
                };
                let title = &self.plan.group(group, from)?.title;
                for On { task, means } in &found {
                    let sizes = || means.iter().map(|(_, value)| value.abs());
                    let most = sizes().fold(0.0, f64::max);
                    largest = largest.max(most);
                    near += sizes().filter(|&size| within(size, check.limit)).count();
                    all += means.len();
                    reasons.push(format!(
                        "{title}, {metric} on {}: up to {}",
                        task.title,
                        fixed(most, 4)
                    ));
                }
            }
        }
        let verdict = verdict::of_limits(near == all);
        let ours = format!(
            "up to {}; {near} of {all} within {}",
            fixed(largest, 4),
            check.limit
        );
        Ok(settled(paper, ours, verdict, reasons))
    }
}

/// `a` less `b` at the layers that both have.
fn shared(a: &On, b: &On) -> Vec<(u32, f64)> {
    let both = a.means.iter().filter_map(|(layer, score)| {
        let (_, other) = b.means.iter().find(|(other, _)| other == layer)?;
        Some((*layer, score - other))
    });
    both.collect()
}

/// The layer that lies at a share of the depth: the fourth of twelve, the second of six.
fn after(means: &[(u32, f64)], share: f64) -> u32 {
    let deepest = means.last().map_or(0, |(layer, _)| *layer);
    (share * f64::from(deepest)).round() as u32
}

/// `Letters by layer: 0.512, 0.634, …`.
fn shown(task: &Task, means: &[(u32, f64)]) -> String {
    let scores: Vec<String> = means.iter().map(|(_, score)| fixed(*score, 3)).collect();
    let first = means.first().map_or(0, |(layer, _)| *layer);
    format!("{} from layer {first}: {}", task.title, scores.join(", "))
}

fn settled(paper: String, ours: String, verdict: Verdict, reasons: Vec<String>) -> Measured {
    Measured::Settled(Settled {
        paper,
        ours,
        effect: None,
        verdict,
        own: None,
        reasons,
    })
}
