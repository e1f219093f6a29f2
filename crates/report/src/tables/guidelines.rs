//! A paper's advice, line by line, with the verdicts of the claims that it rests on.

use anyhow::{Result, ensure};
use serde::Deserialize;
use totune_evidence::claims::Judged;
use totune_evidence::plan::Plan;
use totune_evidence::select::scope::Scope;
use totune_evidence::toml_file::unknown;

use super::{Cell, Column, Csv, RenderedTable, TableKind};
use crate::item::Heading;

/// `kind = "guidelines"`: the advice as a table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Guidelines {
    /// Headings over what a line is for, such as `Pretraining`.
    head: Vec<String>,
    #[serde(rename = "line")]
    lines: Vec<GuidelinePlan>,
}

/// One line of advice.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct GuidelinePlan {
    /// Its use cases, one text under each heading.
    cells: Vec<String>,
    /// The advice.
    says: String,
    /// Ids of the claims that it rests on; none where no run can test it.
    #[serde(default)]
    claims: Vec<String>,
}

impl TableKind for Guidelines {
    fn check(&self, _plan: &Plan, from: &str) -> Result<()> {
        for (at, line) in self.lines.iter().enumerate() {
            ensure!(
                line.cells.len() == self.head.len(),
                "{from}: line {}: found {} cells, expected one under each of {} headings",
                at + 1,
                line.cells.len(),
                self.head.len()
            );
        }
        Ok(())
    }

    fn render(&self, _: &Heading, scope: &Scope, judged: &[Judged]) -> Result<RenderedTable> {
        let mut rows = Vec::new();
        let mut csv = Csv::new("line,says,claim,ours,verdict");
        for (number, line) in (1..).zip(&self.lines) {
            let mut first: Vec<Cell> = line.cells.iter().chain([&line.says]).map(words).collect();
            if line.claims.is_empty() {
                first.extend([words("no run can test it"), Cell::default()]);
                rows.push(first);
                continue;
            }
            for id in &line.claims {
                let found = judged.iter().find(|judged| judged.claim.id == *id);
                let known = judged.iter().map(|judged| &*judged.claim.id);
                let found = found.ok_or_else(|| unknown([&scope.from, "claim", id], known))?;
                let verdict = found.verdict.words();
                csv.line([&number.to_string(), &line.says, id, &found.ours, verdict]);
                let blank = vec![Cell::default(); first.len()];
                // The advice stands in its first row only.
                let mut row = std::mem::replace(&mut first, blank);
                let claim = words(&found.claim.title).detail(&found.ours);
                row.extend([claim, words(verdict)]);
                rows.push(row);
            }
        }
        let titles = self.head.iter().map(String::as_str);
        let titles = titles.chain(["Guideline", "Claim", "Verdict"]);
        let mut columns: Vec<Column> = titles.map(Column::of).collect();
        columns[0].class = "stub";
        Ok(RenderedTable {
            columns,
            parts: RenderedTable::single_part(rows),
            csv,
            ..RenderedTable::default()
        })
    }
}

/// Words that may be broken into lines.
fn words(text: impl Into<String>) -> Cell {
    Cell::of(text).class("words")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    const CLAIM: &str = "[[claim]]\nid = 'full-above'\ntitle = 'All layers are better than two'\nsays = ''\nsource = ''\n\
        by = 'authors'\norder = ['full', 'last-2']\namong = 'few'\nquantity = 'task-score'\n";

    #[test]
    fn a_line_has_the_verdict_of_each_claim_that_it_rests_on() {
        let table = built("claims = ['full-above']").unwrap();
        let row = &table.parts[0].rows[0];
        let texts: Vec<&str> = row.iter().map(|cell| cell.main.as_str()).collect();
        let expected = [
            "all",
            "tune",
            "All layers are better than two",
            "reproduced",
        ];
        assert_eq!(texts, expected);
        assert!(row[2].detail.ends_with(" points"), "{row:?}");
    }

    #[test]
    fn a_line_without_claims_says_so_and_an_unknown_claim_is_named_with_the_near_one() {
        let table = built("").unwrap();
        assert_eq!(table.parts[0].rows[0][2].main, "no run can test it");
        let error = built("claims = ['ful-above']").unwrap_err().to_string();
        let expected = "table `table`: unknown claim `ful-above`, expected one of: full-above; did you mean `full-above`?";
        assert!(error.ends_with(expected), "{error}");
    }

    fn built(claims: &str) -> Result<RenderedTable> {
        let settings = format!(
            "kind = 'guidelines'\nhead = ['For']\n[[line]]\ncells = ['all']\nsays = 'tune'\n{claims}\n"
        );
        fixture::table_with_claims(&settings, CLAIM)
    }
}
