//! Tags of tokens, and their evaluation as spans.
//!
//! A tag is a [`Kind`] and a type: `B-PER` begins a span of type `PER`. Well-formed sequences of a scheme mean the same
//! to everybody. A model also predicts ill-formed ones, such as an `I-PER` after `O`, and there evaluation scripts
//! differ; a [`SpanEvaluation`] names whose rules count.

/// Kind of a tag: the position of its token in a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `O`: in no span.
    Outside,
    /// `B`: the first token; in IOB1 only of a span that touches one of its type.
    Begin,
    /// `I`: within a span.
    Inside,
    /// `E`, or `L` in BIOUL: the last token; in IOE1 only of a span that touches one of its type.
    End,
    /// `S`, or `U` in BIOUL: the only token.
    Single,
}

/// Splits a tag such as `B-PER` at its first hyphen; a type may hold more of them, or be missing.
///
/// `O` has the empty type. `None` for a letter that is not one of `B I O E L S U`, and for an `O` with a type.
pub fn parse_tag(name: &str) -> Option<(Kind, &str)> {
    let (letter, span_type) = name.split_once('-').unwrap_or((name, ""));
    let kind = match letter {
        "O" if name == "O" => Kind::Outside,
        "B" => Kind::Begin,
        "I" => Kind::Inside,
        "E" | "L" => Kind::End,
        "S" | "U" => Kind::Single,
        _ => return None,
    };
    Some((kind, span_type))
}

/// Tagging scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `I` throughout, `B` only where a span follows one of its type: CoNLL-2003 as released.
    Iob1,
    /// `B` at each start (BIO, IOB2): CoNLL-2000, CoNLL-2002.
    Bio,
    /// `I` throughout, `E` only where a span of the same type follows.
    Ioe1,
    /// `E` at each end.
    Ioe2,
    /// `B`, `I`, `E` and, for a single token, `S` (BIOES); with other letters BIOUL.
    Bioes,
}

/// Span evaluation: the rules that turn tags into spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanEvaluation {
    /// The rules of `conlleval`, the script of the CoNLL shared tasks (Tjong Kim Sang, version of 2004-01-26): the
    /// numbers of papers on CoNLL-2000 and CoNLL-2003.
    ///
    /// A span starts at a tag that is not `O` where the one before is `O` or of another type, at a `B` after `B` or
    /// `I`, and after an `E` but for a `B`. It ends where the next starts or is `O`. So an `I` with nothing before it
    /// starts a span, and an `I` of another type ends one. BIO, IOB1, IOE1 and IOE2 are all read without saying which.
    ///
    /// The script knows neither `S` nor mixtures of `B` and `E`: of both, only a change of type or an `O` before them
    /// starts a span. For BIOES this is the wrong reading.
    Conlleval,
    /// The default mode of `seqeval` 1.2.2: `conlleval`, but a `B` always starts a span and an `E` always ends one, and
    /// an `S` does both. Right for BIOES and BIOUL too. (`seqeval` itself does not take `L` and `U` in this mode.)
    Seqeval,
    /// `seqeval` 1.2.2 with `mode="strict"`: spans that the scheme allows, and nothing else.
    ///
    /// In BIO an `I` with no `B` before it is in no span. In BIOES a span that is not closed is none. In IOB1 a `B`
    /// that does not touch a span of its type starts nothing. In IOE1 `seqeval` also loses a closed span before an `O`,
    /// which its authors call unfinished; it is kept, so that numbers compare.
    Strict(Scheme),
}

impl SpanEvaluation {
    /// Returns the evaluation that finds the intended spans in well-formed tags of `scheme`.
    pub fn of(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Iob1 | Scheme::Bio | Scheme::Ioe1 | Scheme::Ioe2 => SpanEvaluation::Conlleval,
            Scheme::Bioes => SpanEvaluation::Seqeval,
        }
    }

    /// Returns true if a span that is open at `before` continues at `now`.
    pub(super) fn goes_on<T: PartialEq>(self, before: (Kind, T), now: (Kind, T)) -> bool {
        use Kind::{Begin as B, End as E, Inside as I, Outside as O};
        let same = before.1 == now.1;
        match self {
            SpanEvaluation::Conlleval | SpanEvaluation::Seqeval => {
                now.0 != O && !self.starts(before, now)
            }
            SpanEvaluation::Strict(scheme) => {
                same && match scheme {
                    Scheme::Iob1 | Scheme::Bio => matches!((before.0, now.0), (B | I, I)),
                    Scheme::Ioe1 | Scheme::Ioe2 => matches!((before.0, now.0), (I, I | E)),
                    Scheme::Bioes => matches!((before.0, now.0), (B | I, I | E)),
                }
            }
        }
    }

    /// Returns true if a span starts at `now`.
    pub(super) fn starts<T: PartialEq>(self, before: (Kind, T), now: (Kind, T)) -> bool {
        use Kind::{Begin as B, End as E, Inside as I, Outside as O, Single as S};
        let same = before.1 == now.1;
        match (self, before.0, now.0) {
            (_, _, O) => false,
            (SpanEvaluation::Conlleval | SpanEvaluation::Seqeval, O, _) => true,
            (SpanEvaluation::Conlleval | SpanEvaluation::Seqeval, ..) if !same => true,
            (SpanEvaluation::Conlleval, before, now) => {
                matches!((before, now), (B | I, B) | (E, I | E))
            }
            (SpanEvaluation::Seqeval, before, now) => {
                matches!((before, now), (_, B | S) | (E | S, _))
            }
            (SpanEvaluation::Strict(Scheme::Iob1), before, now) => match (before, now) {
                (O | B, I) => true,
                (I, I) => !same,
                (I | B, B) => same,
                _ => false,
            },
            (SpanEvaluation::Strict(Scheme::Bio), _, now) => now == B,
            (SpanEvaluation::Strict(Scheme::Ioe1), before, now) => match (before, now) {
                (O | E, I) => true,
                (I, I) => !same,
                (E, E) => same,
                _ => false,
            },
            (SpanEvaluation::Strict(Scheme::Ioe2), before, now) => match (before, now) {
                (O | E, I | E) => true,
                (I, I | E) => !same,
                _ => false,
            },
            (SpanEvaluation::Strict(Scheme::Bioes), _, now) => matches!(now, B | S),
        }
    }

    /// Returns true if a span whose last token is `last` counts; `next` is the token that does not continue it.
    pub(super) fn counts<T: PartialEq>(self, last: (Kind, T), next: (Kind, T)) -> bool {
        use Kind::{Begin as B, End as E, Inside as I, Outside as O, Single as S};
        let same = last.1 == next.1;
        match self {
            SpanEvaluation::Conlleval | SpanEvaluation::Seqeval => true,
            SpanEvaluation::Strict(Scheme::Iob1) => match (last.0, next.0) {
                (I, O | B) | (B, O) => true,
                (I | B, I) => !same,
                (B, B) => same,
                _ => false,
            },
            SpanEvaluation::Strict(Scheme::Bio) => match (last.0, next.0) {
                (I | B, O | B) => true,
                (I | B, I) => !same,
                _ => false,
            },
            SpanEvaluation::Strict(Scheme::Ioe1) => match (last.0, next.0) {
                (I, O) => true,
                (I, I | E) => !same,
                (E, I | E) => same,
                _ => false,
            },
            SpanEvaluation::Strict(Scheme::Ioe2) => last.0 == E,
            SpanEvaluation::Strict(Scheme::Bioes) => matches!(last.0, E | S),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_a_letter_and_a_type_that_may_hold_hyphens() {
        for (name, expected) in [
            ("O", Some((Kind::Outside, ""))),
            ("B-PER", Some((Kind::Begin, "PER"))),
            ("I-product-other", Some((Kind::Inside, "product-other"))),
            ("L-PER", Some((Kind::End, "PER"))),
            ("E-PER", Some((Kind::End, "PER"))),
            ("U-PER", Some((Kind::Single, "PER"))),
            ("S", Some((Kind::Single, ""))),
            ("O-PER", None),
            ("b-PER", None),
            ("PER", None),
            ("BPER", None),
            ("", None),
        ] {
            assert_eq!(parse_tag(name), expected, "{name:?}");
        }
    }
}
