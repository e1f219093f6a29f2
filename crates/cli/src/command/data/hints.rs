//! Options with facts about a file; the rest is guessed.

use clap::{Args, ValueEnum};
use totune_data::guess::Hints;
use totune_data::tags::Scheme;
use totune_data::{Empty, Task};

/// Facts about a file that cannot be guessed.
#[derive(Debug, Args)]
#[command(next_help_heading = "What the file has")]
pub(in crate::command) struct HintArgs {
    /// Name of the dataset [default: the name of the file]
    #[arg(long)]
    name: Option<String>,
    /// Column of the text, or of the words
    #[arg(long, value_name = "COLUMN")]
    text: Option<String>,
    /// Column of the second text of a pair
    #[arg(long, value_name = "COLUMN")]
    second: Option<String>,
    /// Column of the label, the score or the tags; for multi-label also the columns of 0 and 1 with commas between them
    #[arg(long, value_name = "COLUMN")]
    label: Option<String>,
    /// Text between the labels of a row, for multi-label [default: `|`, `;` or `,`, where only one divides fields]
    #[arg(long, value_name = "TEXT")]
    label_separator: Option<String>,
    /// Labels from the lowest to the highest with commas between them, for ordinal [default: numbers by their value]
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    order: Option<Vec<String>>,
    /// Tags that the integers 0, 1, 2 and so on stand for, with commas between them, such as O,B-X,I-X, for tagging
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    tags: Option<Vec<String>>,
    /// Scheme of the tags: bio, iob1, bioes, bioul, ioe1 or ioe2 [default: the one that writes all of them as they are]
    #[arg(long, value_name = "SCHEME", value_parser = scheme)]
    scheme: Option<Scheme>,
    /// Column of ids
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// The task
    #[arg(long)]
    task: Option<Kind>,
    /// Separator of fields; `tab` for a tab
    #[arg(long, value_name = "CHARACTER", value_parser = separator)]
    separator: Option<char>,
    /// Whether the first line has the names of the columns
    #[arg(long, value_name = "yes|no")]
    header: Option<YesNo>,
    /// Treatment of rows without a text [default: they are an error]
    #[arg(long, value_name = "drop|keep")]
    empty: Option<DropKeep>,
    /// Encoding of the file, such as windows-1252 or utf-16le [default: UTF-8, or what its first bytes say]
    #[arg(long, value_name = "NAME")]
    encoding: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// One label for each text
    Classification,
    /// Any number of labels for each text
    MultiLabel,
    /// One of several labels in an order, such as stars
    Ordinal,
    /// A number for each text
    Regression,
    /// A tag for each word
    Tagging,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum YesNo {
    Yes,
    No,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DropKeep {
    Drop,
    Keep,
}

/// One ASCII character, or `tab`.
pub(in crate::command) fn separator(text: &str) -> Result<char, String> {
    let mut letters = text.chars();
    match (text, letters.next(), letters.next()) {
        ("tab" | "\\t", _, _) => Ok('\t'),
        (_, Some(letter), None) if letter.is_ascii() => Ok(letter),
        _ => Err("expected one ASCII character or `tab`".into()),
    }
}

fn scheme(text: &str) -> Result<Scheme, String> {
    let mut known = Scheme::ALL.into_iter();
    known.find(|scheme| scheme.name() == text).ok_or_else(|| {
        let names = Scheme::ALL.map(|scheme| scheme.name());
        format!("expected one of {}", names.join(", "))
    })
}

impl HintArgs {
    /// Converts the options into hints for the guess.
    pub(in crate::command) fn hints(&self) -> Hints {
        Hints {
            name: self.name.clone(),
            task: self.task.map(|kind| match kind {
                Kind::Classification => Task::Classification,
                Kind::MultiLabel => Task::MultiLabel,
                Kind::Ordinal => Task::Ordinal,
                Kind::Regression => Task::Regression,
                Kind::Tagging => Task::Tagging,
            }),
            text: self.text.clone(),
            second: self.second.clone(),
            label: self.label.clone(),
            label_separator: self.label_separator.clone(),
            order: self.order.clone(),
            tags: self.tags.as_ref().map(|tags| {
                let tags = tags.iter().map(|tag| tag.trim().to_string()); // people write spaces after commas
                tags.collect()
            }),
            scheme: self.scheme,
            id: self.id.clone(),
            separator: self.separator,
            header: self.header.map(|header| header == YesNo::Yes),
            empty: self.empty.map(|empty| match empty {
                DropKeep::Drop => Empty::Drop,
                DropKeep::Keep => Empty::Keep,
            }),
            encoding: self.encoding.clone(),
        }
    }
}
