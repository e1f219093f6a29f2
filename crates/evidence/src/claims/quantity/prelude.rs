//! Imports that the files of quantities share.

pub(super) use std::collections::BTreeSet;

pub(super) use anyhow::{Result, ensure};
pub(super) use serde::Deserialize;
pub(super) use totune_stats::{binomial_tails, mean, quartiles, sd};

pub(super) use super::{DIFFERENCES, Quantity, Shape, TIME, at_least, sized, with_tolerance};
pub(super) use crate::claims::finding::{
    DIGITS, DecidedBy, Decision, Evidence, Finding, NOT_RECOVERED,
};
pub(super) use crate::claims::relation::Relation;
pub(super) use crate::claims::terms::Terms;
pub(super) use crate::claims::verdict::{self, Verdict, within};
pub(super) use crate::compare::paired::{Numbers, PairedComparison};
pub(super) use crate::compare::strata::{Ratio, relative, unpaired};
pub(super) use crate::compare::{ALPHA, Comparison, LEAST, NARROW, POWER, compare, enough};
pub(super) use crate::plan::{Grid, GridRow, Measure, Side, TEST, Task, Unit, Where};
pub(super) use crate::select::panel::{Pair, average, pairs_text};
pub(super) use crate::select::per_run::{
    TimePer, final_score, scores_of_both, seconds, seconds_of_both, trained_share,
};
pub(super) use crate::select::runs::{Run, Runs};
pub(super) use crate::select::sample::{LEVEL, Sample};
pub(super) use crate::text::{Scale, count, counted, decimals, fixed, joined, signed};
