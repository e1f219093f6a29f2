//! Details of a verdict: each comparison with both intervals and both tests, and the smallest effect that it can
//! detect.

use std::iter::repeat_n;

use totune_stats::{Estimate, holm};

use super::relation::Relation;
use super::verdict::{Rule, Verdict};
use crate::compare::{ALPHA, Comparison, ONE_SIDED, POWER};
use crate::plan::Unit;
use crate::text::{Scale, counted, fixed, p_equals};

/// The most comparisons of which each is shown in full.
const FULL: usize = 6;

/// Settings for showing the comparisons of a claim.
pub(super) struct Explanation<'c> {
    pub(super) relation: &'c Relation,
    pub(super) rule: Rule,
    pub(super) unit: Unit,
    pub(super) scale: Scale,
    /// Comparisons of the claim that could not be made.
    pub(super) untested: usize,
}

impl Explanation<'_> {
    /// Whether the relation is equivalence or non-inferiority.
    fn is_within(&self) -> bool {
        matches!(self.relation, Relation::Equivalent | Relation::NonInferior)
    }

    /// The p-value of the relation's own test; for equivalence that of two one-sided tests.
    pub(super) fn p(&self, found: &Comparison) -> Option<f64> {
        let tost = || Some(found.estimate?.tost(self.rule.margin));
        match self.relation {
            Relation::Equivalent => tost().map(|tost| tost.p()),
            Relation::NonInferior => tost().map(|tost| tost.lower.1),
            _ => Some(self.rule.p(found)),
        }
    }

    /// The smallest difference that such a comparison detects with a power of 80 %; for equivalence and
    /// non-inferiority, the smallest margin.
    pub(super) fn detectable(&self, found: &Comparison) -> Option<f64> {
        match self.relation {
            Relation::Equivalent => found.detectable_margin(),
            Relation::NonInferior => found.detectable_loss(),
            _ => found.detectable(),
        }
    }

    /// One sentence for each comparison.
    pub(super) fn sentences(&self, labels: &[String], found: &[Comparison]) -> Vec<String> {
        let p = found.iter().map(|each| self.rule.p(each));
        let p: Vec<f64> = p.chain(repeat_n(1.0, self.untested)).collect();
        let each = labels.iter().zip(found).zip(holm(&p));
        each.map(|((label, found_one), corrected)| {
            let mut parts = vec![
                format!("{label}: {}", found_one.difference_in(self.scale)),
                format!("{}, {}", found_one.test, p_equals(found_one.p)),
            ];
            if p.len() > 1 {
                parts.push(format!("corrected over the claim {}", p_equals(corrected)));
            }
            if found.len() <= FULL {
                parts.extend(self.further(found_one));
            }
            parts.join("; ")
        })
        .collect()
    }

    /// The other test, the 90 % interval, and where the true difference is likely to be.
    fn further(&self, found: &Comparison) -> Vec<String> {
        let mut parts: Vec<String> = found.permutation_text().into_iter().collect();
        parts.push(format!(
            "90 % interval {}",
            self.scale.interval(found.narrow)
        ));
        if let (Some(estimate), true) = (found.estimate, self.rule.margin > 0.0) {
            let margin = self.rule.margin;
            let above = 1.0 - estimate.p_above(margin);
            let below = estimate.p_above(-margin);
            let percent = |share: f64| format!("{} %", fixed(share * 100.0, 0));
            parts.push(format!(
                "probability of a difference above {}: {}, within it: {}, below its opposite: {}",
                self.scale.amount(margin),
                percent(above),
                percent(1.0 - above - below),
                percent(below)
            ));
        }
        parts
    }

    /// The reason for a verdict other than reproduced, or the number of seeds that would decide.
    pub(super) fn why(&self, verdict: Verdict, found: &[Comparison]) -> Option<String> {
        match verdict {
            Verdict::Direction => Some(self.only_direction(found)),
            Verdict::NotDecided => self.undecided(found),
            Verdict::Contradicted if !self.is_within() => {
                let papers = self.relation.papers();
                let seen = found.iter().enumerate().any(|(at, each)| {
                    let paper = papers.get(at).or(papers.first());
                    let is_negative = paper.is_some_and(|&paper| paper < 0.0);
                    self.rule.p(each) < ALPHA && (each.difference < 0.0) != is_negative
                });
                (!seen).then(|| "a difference as large as the margin is excluded".to_owned())
            }
            _ => None,
        }
    }

    fn only_direction(&self, found: &[Comparison]) -> String {
        let significant = |each: &Comparison| self.rule.p(each) < ALPHA;
        if !found.iter().all(significant) {
            let n = found.iter().filter(|each| significant(each)).count();
            return format!("{n} of {} differences are significant", found.len());
        }
        let mut lacks = Vec::new();
        for (each, &paper) in found.iter().zip(self.relation.papers()) {
            let each = if paper < 0.0 {
                each.turned()
            } else {
                each.clone()
            };
            lacks.extend(self.rule.lacks(&each, paper.abs()));
        }
        lacks.dedup();
        if lacks.is_empty() {
            format!(
                "the difference is there, and below the margin of {}",
                self.scale.amount(self.rule.margin)
            )
        } else {
            lacks.join("; ")
        }
    }

    fn undecided(&self, found: &[Comparison]) -> Option<String> {
        let hardest = found
            .iter()
            .filter_map(|each| Some((self.detectable(each)?, each)))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let (size, each) = hardest?;
        let (size, power) = (self.scale.amount(size), fixed(POWER * 100.0, 0));
        let can = if self.is_within() {
            format!(
                "with a power of {power} % such comparisons show that a true difference of 0 is within {size}, and not within less"
            )
        } else {
            format!(
                "with a power of {power} % such comparisons detect a true difference of {size}, and no smaller one"
            )
        };
        let target = match self.relation.papers() {
            [] => self.rule.margin,
            papers => papers
                .iter()
                .fold(f64::INFINITY, |least, p| least.min(p.abs())),
        };
        let takes = self.seeds(each, target).map(|seeds| {
            let noun = counted(seeds, self.unit.noun());
            format!(
                "; for {} that takes about {noun} a side",
                self.scale.amount(target)
            )
        });
        Some(can + &takes.unwrap_or_default())
    }

    /// Seeds with which a difference of `target`, or none within it, is shown with a power of 80 %.
    fn seeds(&self, found: &Comparison, target: f64) -> Option<usize> {
        let decides = |with: &Estimate| {
            POWER
                <= match self.relation {
                    Relation::Equivalent => with.equivalence_power(0.0, target, ALPHA),
                    Relation::NonInferior => with.power(target, ONE_SIDED),
                    _ => with.power(target, ALPHA),
                }
        };
        (target > 0.0).then(|| found.estimate?.seeds_needed(found.n, decides))?
    }
}
