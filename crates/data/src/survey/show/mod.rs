//! A few examples as they are read and as a model gets them.

use super::terminal::wrapped;
use crate::{Dataset, Example, Input, Target, Tokenizer};
use anyhow::{Result, ensure};
use serde::Serialize;
use totune_toml::quoted;
use unicode_width::UnicodeWidthStr;

/// One example.
#[derive(Clone, Debug, Serialize)]
pub struct ExampleView {
    /// Its id.
    pub id: String,
    /// Its group.
    pub group: Option<String>,
    /// Its texts: one, or the two of a pair; of a tagging dataset, the words.
    pub texts: Vec<String>,
    /// The gold target: a label, several labels, a score, or a tag for each word; none where it is not published.
    pub answer: Option<ShownTarget>,
    /// Its tokens and padding.
    pub tokens: Option<Tokens>,
    /// True if `texts` are the words of a sentence.
    #[serde(skip)]
    words: bool,
}

/// A gold target.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ShownTarget {
    /// A score.
    Score(f64),
    /// A label.
    Label(String),
    /// All labels of the example, or a tag for each word.
    Several(Vec<String>),
}

/// An example after tokenising and padding; all lists have the same length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tokens {
    /// Wordpieces.
    pub pieces: Vec<String>,
    /// Their ids.
    pub ids: Vec<u32>,
    /// 0 up to the first `[SEP]`, 1 after it.
    pub type_ids: Vec<u8>,
    /// 1 for a real piece, 0 for padding.
    pub mask: Vec<u8>,
    /// The word that each piece belongs to, counted from zero; only if the example is a list of words.
    pub words: Option<Vec<Option<usize>>>,
    /// Pieces the example has without a maximum length.
    pub untruncated: usize,
}

/// The examples of `dataset` at `rows`, tokenised to at most `max_length` pieces and padded to the longest of them
/// where there is a tokenizer.
pub fn show(
    dataset: &Dataset,
    rows: &[usize],
    tokenizer: Option<&Tokenizer>,
    max_length: usize,
) -> Result<Vec<ExampleView>> {
    let mut shown = Vec::with_capacity(rows.len());
    for &row in rows {
        let example = &dataset.examples[row];
        let tokens = tokenizer.map(|tokenizer| tokens(example, tokenizer, max_length));
        shown.push(ExampleView {
            id: example.id.clone(),
            group: example.group.clone(),
            texts: example
                .input
                .texts()
                .into_iter()
                .map(String::from)
                .collect(),
            answer: answer(dataset, &example.target),
            tokens: tokens.transpose()?,
            words: matches!(example.input, Input::Words(_)),
        });
    }
    if let Some(tokenizer) = tokenizer {
        let lengths = shown.iter().flat_map(|shown| &shown.tokens);
        let longest = lengths.map(|tokens| tokens.ids.len()).max().unwrap_or(0);
        for tokens in shown.iter_mut().flat_map(|shown| &mut shown.tokens) {
            tokens.pad(longest, tokenizer);
        }
    }
    Ok(shown)
}

/// The rows to show: the one called `id`, or `n` spread evenly over the dataset, the first one included.
pub fn choose(dataset: &Dataset, id: Option<&str>, n: usize) -> Result<Vec<usize>> {
    let examples = &dataset.examples;
    if let Some(id) = id {
        let found = examples.iter().position(|example| example.id == id);
        let (first, last) = (examples.first(), examples.last());
        let known = first.zip(last).map_or_else(
            || "there are no examples".to_string(),
            |(first, last)| format!("the first is `{}`, the last `{}`", first.id, last.id),
        );
        ensure!(
            found.is_some(),
            "no example `{id}` in `{}`; {known}",
            dataset.name
        );
        return Ok(found.into_iter().collect());
    }
    let n = n.min(examples.len());
    Ok((0..n).map(|place| place * examples.len() / n).collect())
}

fn answer(dataset: &Dataset, target: &Target) -> Option<ShownTarget> {
    let name = |class: &usize| {
        dataset
            .labels
            .get(*class)
            .cloned()
            .unwrap_or_else(|| class.to_string())
    };
    match target {
        Target::Unknown => None,
        Target::Class(class) => Some(ShownTarget::Label(name(class))),
        Target::Value(score) => Some(ShownTarget::Score(*score)),
        Target::Labels(labels) => Some(ShownTarget::Several(labels.iter().map(name).collect())),
        Target::Tags(tags) => Some(ShownTarget::Several(tags.iter().map(name).collect())),
    }
}

fn tokens(example: &Example, tokenizer: &Tokenizer, max_length: usize) -> Result<Tokens> {
    let encoded = tokenizer.encode(&example.input, max_length)?;
    let whole = tokenizer.encode(&example.input, usize::MAX)?.ids.len();
    let words = match &example.input {
        Input::Text(_) | Input::Pair(..) => None,
        Input::Words(words) => Some(align(words, tokenizer, encoded.ids.len())?),
    };
    Ok(Tokens {
        pieces: encoded.ids.iter().map(|&id| tokenizer.piece(id)).collect(),
        mask: vec![1; encoded.ids.len()],
        type_ids: encoded.type_ids,
        ids: encoded.ids,
        words,
        untruncated: whole,
    })
}

/// The word that each of `n` pieces belongs to; none for the special ones at both ends.
fn align(words: &[String], tokenizer: &Tokenizer, n: usize) -> Result<Vec<Option<usize>>> {
    let mut aligned = vec![None];
    for (index, word) in words.iter().enumerate() {
        let pieces = tokenizer.word_pieces(word)?.len();
        aligned.extend(std::iter::repeat_n(Some(index), pieces));
    }
    aligned.truncate(n - 1);
    aligned.push(None);
    Ok(aligned)
}

impl Tokens {
    fn pad(&mut self, length: usize, tokenizer: &Tokenizer) {
        let pad = tokenizer.pad_id();
        self.pieces.resize(length, tokenizer.piece(pad));
        self.ids.resize(length, pad);
        self.type_ids.resize(length, 0);
        self.mask.resize(length, 0);
        if let Some(words) = &mut self.words {
            words.resize(length, None);
        }
    }
}

impl ExampleView {
    /// The example as lines of at most `width` columns.
    pub fn text(&self, width: usize) -> String {
        let mut head = format!("example {}", self.id);
        match &self.answer {
            Some(ShownTarget::Label(label)) => head += &format!("  label `{label}`"),
            Some(ShownTarget::Score(score)) => head += &format!("  score {score}"),
            Some(ShownTarget::Several(_)) if self.words => {}
            Some(ShownTarget::Several(labels)) if labels.is_empty() => head += "  no label",
            Some(ShownTarget::Several(labels)) => {
                head += &format!("  labels {}", quoted(labels.iter().map(String::as_str)));
            }
            None => head += "  no answer",
        }
        if let Some(group) = &self.group {
            head += &format!("  group `{group}`");
        }
        let mut text = head + "\n";
        if self.words {
            let mut lines = vec![("word", self.texts.clone())];
            if let Some(ShownTarget::Several(tags)) = &self.answer {
                lines.push(("tag", tags.clone()));
            }
            text += &blocks(&lines, width);
        } else {
            for (name, content) in ["text", "second"].iter().zip(&self.texts) {
                for (at, line) in wrapped(content, width.saturating_sub(10).max(20))
                    .iter()
                    .enumerate()
                {
                    text += format!("  {:<8}{line}", if at == 0 { name } else { "" }).trim_end();
                    text.push('\n');
                }
            }
        }
        if let Some(tokens) = &self.tokens {
            text += &self.tokens_text(tokens, width);
        }
        text
    }

    fn tokens_text(&self, tokens: &Tokens, width: usize) -> String {
        let real = tokens.mask.iter().filter(|real| **real == 1).count();
        let padding = tokens.ids.len() - real;
        // Only the length of a run of padding is informative.
        let shown = if padding > 2 { real } else { tokens.ids.len() };
        let column =
            |texts: &mut dyn Iterator<Item = String>| texts.take(shown).collect::<Vec<_>>();
        let mut lines = vec![
            ("piece", column(&mut tokens.pieces.iter().cloned())),
            ("id", column(&mut tokens.ids.iter().map(u32::to_string))),
            (
                "type",
                column(&mut tokens.type_ids.iter().map(u8::to_string)),
            ),
        ];
        if let Some(words) = &tokens.words {
            let word = |word: &Option<usize>| {
                word.map_or_else(|| "-".to_string(), |word| word.to_string())
            };
            lines.push(("word", column(&mut words.iter().map(word))));
            if let Some(ShownTarget::Several(tags)) = &self.answer {
                let tag = |word: &Option<usize>| word.and_then(|word| tags.get(word).cloned());
                let tags = words
                    .iter()
                    .map(|word| tag(word).unwrap_or_else(|| "-".into()));
                lines.push(("tag", column(&mut tags.into_iter())));
            }
        }
        if padding > 0 && shown > real {
            let mark = |real: &u8| if *real == 1 { "" } else { "pad" }.to_string();
            lines.push(("", column(&mut tokens.mask.iter().map(mark))));
        }
        let mut text = blocks(&lines, width);
        if padding > 2 {
            let (piece, id) = (tokens.pieces.last(), tokens.ids.last());
            let (piece, id) = piece.zip(id).expect("padding is there");
            text += &format!(
                "  padding {padding} x {piece}, id {id}, to {} pieces\n",
                tokens.ids.len()
            );
        }
        if tokens.untruncated > real {
            let gone = tokens.untruncated - real;
            text += &format!("  truncated: {gone} of {} pieces\n", tokens.untruncated);
        }
        text
    }
}

/// Named lines whose cells stand below each other, in blocks of at most `width` columns.
fn blocks(lines: &[(&str, Vec<String>)], width: usize) -> String {
    const NAME: usize = 10;
    let n = lines.first().map_or(0, |(_, cells)| cells.len());
    let cell_width = |at: usize| {
        lines
            .iter()
            .map(|(_, cells)| cells[at].width())
            .max()
            .unwrap_or(0)
    };
    let mut text = String::new();
    let mut start = 0;
    while start < n {
        let mut end = start;
        let mut used = NAME;
        while end < n && (end == start || used + cell_width(end) <= width) {
            used += cell_width(end) + 1;
            end += 1;
        }
        for (name, cells) in lines {
            let mut line = format!("  {name:<8}");
            for (at, cell) in cells.iter().enumerate().take(end).skip(start) {
                line += cell;
                line += &" ".repeat(cell_width(at) - cell.width() + 1);
            }
            let line = line.trim_end();
            if !line.is_empty() {
                text += line;
                text.push('\n');
            }
        }
        start = end;
    }
    text
}

#[cfg(test)]
mod tests;
