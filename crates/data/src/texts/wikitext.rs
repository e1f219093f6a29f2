//! WikiText (Merity et al. 2016): tokens with spaces between them.

use super::Document;
use serde::Deserialize;

/// Settings of WikiText.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WikiText {
    /// Lines such as ` = Title = ` and ` = = Section = = `; kept without their signs, or left out.
    pub headings: Switch,
    /// The token `<unk>`, which replaces a rare word.
    pub unknown: Switch,
    /// The spaces and signs of ` @-@ `, ` @,@ ` and ` @.@ `, which cut numbers and hyphenated words into tokens; left
    /// out, the parts are joined again: `guest-starring`, `1,000`, `2.5`.
    pub joints: Switch,
}

/// A choice between keeping something in the text and dropping it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// It stays.
    Keep,
    /// It is left out.
    Drop,
}

impl WikiText {
    /// The articles of `text`: each heading of the first level, kept or not, opens one.
    pub(super) fn documents(&self, text: &str) -> Vec<Document> {
        let mut documents = Vec::new();
        let mut paragraphs: Vec<String> = Vec::new();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        for line in lines {
            let kept = match heading(line) {
                Some((level, title)) => {
                    if level == 1 {
                        documents.extend(Document::of(std::mem::take(&mut paragraphs)));
                    }
                    (self.headings == Switch::Keep).then_some(title)
                }
                None => Some(line),
            };
            let cleaned = kept.map(|line| self.cleaned(line));
            paragraphs.extend(cleaned.filter(|paragraph| !paragraph.is_empty()));
        }
        documents.extend(Document::of(paragraphs));
        documents
    }

    fn cleaned(&self, line: &str) -> String {
        let mut text = String::with_capacity(line.len());
        let mut joined = true;
        for word in line.split(' ').filter(|word| !word.is_empty()) {
            match (word, self.unknown, self.joints) {
                ("<unk>", Switch::Drop, _) => continue,
                ("@-@" | "@,@" | "@.@", _, Switch::Drop) => {
                    text += &word[1..2];
                    joined = true;
                    continue;
                }
                _ => {}
            }
            if !joined {
                text.push(' ');
            }
            text += word;
            joined = false;
        }
        text
    }
}

/// The level of a heading and its title: the same number of `=` on both sides of it, with spaces between them.
fn heading(line: &str) -> Option<(usize, &str)> {
    let (mut level, mut title) = (0, line);
    while let Some(inner) = title
        .strip_prefix("= ")
        .and_then(|rest| rest.strip_suffix(" ="))
    {
        (level, title) = (level + 1, inner);
    }
    (level > 0).then_some((level, title))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = " \n = Robert <unk> = \n \n A guest @-@ starring role in 2 @,@ 500 <unk> , 3 @.@ 5 .\r\n = = 2000 – 2005 = = \n a = b\n";

    #[track_caller]
    fn check(headings: Switch, unknown: Switch, joints: Switch, expected: &[&str]) {
        let settings = WikiText {
            headings,
            unknown,
            joints,
        };
        let documents = settings.documents(TEXT).into_iter();
        let paragraphs: Vec<String> = documents.flat_map(|one| one.paragraphs).collect();
        assert_eq!(paragraphs, expected);
    }

    #[test]
    fn headings_unknown_words_and_joints_stay_or_go_as_declared() {
        use Switch::{Drop, Keep};
        check(
            Keep,
            Keep,
            Keep,
            &[
                "Robert <unk>",
                "A guest @-@ starring role in 2 @,@ 500 <unk> , 3 @.@ 5 .",
                "2000 – 2005",
                "a = b",
            ],
        );
        check(
            Drop,
            Keep,
            Drop,
            &["A guest-starring role in 2,500 <unk> , 3.5 .", "a = b"],
        );
        check(
            Keep,
            Drop,
            Drop,
            &[
                "Robert",
                "A guest-starring role in 2,500 , 3.5 .",
                "2000 – 2005",
                "a = b",
            ],
        );
    }

    #[test]
    fn an_article_is_a_document_and_one_without_text_is_none() {
        let text = "before\n = A = \n one \n = = B = = \n two \n = C = \n = D = \n three \n";
        let settings = WikiText {
            headings: Switch::Drop,
            unknown: Switch::Keep,
            joints: Switch::Keep,
        };
        let documents = settings.documents(text).into_iter();
        let documents: Vec<Vec<String>> = documents.map(|one| one.paragraphs).collect();
        let expected = [vec!["before"], vec!["one", "two"], vec!["three"]];
        assert_eq!(documents, expected);
    }
}
