//! `totune data new`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use totune_data::Task;
use totune_data::guess::{Hints, draft};

use super::write_new;
use crate::context::Context;
use crate::exit;

/// Write a card for your own file, inferred from its content
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune data new reviews.csv
  totune data new data/reviews_train.tsv --text body --label stars --task regression

Reads CSV, TSV, JSON, JSON lines, parquet and word-per-line columns; files of other splits in the
same folder (train, dev, test) are added. The card of a file below the data root goes to datasets/
of the project, where experiments find it by name; any other next to its file, and `totune data`
takes its path. What is not clear is asked for by the name of the option.")]
pub struct New {
    /// File with the training rows
    file: PathBuf,
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
    /// File to write the card to; its name is that of the dataset
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
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

fn separator(text: &str) -> Result<char, String> {
    let mut letters = text.chars();
    match (text, letters.next(), letters.next()) {
        ("tab" | "\\t", _, _) => Ok('\t'),
        (_, Some(letter), None) if letter.is_ascii() => Ok(letter),
        _ => Err("expected one ASCII character or `tab`".into()),
    }
}

impl New {
    pub(super) fn run(self, context: &Context) -> Result<u8> {
        let file = fs::canonicalize(&self.file)
            .with_context(|| format!("{}: cannot be read", self.file.display()))?;
        let mut hints = Hints {
            name: self.name,
            task: self.task.map(|kind| match kind {
                Kind::Classification => Task::Classification,
                Kind::Regression => Task::Regression,
                Kind::Tagging => Task::Tagging,
            }),
            text: self.text,
            second: self.second,
            label: self.label,
            id: self.id,
            separator: self.separator,
            header: self.header.map(|header| header == YesNo::Yes),
        };
        let root = fs::canonicalize(&context.roots.data).ok();
        let is_named_there = self.out.is_none() && context.project.check().is_ok();
        let root = root.filter(|root| is_named_there && file.starts_with(root));
        let beside = root.is_none();
        let own = file.parent().unwrap_or(Path::new("/")).to_path_buf();
        let folder = root.unwrap_or_else(|| match &self.out {
            Some(out) => out
                .parent()
                .and_then(|out| fs::canonicalize(out).ok())
                .unwrap_or(own.clone()),
            None => own.clone(),
        });
        if let (None, Some(out)) = (&hints.name, &self.out) {
            hints.name = out
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned());
        }
        let draft = draft(&file, &hints, &folder, beside)?;
        let path = match (self.out, beside) {
            (Some(out), _) => out,
            (None, true) => folder.join(format!("{}.toml", draft.name)),
            (None, false) => {
                let cards = context.project.root.join("datasets");
                cards.join(format!("{}.toml", draft.name))
            }
        };
        write_new(&path, &draft.text)?;
        for note in &draft.notes {
            eprintln!("{note}");
        }
        print!("{}", draft.text);
        let shown = context.shown(&path);
        let name = if beside {
            shown.as_str()
        } else {
            draft.name.as_str()
        };
        eprintln!("\nwritten to {shown}; look it over, then: totune data check {name}");
        if beside {
            eprintln!("an experiment on it, in a project: totune experiment new {shown}");
        }
        Ok(exit::OK)
    }
}
