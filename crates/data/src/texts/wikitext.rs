//! WikiText (Merity et al. 2016): tokens with spaces between them.

use serde::Deserialize;

/// Settings of WikiText.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WikiText {
    /// Lines such as ` = Title = ` and ` = = Section = = `; kept without their signs, or left out.
    pub headings: Switch,
    /// The token `<unk>`, which stands for a rare word.
    pub unknown: Switch,
    /// The spaces and signs of ` @-@ `, ` @,@ ` and ` @.@ `, which cut numbers and hyphenated words into tokens; left
    /// out, the parts are joined again: `guest-starring`, `1,000`, `2.5`.
    pub joints: Switch,
}

/// Whether something stays in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// It stays.
    Keep,
    /// It is left out.
    Drop,
}

impl WikiText {
    pub(super) fn paragraphs(&self, text: &str) -> Vec<String> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let paragraphs = lines.filter_map(|line| match (heading(line), self.headings) {
            (Some(_), Switch::Drop) => None,
            (Some(title), Switch::Keep) => Some(self.cleaned(title)),
            (None, _) => Some(self.cleaned(line)),
        });
        paragraphs
            .filter(|paragraph| !paragraph.is_empty())
            .collect()
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

/// The title in a heading: the same number of `=` on both sides of it, with spaces between them.
fn heading(line: &str) -> Option<&str> {
    let mut title = line;
    while let Some(inner) = title
        .strip_prefix("= ")
        .and_then(|rest| rest.strip_suffix(" ="))
    {
        title = inner;
    }
    (title.len() < line.len()).then_some(title)
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
        assert_eq!(settings.paragraphs(TEXT), expected);
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
}
