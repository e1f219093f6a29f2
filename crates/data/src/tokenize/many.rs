//! Parallel encoding of many examples, with a memo of the words that were cut before.

use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use rayon::prelude::*;

use super::memo::Memo;
use super::{Encoded, Tokenizer};
use crate::{Example, Input};

impl Tokenizer {
    /// Encodes `examples` on `threads` threads of its own; the result is that of [`Tokenizer::encode`] for each,
    /// whatever the number of threads.
    pub fn encode_all(
        &self,
        examples: &[Example],
        max_length: usize,
        threads: usize,
    ) -> Result<Vec<Encoded>> {
        // Words come again within a thread's share, so a few large shares are better than many small ones.
        let share = examples.len().div_ceil(8 * threads.max(1)).max(256);
        let memos = Mutex::new(Vec::new());
        let encode_share = |share: &[Example]| -> Result<Vec<Encoded>> {
            let idle = memos.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut encoder = idle.unwrap_or_else(|| Encoder::new(self));
            let encoded = share
                .iter()
                .map(|example| {
                    encoder
                        .encode(&example.input, max_length)
                        .with_context(|| format!("example `{}`", example.id))
                })
                .collect();
            let mut memos = memos.lock().unwrap_or_else(PoisonError::into_inner);
            memos.push(encoder);
            encoded
        };
        if threads <= 1 {
            return encode_share(examples);
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .context("cannot start threads")?;
        let shares: Vec<Vec<Encoded>> = pool.install(|| {
            examples
                .par_chunks(share)
                .map(encode_share)
                .collect::<Result<_>>()
        })?;
        let mut all = Vec::with_capacity(examples.len());
        shares.into_iter().for_each(|share| all.extend(share));
        Ok(all)
    }

    /// The wordpieces of each text, whole and without special tokens, encoded on the current thread pool.
    pub fn pieces_of(&self, texts: &[&str]) -> Result<Vec<Vec<u32>>> {
        let encode_share = |share: &[&str]| {
            let mut encoder = Encoder::new(self);
            let ids = share.iter().map(|text| encoder.pieces(text));
            ids.collect::<Result<Vec<_>>>()
        };
        // Words come again within a share.
        let shares: Vec<Vec<Vec<u32>>> = texts
            .par_chunks(2048)
            .map(encode_share)
            .collect::<Result<_>>()?;
        Ok(shares.into_iter().flatten().collect())
    }
}

/// An encoder of one input after the other, which reuses the wordpieces of earlier ones.
struct Encoder<'a> {
    tokenizer: &'a Tokenizer,
    memo: Option<Memo<'a>>,
    first: Vec<u32>,
    second: Vec<u32>,
}

impl<'a> Encoder<'a> {
    fn new(tokenizer: &'a Tokenizer) -> Self {
        let memo = tokenizer.cutting.as_ref();
        Self {
            tokenizer,
            memo: memo.map(|cutting| Memo::new(&tokenizer.inner, cutting)),
            first: Vec::new(),
            second: Vec::new(),
        }
    }

    fn pieces(&mut self, text: &str) -> Result<Vec<u32>> {
        let Some(memo) = &mut self.memo else {
            return self.tokenizer.pieces(text);
        };
        let mut ids = Vec::new();
        memo.append(text, &mut ids)?;
        Ok(ids)
    }

    fn encode(&mut self, input: &Input, max_length: usize) -> Result<Encoded> {
        let Some(memo) = &mut self.memo else {
            return self.tokenizer.encode(input, max_length);
        };
        let room = self.tokenizer.room(input, max_length)?;
        let (first, second) = (&mut self.first, &mut self.second);
        first.clear();
        match input {
            Input::Text(text) => memo.append(&self.tokenizer.prefixed(text), first)?,
            Input::Words(words) => {
                for word in words {
                    memo.append(word, first)?;
                }
            }
            Input::Pair(one, other) => {
                second.clear();
                memo.append(&self.tokenizer.prefixed(one), first)?;
                memo.append(&self.tokenizer.prefixed(other), second)?;
                return Ok(self.tokenizer.assemble(first, Some(second), room));
            }
        }
        Ok(self.tokenizer.assemble(first, None, room))
    }
}
