//! A card for a file that nobody has described yet, from looking at it.
//!
//! Every guess comes with its reason, and between two equally likely interpretations nothing is guessed: the error
//! names the option that decides. The draft is read back as a card and its counts are those of the files, so that it
//! loads at once.

mod answers;
mod columns;
mod hints;
mod label_sets;
mod layout;
mod names;
mod odd;
mod odd_lists;
mod shown;
mod siblings;
pub(crate) mod spellings;
mod split;
mod tags;
mod word_columns;
mod word_lists;

pub use self::hints::Hints;
pub use self::layout::fields;
pub use self::siblings::files_of_splits;

use self::shown::{listed, shown};
use self::split::{Found, Reader, Split};

use crate::contents::{contents, decoded, marked, uncompressed};
use crate::duplicates::repeats_note;
use crate::format::{Format, Table};
use crate::survey::Measured;
use crate::tags::Scheme;
use crate::{Card, Empty, Task};
use anyhow::{Context, Result, anyhow, ensure};
use std::borrow::Cow;
use std::path::Path;
use totune_disk::quoted_for_shell;

/// A card that has not been written yet.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The dataset's name.
    pub name: String,
    /// The card.
    pub text: String,
    /// Notes for the user in addition to the comments of the card.
    pub notes: Vec<String>,
}

/// The findings about the file, as lines of a card.
struct Findings {
    task: Task,
    /// The reason for the task.
    task_reason: String,
    labels: Vec<String>,
    range: Option<[f64; 2]>,
    unlabelled: Option<String>,
    /// The tags that integers stand for.
    values: Vec<String>,
    scheme: Option<Scheme>,
    format: String,
    format_reason: String,
    columns: String,
    columns_reason: String,
    empty: Option<Empty>,
    encoding: Option<String>,
    /// Notes for the user.
    notes: Vec<String>,
}

impl Findings {
    fn new(task: Task, task_reason: String, labels: Vec<String>) -> Self {
        Self {
            task,
            task_reason,
            labels,
            range: None,
            unlabelled: None,
            values: Vec::new(),
            scheme: None,
            format: String::new(),
            format_reason: String::new(),
            columns: String::new(),
            columns_reason: String::new(),
            empty: None,
            encoding: None,
            notes: Vec::new(),
        }
    }
}

/// The name of the dataset that [`draft`] writes a card of.
pub fn name(file: &Path, hints: &Hints) -> String {
    let own = hints.name.clone();
    own.unwrap_or_else(|| siblings::dataset_name(file))
}

/// A card for `file`, whose paths are below `folder`; with `relative_to_card`, that is the folder the card itself will be in.
pub fn draft(file: &Path, hints: &Hints, folder: &Path, relative_to_card: bool) -> Result<Draft> {
    ensure!(
        !file.is_dir(),
        "{}: is a folder, expected a file",
        file.display()
    );
    let linked = siblings::in_folder(file, folder);
    let file = linked.as_deref().with_context(|| outside(file, folder))?;
    let bytes =
        std::fs::read(file).with_context(|| format!("{}: cannot be read", file.display()))?;
    ensure!(!bytes.is_empty(), "{}: the file is empty", file.display());
    let name = name(file, hints);
    let plain = !name.is_empty()
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'));
    ensure!(
        plain,
        "--name: `{name}`; expected letters, digits, hyphens and underscores"
    );
    let findings = contents(file, &bytes)
        .and_then(|bytes| findings(file, &bytes, hints))
        .map_err(|error| anyhow!(of_file(file, &error)))?;
    let mut notes = findings.notes.clone();
    notes.extend(spellings::alike(&findings.labels));
    let reader = Reader {
        findings: &findings,
        name: &name,
        file,
        folder,
    };
    let mut splits = Vec::new();
    for (split, path) in siblings::files_of_splits(file) {
        match reader.read(&split, &path)? {
            Found::Split(found) => splits.push(found),
            Found::LeftOut(why) => notes.push(format!("left out {why}")),
        }
    }
    let train = splits.iter().find(|split| split.name == "train");
    notes.extend(train.and_then(|train| repeats_note(train.measured.repeats, train.measured.rows)));
    let text = card_text(&name, relative_to_card, &findings, &splits);
    // A card that cannot be read back would only fail later.
    parsed(&text, &name, folder)?;
    Ok(Draft { name, text, notes })
}

/// An error with the file it is about: a reader's names it already, and one from guessing does not.
fn of_file(file: &Path, error: &anyhow::Error) -> String {
    let (file, said) = (file.display().to_string(), format!("{error:#}"));
    if said.starts_with(&file) {
        said
    } else {
        format!("{file}: {said}")
    }
}

/// The error about a file that a card in `folder` cannot name.
fn outside(file: &Path, folder: &Path) -> String {
    format!(
        "{0}: is not below {1}, the folder of the card, and a card's files lie below its folder; write the card next to the \
         file, or copy the file to {1} or link it there: ln -s {2} {3}",
        file.display(),
        folder.display(),
        quoted_for_shell(&file.display().to_string()),
        quoted_for_shell(&folder.display().to_string())
    )
}

/// The findings about the file whose decompressed content is `bytes`.
fn findings(file: &Path, bytes: &[u8], hints: &Hints) -> Result<Findings> {
    let encoding = hints.encoding.as_deref().or(marked(bytes));
    let bytes = &*decoded(file, Cow::Borrowed(bytes), encoding)?;
    let mut findings = match layout::look(&uncompressed(file), bytes, hints)? {
        layout::FileLayout::Columns(words) => words.findings(hints)?,
        layout::FileLayout::Table { format, reason } => {
            let read: Format =
                totune_toml::parse_toml::<toml::Table>(&format!("format = {format}"))
                    .and_then(|table| Ok(table["format"].clone().try_into()?))?;
            let table = read.table_with_lists(file, bytes, None, &|_| true)?;
            let is_listed = matches!(
                read,
                Format::Jsonl(_) | Format::Json(_) | Format::Parquet(_)
            );
            let mut findings = if is_listed {
                of_lists(&table, hints)?
            } else {
                columns::findings(&table, hints)?
            };
            findings.format = format;
            findings.format_reason = reason;
            findings
        }
    };
    for (option, is_given) in [
        ("--tags", hints.tags.is_some()),
        ("--scheme", hints.scheme.is_some()),
    ] {
        ensure!(
            !is_given || findings.task == Task::Tagging,
            "{option}: given; expected none, since the task is {}",
            findings.task.word()
        );
    }
    findings.empty = hints.empty;
    findings.encoding = encoding.map(String::from);
    Ok(findings)
}

/// The findings about a table that may have lists of words and tags.
fn of_lists(table: &Table, hints: &Hints) -> Result<Findings> {
    let lists = word_lists::guess(table, hints).transpose();
    let findings = lists.unwrap_or_else(|| columns::findings(table, hints));
    // One row keeps a column of lists from being taken for one, which an error about the columns does not say.
    findings.map_err(|error| odd_lists::finding(table, hints).map_or(error, |odd| anyhow!(odd)))
}

fn parsed(text: &str, name: &str, folder: &Path) -> Result<Card> {
    Card::parse(text, &folder.join(format!("{name}.toml")))
}

fn string(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn strings(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| string(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// A reason as a comment, which ends at a line break.
fn comment(reason: &str) -> String {
    let letters = reason.chars();
    letters
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}

fn head(
    name: &str,
    relative_to_card: bool,
    findings: &Findings,
    range: Option<[f64; 2]>,
) -> String {
    let metrics = match findings.task {
        Task::Classification => r#"["accuracy", "f1-macro"]"#,
        Task::MultiLabel => r#"["f1-micro", "f1-macro", "exact-match", "map", "lrap"]"#,
        Task::Ordinal => r#"["quadratic-kappa", "mae", "accuracy"]"#,
        Task::Regression => r#"["pearson", "spearman"]"#,
        Task::Tagging => r#"["span-f1", "span-precision", "span-recall"]"#,
    };
    let mut lines = vec![
        format!("name = {}", string(name)),
        format!("title = {}", string(name)),
        format!(
            "task = \"{}\"  # {}",
            findings.task.word(),
            comment(&findings.task_reason)
        ),
        format!("metrics = {metrics}"),
    ];
    if relative_to_card {
        lines.push("relative-to-card = true  # paths are below the folder of this card".into());
    }
    if !findings.labels.is_empty() {
        lines.push(format!("labels = {}", strings(&findings.labels)));
    }
    if let Some([low, high]) = range {
        lines.push(format!("range = [{low:?}, {high:?}]  # the lowest and the highest score found; widen it to the whole scale"));
    }
    lines.join("\n") + "\n"
}

fn layout_text(findings: &Findings, files: &[(&str, &Path, Option<&str>)]) -> String {
    let mut lines = vec![
        "\n[[layouts]]".to_string(),
        "name = \"own\"".to_string(),
        format!(
            "format = {}  # {}",
            findings.format,
            comment(&findings.format_reason)
        ),
        format!(
            "columns = {}  # {}",
            findings.columns,
            comment(&findings.columns_reason)
        ),
    ];
    if let Some(encoding) = &findings.encoding {
        lines.push(format!("encoding = {}", string(encoding)));
    }
    match findings.empty {
        Some(Empty::Drop) => {
            lines.push("empty = \"drop\"  # rows without a text are left out".into())
        }
        Some(Empty::Keep) => lines.push("empty = \"keep\"  # rows without a text are kept".into()),
        Some(Empty::Refuse) | None => {}
    }
    if let Some(value) = &findings.unlabelled {
        lines.push(format!("unlabelled = {}", string(value)));
    }
    if !findings.values.is_empty() {
        lines.push(format!("values = {}", strings(&findings.values)));
    }
    if let Some(scheme) = findings.scheme {
        lines.push(format!(
            "scheme = \"{}\"  # as --scheme says",
            scheme.name()
        ));
    }
    lines.push("\n[layouts.files]".to_string());
    for (split, path, sha256) in files {
        // A card has forward slashes on every system.
        let path: Vec<String> = path
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect();
        let hash = sha256.map_or(String::new(), |hash| format!(", sha256 = \"{hash}\""));
        lines.push(format!(
            "{split} = {{ path = {}{hash} }}",
            string(&path.join("/"))
        ));
    }
    lines.join("\n") + "\n"
}

fn card_text(name: &str, relative_to_card: bool, findings: &Findings, splits: &[Split]) -> String {
    let mut text = "# Written by `totune data new`; a comment says why.\n".to_string();
    let labelled = splits.iter().filter(|split| split.unlabelled.is_none());
    let ranges = labelled.filter_map(|split| split.range);
    let range = findings.range.map(|own| {
        ranges.fold(own, |[low, high], [least, most]| {
            [low.min(least), high.max(most)]
        })
    });
    text += &head(name, relative_to_card, findings, range);
    for split in splits {
        let Measured {
            rows,
            counts,
            repeats,
            words,
            ..
        } = &split.measured;
        text += &format!("\n[splits.{}]\nrows = {rows}\n", split.name);
        if let Some(reason) = &split.unlabelled {
            text += &format!(
                "labelled = false  # no answers were found in it: {}\n",
                comment(reason)
            );
        } else if !counts.is_empty() && (split.measured.unlabelled == 0 || words.is_some()) {
            let numbers: Vec<String> = counts.iter().map(|(_, count)| count.to_string()).collect();
            text += &format!("counts = [{}]\n", numbers.join(", "));
        }
        if let Some(words) = words {
            text += &format!("words = {words}\n");
        }
        text += &format!("repeats = {repeats}\n");
    }
    let files: Vec<(&str, &Path, Option<&str>)> = splits
        .iter()
        .map(|split| {
            (
                split.name.as_str(),
                split.path.as_path(),
                Some(split.sha256.as_str()),
            )
        })
        .collect();
    text + &layout_text(findings, &files)
}

#[cfg(test)]
mod tests;
