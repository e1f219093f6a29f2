//! Encoded datasets on disk, under a hash of their ingredients.
//!
//! An entry is one file whose name is a hash of everything its content depends on: the examples, the tokenizer, the
//! maximum length and how this version of the program encodes. So an entry is never stale, only unused, and the folder
//! can be deleted at any time. A file that is damaged is made again. Entries appear whole by being renamed into place,
//! so several processes can share a folder.

mod file;

use crate::hash::FieldHash;
use crate::{Dataset, Encoded, Tokenizer};
use anyhow::{Context, Result};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use totune_disk::{create_folder, write_atomically};

/// Version of the encoding, which the ids of a text depend on as well as on the tokenizer's files; to be raised when
/// the same text gets other ids.
const ENCODING: &str = "1";
/// The library that cuts words, whose next version may cut differently.
const LIBRARY: &str = "tokenizers 0.23.2";
/// Fewest rows of a cached dataset: smaller ones are encoded in less time than a file takes.
const LEAST_ROWS: usize = 1024;
/// Unfinished files that are older were left behind by a process that was killed.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder of encoded datasets.
#[derive(Clone, Debug)]
pub struct EncodedCache {
    folder: PathBuf,
    least_rows: usize,
}

/// The source of encoded texts: the cache or the encoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Read from this file.
    Cache(PathBuf),
    /// Encoded anew; the note says what was wrong with the cache, if anything was.
    Encoder {
        /// A note for the user.
        note: Option<String>,
    },
}

impl EncodedCache {
    /// The cache in `folder`, which need not exist yet.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            least_rows: LEAST_ROWS,
        }
    }

    /// The same, also for datasets so small that encoding them takes no time.
    #[cfg(test)]
    fn of_any_size(self) -> Self {
        Self {
            least_rows: 0,
            ..self
        }
    }

    /// The examples of `dataset` as [`Tokenizer::encode_all`] gives them, from the cache where they are in it; else they
    /// are encoded and put there.
    ///
    /// Trouble with the cache is no error: the texts are encoded, and the [`Source`] says what was wrong.
    pub fn encode_all(
        &self,
        tokenizer: &Tokenizer,
        dataset: &Dataset,
        max_length: usize,
        threads: usize,
    ) -> Result<(Vec<Encoded>, Source)> {
        let examples = &dataset.examples;
        if examples.len() < self.least_rows {
            let encoded = tokenizer.encode_all(examples, max_length, threads)?;
            return Ok((encoded, Source::Encoder { note: None }));
        }
        let key = key(tokenizer, dataset, max_length);
        let path = self.folder.join(format!("{key}.ids"));
        let problem = match self.read(&path, &key, examples.len()) {
            Ok(Some(mut encoded)) => {
                // What all rows of a tokenizer share is not written.
                let opened = tokenizer.template().opens_second();
                encoded
                    .iter_mut()
                    .for_each(|row| row.second_opened = opened);
                return Ok((encoded, Source::Cache(path)));
            }
            Ok(None) => None,
            Err(problem) => Some(format!("{problem:#}; encoded again")),
        };
        let encoded = tokenizer.encode_all(examples, max_length, threads)?;
        let note = match self.write(&path, &key, &encoded) {
            Ok(()) => problem,
            Err(error) => Some(format!("{error:#}; going on without the cache")),
        };
        Ok((encoded, Source::Encoder { note }))
    }

    fn read(&self, path: &Path, key: &str, rows: usize) -> Result<Option<Vec<Encoded>>> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("{}: cannot be read", path.display()));
            }
        };
        let encoded = file::decode(&bytes, key, rows);
        encoded
            .map(Some)
            .with_context(|| path.display().to_string())
    }

    fn write(&self, path: &Path, key: &str, encoded: &[Encoded]) -> Result<()> {
        let written = create_folder(&self.folder)
            .and_then(|()| write_atomically(path, &file::encode(key, encoded)));
        self.remove_left_behind();
        written
    }

    /// Removes files left by killed processes; another process may do the same, so nothing here is an error.
    fn remove_left_behind(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in
            entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "tmp"))
        {
            let changed = entry.metadata().and_then(|metadata| metadata.modified());
            let age = changed.map(|changed| SystemTime::now().duration_since(changed));
            if matches!(age, Ok(Ok(age)) if age > LEFT_BEHIND) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// The cache key: a hash of everything that an entry depends on.
fn key(tokenizer: &Tokenizer, dataset: &Dataset, max_length: usize) -> String {
    let mut hash = FieldHash::new();
    for part in [
        ENCODING,
        LIBRARY,
        &dataset.hash,
        tokenizer.hash(),
        &max_length.to_string(),
    ] {
        hash.add(part);
    }
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Example, Input, Target};

    struct Bench {
        dir: tempfile::TempDir,
        tokenizer: Tokenizer,
        dataset: Dataset,
    }

    impl Bench {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a temporary folder");
            let pieces = [
                "[PAD]", "[UNK]", "[CLS]", "[SEP]", "fire", "##s", "no", "water",
            ];
            std::fs::write(dir.path().join("vocab.txt"), pieces.join("\n")).expect("a vocabulary");
            let inputs = [
                Input::Text("fires no water".into()),
                Input::Pair("no".into(), "fires".into()),
                Input::Text(String::new()),
            ];
            let examples = inputs
                .into_iter()
                .enumerate()
                .map(|(index, input)| Example {
                    id: index.to_string(),
                    input,
                    target: Target::Unknown,
                    group: None,
                });
            Self {
                tokenizer: Tokenizer::open(dir.path(), true).expect("a tokenizer"),
                dataset: Dataset {
                    name: "synthetic".into(),
                    loss: crate::ClassLoss::PLAIN,
                    task: crate::Task::Regression,
                    hash: "h".into(),
                    labels: Vec::new(),
                    positive: None,
                    examples: examples.collect(),
                    metrics: Vec::new(),
                    tagging: None,
                },
                dir,
            }
        }

        fn folder(&self) -> PathBuf {
            self.dir.path().join("cache")
        }

        #[track_caller]
        fn run(&self, max_length: usize) -> Source {
            let cache = EncodedCache::new(&self.folder()).of_any_size();
            let (encoded, source) = cache
                .encode_all(&self.tokenizer, &self.dataset, max_length, 1)
                .expect("ids");
            let expected = self
                .tokenizer
                .encode_all(&self.dataset.examples, max_length, 1);
            assert_eq!(encoded, expected.expect("ids"));
            source
        }

        fn files(&self) -> Vec<PathBuf> {
            let entries = std::fs::read_dir(self.folder())
                .into_iter()
                .flatten()
                .flatten();
            entries.map(|entry| entry.path()).collect()
        }
    }

    const MADE: Source = Source::Encoder { note: None };

    #[test]
    fn what_was_encoded_once_is_read_back() {
        let bench = Bench::new();
        assert_eq!(bench.run(8), MADE);
        let files = bench.files();
        assert_eq!(files.len(), 1);
        assert_eq!(bench.run(8), Source::Cache(files[0].clone()));
    }

    #[test]
    fn other_texts_lengths_and_tokenizers_are_other_entries() {
        let mut bench = Bench::new();
        assert_eq!(bench.run(8), MADE);
        assert_eq!(bench.run(4), MADE);
        bench.dataset.hash = "other".into();
        assert_eq!(bench.run(8), MADE);
        bench.tokenizer = Tokenizer::open(bench.dir.path(), false).expect("a tokenizer");
        assert_eq!(bench.run(8), MADE);
        assert_eq!(bench.files().len(), 4);
    }

    #[test]
    fn a_damaged_entry_is_made_again_with_a_note() {
        let bench = Bench::new();
        assert_eq!(bench.run(8), MADE);
        let file = bench.files().remove(0);
        let whole = std::fs::read(&file).expect("the entry");
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            for damaged in [&whole[..at], &changed, &[whole.as_slice(), b"x"].concat()] {
                std::fs::write(&file, damaged).expect("a damaged entry");
                let Source::Encoder { note: Some(note) } = bench.run(8) else {
                    panic!("byte {at}: a damaged entry was read");
                };
                assert!(note.ends_with("; encoded again"), "{note}");
                assert_eq!(std::fs::read(&file).expect("the entry"), whole);
            }
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() {
        let bench = Bench::new();
        std::fs::write(bench.folder(), "a file").expect("a file in the way");
        let Source::Encoder { note: Some(note) } = bench.run(8) else {
            panic!("expected a note");
        };
        assert!(note.ends_with("; going on without the cache"), "{note}");
    }

    #[test]
    fn small_datasets_are_not_kept() {
        let bench = Bench::new();
        let cache = EncodedCache::new(&bench.folder());
        let (_, source) = cache
            .encode_all(&bench.tokenizer, &bench.dataset, 8, 1)
            .expect("ids");
        assert_eq!((source, bench.files().len()), (MADE, 0));
    }

    #[test]
    fn several_writers_leave_one_whole_entry() {
        let bench = Bench::new();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| bench.run(8));
            }
        });
        assert_eq!(bench.files().len(), 1);
        assert!(matches!(bench.run(8), Source::Cache(_)));
    }

    /// After an update of the library the constant has to change, so that old entries are no longer found.
    #[test]
    fn the_library_is_the_one_that_is_locked() {
        let lock = include_str!("../../../../Cargo.lock");
        let (_, rest) = lock
            .split_once("name = \"tokenizers\"\nversion = \"")
            .expect("an entry");
        let version = rest.split('"').next().expect("a version");
        assert_eq!(LIBRARY, format!("tokenizers {version}"));
    }
}
