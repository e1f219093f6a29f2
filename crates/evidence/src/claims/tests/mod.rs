//! Verdicts on synthetic runs, by claims written as in `claims.toml`.

mod calibration;
mod gates;
mod layers;
mod scores;
mod tasks;
mod written;

use anyhow::Result;
use totune_record::Tables;

use super::{ClaimContext, Claims, Judged, Verdict, judge};
use crate::fixture;
use crate::plan::Plan;
use crate::select::runs::Runs;
use crate::toml_file::parse;

/// A synthetic paper with its runs.
struct Paper {
    plan: Plan,
    tables: Tables,
}

impl Paper {
    /// The paper of this `report.toml` with these rows.
    fn of(plan: &str, tables: Tables) -> Self {
        let plan = fixture::plan(plan).unwrap();
        Self { plan, tables }
    }

    fn of_tasks() -> Self {
        Self::of(totune_synthetic::TASK_PLAN, totune_synthetic::task_tables())
    }

    /// Result of `look` on the first of `claims`, judged on the runs.
    fn judged<T>(&self, claims: &str, look: impl FnOnce(&Judged) -> T) -> Result<T> {
        let claims: Claims = parse(claims, "claims.toml")?;
        claims.check(&self.plan, "claims.toml")?;
        let mut runs = Runs::new(self.tables.clone())?;
        runs.label(&self.plan.labels, "report.toml")?;
        let context = ClaimContext {
            plan: &self.plan,
            runs: &runs,
            profile: "fixture",
        };
        Ok(look(&judge(&claims, context, "claims.toml")?[0]))
    }

    /// Verdict and reasons of a claim that is written as `parts`, one line each.
    fn verdict(&self, parts: &[&str]) -> (Verdict, String) {
        let of = |judged: &Judged| (judged.verdict, judged.reasons.join("; "));
        self.judged(&claim("x", parts), of).unwrap()
    }

    #[track_caller]
    fn check(&self, parts: &[&str], expected: Verdict) {
        let (verdict, reasons) = self.verdict(parts);
        assert_eq!(verdict, expected, "{parts:?}: {reasons}");
    }
}

fn claim(id: &str, parts: &[&str]) -> String {
    format!(
        "[[claim]]\nid = '{id}'\ntitle = ''\nsays = ''\nsource = ''\nby = 'authors'\n{}\n",
        parts.join("\n")
    )
}
