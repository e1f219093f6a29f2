//! The words of n-grams: lower-cased runs of letters or digits.

/// Calls `f` with each word of `text` in order: a longest run of letters or digits (Unicode's alphabetic and numeric
/// characters), lower-cased. Everything else divides words: `Don't` is `don` and `t`.
pub fn for_each_word(text: &str, mut f: impl FnMut(&str)) {
    let mut word = String::new();
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            word.push(letter.to_ascii_lowercase());
        } else if !letter.is_ascii() && letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        } else if !word.is_empty() {
            f(&word);
            word.clear();
        }
    }
    if !word.is_empty() {
        f(&word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_lower_cased_runs_of_letters_or_digits() {
        for (text, expected) in [
            (
                "Don't stop: 3.5 BOATS",
                vec!["don", "t", "stop", "3", "5", "boats"],
            ),
            ("  Nørrevik—ÉCOLE_2", vec!["nørrevik", "école", "2"]),
            ("...", vec![]),
            ("", vec![]),
        ] {
            let mut words = Vec::new();
            for_each_word(text, |word| words.push(word.to_string()));
            assert_eq!(words, expected, "{text}");
        }
    }
}
