//! Spans in a sequence of tags, one after the other and without allocation.

use std::fmt::Debug;

use super::tags::{Kind, Scheme, SpanEvaluation};

/// A span of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span<T> {
    /// Type, such as `PER`.
    pub span_type: T,
    /// Index of the first token.
    pub start: usize,
    /// Index after the last token.
    pub end: usize,
}

/// The spans of one sentence, in order; they do not overlap.
///
/// `tags` are pairs of a kind and a type: of numbers as well as of [`parse_tag`](super::parse_tag)'s names. The type of
/// an `O` does not matter.
///
/// # Panics
/// In a strict reading, at a kind that its scheme does not have, where `seqeval` raises an error.
pub fn spans<I, T>(tags: I, reading: SpanEvaluation) -> Spans<I::IntoIter, T>
where
    I: IntoIterator<Item = (Kind, T)>,
    T: Copy + PartialEq + Debug,
{
    Spans {
        tags: tags.into_iter(),
        reading,
        at: 0,
        before: None,
        open: None,
        done: false,
    }
}

/// Iterator over the spans of a sentence, returned by [`spans`].
#[derive(Clone, Debug)]
pub struct Spans<I, T> {
    tags: I,
    reading: SpanEvaluation,
    /// Index of the next tag.
    at: usize,
    before: Option<(Kind, T)>,
    /// Start and type of the open span.
    open: Option<(usize, T)>,
    done: bool,
}

impl<I, T> Iterator for Spans<I, T>
where
    I: Iterator<Item = (Kind, T)>,
    T: Copy + PartialEq + Debug,
{
    type Item = Span<T>;

    fn next(&mut self) -> Option<Span<T>> {
        while !self.done {
            let at = self.at;
            self.at += 1;
            // A sentence stands between two `O`.
            let tag = self.tags.next();
            self.done = tag.is_none();
            let any = tag.or(self.before)?.1;
            let outside = (Kind::Outside, any);
            let (before, now) = (self.before.unwrap_or(outside), tag.unwrap_or(outside));
            check_kind(self.reading, now);
            self.before = Some(now);
            if self.open.is_some() && self.reading.goes_on(before, now) {
                continue;
            }
            let ended = self.open.take();
            if self.reading.starts(before, now) {
                self.open = Some((at, now.1));
            }
            if let Some((start, span_type)) = ended
                && self.reading.counts(before, now)
            {
                return Some(Span {
                    span_type,
                    start,
                    end: at,
                });
            }
        }
        None
    }
}

#[track_caller]
fn check_kind<T: Debug>(reading: SpanEvaluation, (kind, span_type): (Kind, T)) {
    let allowed = match reading {
        SpanEvaluation::Conlleval
        | SpanEvaluation::Seqeval
        | SpanEvaluation::Strict(Scheme::Bioes) => true,
        SpanEvaluation::Strict(Scheme::Iob1 | Scheme::Bio) => {
            !matches!(kind, Kind::End | Kind::Single)
        }
        SpanEvaluation::Strict(Scheme::Ioe1 | Scheme::Ioe2) => {
            !matches!(kind, Kind::Begin | Kind::Single)
        }
    };
    assert!(allowed, "{kind:?} of {span_type:?} in {reading:?}");
}

#[cfg(test)]
mod tests {
    use super::super::tags::parse_tag;
    use super::*;

    fn read(tags: &str, reading: SpanEvaluation) -> String {
        let tags = tags
            .split_whitespace()
            .map(|tag| parse_tag(tag).expect("a tag"));
        let found: Vec<String> = spans(tags, reading)
            .map(|span| format!("{} {}-{}", span.span_type, span.start, span.end))
            .collect();
        found.join(", ")
    }

    #[test]
    fn every_scheme_writes_the_same_three_spans() {
        for (scheme, tags) in [
            (Scheme::Iob1, "I-X I-X B-X O I-Y"),
            (Scheme::Bio, "B-X I-X B-X O B-Y"),
            (Scheme::Ioe2, "I-X E-X E-X O E-Y"),
            (Scheme::Bioes, "B-X E-X S-X O S-Y"),
            (Scheme::Bioes, "B-X L-X U-X O U-Y"),
        ] {
            for reading in [SpanEvaluation::of(scheme), SpanEvaluation::Strict(scheme)] {
                assert_eq!(read(tags, reading), "X 0-2, X 2-3, Y 4-5", "{reading:?}");
            }
        }
        // IOE1, which strict seqeval does not finish.
        assert_eq!(
            read("I-X E-X I-X O I-Y", SpanEvaluation::Conlleval),
            "X 0-2, X 2-3, Y 4-5"
        );
    }

    #[test]
    fn a_sentence_without_tags_or_without_spans_has_none() {
        for tags in ["", "O", "O O"] {
            assert_eq!(read(tags, SpanEvaluation::Conlleval), "");
            assert_eq!(read(tags, SpanEvaluation::Strict(Scheme::Bioes)), "");
        }
    }

    #[test]
    #[should_panic(expected = "Single of \"X\" in Strict(Bio)")]
    fn a_kind_of_another_scheme_is_refused_in_a_strict_reading() {
        read("O S-X", SpanEvaluation::Strict(Scheme::Bio));
    }
}
