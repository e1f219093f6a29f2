//! `totune data`: listing datasets and texts, checking their files against their cards, and showing what is in them.

mod check;
pub(super) mod hints;
mod list;
mod new;
mod overlap;
mod show;
mod stats;

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use clap::Subcommand;
use totune_data::guess::{Hints, draft, files_of_splits, name};
use totune_data::{Card, TextCard, TextCatalogue, Tokenizer};
use totune_disk::{quoted_for_shell, write_atomically};
use totune_toml::near;

use crate::command::fetch;
use crate::context::Context;
use crate::exit;

/// Datasets and texts: list them, check their files against their cards, and show their content
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  totune data list                 the datasets, and which of them are here
  totune data new reviews.csv      a card for your own file
  totune data check reviews.toml   whether the file is what the card says")]
pub enum Data {
    List(list::List),
    Check(check::Check),
    Stats(stats::Stats),
    Overlap(overlap::OverlapOf),
    Show(show::Show),
    New(new::New),
    Fetch(fetch::FetchDatasets),
}

impl Data {
    /// Runs the subcommand.
    pub fn run(self, context: &Context) -> Result<u8> {
        match self {
            Self::List(list) => list.run(context),
            Self::Check(check) => check.run(context),
            Self::Stats(stats) => stats.run(context),
            Self::Overlap(overlap) => overlap.run(context),
            Self::Show(show) => show.run(context),
            Self::New(new) => new.run(context),
            Self::Fetch(fetch) => fetch.run(context),
        }
    }
}

/// The card called `name`, or the card at that path.
pub(super) fn card(context: &Context, name: &str) -> Result<Card> {
    if let Some(path) = path_of_card(name)? {
        return Card::read(path);
    }
    let datasets = context.project.datasets()?;
    let found = datasets.find(name);
    found.cloned().map_err(|error| unknown(name, error))
}

/// The path of a card, if `name` is one rather than the name of a dataset.
///
/// # Errors
/// When there is no file, or one with rows.
fn path_of_card(name: &str) -> Result<Option<&Path>> {
    let path = Path::new(name);
    let is_card = path.extension().is_some_and(|end| end == "toml");
    ensure!(
        is_card || path.extension().is_none() || !path.is_file(),
        "{name}: is a file with rows, expected its card; `totune data new {}` writes one",
        quoted_for_shell(name)
    );
    if !is_card && path.components().count() == 1 {
        return Ok(None);
    }
    ensure!(path.is_file(), unreadable(path));
    Ok(Some(path))
}

/// The error about a name that no dataset has, which may be meant as that of a file.
fn unknown(name: &str, error: anyhow::Error) -> anyhow::Error {
    let path = Path::new(name);
    if path.is_dir() {
        anyhow!("{name}: is a folder, expected a file or the name of a dataset")
    } else if path.extension().is_some() {
        anyhow!(
            "{name}: no such file{}, and no dataset has this name",
            searched(path)
        )
    } else {
        error
    }
}

/// The card of a dataset, by its name or its path, or of a file of rows, next to which one is written.
///
/// # Errors
/// When there is none of that name, `hints` are given for a card that says what the columns are, or the file cannot be read.
pub(super) fn card_of(context: &Context, what: &str, hints: &Hints) -> Result<Card> {
    let path = Path::new(what);
    let is_card = path.extension().is_some_and(|end| end == "toml");
    let is_name = path.components().count() == 1 && path.extension().is_none() && !path.is_file();
    ensure!(
        !(is_card || is_name) || *hints == Hints::default(),
        "{}: its card says what the columns are, so options about columns have no effect; edit the card, or name the \
         file itself",
        what
    );
    if is_card || is_name || !path.is_file() {
        return card(context, what); // its error says where a file was looked for
    }
    let file =
        fs::canonicalize(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let folder = file.parent().unwrap_or(Path::new("/"));
    let beside = folder.join(format!("{}.toml", name(&file, hints)));
    if beside.is_file() {
        let card = Card::read(&beside)?;
        let places = card
            .splits
            .keys()
            .flat_map(|split| card.places(folder, split));
        let known =
            places.filter_map(|(layout, path)| Some((layout, fs::canonicalize(path).ok()?)));
        let known: Vec<_> = known.collect();
        let own = known.iter().find(|(_, path)| *path == file);
        let (layout, _) = own.with_context(|| {
            format!(
                "{}: is the card of another file than {what}; give this one another name with --name",
                beside.display()
            )
        })?;
        if let Some(option) = hints.disagreement(&card, layout) {
            bail!(
                "{option}: {} is already there and says something else; edit it, or write it anew with \
                 `totune data new {} --replace` and these options",
                beside.display(),
                quoted_for_shell(what)
            );
        }
        let found = format!(
            "{} is already there and says what the columns are",
            beside.display()
        );
        let is_new = |path: &PathBuf| {
            let path = fs::canonicalize(path);
            path.is_ok_and(|path| known.iter().all(|(_, known)| *known != path))
        };
        let beside = files_of_splits(&file).into_iter().map(|(_, path)| path);
        let added = beside.filter(is_new).map(|path| {
            format!(
                "{} is not in the card, so it is not used; a new draft says whether it can be: `totune data new {} --replace`, which replaces what was edited",
                path.display(),
                quoted_for_shell(what)
            )
        });
        context.note([found].into_iter().chain(added));
        return Ok(card);
    }
    let draft = draft(&file, hints, folder, true)?;
    write_atomically(&beside, draft.text.as_bytes()).with_context(|| {
        format!(
            "{}: its card belongs next to it; copy or link the file to a folder that can be written",
            what
        )
    })?;
    let written = format!("card written to {}", beside.display());
    context.note(draft.notes.into_iter().chain([written]));
    Card::read(&beside)
}

/// The message about a file that cannot be read.
fn unreadable(path: &Path) -> String {
    let why = if path.is_dir() {
        "is a folder, expected a file".to_string()
    } else if path.exists() {
        "cannot be read".to_string()
    } else {
        format!("not found{}", searched(path))
    };
    format!("{}: {why}", path.display())
}

/// The folder in which a relative path was looked for, which need not be the one where a person typed it: a wrapper may
/// have changed it.
fn searched(path: &Path) -> String {
    let folder = std::env::current_dir().ok();
    let folder = folder.filter(|_| path.is_relative());
    folder.map_or(String::new(), |folder| format!(" in {}", folder.display()))
}

/// A card of either kind.
enum AnyCard {
    Dataset(Box<Card>),
    Text(Box<TextCard>),
}

impl AnyCard {
    /// The dataset or the text called `name`, or the card at that path. An error about an unknown name suggests the
    /// nearest one.
    fn find(context: &Context, name: &str) -> Result<Self> {
        if let Some(path) = path_of_card(name)? {
            return if TextCard::is_at(path)? {
                TextCard::read(path).map(|card| Self::Text(Box::new(card)))
            } else {
                Card::read(path).map(|card| Self::Dataset(Box::new(card)))
            };
        }
        let texts = texts(context)?;
        let datasets = context.project.datasets()?;
        let both = datasets.names().into_iter().chain(texts.names());
        let nearest = near(name, both).unwrap_or_default();
        let exists = datasets.names().contains(&name);
        let of_text = texts.names().contains(&name) || !exists && texts.names().contains(&nearest);
        if of_text {
            Ok(Self::Text(Box::new(texts.find(name)?.clone())))
        } else {
            let found = datasets.find(name);
            let found = found.cloned().map_err(|error| unknown(name, error))?;
            Ok(Self::Dataset(Box::new(found)))
        }
    }

    /// The cards called `names`; without names, all datasets and then all texts.
    fn all(context: &Context, names: &[String]) -> Result<Vec<Self>> {
        if !names.is_empty() {
            return names.iter().map(|name| Self::find(context, name)).collect();
        }
        let datasets = context.project.datasets()?;
        let datasets = datasets.cards().iter().cloned();
        let mut cards: Vec<Self> = datasets.map(|card| Self::Dataset(Box::new(card))).collect();
        let texts = texts(context)?;
        let texts = texts.cards().iter().cloned();
        cards.extend(texts.map(|card| Self::Text(Box::new(card))));
        Ok(cards)
    }

    /// Prints errors for the cards that [`AnyCard::all`] leaves out because they cannot be read; returns the exit code.
    fn broken(context: &Context, names: &[String]) -> Result<u8> {
        if !names.is_empty() {
            return Ok(exit::OK);
        }
        let (datasets, texts) = (context.project.datasets()?, texts(context)?);
        Ok(exit::broken_cards(datasets.broken().chain(texts.broken())))
    }
}

/// All texts of the project.
fn texts(context: &Context) -> Result<TextCatalogue> {
    context.project.texts()
}

/// Choice of the tokenizer that encodes the texts.
#[derive(Debug, clap::Args)]
struct Wordpieces {
    /// Encoder whose tokenizer encodes the texts
    #[arg(long, value_name = "NAME")]
    encoder: Option<String>,
    /// Folder with a `tokenizer.json` or a `vocab.txt`, instead of an encoder
    #[arg(long, value_name = "FOLDER", conflicts_with = "encoder")]
    vocabulary: Option<std::path::PathBuf>,
    /// With a bare `vocab.txt`: keep upper case and accents
    #[arg(long, requires = "vocabulary")]
    cased: bool,
}

impl Wordpieces {
    fn is_asked_for(&self) -> bool {
        self.encoder.is_some() || self.vocabulary.is_some()
    }

    fn open(&self, context: &Context) -> Result<Option<Tokenizer>> {
        if let Some(folder) = &self.vocabulary {
            return Tokenizer::open(folder, !self.cased).map(Some);
        }
        let Some(name) = &self.encoder else {
            return Ok(None);
        };
        let encoders = context.project.encoders()?;
        let card = encoders.find(name)?;
        let roots = context.roots.of_encoder(&context.project, card.fixture);
        let Some(folder) = card.locate(&roots) else {
            let missing = card.missing(&roots);
            bail!(missing.unwrap_or_else(|| format!("encoder `{name}` is gone")));
        };
        let tokenizer = Tokenizer::open(&folder, card.vocabulary.lowercase)?;
        Ok(Some(tokenizer.with_prefix(&card.vocabulary.prefix)))
    }
}

/// The existing splits of `card`, or the requested one.
fn splits<'a>(context: &Context, card: &'a Card, wanted: Option<&'a str>) -> Result<Vec<String>> {
    let root = &context.roots.data;
    if let Some(split) = wanted {
        return Ok(vec![split.to_string()]);
    }
    let listed = totune_data::survey::listed(card, root);
    let there = listed
        .splits
        .into_iter()
        .filter(|split| split.places.iter().any(|place| place.found));
    let names: Vec<String> = there.map(|split| split.split).collect();
    if names.is_empty() {
        let all: Vec<&str> = card.split_names().into_iter().collect();
        bail!(card.missing(root, &all).context("a card without files")?);
    }
    Ok(names)
}

/// Width of this terminal in columns, or 100 where the output goes elsewhere.
fn columns() -> usize {
    let asked = std::env::var("COLUMNS")
        .ok()
        .and_then(|text| text.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    asked.or_else(terminal).unwrap_or(100).clamp(40, 240)
}

fn at_least_one(n: usize, option: &str) -> Result<()> {
    ensure!(n > 0, "{option}: 0; expected at least 1");
    Ok(())
}

/// Writes a file that must not exist yet.
pub(super) fn write_new(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!(
            "{}: is already there and is never overwritten; give another name",
            path.display()
        ),
        Err(error) => {
            return Err(error).with_context(|| format!("{}: cannot be written", path.display()));
        }
    };
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all());
    if let Err(error) = written {
        // Half a card is worse than none.
        let _ = fs::remove_file(path);
        return Err(error).with_context(|| format!("{}: cannot be written", path.display()));
    }
    Ok(())
}
