//! The folder of a comparison, in which no earlier result is lost.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use totune_compare::{Comparison, DatasetSplits};
use totune_disk::{check_writable, create_folder, write_atomically};

const PAGE: &str = "index.html";
const NUMBERS: &str = "comparison.json";
/// Folder of an interrupted comparison, in that of one that came to its end.
const INTERRUPTED: &str = "interrupted";

/// The part of an earlier result that says what it is about.
#[derive(Debug, Deserialize)]
struct Earlier {
    dataset: String,
    /// Results of earlier versions have neither card nor hash.
    #[serde(default)]
    card: String,
    #[serde(default)]
    hash: String,
    chosen: Option<String>,
    stopped: bool,
}

impl Earlier {
    fn present(&self) -> Present {
        match (&self.chosen, self.stopped) {
            (None, _) => Present::Nothing,
            (Some(_), true) => Present::Partial,
            (Some(_), false) => Present::Whole,
        }
    }
}

/// Content of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Present {
    /// Nothing, or the result of a comparison that compared nothing.
    Nothing,
    /// The result of an interrupted comparison.
    Partial,
    /// The result of a comparison that came to its end, or something else that may be replaced.
    Whole,
}

/// The folder for the page and the numbers of a comparison.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    present: Present,
    replace: bool,
}

impl Folder {
    /// The folder at `path` for a comparison of `data`.
    ///
    /// # Errors
    /// When something else is there, such as the result of other data, and `replace` does not allow to replace it.
    pub(super) fn open(path: &Path, data: &DatasetSplits, replace: bool) -> Result<Self> {
        let present = match earlier(path) {
            Ok(None) => Present::Nothing,
            Ok(Some(earlier)) if earlier.present() == Present::Nothing => Present::Nothing,
            Ok(Some(earlier)) => {
                let (dataset, card) = (&earlier.dataset, &earlier.card);
                ensure!(
                    replace || earlier.hash == data.hash,
                    "{}: found the result of other data, `{dataset}`{}; expected an empty folder or a result of `{}` ({}): \
                     name another folder with --out, or replace it with --replace",
                    path.display(),
                    if card.is_empty() {
                        String::new()
                    } else {
                        format!(" ({card})")
                    },
                    data.name,
                    data.card.display()
                );
                earlier.present()
            }
            Err(error) if !replace => {
                return Err(error.context(format!(
                    "{}: expected an empty folder or the result of a comparison; name another folder with --out, or replace \
                     what is there with --replace",
                    path.display()
                )));
            }
            Err(_) => Present::Whole,
        };
        check_writable(path)?;
        Ok(Self {
            path: path.to_path_buf(),
            present,
            replace,
        })
    }

    /// Writes a page and the numbers, and returns the path of the page; `None` where an earlier result was kept because
    /// nothing was compared. An interrupted comparison does not replace one that came to its end.
    pub(super) fn write(&self, comparison: &Comparison, html: &str) -> Result<Option<PathBuf>> {
        let kept = self.path.join(PAGE);
        if comparison.chosen.is_none() && self.present != Present::Nothing {
            eprintln!(
                "nothing was compared, so nothing was written; {} is still the result of an earlier comparison",
                kept.display()
            );
            return Ok(None);
        }
        let mut folder = self.path.clone();
        if comparison.stopped && self.present == Present::Whole && !self.replace {
            folder.push(INTERRUPTED);
            eprintln!(
                "{} is still the result of an earlier comparison, which was not interrupted; this one is in {}",
                kept.display(),
                folder.display()
            );
        }
        create_folder(&folder)?;
        let json = serde_json::to_string_pretty(comparison)?;
        // The numbers first: a folder with a page alone would be refused the next time.
        write_atomically(&folder.join(NUMBERS), json.as_bytes())?;
        write_atomically(&folder.join(PAGE), html.as_bytes())?;
        Ok(Some(folder.join(PAGE)))
    }
}

/// The earlier result in a folder; an error where there is something else.
fn earlier(path: &Path) -> Result<Option<Earlier>> {
    let numbers = path.join(NUMBERS);
    if !numbers.is_file() {
        let page = path.join(PAGE);
        if page.exists() {
            bail!("{}: found without {NUMBERS}", page.display());
        }
        return Ok(None);
    }
    let shown = || numbers.display().to_string();
    let text = fs::read_to_string(&numbers).with_context(shown)?;
    serde_json::from_str(&text).map(Some).with_context(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(chosen: Option<&str>, stopped: bool) -> Comparison {
        Comparison {
            dataset: "own".into(),
            title: "Own".into(),
            card: "own.toml".into(),
            hash: "00".into(),
            fixture: false,
            encoders: Vec::new(),
            dtype: "f32",
            metric: "accuracy".into(),
            margin: 0.01,
            sentence: String::new(),
            chosen: chosen.map(str::to_string),
            score: None,
            rows: Vec::new(),
            learning_curve: Vec::new(),
            notes: Vec::new(),
            budget_seconds: 60.0,
            spent_seconds: 3.0,
            stopped,
        }
    }

    #[test]
    fn an_interrupted_comparison_does_not_replace_one_that_came_to_its_end() {
        let place = tempfile::tempdir().expect("temporary folder");
        let path = place.path().join("own");
        // Whether something was compared, whether it was interrupted, --replace, and the folder that is written.
        for (number, (chosen, stopped, replace, expected)) in [
            (None, true, false, Some("")),
            (Some("words"), true, false, Some("")),
            (None, true, true, None),
            (Some("full"), false, false, Some("")),
            (None, true, false, None),
            (None, false, true, None),
            (Some("words"), true, false, Some("interrupted")),
            (Some("full"), false, false, Some("")),
            (Some("words"), true, true, Some("")),
        ]
        .into_iter()
        .enumerate()
        {
            let present = match earlier(&path).expect("a result") {
                None => Present::Nothing,
                Some(earlier) => earlier.present(),
            };
            let folder = Folder {
                path: path.clone(),
                present,
                replace,
            };
            let html = number.to_string();
            let written = folder.write(&comparison(chosen, stopped), &html);
            let written = written.expect("written");
            let expected = expected.map(|folder| path.join(folder).join(PAGE));
            assert_eq!(written, expected, "{number}");
            if let Some(page) = written {
                assert_eq!(fs::read_to_string(page).expect("a page"), html);
            }
        }
    }
}
