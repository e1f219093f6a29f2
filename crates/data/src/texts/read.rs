//! From files to documents: hash, decompression, UTF-8, format, counts.

use super::{Document, TextCard, TextFile, TextFormat, TextPart};
use crate::contents::contents;
use crate::hash::sha256_hex;
use anyhow::{Context, Result, anyhow, ensure};
use rayon::prelude::*;
use std::path::Path;

impl TextCard {
    /// The documents of the files to train on, in file order; none is empty.
    ///
    /// Files are read in parallel. An error names the file: missing, of another hash, no whole zstd frames, no UTF-8
    /// (with the line), not of the format, without text, or with other counts than the card says.
    pub fn documents(&self, root: &Path) -> Result<Vec<Document>> {
        self.part(root, TextPart::Train)
    }

    /// The documents held out for evaluation, read as by [`TextCard::documents`].
    ///
    /// # Errors
    /// When the card has no such file, or one cannot be read.
    pub fn held_out(&self, root: &Path) -> Result<Vec<Document>> {
        ensure!(
            self.files_of(TextPart::HeldOut).next().is_some(),
            "{}: files: none is held out; expected one with `part = \"held-out\"`",
            self.file.display()
        );
        self.part(root, TextPart::HeldOut)
    }

    /// The paragraphs to train on, in order; none is empty and none has a line break.
    pub fn paragraphs(&self, root: &Path) -> Result<Vec<String>> {
        let documents = self.documents(root)?.into_iter();
        Ok(documents.flat_map(|document| document.paragraphs).collect())
    }

    /// The documents of one file.
    pub fn file_documents(&self, file: &TextFile, root: &Path) -> Result<Vec<Document>> {
        let path = self.path_of(file, root);
        let bytes =
            std::fs::read(&path).with_context(|| format!("{}: cannot be read", path.display()))?;
        if let Some(expected) = &file.sha256 {
            let found = sha256_hex(&bytes);
            let (path, card) = (path.display(), self.file.display());
            ensure!(
                found == *expected,
                "{path}: sha256 {found}; expected {expected} ({card})"
            );
        }
        let documents = self.parse(&path, &bytes)?;
        file.check_counts(&documents)
            .with_context(|| path.display().to_string())
            .map_err(|error| anyhow!("{error:#}"))?;
        Ok(documents)
    }

    /// The documents in the bytes of a file that came from `path`; the card's hash and counts are not checked.
    pub(crate) fn parse(&self, path: &Path, bytes: &[u8]) -> Result<Vec<Document>> {
        let contents = contents(path, bytes)?;
        let text = crate::format::text(path, &contents)?;
        let documents = match &self.format {
            TextFormat::Documents(settings) => settings.documents(text),
            TextFormat::Lines(settings) => settings.documents(text),
            TextFormat::Wikitext(settings) => settings.documents(text),
            TextFormat::Gutenberg(settings) => settings.documents(path, text)?,
        };
        ensure!(
            !documents.is_empty(),
            "{}: no text in it; expected at least one paragraph",
            path.display()
        );
        Ok(documents)
    }

    fn part(&self, root: &Path, part: TextPart) -> Result<Vec<Document>> {
        if let Some(missing) = self.missing(root) {
            return Err(anyhow!(missing));
        }
        let files: Vec<&TextFile> = self.files_of(part).collect();
        let read = |file: &&TextFile| self.file_documents(file, root);
        let documents: Vec<Vec<Document>> = files.par_iter().map(read).collect::<Result<_>>()?;
        Ok(documents.into_iter().flatten().collect())
    }
}

impl TextFile {
    fn check_counts(&self, documents: &[Document]) -> Result<()> {
        let check = |what: &str, stated: Option<usize>, count: &dyn Fn() -> usize| {
            let Some(expected) = stated else {
                return Ok(());
            };
            let found = count();
            ensure!(found == expected, "{found} {what}; expected {expected}");
            Ok(())
        };
        let paragraphs = |document: &Document| document.paragraphs.len();
        check("documents", self.documents, &|| documents.len())?;
        check("paragraphs", self.paragraphs, &|| {
            documents.iter().map(paragraphs).sum()
        })?;
        check("words", self.words, &|| {
            documents.iter().map(Document::words).sum()
        })
    }
}
