//! Options with facts about a file; the rest is guessed.

use clap::{Args, ValueEnum};
use totune_data::guess::Hints;
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
    /// Column of the label, the score or the tags
    #[arg(long, value_name = "COLUMN")]
    label: Option<String>,
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
    Classification,
    Regression,
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

fn separator(text: &str) -> Result<char, String> {
    let mut letters = text.chars();
    match (text, letters.next(), letters.next()) {
        ("tab" | "\\t", _, _) => Ok('\t'),
        (_, Some(letter), None) if letter.is_ascii() => Ok(letter),
        _ => Err("expected one ASCII character or `tab`".into()),
    }
}

impl HintArgs {
    /// Converts the options into hints for the guess.
    pub(in crate::command) fn hints(&self) -> Hints {
        Hints {
            name: self.name.clone(),
            task: self.task.map(|kind| match kind {
                Kind::Classification => Task::Classification,
                Kind::Regression => Task::Regression,
                Kind::Tagging => Task::Tagging,
            }),
            text: self.text.clone(),
            second: self.second.clone(),
            label: self.label.clone(),
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
