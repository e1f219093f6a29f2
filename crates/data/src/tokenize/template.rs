//! Special tokens, and their places around one text or two.

/// A family of encoders' tokenizer model and special tokens.
///
/// | | one text | two texts |
/// |---|---|---|
/// | [`Template::BERT`] | `[CLS] a [SEP]` | `[CLS] a [SEP] b [SEP]` |
/// | [`Template::ROBERTA`] | `<s> a </s>` | `<s> a </s></s> b </s>` |
/// | [`Template::MODERNBERT`], [`Template::DEBERTA`], [`Template::ALBERT`] | `[CLS] a [SEP]` | `[CLS] a [SEP] b [SEP]` |
/// | [`Template::XLM_ROBERTA`] | `<s> a </s>` | `<s> a </s></s> b </s>` |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// `model.type` in the family's `tokenizer.json`.
    pub(super) model: &'static str,
    /// The token before a text.
    pub(super) cls: &'static str,
    /// The token after a text.
    pub(super) sep: &'static str,
    /// The token that fills rows up to one length.
    pub(super) pad: &'static str,
    /// The unknown token.
    pub(super) unk: &'static str,
    /// True if a separator comes before the second text too.
    pub(super) opens_second: bool,
}

impl Template {
    /// WordPiece as in BERT (Devlin et al. 2019) and DistilBERT.
    pub const BERT: Self = Self {
        model: "WordPiece",
        cls: "[CLS]",
        sep: "[SEP]",
        pad: "[PAD]",
        unk: "[UNK]",
        opens_second: false,
    };

    /// Byte-level BPE as in RoBERTa (Liu et al. 2019).
    pub const ROBERTA: Self = Self {
        model: "BPE",
        cls: "<s>",
        sep: "</s>",
        pad: "<pad>",
        unk: "<unk>",
        opens_second: true,
    };

    /// Byte-level BPE as in ModernBERT (Warner et al. 2024).
    pub const MODERNBERT: Self = Self {
        model: "BPE",
        ..Self::BERT
    };

    /// Unigram SentencePiece as in XLM-RoBERTa (Conneau et al. 2020).
    pub const XLM_ROBERTA: Self = Self {
        model: "Unigram",
        ..Self::ROBERTA
    };

    /// Unigram SentencePiece as in DeBERTa-v3 (He et al. 2021).
    pub const DEBERTA: Self = Self {
        model: "Unigram",
        ..Self::BERT
    };

    /// Unigram SentencePiece as in ALBERT (Lan et al. 2020).
    pub const ALBERT: Self = Self {
        pad: "<pad>",
        unk: "<unk>",
        ..Self::DEBERTA
    };

    /// Families with the same model are neighbours.
    const ALL: [Self; 6] = [
        Self::BERT,
        Self::ROBERTA,
        Self::MODERNBERT,
        Self::XLM_ROBERTA,
        Self::DEBERTA,
        Self::ALBERT,
    ];

    /// The families whose `tokenizer.json` has this `model.type`; they differ in their special tokens.
    pub(super) fn of_model(model: &str) -> Vec<Self> {
        let mut families = Self::ALL.to_vec();
        families.retain(|template| template.model == model);
        families
    }

    /// Every `model.type`, for messages.
    pub(super) fn models() -> String {
        let mut models = Self::ALL
            .map(|template| format!("`{}`", template.model))
            .to_vec();
        models.dedup();
        models.join(" or ")
    }

    /// The number of special tokens of one text, or of a pair.
    pub(super) fn n_specials(&self, is_pair: bool) -> usize {
        if is_pair {
            3 + usize::from(self.opens_second)
        } else {
            2
        }
    }

    /// Returns whether the second text of a pair begins with a special token even if both are encoded jointly.
    pub fn opens_second(&self) -> bool {
        self.opens_second
    }

    /// Special tokens that a pair has more when its texts are encoded separately.
    pub fn n_added_by_separation(&self) -> usize {
        // A second text that was opened by a separator is opened by the first token instead.
        usize::from(!self.opens_second)
    }
}
