//! The tags of some types in one scheme, as label indices.

use super::Span;
use super::scheme::{Place, Scheme, read};
use std::collections::HashMap;
use totune_toml::{did_you_mean, quoted};

/// The tags of some types of span in one scheme; a tag is an index into [`TagSet::labels`].
#[derive(Clone, Debug, PartialEq)]
pub struct TagSet {
    scheme: Scheme,
    types: Vec<String>,
    labels: Vec<String>,
    indices: HashMap<String, usize>,
}

impl TagSet {
    /// The tags of `types` in `scheme`.
    pub fn new(scheme: Scheme, types: &[String]) -> Self {
        let tags = types.iter().flat_map(|name| {
            let letters = scheme.letters().iter();
            letters.map(move |(letter, _)| format!("{letter}-{name}"))
        });
        let labels: Vec<String> = ["O".to_string()].into_iter().chain(tags).collect();
        let indices = labels.iter().cloned().zip(0..).collect();
        Self {
            scheme,
            types: types.to_vec(),
            labels,
            indices,
        }
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The types of span.
    pub fn types(&self) -> &[String] {
        &self.types
    }

    /// `O`, then the tags of each type in order: `O`, `B-PER`, `I-PER`, `B-ORG`, …
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The index of `tag`.
    ///
    /// # Errors
    /// A description of the problem.
    pub fn parse(&self, tag: &str) -> Result<usize, String> {
        let known = self.indices.get(tag).copied();
        known.ok_or_else(|| self.wrong(tag))
    }

    /// The spans of a sentence, in order.
    pub fn spans(&self, tags: &[usize]) -> Vec<Span> {
        read(tags.iter().map(|&tag| self.place(tag)))
    }

    /// The tags of a sentence of `n_words` words; `spans` are in order and do not overlap.
    pub fn tags(&self, spans: &[Span], n_words: usize) -> Vec<usize> {
        let mut tags = vec![0; n_words];
        for (index, span) in spans.iter().enumerate() {
            let before = index.checked_sub(1).map(|index| &spans[index]);
            assert!(
                before.map_or(0, |before| before.end) <= span.start
                    && span.start < span.end
                    && span.end <= n_words
                    && span.class < self.types.len(),
                "{span:?} after {before:?} in {n_words} words with {} types",
                self.types.len()
            );
            let places = self.scheme.places(before, span, spans.get(index + 1));
            for (tag, place) in tags[span.start..span.end].iter_mut().zip(places) {
                *tag = self.tag(place, span.class);
            }
        }
        tags
    }

    /// The words with ill-formed tags: those that the scheme would not write for the spans that `tags` are read as.
    pub fn ill_formed(&self, tags: &[usize]) -> Vec<usize> {
        let expected = self.tags(&self.spans(tags), tags.len());
        let pairs = tags.iter().zip(&expected).enumerate();
        pairs
            .filter_map(|(word, (found, expected))| (found != expected).then_some(word))
            .collect()
    }

    /// `tags` of this set as tags of `other`, which has the same types.
    pub fn convert(&self, tags: &[usize], other: &TagSet) -> Vec<usize> {
        assert_eq!(self.types, other.types, "tags of different types");
        other.tags(&self.spans(tags), tags.len())
    }

    fn place(&self, tag: usize) -> Option<(Place, usize)> {
        let letters = self.scheme.letters();
        let tag = tag.checked_sub(1)?;
        let class = tag / letters.len();
        assert!(
            class < self.types.len(),
            "tag {} of {}",
            tag + 1,
            self.labels.len()
        );
        Some((letters[tag % letters.len()].1, class))
    }

    fn tag(&self, place: Place, class: usize) -> usize {
        let letters = self.scheme.letters();
        let letter = letters.iter().position(|(_, other)| *other == place);
        1 + class * letters.len() + letter.expect("a scheme writes its own letters only")
    }

    fn wrong(&self, tag: &str) -> String {
        let letters = self.scheme.letters().iter();
        let letters: Vec<String> = letters.map(|(letter, _)| letter.to_string()).collect();
        let choice = format!(
            "`O`, or one of {} with a type, such as `{}`",
            quoted(letters.iter().map(String::as_str)),
            self.labels[1]
        );
        let Some((letter, name)) = tag.split_once('-').filter(|(_, name)| !name.is_empty()) else {
            return format!("tag `{tag}` has no type; expected {choice}");
        };
        if !letters.iter().any(|known| known == letter) {
            let scheme = self.scheme.name();
            return format!("tag `{tag}` is not of the scheme `{scheme}`; expected {choice}");
        }
        let types = || self.types.iter().map(String::as_str);
        let hint = did_you_mean(name, types());
        format!(
            "tag `{tag}`: `{name}` is not a type{hint}expected one of {}",
            quoted(types())
        )
    }
}
