//! `totune data check`.

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use totune_data::survey::{Checked, CheckedText, Verdict, check, check_text};

use super::AnyCard;
use crate::context::Context;
use crate::exit;
use crate::print;

/// Compare every file with its card: hash, rows, counts, labels, duplicates, documents, words
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune data check
  totune data check disaster-tweets pretraining-news
  totune data check my/reviews.toml     a card of your own

Without names, missing files are not checked; with names, they count as failures.
Exit code 1: something differs, cannot be read or, of a named dataset, is missing.")]
pub struct Check {
    /// Datasets and texts, or paths of cards [default: all]
    names: Vec<String>,
    /// Print JSON, for programs: everything that was measured
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) fn run(self, context: &Context) -> Result<u8> {
        let root = &context.roots.data;
        let named = !self.names.is_empty();
        let mut code = AnyCard::broken(context, &self.names)?;
        let (mut all, mut absent): (Vec<Entry>, Vec<Entry>) = Default::default();
        for card in AnyCard::all(context, &self.names)? {
            let (checked, missing): (Vec<Entry>, _) = match &card {
                AnyCard::Dataset(card) => {
                    let splits: Vec<&str> = card.split_names().into_iter().collect();
                    let checked = check(card, root).into_iter().map(Entry::Dataset);
                    (checked.collect(), card.missing(root, &splits))
                }
                AnyCard::Text(card) => {
                    let checked = check_text(card, root).into_iter().map(Entry::Text);
                    (checked.collect(), card.missing(root))
                }
            };
            if checked.iter().any(|checked| !checked.agrees()) {
                code = exit::SOME_FAILED;
            }
            if !self.json {
                checked
                    .iter()
                    .for_each(|checked| print!("{}", checked.text(context)));
            }
            all.extend(checked);
            if let Some(missing) = missing.filter(|_| named) {
                eprintln!("{missing}");
                code = exit::SOME_FAILED;
                absent.push(Entry::Missing { missing });
            }
        }
        if self.json {
            all.append(&mut absent);
            print::json(&all)?;
        } else {
            let agree = all.iter().filter(|checked| checked.agrees());
            println!(
                "{} of {} files agree with their cards",
                agree.count(),
                all.len()
            );
        }
        Ok(code)
    }
}

/// A file of either kind of card, or the missing files of one; programs distinguish them by `kind`.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Entry {
    Dataset(Checked),
    Text(CheckedText),
    /// Missing files of a named dataset or text, and how to get them.
    Missing {
        missing: String,
    },
}

impl Entry {
    fn agrees(&self) -> bool {
        match self {
            Self::Dataset(checked) => checked.verdict == Verdict::Agrees,
            Self::Text(checked) => checked.verdict == Verdict::Agrees,
            Self::Missing { .. } => false,
        }
    }

    fn text(&self, context: &Context) -> String {
        match self {
            Self::Dataset(checked) => checked.text(&context.shown(&checked.path)),
            Self::Text(checked) => checked.text(&context.shown(&checked.path)),
            Self::Missing { missing } => missing.clone(),
        }
    }
}
