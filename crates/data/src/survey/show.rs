//! A few examples as they are read and as a model gets them.

use super::grid::wrapped;
use crate::{Dataset, Example, Input, Target, Tokenizer};
use anyhow::{Result, ensure};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

/// One example.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// Its id.
    pub id: String,
    /// What it belongs to.
    pub group: Option<String>,
    /// Its texts: one, or the two of a pair; of a tagging dataset, the words.
    pub texts: Vec<String>,
    /// What a model should answer: a label, a score, or a tag for each word; nothing where that is not published.
    pub answer: Option<Answer>,
    /// What the tokenizer makes of it.
    pub tokens: Option<Tokens>,
    /// Whether `texts` are the words of a sentence.
    #[serde(skip)]
    words: bool,
}

/// What a model should answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// A score.
    Score(f64),
    /// A label.
    Label(String),
    /// A tag for each word.
    Tags(Vec<String>),
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
    /// For each piece the word it is of, counted from zero; only where the example is a list of words.
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
) -> Result<Vec<Shown>> {
    let mut shown = Vec::with_capacity(rows.len());
    for &row in rows {
        let example = &dataset.examples[row];
        let tokens = tokenizer.map(|tokenizer| tokens(example, tokenizer, max_length));
        shown.push(Shown {
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

fn answer(dataset: &Dataset, target: &Target) -> Option<Answer> {
    let name = |class: &usize| {
        dataset
            .labels
            .get(*class)
            .cloned()
            .unwrap_or_else(|| class.to_string())
    };
    match target {
        Target::Unknown => None,
        Target::Class(class) => Some(Answer::Label(name(class))),
        Target::Value(score) => Some(Answer::Score(*score)),
        Target::Tags(tags) => Some(Answer::Tags(tags.iter().map(name).collect())),
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

/// The word of each of `n` pieces; the special ones at both ends are of none.
fn align(words: &[String], tokenizer: &Tokenizer, n: usize) -> Result<Vec<Option<usize>>> {
    let mut aligned = vec![None];
    for (index, word) in words.iter().enumerate() {
        let pieces = tokenizer
            .encode(&Input::Text(word.clone()), usize::MAX)?
            .ids
            .len()
            - 2;
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

impl Shown {
    /// The example as lines of at most `width` columns.
    pub fn text(&self, width: usize) -> String {
        let mut head = format!("example {}", self.id);
        match &self.answer {
            Some(Answer::Label(label)) => head += &format!("  label `{label}`"),
            Some(Answer::Score(score)) => head += &format!("  score {score}"),
            Some(Answer::Tags(_)) => {}
            None => head += "  no answer",
        }
        if let Some(group) = &self.group {
            head += &format!("  group `{group}`");
        }
        let mut text = head + "\n";
        if self.words {
            let mut lines = vec![("word", self.texts.clone())];
            if let Some(Answer::Tags(tags)) = &self.answer {
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
        // A run of padding tells nothing beyond its length.
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
            if let Some(Answer::Tags(tags)) = &self.answer {
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
            text += &format!("  cut off {gone} of {} pieces\n", tokens.untruncated);
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
mod tests {
    use super::*;

    fn tokenizer() -> (tempfile::TempDir, Tokenizer) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let pieces = [
            "[PAD]", "[UNK]", "[CLS]", "[SEP]", "fire", "##s", "no", "water",
        ];
        std::fs::write(dir.path().join("vocab.txt"), pieces.join("\n")).expect("a vocabulary");
        let tokenizer = Tokenizer::open(dir.path(), true).expect("a tokenizer");
        (dir, tokenizer)
    }

    fn dataset(rows: Vec<(Input, Target)>) -> Dataset {
        let examples = rows
            .into_iter()
            .enumerate()
            .map(|(index, (input, target))| Example {
                id: format!("r{index}"),
                input,
                target,
                group: None,
            });
        Dataset {
            name: "made-up".into(),
            hash: String::new(),
            labels: vec!["O".into(), "B-X".into()],
            positive: None,
            examples: examples.collect(),
            metrics: Vec::new(),
            tagging: None,
        }
    }

    fn texts(dataset: &Dataset, max_length: usize) -> Vec<String> {
        let (_dir, tokenizer) = tokenizer();
        let rows: Vec<usize> = (0..dataset.examples.len()).collect();
        let shown = show(dataset, &rows, Some(&tokenizer), max_length).expect("examples");
        shown.iter().map(|shown| shown.text(40)).collect()
    }

    #[test]
    fn pieces_ids_and_types_stand_below_each_other_and_padding_is_marked() {
        let pair = |a: &str, b: &str| (Input::Pair(a.into(), b.into()), Target::Class(1));
        let dataset = dataset(vec![
            pair("Fires", "no water"),
            pair("fires", "no"),
            pair("no", "no"),
        ]);
        let found = texts(&dataset, 16);
        assert_eq!(
            found[0],
            "example r0  label `B-X`\n  text    Fires\n  second  no water\n\
             \u{20} piece   [CLS] fire ##s [SEP] no water\n\
             \u{20} id      2     4    5   3     6  7\n\
             \u{20} type    0     0    0   0     1  1\n\
             \u{20} piece   [SEP]\n  id      3\n  type    1\n"
        );
        let padded = "  type    0     0    0   0     1  1\n  piece   [PAD]\n  id      0\n  type    0\n          pad\n";
        assert!(found[1].ends_with(padded), "{}", found[1]);
        assert_eq!(found[2].matches("[PAD]").count(), 2, "{}", found[2]);
    }

    #[test]
    fn long_padding_is_counted_and_what_is_cut_off_is_said() {
        let text = |text: &str| (Input::Text(text.into()), Target::Unknown);
        let dataset = dataset(vec![text("no"), text(&"water ".repeat(9))]);
        let found = texts(&dataset, 8);
        assert!(found[0].starts_with("example r0  no answer\n  text    no\n"));
        assert!(
            found[0].ends_with("\n  padding 5 x [PAD], id 0, to 8 pieces\n"),
            "{}",
            found[0]
        );
        assert!(
            found[1].ends_with("\n  cut off 3 of 11 pieces\n"),
            "{}",
            found[1]
        );
    }

    #[test]
    fn pieces_of_a_word_carry_its_number_and_tag() {
        let words = ["no", "Fires", "here"].map(String::from).to_vec();
        let dataset = dataset(vec![(Input::Words(words), Target::Tags(vec![0, 1, 0]))]);
        assert_eq!(
            texts(&dataset, 16)[0],
            "example r0\n  word    no Fires here\n  tag     O  B-X   O\n\
             \u{20} piece   [CLS] no fire ##s [UNK] [SEP]\n\
             \u{20} id      2     6  4    5   1     3\n\
             \u{20} type    0     0  0    0   0     0\n\
             \u{20} word    -     0  1    1   2     -\n\
             \u{20} tag     -     O  B-X  B-X O     -\n"
        );
    }

    #[test]
    fn examples_are_chosen_by_id_or_spread_over_the_file() {
        let dataset = dataset(vec![(Input::Text("a".into()), Target::Unknown); 10]);
        assert_eq!(choose(&dataset, None, 3).expect("rows"), [0, 3, 6]);
        assert_eq!(choose(&dataset, None, 99).expect("rows").len(), 10);
        assert_eq!(choose(&dataset, Some("r7"), 3).expect("a row"), [7]);
        let error = choose(&dataset, Some("x"), 3)
            .expect_err("no such row")
            .to_string();
        assert_eq!(
            error,
            "no example `x` in `made-up`; the first is `r0`, the last `r9`"
        );
    }
}
