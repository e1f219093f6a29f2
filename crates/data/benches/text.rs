//! Tokenising and batching synthetic texts.
//!
//! ```text
//! cargo bench -p totune-data --bench text
//! ```

use divan::Bencher;
use divan::counter::ItemsCount;
use rand_chacha::rand_core::Rng;
use std::path::Path;
use totune_data::{BatchPlan, Encoded, Example, Input, Padded, Target, Tokenizer, stream};

const TEXTS: usize = 8192;

fn main() {
    divan::main();
}

/// Texts of 5 to 30 words, about as long as tweets.
fn texts() -> Vec<Example> {
    let words = [
        "flood",
        "fire",
        "in",
        "the",
        "valley",
        "people",
        "@river_watch",
        "#news",
        "https://example.org/a1b2c3",
        "Saint-Rémy",
        "evacuated",
        "honestly",
        "lol",
        "don't",
        "street",
        "24",
        "again!!!",
        "and",
        "of",
        "a",
    ];
    let mut rng = stream(1, "bench", 0);
    (0..TEXTS)
        .map(|index| {
            let length = 5 + rng.next_u32() as usize % 26;
            let text: Vec<&str> = (0..length)
                .map(|_| words[rng.next_u32() as usize % words.len()])
                .collect();
            Example {
                id: index.to_string(),
                input: Input::Text(text.join(" ")),
                target: Target::Class(0),
                group: None,
            }
        })
        .collect()
}

fn tokenizer() -> Tokenizer {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data");
    Tokenizer::open(&folder, true).expect("the fixture vocabulary")
}

fn encoded() -> Vec<Encoded> {
    tokenizer().encode_all(&texts(), 64, 2).expect("ids")
}

#[divan::bench(args = [1, 2], sample_count = 20)]
fn encode(bencher: Bencher, threads: usize) {
    let (tokenizer, texts) = (tokenizer(), texts());
    bencher
        .counter(ItemsCount::new(TEXTS))
        .bench_local(|| tokenizer.encode_all(&texts, 64, threads).expect("ids"));
}

#[divan::bench(args = [false, true])]
fn plan(bencher: Bencher, bucketing: bool) {
    let lengths: Vec<usize> = encoded().iter().map(|row| row.ids.len()).collect();
    let plan = BatchPlan {
        size: 32,
        bucketing,
    };
    bencher
        .counter(ItemsCount::new(TEXTS))
        .bench_local(|| plan.shuffled(&lengths, 1, 0));
}

#[divan::bench]
fn pad(bencher: Bencher) {
    let encoded = encoded();
    bencher.counter(ItemsCount::new(TEXTS)).bench_local(|| {
        encoded
            .chunks(32)
            .map(|rows| Padded::new(&rows.iter().collect::<Vec<_>>(), 0))
            .collect::<Vec<_>>()
    });
}
