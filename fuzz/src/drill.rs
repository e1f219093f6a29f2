//! What `cargo test` does with a target: all seeds, each cut at every byte, and some thousand mutations of them.
//!
//! Without coverage this finds far less than fuzzing does; it keeps what was found from coming back, and needs neither
//! libFuzzer nor minutes. The same mutations are made each time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

const MUTATIONS: usize = 2_000;
/// Longer seeds are cut at this many places.
const CUTS: usize = 200;

type Target = fn(&[u8]);

/// Runs each target; panics with the bytes at the first that breaks.
pub fn all(targets: &[(&str, Target)]) {
    for (name, target) in targets {
        let seeds = seeds(name);
        assert!(!seeds.is_empty(), "fuzz/seeds/{name} has no seed");
        let tokens = tokens(name);
        for seed in &seeds {
            run(name, *target, seed);
            let step = seed.len().div_ceil(CUTS).max(1);
            (0..seed.len())
                .step_by(step)
                .for_each(|end| run(name, *target, &seed[..end]));
        }
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for _ in 0..MUTATIONS {
            let mut bytes = random.choice(&seeds).clone();
            for _ in 0..=random.below(4) {
                mutate(&mut bytes, &seeds, &tokens, &mut random);
            }
            run(name, *target, &bytes);
        }
    }
}

fn run(name: &str, target: Target, bytes: &[u8]) {
    // The panic's own message is printed before this one.
    if catch_unwind(AssertUnwindSafe(|| target(bytes))).is_err() {
        panic!("`{name}` breaks on \"{}\"", bytes.escape_ascii());
    }
}

fn mutate(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], tokens: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let end = (at + random.below(16)).min(bytes.len());
    match random.below(9) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 if at < bytes.len() => bytes[at] = random.next() as u8,
        2 => drop(bytes.drain(at..end)),
        3 => bytes.insert(at, *random.choice(b"\0\t\n\r \"',-/0:=[]{}()\\\xff\xc3")),
        4 => {
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
        5 => bytes.truncate(at),
        6 => {
            let other = random.choice(seeds);
            let from = random.below(other.len() + 1);
            bytes.splice(at.., other[from..].iter().copied());
        }
        7 if !tokens.is_empty() => {
            let token = random.choice(tokens).clone();
            bytes.splice(at..end, token);
        }
        _ => {
            // A length or an offset of a binary format.
            let value = *random.choice(&[
                0,
                1,
                0x7f,
                0xff,
                0xffff,
                0x7fff_ffff,
                u64::MAX >> 1,
                u64::MAX,
            ]);
            let width = *random.choice(&[1, 2, 4, 8]);
            let end = (at + width).min(bytes.len());
            bytes[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
        }
    }
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz"))
}

/// The seeds of a target in the order of their names.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = folder().join("seeds").join(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|_| panic!("no fuzz/seeds/{name}"));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a seed").path()).collect();
    paths.sort();
    let read = |path| std::fs::read(path).expect("a seed");
    paths.into_iter().map(read).collect()
}

/// The words between quotes in a target's dictionary, if it has one.
fn tokens(name: &str) -> Vec<Vec<u8>> {
    let path = folder().join("dict").join(format!("{name}.dict"));
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let quoted = |line: &str| Some(unescape(line.strip_prefix('"')?.strip_suffix('"')?));
    text.lines().filter_map(quoted).collect()
}

/// libFuzzer's escapes: `\\`, `\"` and `\xAB`.
fn unescape(token: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = token.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (byte, rest.first()) {
            (b'\\', Some(b'x')) => {
                let digits = token.get(token.len() - rest.len() + 1..token.len() - rest.len() + 3);
                let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                bytes.push(value.expect("two hexadecimal digits after \\x"));
                rest = &rest[3..];
            }
            (b'\\', Some(&escaped)) => {
                bytes.push(escaped);
                rest = &rest[1..];
            }
            _ => bytes.push(byte),
        }
    }
    bytes
}

/// xorshift64*: enough for mutations, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn choice<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}
