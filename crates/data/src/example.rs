//! One example of a task, whatever file it came from.

/// One row of a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// Unique within its dataset; predictions are stored under it.
    pub id: String,
    /// What the model reads.
    pub input: Input,
    /// What it should answer.
    pub target: Target,
    /// What the example belongs to, if anything: a keyword, a document, a genre. Grouped folds keep a group whole.
    pub group: Option<String>,
}

/// What a model reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Input {
    /// One text.
    Text(String),
    /// Two texts in order.
    Pair(String, String),
}

impl Input {
    /// The first or only text.
    pub fn first(&self) -> &str {
        match self {
            Input::Text(text) | Input::Pair(text, _) => text,
        }
    }

    /// The second text of a pair.
    pub fn second(&self) -> Option<&str> {
        match self {
            Input::Text(_) => None,
            Input::Pair(_, text) => Some(text),
        }
    }
}

/// What a model should answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// An index into the dataset's labels.
    Class(usize),
}

impl Target {
    /// The label index, where the target is one.
    pub fn class(&self) -> Option<usize> {
        match self {
            Target::Class(class) => Some(*class),
        }
    }
}
