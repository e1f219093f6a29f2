//! How texts become what an encoder reads.

use std::path::Path;

use anyhow::{Result, ensure};
use totune_adapt::{Places, Row};
use totune_data::{
    Alignment, Encoded, Example, Pairs, Piece, Target, Tokenizer, Window, WordContext, characters,
};
use totune_model::Architecture;

use crate::InputFacts;
use crate::manifest::template;

/// What cuts texts for an encoder.
#[derive(Debug)]
pub struct Reader {
    /// None where words are read by their characters.
    tokenizer: Option<Tokenizer>,
    input: InputFacts,
    of_words: bool,
}

impl Reader {
    /// Opens the tokenizer in `dir` for an encoder of this architecture; `of_words` says whether words are tagged.
    ///
    /// # Errors
    /// When there is none, or it is one of another architecture.
    pub fn open(
        dir: &Path,
        (architecture, lowercase): (&Architecture, bool),
        input: &InputFacts,
        of_words: bool,
    ) -> Result<Self> {
        let expected = template(architecture.tokenizer());
        let open = |expected| {
            let tokenizer = Tokenizer::open(dir, lowercase)?;
            let found = tokenizer.template();
            ensure!(
                found == expected,
                "{}: tokenizer: found {found:?}, expected {expected:?}, which a {architecture} was trained with",
                dir.display()
            );
            Ok(tokenizer)
        };
        Ok(Self {
            tokenizer: expected.map(open).transpose()?,
            input: input.clone(),
            of_words,
        })
    }

    /// The tokenizer; none where words are read by their characters.
    pub fn tokenizer(&self) -> Option<&Tokenizer> {
        self.tokenizer.as_ref()
    }

    /// The examples as a model reads them, in their order, on `threads` threads: one row each, or of a sentence whose
    /// words are tagged as many as it has windows.
    ///
    /// # Errors
    /// When an example cannot be read; it is named.
    pub fn rows(&self, examples: &[Example], threads: usize) -> Result<Vec<Row>> {
        if self.of_words {
            return self.tagged(examples, threads);
        }
        let rows = examples.iter().zip(self.texts(examples, threads)?);
        let row = |(example, encoded): (&Example, Encoded)| Row {
            id: example.id.clone(),
            encoded,
            target: example.target.clone(),
            words: None,
        };
        Ok(rows.map(row).collect())
    }

    fn texts(&self, examples: &[Example], threads: usize) -> Result<Vec<Encoded>> {
        let InputFacts {
            max_length, pairs, ..
        } = self.input;
        match (&self.tokenizer, pairs) {
            (None, pairs) => characters::encode_all(examples, max_length, pairs, threads),
            (Some(tokenizer), Pairs::Joint) => tokenizer.encode_all(examples, max_length, threads),
            (Some(tokenizer), Pairs::Separate) => {
                // The special token before the second text may take a place.
                let room = max_length - tokenizer.template().n_added_by_separation();
                let joint = tokenizer.encode_all(examples, room, threads)?;
                let separate = joint.into_iter().map(|row| tokenizer.separate(row));
                Ok(separate.collect())
            }
        }
    }

    fn tagged(&self, examples: &[Example], threads: usize) -> Result<Vec<Row>> {
        let max_length = self.input.max_length;
        // Sentences that belong to no document are read by themselves.
        let in_documents = examples.iter().any(|example| example.group.is_some());
        let context = match in_documents {
            true => self.input.context,
            false => WordContext::Sentence,
        };
        let windows = match &self.tokenizer {
            None => characters::windows(examples, context, max_length, threads)?,
            Some(tokenizer) => {
                let alignment = Alignment {
                    piece: Piece::First,
                    context,
                    max_length,
                };
                tokenizer.windows(examples, &alignment, threads)?
            }
        };
        let row = |window: Window| {
            let example = &examples[window.example];
            Row {
                id: example.id.clone(),
                target: match &example.target {
                    Target::Tags(tags) => Target::Tags(tags[window.words.clone()].to_vec()),
                    other => other.clone(),
                },
                words: Some(Places {
                    starts: window.positions,
                    ends: window.ends,
                }),
                encoded: window.encoded,
            }
        };
        Ok(windows.into_iter().map(row).collect())
    }
}
