//! The trees of the Stanford Sentiment Treebank: one a line, bracketed as in the Penn Treebank, a label at each node.

use super::{FormatError, Table, Unit, select, text};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::Path;

/// Settings of sentiment trees.
///
/// The columns are `text`, the tokens below a node with spaces between them; `label`; `sentence`, the number of the tree
/// from 1; and `depth`, how far the node is below the root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SentimentTrees {
    /// The nodes that become rows.
    pub phrases: Phrases,
    /// The set of labels.
    pub granularity: Granularity,
    /// Handling of the Penn Treebank's escapes for brackets, slashes and asterisks.
    #[serde(default)]
    pub escapes: Escapes,
}

/// The nodes of a tree that become rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phrases {
    /// Every node, single words included, from the root down and from the left; repeated phrases are kept.
    All,
    /// The root.
    Whole,
}

/// The set of labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Granularity {
    /// `0` for 0 and 1, `1` for 3 and 4; neutral nodes are left out.
    TwoClass,
    /// `0` to `4`, as in the file.
    FiveClass,
}

/// Handling of escapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Escapes {
    /// Tokens are as they are in the file.
    #[default]
    Keep,
    /// `-LRB-` becomes an opening bracket and so on, `\/` a slash and `\*` an asterisk.
    Restore,
}

const COLUMNS: [&str; 4] = ["text", "label", "sentence", "depth"];

/// The greatest depth of a tree. Those of the treebank have about thirty levels; where every node becomes a row, the
/// rows of a line grow with the square of its depth.
const MAX_DEPTH: usize = 1000;

/// A node of a tree: its label, its depth, and the range of the tree's tokens below it.
struct Node {
    label: u8,
    depth: usize,
    tokens: std::ops::Range<usize>,
}

impl SentimentTrees {
    pub(super) fn read<'a>(
        &self,
        path: &Path,
        bytes: &'a [u8],
        wanted: Option<&[&str]>,
    ) -> Result<Table<'a>, FormatError> {
        let error = |line, problem| FormatError::on_line(path, line, problem);
        let kept = select(&COLUMNS, wanted).map_err(|problem| error(1, problem))?;
        let names = kept.iter().map(|&column| COLUMNS[column].to_string());
        let mut table = Table::new(path, Unit::Line, names.collect());
        let mut sentence = 0;
        for (number, line) in text(path, bytes)?.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            sentence += 1;
            let (nodes, tokens) = parse(line).map_err(|problem| error(number + 1, problem))?;
            for node in nodes.iter().filter(|node| self.takes(node)) {
                let fields = kept.iter().map(|&column| match COLUMNS[column] {
                    "text" => self.text(&tokens[node.tokens.clone()]),
                    "label" => Cow::Borrowed(self.label(node.label).unwrap_or_default()),
                    "sentence" => Cow::Owned(sentence.to_string()),
                    _ => Cow::Owned(node.depth.to_string()),
                });
                table.push(number + 1, fields);
            }
        }
        Ok(table)
    }

    fn takes(&self, node: &Node) -> bool {
        (self.phrases == Phrases::All || node.depth == 0) && self.label(node.label).is_some()
    }

    fn label(&self, label: u8) -> Option<&'static str> {
        let classes = match self.granularity {
            Granularity::TwoClass => [Some("0"), Some("0"), None, Some("1"), Some("1")],
            Granularity::FiveClass => ["0", "1", "2", "3", "4"].map(Some),
        };
        classes[usize::from(label)]
    }

    fn text<'a>(&self, tokens: &[&'a str]) -> Cow<'a, str> {
        match (tokens, self.escapes) {
            ([token], Escapes::Keep) => Cow::Borrowed(token),
            (_, Escapes::Keep) => Cow::Owned(tokens.join(" ")),
            (_, Escapes::Restore) => {
                let tokens: Vec<Cow<str>> = tokens.iter().map(|token| restored(token)).collect();
                Cow::Owned(tokens.join(" "))
            }
        }
    }
}

fn restored(token: &str) -> Cow<'_, str> {
    Cow::Borrowed(match token {
        "-LRB-" => "(",
        "-RRB-" => ")",
        "-LSB-" => "[",
        "-RSB-" => "]",
        "-LCB-" => "{",
        "-RCB-" => "}",
        _ if token.contains("\\/") || token.contains("\\*") => {
            return Cow::Owned(token.replace("\\/", "/").replace("\\*", "*"));
        }
        _ => token,
    })
}

/// The nodes of the tree in `line`, from the root down and from the left, and its tokens.
///
/// Without recursion, since a file may nest as deeply as it likes.
fn parse(line: &str) -> Result<(Vec<Node>, Vec<&str>), String> {
    let (mut nodes, mut tokens) = (Vec::<Node>::new(), Vec::new());
    // The nodes that are open, from the root down.
    let mut open: Vec<usize> = Vec::new();
    let mut rest = line.trim();
    let column = |rest: &str| 1 + line.trim_end().chars().count() - rest.chars().count();
    while let Some(next) = rest.chars().next() {
        match next {
            ' ' => rest = &rest[1..],
            '(' => {
                if open.is_empty() && !nodes.is_empty() {
                    return Err(format!(
                        "column {}: a second tree; expected one a line",
                        column(rest)
                    ));
                }
                if open.len() == MAX_DEPTH {
                    return Err(format!(
                        "column {}: a tree of more than {MAX_DEPTH} levels; expected at most {MAX_DEPTH}",
                        column(rest)
                    ));
                }
                let label = match rest.as_bytes().get(1..3) {
                    Some([label @ b'0'..=b'4', b' ']) => label - b'0',
                    _ => {
                        let place = column(rest);
                        return Err(format!(
                            "column {place}: no label after `(`; expected a digit from 0 to 4 and a space"
                        ));
                    }
                };
                let first = tokens.len();
                nodes.push(Node {
                    label,
                    depth: open.len(),
                    tokens: first..first,
                });
                open.push(nodes.len() - 1);
                rest = &rest[3..];
            }
            ')' => {
                let Some(node) = open.pop() else {
                    return Err(format!(
                        "column {}: `)` closes nothing; expected `(`",
                        column(rest)
                    ));
                };
                nodes[node].tokens.end = tokens.len();
                if nodes[node].tokens.is_empty() {
                    return Err(format!(
                        "column {}: a node without tokens; expected some",
                        column(rest)
                    ));
                }
                rest = &rest[1..];
            }
            _ => {
                let end = rest.find([' ', '(', ')']).unwrap_or(rest.len());
                if open.is_empty() {
                    return Err(format!(
                        "column {}: `{}` is outside of the tree; expected `(`",
                        column(rest),
                        &rest[..end]
                    ));
                }
                tokens.push(&rest[..end]);
                rest = &rest[end..];
            }
        }
    }
    match open.len() {
        0 => Ok((nodes, tokens)),
        n => Err(format!(
            "the line ends with {n} open brackets; expected a `)` for each"
        )),
    }
}
