//! Words of a text, as scikit-learn's vectorisers find them by default.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// The lower-cased words of `text`: every longest run of two or more word characters.
///
/// This is `re.findall(r"(?u)\b\w\w+\b", text.lower())` in Python. There `\w` is a letter (L), a number (N) or
/// an underscore; a combining mark is none of these, so it ends a word, other than in Rust's own regular
/// expressions. Lower-casing follows Unicode in both, final sigma included.
pub fn tokens(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for_each_token(text, &mut String::new(), |word| words.push(word.to_owned()));
    words
}

/// Calls `visit` with each word of `text`; `lower` is a buffer to reuse.
pub(crate) fn for_each_token(text: &str, lower: &mut String, mut visit: impl FnMut(&str)) {
    lower.clear();
    if text.is_ascii() {
        lower.push_str(text);
        lower.make_ascii_lowercase();
    } else {
        lower.push_str(&text.to_lowercase());
    }
    let bytes = lower.as_bytes();
    let mut start = 0; // of the run under way
    let mut length = 0; // of the run, in characters
    let mut position = 0;
    while position < bytes.len() {
        let (is_word, width) = match bytes[position] {
            byte if byte.is_ascii() => (ASCII_WORD[usize::from(byte)], 1),
            _ => {
                let character = lower[position..]
                    .chars()
                    .next()
                    .expect("position is a boundary");
                (is_word_character(character), character.len_utf8())
            }
        };
        if is_word {
            length += 1;
        } else {
            if length > 1 {
                visit(&lower[start..position]);
            }
            length = 0;
            start = position + width;
        }
        position += width;
    }
    if length > 1 {
        visit(&lower[start..]);
    }
}

/// Tests for Python's `\w`.
fn is_word_character(character: char) -> bool {
    use GeneralCategoryGroup::{Letter, Number};
    character == '_' || matches!(character.general_category_group(), Letter | Number)
}

/// `\w` of the first 128 characters.
const ASCII_WORD: [bool; 128] = {
    let mut table = [false; 128];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_';
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_lower_cased_and_have_two_characters_at_least() {
        check(
            "A Fire in #LaRonge, 13,000 ppl",
            &["fire", "in", "laronge", "13", "000", "ppl"],
        );
    }

    #[test]
    fn an_underscore_joins_and_an_apostrophe_parts() {
        check("I can't_go @some_one", &["can", "t_go", "some_one"]);
    }

    #[test]
    fn a_link_falls_into_its_parts() {
        check("http://t.co/AbC1 x", &["http", "co", "abc1"]);
    }

    #[test]
    fn a_combining_mark_ends_a_word() {
        check("cafe\u{301}s", &["cafe"]);
        check("हिन्दी", &[]);
    }

    #[test]
    fn letters_and_numbers_of_all_scripts_count() {
        check(
            "ÅNGSTRÖM ½¾ ²³ Ⅷa 東京 ß",
            &["ångström", "½¾", "²³", "ⅷa", "東京"],
        );
    }

    #[test]
    fn a_sigma_at_the_end_of_a_word_takes_its_final_form() {
        check("ΟΔΟΣ ΣΑΣ", &["οδος", "σας"]);
    }

    #[test]
    fn a_dotted_capital_i_becomes_two_characters_of_which_one_is_no_letter() {
        check("aİb", &["ai"]);
    }

    #[test]
    fn a_text_may_have_no_words() {
        check("", &[]);
        check("! a ? é \u{1f525}", &[]);
    }

    #[derive(serde::Deserialize)]
    struct Characters {
        word: Vec<(u32, u32)>,
        unassigned: Vec<(u32, u32)>,
        lower: std::collections::HashMap<char, String>,
    }

    /// Compares with Python 3.11's classification of every character (`fixtures/make/stats.py`), except those that
    /// Unicode 14 had not assigned yet.
    #[test]
    fn every_character_is_classed_and_lower_cased_as_python_does() {
        let python: Characters =
            serde_json::from_str(include_str!("../../../../fixtures/stats/characters.json"))
                .expect("the fixture has the shape its script gives it");
        let within = |ranges: &[(u32, u32)], code: u32| {
            let next = ranges.partition_point(|&(first, _)| first <= code);
            next > 0 && code <= ranges[next - 1].1
        };
        let mut seen = 0;
        for character in ('\0'..=char::MAX).filter(|&c| !within(&python.unassigned, c.into())) {
            let is_word = within(&python.word, character.into());
            assert_eq!(is_word_character(character), is_word, "{character:?}");
            let lower = character.to_lowercase().to_string();
            let expected = python.lower.get(&character).cloned();
            assert_eq!(lower, expected.unwrap_or(character.into()), "{character:?}");
            seen += 1;
        }
        assert_eq!(
            seen, 282_230,
            "144,697 of Unicode 14, 65 controls, 137,468 private ones"
        );
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(tokens(text), expected);
    }
}
