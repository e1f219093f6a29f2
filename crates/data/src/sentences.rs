//! Conversion of sentences to examples, by a card's types of span.

use crate::format::{FormatError, Sentence, Sentences};
use crate::layout::Layout;
use crate::tags::{Scheme, TagSet, Tagging};
use crate::{Card, Example, Input, Target};
use std::collections::HashMap;
use std::path::Path;

impl Card {
    /// The sentences in `bytes`, which came from `path`, the file of `split` in `layout`; their tags are labels of the
    /// scheme BIO, whatever scheme the file is in.
    pub(crate) fn tagged(
        &self,
        layout: &Layout,
        split: &str,
        path: &Path,
        bytes: &[u8],
    ) -> Result<(Vec<Example>, Tagging), FormatError> {
        let columns = layout.columns_of(split);
        let labelled = self.splits.get(split).is_none_or(|facts| facts.labelled);
        let format = layout.format_of(split);
        let sentences = format.sentences(path, bytes, columns, labelled)?;
        let file = TaggedFile {
            tags: tags_of(layout, &sentences)?,
            sentences: &sentences,
        };
        let read = file.read(layout.scheme, &self.labels)?;
        let set = TagSet::new(Scheme::Bio, &self.labels);
        let mut ids: HashMap<String, usize> = HashMap::new();
        let mut examples = Vec::with_capacity(sentences.all.len());
        let numbers = columns.number_from..;
        for ((sentence, tags), number) in sentences.all.iter().zip(&read.tags).zip(numbers) {
            let id = sentence.id.clone();
            let id = id.unwrap_or_else(|| number.to_string());
            if let Some(earlier) = ids.insert(id.clone(), sentence.line) {
                let place = sentences.place(earlier);
                let problem = format!("id `{id}` is already on {place}; expected it once");
                return Err(sentences.error(sentence, 0, problem));
            }
            let target = match tags {
                Some(tags) => Target::Tags(read.set.convert(tags, &set)),
                None => Target::Unknown,
            };
            examples.push(Example {
                id,
                input: Input::Words(sentence.words.clone()),
                target,
                group: sentence.document.clone(),
            });
        }
        let tagging = Tagging {
            set,
            file: read.set.scheme(),
            ill_formed: read.ill_formed,
        };
        Ok((examples, tagging))
    }
}

/// The tags of each sentence as text: those of the file, or those that its integers are indices of; none where they are
/// not published.
fn tags_of<'a>(
    layout: &'a Layout,
    sentences: &'a Sentences,
) -> Result<Vec<Option<Vec<&'a str>>>, FormatError> {
    let n = layout.values.len();
    let of = |sentence: &'a Sentence| {
        let named = |(word, tag): (usize, &'a String)| {
            let index = tag.parse().ok().filter(|_| n > 0);
            let value = index.and_then(|index: usize| layout.values.get(index));
            match value {
                Some(value) => Ok(value.as_str()),
                None if n == 0 => Ok(tag.as_str()),
                None => {
                    let last = n - 1;
                    let problem = format!(
                        "tag `{tag}`; expected an integer from 0 to {last}, a place in `values`"
                    );
                    Err(sentences.error(sentence, word, problem))
                }
            }
        };
        let published = |tags: &&Vec<String>| {
            let none = layout.unlabelled.as_ref();
            none.is_none_or(|none| tags.iter().any(|tag| tag != none))
        };
        let tags = sentence.tags.as_ref().filter(published);
        tags.map(|tags| tags.iter().enumerate().map(named).collect())
            .transpose()
    };
    sentences.all.iter().map(of).collect()
}

/// The sentences of a file and their tags as text.
struct TaggedFile<'a> {
    sentences: &'a Sentences,
    tags: Vec<Option<Vec<&'a str>>>,
}

/// A file's tags as indices into `set`.
struct TagColumn {
    set: TagSet,
    tags: Vec<Option<Vec<usize>>>,
    ill_formed: usize,
    /// Sentence and word of the first ill-formed tag.
    first: Option<(usize, usize)>,
}

/// The first tag of a file that the scheme does not have: sentence, word, problem.
type Stranger = (usize, usize, String);

impl TaggedFile<'_> {
    /// Reads the tags in the declared scheme, or else in the first that writes every tag of the file as it is.
    fn read(&self, declared: Option<Scheme>, types: &[String]) -> Result<TagColumn, FormatError> {
        if let Some(scheme) = declared {
            let reading = self.in_scheme(TagSet::new(scheme, types));
            return reading
                .map_err(|(sentence, word, problem)| self.error(sentence, word, problem));
        }
        let mut nearest: Option<TagColumn> = None;
        let mut strangest: Option<Stranger> = None;
        for scheme in Scheme::ALL {
            match self.in_scheme(TagSet::new(scheme, types)) {
                Ok(reading) if reading.ill_formed == 0 => return Ok(reading),
                Ok(reading) => {
                    let least = nearest.as_ref().map(|nearest| nearest.ill_formed);
                    if least.is_none_or(|least| reading.ill_formed < least) {
                        nearest = Some(reading);
                    }
                }
                // The scheme that gets furthest is the one that was meant.
                Err(stranger) => {
                    let far = strangest
                        .as_ref()
                        .map(|(sentence, word, _)| (*sentence, *word));
                    if far.is_none_or(|far| (stranger.0, stranger.1) > far) {
                        strangest = Some(stranger);
                    }
                }
            }
        }
        Err(match (nearest, strangest) {
            (Some(nearest), _) => self.no_scheme(&nearest),
            (None, Some((sentence, word, problem))) => self.error(sentence, word, problem),
            (None, None) => unreachable!("every scheme reads the file or does not"),
        })
    }

    fn in_scheme(&self, set: TagSet) -> Result<TagColumn, Stranger> {
        let mut reading = TagColumn {
            tags: Vec::with_capacity(self.tags.len()),
            set,
            ill_formed: 0,
            first: None,
        };
        for (sentence, tags) in self.tags.iter().enumerate() {
            let Some(tags) = tags else {
                reading.tags.push(None);
                continue;
            };
            let parse = |(word, tag): (usize, &&str)| {
                let parsed = reading.set.parse(tag);
                parsed.map_err(|problem| (sentence, word, problem))
            };
            let tags: Vec<usize> = tags
                .iter()
                .enumerate()
                .map(parse)
                .collect::<Result<_, _>>()?;
            let ill_formed = reading.set.ill_formed(&tags);
            reading.ill_formed += ill_formed.len();
            let first = ill_formed.first().map(|word| (sentence, *word));
            reading.first = reading.first.or(first);
            reading.tags.push(Some(tags));
        }
        Ok(reading)
    }

    fn no_scheme(&self, nearest: &TagColumn) -> FormatError {
        let (sentence, word) = nearest.first.unwrap_or_default();
        let tags = nearest.tags.get(sentence).and_then(Option::as_ref);
        let (found, expected) = tags.map_or(("", ""), |tags| {
            let rewritten = nearest.set.convert(tags, &nearest.set);
            let label = |tag: usize| nearest.set.labels()[tag].as_str();
            (label(tags[word]), label(rewritten[word]))
        });
        let (scheme, n) = (nearest.set.scheme().name(), nearest.ill_formed);
        let problem = format!(
            "tag `{found}` where the scheme `{scheme}` has `{expected}`, and {n} such in all; no scheme writes the tags \
             as they are, so expected the layout in the card to declare one, such as `scheme = \"{scheme}\"`; --scheme \
             {scheme} writes that into a new card"
        );
        self.error(sentence, word, problem)
    }

    fn error(&self, sentence: usize, word: usize, problem: String) -> FormatError {
        let sentences = self.sentences;
        let sentence = &sentences.all[sentence];
        sentences.error(sentence, word, problem)
    }
}
