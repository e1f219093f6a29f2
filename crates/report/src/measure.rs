//! What the runs, and the paper's own tables, have to say about a claim.

use anyhow::Result;
use totune_stats::{Interval, mean, quartiles};

use crate::claims::{Check, Claim, Difference, Order, Pair, Side, Value};
use crate::compare::{Comparison, POWER, compare};
use crate::own::{self, Decided, Own};
use crate::plan::{Measure, Plan, Where};
use crate::runs::Runs;
use crate::sample::Sample;
use crate::text::{decimals, fixed, signed};
use crate::verdict::{self, Verdict};

/// Digits of scores in claims.
pub(crate) const DIGITS: usize = 3;

/// What claims are measured against.
pub(crate) struct Court<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) runs: &'a Runs,
    /// Profile of the runs.
    pub(crate) profile: &'a str,
}

/// What is known about a claim before p-values are corrected.
pub(crate) enum Measured {
    /// All there is to know.
    Settled(Settled),
    /// Runs were compared with runs.
    Compared(Evidence),
}

/// A verdict that needs no correction.
pub(crate) struct Settled {
    pub(crate) paper: String,
    pub(crate) ours: String,
    pub(crate) effect: Option<f64>,
    pub(crate) verdict: Verdict,
    /// Whether the paper itself decides, and by what.
    pub(crate) own: Option<Own>,
    pub(crate) reasons: Vec<String>,
}

/// Comparisons of runs, and how to show them.
pub(crate) struct Evidence {
    pub(crate) paper: String,
    pub(crate) ours: String,
    pub(crate) comparisons: Vec<Comparison>,
    /// What each comparison is of.
    pub(crate) labels: Vec<String>,
    pub(crate) notes: Vec<String>,
}

impl Measured {
    /// Comparisons whose p-values belong to the page's correction.
    pub(crate) fn comparisons(&self) -> &[Comparison] {
        match self {
            Self::Compared(evidence) => &evidence.comparisons,
            Self::Settled(_) => &[],
        }
    }

    fn own(
        Decided {
            by,
            paper,
            recomputed,
            verdict,
            reasons,
        }: Decided,
    ) -> Self {
        Self::Settled(Settled {
            paper,
            ours: recomputed,
            effect: None,
            verdict,
            own: Some(by),
            reasons,
        })
    }

    fn untestable(paper: &str, why: &str) -> Self {
        Self::Settled(Settled {
            paper: paper.to_owned(),
            ours: String::new(),
            effect: None,
            verdict: Verdict::NotTestable,
            own: None,
            reasons: vec![why.to_owned()],
        })
    }
}

impl Evidence {
    fn new(paper: String, ours: String) -> Self {
        Self {
            paper,
            ours,
            comparisons: vec![],
            labels: vec![],
            notes: vec![],
        }
    }

    fn add(
        &mut self,
        comparison: Comparison,
        (title_a, a): (&str, &Sample),
        (title_b, b): (&str, &Sample),
    ) {
        self.comparisons.push(comparison);
        self.labels.push(format!(
            "{title_a} \u{2212} {title_b} ({} against {})",
            a.unit(),
            b.unit()
        ));
        for (title, sample) in [(title_a, a), (title_b, b)] {
            if !sample.lost.is_empty() {
                self.notes
                    .push(format!("{title}: {} left out", sample.lost_text()));
            }
        }
    }
}

impl Court<'_> {
    /// Measures `claim`; `from` names it in errors.
    pub(crate) fn measure(&self, claim: &Claim, from: &str) -> Result<Measured> {
        if !claim.profiles.is_empty()
            && claim.profiles.iter().all(|profile| profile != self.profile)
        {
            let wanted = claim.profiles.join(" or ");
            let why = format!(
                "it takes the profile {wanted}; this page shows {}",
                self.profile
            );
            return Ok(Measured::untestable(&self.paper_text(claim), &why));
        }
        match &claim.check {
            Check::Value(check) => self.value(check, from),
            Check::Order(check) => self.order(check, from),
            Check::Difference(check) => self.difference(check, from),
            Check::NoDifference(check) => self.no_difference(check, from),
            Check::Spread(check) => self.spread(check, from),
            Check::Arithmetic(check) => Ok(Measured::own(own::arithmetic(check))),
            Check::PValue(check) => Ok(Measured::own(own::p_value(check))),
            Check::Statement(check) => Ok(Measured::own(own::statement(check))),
            Check::F1Bound(check) => {
                let cell = |metric: &str| {
                    self.plan
                        .paper_value(&check.group, &Measure::score(metric, &check.split))
                };
                Ok(match (cell(&check.accuracy), cell(&check.f1)) {
                    (Some(accuracy), Some(f1)) => Measured::own(own::f1_bound(check, accuracy, f1)),
                    _ => Measured::untestable(
                        NOT_RECOVERED,
                        "no table gives both numbers of the paper",
                    ),
                })
            }
            Check::Power(check) => {
                let cell = |group: &str| {
                    self.plan
                        .paper_value(group, &Measure::score(&check.metric, &check.split))
                };
                Ok(match (cell(&check.a), cell(&check.b)) {
                    (Some(a), Some(b)) => Measured::own(own::power(check, a - b)),
                    _ => Measured::untestable(
                        NOT_RECOVERED,
                        "no table gives both means of the paper",
                    ),
                })
            }
        }
    }

    fn value(&self, check: &Value, from: &str) -> Result<Measured> {
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

    fn order(&self, check: &Order, from: &str) -> Result<Measured> {
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
        let mut evidence = Evidence::new(titles.join(" > "), order_text(&sides));
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

    fn difference(&self, check: &Difference, from: &str) -> Result<Measured> {
        let measure = Measure::score(&check.metric, &check.split);
        let paper = signed(check.paper, decimals(check.paper).max(2));
        let mut measured = self.pair(
            (&check.a, &check.b),
            &measure,
            &check.conditions,
            paper,
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

    fn no_difference(&self, check: &Pair, from: &str) -> Result<Measured> {
        let measure = Measure::score(&check.metric, &check.split);
        let paper = "no difference".to_owned();
        let mut measured = self.pair(
            (&check.a, &check.b),
            &measure,
            &check.conditions,
            paper,
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
    fn spread(&self, check: &Pair, from: &str) -> Result<Measured> {
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
        measure: &Measure,
        conditions: &Where,
        paper: String,
        from: &str,
    ) -> Result<Measured> {
        let (title_a, title_b) = (self.title(a, from)?, self.title(b, from)?);
        let a = self.sample(a, measure, conditions, from)?;
        let b = self.sample(b, measure, conditions, from)?;
        Ok(match compare(&a, &b) {
            Ok(comparison) => {
                let mut evidence = Evidence::new(paper, comparison.difference_text(DIGITS));
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

    fn title(&self, side: &Side, from: &str) -> Result<String> {
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

    /// What the paper gives, for a claim that is not measured.
    fn paper_text(&self, claim: &Claim) -> String {
        match &claim.check {
            Check::Value(check) => {
                let measure = Measure::score(&check.metric, &check.split);
                let paper = check
                    .paper
                    .or_else(|| self.plan.paper_value(&check.group, &measure));
                paper.map_or(NOT_RECOVERED.to_owned(), |paper| {
                    fixed(paper, decimals(paper).max(DIGITS))
                })
            }
            Check::Difference(check) => signed(check.paper, decimals(check.paper).max(2)),
            _ => claim.title.clone(),
        }
    }
}

const NOT_RECOVERED: &str = "not recovered";

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
