//! Spans and their scores compared with conlleval's and seqeval's, from `fixtures/make/tagging.py`.

use serde::Deserialize;
use totune_stats::{Counts, Scheme, SpanEvaluation, SpanScores, parse_tag, spans};

type Places = Vec<(String, usize, usize)>;

#[derive(Deserialize)]
struct Fixture {
    cases: Vec<Case>,
    corpora: Vec<Corpus>,
}

#[derive(Deserialize)]
struct Case {
    scheme: String,
    tags: String,
    conlleval: Places,
    seqeval: Places,
    strict: Places,
}

#[derive(Deserialize)]
struct Corpus {
    scheme: String,
    gold: Vec<String>,
    predicted: Vec<String>,
    conlleval: String,
    seqeval: [f64; 3],
    strict: [f64; 3],
}

#[test]
fn spans_are_those_of_conlleval_and_of_both_modes_of_seqeval() {
    for case in fixture().cases {
        for (reading, expected) in [
            (SpanEvaluation::Conlleval, &case.conlleval),
            (SpanEvaluation::Seqeval, &case.seqeval),
            (SpanEvaluation::Strict(scheme(&case.scheme)), &case.strict),
        ] {
            assert_eq!(
                &read(&case.tags, reading),
                expected,
                "{reading:?}: {}",
                case.tags
            );
        }
    }
}

/// Checks well-known sequences without the fixture: the spans that conlleval, seqeval and strict seqeval find in them.
#[test]
fn the_readings_differ_on_ill_formed_sequences() {
    use Scheme::{Bio, Bioes, Iob1, Ioe2};
    for (scheme, tags, conlleval, seqeval, strict) in [
        // An `I` that nothing begins.
        (Bio, "I-X", "X0-1", "X0-1", ""),
        (Bio, "O I-X I-X O", "X1-3", "X1-3", ""),
        (Bio, "B-X O I-X", "X0-1 X2-3", "X0-1 X2-3", "X0-1"),
        // The type changes within.
        (Bio, "B-X I-Y", "X0-1 Y1-2", "X0-1 Y1-2", "X0-1"),
        (
            Bio,
            "B-X I-X I-Y I-X",
            "X0-2 Y2-3 X3-4",
            "X0-2 Y2-3 X3-4",
            "X0-2",
        ),
        // A `B` that touches nothing of its type.
        (Iob1, "B-X O B-X", "X0-1 X2-3", "X0-1 X2-3", ""),
        (Iob1, "I-X B-Y", "X0-1 Y1-2", "X0-1 Y1-2", "X0-1"),
        // Nothing closes it.
        (Ioe2, "I-X O", "X0-1", "X0-1", ""),
        (Ioe2, "I-X E-Y", "X0-1 Y1-2", "X0-1 Y1-2", "Y1-2"),
        (Bioes, "B-X I-X", "X0-2", "X0-2", ""),
        // Schemes that the original conlleval does not support.
        (Bioes, "B-X E-X B-X E-X", "X0-4", "X0-2 X2-4", "X0-2 X2-4"),
        (Bioes, "S-X S-X", "X0-2", "X0-1 X1-2", "X0-1 X1-2"),
        (Bioes, "B-X S-X", "X0-2", "X0-1 X1-2", "X1-2"),
        (Bioes, "S-X I-X", "X0-2", "X0-1 X1-2", "X0-1"),
        (Bioes, "E-X B-X", "X0-2", "X0-1 X1-2", ""),
    ] {
        for (reading, expected) in [
            (SpanEvaluation::Conlleval, conlleval),
            (SpanEvaluation::Seqeval, seqeval),
            (SpanEvaluation::Strict(scheme), strict),
        ] {
            let found: Vec<String> = read(tags, reading)
                .into_iter()
                .map(|(name, start, end)| format!("{name}{start}-{end}"))
                .collect();
            assert_eq!(found.join(" "), expected, "{reading:?}: {tags}");
        }
    }
}

#[test]
fn reports_are_those_of_conlleval_and_averages_those_of_seqeval() {
    for corpus in fixture().corpora {
        let name = format!("{} sentences of {}", corpus.gold.len(), corpus.scheme);
        assert_eq!(
            scores(&corpus, SpanEvaluation::Conlleval).to_string(),
            corpus.conlleval,
            "{name}"
        );
        for (reading, expected) in [
            (SpanEvaluation::Seqeval, corpus.seqeval),
            (
                SpanEvaluation::Strict(scheme(&corpus.scheme)),
                corpus.strict,
            ),
        ] {
            let found = scores(&corpus, reading).total().scores();
            for (found, expected) in [found.precision, found.recall, found.f1]
                .iter()
                .zip(expected)
            {
                assert!(
                    (found - expected).abs() < 1e-12,
                    "{name}, {reading:?}: {found}, {expected}"
                );
            }
        }
    }
}

/// The sample of CoNLL-2000 and what the Perl script prints for it.
#[test]
#[ignore = "needs conlleval/ under TOTUNE_DATA"]
fn the_report_on_the_real_conll_2000_is_that_of_the_perl_script() {
    let root = std::env::var_os("TOTUNE_DATA").expect("TOTUNE_DATA");
    let folder = std::path::Path::new(&root).join("conlleval");
    let text = |name| std::fs::read_to_string(folder.join(name)).expect("a file of the sample");
    let (rows, printed) = (text("conll2000_output.txt"), text("conll2000_result.txt"));
    let mut scores = SpanScores::new(SpanEvaluation::Conlleval);
    let lines: Vec<Vec<&str>> = rows
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for sentence in lines.split(|fields| fields.is_empty()) {
        let tags = |from_end: usize| -> Vec<&str> {
            sentence
                .iter()
                .map(|fields| fields[fields.len() - from_end])
                .collect()
        };
        let pair = |name| parse_tag(name).expect("a tag");
        let (gold, predicted) = (tags(2), tags(1));
        scores.add(gold.into_iter().map(pair), predicted.into_iter().map(pair));
    }
    let report = scores.to_string();
    assert_eq!(
        scores.total(),
        Counts {
            gold: 459,
            predicted: 539,
            both: 371
        }
    );
    assert_eq!(
        report.lines().collect::<Vec<_>>(),
        printed.lines().collect::<Vec<_>>()
    );
}

fn scores(corpus: &Corpus, reading: SpanEvaluation) -> SpanScores<&str> {
    let mut scores = SpanScores::new(reading);
    for (gold, predicted) in corpus.gold.iter().zip(&corpus.predicted) {
        let tags = |line| str::split(line, ' ').map(|name| parse_tag(name).expect("a tag"));
        scores.add(tags(gold), tags(predicted));
    }
    scores
}

fn read(tags: &str, reading: SpanEvaluation) -> Places {
    let tags = tags.split(' ').map(|name| parse_tag(name).expect("a tag"));
    spans(tags, reading)
        .map(|span| (span.span_type.to_string(), span.start, span.end))
        .collect()
}

fn scheme(name: &str) -> Scheme {
    match name {
        "iob1" => Scheme::Iob1,
        "bio" => Scheme::Bio,
        "ioe1" => Scheme::Ioe1,
        "ioe2" => Scheme::Ioe2,
        "bioes" => Scheme::Bioes,
        other => panic!("the fixture has a scheme `{other}`"),
    }
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("../../../../fixtures/stats/tagging.json"))
        .expect("the fixture has the shape its script gives it")
}
