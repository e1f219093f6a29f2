//! Examples for an encoder that reads the characters of words.

use anyhow::{Context, Result, ensure};

use super::characters::{spell, words};
use super::{Encoded, Window, shorten};
use crate::{Example, Input};

/// `input` as at most `max_words` words; of a pair, words come off the longer text, and its texts are always apart.
///
/// A text becomes words as [`words`] says; words that are given are taken as they are.
pub fn spelled(input: &Input, max_words: usize) -> Result<Encoded> {
    let (mut first, mut second) = match input {
        Input::Text(text) => (words(text)?, None),
        Input::Words(words) => (words.clone(), None),
        Input::Pair(first, second) => (words(first)?, Some(words(second)?)),
    };
    // A text without any word is read as an empty one.
    for text in [Some(&mut first), second.as_mut()].into_iter().flatten() {
        if text.is_empty() {
            text.push(String::new());
        }
    }
    let n_second = second.as_ref().map_or(0, Vec::len);
    ensure!(
        max_words > usize::from(second.is_some()),
        "max_length: {max_words}; expected at least one word per text"
    );
    let (n_first, n_second) = shorten(first.len(), n_second, max_words);
    first.truncate(n_first);
    let second = second.unwrap_or_default();
    let rows = first.iter().chain(&second[..n_second]);
    let mut type_ids = vec![0; n_first];
    type_ids.resize(n_first + n_second, 1);
    Ok(Encoded {
        ids: vec![0; n_first + n_second],
        type_ids,
        apart: n_second > 0,
        characters: rows.map(|word| spell(word)).collect(),
    })
}

/// The sentences `examples` as windows of at most `max_words` words, each scored in one; sentences stand alone, and one
/// that is longer is cut.
pub fn spelled_windows(examples: &[Example], max_words: usize) -> Result<Vec<Window>> {
    ensure!(max_words > 0, "max_length: 0; expected at least one word");
    let mut windows = Vec::new();
    for (example, at) in examples.iter().zip(0..) {
        let words = example.input.words();
        let words =
            words.with_context(|| format!("example `{}`: a text; expected words", example.id))?;
        for start in (0..words.len()).step_by(max_words) {
            let end = words.len().min(start + max_words);
            let places: Vec<u32> = (0..(end - start) as u32).collect();
            windows.push(Window {
                encoded: spelled(&Input::Words(words[start..end].to_vec()), max_words)?,
                example: at,
                words: start..end,
                positions: places.clone(),
                ends: places,
            });
        }
    }
    Ok(windows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;

    #[test]
    fn the_texts_of_a_pair_follow_each_other_and_lose_their_last_words() {
        let pair = Input::Pair("A dog barks.".into(), "No".into());
        let row = spelled(&pair, 16).expect("words");
        assert_eq!(row.type_ids, [0, 0, 0, 0, 1]);
        assert_eq!(row.texts(), [0..4, 4..5]);
        assert!(row.apart);
        assert_eq!(row.characters[4], spell("No"));
        assert_eq!(spelled(&pair, 3).expect("words").type_ids, [0, 0, 1]);
        let empty = spelled(&Input::Text(" ".into()), 4).expect("a row");
        assert_eq!(empty.characters, [spell("")]);
    }

    #[test]
    fn a_long_sentence_is_several_windows() {
        let words = ["a", "b", "c"].map(String::from).to_vec();
        let example = Example {
            id: "1".into(),
            input: Input::Words(words),
            target: Target::Unknown,
            group: None,
        };
        let windows = spelled_windows(&[example], 2).expect("windows");
        let found: Vec<_> = windows
            .iter()
            .map(|w| (w.words.clone(), w.positions.clone()))
            .collect();
        assert_eq!(found, [(0..2, vec![0, 1]), (2..3, vec![0])]);
    }
}
