//! The final score of a metric: the mean over all runs of a side, and differences of such means.

use super::prelude::*;
use crate::select::panel::test;

/// A metric on a split.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Score {
    metric: String,
    #[serde(default = "test")]
    split: String,
    /// Conditions on the runs of all sides.
    #[serde(default, rename = "where")]
    conditions: Where,
    #[serde(default)]
    compared: Compared,
}

/// The pairs of several sides of which the paper says that the first is greater.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Compared {
    /// Each side with the next.
    #[default]
    Neighbours,
    /// The first side with each of the others.
    FirstWithEach,
}

impl Quantity for Score {
    fn shape(&self, terms: &Terms) -> Shape {
        Shape::of_runs(DIFFERENCES, self.conditions.clone()).sides(match terms.relation {
            Relation::Near(_) => 1..=2,
            Relation::Greater => at_least(2),
            _ => 2..=2,
        })
    }

    fn check(&self, terms: &Terms) -> Result<()> {
        if terms.sides.len() > 1 {
            return sized(terms, 1);
        }
        with_tolerance(terms)
    }

    fn stated(&self, terms: &Terms) -> Result<String> {
        Ok(match (terms.relation, terms.sides.len()) {
            (Relation::Near(_), 1) => match self.printed(terms) {
                Some(paper) => fixed(paper, digits(paper)),
                None => NOT_RECOVERED.to_owned(),
            },
            (Relation::Near(near), _) => signed(near.paper[0], decimals(near.paper[0]).max(2)),
            (Relation::NonInferior, _) => format!("at most {} lower", terms.margin),
            (Relation::Equivalent, _) => format!("at most {} apart", terms.margin),
            _ => {
                let titles = terms.sides.iter().map(|side| terms.title(side));
                let titles = titles.collect::<Result<Vec<_>>>()?;
                match (self.compared, titles.as_slice()) {
                    (Compared::FirstWithEach, [first, others @ ..]) => {
                        format!("{first} > each of {}", others.join(", "))
                    }
                    _ => titles.join(" > "),
                }
            }
        })
    }

    fn measure(&self, terms: &Terms, runs: &Runs) -> Result<Finding> {
        let sides = terms.sides.iter().map(|side| {
            let sample = terms.sample(side, (&self.measured(), &self.conditions), runs)?;
            Ok((terms.title(side)?, sample))
        });
        let sides = sides.collect::<Result<Vec<_>>>()?;
        Ok(match (terms.relation, sides.as_slice()) {
            (_, [(_, sample)]) => self.value(terms, sample).into(),
            (Relation::Greater, _) => self.order(&sides, terms.unit).into(),
            (_, [a, b, ..]) => self.pair(terms, a, b).into(),
            (_, []) => Finding::Untestable("no side".to_owned()),
        })
    }
}

impl Score {
    fn measured(&self) -> Measure {
        Measure::score(&self.metric, &self.split)
    }

    /// The paper's value of a single side.
    fn printed(&self, terms: &Terms) -> Option<f64> {
        let stated = terms.relation.papers().first().copied();
        stated.or_else(|| terms.sides[0].paper_mean(terms.plan, &self.measured()))
    }

    /// The mean of one side compared with the paper's.
    fn value(&self, terms: &Terms, sample: &Sample) -> Result<Finding, String> {
        let paper = self
            .printed(terms)
            .ok_or("the paper's value could not be recovered")?;
        let mean = sample.mean().ok_or_else(|| nothing(sample))?;
        let tolerance = terms.relation.tolerance().unwrap_or_default();
        let digits = digits(paper);
        let intervals = sample
            .intervals(terms.unit, [LEVEL, NARROW])
            .ok_or_else(|| format!("{}, whose spread is not known", sample.unit()))?;
        let [wide, narrow] = intervals;
        let shown = |interval| Scale::Plain(digits).interval(interval);
        let off = mean - paper;
        let mut reasons = vec![format!(
            "ours \u{2212} paper's: {}; tolerance {}; {}; 90 % interval {}",
            signed(off, digits),
            fixed(tolerance, digits),
            sample.unit(),
            shown(narrow)
        )];
        if !sample.lost.is_empty() {
            reasons.push(format!("{} left out", sample.lost_text()));
        }
        Ok(Finding::Decision(Decision {
            ours: format!("{} {}", fixed(mean, digits), shown(wide)),
            effect: sample.sd().filter(|&sd| sd > 0.0).map(|sd| off / sd),
            verdict: verdict::of_value(paper, tolerance, intervals),
            own: None,
            reasons,
        }))
    }

    /// The difference of two sides.
    fn pair(
        &self,
        terms: &Terms,
        (title_a, a): &(String, Sample),
        (title_b, b): &(String, Sample),
    ) -> Result<Finding, String> {
        let comparison = compared(a, b, terms.unit)?;
        let mut evidence = Evidence::new(Scale::Plain(DIGITS));
        evidence.ours = comparison.difference_in(evidence.scale);
        evidence.add_samples(comparison, (title_a, a), (title_b, b));
        let cells = || {
            let of = |at: usize| terms.sides[at].paper_mean(terms.plan, &self.measured());
            Some(format!(
                "the paper's own cells give {}",
                signed(of(0)? - of(1)?, DIGITS)
            ))
        };
        if let Relation::Near(_) = terms.relation {
            evidence.notes.extend(cells());
        }
        Ok(Finding::Compared(evidence))
    }

    /// Several sides compared in the pairs that are asked for.
    fn order(&self, sides: &[(String, Sample)], unit: Unit) -> Result<Finding, String> {
        let mut evidence = Evidence::new(Scale::Plain(DIGITS));
        evidence.ours = order_text(sides);
        let others = sides.iter().skip(1).enumerate();
        for (at, (title_b, b)) in others {
            let above = match self.compared {
                Compared::Neighbours => at,
                Compared::FirstWithEach => 0,
            };
            let (title_a, a) = &sides[above];
            let comparison = compared(a, b, unit)
                .map_err(|why| format!("{title_a} against {title_b}: {why}"))?;
            evidence.add_samples(comparison, (title_a, a), (title_b, b));
        }
        Ok(Finding::Compared(evidence))
    }
}

impl Evidence {
    /// Adds a comparison of two samples, with the runs that each lost.
    pub(crate) fn add_samples(
        &mut self,
        comparison: Comparison,
        (title_a, a): (&str, &Sample),
        (title_b, b): (&str, &Sample),
    ) {
        let units = (a.unit(), b.unit());
        let is_single = a.n() == 1 || b.n() == 1;
        let of_both = if units.0 == units.1 || is_single {
            ""
        } else {
            "; those of both are compared"
        };
        let label = format!(
            "{title_a} \u{2212} {title_b} ({} against {}{of_both})",
            units.0, units.1
        );
        self.comparisons.push((label, comparison));
        for (title, sample) in [(title_a, a), (title_b, b)] {
            if !sample.lost.is_empty() {
                self.notes
                    .push(format!("{title}: {} left out", sample.lost_text()));
            }
        }
    }
}

/// Digits of a value that is printed with its own.
fn digits(paper: f64) -> usize {
    decimals(paper).max(DIGITS)
}

/// Compares two samples that are large enough for it.
pub(super) fn compared(a: &Sample, b: &Sample, unit: Unit) -> Result<Comparison, String> {
    let comparison = compare(a, b, unit).map_err(|why| because(why, a, b))?;
    enough(comparison.n as usize, unit)?;
    Ok(comparison)
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

/// The reason why a sample has no number.
fn nothing(sample: &Sample) -> String {
    match (&sample.note, sample.lost.is_empty()) {
        (Some(note), _) => note.clone(),
        (None, false) => format!("no run gave a number: {}", sample.lost_text()),
        (None, true) => "no run".to_owned(),
    }
}

/// A reason, with the notes on a side that lacks runs.
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
