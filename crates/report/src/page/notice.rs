//! Notices above the results of a profile, such as that its conclusions are withdrawn.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use totune_evidence::toml_file;

/// File of all notices, below the project's root. It need not exist.
pub(crate) const FILE: &str = "experiments/notices.toml";

/// The notice of one profile.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Notice {
    /// A few words, shown in bold.
    title: String,
    /// Text for every paper that it is about.
    text: String,
    /// The papers that it is about, by id, each with further text. The others have no notice.
    papers: BTreeMap<String, String>,
}

/// A notice as the page of one paper shows it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct NoticeView {
    pub(crate) title: String,
    /// Markdown, one entry a paragraph.
    pub(crate) paragraphs: Vec<String>,
}

/// The notice above the page of `paper` in `profile`, if there is one.
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
    let mut notices: BTreeMap<String, Notice> = toml_file::read(&path, FILE)?;
    Ok(notices.remove(profile).and_then(|mut notice| {
        let own = notice.papers.remove(paper)?;
        Some(NoticeView {
            title: notice.title,
            paragraphs: [notice.text, own]
                .iter()
                .map(|text| text.trim().to_owned())
                .collect(),
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[small]
title = "Withdrawn"
text = """
All of it."""

[small.papers]
synthetic = "This one too."
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
            found.map(|shown| (shown.title, shown.paragraphs.join("|")))
        };
        let notice = (
            "Withdrawn".to_owned(),
            "All of it.|This one too.".to_owned(),
        );
        assert_eq!(shown("synthetic", "small"), Some(notice));
        assert_eq!(shown("another", "small"), None);
        assert_eq!(shown("synthetic", "paper"), None);
    }

    #[test]
    fn a_project_need_not_have_notices_and_a_misspelt_key_is_named() {
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(notice(empty.path(), "synthetic", "small").unwrap(), None);
        let project = project("[small]\ntitel = 'x'\ntext = 'y'\npapers = {}\n");
        let error = notice(project.path(), "synthetic", "small").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("experiments/notices.toml: line 2: unknown field `titel`"),
            "{error}"
        );
    }
}
