//! Groups of runs against the paper's values and against each other.

use anyhow::Result;
use totune_stats::{Interval, mean, quartiles};

use super::{Court, DIGITS, Evidence, Measured, NOT_RECOVERED, Settled};
use crate::claims::{Difference, Order, Pair, Side, Value};
use crate::compare::{Comparison, POWER, compare};
use crate::plan::{Measure, Where};
use crate::sample::Sample;
use crate::text::{decimals, fixed, signed};
use crate::verdict::{self, Rule};

impl Court<'_> {
    pub(super) fn value(&self, check: &Value, from: &str) -> Result<Measured> {
        let measure = Measure::score(&check.metric, &check.split);
        let Some(paper) = check
            .paper
            .or_else(|| self.plan.paper_value(&check.group, &measure))
        else {
            return Ok(Measured::untestable(
                NOT_RECOVERED,
                "the paper's value could not be recovered",
            ));
        };
        let sample = self.sample(
            &Side::One(check.group.clone()),
            &measure,
            &check.conditions,
            from,
        )?;
        let digits = decimals(paper).max(DIGITS);
        let Some(mean) = sample.mean() else {
            return Ok(Measured::untestable(
                &fixed(paper, digits),
                &nothing(&sample),
            ));
        };
        let interval = sample.interval();
        let range = interval.as_ref().map_or(String::new(), |interval| {
            format!(
                " [{}, {}]",
                fixed(interval.low, digits),
                fixed(interval.high, digits)
            )
        });
        let off = mean - paper;
        let mut reasons = vec![format!(
            "ours \u{2212} paper's: {}; tolerance {}; {}",
            signed(off, digits),
            fixed(check.tolerance, digits),
            sample.unit()
        )];
        if !sample.lost.is_empty() {
            reasons.push(format!("{} left out", sample.lost_text()));
        }
        let around_zero = interval.map(|interval| Interval {
            low: interval.low - paper,
            high: interval.high - paper,
        });
        Ok(Measured::Settled(Settled {
            paper: fixed(paper, digits),
            ours: format!("{}{range}", fixed(mean, digits)),
            effect: sample.sd().filter(|&sd| sd > 0.0).map(|sd| off / sd),
            verdict: verdict::of_value(off, check.tolerance, around_zero),
            own: None,
            reasons,
        }))
    }

    pub(super) fn order(&self, check: &Order, from: &str) -> Result<Measured> {
        let measure = Measure::score(&check.metric, &check.split);
        let sides = check
            .groups
            .iter()
            .map(|side| {
                Ok((
                    self.title(side, from)?,
                    self.sample(side, &measure, &check.conditions, from)?,
                ))
            })
            .collect::<Result<Vec<_>>>()?;
        let titles: Vec<&str> = sides.iter().map(|(title, _)| title.as_str()).collect();
        let mut evidence = Evidence::new(titles.join(" > "), order_text(&sides), Rule::Order);
        for pair in sides.windows(2) {
            let [(title_a, a), (title_b, b)] = pair else {
                unreachable!("windows of two")
            };
            match compare(a, b) {
                Ok(comparison) => evidence.add(comparison, (title_a, a), (title_b, b)),
                Err(why) => {
                    let why = format!("{title_a} against {title_b}: {}", because(why, a, b));
                    return Ok(Measured::untestable(&evidence.paper, &why));
                }
            }
        }
        Ok(Measured::Compared(evidence))
    }

    pub(super) fn difference(&self, check: &Difference, from: &str) -> Result<Measured> {
        let measure = Measure::score(&check.metric, &check.split);
        let paper = signed(check.paper, decimals(check.paper).max(2));
        let rule = Rule::Differences {
            papers: vec![check.paper],
            tolerance: check.tolerance,
        };
        let mut measured = self.pair(
            (&check.a, &check.b),
            (&measure, &check.conditions),
            (paper, rule),
            from,
        )?;
        let cells = self
            .paper_mean(&check.a, &measure)
            .zip(self.paper_mean(&check.b, &measure));
        if let (Measured::Compared(evidence), Some((a, b))) = (&mut measured, cells) {
            evidence.notes.push(format!(
                "the paper's own cells give {}",
                signed(a - b, DIGITS)
            ));
        }
        Ok(measured)
    }

    /// What the paper does not find, and what our runs could have.
    pub(super) fn none(
        &self,
        check: &Pair,
        (paper, rule): (&str, Rule),
        from: &str,
    ) -> Result<Measured> {
        let measure = Measure::score(&check.metric, &check.split);
        let mut measured = self.pair(
            (&check.a, &check.b),
            (&measure, &check.conditions),
            (paper.to_owned(), rule),
            from,
        )?;
        if let Measured::Compared(evidence) = &mut measured {
            let notes: Vec<String> = evidence
                .comparisons
                .iter()
                .filter_map(detectable_note)
                .collect();
            evidence.notes.extend(notes);
        }
        Ok(measured)
    }

    /// Compares the distances from each side's median: the test of Brown and Forsythe (1974), with Welch's
    /// degrees of freedom since the distances need not vary alike.
    pub(super) fn spread(&self, check: &Pair, from: &str) -> Result<Measured> {
        let measure = Measure::score(&check.metric, &check.split);
        let (title_a, title_b) = (self.title(&check.a, from)?, self.title(&check.b, from)?);
        let a = self.sample(&check.a, &measure, &check.conditions, from)?;
        let b = self.sample(&check.b, &measure, &check.conditions, from)?;
        let paper = format!("{title_a} varies more than {title_b}");
        let (Some(sd_a), Some(sd_b)) = (a.sd(), b.sd()) else {
            let why = because("each side needs two runs".to_owned(), &a, &b);
            return Ok(Measured::untestable(&paper, &why));
        };
        let distances = |sample: &Sample| {
            let [_, _, median, _, _] = quartiles(&sample.values);
            sample.map(|value| (value - median).abs())
        };
        let comparison = match compare(&distances(&a), &distances(&b)) {
            Ok(comparison) => comparison,
            Err(why) => return Ok(Measured::untestable(&paper, &why)),
        };
        let comparison = Comparison {
            test: format!(
                "on distances from the median (Brown and Forsythe), {}",
                comparison.test
            ),
            beside: None,
            ..comparison
        };
        let mut evidence = Evidence::new(
            paper,
            format!("sd {} against {}", fixed(sd_a, 4), fixed(sd_b, 4)),
            Rule::Spread,
        );
        if sd_b > 0.0 {
            evidence.notes.push(format!(
                "ratio of variances {}",
                fixed((sd_a / sd_b).powi(2), 2)
            ));
        }
        evidence.add(comparison, (&title_a, &a), (&title_b, &b));
        Ok(Measured::Compared(evidence))
    }

    fn pair(
        &self,
        (a, b): (&Side, &Side),
        (measure, conditions): (&Measure, &Where),
        (paper, rule): (String, Rule),
        from: &str,
    ) -> Result<Measured> {
        let (title_a, title_b) = (self.title(a, from)?, self.title(b, from)?);
        let a = self.sample(a, measure, conditions, from)?;
        let b = self.sample(b, measure, conditions, from)?;
        Ok(match compare(&a, &b) {
            Ok(comparison) => {
                let mut evidence = Evidence::new(paper, comparison.difference_text(DIGITS), rule);
                evidence.add(comparison, (&title_a, &a), (&title_b, &b));
                Measured::Compared(evidence)
            }
            Err(why) => Measured::untestable(&paper, &because(why, &a, &b)),
        })
    }

    fn sample(
        &self,
        side: &Side,
        measure: &Measure,
        conditions: &Where,
        from: &str,
    ) -> Result<Sample> {
        let samples = side.names().iter().map(|name| {
            let mut all = self.plan.group(name, from)?.conditions.clone();
            all.extend(conditions.clone());
            self.runs.sample(&all, measure, from)
        });
        Ok(Sample::pooled(samples.collect::<Result<Vec<_>>>()?))
    }

    pub(super) fn title(&self, side: &Side, from: &str) -> Result<String> {
        let titles = side
            .names()
            .iter()
            .map(|name| Ok(self.plan.group(name, from)?.title.as_str()));
        Ok(titles.collect::<Result<Vec<_>>>()?.join(" + "))
    }

    /// The mean of the paper's cells for the groups of a side, if it has them all.
    fn paper_mean(&self, side: &Side, measure: &Measure) -> Option<f64> {
        let cells = side
            .names()
            .iter()
            .map(|name| self.plan.paper_value(name, measure))
            .collect::<Option<Vec<_>>>()?;
        Some(mean(&cells))
    }
}

fn detectable_note(comparison: &Comparison) -> Option<String> {
    Some(format!(
        "to be found in {} % of such comparisons, a true difference has to be {}; smaller ones may be there unseen",
        fixed(POWER * 100.0, 0),
        fixed(comparison.detectable?, DIGITS)
    ))
}

/// The sides that have runs, from the highest mean to the lowest.
fn order_text(sides: &[(String, Sample)]) -> String {
    let mut means: Vec<(&String, f64)> = sides
        .iter()
        .filter_map(|(title, sample)| Some((title, sample.mean()?)))
        .collect();
    means.sort_by(|a, b| b.1.total_cmp(&a.1));
    let parts: Vec<String> = means
        .iter()
        .map(|(title, mean)| format!("{title} {}", fixed(*mean, DIGITS)))
        .collect();
    parts.join(" > ")
}

/// Why a sample has no number.
fn nothing(sample: &Sample) -> String {
    match (&sample.note, sample.lost.is_empty()) {
        (Some(note), _) => note.clone(),
        (None, false) => format!("no run gave a number: {}", sample.lost_text()),
        (None, true) => "no run".to_owned(),
    }
}

/// A reason, with what is known about a side that lacks runs.
fn because(why: String, a: &Sample, b: &Sample) -> String {
    let missing: Vec<String> = [a, b]
        .iter()
        .filter(|sample| sample.n() == 0)
        .map(|sample| nothing(sample))
        .collect();
    if missing.is_empty() {
        why
    } else {
        format!("{why}: {}", missing.join("; "))
    }
}
