//! One example of a task, whatever file it came from.

/// One row of a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// Unique within its split; predictions are stored under it.
    pub id: String,
    /// The model's input.
    pub input: Input,
    /// The gold target.
    pub target: Target,
    /// The group of the example, if any: a keyword, a document, a genre. Grouped folds keep a group whole.
    pub group: Option<String>,
}

/// A model's input.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Input {
    /// One text.
    Text(String),
    /// Two texts in order.
    Pair(String, String),
    /// A sentence cut into words.
    Words(Vec<String>),
}

impl Input {
    /// The texts: one, or the two of a pair, or one per word.
    pub fn texts(&self) -> Vec<&str> {
        match self {
            Input::Text(text) => vec![text],
            Input::Pair(first, second) => vec![first, second],
            Input::Words(words) => words.iter().map(String::as_str).collect(),
        }
    }

    /// The words of a sentence.
    pub fn words(&self) -> Option<&[String]> {
        match self {
            Input::Words(words) => Some(words),
            Input::Text(_) | Input::Pair(..) => None,
        }
    }

    /// The second text of a pair.
    pub fn second(&self) -> Option<&str> {
        match self {
            Input::Pair(_, text) => Some(text),
            Input::Text(_) | Input::Words(_) => None,
        }
    }
}

/// A gold target or a prediction.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// The target is not published.
    Unknown,
    /// An index into the dataset's labels.
    Class(usize),
    /// Indices into the dataset's labels, in ascending order; none where no label applies.
    Labels(Vec<usize>),
    /// A score.
    Value(f64),
    /// For each word an index into the dataset's labels.
    Tags(Vec<usize>),
}

impl Target {
    /// The score, where the target is one.
    pub fn value(&self) -> Option<f64> {
        match self {
            Target::Value(value) => Some(*value),
            Target::Unknown | Target::Class(_) | Target::Labels(_) | Target::Tags(_) => None,
        }
    }

    /// The label index, where the target is one.
    pub fn class(&self) -> Option<usize> {
        match self {
            Target::Class(class) => Some(*class),
            Target::Unknown | Target::Labels(_) | Target::Value(_) | Target::Tags(_) => None,
        }
    }

    /// The indices of all labels, where the target is that.
    pub fn labels(&self) -> Option<&[usize]> {
        match self {
            Target::Labels(labels) => Some(labels),
            Target::Unknown | Target::Class(_) | Target::Value(_) | Target::Tags(_) => None,
        }
    }

    /// The label index of each word, where the target is that.
    pub fn tags(&self) -> Option<&[usize]> {
        match self {
            Target::Tags(tags) => Some(tags),
            Target::Unknown | Target::Class(_) | Target::Labels(_) | Target::Value(_) => None,
        }
    }
}
