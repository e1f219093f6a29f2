//! Findings about a claim, before its relation decides.

use super::verdict::Verdict;
use crate::compare::Comparison;
use crate::text::Scale;

/// Digits of scores in claims.
pub(crate) const DIGITS: usize = 3;

/// Text in place of a number of the paper that could not be recovered.
pub(crate) const NOT_RECOVERED: &str = "not recovered";

/// Evidence on a claim, from runs or from the paper's own numbers.
pub(crate) enum Finding {
    /// No finding, for this reason.
    Untestable(String),
    /// A verdict.
    Decision(Decision),
    /// Runs were compared with runs.
    Compared(Evidence),
}

/// A verdict that needs no correction for multiple tests.
pub(crate) struct Decision {
    pub(crate) ours: String,
    /// Cohen's d.
    pub(crate) effect: Option<f64>,
    pub(crate) verdict: Verdict,
    /// The part of the paper that decides, if it decides without runs.
    pub(crate) own: Option<DecidedBy>,
    pub(crate) reasons: Vec<String>,
}

/// Comparisons of runs, and how to show them; the claim's relation decides on them.
pub(crate) struct Evidence {
    pub(crate) ours: String,
    /// Number format of the differences.
    pub(crate) scale: Scale,
    /// Comparisons, each with its label.
    pub(crate) comparisons: Vec<(String, Comparison)>,
    /// Reasons why further comparisons could not be made, one for each; only where the first side is to be above the second in
    /// every one.
    pub(crate) untested: Vec<String>,
    pub(crate) notes: Vec<String>,
}

/// The part of a paper that decides a claim without runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidedBy {
    /// Its numbers, by arithmetic.
    Numbers,
    /// Its words, by reading.
    Words,
    /// Its words compared with someone else's, by reading.
    OtherSource,
}

impl Finding {
    /// A decision by numbers of runs that agree with the paper, or do not.
    pub(crate) fn settled(ours: String, verdict: Verdict, reasons: Vec<String>) -> Self {
        Self::Decision(Decision {
            ours,
            effect: None,
            verdict,
            own: None,
            reasons,
        })
    }

    /// Adds caveats about its runs.
    pub(crate) fn add(&mut self, caveats: Vec<String>) {
        match self {
            Self::Untestable(_) => {}
            Self::Decision(decision) => decision.reasons.extend(caveats),
            Self::Compared(evidence) => evidence.notes.extend(caveats),
        }
    }

    /// A decision by the paper's own numbers.
    pub(crate) fn by_numbers(recomputed: String, verdict: Verdict, reasons: Vec<String>) -> Self {
        Self::Decision(Decision {
            ours: recomputed,
            effect: None,
            verdict,
            own: Some(DecidedBy::Numbers),
            reasons,
        })
    }
}

impl Decision {
    pub(crate) fn untestable(why: String) -> Self {
        Self {
            ours: String::new(),
            effect: None,
            verdict: Verdict::NotTestable,
            own: None,
            reasons: vec![why],
        }
    }
}

impl From<Result<Self, String>> for Finding {
    /// `Err` gives the reason why there is no finding.
    fn from(found: Result<Self, String>) -> Self {
        found.unwrap_or_else(Self::Untestable)
    }
}

impl Evidence {
    /// Empty evidence, in units of `scale`.
    pub(crate) fn new(scale: Scale) -> Self {
        Self {
            ours: String::new(),
            scale,
            comparisons: vec![],
            untested: vec![],
            notes: vec![],
        }
    }

    /// Evidence of one comparison.
    pub(crate) fn of(label: String, comparison: Comparison, scale: Scale) -> Self {
        Self {
            ours: comparison.difference_in(scale),
            comparisons: vec![(label, comparison)],
            ..Self::new(scale)
        }
    }
}

impl DecidedBy {
    /// The words that follow a verdict.
    pub fn words(self) -> &'static str {
        match self {
            Self::Numbers => "by the paper's own numbers",
            Self::Words => "by the paper's own words",
            Self::OtherSource => "compared with another source",
        }
    }
}
