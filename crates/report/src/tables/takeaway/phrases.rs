//! Parts of sentences about a group: its title, its share of a gain, its time.

use totune_evidence::text::fixed;

/// A title with an apposition, such as "Last layer, 2e-5", closes it before the next word.
pub(super) fn closed(title: &str) -> String {
    let comma = if title.contains(", ") { "," } else { "" };
    format!("{title}{comma}")
}

/// `62 %`; near 100 % with one more digit, so that a smaller share is not rounded to it.
pub(super) fn share(kept: f64) -> String {
    let digits = usize::from((kept - 1.0).abs() < 0.0095);
    format!("{} %", fixed(kept * 100.0, digits))
}

/// `in 31 % of the training time`, `in 2.3 times the training time`.
pub(super) fn time_text(ratio: f64) -> String {
    match ratio {
        r if (r - 1.0).abs() < 0.005 => "in the same training time".to_owned(),
        r if r < 1.0 => format!("in {} % of the training time", fixed(r * 100.0, 0)),
        r if r < 2.0 => format!("in {} % more training time", fixed((r - 1.0) * 100.0, 0)),
        r => format!("in {} times the training time", fixed(r, 1)),
    }
}
