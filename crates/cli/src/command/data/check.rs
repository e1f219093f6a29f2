//! `totune data check`.

use anyhow::Result;
use clap::Args;
use totune_data::survey::{Checked, Verdict, check};
use totune_data::{Card, Catalogue};

use super::print_json;
use crate::context::Context;
use crate::exit;

/// Read every file there is and compare it with its card: hash, rows, counts, labels, repeats
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune data check
  totune data check disaster-tweets
  totune data check my/reviews.toml     a card of your own

Without names, what is not there is not checked; with names, it counts as a failure.
Exit code 1: something differs, cannot be read or, of a named dataset, is missing.")]
pub struct Check {
    /// Datasets, or paths of cards; all datasets when none is named
    names: Vec<String>,
    /// For programs: everything that was measured
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) fn run(self, context: &Context) -> Result<u8> {
        let root = &context.roots.data;
        let named = !self.names.is_empty();
        let cards: Vec<Card> = if named {
            let names = self.names.iter();
            names
                .map(|name| super::card(context, name))
                .collect::<Result<_>>()?
        } else {
            let datasets = Catalogue::read(&context.project.root.join("datasets"))?;
            datasets.cards().to_vec()
        };
        let mut code = exit::OK;
        let mut all: Vec<Checked> = Vec::new();
        for card in &cards {
            let checked = check(card, root);
            if checked
                .iter()
                .any(|checked| checked.verdict != Verdict::Agrees)
            {
                code = exit::SOME_FAILED;
            }
            if !self.json {
                for checked in &checked {
                    print!("{}", checked.text(&context.shown(&checked.path)));
                }
            }
            let splits: Vec<&str> = card.split_names().into_iter().collect();
            if let Some(missing) = card.missing(root, &splits).filter(|_| named) {
                eprintln!("{missing}");
                if checked.is_empty() {
                    code = exit::SOME_FAILED;
                }
            }
            all.extend(checked);
        }
        if self.json {
            print_json(&all)?;
        } else {
            let agree = all
                .iter()
                .filter(|checked| checked.verdict == Verdict::Agrees);
            println!(
                "{} of {} files agree with their cards",
                agree.count(),
                all.len()
            );
        }
        Ok(code)
    }
}
