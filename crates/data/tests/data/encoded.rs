//! Encoding and the cache of encoded texts on a real file, where there is one.
//!
//! ```text
//! TOTUNE_DATA=… TOTUNE_ENCODERS=… cargo test --profile quick -p totune-data --test encoded -- --nocapture
//! ```

use std::path::PathBuf;
use std::time::Instant;

use totune_data::{Card, Encoded, EncodedCache, Source, Tokenizer};

const CARD: &str = r#"
name = "mnli-part"
title = "A part of MNLI"
task = "classification"
metrics = ["accuracy"]
labels = ["contradiction", "entailment", "neutral"]

[[layouts]]
name = "glue"
format = { kind = "tsv" }
columns = { text = "sentence1", second = "sentence2", label = "gold_label" }
empty = "keep"
files.train.path = "glue/MNLI/train.tsv"
"#;

/// Copies of the file's rows, for a time that can be measured.
const TIMES: usize = 7;

#[test]
#[ignore = "needs glue/MNLI/train.tsv under TOTUNE_DATA and all-MiniLM-L6-v2 under TOTUNE_ENCODERS"]
fn real_pairs_have_the_ids_of_the_library_and_are_read_back_fast() {
    let folder = |name: &str| PathBuf::from(std::env::var_os(name).expect("both variables"));
    let (data, encoders) = (folder("TOTUNE_DATA"), folder("TOTUNE_ENCODERS"));
    let vocabulary = encoders.join("all-MiniLM-L6-v2");
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("mnli-part.toml");
    std::fs::write(&path, CARD).expect("a card");
    let tokenizer = Tokenizer::open(&vocabulary, true).expect("a tokenizer");

    let start = Instant::now();
    let card = Card::read(&path).expect("a valid card");
    let mut dataset = card.load(&data).expect("the file");
    let reading = start.elapsed().as_secs_f64();
    let rows = dataset.examples.len();
    let start = Instant::now();
    let alone = dataset
        .examples
        .iter()
        .map(|example| tokenizer.encode(&example.input, 128));
    let alone: Vec<Encoded> = alone.collect::<Result<_, _>>().expect("ids");
    let library = start.elapsed().as_secs_f64();
    assert_eq!(
        tokenizer
            .encode_all(&dataset.examples, 128, 2)
            .expect("ids"),
        alone
    );

    // The hash identifies the examples, so a repeated dataset needs another one.
    dataset.examples = vec![dataset.examples; TIMES].concat();
    dataset.hash = format!("{} x {TIMES}", dataset.hash);
    let n_tokens = |rows: &[Encoded]| rows.iter().map(|row| row.ids.len()).sum::<usize>();
    for threads in [1, 2] {
        let start = Instant::now();
        let encoded = tokenizer
            .encode_all(&dataset.examples, 128, threads)
            .expect("ids");
        let seconds = start.elapsed().as_secs_f64();
        let speed = n_tokens(&encoded) as f64 / seconds / 1e6;
        eprintln!("encoding, {threads} threads: {seconds:.3} s, {speed:.2} million ids a second");
    }
    let speed = n_tokens(&alone) as f64 / library / 1e6;
    eprintln!(
        "the library alone, 1 thread: {speed:.2} million ids a second; reading {rows} rows: {reading:.3} s"
    );

    let cache = EncodedCache::new(&dir.path().join("cache"));
    let run = || cache.encode_all(&tokenizer, &dataset, 128, 2).expect("ids");
    let (made, source) = run();
    assert_eq!(source, Source::Encoder { note: None });
    let start = Instant::now();
    let (read, source) = run();
    let seconds = start.elapsed().as_secs_f64();
    assert!(matches!(source, Source::Cache(_)), "{source:?}");
    assert_eq!(read, made);
    let millions = n_tokens(&read) as f64 / 1e6;
    eprintln!("read back: {seconds:.3} s for {millions:.2} million ids");
    assert!(seconds < millions, "{seconds} s for {millions} million ids");
}
