//! Statistics as tables for a terminal.

use super::Overlap;
use super::spread::Spread;
use super::stats::{Statistics, TargetCounts};
use super::terminal::{clipped, percent, thousands};
use crate::TextTable;

/// All statistics as tables, in lines of about `width` columns.
pub fn statistics_text(splits: &[Statistics], overlaps: &[Overlap], width: usize) -> String {
    let mut parts = vec![rows(splits), answers(splits), lengths(splits)];
    parts.push(pieces(splits));
    if !overlaps.is_empty() {
        parts.push(shared(overlaps));
    }
    parts.push(longest(splits, width));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn rows(splits: &[Statistics]) -> String {
    let mut table = TextTable::new([
        "split",
        "#rows",
        "#no answer",
        "#repeats",
        "#of texts",
        "#contradicting",
        "#folded repeats",
        "#groups",
    ]);
    for split in splits {
        let groups = split.groups.as_ref();
        table.row([
            split.split.clone(),
            thousands(split.rows),
            thousands(split.unlabelled),
            thousands(split.repeats.rows),
            thousands(split.repeats.texts),
            thousands(split.repeats.contradicting),
            thousands(split.repeats.folded),
            groups.map_or_else(|| "-".into(), |groups| thousands(groups.groups)),
        ]);
    }
    table.to_string()
}

/// Cells of the longest bar.
const BAR: usize = 30;

fn answers(splits: &[Statistics]) -> String {
    let mut table = TextTable::new(["split", "answer", "#rows", "#share", ""]);
    for split in splits {
        let counts: Vec<(String, usize)> = match &split.answers {
            TargetCounts::Labels(counts) | TargetCounts::Spans(counts) => {
                let counts = counts.iter();
                counts
                    .map(|count| (count.label.clone(), count.count))
                    .collect()
            }
            TargetCounts::Scores { bars, .. } => bars
                .iter()
                .map(|bar| (format!("{:.2} to {:.2}", bar.from, bar.to), bar.count))
                .collect(),
        };
        // An example may have several labels.
        let total = match &split.answers {
            TargetCounts::Labels(_) => split.rows - split.unlabelled,
            TargetCounts::Spans(_) | TargetCounts::Scores { .. } => {
                counts.iter().map(|(_, count)| count).sum()
            }
        };
        let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
        if total == 0 {
            continue;
        }
        for (at, (label, count)) in counts.into_iter().enumerate() {
            table.row([
                if at == 0 {
                    split.split.clone()
                } else {
                    String::new()
                },
                label,
                thousands(count),
                percent(count, total),
                "█".repeat((count * BAR).div_ceil(most)),
            ]);
        }
    }
    if table.is_empty() {
        String::new()
    } else {
        table.to_string()
    }
}

fn lengths(splits: &[Statistics]) -> String {
    let mut header = vec!["length", "split"];
    header.extend(Spread::HEADER);
    let mut table = TextTable::new(header);
    let mut line = |what: &str, split: &Statistics, spread: &Spread| {
        let mut cells = vec![what.to_string(), split.split.clone()];
        cells.extend(spread.cells());
        table.row(cells);
    };
    for split in splits {
        line("words", split, &split.words);
    }
    for split in splits {
        if let Some(pieces) = &split.pieces {
            line("wordpieces", split, &pieces.spread);
        }
    }
    table.to_string()
}

fn pieces(splits: &[Statistics]) -> String {
    let limits = super::stats::LIMITS.map(|limit| format!("#over {limit}"));
    let mut header = vec!["truncated", "#pieces per word", "#unknown pieces"];
    header.extend(limits.iter().map(String::as_str));
    let mut table = TextTable::new(header);
    for split in splits {
        let Some(pieces) = &split.pieces else {
            continue;
        };
        let mut cells = vec![
            split.split.clone(),
            format!("{:.2}", pieces.per_word),
            thousands(pieces.unknown),
        ];
        let cut = |rows: usize| format!("{} ({})", thousands(rows), percent(rows, split.rows));
        cells.extend(pieces.cut.iter().map(|at| cut(at.rows)));
        table.row(cells);
    }
    if table.is_empty() {
        String::new()
    } else {
        table.to_string()
    }
}

fn shared(overlaps: &[Overlap]) -> String {
    let mut table = TextTable::new([
        "rows of", "also in", "#exact", "#share", "#folded", "#share",
    ]);
    for overlap in overlaps {
        table.row([
            overlap.split.clone(),
            overlap.within.clone(),
            thousands(overlap.exact),
            percent(overlap.exact, overlap.rows),
            thousands(overlap.folded),
            percent(overlap.folded, overlap.rows),
        ]);
    }
    format!("{table}(folded: letters lowered, white space squeezed)\n")
}

fn longest(splits: &[Statistics], width: usize) -> String {
    let mut table = TextTable::new(["longest", "id", "#words", "#pieces", "text"]);
    for split in splits {
        for (at, row) in split.longest.iter().enumerate() {
            table.row([
                if at == 0 {
                    split.split.clone()
                } else {
                    String::new()
                },
                clipped(&row.id, 20),
                thousands(row.words),
                row.pieces.map_or_else(|| "-".into(), thousands),
                clipped(&row.text, width.saturating_sub(45).max(20)),
            ]);
        }
    }
    if table.is_empty() {
        String::new()
    } else {
        table.to_string()
    }
}
