//! Sparse features and logistic regression on 6,850 synthetic texts, as many as one of ten folds of the tweets.

use divan::{Bencher, black_box};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use totune_stats::{Features, Logistic, Vectorizer, tokens};

const KINDS: [Features; 3] = [Features::TfIdf, Features::Count, Features::Hash];

fn main() {
    divan::main();
}

#[divan::bench]
fn find_words(bencher: Bencher) {
    let (texts, _) = texts();
    bencher.bench(|| {
        texts
            .iter()
            .map(|text| tokens(black_box(text)).len())
            .sum::<usize>()
    });
}

#[divan::bench(args = KINDS)]
fn vectorise(bencher: Bencher, features: Features) {
    let (texts, _) = texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    bencher.bench(|| Vectorizer::fit(features, black_box(&texts)));
}

#[divan::bench(args = KINDS)]
fn fit(bencher: Bencher, features: Features) {
    let (texts, classes) = texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (_, matrix) = Vectorizer::fit(features, &texts);
    bencher.bench(|| Logistic::default().fit(black_box(&matrix), &classes));
}

/// Texts of 15 words with frequencies after Zipf's law: about 22,000 different ones, three in five of them in one
/// text only. One text in ten has a letter outside ASCII. The class follows from the lengths of two words.
fn texts() -> (Vec<String>, Vec<usize>) {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut word = || {
        let rank = 60_000f64.powf(random.random::<f64>());
        format!("Word{:x}", rank as u64 * 2_654_435_761 % 0xffff_ffff)
    };
    (0..6850)
        .map(|i| {
            let mut words: Vec<String> = (0..15).map(|_| word()).collect();
            if i % 10 == 0 {
                words[7].push('é');
            }
            let class = (words[0].len() + words[1].len() + i % 2) % 2;
            (words.join(" "), class)
        })
        .unzip()
}
