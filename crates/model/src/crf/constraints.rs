//! Permitted transitions between tags.

use anyhow::{Result, bail};

/// Permitted paths of a decoder; training does not use them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraints {
    /// Permitted transitions from the row's tag to the column's, row by row, `[tags * tags]`.
    pub from_to: Vec<bool>,
    /// Tags that a path may start with.
    pub start: Vec<bool>,
    /// Tags that a path may end with.
    pub end: Vec<bool>,
}

impl Constraints {
    /// Permits every path.
    pub fn none(tags: usize) -> Self {
        Self {
            from_to: vec![true; tags * tags],
            start: vec![true; tags],
            end: vec![true; tags],
        }
    }

    /// Permits the paths that are well-formed chunks, by the names of the tags: `O`, `B-x`, `I-x` (BIO), and with `L-x`
    /// and `U-x` among them BIOUL.
    ///
    /// BIO: `I-x` only after `B-x` or `I-x`. BIOUL: after `B-x` and `I-x` comes `I-x` or `L-x`, after all others none
    /// of these; no path ends inside a chunk.
    ///
    /// # Errors
    /// When a name is none of these.
    pub fn of_tags<S: AsRef<str>>(names: &[S]) -> Result<Self> {
        let tags = names
            .iter()
            .map(|name| Tag::read(name.as_ref()))
            .collect::<Result<Vec<_>>>()?;
        let closed = tags
            .iter()
            .any(|tag| matches!(tag.place, Place::Last | Place::Unit));
        let pairs = tags
            .iter()
            .flat_map(|from| tags.iter().map(move |to| (from, to)));
        Ok(Self {
            from_to: pairs
                .map(|(from, to)| to.may_follow(from, closed))
                .collect(),
            start: tags.iter().map(|tag| !tag.continues()).collect(),
            end: tags.iter().map(|tag| !(closed && tag.is_open())).collect(),
        })
    }
}

/// Position of a tag in its chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    First,
    Inside,
    Last,
    Unit,
}

struct Tag<'a> {
    place: Place,
    kind: &'a str,
}

impl<'a> Tag<'a> {
    fn read(name: &'a str) -> Result<Self> {
        let (place, kind) = match name.split_once('-') {
            None if name == "O" => (Place::Outside, ""),
            Some(("B", kind)) => (Place::First, kind),
            Some(("I", kind)) => (Place::Inside, kind),
            Some(("L", kind)) => (Place::Last, kind),
            Some(("U", kind)) => (Place::Unit, kind),
            _ => bail!("tag `{name}`: expected O, or B-, I-, L- or U- and a type"),
        };
        Ok(Self { place, kind })
    }

    /// Returns true if the tag continues a chunk.
    fn continues(&self) -> bool {
        matches!(self.place, Place::Inside | Place::Last)
    }

    /// Returns true if another tag of the chunk may follow.
    fn is_open(&self) -> bool {
        matches!(self.place, Place::First | Place::Inside)
    }

    /// Returns true if the tag may follow `before`; with `closed`, chunks end with a tag of their own.
    fn may_follow(&self, before: &Self, closed: bool) -> bool {
        if self.continues() {
            return before.is_open() && before.kind == self.kind;
        }
        !(closed && before.is_open())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], allowed: &[&str], start: &str, end: &str) {
        let constraints = Constraints::of_tags(names).expect("tags");
        let words = |list: &[bool]| {
            let chosen = names.iter().zip(list).filter(|(_, allowed)| **allowed);
            chosen.map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
        };
        let rows: Vec<String> = constraints.from_to.chunks(names.len()).map(words).collect();
        assert_eq!(rows, allowed);
        assert_eq!(words(&constraints.start), start);
        assert_eq!(words(&constraints.end), end);
    }

    #[test]
    fn inside_follows_only_its_own_kind() {
        check(
            &["O", "B-a", "I-a", "B-b", "I-b"],
            &[
                "O B-a B-b",
                "O B-a I-a B-b",
                "O B-a I-a B-b",
                "O B-a B-b I-b",
                "O B-a B-b I-b",
            ],
            "O B-a B-b",
            "O B-a I-a B-b I-b",
        );
    }

    #[test]
    fn chunks_with_a_last_tag_are_closed() {
        check(
            &["O", "B-a", "I-a", "L-a", "U-a"],
            &["O B-a U-a", "I-a L-a", "I-a L-a", "O B-a U-a", "O B-a U-a"],
            "O B-a U-a",
            "O L-a U-a",
        );
    }

    #[test]
    fn other_names_are_refused() {
        let error = Constraints::of_tags(&["O", "PER"]).expect_err("no place");
        assert!(
            error.to_string().contains("tag `PER`: expected O, or B-"),
            "{error}"
        );
    }
}
