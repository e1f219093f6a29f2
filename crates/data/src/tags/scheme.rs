//! The schemes, their letters, and the tags that they write for a span.

use super::Span;
use serde::{Deserialize, Serialize};

/// A way to write spans as tags. Every scheme writes `O` outside of spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// `I` everywhere, but `B` on the first word of a span that follows another of its type: CoNLL-2003 as released.
    Iob1,
    /// `B` on the first word, `I` on the others; also called IOB2.
    #[serde(alias = "iob2")]
    Bio,
    /// `I` everywhere, but `E` on the last word of a span that is followed by another of its type.
    Ioe1,
    /// `E` on the last word, `I` on the others.
    Ioe2,
    /// `S` on a single word; otherwise `B`, `I` …, `E`.
    Bioes,
    /// `U` on a single word; otherwise `B`, `I` …, `L`; also called BILOU.
    #[serde(alias = "bilou")]
    Bioul,
}

/// The position of a word in its span, as far as a letter says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Begin,
    Inside,
    End,
    Single,
}

use Place::{Begin, End, Inside, Single};

impl Scheme {
    /// All schemes, those found most often first.
    pub const ALL: [Scheme; 6] = [
        Scheme::Bio,
        Scheme::Iob1,
        Scheme::Bioes,
        Scheme::Bioul,
        Scheme::Ioe2,
        Scheme::Ioe1,
    ];

    /// The name used in cards and experiments.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Iob1 => "iob1",
            Scheme::Bio => "bio",
            Scheme::Ioe1 => "ioe1",
            Scheme::Ioe2 => "ioe2",
            Scheme::Bioes => "bioes",
            Scheme::Bioul => "bioul",
        }
    }

    /// The letters a tag may begin with, in the order of the labels of one type.
    pub(super) fn letters(self) -> &'static [(char, Place)] {
        match self {
            Scheme::Iob1 | Scheme::Bio => &[('B', Begin), ('I', Inside)],
            Scheme::Ioe1 | Scheme::Ioe2 => &[('I', Inside), ('E', End)],
            Scheme::Bioes => &[('B', Begin), ('I', Inside), ('E', End), ('S', Single)],
            Scheme::Bioul => &[('B', Begin), ('I', Inside), ('L', End), ('U', Single)],
        }
    }

    /// The position of each word of `span`, between its neighbours `before` and `after`.
    pub(super) fn places(
        self,
        before: Option<&Span>,
        span: &Span,
        after: Option<&Span>,
    ) -> impl Iterator<Item = Place> {
        let (first, last) = (span.start, span.end - 1);
        let same = |other: &Span| other.class == span.class;
        let follows = before.is_some_and(|before| same(before) && before.end == span.start);
        let followed = after.is_some_and(|after| same(after) && after.start == span.end);
        (first..=last).map(move |word| match self {
            Scheme::Bio if word == first => Begin,
            Scheme::Iob1 if word == first && follows => Begin,
            Scheme::Ioe2 if word == last => End,
            Scheme::Ioe1 if word == last && followed => End,
            Scheme::Bioes | Scheme::Bioul if first == last => Single,
            Scheme::Bioes | Scheme::Bioul if word == first => Begin,
            Scheme::Bioes | Scheme::Bioul if word == last => End,
            _ => Inside,
        })
    }
}

/// The spans of a sequence of positions and types, `None` being outside: conlleval's rule.
pub(super) fn read(tags: impl Iterator<Item = Option<(Place, usize)>>) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut open: Option<Span> = None;
    for (word, tag) in tags.enumerate() {
        let Some((place, class)) = tag else {
            spans.extend(open.take());
            continue;
        };
        let goes_on = matches!(place, Inside | End);
        let start = match open.take() {
            Some(span) if goes_on && span.class == class => span.start,
            closed => {
                spans.extend(closed);
                word
            }
        };
        let span = Span {
            start,
            end: word + 1,
            class,
        };
        match place {
            End | Single => spans.push(span),
            Begin | Inside => open = Some(span),
        }
    }
    spans.extend(open);
    spans
}
