//! The claims of a page as tables.

use anyhow::Result;

use crate::claims::Judged;
use crate::page::output::Staged;
use crate::tables::frame::{Frame, latex_line};
use crate::text::csv_line;

const FRAME: Frame = Frame {
    id: "claims",
    title: "Claims",
    source: "",
    lead: &[],
    below: vec![],
    notes: vec![],
};

/// Writes the claims as Markdown, LaTeX and CSV.
pub(crate) fn stage(judged: &[Judged], staged: &mut Staged) -> Result<()> {
    staged.write("tables/claims.md", markdown(judged).as_bytes())?;
    staged.write("tables/claims.tex", latex(judged).as_bytes())?;
    staged.write("tables/claims.csv", csv(judged).as_bytes())
}

const HEAD: [&str; 8] = [
    "Claim",
    "Source",
    "Paper",
    "Ours",
    "Effect (d)",
    "p (Holm)",
    "Verdict",
    "Why",
];

fn claim_cells(judged: &Judged) -> [String; 8] {
    [
        judged.claim.title.clone(),
        format!("{} ({})", judged.claim.source, judged.claim.by.words()),
        judged.paper.clone(),
        judged.ours.clone(),
        judged.effect.clone(),
        judged.p.clone(),
        verdict_words(judged),
        judged.reasons.join("; "),
    ]
}

fn verdict_words(judged: &Judged) -> String {
    match judged.own {
        Some(own) => format!("{} ({})", judged.verdict.words(), own.words()),
        None => judged.verdict.words().to_owned(),
    }
}

/// The claims as a Markdown table.
fn markdown(judged: &[Judged]) -> String {
    let head: Vec<String> = HEAD.iter().map(|word| word.to_string()).collect();
    let rows: Vec<Vec<String>> = judged
        .iter()
        .map(|judged| claim_cells(judged).to_vec())
        .collect();
    FRAME.markdown(&head, &rows)
}

/// The claims as CSV, with their ids and the paper's words.
fn csv(judged: &[Judged]) -> String {
    let mut text = String::from("id,says,claim,source,paper,ours,effect,p_holm,verdict,why\n");
    for judged in judged {
        let fields = [judged.claim.id.clone(), judged.claim.says.clone()]
            .into_iter()
            .chain(claim_cells(judged));
        text.push_str(&csv_line(fields));
    }
    text
}

/// The claims as a `booktabs` table, without the reasons.
fn latex(judged: &[Judged]) -> String {
    let rows = judged.iter().map(|judged| {
        let [claim, _, paper, ours, effect, p, verdict, _] = claim_cells(judged);
        latex_line(&[claim, paper, ours, effect, p, verdict])
    });
    let rows: String = rows.collect();
    FRAME.latex(
        "p{0.24\\linewidth}p{0.17\\linewidth}p{0.2\\linewidth}rrl",
        "Claim & Paper & Ours & $d$ & $p$ (Holm) & Verdict \\\\\n",
        &rows,
    )
}
