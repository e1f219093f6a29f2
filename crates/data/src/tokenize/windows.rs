//! Windows of words that a model sees together, and the words scored in each: arithmetic on lengths only.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The context a model sees around the sentence whose words are scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Context {
    /// Nothing.
    Sentence,
    /// The part of its document that fits: whole words, half of the free places before the sentence (the odd one
    /// included) and half after it; places that one side does not use go to the other. No token separates sentences.
    Document,
}

/// The contents of a window, in words of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The words in it.
    pub(super) held: Range<usize>,
    /// The words that are scored in it.
    pub(super) scored: Range<usize>,
}

/// The windows of the words `sentence` of a document.
///
/// `before[word]` is the number of pieces before a word of the document, and its last entry that of all; no word has
/// more than `room` pieces, which is what a window holds.
pub(super) fn cut(
    before: &[usize],
    sentence: Range<usize>,
    room: usize,
    context: Context,
) -> Vec<Cut> {
    if sentence.is_empty() {
        return Vec::new();
    }
    let pieces = before[sentence.end] - before[sentence.start];
    if pieces > room {
        return overlapping(before, sentence, room);
    }
    let held = match context {
        Context::Sentence => sentence.clone(),
        Context::Document => surrounded(before, &sentence, room - pieces),
    };
    vec![Cut {
        held,
        scored: sentence,
    }]
}

/// A sentence and the words around it that fit into `spare` pieces, by the rule of [`Context::Document`].
fn surrounded(before: &[usize], sentence: &Range<usize>, spare: usize) -> Range<usize> {
    let (from, to) = (before[sentence.start], before[sentence.end]);
    let following = before[before.len() - 1] - to;
    let share = spare.div_ceil(2).max(spare.saturating_sub(following));
    let start = first_at_least(before, from.saturating_sub(share));
    let rest = spare - (from - before[start]);
    let end = last_at_most(before, to + rest);
    start..end
}

/// Windows over a sentence that is too long for one.
///
/// Each begins in the middle of the one before it, and the last ends with the sentence, as full as it can be. A word
/// is scored in the window that cuts off least around it: where the nearer of the two cuts is farthest, in pieces.
fn overlapping(before: &[usize], sentence: Range<usize>, room: usize) -> Vec<Cut> {
    let last = first_at_least(before, before[sentence.end] - room);
    let mut windows: Vec<Range<usize>> = Vec::new();
    let mut start = sentence.start;
    loop {
        let end = last_at_most(before, before[start] + room).min(sentence.end);
        windows.push(start..end);
        if end == sentence.end {
            break;
        }
        let middle = first_at_least(before, before[start] + room.div_ceil(2));
        start = middle.clamp(start + 1, end).min(last);
    }
    let margin = |window: &Range<usize>, word: usize| {
        let left = (window.start > sentence.start).then(|| before[word] - before[window.start]);
        let right = (window.end < sentence.end).then(|| before[window.end] - before[word + 1]);
        left.unwrap_or(usize::MAX).min(right.unwrap_or(usize::MAX))
    };
    let mut cuts: Vec<Cut> = Vec::new();
    let mut first = 0;
    for word in sentence.clone() {
        while windows[first].end <= word {
            first += 1;
        }
        let mut best = &windows[first];
        for window in windows[first..]
            .iter()
            .take_while(|window| window.start <= word)
        {
            if margin(window, word) > margin(best, word) {
                best = window;
            }
        }
        match cuts.last_mut() {
            Some(cut) if cut.held == *best => cut.scored.end = word + 1,
            _ => cuts.push(Cut {
                held: best.clone(),
                scored: word..word + 1,
            }),
        }
    }
    cuts
}

/// The first word with at least `pieces` before it.
fn first_at_least(before: &[usize], pieces: usize) -> usize {
    before.partition_point(|&found| found < pieces)
}

/// The last word, or end, with at most `pieces` before it.
fn last_at_most(before: &[usize], pieces: usize) -> usize {
    before.partition_point(|&found| found <= pieces) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn before(lengths: &[usize]) -> Vec<usize> {
        let mut before = vec![0];
        for length in lengths {
            before.push(before[before.len() - 1] + length);
        }
        before
    }

    #[track_caller]
    fn check(
        lengths: &[usize],
        sentence: Range<usize>,
        room: usize,
        context: Context,
        expected: &[(Range<usize>, Range<usize>)],
    ) {
        let cuts = cut(&before(lengths), sentence, room, context);
        let found: Vec<_> = cuts.into_iter().map(|cut| (cut.held, cut.scored)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_sentence_that_fits_is_one_window_alone_or_amid_its_document() {
        let ones = [1; 20];
        check(&ones, 8..11, 7, Context::Sentence, &[(8..11, 8..11)]);
        check(&ones, 8..11, 7, Context::Document, &[(6..13, 8..11)]);
        // The odd piece goes to what precedes.
        check(&ones, 8..11, 6, Context::Document, &[(6..12, 8..11)]);
        // What one side does not have goes to the other.
        check(&ones, 1..4, 9, Context::Document, &[(0..9, 1..4)]);
        check(&ones, 18..20, 9, Context::Document, &[(11..20, 18..20)]);
        check(&ones, 8..11, 99, Context::Document, &[(0..20, 8..11)]);
        check(&ones, 8..8, 7, Context::Document, &[]);
    }

    #[test]
    fn context_is_of_whole_words() {
        let lengths = [3, 2, 1, 1, 2, 3];
        // Two spare pieces on each side: one word before, one after.
        check(&lengths, 2..4, 6, Context::Document, &[(1..5, 2..4)]);
        // Four spare pieces: the two of word 1, and the two of word 4.
        check(&lengths, 2..4, 7, Context::Document, &[(1..5, 2..4)]);
    }

    #[test]
    fn a_long_sentence_is_scored_in_the_middles_of_overlapping_windows() {
        let ones = [1; 16];
        check(
            &ones,
            0..16,
            8,
            Context::Document,
            &[(0..8, 0..6), (4..12, 6..10), (8..16, 10..16)],
        );
        check(
            &ones,
            3..12,
            8,
            Context::Sentence,
            &[(3..11, 3..8), (4..12, 8..12)],
        );
        check(
            &[2, 2, 2],
            0..3,
            2,
            Context::Sentence,
            &[(0..1, 0..1), (1..2, 1..2), (2..3, 2..3)],
        );
    }

    proptest! {
        /// Every word is scored once, in order; no window is too long or leaves what it may hold.
        #[test]
        fn every_word_is_scored_once_whatever_the_lengths(
            seeds in prop::collection::vec(1..60usize, 1..120),
            room in 1..40usize,
            bounds in (0..120usize, 0..120usize),
            document in any::<bool>(),
        ) {
            let lengths: Vec<usize> = seeds.iter().map(|seed| (seed % 9).clamp(1, room)).collect();
            let before = before(&lengths);
            let (a, b) = (bounds.0 % lengths.len(), bounds.1 % lengths.len());
            let sentence = a.min(b)..a.max(b) + 1;
            let context = if document { Context::Document } else { Context::Sentence };
            let cuts = cut(&before, sentence.clone(), room, context);
            let scored: Vec<usize> = cuts.iter().flat_map(|cut| cut.scored.clone()).collect();
            prop_assert_eq!(scored, sentence.clone().collect::<Vec<_>>());
            let pieces = |range: &Range<usize>| before[range.end] - before[range.start];
            for cut in &cuts {
                prop_assert!(pieces(&cut.held) <= room);
                prop_assert!(cut.held.start <= cut.scored.start && cut.scored.end <= cut.held.end);
                let inside = sentence.start <= cut.held.start && cut.held.end <= sentence.end;
                prop_assert!(inside || document && pieces(&sentence) <= room);
            }
            if document && pieces(&sentence) <= room {
                // Nothing more would fit on either side.
                let held = &cuts[0].held;
                let spare = room - pieces(held);
                prop_assert!(held.end == lengths.len() || lengths[held.end] > spare);
            }
        }
    }
}
