//! The claims of a page as a table.

use totune_evidence::claims::Judged;

use crate::item::Heading;
use crate::tables::{Cell, Column, Csv, RenderedTable};

/// The claims with their verdicts; LaTeX leaves out sources and reasons, CSV has ids and the paper's words too.
pub(crate) fn table(judged: &[Judged]) -> RenderedTable {
    let columns = [
        ("Claim", "p{0.24\\linewidth}"),
        ("Source", ""),
        ("Paper", "p{0.17\\linewidth}"),
        ("Ours", "p{0.2\\linewidth}"),
        ("Effect (d)", "r"),
        ("p", "r"),
        ("Detectable", "r"),
        ("Verdict", "l"),
        ("Why", ""),
    ];
    let columns = columns.map(|(title, form)| Column {
        latex: Some(form),
        ..Column::of(title)
    });
    let mut csv = Csv::new("id,says,claim,source,paper,ours,effect,p,detectable,verdict,why");
    let rows = judged.iter().map(|judged| {
        let texts = texts(judged);
        csv.line(
            [&judged.claim.id, &judged.claim.says]
                .into_iter()
                .chain(&texts),
        );
        texts.map(Cell::of).into()
    });
    let parts = RenderedTable::single_part(rows.collect());
    RenderedTable {
        heading: Heading {
            id: "claims".to_owned(),
            title: "Claims".to_owned(),
            ..Heading::default()
        },
        columns: columns.into(),
        parts,
        csv,
        ..RenderedTable::default()
    }
}

fn texts(judged: &Judged) -> [String; 9] {
    let verdict = judged.verdict.words();
    [
        judged.claim.title.clone(),
        format!("{} ({})", judged.claim.source, judged.claim.by.words()),
        judged.paper.clone(),
        judged.ours.clone(),
        judged.effect.clone(),
        judged.p.clone(),
        judged.detectable.clone(),
        match judged.own {
            Some(own) => format!("{verdict} ({})", own.words()),
            None => verdict.to_owned(),
        },
        judged.reasons.join("; "),
    ]
}
