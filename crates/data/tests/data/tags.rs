//! Tag schemes: the tags each writes, the reading of ill-formed tags, and lossless conversion.

use proptest::prelude::*;
use serde::Deserialize;
use std::path::Path;
use totune_data::tags::{Scheme, Span, TagSet};

fn set(scheme: Scheme) -> TagSet {
    TagSet::new(scheme, &["X".to_string(), "Y".to_string()])
}

fn parse(set: &TagSet, tags: &str) -> Vec<usize> {
    let tags = tags.split(' ').filter(|tag| !tag.is_empty());
    tags.map(|tag| set.parse(tag).expect("a tag of the set"))
        .collect()
}

fn write(set: &TagSet, tags: &[usize]) -> String {
    let labels: Vec<&str> = tags.iter().map(|&tag| set.labels()[tag].as_str()).collect();
    labels.join(" ")
}

#[test]
fn each_scheme_writes_the_same_spans_in_its_own_letters() {
    let span = |start, end, class| Span { start, end, class };
    // X X|X . Y|X . Y Y Y
    let spans = [
        span(0, 2, 0),
        span(2, 3, 0),
        span(4, 5, 1),
        span(5, 6, 0),
        span(7, 10, 1),
    ];
    for (scheme, expected) in [
        (Scheme::Iob1, "I-X I-X B-X O I-Y I-X O I-Y I-Y I-Y"),
        (Scheme::Bio, "B-X I-X B-X O B-Y B-X O B-Y I-Y I-Y"),
        (Scheme::Ioe1, "I-X E-X I-X O I-Y I-X O I-Y I-Y I-Y"),
        (Scheme::Ioe2, "I-X E-X E-X O E-Y E-X O I-Y I-Y E-Y"),
        (Scheme::Bioes, "B-X E-X S-X O S-Y S-X O B-Y I-Y E-Y"),
        (Scheme::Bioul, "B-X L-X U-X O U-Y U-X O B-Y I-Y L-Y"),
    ] {
        let set = set(scheme);
        let tags = set.tags(&spans, 10);
        assert_eq!(write(&set, &tags), expected, "{scheme:?}");
        assert_eq!(set.spans(&tags), spans, "{scheme:?}");
        assert!(set.ill_formed(&tags).is_empty(), "{scheme:?}");
    }
}

#[test]
fn labels_are_o_and_then_the_tags_of_each_type() {
    assert_eq!(set(Scheme::Bio).labels(), ["O", "B-X", "I-X", "B-Y", "I-Y"]);
    assert_eq!(
        set(Scheme::Bioul).labels(),
        ["O", "B-X", "I-X", "L-X", "U-X", "B-Y", "I-Y", "L-Y", "U-Y"]
    );
}

#[test]
fn ill_formed_tags_are_those_the_scheme_would_not_write() {
    for (scheme, tags, expected) in [
        (Scheme::Bio, "O I-X I-X B-Y I-X", vec![1, 4]),
        (Scheme::Bio, "B-X B-X I-X", vec![]),
        (Scheme::Iob1, "B-X I-X O I-X B-X", vec![0]),
        (Scheme::Iob1, "I-Y B-X", vec![1]),
        (Scheme::Ioe2, "I-X O E-X", vec![0]),
        (Scheme::Ioe1, "I-X E-X O", vec![1]),
        (Scheme::Bioes, "B-X O I-X E-X S-X I-X", vec![0, 2, 5]),
        (Scheme::Bioul, "L-X U-Y B-Y L-X", vec![0, 2, 3]),
        (Scheme::Bioul, "", vec![]),
    ] {
        let set = set(scheme);
        assert_eq!(
            set.ill_formed(&parse(&set, tags)),
            expected,
            "{scheme:?} {tags}"
        );
    }
}

#[test]
fn a_tag_that_is_not_of_the_set_is_explained() {
    let bio = TagSet::new(Scheme::Bio, &["PER".to_string(), "work-of-art".to_string()]);
    assert_eq!(bio.parse("I-work-of-art"), Ok(4));
    for (tag, expected) in [
        (
            "B",
            "tag `B` has no type; expected `O`, or one of `B`, `I` with a type, such as `B-PER`",
        ),
        (
            "PER",
            "tag `PER` has no type; expected `O`, or one of `B`, `I` with a type, such as `B-PER`",
        ),
        (
            "I-",
            "tag `I-` has no type; expected `O`, or one of `B`, `I` with a type, such as `B-PER`",
        ),
        (
            "S-PER",
            "tag `S-PER` is not of the scheme `bio`; expected `O`, or one of `B`, `I` with a type, such as `B-PER`",
        ),
        (
            "B-PERS",
            "tag `B-PERS`: `PERS` is not a type; did you mean `PER`? expected one of `PER`, `work-of-art`",
        ),
        (
            "o",
            "tag `o` has no type; expected `O`, or one of `B`, `I` with a type, such as `B-PER`",
        ),
    ] {
        assert_eq!(bio.parse(tag).expect_err(tag), expected);
    }
}

/// `fixtures/make/tagging.py` wrote these with the original Perl script at its side.
#[test]
fn ill_formed_sequences_have_the_spans_of_conlleval() {
    #[derive(Deserialize)]
    struct Witness {
        cases: Vec<Case>,
    }
    #[derive(Deserialize)]
    struct Case {
        scheme: String,
        tags: String,
        conlleval: Vec<(String, usize, usize)>,
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/stats/tagging.json");
    let text = std::fs::read_to_string(path).expect("a committed file");
    let witness: Witness = serde_json::from_str(&text).expect("what tagging.py writes");
    let mut compared = 0;
    for case in witness.cases {
        // The script knows no `S`.
        let scheme = Scheme::ALL
            .into_iter()
            .find(|scheme| scheme.name() == case.scheme);
        let Some(scheme) = scheme.filter(|&scheme| scheme != Scheme::Bioes) else {
            continue;
        };
        let types = ["X", "Y", "Z", "X-Y", "A", "B", "C"].map(String::from);
        let set = TagSet::new(scheme, &types);
        let found: Vec<(String, usize, usize)> = set
            .spans(&parse(&set, &case.tags))
            .into_iter()
            .map(|span| (types[span.class].clone(), span.start, span.end))
            .collect();
        assert_eq!(found, case.conlleval, "{} {}", case.scheme, case.tags);
        compared += 1;
    }
    assert!(compared >= 40, "{compared} sequences");
}

/// Spans in order without overlap, and the number of words of the sentence.
fn spans() -> impl Strategy<Value = (Vec<Span>, usize)> {
    let gaps = prop::collection::vec((0..3usize, 1..5usize, 0..2usize), 0..12);
    (gaps, 0..3usize).prop_map(|(gaps, rest)| {
        let mut at = 0;
        let spans = gaps
            .into_iter()
            .map(|(gap, length, class)| {
                let start = at + gap;
                at = start + length;
                Span {
                    start,
                    end: at,
                    class,
                }
            })
            .collect();
        (spans, at + rest)
    })
}

fn scheme() -> impl Strategy<Value = Scheme> {
    prop::sample::select(Scheme::ALL.to_vec())
}

proptest! {
    /// Any spans, written in any scheme, converted to any other and back, stay what they are.
    #[test]
    fn no_scheme_loses_a_span((spans, n) in spans(), a in scheme(), b in scheme()) {
        let (a, b) = (set(a), set(b));
        let tags = a.tags(&spans, n);
        prop_assert_eq!(&a.spans(&tags), &spans);
        prop_assert!(a.ill_formed(&tags).is_empty());
        let converted = a.convert(&tags, &b);
        prop_assert_eq!(&b.spans(&converted), &spans);
        prop_assert_eq!(b.convert(&converted, &a), tags);
    }

    /// Any sequence can be read without a change of the words outside, and rewriting it corrects every tag.
    #[test]
    fn any_sequence_is_read_and_mended(scheme in scheme(), seeds in prop::collection::vec(0..1000usize, 0..20)) {
        let set = set(scheme);
        let tags: Vec<usize> = seeds.iter().map(|seed| seed % set.labels().len()).collect();
        let mended = set.convert(&tags, &set);
        prop_assert_eq!(set.spans(&mended), set.spans(&tags));
        prop_assert!(set.ill_formed(&mended).is_empty());
        for (tag, mended) in tags.iter().zip(&mended) {
            prop_assert_eq!(*tag == 0, *mended == 0);
        }
        let changed = tags.iter().zip(&mended).filter(|(tag, mended)| tag != mended).count();
        prop_assert_eq!(set.ill_formed(&tags).len(), changed);
    }
}
