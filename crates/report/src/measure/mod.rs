//! What the runs, and the paper's own numbers, have to say about a claim.

mod of_groups;
mod of_layers;
mod of_tasks;
mod settings;
mod time;

#[cfg(test)]
mod layer_tests;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use anyhow::Result;

pub(crate) use self::of_tasks::final_score;
pub(crate) use self::settings::trained_share;
pub(crate) use self::time::seconds_of_both;
use crate::claims::{Budget, Check, Claim, OverTasks, matrix};
use crate::compare::Comparison;
use crate::own::{self, Decided, Own};
use crate::plan::{Measure, Plan};
use crate::runs::Runs;
use crate::sample::Sample;
use crate::text::{Scale, decimals, fixed, signed};
use crate::verdict::{Rule, Verdict};

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

/// Comparisons of runs, how to show them, and how they decide.
pub(crate) struct Evidence {
    pub(crate) paper: String,
    pub(crate) ours: String,
    pub(crate) rule: Rule,
    /// How the differences are written.
    pub(crate) scale: Scale,
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
    fn new(paper: String, ours: String, rule: Rule) -> Self {
        Self {
            paper,
            ours,
            rule,
            scale: Scale::Plain(DIGITS),
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
        let labels = self.labels(&claim.check, from)?;
        if !labels.is_empty() {
            return Ok(Measured::untestable(
                &self.paper_text(claim),
                &labels_text(&labels),
            ));
        }
        match &claim.check {
            Check::Value(check) => self.value(check, from),
            Check::Order(check) => self.order(check, from),
            Check::Difference(check) => self.difference(check, from),
            Check::NoDifference(check) => {
                self.none(check, ("no difference", Rule::NoDifference), from)
            }
            Check::NoGain(check) => self.none(check, ("no gain", Rule::NoGain), from),
            Check::Spread(check) => self.spread(check, from),
            Check::TaskDifference(check) => self.task_difference(check, from),
            Check::TaskRelative(check) => self.task_relative(check, from),
            Check::EachTask(check) => self.each_task(check, from),
            Check::TaskContrast(check) => self.task_contrast(check, from),
            Check::Deviation(check) => self.deviation(check, from),
            Check::LayerTrend(check) => self.layer_trend(check, from),
            Check::LayersAbove(check) => self.layers_above(check, from),
            Check::LayersNear(check) => self.layers_near(check, from),
            Check::LayersFlat(check) => self.layers_flat(check, from),
            Check::LateRise(check) => self.late_rise(check, from),
            Check::LayersZero(check) => self.layers_zero(check, from),
            Check::NoCorrelation(check) => self.no_correlation(check, from),
            Check::Cells(check) => {
                let table = matrix(self.plan, &check.table, from)?;
                Ok(decided(own::cells(check, table, self.plan)))
            }
            Check::PrintedDifferences(check) => {
                let table = matrix(self.plan, &check.table, from)?;
                Ok(decided(own::printed_differences(check, table, self.plan)))
            }
            Check::Repeats(check) => self.repeats(check, from),
            Check::Share(check) => self.share(check, from),
            Check::Saving(check) => self.saving(check, from),
            Check::Slower(check) => self.slower(check, from),
            Check::AsLong(check) => self.as_long(check, from),
            Check::SameTime(check) => self.same_time(check, from),
            Check::Budget(check) => self.budget(check, from),
            Check::Arithmetic(check) => Ok(Measured::own(own::arithmetic(check))),
            Check::MeanOf(check) => Ok(Measured::own(own::mean_of(check))),
            Check::ShareOf(check) => Ok(Measured::own(own::share_of(check))),
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

    /// What the runs that a check looks at must not be taken for.
    fn labels(&self, check: &Check, from: &str) -> Result<BTreeSet<String>> {
        let mut labels = BTreeSet::new();
        // Without labelled runs there is nothing to look for, and claims that no run of a profile can meet stay as
        // they are.
        if self.runs.all().iter().all(|run| run.labels().is_empty()) {
            return Ok(labels);
        }
        for conditions in check.selections(self.plan, from)? {
            for run in self.runs.select(&conditions, from)?.runs {
                labels.extend(run.labels().iter().cloned());
            }
        }
        Ok(labels)
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
            Check::TaskDifference(OverTasks {
                paper: Some(paper), ..
            })
            | Check::Budget(Budget {
                paper: Some(paper), ..
            }) => of_tasks::points_text(&[*paper]),
            Check::TaskRelative(OverTasks {
                paper: Some(paper), ..
            }) => of_tasks::share_lower(*paper),
            Check::SameTime(check) if !check.paper.is_empty() => {
                of_tasks::points_text(&check.paper)
            }
            Check::Saving(check) => time::saving_text(check.paper),
            Check::Share(check) => settings::limits_text(check.printed),
            _ => claim.title.clone(),
        }
    }
}

/// Why labelled runs decide nothing.
fn labels_text(labels: &BTreeSet<String>) -> String {
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    format!("its runs on this page are labelled: {}", labels.join("; "))
}

fn decided(found: Result<Decided, String>) -> Measured {
    match found {
        Ok(decided) => Measured::own(decided),
        Err(why) => Measured::untestable(NOT_RECOVERED, &why),
    }
}

const NOT_RECOVERED: &str = "not recovered";
