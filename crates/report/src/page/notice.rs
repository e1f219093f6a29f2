//! Notices above the results of a profile, such as that its conclusions are withdrawn.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use totune_evidence::toml_file;

/// File of all notices, below the project's root. It need not exist.
pub(crate) const FILE: &str = "experiments/notices.toml";

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    notice: Vec<Notice>,
}

/// A notice about results of one profile.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Notice {
    /// The profile that it is about.
    profile: String,
    /// A few words, shown in bold.
    title: String,
    /// Whether conclusions are withdrawn: the page gives no advice then.
    withdraws: bool,
    /// Text for every paper that it is about.
    text: String,
    /// The papers that it is about, by id, each with further text. The others do not have it.
    papers: BTreeMap<String, String>,
}

/// A notice as the page of one paper shows it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct NoticeView {
    pub(crate) title: String,
    pub(crate) withdraws: bool,
    /// Markdown, one entry a paragraph.
    pub(crate) paragraphs: Vec<String>,
}

/// The first notice above the page of `paper` in `profile`, if there is one.
///
/// # Errors
///
/// If the file is there and cannot be read or parsed.
pub(crate) fn notice(
    project_root: &Path,
    paper: &str,
    profile: &str,
) -> Result<Option<NoticeView>> {
    let path = project_root.join(FILE);
    if !path.exists() {
        return Ok(None);
    }
    let file: File = toml_file::read(&path, FILE)?;
    let of_profile = file.notice.into_iter().filter(|one| one.profile == profile);
    let mut about = of_profile.filter_map(|mut notice| {
        let own = notice.papers.remove(paper)?;
        Some(NoticeView {
            title: notice.title,
            withdraws: notice.withdraws,
            paragraphs: [notice.text, own]
                .iter()
                .map(|text| text.trim().to_owned())
                .filter(|text| !text.is_empty())
                .collect(),
        })
    });
    Ok(about.next())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[[notice]]
profile = "small"
title = "Withdrawn"
withdraws = true
text = """
All of it."""
papers = { synthetic = "This one too." }

[[notice]]
profile = "small"
title = "Not complete"
withdraws = false
text = "Half of it."
papers = { half = "" }
"#;

    fn project(text: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("experiments")).unwrap();
        std::fs::write(folder.path().join(FILE), text).unwrap();
        folder
    }

    #[test]
    fn a_notice_is_about_the_papers_of_a_profile_that_it_names() {
        let project = project(TEXT);
        let shown = |paper, profile| {
            let found = notice(project.path(), paper, profile).unwrap();
            found.map(|shown| (shown.title, shown.withdraws, shown.paragraphs.join("|")))
        };
        let expected = |title: &str, withdraws, text: &str| {
            Some((title.to_owned(), withdraws, text.to_owned()))
        };
        let withdrawn = expected("Withdrawn", true, "All of it.|This one too.");
        assert_eq!(shown("synthetic", "small"), withdrawn);
        let half = expected("Not complete", false, "Half of it.");
        assert_eq!(shown("half", "small"), half);
        assert_eq!(shown("another", "small"), None);
        assert_eq!(shown("synthetic", "paper"), None);
    }

    #[test]
    fn a_project_need_not_have_notices_and_a_misspelt_key_is_named() {
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(notice(empty.path(), "synthetic", "small").unwrap(), None);
        let project = project("[[notice]]\ntitel = 'x'\n");
        let error = notice(project.path(), "synthetic", "small").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("experiments/notices.toml: line 2: unknown key `titel`"),
            "{error}"
        );
    }
}
