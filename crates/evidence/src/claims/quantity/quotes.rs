//! Two quotations, read side by side.

use super::prelude::*;

/// Two quotations with a reader's verdict.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Quotes {
    /// The paper's, then the one it is compared with.
    quotes: [Quote; 2],
    /// Author of the second quotation.
    #[serde(default)]
    second: Second,
    verdict: QuoteVerdict,
    reason: String,
}

/// Author of the quotation that the paper's is compared with.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Second {
    /// The paper itself.
    #[default]
    Paper,
    /// Someone else, whom the quotation's source names.
    Elsewhere,
}

/// Words and their place.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Quote {
    text: String,
    source: String,
}

/// Verdicts that reading can give.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum QuoteVerdict {
    Agree,
    Contradict,
}

impl Quantity for Quotes {
    fn shape(&self, _terms: &Terms) -> Shape {
        Shape::printed(&["consistent"])
    }

    fn stated(&self, _terms: &Terms) -> Result<String> {
        Ok(self.quotes[0].text.clone())
    }

    fn measure(&self, _terms: &Terms, _runs: &Runs) -> Result<Finding> {
        let quotes = self
            .quotes
            .iter()
            .map(|quote| format!("\u{201C}{}\u{201D} ({})", quote.text, quote.source));
        Ok(Finding::Decision(Decision {
            ours: self.quotes[1].text.clone(),
            effect: None,
            verdict: match self.verdict {
                QuoteVerdict::Agree => Verdict::Reproduced,
                QuoteVerdict::Contradict => Verdict::Contradicted,
            },
            own: Some(match self.second {
                Second::Paper => DecidedBy::Words,
                Second::Elsewhere => DecidedBy::OtherSource,
            }),
            reasons: quotes
                .chain([self.reason.clone(), "decided by reading".to_owned()])
                .collect(),
        }))
    }
}
