//! Statistics of texts as tables for a terminal.

use super::stats::TextStatistics;
use super::word;
use crate::TextTable;
use crate::survey::spread::Spread;
use crate::survey::terminal::{percent, thousands};

/// The statistics of the parts of a text as tables.
pub fn text_statistics_text(parts: &[TextStatistics]) -> String {
    let tables = [sizes(parts), lengths(parts), vocabulary(parts), top(parts)];
    tables.join("\n")
}

fn sizes(parts: &[TextStatistics]) -> String {
    let mut table = TextTable::new(["part", "#documents", "#paragraphs", "#words", "#characters"]);
    for part in parts {
        let counts = part.counts;
        let numbers = [
            counts.documents,
            counts.paragraphs,
            counts.words,
            part.characters,
        ];
        let numbers = numbers.into_iter().map(thousands);
        table.row(std::iter::once(word(part.part).to_string()).chain(numbers));
    }
    table.to_string()
}

fn lengths(parts: &[TextStatistics]) -> String {
    let header = ["words of a", "part"].into_iter();
    let mut table = TextTable::new(header.chain(Spread::HEADER));
    for part in parts {
        for (of, spread) in [
            ("paragraph", &part.paragraph_words),
            ("document", &part.document_words),
        ] {
            let names = [of.to_string(), word(part.part).to_string()];
            table.row(names.into_iter().chain(spread.cells()));
        }
    }
    table.to_string()
}

fn vocabulary(parts: &[TextStatistics]) -> String {
    let mut tops: Vec<usize> = parts
        .iter()
        .flat_map(|part| &part.top_shares)
        .map(|top| top.types)
        .collect();
    tops.sort_unstable();
    tops.dedup();
    let mut header: Vec<String> = [
        "part",
        "#tokens",
        "#types",
        "#types seen once",
        "#tokens not in train",
    ]
    .map(String::from)
    .into();
    header.extend(
        tops.iter()
            .map(|&types| format!("#top {}", thousands(types))),
    );
    let mut table = TextTable::new(header);
    for part in parts {
        let share = |types: &usize| {
            let share = part.top_shares.iter().find(|top| top.types == *types);
            share.map_or_else(|| "-".into(), |top| percent(top.tokens, part.tokens))
        };
        let unknown = part
            .known
            .map(|known| percent(known.unknown_tokens, part.tokens));
        let mut cells = vec![
            word(part.part).to_string(),
            thousands(part.tokens),
            thousands(part.types),
            thousands(part.once),
            unknown.unwrap_or_else(|| "-".into()),
        ];
        cells.extend(tops.iter().map(share));
        table.row(cells);
    }
    table.to_string()
}

/// The most frequent words that fit on a line.
const NAMED: usize = 10;

fn top(parts: &[TextStatistics]) -> String {
    let mut text = String::new();
    for part in parts {
        let words = part
            .top
            .iter()
            .take(NAMED)
            .map(|top| format!("{} {}", top.word, percent(top.count, part.tokens)));
        let words: Vec<String> = words.collect();
        text += &format!(
            "most frequent in {}: {}\n",
            word(part.part),
            words.join(", ")
        );
    }
    text
}
